"""The rule recognizer: patterns, labelled fields, and the grammars of names, places and occupations."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid.base.in_step import pause
from deid.document import Document, Span, by_position
from deid.reading.dictionaries import fold
from deid.reading.lexicon import Lexicon, classes_of, load_lexicon
from deid.reading.line_ends import unified
from deid.reading.view import LOWER, NUMBER, TITLE, UPPER, View, view_of, words_of
from deid.rules.catalogue import Catalogue, load_catalogue
from deid.rules.certainties import certainties
from deid.rules.fields import LabelFinder, Scan
from deid.rules.institutions import find_institutions
from deid.rules.layouts import find_beds, find_segments, find_spaced_tables, find_tables
from deid.rules.names import find_names
from deid.rules.places import find_places
from deid.rules.professions import find_professions
from deid.rules.scene import Scene, scene_of
from deid.rules.word_classes import CITY, PERSON

_W: Final = certainties("rules")

_ORDINARY: Final = classes_of(
    *("word", "clinical", "function", "role", "relation", "generic", "section", "institution", "device"),
    *("occupation", "weekday", "month", "nationality"),
)
_NAMED: Final = PERSON | CITY
_EDITED: Final = classes_of("institution", "eponym")
_INSTITUTION: Final = classes_of("institution")
_LAST_POPULAR: Final = classes_of("last", "popular")
_HOLDERS: Final = frozenset(("rule:place.institution", "rule:street.number", "rule:street.name", "rule:place.work"))
_ABSORBED: Final = (
    *("rule:place.city", "rule:place.state", "rule:place.country", "rule:place.employer", "rule:department"),
    *("rule:name.full", "rule:name.word", "rule:name.line", "rule:name.contact", "rule:name.verb"),
)
_YEAR: Final = "rule:date.year_alone"
_HOLDS, _SURE_NAME, _OLDEST = _W["holder"], _W["sure_name"], 111
_SHORTEST_LOGIN: Final = 6
_GRAMMAR_CATEGORIES: Final = frozenset(
    ["PATIENT", "DOCTOR", "PROFESSION", "HOSPITAL", "ORGANIZATION", "CITY", "STATE", "COUNTRY", "LOCATION-OTHER"]
)


@dataclass(frozen=True)
class RuleRecognizer:
    """Finds PHI by patterns and word lists.

    Spans carry why they were found (``source``, such as ``rule:date.numeric``) and how sure that is (``score``).
    Candidates may overlap; `deid.detection.ensemble` weighs them against each other and against what others found.
    """

    catalogue: Catalogue = field(repr=False)
    lexicon: Lexicon = field(repr=False)
    labels: LabelFinder = field(repr=False)
    threshold: float = 0.5
    """Least certainty of a span that `find` returns."""

    @classmethod
    def load(cls, language: str = "en", *, folders: Sequence[Path] = (), threshold: float = 0.5) -> RuleRecognizer:
        """Load the patterns and lists of a language.

        Parameters
        ----------
        language : str
            Name of a folder under ``dictionaries/patterns``.
        folders : sequence of Path
            Dictionary folders of the user's own, which add to the shipped ones.
        threshold : float
            Least certainty of a span that `find` returns.

        Raises
        ------
        ConfigError
            When there is nothing for the language, or a file is malformed.
        """
        catalogue, lexicon = load_catalogue(language, folders), load_lexicon(language, folders)
        labels = LabelFinder(
            catalogue.fields,
            catalogue.lists,
            catalogue.person_fields,
            catalogue.cues,
            catalogue.separator,
            folders,
            catalogue.heads,
            lexicon.vocabulary.words["elided"],
        )
        return cls(catalogue, lexicon, labels, threshold)

    @property
    def name(self) -> str:
        """``rule``."""
        return "rule"

    @property
    def categories(self) -> frozenset[str]:
        """Categories of the patterns, fields, lists and grammars."""
        catalogue = self.catalogue
        return _GRAMMAR_CATEGORIES.union(
            (p.category for p in catalogue.patterns),
            (f.category for f in catalogue.fields),
            (r.category for r in catalogue.lists),
            (h.category for h in catalogue.heads),
        )

    @property
    def deciding(self) -> frozenset[str]:
        """Sources that know what they found by its label or by a form of its own: fields, segments, some patterns."""
        catalogue = self.catalogue
        people = (f"{f.name}{column}" for f in catalogue.person_fields for column in ("", ".column"))
        return frozenset(
            f"rule:{name}"
            for name in (
                *(p.name for p in catalogue.patterns if p.decides),
                *(f.name for f in catalogue.fields),
                *(f"hl7.{s.name.lower()}" for s in catalogue.segments),
                *people,
            )
        )

    @property
    def own(self) -> frozenset[str]:
        """Sources of the user's own patterns, who knows what their numbers are."""
        return frozenset(f"rule:{p.name}" for p in self.catalogue.patterns if p.guarded)

    def find(self, document: Document) -> list[Span]:
        """Find PHI.

        Returns
        -------
        list of Span
            Sorted by position; may overlap.

        Raises
        ------
        DetectionError
            When a pattern did not finish in time.
        """
        return self.find_in(document.text)

    def _ordinary(self, match: str) -> bool:
        """Tell whether a match is a word of ordinary or clinical language."""
        letters = "".join(c if c.isalpha() else " " for c in fold(match)).split()
        if len(letters) > 2 and max(map(len, letters)) == 1:
            letters = ["".join(letters)]  # "C h i e f"
        return any(self.lexicon.classes(word) & _ORDINARY for word in letters)

    def _common(self, name: str) -> bool:
        """Tell whether all words of a name are ordinary or clinical ones, and none a person's or a place."""
        listed = [self.lexicon.classes(word) for word in words_of(fold(name)) if word.isalpha() and len(word) > 1]
        return all(classes & _ORDINARY and not classes & _NAMED for classes in listed)

    def find_in(self, text: str) -> list[Span]:
        """Return the spans of PHI in a text; see `find`."""
        normal = unified(text)
        spans, _ = self.analyse(normal.text)
        return [normal.back(span) for span in spans]

    def analyse(self, text: str, absorbed: list[Span] | None = None) -> tuple[list[Span], Scene]:
        """Return PHI in a text with plain line ends, and its scene; errors as those of `find`.

        What is left out as a part of a longer name, or as the year of an edition, is added to ``absorbed``.
        """
        spans = self.catalogue.search(text, self._ordinary)
        pause("words")
        scene, scan = self._seen(text)
        pause("rows")
        spans += scan.spans
        spans += find_segments(text, self.catalogue.segments)
        spans += find_tables(scene, self.labels.by_label)
        spans += find_spaced_tables(scene, self.labels.by_label)
        spans += find_beds(scene)
        pause("names")
        spans += find_names(scene, scan.labels)
        pause("institutions")
        spans += find_institutions(scene)
        spans += find_places(scene, self.threshold)
        spans += find_professions(scene, self.lexicon)
        spans += _logins(scene, self.lexicon)
        spans += _ages_behind_names(scene, spans)
        pause("standing")
        return sorted(_standing(scene, spans, self.threshold, absorbed), key=by_position), scene

    def scene(self, text: str) -> Scene:
        """Return what is known of the words of a text with plain line ends."""
        return self._seen(text)[0]

    def _seen(self, text: str) -> tuple[Scene, Scan]:
        view = view_of(text)
        pause("labels")
        scan = self.labels.find(view, self._common)
        pause("scene")
        return scene_of(view, self.lexicon, scan), scan


def _edition(scene: Scene, span: Span) -> bool:
    """Tell whether a year is that of a guideline, a trial or a journal: *(USMSTF 2020)*, *Bethesda 2014*."""
    index = scene.at(span.start)
    before = index - 1 if scene.word(index - 1) not in ("(", "'") else index - 2
    if not scene.is_word(before) or scene.breaks[index]:
        return False
    if scene.has(before, _EDITED):
        return True
    for first in range(max(0, index - 5), index):
        if any(end == index and classes & _INSTITUTION for end, classes in scene.phrases.get(first, ())):
            return True
    unknown = scene.kinds[before] == UPPER and not scene.case_uninformative(before) and len(scene.strings[before]) > 2
    return unknown and not scene.classes[before]


@functools.cache
def _is_doubtful(source: str) -> bool:
    return source == _YEAR or source.startswith(_ABSORBED)


def _standing(scene: Scene, spans: list[Span], least: float, absorbed: list[Span] | None) -> list[Span]:
    """Drop what is not certain enough, years of editions, and what is a part of a longer name.

    Such parts are cities and free names inside the name of an institution or a street: *Kettle Falls Hospital*.
    """
    holders = sorted((s.start, s.end) for s in spans if s.source in _HOLDERS and (s.score or 0.0) >= _HOLDS)

    def stands(span: Span) -> bool:
        out = _edition(scene, span) if span.source == _YEAR else _inside(holders, span)
        if out and absorbed is not None:
            absorbed.append(span)
        return not out

    # of most spans only their source is asked
    return [s for s in spans if (s.score or 0.0) >= least and (not _is_doubtful(s.source) or stands(s))]


def _inside(holders: list[tuple[int, int]], span: Span) -> bool:
    """Tell whether a span is a part of one of some stretches, given in order, and not all of it."""
    start, end = span.start, span.end
    at = bisect_right(holders, (start, end - start + end))
    return any(
        first <= start and end <= last and last - first > end - start for first, last in holders[max(0, at - 3) : at]
    )


def _logins(scene: Scene, lexicon: Lexicon) -> list[Span]:
    """Find logins made of an initial and a frequent family name: *kpatel*."""
    if scene.lowercase_text:
        return []
    words, folded = lexicon.words, scene.folded
    return [
        scene.span(i, i + 1, "USERNAME", "username.name", _W["login"])
        for i in scene.unlisted(LOWER)
        if len(word := folded[i]) >= _SHORTEST_LOGIN
        and words.get(word[1:], 0) & _LAST_POPULAR == _LAST_POPULAR
        and word.isalpha()
    ]


def _numbers_a_field(view: View, number: int) -> bool:
    """Tell whether a number stands before the next label of a form: *Vlahos    2. Room: 114A*."""
    behind = number + 1
    return (
        view.starts[number] - view.ends[number - 1] > 1
        and behind + 1 < len(view)
        and view.folded[behind] in (".", ")")
        and view.kinds[behind + 1] in (TITLE, UPPER)
    )


def _ages_behind_names(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Find the ages in *her children Otis, 6, and Zadie (9)*, *Carl Carpenter 53 ankle*, *Mr. Romano is 71*."""
    found = []
    view, age_end, copulas = scene.view, scene.vocabulary.expressions["age_end"], scene.vocabulary.words["copula"]
    kinds, words, count = view.kinds, view.folded, len(view)
    for span in spans:
        if span.category not in ("PATIENT", "DOCTOR") or (span.score or 0.0) < _SURE_NAME:
            continue
        at = view.at(span.end)
        listed = at < count and words[at] in (",", "(")
        if at < count and words[at] in copulas:
            at += 1
        number = at + listed
        if number >= count or kinds[number] != NUMBER or view.breaks[number] or view.breaks[at]:
            continue
        if not view.strings[number].isdecimal() or _numbers_a_field(view, number):
            continue
        value = int(view.strings[number]) if len(view.strings[number]) < 4 else 0
        if (
            0 < value < _OLDEST
            and age_end.match(view.text, view.ends[number])
            and (listed or at > view.at(span.end) or value > 1)
        ):
            found.append(
                scene.span(
                    number, number + 1, "AGE", "age.behind_name", _W["age_listed" if listed else "age_behind_name"]
                )
            )
    return found
