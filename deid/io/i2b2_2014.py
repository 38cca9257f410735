"""The XML of i2b2-2014 and of MEDDOCAN: one document a file, its text in TEXT, its annotations in TAGS.

Offsets count the characters of TEXT, whether it is written as CDATA or escaped; a U+FEFF inside TEXT counts, a BOM at
the start of the file does not. Each child of TAGS is one span: ``TYPE`` is its category, the element's name the coarse
group of that category (kept as the attribute ``<element>`` where it differs). What else an annotation carries is kept
in its attributes, in order; an empty ``comment``, which the official files have everywhere, means none and is written
everywhere. Sources: the files of the 2014 i2b2/UTHealth shared task (Stubbs and Uzuner 2015) and of MEDDOCAN (2019).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

from deid.base.errors import FormatError, OffsetError, OutputError, require
from deid.document import Document, Span, check_spans
from deid.io.encoding import encode
from deid.io.formats import DocumentFormat, Options, Parts
from deid.io.span_checks import check_label, check_text
from deid.io.xml_parts import (
    attribute,
    check_characters,
    chunks,
    declaration,
    feed,
    is_name,
    new_parser,
    place,
    root_of,
)
from deid.phi import group

ELEMENT = "<element>"
"""Name of the span attribute that keeps an unusual element name; no XML attribute can have this name."""
_LABEL_SETS = ("i2b2-2014", "meddocan")
_OWN = ("id", "start", "end", "text", "TYPE")
_NUMBER = re.compile(r"[0-9]{1,15}")
_BREAK = re.compile(r"\r|\]\]>")


class _Reader:
    """Collects text and annotations while expat walks through a file."""

    def __init__(self, parser: Any, any_label: bool) -> None:
        self.parser = parser
        self.any_label = any_label
        self.path: list[str] = []
        self.seen: set[str] = set()
        self.pieces: list[str] = []
        self.tags: list[tuple[str, dict[str, str], str]] = []
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters

    def fail(self, what: str, hint: str) -> FormatError:
        return FormatError(what, hint, position=place(self.parser))

    def start(self, name: str, attributes: list[str]) -> None:
        depth = len(self.path)
        if depth == 1:
            if name not in ("TEXT", "TAGS"):
                hint = "each file holds one TEXT and one TAGS; other XML is read by --from text, FHIR as JSON alone"
                raise self.fail("an element that is neither TEXT nor TAGS", hint)
            if name in self.seen:
                raise self.fail(f"a second {name}", "each file holds one document: one TEXT and one TAGS")
            self.seen.add(name)
        elif depth == 2 and self.path[1] == "TAGS":
            self.tags.append((name, dict(zip(attributes[::2], attributes[1::2], strict=True)), place(self.parser)))
        elif depth >= 2:
            raise self.fail("an element where there is to be none", "TEXT holds characters only, annotations are empty")
        self.path.append(name)

    def end(self, _: str) -> None:
        self.path.pop()

    def characters(self, data: str) -> None:
        if self.path[1:] == ["TEXT"]:
            self.pieces.append(data)
        elif data.strip():
            raise self.fail("text outside TEXT", "the document's text belongs into the element TEXT")

    def spans(self, text: str) -> tuple[Span, ...]:
        spans = []
        for element, attributes, position in self.tags:
            missing = [name for name in ("start", "end", "TYPE") if name not in attributes]
            if missing:
                raise FormatError(
                    f"an annotation without {', '.join(missing)}", "it needs start, end and TYPE", position=position
                )
            label = attributes["TYPE"]
            check_label(label, _LABEL_SETS, self.any_label, position)
            if not (_NUMBER.fullmatch(attributes["start"]) and _NUMBER.fullmatch(attributes["end"])):
                raise OffsetError("an offset is no number", "start and end are counted from 0", position=position)
            others = [pair for pair in attributes.items() if pair[0] not in _OWN and pair != ("comment", "")]
            if element != group(label):
                others.append((ELEMENT, element))
            span = Span(
                int(attributes["start"]),
                int(attributes["end"]),
                label,
                attributes.get("id", ""),
                attributes=tuple(others),
            )
            check_spans(len(text), [span], position=position)
            if "text" in attributes:
                check_text(text, span.start, span.end, attributes["text"], position)
            spans.append(span)
        return tuple(spans)


def read(parts: Parts, options: Options) -> Document:
    """Return the document of a file, its id empty.

    Raises
    ------
    FormatError, OffsetError, LabelError
        When the XML is malformed or has no TEXT, or an annotation does not fit.
    """
    parser = new_parser()
    reader = _Reader(parser, options.any_label)
    for text in chunks(BytesIO(parts[".xml"]), options.encoding):
        feed(parser, text)
    feed(parser, "", final=True)
    require("TEXT" in reader.seen, "the file has no TEXT", "name the right format with --from", kind=FormatError)
    whole = "".join(reader.pieces)
    return Document("", whole, reader.spans(whole))


def _write(root: str, document: Document, options: Options) -> dict[str, bytes]:
    """Return the file of a document by suffix, with this root element."""
    check_characters(document.text)
    check_spans(len(document.text), document.spans)
    body = _BREAK.sub(lambda found: "]]>&#13;<![CDATA[" if found.group() == "\r" else "]]]]><![CDATA[>", document.text)
    lines = [declaration(options.encoding), f"<{root}>\n<TEXT><![CDATA[{body}]]></TEXT>\n<TAGS>\n"]
    lines += [_tag(document.text, span, options) for span in document.spans]
    lines.append(f"</TAGS>\n</{root}>\n")
    return {".xml": encode("".join(lines), options.encoding, whole=False)}


def _tag(text: str, span: Span, options: Options) -> str:
    position = f"offset {span.start}"
    check_label(span.category, _LABEL_SETS, options.any_label, position)
    others = dict(span.attributes)
    element = others.pop(ELEMENT, group(span.category))
    if len(dict(span.attributes)) < len(span.attributes) or set(others) & set(_OWN):
        raise OutputError("an annotation has an attribute twice", "give each attribute a name of its own", "", position)
    if not all(map(is_name, (element, *others))):
        raise OutputError(
            "an annotation has an attribute whose name is no XML name", "rename or drop the attribute", "", position
        )
    others.setdefault("comment", "")
    fields = [("id", span.id)] if span.id else []
    fields += [("start", str(span.start)), ("end", str(span.end)), ("text", text[span.start : span.end])]
    fields += [("TYPE", span.category), *others.items()]
    return f"<{element}{''.join(attribute(name, value) for name, value in fields)} />\n"


def _is_i2b2(head: bytes) -> bool:
    root, child = root_of(head)
    return root == "deIdi2b2" or (child in ("TEXT", "TAGS") and root != "MEDDOCAN")


def _format(name: str, root: str, matches: Callable[[bytes], bool]) -> DocumentFormat:
    write = partial(_write, root)
    return DocumentFormat(
        name=name, suffixes=(".xml",), matches=matches, label_sets=_LABEL_SETS, read=read, write=write
    )


I2B2_2014 = _format("i2b2-2014", "deIdi2b2", _is_i2b2)
MEDDOCAN = _format("meddocan", "MEDDOCAN", lambda head: root_of(head)[0] == "MEDDOCAN")
