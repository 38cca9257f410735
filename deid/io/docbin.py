"""spaCy's DocBin: documents as ``Doc`` objects whose ``doc.spans["phi"]`` are the annotations.

A ``Doc`` can only mark whole tokens, so tokens are cut where an annotation begins or ends: every reader of the file
finds every span. What a ``Doc`` has no place for (ids, metadata, attributes) is kept as JSON in
``doc.user_data["deid"]``. In files of others, annotations are taken from ``doc.spans["phi"]``, else from ``doc.ents``.
The format is one compressed block, so a file is read and written as a whole. spaCy is imported where it is used; user
data are stored as msgpack, nothing is unpickled.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from deid.base.errors import DeidError, FormatError, OutputError, require
from deid.document import Document, Span, check_spans
from deid.io.encoding import encode
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.json_records import no_json
from deid.io.span_checks import check_label

SPANS_KEY = "phi"
_SUFFIX = ".spacy"
_DATA = "deid"
_LEAST_MOST, _MOST_RATIO = 1 << 28, 50
"""Bytes that any file may inflate to, and how many times its size; DocBins of notes are 3 to 10 times as large."""


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the documents of a file.

    Raises
    ------
    FormatError
        When the file is empty, too large, or no whole DocBin file.
    """
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    data = streams[_SUFFIX].read()
    require(data, "the file is empty", "a DocBin file holds at least a header", kind=FormatError)
    _check_size(data)
    number = 0
    try:
        for number, doc in enumerate(DocBin().from_bytes(data).get_docs(Vocab()), 1):
            yield _document(doc, f"document {number}")
    except DeidError:
        raise
    except Exception:  # zlib, msgpack, numpy and spaCy each have errors of their own for damaged content
        raise FormatError(
            "this is no whole DocBin file",
            "it may be truncated, of another format, or made by another version of spaCy",
            position=f"document {number + 1}",
        ) from None


def _check_size(data: bytes) -> None:
    """Refuse a file that inflates beyond all measure, before it fills the memory."""
    most = max(_LEAST_MOST, _MOST_RATIO * len(data))
    inflate, rest, size = zlib.decompressobj(), data, 0
    try:
        while rest and not inflate.eof:
            size += len(inflate.decompress(rest, 1 << 20))
            rest = inflate.unconsumed_tail
            if size > most:
                raise FormatError(
                    f"the file inflates to more than {most >> 20} MB",
                    "it may be made to fill the memory; write it in smaller files",
                )
    except zlib.error:
        return  # reading it says what is wrong


def _document(doc: Any, position: str) -> Document | DeidError:
    group = doc.spans.get(SPANS_KEY, doc.ents)
    found = [Span(span.start_char, span.end_char, span.label_) for span in group]
    text = doc.text
    try:
        kept = json.loads(doc.user_data.get(_DATA, "{}"))
        details = kept.get("spans", [])
        if len(details) == len(found):  # else the annotations were changed by someone since
            found = [
                Span(s.start, s.end, s.category, d["id"], "", d["score"], tuple((k, v) for k, v in d["attributes"]))
                for s, d in zip(found, details, strict=True)
            ]
        for span in found:
            check_label(span.category, (), True, position)
        check_spans(len(text), found, position=position)
        return Document(str(kept.get("id", "")), text, tuple(found), kept.get("metadata", {}))
    except DeidError as error:
        return error
    except (ValueError, TypeError, KeyError, AttributeError):
        return FormatError(
            "the data that this product keeps in a document are damaged", "write the file again", "", position
        )


class _Sink:
    """Collects the documents and writes them at the end."""

    def __init__(self, streams: Streams, options: Options) -> None:
        from spacy.tokens import DocBin

        self._stream = streams[_SUFFIX]
        self._tokenizer = _tokenizer()
        self._bin = DocBin(store_user_data=True)

    def add(self, document: Document) -> None:
        from spacy.tokens import Doc

        check_spans(len(document.text), document.spans)
        encode(document.text, "utf-8", whole=False)
        for span in document.spans:
            check_label(span.category, (), True, f"offset {span.start}")
            encode(span.category, "utf-8", whole=False)
        words, spaces = _cut(self._tokenizer(document.text), document.spans)
        doc = Doc(self._tokenizer.vocab, words=words, spaces=spaces)
        found = [doc.char_span(span.start, span.end, label=span.category) for span in document.spans]
        spans = [span for span in found if span is not None]
        if doc.text != document.text or len(spans) < len(found):
            raise OutputError("spaCy cannot represent this text and its annotations", "write another format")
        doc.spans[SPANS_KEY] = spans
        doc.user_data[_DATA] = _details(document)
        self._bin.add(doc)

    def finish(self) -> None:
        self._stream.write(self._bin.to_bytes())


def _tokenizer() -> Any:
    """Return spaCy's tokenizer with the rules of all languages, without a pipeline (which would load all plugins)."""
    from spacy.lang.xx import MultiLanguage
    from spacy.tokenizer import Tokenizer
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex
    from spacy.vocab import Vocab

    rules = MultiLanguage.Defaults
    return Tokenizer(
        Vocab(),
        rules=rules.tokenizer_exceptions,
        prefix_search=compile_prefix_regex(rules.prefixes or ()).search,
        suffix_search=compile_suffix_regex(rules.suffixes or ()).search,
        infix_finditer=compile_infix_regex(rules.infixes or ()).finditer,
        url_match=rules.url_match,
    )


def _cut(doc: Any, spans: tuple[Span, ...]) -> tuple[list[str], list[bool]]:
    """Return the tokens of a text and whether a space follows each, cut at the borders of the annotations."""
    starts = {span.start for span in spans}
    ends = {span.end for span in spans}
    borders = starts | ends
    words: list[str] = []
    spaces: list[bool] = []
    for token in doc:
        start, end = token.idx, token.idx + len(token.text)
        places = [start, *(place for place in range(start + 1, end) if place in borders), end]
        words += [token.text[a - start : b - start] for a, b in pairwise(places)]
        spaces += [False] * (len(places) - 1)
        if not token.whitespace_:
            continue
        if end in starts or end + 1 in ends:
            words.append(" ")  # an annotation begins or ends with the blank, so the blank must be a token
            spaces.append(False)
        else:
            spaces[-1] = True
    return words, spaces


def _details(document: Document) -> str:
    spans = [{"id": s.id, "score": s.score, "attributes": s.attributes} for s in document.spans]
    with no_json():
        return json.dumps({"id": document.id, "metadata": dict(document.metadata), "spans": spans}, allow_nan=False)


def _matches(head: bytes) -> bool:
    try:
        return b"attrs" in zlib.decompressobj().decompress(head, 1 << 16)
    except zlib.error:
        return False


DOCBIN = CollectionFormat(name="docbin", suffixes=(_SUFFIX,), matches=_matches, read=read, write=_Sink)
