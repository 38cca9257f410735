"""The inline XML of i2b2-2006: many records a file, PHI marked in the text.

``<RECORD ID="..."><TEXT>`` holds a record's text with ``<PHI TYPE="...">`` elements in it, and those are the spans, in
order of position. One line break after ``<TEXT>`` and one before ``</TEXT>`` are layout, not text, when both are there
(as in the published files); they are always written. Attributes of a PHI element other than TYPE and id are kept as
the span's attributes; attributes of RECORD other than ID are not read. Records are streamed. Source: Uzuner et al.
2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deid.base.errors import DeidError, FormatError, OutputError
from deid.document import Document, Span, check_spans
from deid.io.encoding import TextSink
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.inline import Markup, compose
from deid.io.span_checks import check_label
from deid.io.xml_parts import (
    attribute,
    check_characters,
    chunks,
    declaration,
    escape,
    feed,
    is_name,
    new_parser,
    place,
    root_of,
)

_LABEL_SETS = ("i2b2-2006",)
_SUFFIX = ".xml"
_OWN = ("id", "TYPE")


class _Reader:
    """Collects finished records while expat walks through a file."""

    def __init__(self, parser: Any, any_label: bool) -> None:
        self.parser = parser
        self.any_label = any_label
        self.ready: list[Document | DeidError] = []
        self.path: list[str] = []
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        self.begin("")

    def begin(self, identifier: str) -> None:
        self.identifier = identifier
        self.markup = Markup()
        self.has_text = False
        self.problem: DeidError | None = None

    def blame(self, error: DeidError) -> None:
        """Keep the first thing that is wrong with the record; the records after it can still be read."""
        self.problem = self.problem or error

    def fail(self, what: str, hint: str) -> FormatError:
        return FormatError(what, hint, position=place(self.parser))

    def start(self, name: str, pairs: list[str]) -> None:
        attributes = dict(zip(pairs[::2], pairs[1::2], strict=True))
        depth = len(self.path)
        if depth == 1:
            if name != "RECORD":
                raise self.fail("an element that is no RECORD", "the file is a list of RECORD elements")
            self.begin(attributes.get("ID", ""))
        elif depth == 2:
            if name != "TEXT" or self.has_text:
                self.blame(self.fail("a record with something other than one TEXT", "each RECORD holds one TEXT"))
            self.has_text = True
        elif depth > 2:
            label = attributes.get("TYPE", "")
            try:
                if name != "PHI" or "TYPE" not in attributes:
                    raise self.fail("an element in the text that is no PHI with a TYPE", "mark PHI only")
                check_label(label, _LABEL_SETS, self.any_label, place(self.parser))
            except DeidError as error:
                self.blame(error)
            others = tuple(pair for pair in attributes.items() if pair[0] not in _OWN)
            self.markup.open(label, attributes.get("id", ""), others)
        self.path.append(name)

    def end(self, _: str) -> None:
        self.path.pop()
        depth = len(self.path)
        if depth > 2:
            self.markup.close()
        elif depth == 1:
            self.ready.append(self.problem or self.record())

    def characters(self, data: str) -> None:
        if len(self.path) > 2:
            self.markup.add(data)
        elif data.strip():
            self.blame(self.fail("text outside TEXT", "a record's text belongs into the element TEXT"))
            if len(self.path) < 2:
                raise self.fail("text outside the records", "remove it or put it into a record")

    def record(self) -> Document | DeidError:
        if not self.has_text:
            return self.fail("a record without TEXT", "each RECORD holds one TEXT")
        text, spans = self.markup.result()
        try:
            check_spans(len(text), spans, position=place(self.parser))
        except DeidError as error:
            return error
        layout = len(text) > 1 and text[0] == text[-1] == "\n"
        if layout and all(span.start > 0 and span.end < len(text) for span in spans):
            text = text[1:-1]
            spans = [Span(s.start - 1, s.end - 1, s.category, s.id, attributes=s.attributes) for s in spans]
        return Document(self.identifier, text, tuple(spans))


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the records of a file as they come, an error for each malformed one; raises where the XML breaks off."""
    parser = new_parser()
    reader = _Reader(parser, options.any_label)
    broken: DeidError | None = None
    for text in chunks(streams[_SUFFIX], options.encoding):
        try:
            feed(parser, text)
        except DeidError as error:
            broken = error
        yield from reader.ready
        reader.ready.clear()
        if broken is not None:
            raise broken
    feed(parser, "", final=True)
    yield from reader.ready


class _Sink:
    """Writes one record a document."""

    def __init__(self, streams: Streams, options: Options) -> None:
        self._text = TextSink(streams[_SUFFIX], options.encoding)
        self._options = options
        self._text.write(declaration(options.encoding) + "<ROOT>\n")

    def add(self, document: Document) -> None:
        check_characters(document.text)
        check_spans(len(document.text), document.spans)
        body = compose(document, escape, self._open, lambda _: "</PHI>")
        self._text.write(f"<RECORD{attribute('ID', document.id)}>\n<TEXT>\n{body}\n</TEXT>\n</RECORD>\n")

    def _open(self, span: Span) -> str:
        position = f"offset {span.start}"
        check_label(span.category, _LABEL_SETS, self._options.any_label, position)
        names = [name for name, _ in span.attributes]
        if len({*names, *_OWN}) < len(names) + len(_OWN) or not all(map(is_name, names)):
            raise OutputError(
                "an annotation has an attribute that XML cannot express",
                "each needs a name of its own that is an XML name",
                position=position,
            )
        fields = [("TYPE", span.category), *([("id", span.id)] if span.id else []), *span.attributes]
        return f"<PHI{''.join(attribute(name, value) for name, value in fields)}>"

    def finish(self) -> None:
        self._text.write("</ROOT>\n")
        self._text.close()


I2B2_2006 = CollectionFormat(
    name="i2b2-2006",
    suffixes=(_SUFFIX,),
    matches=lambda head: root_of(head)[1] == "RECORD",
    label_sets=_LABEL_SETS,
    read=read,
    write=_Sink,
)
