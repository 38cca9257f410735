"""The tree of errors: one root, and the docstring of `deid.base.errors` shows all of it."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
from types import ModuleType

import deid
from deid.base import errors


def modules() -> list[ModuleType]:
    """All modules but those of the command line, and those that need a library which is not installed."""
    found = []
    for module in pkgutil.walk_packages(deid.__path__, "deid."):
        if "_data" not in module.name and not module.name.startswith(("deid.cli", "deid.__main__", "deid._")):
            found.append(importlib.import_module(module.name))
    return found


def raised_classes() -> set[type[BaseException]]:
    return {
        value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
        if not name.startswith("_")
    }


def test_every_error_is_in_the_tree_that_the_docstring_shows() -> None:
    found = raised_classes()
    assert [error for error in found if not issubclass(error, errors.DeidError)] == []
    shown, path = {}, {}
    for indent, name in re.findall(r"^( {4}[│├└─ ]*)([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE):
        path[len(indent)] = name
        shown[name] = max((depth for depth in path if depth < len(indent)), default=0)
        shown[name] = path.get(shown[name], "Exception")
    assert shown == {error.__name__: error.__base__.__name__ for error in found}  # type: ignore[union-attr]


def made(error: type[BaseException]) -> errors.DeidError:
    found = error() if "what" not in inspect.signature(error).parameters else error("it is wrong", "do better")
    assert isinstance(found, errors.DeidError)
    return found


def test_every_error_says_a_hint_when_it_is_shown() -> None:
    for error in raised_classes():
        assert ". Hint: " in str(made(error))


def test_every_error_is_told_its_place_and_comes_whole_from_a_worker() -> None:
    for error in raised_classes():
        told = made(error).at("note 7")
        assert str(told) == f"note 7: {made(error)}"
        assert told.at("note 8") is told
        again = pickle.loads(pickle.dumps(told))
        assert (type(again), str(again), vars(again)) == (error, str(told), vars(told))
