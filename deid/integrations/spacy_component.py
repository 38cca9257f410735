"""A spaCy component: ``nlp.add_pipe("deid")`` finds PHI and writes it to ``doc.spans["phi"]``.

spaCy finds it by the entry point of this distribution; nothing needs to be imported. It recognizes what the command
line does with the same options (`deid.pipeline.build_recognizer`).
"""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from deid.base.errors import ModelError, OutputError, require
from deid.base.options import options_of, read_options
from deid.base.private_folder import PrivateFolder
from deid.base.resources import resource_folder
from deid.detection import PeopleOptions, RecognizerOptions
from deid.detection.dial import DIAL_FILE
from deid.detection.joining import JOINING_FILE
from deid.detection.options import RULES_ALONE
from deid.detection.recognizers import build_recognizer
from deid.detection.short import SHORT_FILE
from deid.document import Document
from deid.document import Span as Found
from deid.labeling.tagger import available_models, load_model
from deid.reading.languages import read_language
from deid.reading.vocabulary import languages

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
    options : RecognizerOptions
    spans_key : str
        Where in ``doc.spans`` the spans go.
    """

    def __init__(self, name: str, options: RecognizerOptions, spans_key: str = "phi") -> None:
        self.name = name
        self.options = options
        self.spans_key = spans_key
        self._recognizer = build_recognizer(options)
        self._labels: tuple[str, ...] = ()
        self._brought: bytes | None = None  # archive of the model, where a saved pipeline brought it

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.name, self.options, self.spans_key, self._brought)

    @property
    def labels(self) -> tuple[str, ...]:
        """Categories that can be found, sorted; none before the model is loaded (spaCy asks before it is)."""
        return self._labels

    def initialize(
        self, get_examples: Callable[[], Iterable[Any]] | None = None, *, nlp: Language | None = None
    ) -> None:
        """Load model and rules; examples are not needed.

        Raises
        ------
        ModelError
            When there is no such model or it cannot be used.
        """
        self._labels = tuple(sorted(self._recognizer.categories))

    def __call__(self, doc: Doc) -> Doc:
        """Set ``doc.spans``; an error leaves no document that only looks as if it held no PHI."""
        if not self._labels:
            self.initialize()
        starts = np.array([token.idx for token in doc], dtype=np.int64)
        ends = starts + np.array([len(token) for token in doc], dtype=np.int64)
        spans, expanded = [], 0
        for found in self._recognizer.find(Document("", doc.text)):
            span = _cover(doc, found, starts, ends)
            if span is not None:
                spans.append(span)
                expanded += span.start_char < found.start or span.end_char > found.end
        doc.spans[self.spans_key] = spans
        doc.user_data[EXPANDED] = expanded
        return doc

    def to_disk(self, path: Path, exclude: Iterable[str] = ()) -> None:
        """Write the model, so that the saved pipeline works where the model's own folder does not exist.

        The copy holds what the model holds; a model trained on real notes is audited before it leaves the house
        (``deid model audit``).

        Raises
        ------
        OutputError
            When the folder holds something else, or cannot be written.
        """
        data = self.to_bytes()
        folder = Path(path) / _MODEL
        if folder.exists():
            if not (folder / "tagger.json").is_file():
                raise OutputError("the folder exists and is no model", "name a new folder", str(folder))
            shutil.rmtree(folder)  # spaCy overwrites what it saved before
        Path(path).mkdir(parents=True, exist_ok=True)
        _unpack(data, Path(path))

    def from_disk(self, path: Path, exclude: Iterable[str] = ()) -> DeidComponent:
        """Load the model that `to_disk` wrote.

        Returns
        -------
        DeidComponent
            This component.

        Raises
        ------
        ModelError
            When it is damaged or does not fit this installation.
        """
        return self.from_bytes(_pack(Path(path)))

    def to_bytes(self, exclude: Iterable[str] = ()) -> bytes:
        """Return the model, and what lies beside it (dial, weights of joining), as bytes (a zip archive).

        Raises
        ------
        OutputError
            When the language is told for each note, so that there is no one model.
        """
        if self._brought is not None:
            return self._brought
        if read_language(self.options.language)[1]:
            raise OutputError("a component of several languages has no one model to save", "name its language")
        model = self.options.model
        if model is None:  # the language chose it
            used = self._recognizer.tagger
            model = RULES_ALONE if used is None else used.name
        with PrivateFolder() as name:
            folder = Path(name)
            if model != RULES_ALONE:
                tagger = load_model(model)
                tagger.save(folder / _MODEL)
                source = resource_folder("models") / model if model in available_models() else Path(model)
                for beside in filter(Path.is_file, (source / name for name in (DIAL_FILE, JOINING_FILE, SHORT_FILE))):
                    shutil.copyfile(beside, folder / _MODEL / beside.name)
                model = tagger.name
            (folder / _NAME).write_text(json.dumps(model) + "\n", encoding="utf-8")
            return _pack(folder)

    def from_bytes(self, data: bytes, exclude: Iterable[str] = ()) -> DeidComponent:
        """Load the model that `to_bytes` returned.

        Raises
        ------
        ModelError
            When the bytes are damaged or do not fit this installation.
        """
        with PrivateFolder() as name:
            folder = Path(name)
            _unpack(data, folder)
            model = _read_name(folder)
            if (folder / _MODEL).is_dir():
                # a tagger has the name of its folder, and says it in every span
                model = str((folder / _MODEL).rename(folder / "named" / model))
            # where the language chose the model, the model says which rules work beside it
            language = self.options.language if self.options.model else None
            self._recognizer = build_recognizer(replace(self.options, model=model, language=language))
            self.initialize()  # now, while the folder is there
            self._recognizer.find(Document("", "a note"))  # what reads short texts is loaded with the first
        self._brought = data
        return self


def _restore(name: str, options: RecognizerOptions, spans_key: str, brought: bytes | None) -> DeidComponent:
    """Make a component in another process."""
    component = DeidComponent(name, options, spans_key)
    return component if brought is None else component.from_bytes(brought)


def _read_name(folder: Path) -> str:
    try:
        name = str(json.loads((folder / _NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        name = ""
    has_model = (folder / _MODEL).is_dir()
    if Path(name).name != name or not name or has_model == (name == RULES_ALONE):
        raise ModelError("the saved component is incomplete", "save the pipeline again")
    (folder / "named").mkdir()
    return name


def _pack(folder: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as parts:
        for path in (folder / _NAME, *sorted((folder / _MODEL).glob("*"))):
            if path.is_file():
                # ZipInfo has a fixed date, so that equal models are equal bytes
                parts.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
    return archive.getvalue()


def _unpack(data: bytes, folder: Path) -> None:
    bad = ModelError("the bytes are no saved component", "save the pipeline again")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            files = {name: parts.read(name) for name in parts.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, zlib.error):
        raise bad from None
    # a forged archive must not write anywhere else
    if any(name != _NAME and not re.fullmatch(rf"{_MODEL}/[\w-][\w.-]*", name) for name in files):
        raise bad
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


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


_PEOPLE = {one.name for one in options_of(PeopleOptions)}
_DEFAULTS = {one.name: None for one in options_of(RecognizerOptions) if one.name not in _PEOPLE}


@Language.factory("deid", assigns=["doc.spans"], default_config={**_DEFAULTS, "spans_key": "phi"})
def create_deid(
    nlp: Language,
    name: str,
    spans_key: str,
    model: str | None,
    deny: list[str] | None,
    allow: list[str] | None,
    dial: float | str | None,
    doubt: float | None,
    span_probability: float | None,
    threshold: float | None,
    rules: bool | None,
    transformer: str | None,
    language: str | None,
) -> DeidComponent:
    """Make the component from a pipeline's configuration: the options of `RecognizerOptions` but those on people.

    Without model and language it reads the language of the pipeline, where there are rules for it, else English.

    Raises
    ------
    ConfigError
        When ``spans_key`` is empty, or the options contradict each other.
    """
    require(spans_key, "spans_key is empty", "for example: phi")
    given = {option: value for option, value in locals().items() if option in _DEFAULTS and value is not None}
    if model is None and language is None and nlp.lang in languages():
        given["language"] = nlp.lang
    return DeidComponent(name, read_options(RecognizerOptions, given), spans_key)
