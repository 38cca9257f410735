"""One text, scrubbed or searched by one call."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, BinaryIO

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import LazyRecognizer, build_recognizer
from deid.document import Failure, Span
from deid.io import FORMATS, DocumentFormat
from deid.io.formats import ReadingOptions
from deid.io.reading import get_format
from deid.pipeline.core import Pipeline, Scrubbed, as_document, build_pipeline
from deid.pipeline.files import fitted
from deid.pipeline.options import PipelineOptions
from deid.pipeline.workers import Timed, process


def scrub(text: str, *, key: Key | None = None, **options: Any) -> str:
    """Return a text with its PHI replaced.

    Parameters
    ----------
    text : str
    key : Key, optional
        Makes the surrogates: the same key, the same surrogates (`deid.load_key`). By default one that is thrown away
        when Python ends: nothing is written, and nobody can tell later who stands behind a surrogate.
    options
        Those of `PipelineOptions`, such as ``policy="redact"``.

    Raises
    ------
    DeidError
        When the options cannot be fulfilled, or the text cannot be processed; nothing of it is returned then.

    Examples
    --------
    >>> scrub("Seen by Dr. Alice Baker on 3 May 2019.", policy="redact")
    'Seen by Dr. [NAME] on [DATE].'
    """
    return made(key, PipelineOptions(**options))(text).document.text


def scrub_stream(stream: BinaryIO, pipeline: Pipeline, reading: ReadingOptions) -> tuple[bytes, Scrubbed] | Failure:
    """Scrub the one note of a stream; return it as a file of its format, and what was done, or what went wrong.

    Raises
    ------
    ConfigError
        When the format holds many notes, or the note is too large.
    DeidError
        When it cannot be read.
    """
    format = get_format(reading.format or "text", FORMATS)
    if not isinstance(format, DocumentFormat) or format.companions:
        raise ConfigError("standard input holds one note", "of many records: deid filter")
    data = stream.read(reading.max_document + 1)
    if len(data) > reading.max_document:
        raise ConfigError("the note of standard input is too large", "raise --max-document, or name a file")
    asked = replace(reading, told=reading.format is None)
    document = replace(format.read({format.suffixes[0]: data}, asked), id="text", index=1)
    result = next(process(Timed(pipeline.of_format(format), reading.timeout), [document]))
    if isinstance(result, Failure):
        return result
    # the suffix says what kind of document it is
    (written,) = format.write(fitted(result.document, format, reading), reading).values()
    return written, result


def find(text: str, **options: Any) -> list[Span]:
    """Return the PHI of a text: offsets, categories, and who found them.

    Parameters
    ----------
    text : str
    options
        Those of `RecognizerOptions`, such as ``model="none"``.

    Raises
    ------
    DeidError
        When the options cannot be fulfilled.

    Examples
    --------
    >>> [(span.start, span.end, span.category) for span in find("Seen by Dr. Alice Baker.")]
    [(12, 23, 'DOCTOR')]
    """
    return _recognizer(RecognizerOptions(**options)).find(as_document(text))


def made(key: Key | None, options: PipelineOptions) -> Pipeline:
    """Return the pipeline of a key and options, one of those last used; without a key, one that is thrown away."""
    return _pipeline(key or _throw_away(), options)


_throw_away = cache(Key.drawn)


@lru_cache(maxsize=4)
def _pipeline(key: Key, options: PipelineOptions) -> Pipeline:
    return build_pipeline(key, options)


@lru_cache(maxsize=4)
def _recognizer(options: RecognizerOptions) -> LazyRecognizer:
    return build_recognizer(options)
