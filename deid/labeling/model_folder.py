"""Model folders: weights, description, lexicon, scores. No pickles; every file is accounted for by its checksum.

::

    tagger.json        labels, features, scheme, options, corpus, versions, checksums of the other files, own digest
    weights.crfsuite   weights of a CRF in CRFsuite's own format, or
    weights.npz        what another learner has learnt: weights or a tree (arrays, no objects)
    lexicon.tsv        lexical attributes that the weights may hold, and in how many training documents each stood
    rescoring.json     what rescores spans, where the model was trained so (numbers and strings of many notes)
    scores.json        what was measured (optional, written by whoever measures)
    audit.json         the record of `deid model audit` (optional)
    README.md          what the model is (optional)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import MALFORMED, ModelError, require, told_as
from deid.features import FeatureSet
from deid.labeling import rescoring
from deid.labeling.crfsuite_file import parse_crfsuite
from deid.labeling.decoder import Decoder
from deid.labeling.memm import MemmDecoder
from deid.labeling.rescoring import Rescorer
from deid.labeling.tables import TablePlace
from deid.labeling.tree import DecisionTree, TreeDecoder
from deid.labeling.weights import Weights

FORMAT = 1
"""Version of the folder's layout and of the features' definitions; other versions are refused."""

DESCRIPTION, LEXICON = "tagger.json", "lexicon.tsv"
CRF_WEIGHTS, ARRAY_WEIGHTS = "weights.crfsuite", "weights.npz"
RESCORER = "rescoring.json"
_FILES = (CRF_WEIGHTS, ARRAY_WEIGHTS, LEXICON, RESCORER)
_RETRAIN = "train the model again, or get it again from where it came from"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _own_digest(description: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in description.items() if k != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write_description(folder: Path, description: Mapping[str, Any]) -> None:
    """Write ``tagger.json`` with the checksums of the folder's weights, lexicon and rescorer and a digest of itself."""
    files = [n for n in _FILES if (folder / n).is_file()]
    full = {**description, "format": FORMAT, "files": {n: digest_of(folder / n) for n in files}}
    full["digest"] = _own_digest(full)
    text = json.dumps(full, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / DESCRIPTION).write_text(text, encoding="utf-8")


def read_description(folder: Path) -> dict[str, Any]:
    """Return ``tagger.json`` as a dictionary, checked, with the files that it accounts for.

    Raises
    ------
    ModelError
        When the folder is no model, was made by another version, or a file differs from what was saved.
    """
    where = str(folder)
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ModelError("no model: there is no tagger.json", "name a folder that deid train wrote", where)
    with told_as(ModelError("tagger.json is no description of a model", _RETRAIN, where), *MALFORMED):
        description = json.loads(path.read_text(encoding="utf-8"))
        made_by, files, digest = description["format"], dict(description["files"]), description["digest"]
    if made_by != FORMAT:
        raise ModelError(f"the model has format {made_by!r}, this version reads {FORMAT}", _RETRAIN, where)
    if digest != _own_digest(description):
        raise ModelError("tagger.json was changed after the model was saved", _RETRAIN, where)
    for name, wanted in files.items():
        if name not in _FILES:
            raise ModelError("tagger.json accounts for a file that no model has", _RETRAIN, where)
        if not (folder / name).is_file():
            raise ModelError(f"{name} is missing", _RETRAIN, where)
        if digest_of(folder / name) != wanted:
            raise ModelError(f"{name} was changed after the model was saved", _RETRAIN, where)
    return description


def read_decoder(
    folder: Path, description: Mapping[str, Any], features: FeatureSet, *, ships: bool = False
) -> tuple[Decoder, bytes | None]:
    """Return the decoder of a folder whose description was checked, with CRFsuite's own file as bytes if it has one.

    The weights of a model that ships are read when they are asked for, once its table is kept.

    Raises
    ------
    ModelError
        When the folder holds no weights, or they are damaged.
    """
    where = str(folder)
    if CRF_WEIGHTS in description["files"]:
        data = (folder / CRF_WEIGHTS).read_bytes()
        if description["options"].get("algorithm") == "memm":
            return MemmDecoder(parse_crfsuite(data), features), data
        decoder = Decoder(partial(parse_crfsuite, data), features, TablePlace(description["digest"]) if ships else None)
        if not decoder.tabled:
            decoder.weights  # noqa: B018 - damage is told here, not when labelling begins
        return decoder, data
    require(ARRAY_WEIGHTS in description["files"], "the model holds no weights", _RETRAIN, where, kind=ModelError)
    with told_as(ModelError(f"{ARRAY_WEIGHTS} does not hold weights", _RETRAIN, where), *MALFORMED):
        with np.load(folder / ARRAY_WEIGHTS, allow_pickle=False) as stored:
            arrays = dict(stored)
        names = json.loads(arrays.pop("names").tobytes())
        labels, rows = tuple(names["labels"]), {name: i for i, name in enumerate(names["attributes"])}
        if "threshold" in arrays:
            return TreeDecoder(DecisionTree(labels, rows, **arrays), features), None
        return Decoder(Weights(labels, rows, **arrays), features), None


def read_rescorer(folder: Path, description: Mapping[str, Any]) -> Rescorer | None:
    """Return what rescores the spans of a folder whose description was checked, None where nothing does.

    Raises
    ------
    ModelError
        When it cannot be read.
    """
    if RESCORER not in description["files"]:
        return None
    with told_as(ModelError(f"{RESCORER} does not hold a rescorer", _RETRAIN, str(folder)), OSError, ValueError):
        return rescoring.read((folder / RESCORER).read_bytes())


def write_arrays(folder: Path, decoder: Decoder) -> None:
    """Write ``weights.npz``: what a learner that is no CRF has learnt."""
    weights = decoder.weights
    arrays: Mapping[str, np.ndarray]
    if isinstance(decoder, TreeDecoder):
        arrays = decoder.tree.arrays()
    else:
        arrays = {"state": weights.state, "transition": weights.transition, "prior": weights.prior}
    names = {"labels": list(weights.labels), "attributes": list(weights.attributes)}
    raw = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    np.savez_compressed(folder / ARRAY_WEIGHTS, allow_pickle=False, names=raw, **arrays)


def write_lexicon(folder: Path, documents: Mapping[str, int]) -> None:
    """Write ``lexicon.tsv``: number of documents, attribute as a JSON string; sorted."""
    lines = (f"{n}\t{json.dumps(name, ensure_ascii=False)}\n" for name, n in sorted(documents.items()))
    with (folder / LEXICON).open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines)


class StoredLexicon(Mapping[str, int]):
    """The lexicon of a folder whose description was checked: lexical attribute -> number of documents.

    It is read when it is first asked: labelling never does.

    Raises
    ------
    ModelError
        When it is missing; on first use, when it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        require((folder / LEXICON).is_file(), f"{LEXICON} is missing", _RETRAIN, str(folder), kind=ModelError)
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        # where it is sent to, the folder may not be
        return dict, (self._read,)

    def __getitem__(self, attribute: str) -> int:
        return self._read[attribute]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    @cached_property
    def _read(self) -> dict[str, int]:
        with told_as(ModelError(f"{LEXICON} cannot be read", _RETRAIN, str(self._folder)), *MALFORMED):
            lines = (self._folder / LEXICON).read_text(encoding="utf-8").split("\n")[:-1]
            return {json.loads(name): int(n) for n, name in (line.split("\t", 1) for line in lines)}
