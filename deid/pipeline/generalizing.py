"""Generalizes the sensitive words of files and folders until t texts are plausible, and reports each note."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.keys import Key
from deid.detection import Recognizer
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.io import CollectionFormat, Source
from deid.pipeline.batch import Report, write_each
from deid.pipeline.files import Origin, Output, Watch, require_annotations, require_names
from deid.pipeline.known_people import People, read_people
from deid.pipeline.naming import FieldNames, Naming
from deid.pipeline.options import GeneralizeOptions
from deid.reading.languages import other_language
from deid.replacement.ontology import find_terms
from deid.replacement.t_plausibility import Generalized, Generalizer, generalize

if TYPE_CHECKING:
    from deid.detection.site_lists import SiteLists

# ids that `deid scrub` made: nothing of the original is in them, and the generalized copy is found by them
_PSEUDONYM = re.compile(r"(?:folder-[0-9a-f]{16}/)*doc-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class GeneralizedNote:
    """What is certified about one note. Holds no text."""

    document: str
    """Safe name."""
    index: int | None
    words: int
    """Distinct sensitive words."""
    plausible: int
    """Number of plausible texts."""
    reached: bool
    """Whether ``plausible`` is at least t."""
    optimal: bool


@dataclass
class GeneralizingReport(Report):
    """What was done. Holds no text."""

    t: int = 0
    """So many texts were to be plausible."""
    notes: list[GeneralizedNote] = field(default_factory=list)
    unscrubbed: int = 0
    """Documents whose ids are not those that scrubbing gives: nothing tells that their identifiers were replaced."""
    foreign: Counter[str] = field(default_factory=Counter)
    """Language -> documents in it, where the words to be generalized are of another."""

    @property
    def without_words(self) -> int:
        """Notes in which there is nothing to generalize."""
        return sum(note.words == 0 for note in self.notes)

    @property
    def short(self) -> list[GeneralizedNote]:
        """Notes with sensitive words that stay below t even when all are as general as can be."""
        return [note for note in self.notes if note.words and not note.reached]

    def remarks(self, site: SiteLists | None = None, *, per_person: bool = False) -> list[str]:
        """Return what whoever ran it must know."""
        told = super().remarks(site, per_person=per_person)
        if self.unscrubbed:
            told.append(
                f"{self.unscrubbed} notes have no ids of deid scrub: if they were not scrubbed, their names, dates and "
                "numbers are in OUT as they were (scrub first)"
            )
        if self.foreign:
            which = ", ".join(f"{language}: {count}" for language, count in sorted(self.foreign.items()))
            told.append(
                f"{self.foreign.total()} notes are in another language than the words to be generalized ({which}): "
                "theirs are left, and what is said of plausible texts holds for none of them (--ontology)"
            )
        if self.without_words:
            told.append(f"notes without a sensitive word, unchanged: {self.without_words}")
        if self.short:
            names = ", ".join(note.document for note in self.short[:10]) + (", ..." if len(self.short) > 10 else "")
            what = f"notes below {self.t} plausible texts, with all words as general as can be"
            told.append(f"{what}: {len(self.short)} ({names})")
        counts = sorted(note.plausible for note in self.notes if note.words)
        if counts:
            middle = counts[len(counts) // 2]
            told.append(f"plausible texts a note: at least {counts[0]}, median {middle}, at most {counts[-1]}")
        return told

    def counts(self, site: SiteLists | None = None) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "without_words": self.without_words,
            "below_t": len(self.short),
            "unlisted": self.unlisted,
            "unscrubbed": self.unscrubbed,
            "other_languages": dict(sorted(self.foreign.items())),
            "telling_fields": self.telling_fields(),
            "plausible": [asdict(note) for note in self.notes],
        }


@dataclass(frozen=True, slots=True)
class Generalizing:
    """The work of `generalize_files` on one document."""

    generalizer: Generalizer
    naming: Naming
    gold: bool
    people: People
    recognizer: Recognizer | None
    """Finds what is known of a document's patient."""
    field_names: FieldNames

    def __call__(self, document: Document) -> tuple[Generalized, bool, bool, tuple[int, ...], str]:
        """Return the generalized document, whether its patient is known, whether its id is of `deid scrub`, which
        fields have names that may be of somebody (`Scrubbed.telling`), and its language where that of all words is
        another.
        """
        spans = document.spans if self.gold else find_terms(document, self.generalizer.ontologies)
        if self.recognizer is not None:
            spans = (*spans, *self.recognizer.find(document))
        result = generalize(document, self.generalizer, spans)
        scrubbed = _PSEUDONYM.fullmatch(document.id) is not None
        own = document.id if scrubbed else self.naming.id(document.id)
        changed = result.document
        anonymous = Document(
            own,
            changed.text,
            tuple(replace(span, id="") for span in changed.spans),
            self.naming.metadata(changed.metadata),
            changed.index,
        )
        told = self.field_names.telling(document.metadata)
        languages = {ontology.language for ontology in self.generalizer.ontologies}
        other = other_language(document.text, *languages) if len(languages) == 1 and "" not in languages else ""
        return replace(result, document=anonymous), self.people.lists(document), scrubbed, told, other


def generalize_files(
    source: Source,
    target: Path,
    options: GeneralizeOptions,
    key: Key,
    *,
    jobs: int = 1,
    watch: Watch = iter,
) -> GeneralizingReport:
    """Generalize a file or folder into a new file or folder of the same format.

    Parameters
    ----------
    source, target, jobs, watch
        See `deid.pipeline.batch.scrub_files`.
    options : GeneralizeOptions
        What is sensitive and what stays; what is known of a document's patient is sensitive, too.
    key : Key
        Makes pseudonyms of ids and other fields. Ids that `deid scrub` made stay.

    Returns
    -------
    GeneralizingReport
        What is certified about each note, and the failures; no text.

    Raises
    ------
    ConfigError
        When the options cannot be used, or annotations are to be generalized and no document carries any.
    DeidError
        When nothing can be read or written at all; what fails for single documents is in the report.
    """
    generalizer, people, keep = options.generalizer(), read_people(options), options.keep
    if options.gold:
        require_annotations(source, "generalize", "search")
    patients = people.patients
    files = not isinstance(source.format, CollectionFormat)
    naming = Naming(key, "id" in keep or (files and "filename" in keep), keep, patients.field_name)
    require_names(source, patients, keep)
    report = GeneralizingReport(t=generalizer.t)

    def rename(name: str) -> str:
        return name if "filename" in keep or _PSEUDONYM.fullmatch(name) else naming.id(name)

    output = Output(source, target, source.format, rename)

    def write(origin: Origin, found: tuple[Generalized, bool, bool, tuple[int, ...], str]) -> Iterator[str]:
        result, listed, scrubbed, told, other = found
        report.foreign.update(filter(None, [other]))
        report.telling.update(told)
        output.write(origin.group, result.document)
        certified = result.words, result.plausible, result.reached, result.optimal
        report.notes.append(GeneralizedNote(origin.document.name, origin.document.index, *certified))
        report.unlisted += not listed
        report.unscrubbed += not scrubbed
        return (edit.category for edit in result.edits)

    names = FieldNames(build_recognizer(RecognizerOptions(model="none")))  # rules read names of fields well enough
    work = Generalizing(generalizer, naming, options.gold, people, people.recognizer(None), names)
    write_each(report, output, work, write, patients=patients, jobs=jobs, watch=watch)
    return report
