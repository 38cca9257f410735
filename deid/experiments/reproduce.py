"""What the papers printed, the commands that compute the same here, and whether each finding holds.

``papers.toml`` holds the items: commands of this program and the figures that a paper printed.
``deid.experiments.criteria`` judges what the commands wrote. Nothing is computed here a second time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from deid.base.errors import require
from deid.base.nearest import nearest
from deid.experiments.criteria import CRITERIA, Values

_PLACES = frozenset(("data", "out"))


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of a paper beside ours; ``printed`` is empty where the paper shows a curve without numbers, ``ours``
    where this form of the commands did not compute it."""

    what: str
    printed: str
    ours: str


@dataclass(frozen=True)
class FindingVerdict:
    """Whether a finding holds, by parts.

    Parameters
    ----------
    parts : sequence of (str, bool)
        Statements that the criterion tests, and whether each is so.
    figures : sequence of Compared
    note : str
        What a reader should know beside.
    """

    parts: Sequence[tuple[str, bool]]
    figures: Sequence[ComparedFigure]
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether all parts hold."""
        return all(good for _, good in self.parts)

    def __str__(self) -> str:
        good = [text for text, held in self.parts if held]
        bad = [text for text, held in self.parts if not held]
        said = "holds" if self.holds else "does not hold" if not good else "holds in part"
        told = [f"Seen: {'; '.join(good)}."] if good else []
        told += [f"Not seen: {'; '.join(bad)}."] if bad else []
        return " ".join([f"The finding {said}.", *told, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class Command:
    """A command line: ``{data}`` stands for the folder of data, ``{out}`` for that of the item.

    Parameters
    ----------
    words : str
        What stands behind ``deid``, as for a shell; no word has a blank.
    quick : str
        What is said in the quick form instead of ``full``.
    full : str
        What is said otherwise.
    figures : bool
        Whether it is an experiment, which also writes rows, plot and page.
    """

    words: str
    quick: str = ""
    full: str = ""
    figures: bool = True

    def line(self, quick: bool) -> list[str]:
        """Return the words of one form."""
        return [*self.words.split(), *(self.quick if quick else self.full).split()]


@dataclass(frozen=True)
class Measured:
    """A figure of somebody else's program beside ours, which no command of an item computes.

    Parameters
    ----------
    figure : str
    whose, theirs : str
        Whose program, and its figure.
    ours : str
    command : str
        What measured ours.
    page : str
        The page of ``docs/`` that has figure and command.
    """

    figure: str
    whose: str
    theirs: str
    ours: str
    command: str
    page: str


@dataclass(frozen=True, eq=False)
class PaperItem:
    """Something that a paper printed.

    Parameters
    ----------
    name : str
    source : str
        Paper, tables and figures.
    finding : str
        What the paper concludes from it.
    commands : mapping of str to Command
        By what the criterion calls them, in their order.
    printed : mapping of str to str
        The paper's figures, by what the criterion calls ours.
    note : str
        What a reader should know beside.
    missing : str
        Why nothing can be run; such an item has no command.
    measured : sequence of Measured
        Figures of such an item.
    """

    name: str
    source: str
    finding: str
    commands: Mapping[str, Command] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    missing: str = ""
    measured: Sequence[Measured] = ()

    def judge(self, told: Mapping[str, Values]) -> FindingVerdict:
        """Judge the finding.

        Parameters
        ----------
        told : mapping of str to mapping
            JSON that the commands wrote.
        """
        seen = CRITERIA[self.name](told)
        names = dict.fromkeys([*seen.figures, *self.printed])
        figures = [ComparedFigure(name, self.printed.get(name, ""), seen.figures.get(name, "")) for name in names]
        return FindingVerdict(seen.parts, figures, " ".join(note for note in (self.note, seen.note) if note))


def _spelt_out(text: str, words: Mapping[str, str]) -> str:
    """Return a command line whose words in braces, but for places, are those that they stand for."""
    return re.sub(r"\{(\w+)\}", lambda m: m[0] if m[1] in _PLACES else _spelt_out(words[m[1]], words), text)


@cache
def items() -> dict[str, PaperItem]:
    """Return what can be reproduced, by name, in the order of the sources."""
    said = tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))

    def command(form: Mapping[str, Any]) -> Command:
        texts = {key: _spelt_out(form.get(key, ""), said["words"]) for key in ("words", "quick", "full")}
        return Command(**texts, figures=form.get("figures", True))

    found = {}
    for row in said["item"]:
        commands = {name: command(form) for name, form in row.get("commands", {}).items()}
        measured = [Measured(**figure) for figure in row.get("measured", ())]
        found[row["name"]] = PaperItem(**{**row, "commands": commands, "measured": measured})
    return found


def chosen(name: str | None) -> list[PaperItem]:
    """Return one item, or all.

    Raises
    ------
    ConfigError
        When there is no item of that name.
    """
    known = items()
    if name is None:
        return list(known.values())
    require(name in known, "there is no such item", nearest(name, known, "deid reproduce --list names them"))
    return [known[name]]
