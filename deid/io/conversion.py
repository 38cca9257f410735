"""Converting between formats, labels included, and telling what was lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from deid.base.errors import ConfigError, LabelError
from deid.document import Document, Failure, Tally, failure_of
from deid.io import FORMATS, Writer, check_output, check_suffix, open_writer
from deid.io.formats import CollectionFormat, ConversionOptions, Format, Options, ReadingOptions
from deid.io.reading import Source, get_format
from deid.io.span_checks import allowed
from deid.phi import LABEL_SETS, find_label, map_labels, map_used_labels, shown_label

Items = Iterator[Document | Failure]


@dataclass(slots=True)
class Conversion(Tally):
    """What a conversion did; categories are labels as they were written."""

    source: str = ""
    """Format that was read."""
    target: str = ""
    """Format that was written."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Spans that were left out, by label."""
    remarks: list[str] = field(default_factory=list)
    """What the user must know: labels that changed their meaning, files that were not read."""

    def write(
        self,
        items: Iterable[Document | Failure],
        writer: Writer,
        mapping: Mapping[str, str | None] | None,
        target: Format,
        drop_unmapped: bool,
    ) -> None:
        """Write documents as the target can hold them; parameters as those of `relabelled`."""

        def step(item: Document) -> Iterator[str]:
            document, dropped = relabelled(item, mapping, target, drop_unmapped)
            writer.write(document)
            self.dropped.update(dropped)
            return (shown_label(span.category) for span in document.spans)

        self.each(items, step, failure_of)

    def told(self) -> Self:
        """Return it, with a remark on what was left out."""
        if self.dropped:
            self.remarks.append(f"{self.dropped.total()} spans have no place in {self.target} and were left out")
        return self


def convert(
    in_path: Path | str,
    out_path: Path,
    asked: ConversionOptions,
    options: ReadingOptions | None = None,
    *,
    watch: Callable[[Items], Iterable[Document | Failure]] = iter,
) -> Conversion:
    """Read documents in one format and write them in another, in UTF-8.

    Parameters
    ----------
    in_path, out_path : Path
        ``out_path`` must be new or an empty folder.
    asked : ConversionOptions
        Labels are mapped to no label set only where the target format is not closed to some. Documents fail whose
        labels have no place in the target, unless those are to be left out.
    options : ReadingOptions, optional
        How to read; ``any_label`` is for writing too, and ``output_encoding`` (empty: UTF-8) for writing alone.
    watch : callable
        Wraps the stream of documents, for progress.

    Returns
    -------
    Conversion
        How many documents were written, what failed, and what the map of labels lost.

    Raises
    ------
    DeidError
        Paths, formats, label sets or the encoding cannot be used, or a collection could not be written at all.
    """
    options = options or ReadingOptions()
    target = get_format(asked.to, FORMATS)
    check_output(Path(in_path), out_path)
    source = options.scan(in_path).as_texts()
    check_suffix(source.single, source.format, out_path, target, FORMATS.values())
    result = Conversion(source=source.format.name, target=target.name, remarks=source.remarks())
    mapping = _mapping(source, target, options, asked.map, asked.map_from, result)
    same = source.format.name == target.name
    for place, part, single in _parts(source, target, out_path):
        writing = replace(
            part.layout() if same else Options(any_label=options.any_label),
            encoding="utf-8",
            output_encoding=options.output_encoding,
        )
        done = result.documents + len(result.failures)
        with open_writer(place, target.name, writing, single=single) as writer:
            result.write(watch(part.documents(done + 1)), writer, mapping, target, asked.drop_unmapped)
    return result.told()


def _parts(source: Source, target: Format, out_path: Path) -> Iterator[tuple[Path, Source, bool | None]]:
    """Yield where to write what: file by file from a folder of collections to such a folder, else all at once."""
    collections = isinstance(source.format, CollectionFormat) and isinstance(target, CollectionFormat)
    if source.single or not collections:
        # a folder of documents stays one, even when its name looks like a file's
        yield out_path, source, None if source.single or isinstance(target, CollectionFormat) else False
        return
    yield out_path, replace(source, names=()), False  # the folders that could not be opened
    for stem, part in source.files():
        yield out_path / f"{stem}{target.suffixes[0]}", part, True


def _mapping(
    source: Source, target: Format, options: Options, map_to: str | None, map_from: str | None, result: Conversion
) -> Mapping[str, str | None] | None:
    """Return what becomes of each label, or None where all stay as they are; note what that loses."""
    for name in (map_to, map_from):
        if name is not None and name not in LABEL_SETS:
            raise ConfigError("unknown label set", f"known sets: {', '.join(LABEL_SETS)}")
    if map_from is not None and map_to is None and not target.label_sets:
        raise ConfigError("--map-from without --map", "say which label set to map to")
    if map_to is None and (not target.label_sets or options.any_label):
        return None
    used = {span.category for item in source.documents() if isinstance(item, Document) for span in item.spans}
    if map_to is None and all(allowed(label, target.label_sets) for label in used):
        return None
    wanted = map_to or target.label_sets[0]
    found = map_labels(map_from, wanted) if map_from else map_used_labels(used, wanted)
    strange = {label for label in used if find_label(label) is None}
    result.remarks += [
        f"labels: {loss.removesuffix(' and is dropped')}"
        for loss in found.losses
        if not any(loss.startswith(f"{label} ") for label in strange)
    ]
    result.remarks += [f"labels: {shown_label(label)} has no place in {wanted}" for label in sorted(strange)]
    return found.to


def relabelled(
    document: Document, mapping: Mapping[str, str | None] | None, target: Format, drop_unmapped: bool
) -> tuple[Document, list[str]]:
    """Return a document as the target can hold it, and the labels of the spans that were left out.

    Parameters
    ----------
    document : Document
    mapping : mapping of str to str or None, optional
        What becomes of each label; None: all stay as they are.
    target : Format
    drop_unmapped : bool
        Leave out spans whose label has no place.

    Raises
    ------
    LabelError
        When a label has no place, and is not to be left out.
    """
    if not target.carries_spans:
        return document.with_spans(()), [shown_label(span.category) for span in document.spans]
    if mapping is None:
        return document, []
    spans = []
    dropped = []
    for span in document.spans:
        label = mapping.get(span.category)
        if label is not None:
            spans.append(replace(span, category=label))
            continue
        if not drop_unmapped:
            raise LabelError(
                f"label {shown_label(span.category)} has no place in the target's label set",
                "leave such spans out with --drop-unmapped, or name the input's label set with --map-from",
                position=f"offset {span.start}",
            )
        dropped.append(shown_label(span.category))
    return document.with_spans(spans), dropped
