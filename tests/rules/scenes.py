"""Scenes of random notes: words that the grammars ask about, put together by chance."""

from __future__ import annotations

from hypothesis import strategies as st

from deid.reading.view import view_of
from deid.rules.rules import RuleRecognizer
from deid.rules.scene import Scene, scene_of

RULES = RuleRecognizer.load("en")

PERSONS = (
    "John JOHN Mary mary Quimby QUIMBY Rose Price Dean dean O'Brien Smith-Jones de la van St Mercy Li Boston J A B"
)
SMALL = (
    "Dr dr Mr Mrs Sister Major MR MD RN Jr III St and the The a is was 's of at in from lives was named Dear her son"
)
CLINICAL = (
    "wife Foley catheter Bell palsy Parkinson disease fever Patient Attending Hospital Clinic Street Weitlaner MI CHF"
)
SIGNS = ", . : ( ) - / ' \u2019 \" \u201c \u201d ; & | ^ # = ~ 45 6 2020 yo"
PHRASES = (
    "Sincerely,",
    "reports pain",
    "Mother:",
    "RN:",
    "SMITH^JOHN^A",
    "year-old",
    "signed by",
    "works as a",
    "welder",
    "lives in",
    "SMITH, JOHN A, MD",
    "The patient, seen in clinic today, has been doing well since the last visit",
)
GAPS = (" ", " ", " ", " ", " ", "", "\n", "\n\n", "  ", "\t", "\r\n", "\u00a0")
WORDS = st.sampled_from([*" ".join((PERSONS, SMALL, CLINICAL, SIGNS)).split(), *PHRASES]) | st.text(max_size=4)
PIECES = st.tuples(WORDS, st.sampled_from(GAPS)).map("".join)
TEXTS = st.lists(PIECES, max_size=40).map("".join)
NOTES = TEXTS | TEXTS.map(str.lower) | TEXTS.map(str.upper)


def scene_in(text: str) -> Scene:
    """Return a text as the English grammars see it."""
    view = view_of(text)
    return scene_of(view, RULES.lexicon, RULES.labels.find(view))
