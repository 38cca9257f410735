"""Edit logs: what was replaced where, without any text; and moving spans by them.

A log is a JSONL file, a line a document: ``{"document": "doc-5f0c...", "length": 812, "edits": [[start, end, new_start,
new_end, category], ...]}`` with the scrubbed document's id, the original's length, and the edits in order; of a record
(`deid.records`) also ``"places": [[path, offset], ...]``, where each edit begins. With it gold
annotations, highlights and later corrections can be carried from the original to the scrubbed text and back.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError, FormatError, InputError, OffsetError
from deid.base.keys import Key
from deid.document import Edit, Failure
from deid.pipeline.naming import pseudonym_of_id

_HINT = "name the file that deid scrub --edits wrote"


@dataclass(frozen=True, slots=True)
class LoggedEdits:
    """The edits of one document."""

    document: str
    """Id of the scrubbed document."""
    length: int
    """Characters of the original text."""
    edits: tuple[Edit, ...]

    @property
    def new_length(self) -> int:
        """Characters of the scrubbed text."""
        return self.length + sum((e.new_end - e.new_start) - (e.end - e.start) for e in self.edits)


def log_line(document_id: str, length: int, edits: Sequence[Edit], places: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return the line of a document.

    Parameters
    ----------
    document_id : str
        Its key in the output.
    length : int
        Characters of the original.
    edits : sequence of Edit
        What was replaced.
    places : sequence of (str, int)
        Of a record, the path of each edit's place and the offset there.
    """
    values = [[e.start, e.end, e.new_start, e.new_end, e.category] for e in edits]
    line = {"document": document_id, "length": length, "edits": values} | ({"places": places} if places else {})
    return json.dumps(line).encode() + b"\n"


def read_edit_log(path: Path) -> Iterator[LoggedEdits]:
    """Yield the edits of a log, one document after the other.

    Raises
    ------
    FormatError
        When the file is no edit log, or edits overlap or do not fit together; names the line.
    """
    line = 0
    try:
        with path.open("rb") as stream:
            for raw in stream:
                line += 1
                if raw.strip():
                    yield logged_edits(json.loads(raw))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        where = f"line {line}" if line else ""
        raise FormatError("this is no edit log, or it is damaged", _HINT, str(path), where) from None


def logged_edits(record: Any) -> LoggedEdits:
    """Return the edits of a log's line, a JSON value.

    Raises
    ------
    KeyError, TypeError, ValueError
        When it is no such line, or edits overlap or do not fit together.
    """
    document, length = record["document"], record["length"]
    edits = tuple(Edit(*values) for values in record["edits"])
    if not isinstance(document, str) or type(length) is not int:
        raise TypeError
    read = written = 0
    for edit in edits:
        numbers = (edit.start, edit.end, edit.new_start, edit.new_end)
        if not all(type(n) is int for n in numbers) or not isinstance(edit.category, str):
            raise TypeError
        if not read <= edit.start < edit.end <= length or edit.new_start - written != edit.start - read:
            raise ValueError
        if edit.new_end < edit.new_start:
            raise ValueError
        read, written = edit.end, edit.new_end
    return LoggedEdits(document, length, edits)


def move_span(start: int, end: int, edits: Sequence[Edit], *, back: bool = False) -> tuple[int, int]:
    """Move a span from the original to the scrubbed text.

    Parameters
    ----------
    start, end : int
        Offsets in the text that is left.
    edits : sequence of Edit
        The document's edits, in order.
    back : bool
        Move from the scrubbed to the original text instead.

    Returns
    -------
    (int, int)
        Offsets in the other text. A border inside a replaced stretch moves to the border of its replacement that
        makes the span longer; a span that lies in a stretch that was replaced by nothing becomes empty.
    """
    here = [(e.new_start, e.new_end) if back else (e.start, e.end) for e in edits]
    there = [(e.start, e.end) if back else (e.new_start, e.new_end) for e in edits]
    return _move_start(start, here, there), max(_move_end(end, here, there), _move_start(start, here, there))


def move_spans(lines: Iterable[bytes], log: Path, *, back: bool, key: Key | None = None) -> Iterator[bytes | Failure]:
    """Move the spans of a JSONL file, a span a line: ``{"document": ..., "start": ..., "end": ..., "label": ...}``.

    Parameters
    ----------
    lines : iterable of bytes
        The spans. ``label`` may also be called ``category``; other fields are left out, they may hold text.
    log : Path
        The edit log.
    back : bool
        From scrubbed to original offsets; otherwise from original to scrubbed ones.
    key : Key, optional
        The key of the run, so that a span may name its document by the original id.

    Yields
    ------
    bytes or Failure
        A line for each span, with the document as the log names it (from original to scrubbed offsets) or as the span
        named it (back), empty where its text was removed; a `Failure` for a line that cannot be moved.
    """
    logs = {entry.document: entry for entry in read_edit_log(log)}
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            line = _move_line(raw, logs, back, key)
        except DeidError as error:
            name = f"line {number}"
            yield Failure(name, error.at(name), number)
            continue
        yield line


def _move_line(raw: bytes, logs: Mapping[str, LoggedEdits], back: bool, key: Key | None) -> bytes:
    try:
        span = json.loads(raw)
        document, start, end = span["document"], span["start"], span["end"]
        label = span.get("label", span.get("category", ""))
        if not (isinstance(document, str) and type(start) is int and type(end) is int and isinstance(label, str)):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError("this is no span", 'write {"document": "id", "start": 0, "end": 4, "label": "X"}') from None
    entry = logs.get(document) or (logs.get(pseudonym_of_id(key, document)) if key is not None else None)
    if entry is None:
        raise InputError("the edit log does not have its document", "name the log and the key of the same run")
    if not 0 <= start <= end <= (entry.new_length if back else entry.length):
        raise OffsetError(f"span {start}:{end} does not lie in its text", "offsets are characters, end excluded")
    start, end = move_span(start, end, entry.edits, back=back)
    value = {"document": document if back else entry.document, "start": start, "end": end, "label": label}
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only carry escaped
        return json.dumps(value).encode() + b"\n"


Stretches = Sequence[tuple[int, int]]


def _move_start(offset: int, here: Stretches, there: Stretches) -> int:
    place = bisect_right(here, offset, key=lambda stretch: stretch[0]) - 1
    if place < 0:
        return offset
    if offset < here[place][1]:
        return there[place][0]
    return there[place][1] + offset - here[place][1]


def _move_end(offset: int, here: Stretches, there: Stretches) -> int:
    place = bisect_left(here, offset, key=lambda stretch: stretch[0]) - 1
    if place < 0:
        return offset
    return there[place][1] + max(offset - here[place][1], 0)
