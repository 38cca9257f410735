"""The rule recognizer: patterns, labelled fields, and the grammars of names, places and occupations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid.detection.catalogue import Catalogue, load_catalogue
from deid.detection.fields import LabelFinder
from deid.detection.lexicon import Lexicon, load_lexicon
from deid.detection.names import find_names
from deid.detection.patterns import Haystack
from deid.detection.places import find_places
from deid.detection.professions import find_professions
from deid.detection.scene import Scene, scene_of
from deid.detection.view import view_of
from deid.document import Document, Span

__all__ = ["RuleRecognizer"]

_GRAMMAR_CATEGORIES = frozenset(
    ["PATIENT", "DOCTOR", "PROFESSION", "HOSPITAL", "ORGANIZATION", "CITY", "STATE", "COUNTRY", "LOCATION-OTHER"]
)


@dataclass(frozen=True, slots=True)
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
        catalogue = load_catalogue(language, folders)
        labels = LabelFinder(
            catalogue.fields,
            catalogue.lists,
            catalogue.person_fields,
            catalogue.cues,
            catalogue.separator,
            folders,
        )
        return cls(catalogue, load_lexicon(language, folders), labels, threshold)

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
        )

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

    def find_in(self, text: str) -> list[Span]:
        """Find PHI in a text."""
        spans, _ = self.analyse(text)
        return spans

    def analyse(self, text: str) -> tuple[list[Span], Scene]:
        """Find PHI in a text, and return what was learnt about its words on the way."""
        haystack = Haystack(text)
        spans = [span for pattern in self.catalogue.patterns for span in pattern.find(haystack)]
        view = view_of(text)
        scan = self.labels.find(view)
        scene = scene_of(view, self.lexicon.of(view), scan)
        spans += scan.spans
        spans += find_names(scene, scan.labels)
        spans += find_places(scene)
        spans += find_professions(scene)
        return sorted(s for s in spans if (s.score or 0.0) >= self.threshold), scene
