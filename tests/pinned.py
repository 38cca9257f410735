"""Answers that stay the same: what a version answered, the next one answers, or its changelog says why not.

The same table, options and seed give the same release on every machine and in every version, as a board has read its
figures. Who changes an answer on purpose looks at the difference, tells users, and runs the test's module
(``PYTHONPATH=scripts:tests:tests/ROOM python -m test_NAME``), which writes its file of answers anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deid.base.errors import DeidError
from deid.table.microdata import Microdata

_LONGEST = 100
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
            return str(value) if "object at 0x" not in str(value) else type(value).__name__


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


class Pinned:
    """Questions by name, and the file of their answers."""

    def __init__(self, file: Path, questions: Mapping[str, Callable[[], object]]) -> None:
        self.file, self.questions = file, questions
        self._answers: dict[str, str] | None = None

    def check(self, name: str) -> None:
        """Assert that the answer is that of the file."""
        if self._answers is None:
            lines = self.file.read_text(encoding="utf-8").splitlines()
            self._answers = dict(line.split("\t", 1) for line in lines)
        answer = answered(self.questions[name])
        assert short(answer) == self._answers[name], f"{name} gives another answer now: {answer[:2000]}"

    def others(self) -> list[str]:
        """Return the questions that are answered otherwise than in the file."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        kept = dict(line.split("\t", 1) for line in lines)
        return [name for name, question in self.questions.items() if short(answered(question)) != kept[name]]

    def renew(self) -> None:
        """Write the file anew."""
        lines = [f"{name}\t{short(answered(question))}\n" for name, question in self.questions.items()]
        self.file.write_text("".join(lines), encoding="utf-8")
