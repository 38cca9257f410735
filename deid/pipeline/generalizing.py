"""Generalizes the sensitive words of files and folders until t texts are plausible, and reports each note."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid.document import Document, Failure
from deid.errors import ConfigError, DeidError
from deid.io import CollectionFormat, Format, Source, open_writer
from deid.phi import LABEL_SETS
from deid.pipeline.naming import Naming
from deid.replacement.t_plausibility import Generalizer, generalize

__all__ = ["GeneralizedNote", "GeneralizingReport", "generalize_files"]

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


@dataclass(slots=True)
class GeneralizingReport:
    """What was done. Holds no text."""

    notes: list[GeneralizedNote] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    categories: Counter[str] = field(default_factory=Counter)
    """Changed words by category."""

    @property
    def without_words(self) -> int:
        """Notes in which there is nothing to generalize."""
        return sum(note.words == 0 for note in self.notes)

    @property
    def short(self) -> list[GeneralizedNote]:
        """Notes with sensitive words that stay below t even when all are as general as can be."""
        return [note for note in self.notes if note.words and not note.reached]


def generalize_files(
    source: Source,
    target: Path,
    generalizer: Generalizer,
    naming: Naming,
    *,
    gold: bool = False,
    keep_filename: bool = False,
    watch: Callable[[Iterator[Any]], Iterable[Any]] = iter,
) -> GeneralizingReport:
    """Generalize a file or folder into a new file or folder of the same format.

    Parameters
    ----------
    source : Source
        What to read (`deid.io.scan`).
    target : Path
        Where to write (checked with `deid.io.check_output`).
    generalizer : Generalizer
    naming : Naming
        What becomes of ids and other fields. Ids that `deid scrub` made stay.
    gold : bool
        The annotations of the documents are the sensitive words; otherwise the ontologies' phrases are searched for.
    keep_filename : bool
        Collections in a folder keep their names.
    watch : callable, optional
        Wraps the stream of documents.

    Raises
    ------
    ConfigError
        When annotations are to be generalized and no document carries any.
    DeidError
        When nothing can be read or written at all; what fails for single documents is in the report.
    """
    if gold and not any(isinstance(item, Document) and item.spans for item in source.documents()):
        raise ConfigError(
            "no document carries an annotation, so there is nothing to generalize",
            "name the field of the annotations (--spans-field), or leave out --gold to search",
        )
    report = GeneralizingReport()
    for place, part, single in _parts(source, target, (lambda name: name) if keep_filename else naming.id):
        done = len(report.notes) + len(report.failures)
        with open_writer(place, source.format.name, _options(part), single=single) as writer:
            for item in watch(part.documents(done + 1)):
                if isinstance(item, Failure):
                    report.failures.append(item)
                    continue
                try:
                    result = generalize(item, generalizer, item.spans if gold else None)
                    writer.write(_anonymous(result.document, naming, source.format))
                except DeidError as error:
                    report.failures.append(Failure(item.name, error.at(item.name), item.index, item.id))
                    continue
                report.notes.append(
                    GeneralizedNote(
                        item.name, item.index, result.words, result.plausible, result.reached, result.optimal
                    )
                )
                report.categories.update(edit.category for edit in result.edits)
    return report


def _anonymous(document: Document, naming: Naming, format: Format) -> Document:
    own = document.id if _PSEUDONYM.fullmatch(document.id) else naming.id(document.id)
    fields = naming.metadata(document.metadata)
    if not isinstance(format, CollectionFormat):
        fields = {name: value for name, value in fields.items() if value is not None}
    known = [LABEL_SETS[name] for name in format.label_sets]
    spans = [
        replace(span, id="")
        for span in document.spans
        if format.carries_spans and (not known or any(span.category in labels for labels in known))
    ]
    return Document(own, document.text, tuple(spans), fields, document.index)


def _options(part: Source) -> Any:
    options = part.layout()
    return replace(options, id_field=None) if options.id_field == "" else options


def _parts(source: Source, target: Path, rename: Callable[[str], str]) -> Iterator[tuple[Path, Source, bool | None]]:
    """Yield where to write what: a folder of collections file by file, all else at once."""
    if source.single or not isinstance(source.format, CollectionFormat):
        yield target, source, None if source.single else False
        return
    for stem, part in source.files():
        name = stem if _PSEUDONYM.fullmatch(stem) else rename(stem)
        yield target / f"{name}{source.format.suffixes[0]}", part, True
