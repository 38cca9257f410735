"""A spaCy component: ``nlp.add_pipe("deid")`` finds PHI and writes it to ``doc.spans["phi"]``.

spaCy finds it by the entry point of this distribution; nothing needs to be imported.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from deid.document import Document
from deid.document import Span as Found
from deid.errors import ConfigError, ModelError, OutputError
from deid.labeling.tagger import Tagger, load_model

__all__ = ["EXPANDED", "DeidComponent", "create_deid"]

EXPANDED = "deid_expanded"
"""Key of ``doc.user_data``: how many spans were widened to whole tokens of spaCy."""

_NAME = "name.json"
_MODEL = "model"


class DeidComponent:
    """Finds PHI in spaCy documents.

    The model is loaded when it is first needed, not when the component is made: a pipeline that was saved brings its
    own model and must open where the model that its configuration names does not exist.

    Parameters
    ----------
    name : str
        Name in the pipeline.
    model : str, optional
        Name of a shipped model or a model folder; the default model when not given.
    bias : float
        The recall dial.
    spans_key : str
        Where in ``doc.spans`` the spans go.
    """

    def __init__(self, name: str, model: str | None, bias: float, spans_key: str) -> None:
        self.name = name
        self.spans_key = spans_key
        self.bias = bias
        self._model = model
        self._tagger: Tagger | None = None

    @property
    def tagger(self) -> Tagger:
        """The tagger, loaded if it is not yet.

        Raises
        ------
        ModelError
            When there is no such model or it cannot be used.
        """
        if self._tagger is None:
            self._use(load_model(self._model))
        assert self._tagger is not None
        return self._tagger

    def _use(self, tagger: Tagger) -> None:
        self._tagger = tagger.dial(self.bias)

    @property
    def labels(self) -> tuple[str, ...]:
        """Categories that can be found, sorted; none before the model is loaded (spaCy asks before it is)."""
        return tuple(sorted(self._tagger.categories)) if self._tagger else ()

    def __call__(self, doc: Doc) -> Doc:
        """Set ``doc.spans[spans_key]``; an error leaves no document that only looks as if it held no PHI."""
        starts = np.array([token.idx for token in doc], dtype=np.int64)
        ends = starts + np.array([len(token) for token in doc], dtype=np.int64)
        spans, expanded = [], 0
        for found in self.tagger.find(Document("", doc.text)):
            span = _cover(doc, found, starts, ends)
            if span is not None:
                spans.append(span)
                expanded += span.start_char < found.start or span.end_char > found.end
        doc.spans[self.spans_key] = spans
        doc.user_data[EXPANDED] = expanded
        return doc

    def initialize(self, get_examples: Callable[[], Iterable[Any]], *, nlp: Language | None = None) -> None:
        """Load the model; examples are not needed."""
        self._use(self.tagger)

    def to_disk(self, path: Path, exclude: Iterable[str] = ()) -> None:
        """Write the model, so that the saved pipeline works where the model's own folder does not exist.

        The copy holds what the model holds; a model trained on real notes is audited before it leaves the house
        (``deid model audit``).

        Raises
        ------
        OutputError
            When the folder holds something else, or cannot be written.
        """
        folder = Path(path) / _MODEL
        if folder.exists():
            if not (folder / "tagger.json").is_file():
                raise OutputError("the folder exists and is no model", "name a new folder", str(folder))
            shutil.rmtree(folder)  # spaCy overwrites what it saved before
        self.tagger.save(folder)
        (Path(path) / _NAME).write_text(json.dumps(self.tagger.name) + "\n", encoding="utf-8")

    def from_disk(self, path: Path, exclude: Iterable[str] = ()) -> DeidComponent:
        """Load the model that `to_disk` wrote.

        Raises
        ------
        ModelError
            When it is damaged or does not fit this installation.
        """
        try:
            name = json.loads((Path(path) / _NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ModelError("the saved component is incomplete", "save the pipeline again", str(path)) from None
        self._use(dataclasses.replace(Tagger.load(Path(path) / _MODEL), name=str(name)))
        return self

    def to_bytes(self, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes (a zip archive)."""
        archive = io.BytesIO()
        with tempfile.TemporaryDirectory(prefix="deid-") as name, zipfile.ZipFile(archive, "w") as parts:
            folder = Path(name)
            self.to_disk(folder)
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                # ZipInfo has a fixed date, so that equal models are equal bytes
                parts.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
        return archive.getvalue()

    def from_bytes(self, data: bytes, exclude: Iterable[str] = ()) -> DeidComponent:
        """Load the model that `to_bytes` returned.

        Raises
        ------
        ModelError
            When the bytes are damaged or do not fit this installation.
        """
        bad = ModelError("the bytes are no saved component", "save the pipeline again")
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as parts:
                files = {name: parts.read(name) for name in parts.namelist()}
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, zlib.error):
            raise bad from None
        with tempfile.TemporaryDirectory(prefix="deid-") as name:
            folder = Path(name)
            (folder / _MODEL).mkdir()
            for file, content in files.items():
                if file != _NAME and not re.fullmatch(rf"{_MODEL}/[\w-][\w.-]*", file):
                    raise bad  # a forged archive must not write anywhere else
                (folder / file).write_bytes(content)
            return self.from_disk(folder)


def _cover(doc: Doc, found: Found, starts: np.ndarray, ends: np.ndarray) -> Span | None:
    """Return the smallest run of tokens that covers a span, None when it holds nothing but white space.

    White space between two tokens belongs to no token, so a span's own end may lie outside every token;
    `Doc.char_span` returns None for some of those, and a span that is lost is a leak.
    """
    first = int(np.searchsorted(ends, found.start, side="right"))
    last = int(np.searchsorted(starts, found.end, side="left"))
    if first >= last:
        return None
    return Span(doc, first, last, label=found.category, span_id=found.source)


@Language.factory(
    "deid",
    assigns=["doc.spans"],
    default_config={"model": None, "bias": 0.0, "spans_key": "phi"},
)
def create_deid(nlp: Language, name: str, model: str | None, bias: float, spans_key: str) -> DeidComponent:
    """Make the component from a pipeline's configuration.

    Parameters
    ----------
    nlp : Language
    name : str
    model : str, optional
        Name of a shipped model or a model folder.
    bias : float
        The recall dial: 0 as trained, .5 to 2 for more recall.
    spans_key : str
        Where in ``doc.spans`` the spans go.
    """
    if not spans_key:
        raise ConfigError("spans_key is empty", "for example: phi")
    return DeidComponent(name, model, bias, spans_key)
