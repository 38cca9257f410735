"""Which routes run: what was compiled where it was, else the Python routes, which do the same.

Two things are compiled. ``deid._native`` holds mechanisms in C (``deid/csrc``); each module that uses it has a plain
route of its own. The grammars (`deid.rules.names` and its like) and what judges their candidates
(`deid.detection.numbers` and its like) are compiled from their own sources by mypyc (``setup.py``); these sources are
the plain route.

``DEID_KERNELS=numpy`` in the environment chooses the plain routes, and a list such as ``DEID_KERNELS=view,grammar`` the
plain routes of some of `ROUTES`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from deid.base.errors import ConfigError

_Class = TypeVar("_Class", bound=type)

ROUTES = (
    *("alignment", "casing", "catalogue", "containment", "fields", "find_again", "grammar", "labeller"),
    *("lexicon", "misreading", "normalize", "overlaps", "patterns", "phrases", "view"),
)
"""What has a compiled route: names of modules, and ``grammar`` for those that mypyc compiles."""

_asked = [name.strip() for name in os.environ.get("DEID_KERNELS", "").split(",") if name.strip()]
PLAIN = frozenset(ROUTES if "numpy" in _asked else _asked)
"""Of which the plain route was asked for."""
if not set(ROUTES) >= PLAIN:
    raise ConfigError("DEID_KERNELS names no such route", "numpy chooses all plain ones; routes: " + ", ".join(ROUTES))


_ARRAY = 1 << 18
"""Bytes; what a note of ordinary length needs is smaller."""
_LARGEST = 1 << 25
"""Bytes; from here on glibc takes no array from the heap."""
_returning: list[bool] = []


_ROOT = Path(__file__).parents[1]


def stale(root: Path = _ROOT) -> bool:
    """Tell whether ``deid._native`` was built of other sources than lie beside it, in a checkout.

    Parameters
    ----------
    root : Path
        Folder of the package; an installed one has no sources of C, and nothing to compare.
    """
    try:
        built = json.loads((root / "grammar.json").read_bytes())["deid._native"]
        sources = sorted((root / "csrc").glob("*.[ch]"))
    except (OSError, ValueError, KeyError):
        return False
    return bool(sources) and built != hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()


def _load() -> Any:
    if len(PLAIN) == len(ROUTES):
        return None
    if stale():
        warnings.warn(
            "the loops in C are refused, for deid/csrc changed since: the plain ones run, which is slower; compile "
            "them again with `pip install -e .`",
            RuntimeWarning,
            stacklevel=1,
        )
        return None
    try:
        return importlib.import_module("deid._native")
    except ImportError:
        return None


native = _load()
"""``deid._native``, or None."""

BACKEND = "numpy" if native is None else "native"
"""Which routes run: ``native`` or ``numpy``."""


def native_for(route: str) -> Any:
    """Return ``deid._native`` for one of `ROUTES`; None where it was not built or the plain route was asked for."""
    assert route in ROUTES, route
    return None if route in PLAIN else native


def return_arrays() -> None:
    """Let arrays of `_ARRAY` bytes and more go back to the system when they are freed: for processes of our own."""
    if native is not None:
        native.return_arrays(_ARRAY)
        _returning.append(True)


def keep_arrays() -> None:
    """Let a process that returns its arrays keep them from now on: work on large tables makes as large ones again and
    again, and half of its time went to taking their pages from the system.
    """
    if native is not None and _returning:
        native.return_arrays(_LARGEST)
        _returning.clear()


class _Sources:
    """Imports modules from their sources, though compiled ones lie beside them."""

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.modules or not path:
            return None
        return importlib.util.spec_from_file_location(name, Path(path[0], f"{name.rpartition('.')[2]}.py"))


def compiled_grammar(root: Path = _ROOT) -> bool:
    """Tell whether the compiled grammars fit their sources; else see to it that the sources are imported.

    The compiled form of an edited module would be imported in its place, silently: so the digests of the sources that
    were compiled lie in ``grammar.json``, and where one does not fit, or compiled modules lie there without that file,
    all sources run, for the modules know each other's classes.

    Parameters
    ----------
    root : Path
        Folder of the package.
    """
    try:
        compiled: dict[str, str] = json.loads((root / "grammar.json").read_bytes())
        compiled.pop("deid._native", None)
        why = "for {} changed since"
    except (OSError, ValueError):  # nothing was compiled, or nobody knows from what
        beside = root.glob(f"*/*{EXTENSION_SUFFIXES[-1]}")
        names = sorted(f"deid.{file.parent.name}.{file.name.partition('.')[0]}" for file in beside)
        compiled = dict.fromkeys(names, "")
        why = "for no grammar.json says of what sources {} are"
    files = {name: root.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in compiled}
    changed = [
        name
        for name, file in files.items()
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != compiled[name]
    ]
    if changed:
        warnings.warn(
            f"the compiled grammars are refused, {why.format(', '.join(changed))}: their sources run, which is "
            "slower; compile them again with `pip install -e .`",
            RuntimeWarning,
            stacklevel=1,
        )
    if not compiled:
        return False
    if changed or "grammar" in PLAIN:
        sys.meta_path.insert(0, _Sources(frozenset(compiled)))
        return False
    return True


GRAMMAR = "native" if compiled_grammar() else "python"
"""Which grammars run: ``native`` or ``python``."""


def _changed(made: Any, *changes: Any) -> Any:
    """Return an object of a `quick` class with other values of some fields: a name, its value, and so on."""
    return dataclasses.replace(made, **dict(zip(changes[::2], changes[1::2], strict=True)))


changed: Callable[..., Any] = _changed if native is None else native.changed


def quick(cls: _Class) -> _Class:
    """Let the compiled module make the objects of a data class, five times as fast as its initializer, and read them.

    Only for classes with slots of which many objects are made; what the class does is the same.

    Parameters
    ----------
    cls : type
        A data class with slots whose fields are all arguments, without ``__post_init__``. A call that leaves a field
        with a factory out takes as long as ever.

    Returns
    -------
    type
        The class itself.
    """
    if native is not None:
        fields = dataclasses.fields(cls)
        assert not hasattr(cls, "__post_init__"), "an initializer of its own cannot be passed over"
        assert all(f.init for f in fields), "all fields are arguments"
        values = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
        native.quicken(cls, tuple(f.name for f in fields), values)
    return cls
