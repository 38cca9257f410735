"""Tables of shipped models: a labeller as it is when it has met the words of its model, in a file that processes map.

Start-up then reads neither weights nor word lists, and workers share one copy in memory. What a labeller meets beyond
its table is its own. Only models that ship have such tables: others may hold words of notes, and nothing that comes
from notes is kept outside their folders (`deid.base.cache`).
"""

from __future__ import annotations

import json
import platform
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from deid.base.cache import mapped
from deid.base.compiled import native_for

native = native_for("labeller")

_KIND = "labeller"
_LINE = 64
_MOST_WORDS = 4_000
"""Words whose rows go into a table: with eight neighbours and 64 labels 9 MB at most."""


@dataclass(frozen=True, slots=True)
class MappedTable:
    """A table that is mapped."""

    labels: tuple[str, ...]
    """Labels in the order of their ids."""
    block: memoryview
    """For the argument ``table`` of ``deid._native.Labeller``."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where the table of a model is kept."""

    fingerprint: str
    """Digest of the model's description, which has the digests of its weights and word lists."""

    def find(self, make: Callable[[], tuple[Sequence[str], bytes]] | None = None) -> MappedTable | None:
        """Return the table, None where it cannot be had.

        Parameters
        ----------
        make : callable, optional
            Returns the labels and what the labeller's ``frozen`` returned, for a table that is not kept yet.
        """
        if native is None:
            return None

        def content() -> bytes:
            assert make is not None
            labels, block = make()
            names = json.dumps(list(labels)).encode()
            head = len(names).to_bytes(8, "little") + names
            return head.ljust(-(-len(head) // _LINE) * _LINE) + block

        found = mapped(_KIND, self._sources(), content if make else None)
        if found is None:
            return None
        size = int.from_bytes(found[:8], "little")
        labels = tuple(json.loads(bytes(found[8 : 8 + size])))
        return MappedTable(labels, found[-(-(8 + size) // _LINE) * _LINE :])

    def _sources(self) -> Iterable[bytes]:
        """All that a table follows from: the model, the code that makes it, and whom it asks about characters."""
        assert native is not None
        yield self.fingerprint.encode()
        yield Path(native.__file__).read_bytes()
        yield f"{platform.python_version()} {unicodedata.unidata_version} {regex.__version__} {_MOST_WORDS}".encode()


def common_words(attributes: Iterable[str], plan: Mapping[str, Any]) -> list[str]:
    """Return the words that a model has weights for at most places, these first.

    Parameters
    ----------
    attributes : iterable of str
        The attributes of the weights.
    plan : mapping
        What `FeatureSet.compiled` returned.
    """
    sides = {side for family, _, seen in plan["families"] if family == _TOKEN for side in seen.values()}
    lengths = sorted({len(side) for side in sides})
    found: Counter[str] = Counter()
    for attribute in attributes:
        for length in lengths:
            if attribute[:length] in sides:
                found[attribute[length:]] += 1
    return sorted(found, key=lambda word: (-found[word], word))[:_MOST_WORDS]


_TOKEN = 3
"""The family of features that are the word itself (``csrc/labeller.h``)."""
