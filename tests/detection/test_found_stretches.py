"""Days whose month is said once are one date in every language, so that they move together."""

from __future__ import annotations

import pytest

from deid import find

NOTES = {
    "de": ["Stationär vom [17. bis 23.11.]", "Gesehen am [3., 5. und 9.11.2024], stabil.", "Urlaub [17.–23.11.2024]."],
    "fr": [
        "Hospitalisé du [17 au 23/11].",
        "Vu les [3, 5 et 9/11].",
        "Absent entre le [17 et le 23/11].",
        "Garde [17-23/11] à",
    ],
    "es": [
        "Ingresado del [17 al 23/11].",
        "Visto entre el [3 y el 9/4].",
        "Visto los días [3, 5 y 9/11].",
        "Vino el [3 y el 9 de abril].",
    ],
    "nl": [
        "Opgenomen van [17 t/m 23/11].",
        "Gezien op [3, 5 en 9/11].",
        "Opgenomen [17 t/m 23-11-2024].",
        "Verlof [17-23 november].",
    ],
    "en": [
        "Admitted [Nov 17-23, 2024].",
        "Away from [17 to 23/11/2024].",
        "Seen [Nov 3, 5 and 9].",
        "Admitted [17-23 Nov].",
        "Away [11/17-23].",
    ],
}
"""The dates are what stands in brackets."""


@pytest.mark.parametrize(
    ("language", "note"), [(language, note) for language, notes in NOTES.items() for note in notes]
)
@pytest.mark.parametrize("before", ["", "Plan: "])
def test_a_stretch_is_one_date(language: str, note: str, before: str) -> None:
    head, _, rest = (before + note).partition("[")
    date, _, tail = rest.partition("]")
    found = find(head + date + tail, model="none", language=language)
    assert [(span.start, span.end) for span in found] == [(len(head), len(head) + len(date))]


@pytest.mark.parametrize(
    ("language", "note"),
    [
        ("de", "am 21.3., Kinder 12, 9."),
        ("fr", "le 21/3, enfants 12 et 9 ans"),
        ("es", "el 21/3, hijas 12, 9."),
        ("nl", "op 21/3, kinderen 12 en 9"),
        ("en", "on 3/21, kids 12, 9."),
    ],
)
def test_ages_of_children_behind_a_day_are_ages(language: str, note: str) -> None:
    found = [note[span.start : span.end] for span in find(note, model="none", language=language)]
    assert found[-2:] == ["12", "9"]
    assert not any("12" in other for other in found[:-2])
