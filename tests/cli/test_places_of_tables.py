"""A place that cannot be written to is refused before anything is read or charged, by every command that writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.base.errors import DeidError, OutputError
from deid.cli.main import app

NOTHING = "no-such-input.csv"
PLAN = 'k = 2\n[tables.t]\npath = "no-such-table.csv"\npatient = "id"\ncolumns = { age = "quasi-identifier" }\n'
NOISE = ("--domain", "year=1..9", "--epsilon", "1", "--not-private-seed", "1")
ANONYMIZE = ["anonymize", NOTHING, "--qi", "age", "--k", "2", "-o"]
ENCODE = ("--text-column", "name", "--key-file", "new.key")
COMMANDS: dict[str, tuple[list[str], str]] = {
    "anonymize": ([*ANONYMIZE, "OUT"], ".csv"),
    "anonymize aligned": (
        [*ANONYMIZE, "new.csv", "--aligned", "OUT"],
        ".csv",
    ),
    "anonymize scheme": (
        [*ANONYMIZE, "new.csv", "--save-scheme", "OUT"],
        ".json",
    ),
    "anonymize report": (
        [*ANONYMIZE, "new.csv", "--report", "OUT"],
        ".html",
    ),
    "ru-map": (["ru-map", NOTHING, "--qi", "age", "-o", "OUT"], ".svg"),
    "perturb": (["perturb", NOTHING, "--qi", "age", "--round", "age=5", "-o", "OUT"], ".csv"),
    "codes": (["codes", "anonymize", NOTHING, "--codes", "dx", "-o", "OUT"], ".csv"),
    "codes report": (["codes", "anonymize", NOTHING, "--codes", "dx", "-o", "new.csv", "--report", "OUT"], ".html"),
    "trajectories": (["trajectories", "anonymize", NOTHING, "-o", "OUT"], ".csv"),
    "trajectories report": (["trajectories", "anonymize", NOTHING, "-o", "new.csv", "--report", "OUT"], ".html"),
    "genomes": (["genomes", "anonymize", NOTHING, "-o", "OUT"], ".fasta"),
    "release": (["release", "plan.toml", "OUT"], ""),
    "extract": (["extract", NOTHING, "OUT"], ".csv"),
    "link": (["link", NOTHING, "-o", "OUT"], ".csv"),
    "link review": (["link", NOTHING, "-o", "new.csv", "--review", "OUT"], ".csv"),
    "link encode": (["link", "encode", NOTHING, *ENCODE, "--ids", "new.csv", "-o", "OUT"], ".csv"),
    "link encode ids": (["link", "encode", NOTHING, *ENCODE, "-o", "new.csv", "--ids", "OUT"], ".csv"),
    "link match": (["link", "match", NOTHING, NOTHING, "-o", "OUT"], ".csv"),
    "write-back": (["write-back", NOTHING, f"of-{NOTHING}", "OUT"], ""),
    "schema": (["schema", NOTHING, "-o", "OUT"], ".toml"),
    "cube": (["cube", NOTHING, "--dims", "year", *NOISE, "-o", "OUT"], ".csv"),
    "sequences": (["sequences", NOTHING, "--periods", "year", *NOISE, "-o", "OUT"], ".csv"),
    "synthesize": (["synthesize", NOTHING, "-o", "OUT"], ".csv"),
    "budget": (["budget", "init", "OUT", "--epsilon", "1"], ".ledger"),
}


def existing(folder: Path, suffix: str) -> Path:
    place = folder / f"there{suffix}"
    place.write_text("what somebody else wrote")
    return place


def dangling(folder: Path, suffix: str) -> Path:
    place = folder / f"link{suffix}"
    place.symlink_to(folder / "nowhere")
    return place


PLACES: dict[str, Callable[[Path, str], Path]] = {
    "a file that is there": existing,
    "a link to nothing": dangling,
    "no such folder": lambda folder, suffix: folder / "missing" / f"out{suffix}",
    "no right to write": lambda folder, suffix: Path("/proc") / f"out{suffix}",
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_place_is_tried_before_the_work(
    command: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The input is not there either: whoever looks at it first complains of it and not of the place."""
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    arguments, suffix = COMMANDS[command]
    place = PLACES[where](tmp_path, suffix)
    before = sorted(tmp_path.iterdir())
    result = CliRunner().invoke(app, [str(place) if a == "OUT" else a for a in arguments])
    assert isinstance(result.exception, DeidError if command == "budget" else OutputError), result.output
    assert sorted(tmp_path.iterdir()) == before
    if where == "a file that is there":
        assert place.read_text() == "what somebody else wrote"
