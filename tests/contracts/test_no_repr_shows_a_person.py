"""What a log, a traceback or a debugger prints of an object shows nothing of a note, a person or a table's values."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import deid
from deid.reading.view import View

PERSONAL = frozenset(
    {
        "text",
        "value",
        "values",
        "original",
        "originals",
        "surrogate",
        "people",
        "known_names",
        "identifiers",
        "metadata",
        "contacts",
        "birth",
        "document_id",
        "patient_id",
        "person_scope",
        "frame",
        "strings",
        "words",
        "folded",
        "names",
        "rows",
        "facts",
        "members",
        "patient",
        "patients",
        "known",
        "data",
        "output",
        "unreadable",
        "joined",
        "provenance",
        "secret",
        "reference_date",
    }
)
"""Names of fields that hold, in some class, what is written in notes and tables."""
HARMLESS = {
    "deid.base.options": "names of options",
    "deid.base.reports": "reports",
    "deid.cli": "what the user has asked for",
    "deid.dp": "releases and queries: what all may see",
    "deid.evaluation.systems": "functions",
    "deid.base.network": "names of the machine",
    "deid.experiments": "figures",
    "deid.io.fields": "names of columns",
    "deid.joint.plan": "names of columns",
    "deid.linkage.measures": "figures",
    "deid.manifest.options": "what the user has asked for, values of personal options left out",
    "deid.reading.lexicon": "dictionaries",
    "deid.reading.vocabulary": "words of the language",
    "deid.replacement.policy": "the policy's conditions",
    "deid.replacement.sealing.Indexes": "keyed digests",
    "deid.rules": "the catalogue",
    "deid.streaming.records": "names of fields",
    "deid.web.listening": "names of the machine",
}
"""Packages, modules and classes whose fields of these names hold something else."""
_TEXT = re.compile(r"\b(?:str|bytes|DataFrame|Any|date)\b(?!, int\])")  # counts by name are none


class Marker:
    def __repr__(self) -> str:
        return "Quartermain"


def personal_classes() -> Iterator[Any]:
    for module in pkgutil.walk_packages(deid.__path__, "deid."):
        for made in vars(importlib.import_module(module.name)).values():
            name = f"{module.name}.{getattr(made, '__name__', '')}"
            if (
                isinstance(made, type)
                and made.__module__ == module.name
                and dataclasses.is_dataclass(made)
                and not inspect.isabstract(made)  # those that inherit are tried
                and not any(f"{name}.".startswith(f"{harmless}.") for harmless in HARMLESS)
                and any(f.name in PERSONAL and _TEXT.search(str(f.type)) for f in dataclasses.fields(made))
            ):
                yield pytest.param(made, id=name)


@pytest.mark.parametrize("made", [*personal_classes()])
def test_no_repr_shows_what_is_personal(made: type[Any]) -> None:
    if hasattr(made.__repr__, "__wrapped__") or made.__repr__ is object.__repr__:  # others are made by hand
        shown = [field.name for field in dataclasses.fields(made) if field.repr]
        if issubclass(made, View):  # compiled, where it is: its fields take values of their own types alone
            assert not PERSONAL.intersection(shown)
            return
        empty = object.__new__(made)
        for field in dataclasses.fields(made):
            personal = field.name in PERSONAL and _TEXT.search(str(field.type))
            object.__setattr__(empty, field.name, Marker() if personal else 1)
        assert "Quartermain" not in repr(empty)
