"""Answers that stay the same: what a version answered, the next one answers, or its changelog says why not.

The same table, options and seed give the same release on every machine and in every version, as a board has read its
figures. Who changes an answer on purpose looks at the difference, tells users, and runs the test's module
(``PYTHONPATH=scripts:tests:tests/ROOM python -m test_NAME``), which writes its file of answers anew.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import DeidError
from deid.table.microdata import Microdata

_LONGEST = 100
_SHARE = 3
_UNSAID = "unsaid"
_PASSING = {"seconds", "cpu_seconds", "options", "asked", "original"}
"""Fields that are the question, or another one in every run."""


def plain(value: Any) -> Any:
    """Return a value as what JSON holds; numbers to nine digits."""
    match value:
        case None | str() | bool():
            return value
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return float(f"{value:.9g}") if np.isfinite(value) else str(value)
        case Microdata():
            return [plain(value.frame), dict(value.roles)]
        case pd.DataFrame():
            return value.to_csv(index=False, float_format="%.9g")
        case np.ndarray() | pd.Series():
            return plain(value.tolist())
        case Mapping():
            # a later version may say more: what it says of no question here is False or empty
            said = {str(plain(key)): plain(item) for key, item in value.items() if key not in _PASSING}
            return {k: v for k, v in said.items() if v is not None and v is not False and v not in ([], {})}
        case set() | frozenset():
            return sorted(map(str, map(plain, value)))
        case list() | tuple():
            return [plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [own.name for own in dataclasses.fields(value) if own.name not in _PASSING]
            return plain({name: getattr(value, name) for name in names if hasattr(value, name)})
        case _:
            return str(value) if " at 0x" not in str(value) else getattr(value, "__qualname__", type(value).__name__)


def answered(question: Callable[[], object]) -> str:
    """Return what is answered, on one line, or the error."""
    try:
        answer = plain(question())
    except (DeidError, ValueError) as error:
        answer = f"{type(error).__name__}: {error}"
    return json.dumps(answer, ensure_ascii=False)


def short(answer: str) -> str:
    """Return a long answer as a checksum of it."""
    return answer if len(answer) <= _LONGEST else hashlib.sha256(answer.encode()).hexdigest()[:24]


def left_unsaid(room: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield for each module of a room the question what its functions and values take where nothing is said.

    What is compiled does not tell.
    """
    compiled = (Path(__file__).parents[1] / "setup.py").read_text(encoding="utf-8")
    for found in pkgutil.iter_modules(importlib.import_module(room).__path__, f"{room}."):
        if f'"{found.name}"' not in compiled:
            yield f"{_UNSAID} {found.name.removeprefix('deid.')}", functools.partial(_unsaid, found.name)


def _unsaid(module: str) -> object:
    own = importlib.import_module(module)
    named = {name: value for name, value in vars(own).items() if getattr(value, "__module__", "") == module}
    for name, value in [*named.items()]:
        if inspect.isclass(value):
            named |= {f"{name}.{n}": v for n, v in vars(value).items() if n[0] != "_" and inspect.isfunction(v)}
    public = [
        name for name, one in named.items() if name[0] != "_" and (inspect.isfunction(one) or inspect.isclass(one))
    ]
    taken = {name: inspect.signature(named[name]).parameters.values() for name in public}
    return {name: {p.name: plain(p.default) for p in own if p.default is not p.empty} for name, own in taken.items()}


class Pinned:
    """Questions by name, and the file of their answers, which is named for the module that asks them."""

    def __init__(self, module: str, questions: Mapping[str, Callable[[], object]], parts: int = 0) -> None:
        path = Path(module)
        self.file, self.questions = path.with_name(f"{path.stem.removeprefix('test_')}.tsv"), questions
        self.parts = parts
        """In how many tests all are asked, of which a third by day and the others with the longer tests; 0 for a test
        each."""
        self._answers: dict[str, str] | None = None

    def test(self, name: str) -> Callable[[str], None]:
        """Return the test of a module that has this name; one that is run itself writes its answers anew instead."""
        if name == "__main__":
            self.renew()
        unsaid = [one for one in self.questions if one.startswith(_UNSAID)]  # which takes no time
        asked = [one for one in self.questions if one not in unsaid]
        parts = {str(n): asked[n :: self.parts] for n in range(self.parts)} | ({_UNSAID: unsaid} if unsaid else {})
        groups = parts if self.parts else {one: [one] for one in self.questions}

        long = [n for n in parts if n != _UNSAID and int(n) % _SHARE] if self.parts else []

        @pytest.mark.pinned
        @pytest.mark.parametrize("part", [pytest.param(p, marks=pytest.mark.slow if p in long else ()) for p in groups])
        def answers_are_the_same(part: str) -> None:
            for question in groups[part]:
                self.check(question)

        return answers_are_the_same

    def check(self, name: str) -> None:
        """Assert that the answer is that of the file."""
        if self._answers is None:
            self._answers = self._kept()
        answer = answered(self.questions[name])
        assert short(answer) == self._answers[name], f"{name} gives another answer now: {answer[:2000]}"

    def others(self, every: int) -> list[str]:
        """Return the questions, of all or every so-manieth, that are answered otherwise than in the file."""
        kept, asked = self._kept(), [*self.questions][::every]
        return [name for name in asked if short(answered(self.questions[name])) != kept[name]]

    def renew(self) -> None:
        """Write the file anew."""
        lines = [f"{name}\t{short(answered(question))}\n" for name, question in self.questions.items()]
        self.file.write_text("".join(lines), encoding="utf-8")

    def _kept(self) -> dict[str, str]:
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return dict(line.split("\t", 1) for line in lines)
