"""A transformer of a site's own as a recognizer: token classification from a local folder, by ONNX Runtime.

The folder is what ``optimum-cli export onnx --task token-classification`` writes: ``model.onnx``, ``tokenizer.json``,
``config.json`` with ``id2label``. Nothing is downloaded. A file ``labels.json`` in the folder may rename the model's
categories, such as ``{"PER": "PATIENT", "MISC": null}``; null leaves a category out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, ModelError
from deid.document import Document, Span
from deid.phi import CATEGORIES, find_label

_MODEL, _TOKENIZER, _CONFIG, _NAMES = "model.onnx", "tokenizer.json", "config.json", "labels.json"
_LONGEST = 512
_OUTSIDE = ("O", "")


def windows(n: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Return windows of at most ``size`` that cover ``n`` tokens, each at most ``stride`` behind the one before.

    The last window ends with the last token, so that all but a single one have the full size.

    Returns
    -------
    list of (int, int)
        First token and the one past the last.
    """
    if n <= size:
        return [(0, n)] if n else []
    starts = [*range(0, n - size, stride), n - size]
    return [(start, start + size) for start in starts]


@dataclass(frozen=True)
class TransformerRecognizer:
    """Finds spans with a token-classification model. Made by `load`."""

    name: str
    """For `Span.source`: ``transformer:`` and the folder's name."""
    labels: tuple[str, ...]
    """``B-``, ``I-`` and so on with categories, by the model's label ids; O outside."""
    longest: int
    """Tokens that the model takes at once, special tokens included."""
    tokenizer: Any = field(repr=False)
    session: Any = field(repr=False)
    stride: int | None = None
    """How many tokens the next window starts behind the one before; half a window when not given."""

    @classmethod
    def load(cls, folder: Path) -> TransformerRecognizer:
        """Return the recognizer of a folder with an ONNX model, a tokenizer and a configuration.

        Raises
        ------
        ConfigError
            When the extra ``onnx`` is not installed.
        ModelError
            When the folder is incomplete or names a category that is in no known label set.
        """
        try:
            import onnxruntime
            import tokenizers
        except ImportError:
            raise ConfigError(
                "a transformer needs ONNX Runtime and tokenizers", "pip install clinical-deid[onnx]"
            ) from None
        try:
            config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
            by_id = {int(number): str(label) for number, label in config["id2label"].items()}
            raw = [by_id[number] for number in range(len(by_id))]
            names = json.loads((folder / _NAMES).read_text(encoding="utf-8")) if (folder / _NAMES).is_file() else {}
            longest = min(_LONGEST, int(config.get("max_position_embeddings", _LONGEST)))
            if config.get("model_type") in ("roberta", "xlm-roberta", "camembert"):
                longest = min(longest, int(config["max_position_embeddings"]) - 2)  # positions begin at 2
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # documents run in parallel, not one document's sums
            session = onnxruntime.InferenceSession(
                str(folder / _MODEL), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except ModelError:
            raise
        except Exception:  # each library has its own exceptions, and a missing file is theirs too
            raise ModelError(
                "the folder holds no token-classification model",
                f"it needs {_MODEL}, {_TOKENIZER} and {_CONFIG} with id2label",
                str(folder),
            ) from None
        labels = tuple(_canonical(label, names, folder) for label in raw)
        return cls(f"transformer:{folder.resolve().name}", labels, longest, tokenizer, session)

    @property
    def categories(self) -> frozenset[str]:
        """The categories that it can find."""
        return frozenset(label.partition("-")[2] for label in self.labels if label != "O")

    def find(self, document: Document) -> list[Span]:
        """Return the spans found, with the smallest probability of their tokens' labels."""
        encoding = self.tokenizer.encode(document.text, add_special_tokens=False)
        offsets = encoding.offsets
        if not offsets:
            return []
        chance = self._chances(np.array(encoding.ids, dtype=np.int64))
        best = chance.argmax(axis=1)
        sure = chance[np.arange(len(best)), best]
        spans: list[Span] = []
        open_: tuple[int, int, str, float] | None = None
        for (start, end), label_id, p in zip(offsets, best.tolist(), sure.tolist(), strict=True):
            if start == end:
                continue
            kind, _, category = self.labels[label_id].partition("-")
            # pieces of one word follow each other without a gap, and go with its first piece
            glued = open_ is not None and open_[1] == start and document.text[start].isalnum()
            if category and open_ and category == open_[2] and (glued or kind in "IEL"):
                open_ = (open_[0], end, category, min(open_[3], p))
                continue
            if open_:
                spans.append(self._span(document.text, open_))
            open_ = (start, end, category, p) if category else None
        if open_:
            spans.append(self._span(document.text, open_))
        return [span for span in spans if len(span)]

    def _span(self, text: str, found: tuple[int, int, str, float]) -> Span:
        start, end, category, p = found
        # some tokenizers count the white space before a word to it
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(start, end, category, source=self.name, score=float(p))

    def _chances(self, ids: np.ndarray) -> np.ndarray:
        """Return each token's label probabilities, float64 of shape (n_tokens, n_labels)."""
        empty = self.tokenizer.encode("")
        special = empty.ids
        # the special token that ends a text is the last; all others stand before it
        before, behind = (special[:-1], special[-1:]) if special else ([], [])
        size = self.longest - len(special)
        stride = self.stride or max(1, size // 2)
        wanted = {node.name for node in self.session.get_inputs()}
        scores = np.empty((len(ids), len(self.labels)))
        depth = np.full(len(ids), -1)
        for first, stop in windows(len(ids), size, stride):
            part = np.concatenate([before, ids[first:stop], behind]).astype(np.int64)[None]
            inputs = {"input_ids": part, "attention_mask": np.ones_like(part), "token_type_ids": np.zeros_like(part)}
            (logits, *_) = self.session.run(None, {name: inputs[name] for name in wanted if name in inputs})
            here = logits[0, len(before) : len(before) + stop - first].astype(np.float64)
            # where windows overlap, the one that sees more on both sides decides
            place = np.arange(first, stop)
            seen = np.minimum(place - first + (first == 0) * size, stop - 1 - place + (stop == len(ids)) * size)
            better = seen > depth[first:stop]
            scores[first:stop][better] = here[better]
            depth[first:stop] = np.maximum(depth[first:stop], seen)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)


def _canonical(label: str, names: Mapping[str, str | None], folder: Path) -> str:
    """Return a label with its category as the ensemble knows it."""
    if label in _OUTSIDE:
        return "O"
    kind, dash, category = label.partition("-")
    if not dash or kind not in "BIESLU":
        kind, category = "I", label
    named = names.get(category, category)
    if named is None:
        return "O"
    known = find_label(named)
    found = named if named in CATEGORIES else known.canonical if known else None
    if found is None:
        raise ModelError(
            "the model has a category that is in no known label set",
            f"map it in {_NAMES} to a category of deid, or to null to leave it out",
            str(folder),
        )
    return f"{kind}-{found}"
