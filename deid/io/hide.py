"""HIDE's inline SGML: one document a file, each annotation an element named by its label (``<age>56</age>``).

The file's characters are the text, with ``&amp;``, ``&lt;``, ``&gt;``, ``&quot;``, ``&apos;`` and numeric references
decoded and the tags taken out; a bare ``&`` or ``<`` that begins no reference or tag stands for itself. Annotations may
nest, they are read in order of position, and they carry a label only. Source: Gardner and Xiong 2009.
"""

from __future__ import annotations

import functools
import html
import re

from deid.base.errors import FormatError, OutputError
from deid.document import Document, check_spans
from deid.io.encoding import decode, encode, looks_textual
from deid.io.formats import DocumentFormat, Options, Parts
from deid.io.inline import Markup, compose

_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*")
# possessive, so that a long stretch without ">" is looked at once
_MARK = re.compile(
    r"<(?P<close>/?)(?P<label>[A-Za-z][A-Za-z0-9_.:-]*+)(?P<rest>[^<>]*+)>|&(?P<reference>#?[0-9A-Za-z]{1,8});"
)
_REFERENCES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def read(parts: Parts, options: Options) -> Document:
    """Return the document of a file, its id empty.

    Raises
    ------
    FormatError
        When tags are malformed, not nested or not closed; names the line.
    """
    source = decode(parts[".sgml"], options.encoding)
    markup = Markup()
    done = 0

    def wrong(what: str, hint: str, place: int) -> FormatError:
        return FormatError(what, hint, position=f"line {source.count(chr(10), 0, place) + 1}")

    for found in _MARK.finditer(source):
        markup.add(source[done : found.start()])
        done = found.end()
        label = found["label"]
        if label is None:
            markup.add(_character(found["reference"]) or found.group())
        elif found["rest"].strip():
            raise wrong("a tag that holds more than a label", "write &lt; for a < that is text", found.start())
        elif not found["close"]:
            markup.open(label)
        elif markup.innermost() == label:
            markup.close()
        else:
            raise wrong("an end tag that ends nothing", "tags nest; write &lt; for a < that is text", found.start())
    if markup.innermost() is not None:
        raise wrong("an annotation is not closed", "the file may be truncated, or a < is text: &lt;", len(source))
    markup.add(source[done:])
    text, spans = markup.result()
    check_spans(len(text), spans)
    return Document("", text, tuple(spans))


def _character(reference: str) -> str:
    """Return what a reference stands for, an empty string where it is none."""
    if not reference.startswith("#"):
        return _REFERENCES.get(reference, "")
    try:
        code = int(reference[2:], 16) if reference[1:2] in "xX" else int(reference[1:])
        return chr(code) if not 0xD800 <= code < 0xE000 else ""
    except (ValueError, OverflowError):
        return ""


def write(document: Document, options: Options) -> dict[str, bytes]:
    """Return the file of a document by suffix.

    Raises
    ------
    OutputError, OffsetError
        When a label cannot be a tag, spans overlap without nesting, or a span lies outside the text.
    """
    check_spans(len(document.text), document.spans)
    for span in document.spans:
        if not _LABEL.fullmatch(span.category):
            raise OutputError(
                "a label that cannot be the name of an element",
                "labels are made of letters, digits and _ . : -",
                position=f"offset {span.start}",
            )
    escaped = functools.partial(html.escape, quote=False)
    encode(document.text, options.encoding, whole=False)  # so that the error names an offset in the text
    body = compose(document, escaped, lambda span: f"<{span.category}>", lambda span: f"</{span.category}>")
    return {".sgml": encode(body, options.encoding)}


HIDE = DocumentFormat(
    name="hide",
    suffixes=(".sgml", ".sgm"),
    matches=lambda head: looks_textual(head) and bool(re.search(rb"<([a-z][a-z0-9_-]*)>[^<]*</\1>", head)),
    read=read,
    write=write,
    carries_attributes=False,
)
