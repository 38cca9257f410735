"""What of a name that a model found is a name: ordinary words in small letters beside it are none."""

from __future__ import annotations

import pytest

from deid.detection.alone import in_capitals, stands_alone
from deid.detection.numbers import plain_scene
from deid.document import Span
from deid.reading.lexicon import load_lexicon
from deid.rules.scene import Scene


def scene(text: str, language: str) -> Scene:
    return plain_scene(text, load_lexicon(language))


@pytest.mark.parametrize(
    ("language", "category", "text", "left"),
    [
        ("nl", "PATIENT", "Gerrit haalt de bus", ["Gerrit"]),
        ("de", "PATIENT", "Elias und Finn", ["Elias", "Finn"]),
        ("nl", "DOCTOR", "Marjolein van den Berg", ["Marjolein van den Berg"]),
        ("nl", "ORGANIZATION", "het Corderius College", ["Corderius College"]),
        ("fr", "HOSPITAL", "au Beau Vallon", ["Beau Vallon"]),
        ("fr", "HOSPITAL", "clinique du Parc", ["clinique du Parc"]),
        ("fr", "PROFESSION", "chef de Rang", ["chef de Rang"]),
        ("en", "PATIENT", "wanda and ruth", ["wanda and ruth"]),
    ],
)
def test_small_words_beside_names_are_cut(language: str, category: str, text: str, left: list[str]) -> None:
    spans = in_capitals(scene(text, language), Span(0, len(text), category))
    assert [text[s.start : s.end] for s in spans] == left


@pytest.mark.parametrize(("text", "stands"), [("Leerling: Wout Maas", False), ("Oyelaran: Wout Maas", True)])
def test_a_label_before_its_colon_is_nobody(text: str, stands: bool) -> None:
    span = Span(0, text.index(":"), "PATIENT", source="model:nl")
    assert stands_alone(scene(text, "nl"), span) is stands
