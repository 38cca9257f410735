"""The command reproduce: the papers' tables and figures on the data of the checkout, with a verdict for each."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import deid
from deid.base.errors import ConfigError, OutputError
from deid.base.files import output_error, try_folder, write_bytes
from deid.base.options import argument, option
from deid.base.private_folder import PrivateFolder
from deid.cli.common import EXIT_FAILED, Summary
from deid.cli.option_groups import JOBS, command, job_count
from deid.cli.tables import print_sections

if TYPE_CHECKING:
    from deid.base.reports import Section
    from deid.experiments.reproduce import Command, FindingVerdict, PaperItem

CHECKOUT = Path(deid.__file__).resolve().parents[1] / "corpora"
"""The data of a checkout; an installation has none."""


@command
def reproduce(
    told: Summary,
    *,
    item: str | None = argument("Which; all if none is named. --list names them.", metavar="ITEM", default=None),
    quick: bool = option(False, "Fewer runs, folds and values: minutes for all."),
    output: Path | None = option(
        None, "Write tables, plots, commands' output and one page into this folder.", "--output", "-o"
    ),
    data: Path | None = option(None, "Folder of data as scripts/build_tables.py makes it; else that of the checkout."),
    jobs: int = JOBS,
    names: bool = option(False, "Name the items and end.", "--list"),
) -> int:
    """Reproduce what the papers printed: commands, figures beside the printed ones, and whether each finding holds.

    The data are made up in the shapes that the papers tell, so figures differ; findings are judged by a stated
    criterion. Exit status 1 when a command fails, not when a finding does not hold.

    Example: deid reproduce --quick -o reproduced
    """
    from deid.experiments.reproduce import chosen

    items = chosen(item)
    if names:
        for one in items:
            typer.echo(f"{one.name:<24}{one.source}")
        return 0
    place = data or CHECKOUT
    if any(one.commands for one in items) and not (place / "tables").is_dir():
        raise ConfigError("there are no data to reproduce with", "name the folder corpora of a checkout with --data F")
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise OutputError("the folder to write exists already and holds something", "name a new one", str(output))
    with _folder(output) as folder:
        runs = _Runs(folder, place.resolve(), quick, job_count(jobs), told.said.quiet)
        shown = []
        for one in items:
            sections, verdict = _reproduced(one, runs, told)
            print_sections(sections)
            shown.append((one, sections, verdict))
        if output is not None:
            _write(folder, shown, runs)
            told.places.append(f"wrote {output}")
    verdicts = {one.name: None if verdict is None else verdict.holds for one, _, verdict in shown}
    told.extra = {
        "quick": quick,
        "items": [_values(one, verdict) for one, _, verdict in shown],
        "hold": sum(held is True for held in verdicts.values()),
        "judged": sum(held is not None for held in verdicts.values()),
        "cpu_seconds": round(runs.cpu_seconds, 1),
    }
    told.notes.append(
        f"{told.extra['hold']} of {told.extra['judged']} findings hold wholly, {runs.cpu_seconds:.0f} CPU s"
    )
    return EXIT_FAILED if runs.failed else 0


@contextmanager
def _folder(output: Path | None) -> Iterator[Path]:
    """Yield the folder to work in, tried before the work: the output, else a temporary one."""
    try:
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            try_folder(output)
            yield output.resolve()
        else:
            with PrivateFolder() as hidden:
                yield Path(hidden).resolve()
    except OSError as error:
        raise output_error(error).at("the folder of temporary files" if output is None else str(output)) from None


class _Runs:
    """Runs commands of this program, each once, in processes of their own."""

    def __init__(self, folder: Path, data: Path, quick: bool, jobs: int, quiet: bool) -> None:
        self.folder, self.data, self.quick, self.jobs, self.quiet = folder, data, quick, jobs, quiet
        self.cpu_seconds = 0.0
        self.failed: list[str] = []
        self.plots: dict[str, list[Path]] = {}
        self._done: dict[str, tuple[Mapping[str, Any] | None, Path]] = {}

    def words(self, asked: Command, out: Path) -> list[str]:
        """Return the command line of a command."""
        places = {"{data}": str(self.data), "{out}": str(out)}
        return [re.sub(r"\{data\}|\{out\}", lambda m: places[m[0]], word) for word in asked.line(self.quick)]

    def of(self, item: PaperItem) -> dict[str, Mapping[str, Any]] | None:
        """Return the JSON of the commands of an item, None when one failed."""
        place = self.folder / item.name
        place.mkdir()
        found: dict[str, Mapping[str, Any]] = {}
        for name, asked in item.commands.items():
            words = self.words(asked, place)
            key = " ".join(words)
            if key not in self._done:
                self._done[key] = self._run(words, asked, place, name), place / name
            values, written = self._done[key]
            own = [(Path(f"{written}{kind}"), place / f"{name}{kind}") for kind in (".csv", ".json", ".svg", ".txt")]
            for there, here in own:
                if there != here and there.exists():  # another item ran it
                    shutil.copyfile(there, here)
            if (plot := place / f"{name}.svg").exists():
                self.plots.setdefault(item.name, []).append(plot)
            if values is None:
                self.failed.append(item.name)
                return None
            found[name] = values
        return found

    def _run(self, words: Sequence[str], asked: Command, place: Path, name: str) -> Mapping[str, Any] | None:
        files = ["--json", str(place / f"{name}.json")]
        if asked.figures:
            files += ["-o", str(place / f"{name}.csv"), "--plot", str(place / f"{name}.svg")]
        if words[0] in ("crossval",) or words[:2] in (["experiment", "features"], ["experiment", "sampling"]):
            files += ["--jobs", str(self.jobs)]
        begin, before = time.monotonic(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        done = subprocess.run(
            [sys.executable, "-m", "deid", *words, *files], capture_output=True, text=True, cwd=place, check=False
        )  # fmt: skip
        self.cpu_seconds += (used := sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before)
        took = f"{time.monotonic() - begin:6.1f} s, {used:6.1f} CPU s"
        if not self.quiet:
            sys.stderr.write(f"{took}  {place.name}: {name}\n")
        write_bytes(place / f"{name}.txt", done.stdout.encode(), private=False)
        written = place / f"{name}.json"
        if not written.exists():  # an attack that finds somebody ends with 1, and says what it found
            sys.stderr.write(done.stderr)
            return None
        values: Mapping[str, Any] = json.loads(written.read_text(encoding="utf-8"))
        return values


def _said(item: PaperItem, runs: _Runs) -> list[str]:
    """Return the commands as a user would give them, from the folder of an item and with the data's place in short."""
    lines = [" ".join(["deid", *asked.line(runs.quick)]) for asked in item.commands.values()]
    return [line.replace("{data}", "corpora").replace("{out}/", "") for line in lines]


def _reproduced(item: PaperItem, runs: _Runs, told: Summary) -> tuple[list[Section], FindingVerdict | None]:
    """Run the commands of an item, judge, and return what is shown."""
    from deid.base.reports import Section

    title = f"{item.name}: {item.source}"
    if item.missing:
        note = f"Not run: {item.missing}"
        if not item.measured:
            return [Section(title, ("finding",), [(item.finding,)], note)], None
        claims = [(one.figure, one.whose, one.theirs, one.ours) for one in item.measured]
        lines = dict.fromkeys(f"docs/{one.page}: {one.command}" for one in item.measured)
        return [
            Section(title, ("figure", "whose", "theirs", "here"), claims, "\n".join([item.finding, note, *lines]))
        ], None
    values = runs.of(item)
    if values is None:
        told.notes.append(f"{item.name}: a command failed, so there is no verdict")
        return [Section(title, ("finding",), [(item.finding,)], "A command failed: no verdict.")], None
    verdict = item.judge(values)
    rows = [(one.what, one.printed or "–", one.ours or "–") for one in verdict.figures]
    form = ["Quick form: taggers are hardly trained and runs are few; the full form decides."] if runs.quick else []
    note = "\n".join([f"Finding: {item.finding}", str(verdict), *form, *_said(item, runs)])
    return [Section(title, ("figure", "printed", "here"), rows, note)], verdict


def _values(item: PaperItem, verdict: FindingVerdict | None) -> dict[str, Any]:
    """Return what is told of an item as JSON values."""
    about: dict[str, Any] = {"item": item.name, "source": item.source, "finding": item.finding, "holds": None}
    if verdict is None:
        measured = {"measured": [asdict(one) for one in item.measured]} if item.measured else {}
        return {**about, "missing": item.missing or "a command failed", **measured}
    parts = [{"statement": text, "so": bool(good)} for text, good in verdict.parts]
    figures = [{"figure": one.what, "printed": one.printed, "here": one.ours} for one in verdict.figures]
    return {**about, "holds": bool(verdict.holds), "parts": parts, "figures": figures, "verdict": str(verdict)}


def _write(folder: Path, shown: Sequence[tuple[PaperItem, list[Section], FindingVerdict | None]], runs: _Runs) -> None:
    """Write the figures of all items as CSV, and one page with all tables and plots."""
    from deid.base.late import pd
    from deid.base.reports import write_results

    figures = [
        {"item": one.name, "source": one.source, "figure": f.what, "printed": f.printed, "here": f.ours}
        for one, _, verdict in shown if verdict is not None for f in verdict.figures
    ] + [
        {"item": one.name, "source": m.whose, "figure": m.figure, "printed": m.theirs, "here": m.ours}
        for one, _, _ in shown for m in one.measured
    ]  # fmt: skip
    verdicts = [
        {"item": one.name, "source": one.source, "holds": None if verdict is None else verdict.holds,
         "verdict": f"Not run: {one.missing or 'a command failed'}" if verdict is None else str(verdict)}
        for one, _, verdict in shown
    ]  # fmt: skip
    for name, rows in (("figures", figures), ("verdicts", verdicts)):
        write_bytes(folder / f"{name}.csv", pd.DataFrame(rows).to_csv(index=False).encode(), private=False)
    results = [
        (one.name, sections, [(p.read_bytes(), f"{one.source}: {one.finding}") for p in runs.plots.get(one.name, ())])
        for one, sections, _ in shown
    ]
    write_results(folder / "index.html", "What the papers printed", results)
