"""What judging asks of a category and of a source again and again, told once of each."""

from __future__ import annotations

from typing import Final

from deid.phi import CANONICAL, GROUP

GRAMMATICAL: Final = frozenset(("NAME", "LOCATION", "PROFESSION"))
"""Groups of PHI that are words."""
_PEOPLE: Final = ("PATIENT", "DOCTOR")
_PLACES: Final = ("CITY", "STATE", "COUNTRY", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION")
_MODEL: Final = "model:"
_KNOWN: Final = ("known:", "consistency:known:")
_TITLED: Final = (
    _MODEL,
    *(f"rule:name.{name}" for name in ("full", "greeting", "contact", "verb", "relation", "credential")),
)
"""Sources of names that may have taken a title along."""
_UNTITLED: Final = ("rule:name.full", "rule:name.word", _MODEL)
_GUESSED: Final = (_MODEL, "rule:place.", "rule:name.word")
HEADER_FIELDS: Final = ("name.patient_field", "name.provider_field")
"""Ends of the sources of names behind labels of a header."""
_TELLING: Final = ("title", "credential", "provider_field", "patient_field", "signed_by", "role")
_DECIDING: Final = tuple(f"rule:name.{name}" for name in _TELLING)
_PLACED: Final = (
    *("rule:name.title", "rule:name.credential", "rule:name.signed_by", "rule:name.letter"),
    *("known:", "consistency:", "rule:place.city_", "rule:place.before_state"),
)
_LABELS: Final = ("_field", ".column")
_REMEMBERED: Final = 1024


class CategoryTraits:
    """What is asked of a category."""

    def __init__(self, label: str) -> None:
        self.category: str = CANONICAL[label]
        self.group: str = GROUP[label]
        self.named: bool = self.group == "NAME"
        self.worded: bool = self.group in GRAMMATICAL
        """Whether it is one of words."""
        self.person: bool = self.category in _PEOPLE
        self.place: bool = self.category in _PLACES
        self.institution: bool = self.category in ("HOSPITAL", "ORGANIZATION")
        self.town: bool = self.category in ("CITY", "STATE", "COUNTRY")
        self.date: bool = self.category == "DATE"
        self.called: bool = self.category in ("PHONE", "FAX")


class SourceTraits:
    """What is asked of a source."""

    def __init__(self, source: str) -> None:
        self.known: bool = source.startswith(_KNOWN)
        """Whether it knows beforehand."""
        self.model: bool = source.startswith(_MODEL)
        self.names: bool = source.startswith("rule:name.")
        """Whether it is a rule for names."""
        self.titled: bool = source.startswith(_TITLED)
        """Whether it may take titles along."""
        self.untitled: bool = source.startswith(_UNTITLED)
        """Whether it needs no title."""
        self.guessed: bool = source.startswith(_GUESSED)
        self.repeats: bool = source.startswith("consistency:")
        self.repeats_model: bool = source.startswith("consistency:model:")
        self.by_title: bool = source.startswith("rule:name.title")
        self.tells: bool = not self.names or source.startswith(_DECIDING)
        """Whether it tells whose a name is."""
        self.decides: bool = source.startswith(_DECIDING)
        """Whether it does against a model."""
        self.settled: bool = source.startswith(_PLACED) or source.endswith(_LABELS)
        """Whether it knows whose a name is, and where a place is."""
        self.traits: object = (self.tells, source.endswith(HEADER_FIELDS), self.decides)
        """What matters of spans that say the same of a place: of each source one object, compared soon."""


_KINDS: Final[dict[str, CategoryTraits]] = {}
_ORIGINS: Final[dict[str, SourceTraits]] = {}


def kind_of(label: str) -> CategoryTraits:
    """Return what is asked of a label's category."""
    kind = _KINDS.get(label)
    if kind is None:
        if len(_KINDS) >= _REMEMBERED:
            _KINDS.clear()
        kind = _KINDS[label] = CategoryTraits(label)
    return kind


def origin_of(source: str) -> SourceTraits:
    """Return what is asked of a span's source."""
    origin = _ORIGINS.get(source)
    if origin is None:
        if len(_ORIGINS) >= _REMEMBERED:
            _ORIGINS.clear()
        origin = _ORIGINS[source] = SourceTraits(source)
    return origin
