"""What holds of all commands: whole sets of options, short help, and one meaning a name. Read off the command table."""

from __future__ import annotations

import itertools
import json
import re
import resource
import signal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deid.base.errors import OutputError
from deid.base.options import options_of
from deid.base.summary_options import SummaryOptions
from deid.cli import main as frame
from deid.cli.commands import COMMANDS, load
from deid.detection.options import PeopleOptions, RecognizerOptions
from deid.pipeline.options import PipelineOptions

ROWS = {name: row for rows in COMMANDS.values() for name, row in rows.items()}
FIND = [
    "scrub",
    "tag",
    "filter",
    "watch",
    "relay",
    "serve",
    "spark scrub",
    "spark tag",
    "explain",
    "verify",
    "extract",
    "release",
    "calibrate",
    "experiment robustness",
    "experiment hips",
]
REPLACE = ["scrub", "filter", "watch", "relay", "serve", "spark scrub", "release"]
MEANINGS = {
    "--from": ("str", "Format of "),
    "--to": ("str", "Format "),
    "--output": ("path", "Write |New |Where to write|Release|Page"),
    "--report": ("path", "Write .* page"),
    "--json": ("path", "Write the summary, with all figures, as JSON to F"),
    "--quiet": ("boolean", "Say nothing when all went well"),
    "--key-file": ("path", "Key "),
    "--config": ("path", "Options of your site"),
    "--jobs": ("int", "Processes; 0 for one a core|Trainings at a time"),
    "--policy": ("str", ".*([Pp]olicy|What replaces)"),
    "--patients": ("path", "CSV file with the columns document and patient"),
    "--model": ("str", ".*model"),
    "--seed": ("int range", ".*([Ss]eed|draws)"),
}
"""Spelling -> its type, and how its help begins."""
SHORT = {"--output": "-o", "--quiet": "-q"}


@cache
def options(name: str) -> dict[str, Any]:
    """Return the options of a command by spelling."""
    command = load(name.split()[-1], ROWS[name][0])
    shown = (p for p in command.params if p.param_type_name == "option")
    return {spelling: p for p in shown for spelling in (*p.opts, *p.secondary_opts)}


COMMANDS_THAT_RUN = [name for name, row in ROWS.items() if row[0]]


DASHES = {"scrub": {"source"}, "filter": {"source", "output"}, "map": {"output"}, "vault reidentify": {"lines"}}
"""Places that may be - for standard input or output, beside --json."""


@pytest.mark.parametrize("name", COMMANDS_THAT_RUN)
def test_a_dash_is_no_file_unless_it_is_standard_input_or_output(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = load(name.split()[-1], ROWS[name][0]).params
    needed = {p.name: _said(p, "1" if p.type.name != "path" else "there") for p in params if p.required}
    places = [p for p in params if p.type.name == "path" and p.name not in ("json", "config")]
    refused = set()
    for place in places:
        line = [word for words in {**needed, place.name: _said(place, "-")}.values() for word in words]
        result = CliRunner().invoke(frame.app, [*name.split(), *line])
        if "is -, which is no standard input or output here" in str(result.exception):
            refused.add(place.name)
    assert {p.name for p in places} - refused == DASHES.get(name, set())
    assert not Path("-").exists()


@pytest.mark.parametrize("name", COMMANDS_THAT_RUN)
def test_a_store_with_a_password_is_refused_on_the_command_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = load(name.split()[-1], ROWS[name][0]).params
    needed = {p.name: _said(p, "1" if p.type.name != "path" else "there") for p in params if p.required}
    for store in (p for p in params if p.metavar in ("VAULT", "LEDGER", "STORE") or p.envvar):
        line = [w for words in {**needed, store.name: _said(store, "postgresql://me:pw@h/d")}.values() for w in words]
        result = CliRunner().invoke(frame.app, [*name.split(), *line])
        assert "the URL holds a password" in str(result.exception), store.name
    assert [*tmp_path.iterdir()] == []


def _said(param: Any, value: str) -> list[str]:
    return [value] if param.param_type_name == "argument" else [param.opts[0], value]


def missing(name: str, kind: type) -> set[str]:
    """Return what a value can say and a command cannot, or says in other words."""
    shown = options(name)
    return {
        one.key
        for one in options_of(kind)
        if f"--{one.key}" not in shown or shown[f"--{one.key}"].help != one.option.help
    }


@pytest.mark.parametrize("name", FIND)
def test_what_finds_takes_all_options_of_finding(name: str) -> None:
    assert missing(name, RecognizerOptions) == set()


@pytest.mark.parametrize("name", REPLACE)
def test_what_replaces_takes_all_options_of_replacing(name: str) -> None:
    assert missing(name, PipelineOptions) == set()


@pytest.mark.parametrize("name", sorted(set(COMMANDS_THAT_RUN) - set(FIND)))
def test_no_other_command_takes_a_part_of_them(name: str) -> None:
    """A part would be a command that finds, and drifts apart. (Whom notes are about is a value of its own.)"""
    own = {one.option.help for one in options_of(RecognizerOptions)} - {
        o.option.help for o in options_of(PeopleOptions)
    }
    assert not own & {p.help for p in options(name).values()}
    known = {o.option.help for o in options_of(PeopleOptions)} - {options("scrub")["--patients"].help}
    assert not known & {p.help for p in options(name).values()} or missing(name, PeopleOptions) == set()


@pytest.mark.parametrize("name", ROWS)
def test_the_help_fits_two_screens_and_shows_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    shown = CliRunner().invoke(frame.app, [*name.split(), "--help"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0, shown.exception
    lines = shown.output.splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100
    if ROWS[name][0]:
        assert f"Example: deid {name}" in " ".join(shown.output.split())


@pytest.mark.parametrize("spelling", MEANINGS)
def test_a_name_means_one_thing_in_all_commands(spelling: str) -> None:
    kind, words = MEANINGS[spelling]
    found = {name: options(name)[spelling] for name in COMMANDS_THAT_RUN if spelling in options(name)}
    assert found
    assert {name: p.type.name for name, p in found.items() if p.type.name != kind} == {}
    assert [name for name, p in found.items() if not re.match(words, p.help)] == []
    assert [name for name, p in found.items() if p.multiple] == []
    assert [name for name, p in found.items() if spelling in SHORT and SHORT[spelling] not in p.opts] == []


SPELLINGS = sorted({one for name in COMMANDS_THAT_RUN for one in options(name) if one.startswith("--")})


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_name_is_of_one_kind_in_all_commands(spelling: str) -> None:
    """A number, a text, a list: what is written behind a name is of one kind, and repeated everywhere or nowhere."""
    found = [options(name)[spelling] for name in COMMANDS_THAT_RUN if spelling in options(name)]
    kinds = {(p.type.name.removesuffix(" range"), p.multiple, *(c in (p.metavar or "") for c in ",=")) for p in found}
    assert len(kinds) == 1


@pytest.mark.parametrize("name", COMMANDS_THAT_RUN)
def test_short_flags_belong_to_their_long_ones_and_old_spellings_are_gone(name: str) -> None:
    shown = options(name)
    assert {one for one in shown if len(one) == 2} <= set(SHORT.values())
    assert not {"--format", "--out", "--input", "--html", "--csv", "--summary-json", "--separator"} & shown.keys()
    assert {f"--{one.key}" for one in options_of(SummaryOptions)} <= shown.keys()


def filled(name: str) -> list[str]:
    """Return words for what a command cannot do without."""
    command = load(name.split()[-1], ROWS[name][0])
    words = name.split()
    for parameter in command.params:
        if parameter.required and parameter.param_type_name == "option":
            words += [parameter.opts[0], "1"]
        elif parameter.required:
            words += ["1"] * max(1, parameter.nargs)
    return words


@pytest.mark.parametrize("place", ["missing/summary.json", "folder", "file/summary.json", "file"])
@pytest.mark.parametrize("name", [name for name in COMMANDS_THAT_RUN if "--json" in options(name)])
def test_a_summary_that_cannot_be_written_is_refused_before_the_work(name: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    result = CliRunner().invoke(frame.app, [*filled(name), "--json", str(tmp_path / place)])
    assert isinstance(result.exception, OutputError), result.output
    assert str(tmp_path) in str(result.exception)
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", COMMANDS_THAT_RUN)
def test_no_two_options_name_one_new_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second would take the place of the first: a summary that of a release that was paid for."""
    monkeypatch.chdir(tmp_path)
    params = load(name.split()[-1], ROWS[name][0]).params
    places = [p for p in params if p.type.name == "path" and p.name != "config" and not p.name.endswith("key_file")]
    for one, other in {*itertools.pairwise(places), *((p, places[-1]) for p in places[:-1])}:
        said = {p: f"own-{p.name}" if p in places else "1" for p in params if p.required}
        said |= {one: "new", other: str(tmp_path / "new")}
        line = [*name.split(), *(word for p in params if p in said for word in _said(p, said[p]))]
        result = CliRunner().invoke(frame.app, line)
        assert "name one file" in str(result.exception), (line, result.exception, result.output)
    assert [*tmp_path.iterdir()] == []


def test_results_do_not_take_the_place_of_what_lies_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("sex,age\n" + "F,30\nM,40\n" * 20)
    table = ["anonymize", "t.csv", "--qi", "sex,age", "--k", "2", "--each-row-a-person", "-o", "o.csv"]
    for option in ("--report", "--save-scheme", "--json"):
        result = CliRunner().invoke(frame.app, [*table, option, "o.csv.manifest.json"])
        assert isinstance(result.exception, OutputError), result.output
        if option == "--json":  # told behind the work, which stays
            assert json.loads(Path("o.csv.manifest.json").read_text())["run"]["command"] == "anonymize"
            assert Path("o.csv").read_text().startswith("sex,age")
        else:
            assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
def test_a_full_disk_leaves_no_torn_summary_and_is_told(tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk; the summary of before stays."""
    place = tmp_path / "summary.json"
    place.write_text(before := json.dumps({"command": "of before"}, indent=2))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        result = CliRunner().invoke(frame.app, ["policy", "check", "surrogate", "--json", str(place)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(result.exception, OutputError)
    assert "cannot write" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert place.read_text() == before


@pytest.mark.parametrize("share", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_an_option_of_one_value_is_given_once_in_every_command(share: int) -> None:
    """The last of two would win in silence: of two lists of known persons one would not be looked for."""
    tried: list[bool] = []
    for name, (target, _) in ROWS.items():
        if not target:
            continue
        command = load(name, target)
        for own in command.params:
            if own.param_type_name != "option" or own.multiple or own.is_flag:
                continue
            tried.append(len(tried) % share == 0)
            if not tried[-1]:
                continue
            spelt = max(own.opts, key=len)
            result = CliRunner().invoke(frame.app, [*name.split(), spelt, "1", spelt, "2"])
            assert result.exit_code == 2, (name, spelt)
            assert "takes one value" in " ".join(result.output.split()), (name, spelt, result.output)
    assert sum(tried) > 200 // share
