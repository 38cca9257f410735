"""PhysioNet's nursing notes: records in a text file, the offsets of their PHI in a ``.phi`` file beside it.

A record begins with ``START_OF_RECORD=<patient>||||<note>||||`` and ends with ``||||END_OF_RECORD``, each on a line of
its own; offsets count from the first character after the header's line. The ``.phi`` file holds, for each record, a
line ``Patient <patient><tab>Note <note>`` and lines ``start start end``; a ``.phrase`` file gives the types: ``patient
note start end TYPE text``. Without types every span is ``Other``; without a ``.phi`` file there are none.

The id of a document is ``<patient>-<note>`` where both are numbers. Other ids are written in the patient's place with
an empty note, which this module reads again and PhysioNet's own program does not. Ids of spans, their attributes and
metadata are not carried. All files are streamed side by side. Source: Neamatullah et al. 2008, and its data files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from deid.base.errors import DeidError, FormatError, OffsetError, OutputError
from deid.document import Document, Span, check_spans
from deid.io.encoding import TextSink, encode, is_binary, lines, strip_mark
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.span_checks import check_label, check_text

_HEADER = re.compile(r"START_OF_RECORD=(.*)\|\|\|\|(.*)\|\|\|\|(\r?\n?)")
_END = "||||END_OF_RECORD"
_RESERVED = re.compile(r"^(?:START_OF_RECORD=|\|\|\|\|END_OF_RECORD\r?$)", re.MULTILINE)
_NUMBERS = re.compile(r"([0-9]+)-([0-9]+)")
_PATIENT = re.compile(r"Patient (.*)\tNote (.*)")
_PATIENT_SPACED = re.compile(r"\s*Patient\s+(\S+)\s+Note\s+(\S+)\s*")
_OFFSETS = re.compile(r"\s*[0-9]{1,15}\s+([0-9]{1,15})\s+([0-9]{1,15})\s*")
_PHRASE = re.compile(r"(\S+)\s+(\S+)\s+([0-9]{1,15})\s+([0-9]{1,15})\s+(\S+)(?:\s(.*))?")
_NUMBER = re.compile(r"[0-9]{1,15}")
_UNTYPED = "Other"
_LABEL_SETS = ("physionet", "i2b2-2014")
_TEXT, _PHI, _PHRASES = ".txt", ".phi", ".phrase"

Key = tuple[str, str]
"""Patient and note."""
_NOWHERE: Key = ("", "")
Line = tuple[str, Key, tuple[int, int], str, str]
"""Position, record, offsets, label, covered text of one annotation; label and text may be empty."""


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the records of a file as they come."""
    phi = _SideFile(_phi_lines(streams[_PHI], options.encoding)) if _PHI in streams else None
    phrases = _SideFile(_phrase_lines(streams[_PHRASES], options.encoding)) if _PHRASES in streams else None
    for key, text in _texts(streams[_TEXT], options.encoding):
        try:
            offsets = phi.take(key) if phi and key != _NOWHERE else None
            types = phrases.take(key) if phrases and key != _NOWHERE else None
            if isinstance(text, DeidError):
                raise text
            yield Document(_id_of(key), text, _spans(text, offsets, types, options.any_label))
        except DeidError as error:
            yield error
    for side, suffix in ((phi, _PHI), (phrases, _PHRASES)):
        if side is not None and (position := side.left_over()):
            yield FormatError(
                f"the {suffix} file annotates a record that is not there",
                "the files may not belong together, or a record above could not be read",
                position=position,
            )


def _texts(stream: BinaryIO, encoding: str) -> Iterator[tuple[Key, str | DeidError]]:
    """Yield each record's key with its text, or with what is wrong; the key is empty outside the records."""
    head = stream.read(16)
    stream.seek(0)
    if kind := is_binary(head):
        raise FormatError(f"this is no text but {kind}", "name the right format with --from")
    key: Key | tuple[()] = ()
    problem: DeidError | None = None
    pieces: list[str] = []
    begun = end = ""
    number = 0
    outside = False
    for number, line in lines(stream, encoding):
        if isinstance(line, DeidError):
            if key:
                problem = problem or line
            else:
                yield _NOWHERE, line
            continue
        line = strip_mark(line) if number == 1 else line
        if header := _HEADER.fullmatch(line):
            if key:
                yield key, FormatError("a record without an end", f"a record ends with {_END}", position=begun)
            key, end, pieces, problem = (header[1], header[2]), header[3] or "\n", [], None
            begun, outside = f"line {number}", False
        elif key and line in (_END, _END + "\n", _END + end):
            yield key, problem or "".join(pieces).removesuffix(end)
            key = ()
        elif key:
            pieces.append(line)
        elif line.strip() and not outside:
            outside = True  # told once for each such stretch
            error = FormatError("text outside the records", "see docs/formats.md", position=f"line {number}")
            yield _NOWHERE, error
    if key:
        yield key, problem or FormatError("a record without an end", "the file may be truncated", position=begun)
    elif not number:
        raise FormatError("the file is empty", "it needs at least one record")


def _id_of(key: Key) -> str:
    patient, note = key
    return f"{patient}-{note}" if note else patient


def _key_of(identifier: str) -> Key:
    found = _NUMBERS.fullmatch(identifier)
    return (found[1], found[2]) if found else (identifier, "")


class _SideFile:
    """Annotations of a file beside the text, taken record by record.

    Where both files have their records in the same order, only one record's annotations are in memory at a time.
    """

    def __init__(self, source: Iterator[Line | tuple[str, Key] | DeidError]) -> None:
        self._source = source
        self._waiting: dict[Key, list[Line]] = {}
        self._places: dict[Key, str] = {}
        self._next: Line | tuple[str, Key] | None = None
        self._broken: DeidError | None = None

    def take(self, key: Key) -> list[Line]:
        """Return the annotations of a record and forget them."""
        while key not in self._waiting and self._read_block():
            pass
        if key not in self._waiting and self._broken is not None:
            raise self._broken  # the annotations may stand behind the broken line, so the record is not complete
        self._places.pop(key, None)
        return self._waiting.pop(key, [])

    def left_over(self) -> str:
        """Return where the first annotations stand that nobody took, an empty string where there are none."""
        while self._read_block():
            pass
        if self._broken is not None:
            return ""  # told already, or nothing is missing
        return next((self._places[key] for key, found in self._waiting.items() if found), "")

    def _read_block(self) -> bool:
        """Read up to where the next record's annotations begin."""
        current: Key | None = None
        while True:
            item = self._next if self._next is not None else next(self._source, None)
            self._next = None
            if item is None:
                return current is not None
            if isinstance(item, DeidError):
                self._broken = item
                if current is not None:
                    del self._waiting[current]  # perhaps not all of them
                return False
            position, key = item[0], item[1]
            if current is not None and key != current:
                self._next = item
                return True
            current = key
            self._places.setdefault(key, position)
            waiting = self._waiting.setdefault(key, [])
            if len(item) > 2:
                waiting.append(item)


def _full_lines(stream: BinaryIO, encoding: str, part: str) -> Iterator[tuple[str, str | DeidError]]:
    """Yield place and text of the lines that are not blank; an error is the last."""
    for number, line in lines(stream, encoding):
        position = f"{part} line {number}"
        if isinstance(line, DeidError):
            yield position, type(line)(line.what, line.hint, position=position)
            return
        if (line := strip_mark(line).removesuffix("\n").removesuffix("\r")).strip():
            yield position, line


def _phi_lines(stream: BinaryIO, encoding: str) -> Iterator[Line | tuple[str, Key] | DeidError]:
    key: Key | None = None
    for position, line in _full_lines(stream, encoding, _PHI):
        if isinstance(line, DeidError):
            yield line
            return
        if patient := _PATIENT.fullmatch(line) or _PATIENT_SPACED.fullmatch(line):
            key = (patient[1], patient[2])
            yield position, key
        elif key is not None and (offsets := _OFFSETS.fullmatch(line)):
            yield position, key, (int(offsets[1]), int(offsets[2])), "", ""
        else:
            yield FormatError(
                "a line that is neither 'Patient p<tab>Note n' nor 'start start end'",
                "repair the line; nothing after it was read",
                position=position,
            )
            return


def _phrase_lines(stream: BinaryIO, encoding: str) -> Iterator[Line | tuple[str, Key] | DeidError]:
    for position, line in _full_lines(stream, encoding, _PHRASES):
        if isinstance(line, DeidError):
            yield line
            return
        fields = line.split("\t", 5)
        if len(fields) < 6 or not (_NUMBER.fullmatch(fields[2]) and _NUMBER.fullmatch(fields[3])):
            found = _PHRASE.fullmatch(line)
            if not found:
                yield FormatError(
                    "a line that is not 'patient note start end TYPE text'",
                    "repair the line; nothing after it was read",
                    position=position,
                )
                return
            fields = [field or "" for field in found.groups()]
        yield position, (fields[0], fields[1]), (int(fields[2]), int(fields[3])), fields[4], fields[5]


def _spans(text: str, phi: list[Line] | None, phrases: list[Line] | None, any_label: bool) -> tuple[Span, ...]:
    """Join the offsets of the one file with the types of the other."""
    typed: dict[tuple[int, int], list[Line]] = {}
    for line in phrases or ():
        typed.setdefault(line[2], []).append(line)
    spans = []
    for line in phi if phi is not None else phrases or ():
        queue = typed.get(line[2])
        position, _, (start, end), label, claimed = queue.pop(0) if queue else line
        label = label or _UNTYPED
        check_label(label, _LABEL_SETS, any_label, position)
        span = Span(start, end, label)
        check_spans(len(text), [span], position=position)
        if claimed:
            check_text(text, start, end, claimed, position)
        spans.append(span)
    for queue in typed.values():
        if queue:
            raise OffsetError(
                "a typed annotation whose offsets the .phi file does not have",
                "the .phi and .phrase files may not belong together",
                position=queue[0][0],
            )
    return tuple(spans)


class _Sink:
    """Writes one record a document into the three files."""

    def __init__(self, streams: Streams, options: Options) -> None:
        self._files = {suffix: TextSink(stream, options.encoding) for suffix, stream in streams.items()}
        self._options = options

    def add(self, document: Document) -> None:
        check_spans(len(document.text), document.spans)
        _check_writable(document, self._options)
        patient, note = _key_of(document.id)
        phi = [f"Patient {patient}\tNote {note}\n"]
        phrases = []
        for start, end, label in ((s.start, s.end, s.category) for s in document.spans):
            covered = re.sub(r"[\t\n\r]", " ", document.text[start:end])
            phi.append(f"{start}\t{start}\t{end}\n")
            phrases.append(f"{patient}\t{note}\t{start}\t{end}\t{label}\t{covered}\n")
        header = f"START_OF_RECORD={patient}||||{note}||||\n"
        self._files[_TEXT].write(f"{header}{document.text}\n{_END}\n\n")
        self._files[_PHI].write("".join(phi))
        self._files[_PHRASES].write("".join(phrases))

    def finish(self) -> None:
        for file in self._files.values():
            file.close()


def _check_writable(document: Document, options: Options) -> None:
    if found := _RESERVED.search(document.text):
        raise OutputError(
            "a line of the text looks like the beginning or end of a record",
            "write another format",
            position=f"offset {found.start()}",
        )
    encode(document.text, options.encoding, whole=False)
    encode(document.id, options.encoding, whole=False)
    if re.search(r"\|\|\|\||[\t\n\r]|^\ufeff", document.id):
        raise OutputError("an id that cannot stand in a record's header", "write another format or rename it")
    for span in document.spans:
        position = f"offset {span.start}"
        check_label(span.category, _LABEL_SETS, options.any_label, position)
        if re.search(r"\s", span.category):
            raise OutputError("a label with white space", "rename the label", position=position)
        encode(span.category, options.encoding, whole=False)


PHYSIONET = CollectionFormat(
    name="physionet",
    suffixes=(_TEXT,),
    companions=(_PHI, _PHRASES),
    matches=lambda head: head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"START_OF_RECORD="),
    label_sets=_LABEL_SETS,
    carries_attributes=False,
    read=read,
    write=_Sink,
)
