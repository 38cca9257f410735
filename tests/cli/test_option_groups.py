"""Options of a command are fields of values: what a user writes arrives as the value that the library takes."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import command

SEEN: dict[str, Any] = {}


def read_day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ConfigError("--as-of is no date") from None


@dataclass(frozen=True)
class Detection:
    model: str | None = option(None, "Which model.", metavar="NAME")
    rules: bool | None = option(None, "Rules beside the model.", panel="Detection")
    detect: bool = option(True, "Look for PHI.")
    deny: tuple[Path, ...] = option((), "Terms.", metavar="FILE")
    keep: frozenset[str] = option(frozenset(), "Fields.")
    as_of: datetime.date | None = option(None, "Day.", read=read_day)
    doubt: float = option(0.0, "Share.", minimum=0)
    sizes: Sequence[int] = option((2, 5), "Sizes.")
    other: str = "no option"

    def __post_init__(self) -> None:
        if self.model == "none" and self.rules is False:
            raise ConfigError("nothing would be found")


@command
def example(
    told: Summary,
    *,
    source: Path = argument("What to read.", metavar="IN"),
    output: Path = option(..., "New file.", "--output", "-o"),
    by: str = option("person", "What a row is."),
    detection: Detection,
) -> None:
    """Try it."""
    SEEN.clear()
    SEEN.update(source=source, output=output, by=by, detection=detection, context=told.context)


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(example)
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})


def test_without_flags_everything_is_as_the_values_say() -> None:
    assert run("in", "-o", "out").exit_code == 0
    assert SEEN.pop("context").info_name
    assert {"source": Path("in"), "output": Path("out"), "by": "person", "detection": Detection()} == SEEN


def test_flags_become_the_values_of_the_fields() -> None:
    flags = ["--model", "en", "--no-rules", "--no-detect", "--deny", "a", "--deny", "b", "--keep", "id"]
    assert run("in", "--output", "out", *flags, "--as-of", "2019-05-03", "--doubt", "0.5").exit_code == 0
    assert SEEN["detection"] == Detection(
        "en", False, False, (Path("a"), Path("b")), frozenset({"id"}), datetime.date(2019, 5, 3), 0.5
    )


@pytest.mark.parametrize("flags", [["--model", "none", "--no-rules"], ["--as-of", "May"]])
def test_what_the_value_refuses_is_refused(flags: list[str]) -> None:
    assert isinstance(run("in", "-o", "out", *flags).exception, ConfigError)


@pytest.mark.parametrize("arguments", [["in"], ["-o", "out"], ["in", "-o", "out", "--doubt", "-1"], ["--other", "x"]])
def test_what_is_missing_below_its_least_or_unknown_is_wrong_usage(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_the_help_page_has_the_panels_and_the_words_of_the_fields() -> None:
    shown = run("--help").output
    assert shown.index("Which model.") < shown.index("─ Detection ─") < shown.index("Rules beside")
    assert "no option" not in shown


def test_numbers_are_written_with_commas_between() -> None:
    assert run("in", "-o", "out", "--sizes", "3, 10").exit_code == 0
    assert SEEN["detection"].sizes == (3, 10)
    with pytest.raises(ConfigError, match="--sizes is no list of numbers"):
        raise run("in", "-o", "out", "--sizes", "3,ten").exception
    assert "[default: (2,5)]" in run("--help").output


def test_two_options_of_one_name_are_a_mistake_of_the_program() -> None:
    def twice(*, model: str = option("", "Again."), detection: Detection) -> None: ...

    with pytest.raises(TypeError, match="two options"):
        command(twice)
