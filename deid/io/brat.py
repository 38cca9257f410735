"""brat standoff: the text in a ``.txt`` file, its annotations beside it in an ``.ann`` file.

Text-bound annotations (``T``) are the spans. Attributes (``A``, ``M``) and notes (``#``) of a ``T`` line become the
span's attributes, a note's name with ``note.`` before it. All other lines (relations, events, equivalences,
normalizations) are kept in ``metadata["brat"]`` as they stand. Offsets are code points; a fragment of a discontinuous
annotation cannot be a span, so such a file is refused. Source: the brat standoff documentation (Stenetorp et al. 2012).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deid.base.errors import FormatError, OutputError, require
from deid.document import Document, Span, check_spans
from deid.io.encoding import decode, encode, looks_textual, strip_mark
from deid.io.formats import DocumentFormat, Options, Parts
from deid.io.span_checks import check_label, check_text

_TEXT_BOUND = re.compile(r"(T[^\s]*)\t(\S+) ([0-9]{1,15}) ([0-9]{1,15})(?:\t(.*))?")
_DISCONTINUOUS = re.compile(r"T[^\s]*\t\S+ [0-9]+ [0-9]+(?:;[0-9]+ [0-9]+)+")
_ATTRIBUTE = re.compile(r"[AM][^\s]*\t(\S+) (\S+)(?: (.*))?")
_NOTE = re.compile(r"#[^\s]*\t(\S+) (\S+)\t(.*)")
_ID = re.compile(r"T[0-9]{1,15}")
_WORD = re.compile(r"[^\s;]+")
_BREAKS = str.maketrans("\t\n\r", "   ")
_NOTE_PREFIX = "note."
_LINES = "brat"


def read(parts: Parts, options: Options) -> Document:
    """Return the document of a text and its annotations, its id empty.

    Raises
    ------
    FormatError, OffsetError, EncodingError
        When a file of the pair is missing, an id occurs twice, or a line is malformed; names the line.
    """
    if ".ann" not in parts:
        raise FormatError("the .ann file is missing", "each .txt of a brat folder needs one, which may be empty")
    require(".txt" in parts, "the .txt file is missing", "each .ann of a brat folder needs its text", kind=FormatError)
    text = decode(parts[".txt"], options.encoding)
    spans: dict[str, Span] = {}
    attributes: dict[str, list[tuple[str, str]]] = {}
    others: list[str] = []
    # annotation files end lines with LF; a CR before it comes from an editor
    for number, line in enumerate(strip_mark(decode(parts[".ann"], options.encoding, whole=False)).split("\n"), 1):
        line, position = line.removesuffix("\r"), f".ann line {number}"
        if line.startswith("T"):
            identifier, span = _text_bound(line, text, position)
            if identifier in spans:
                raise FormatError("an annotation id occurs twice", "renumber the annotations", position=position)
            spans[identifier] = span
        elif found := _ATTRIBUTE.fullmatch(line):
            attributes.setdefault(found[2], []).append((found[1], found[3] or ""))
            others.append(line)
        elif found := _NOTE.fullmatch(line):
            attributes.setdefault(found[2], []).append((_NOTE_PREFIX + found[1], found[3]))
            others.append(line)
        elif line.strip():
            others.append(line)
    # attributes of events and relations stay among the other lines
    kept = [line for line in others if _target(line) not in spans]
    metadata: Mapping[str, Any] = {_LINES: kept} if kept else {}
    return Document(
        "",
        text,
        tuple(
            Span(s.start, s.end, s.category, identifier, attributes=tuple(attributes.get(identifier, ())))
            for identifier, s in spans.items()
        ),
        metadata,
    )


def _text_bound(line: str, text: str, position: str) -> tuple[str, Span]:
    found = _TEXT_BOUND.fullmatch(line)
    if not found:
        if _DISCONTINUOUS.match(line):
            raise FormatError(
                "a discontinuous annotation, which no span can express",
                "split it into one annotation for each fragment",
                position=position,
            )
        raise FormatError(
            "a line beginning with T is no annotation", "write: T1<tab>LABEL start end<tab>text", position=position
        )
    span = Span(int(found[3]), int(found[4]), found[2])
    check_spans(len(text), [span], position=position)
    if found[5] is not None:
        check_text(text, span.start, span.end, found[5], position)
    return found[1], span


def _target(line: str) -> str:
    found = _ATTRIBUTE.fullmatch(line) or _NOTE.fullmatch(line)
    return found[2] if found else ""


def write(document: Document, options: Options) -> dict[str, bytes]:
    """Return the text and its annotations by suffix; ids that are not of the form ``T1`` are numbered anew.

    Raises
    ------
    OutputError, OffsetError, LabelError
        When a label or attribute cannot be expressed in brat, or a span lies outside the text.
    """
    check_spans(len(document.text), document.spans)
    ids = _ids(document)
    lines: list[str] = []
    marks = 0
    for identifier, span in zip(ids, document.spans, strict=True):
        position = f"offset {span.start}"
        check_label(span.category, (), True, position)
        if not _WORD.fullmatch(span.category):
            raise OutputError("a label holds white space, which ends a label in brat", "rename the label", "", position)
        covered = document.text[span.start : span.end].translate(_BREAKS)
        lines.append(f"{identifier}\t{span.category} {span.start} {span.end}\t{covered}")
        for name, value in span.attributes:
            marks += 1
            note = name.startswith(_NOTE_PREFIX)
            name = name.removeprefix(_NOTE_PREFIX)
            if not _WORD.fullmatch(name) or "\n" in value or value.endswith("\r"):
                raise OutputError(
                    "an annotation has an attribute that brat cannot express",
                    "its name may hold no white space and its value no line end",
                    position=position,
                )
            if note:
                lines.append(f"#{marks}\t{name} {identifier}\t{value}")
            else:
                lines.append(f"A{marks}\t{name} {identifier}" + (f" {value}" if value else ""))
    lines += _other_lines(document, ids)
    content = "".join(f"{line}\n" for line in lines)
    return {".ann": encode(content, options.encoding, whole=False), ".txt": encode(document.text, options.encoding)}


def _ids(document: Document) -> list[str]:
    """Return the spans' ids, or new ones where one of them is no brat id."""
    ids = [span.id for span in document.spans]
    if len(set(ids)) == len(ids) and all(_ID.fullmatch(identifier) for identifier in ids):
        return ids
    return [f"T{n}" for n in range(1, len(ids) + 1)]


def _other_lines(document: Document, ids: list[str]) -> list[str]:
    kept = document.metadata.get(_LINES, [])
    if not isinstance(kept, list) or not all(isinstance(line, str) and _is_other(line, ids) for line in kept):
        raise OutputError("the metadata field brat does not hold other lines of an .ann file", "drop this field")
    return kept


def _is_other(line: str, ids: list[str]) -> bool:
    return (
        bool(line.strip())
        and line[0] not in "T\ufeff"
        and "\n" not in line
        and _target(line) not in ids
        and not line.endswith("\r")
    )


BRAT = DocumentFormat(
    name="brat", suffixes=(".txt",), companions=(".ann",), matches=looks_textual, read=read, write=write
)
