"""Days whose month is said once are one date in every language, so that they move together."""

from __future__ import annotations

import pytest

from deid import find
from deid.phi import canonical

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


DAYS_FIRST = [
    "17/11-23/11/2024",
    "28/11-3/12/2024",
    "17/11/2024-23/11/2024",
    "17.11.-23.11.2024",
    "17.-23.11.2024",
    "17-23.11.2024",
    "17/18.11.2024",
    "17-23/11/2024",
    "17\u201323/11/2024",
    "17/11/2024\u201323/11/2024",
    "28-11 / 03-12-2024",
    "17/23-11-2024",
    "17/11-23/11",
    "2024-11-17/2024-11-23",
    "2024-11-17/23",
    "2024/11/17-23",
]
MONTHS_FIRST = [
    "11/17-23/2024",
    "11/17 \u2013 23/2024",
    "11/17, 18, 19/2024",
    "11/17-23/24",
    "4/3-7/2024",
    "11/17 thru 23",
]
SENTENCES = {
    "en": ("Admitted {} for sepsis.", "Off work {}.", "Inpatient stay {} (ICU)."),
    "de": ("Aufenthalt {} wegen Sepsis.", "Krank vom {}.", "Reha {} (Herz)"),
    "fr": ("S\u00e9jour {} pour sepsis.", "Arr\u00eat de travail {}.", "Hospitalis\u00e9 {} (r\u00e9a)"),
    "nl": ("Opname {} wegens sepsis.", "Ziek {}.", "Revalidatie {} (hart)"),
    "es": ("Ingreso {} por sepsis.", "Baja {}.", "Estancia {} (UCI)"),
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("model", [None, "none"])
def test_no_figure_of_a_stretch_stays(language: str, model: str | None) -> None:
    """Whatever of a stretch in numbers is said once, and whatever stands around it."""
    for sentence in SENTENCES[language]:
        for days in (*DAYS_FIRST, *(MONTHS_FIRST if language == "en" else ())):
            text = sentence.format(days)
            spans = [span for span in find(text, model=model, language=language) if canonical(span.category) == "DATE"]
            hidden = {at for span in spans for at in range(span.start, span.end)}
            assert [at for at, sign in enumerate(text) if sign.isdecimal() and at not in hidden] == [], text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "BP 120-130/80, strength 4/5-5/5, pain 5-6/10, vision 20/25-20/30, Hgb 13.5-17.5 g/dl"),
        ("fr", "TA 13/8-14/9 puis 13-14/8, Hb 13.5-17.5 g/dl, douleur 5-6/10, Glasgow 13-15/15"),
        ("de", "RR 120-130/80, Hb 13,5-17,5 g/dl, Kraft 4/5-5/5, Schmerz 5-6/10, GCS 13-15/15"),
        ("nl", "RR 13/8-14/9, Hb 7.5-10.5 mmol/l, kracht 4/5-5/5, pijn 5-6/10, EMV 13-15/15"),
        ("es", "TA 13/8-14/9, Hb 13.5-17.5 g/dl, fuerza 4/5-5/5, dolor 5-6/10, Glasgow 13-15/15"),
    ],
)
def test_pairs_of_values_are_no_stretch(language: str, text: str) -> None:
    assert find(text, language=language) == []
