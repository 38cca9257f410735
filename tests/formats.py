"""Documents written into memory in any format, and read back."""

from __future__ import annotations

import traceback
from dataclasses import replace
from io import BytesIO

from deid.base.errors import DeidError
from deid.document import Document, Span
from deid.io import Options
from deid.io.formats import CollectionFormat, DocumentFormat, Format

SECRET = "Zzyzxian"
"""Planted in texts, ids, labels and fields; 'Zzyzx' is part of no word of a message."""


def through(format: Format, collection: list[Document], options: Options | None = None) -> list[Document | DeidError]:
    """Write documents of one format into memory and read them back; ids that lie in file names are kept."""
    options = options or Options()
    if isinstance(format, DocumentFormat):
        return [replace(format.read(format.write(d, options), options), id=d.id) for d in collection]
    assert isinstance(format, CollectionFormat)
    streams = {suffix: BytesIO() for suffix in (format.suffixes[0], *format.companions)}
    sink = format.write(streams, options)
    for document in collection:
        sink.add(document)
    sink.finish()
    return list(format.read({suffix: BytesIO(stream.getvalue()) for suffix, stream in streams.items()}, options))


def written(format: Format) -> dict[str, bytes]:
    """Return a small valid set of files of a format, full of planted words."""
    text = f"Mr. {SECRET} & {SECRET},\n<b> 3/4\n"
    spans = () if format.name == "text" else (Span(4, 12, "PATIENT"), Span(15, 23, "DOCTOR"))
    document = Document("1-1", text, spans)
    if isinstance(format, DocumentFormat):
        return format.write(document, Options())
    streams = {suffix: BytesIO() for suffix in (format.suffixes[0], *format.companions)}
    sink = format.write(streams, Options())
    sink.add(document)
    sink.add(replace(document, id="2-1"))
    sink.finish()
    return {suffix: stream.getvalue() for suffix, stream in streams.items()}


def read_all(format: Format, parts: dict[str, bytes]) -> list[Document | DeidError]:
    """Read with the bare verbs, so that anything but a `DeidError` comes through."""
    try:
        if isinstance(format, DocumentFormat):
            return [format.read(parts, Options())]
        return list(format.read({suffix: BytesIO(data) for suffix, data in parts.items()}, Options()))
    except DeidError as error:
        return [error]


def silent(error: BaseException) -> bool:
    """Tell whether neither the error nor its traceback's chain repeats a planted word."""
    shown = f"{error!s} {error!r} {getattr(error, '__cause__', '')}"
    if error.__context__ is not None and not error.__suppress_context__:
        shown += "".join(traceback.format_exception_only(error.__context__))
    return "Zzyzx" not in shown
