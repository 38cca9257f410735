"""Runs the commands of items of papers, each once, judges their findings, and writes what came of it."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid.base.files import check_new_folder, told_writing, try_folder, write_bytes
from deid.base.late import pd
from deid.base.private_folder import PrivateFolder
from deid.base.reports import Section, write_results
from deid.experiments.reproduce import Command, FindingVerdict, PaperItem


@dataclass(frozen=True, eq=False)
class Reproduced:
    """An item with what is shown of it; without a verdict where nothing could be run, or a command failed."""

    item: PaperItem
    sections: Sequence[Section]
    verdict: FindingVerdict | None = None
    plots: Sequence[Path] = ()

    @property
    def holds(self) -> bool | None:
        """Whether the finding holds, None without a verdict."""
        return None if self.verdict is None else bool(self.verdict.holds)

    @property
    def missing(self) -> str:
        """Why there is no verdict."""
        return self.item.missing or "a command failed"

    def as_dict(self) -> dict[str, Any]:
        """Return what is told of it as JSON values."""
        item, verdict = self.item, self.verdict
        about = {"item": item.name, "source": item.source, "finding": item.finding, "holds": self.holds}
        if verdict is None:
            measured = {"measured": [asdict(one) for one in item.measured]} if item.measured else {}
            return {**about, "missing": self.missing, **measured}
        parts = [{"statement": text, "so": bool(good)} for text, good in verdict.parts]
        figures = [{"figure": one.what, "printed": one.printed, "here": one.ours} for one in verdict.figures]
        return {**about, "parts": parts, "figures": figures, "verdict": str(verdict)}


@contextmanager
def working_folder(output: Path | None) -> Iterator[Path]:
    """Yield the folder to work in, tried before the work: the output, else a temporary one.

    Raises
    ------
    OutputError
        When the output is there and not empty, or nothing can be written.
    """
    with told_writing(output or "the folder of temporary files"):
        if output is None:
            with PrivateFolder() as hidden:
                yield Path(hidden).resolve()
        else:
            check_new_folder(output)
            output.mkdir(parents=True, exist_ok=True)
            try_folder(output)
            yield output.resolve()


class Runs:
    """Runs commands of this program, each once, in processes of their own.

    Parameters
    ----------
    folder, data : Path
        Where outputs go, a folder an item, and where the data are.
    quick : bool
        Whether the quick form is run.
    jobs : int
        Trainings at a time, of commands that train.
    tell : callable
        Gets what a command that failed said, and unless ``quiet`` a line a command.
    """

    def __init__(
        self, folder: Path, data: Path, quick: bool, jobs: int, tell: Callable[[str], object], *, quiet: bool
    ) -> None:
        self.folder, self.data, self.quick, self.jobs, self.tell, self.quiet = folder, data, quick, jobs, tell, quiet
        self.cpu_seconds = 0.0
        self.failed: list[str] = []
        """Items of which a command failed."""
        self._done: dict[str, tuple[Mapping[str, Any] | None, Path]] = {}

    def reproduce(self, item: PaperItem) -> Reproduced:
        """Run the commands of an item and judge."""
        title = f"{item.name}: {item.source}"
        if item.missing:
            note = f"Not run: {item.missing}"
            if not item.measured:
                return Reproduced(item, [Section(title, ("finding",), [(item.finding,)], note)])
            claims = [(one.figure, one.whose, one.theirs, one.ours) for one in item.measured]
            lines = dict.fromkeys(f"docs/{one.page}: {one.command}" for one in item.measured)
            told = "\n".join([item.finding, note, *lines])
            return Reproduced(item, [Section(title, ("figure", "whose", "theirs", "here"), claims, told)])
        values, plots = self._of(item)
        if values is None:
            self.failed.append(item.name)
            section = Section(title, ("finding",), [(item.finding,)], "A command failed: no verdict.")
            return Reproduced(item, [section], plots=plots)
        verdict = item.judge(values)
        rows = [(one.what, one.printed or "–", one.ours or "–") for one in verdict.figures]
        form = "Quick form: taggers are hardly trained and runs are few; the full form decides."
        said = [f"Finding: {item.finding}", str(verdict), *([form] if self.quick else []), *self._said(item)]
        section = Section(title, ("figure", "printed", "here"), rows, "\n".join(said))
        return Reproduced(item, [section], verdict, plots)

    def sentences(self, shown: Sequence[Reproduced]) -> list[str]:
        """Return what must be said of items that were reproduced."""
        told = [f"{name}: a command failed, so there is no verdict" for name in self.failed]
        figures = self.as_dict(shown)
        hold = f"{figures['hold']} of {figures['judged']} findings hold wholly"
        return [*told, f"{hold}, {self.cpu_seconds:.0f} CPU s"]

    def as_dict(self, shown: Sequence[Reproduced]) -> dict[str, Any]:
        """Return items that were reproduced as JSON values."""
        return {
            "quick": self.quick,
            "items": [one.as_dict() for one in shown],
            "hold": sum(one.holds is True for one in shown),
            "judged": sum(one.holds is not None for one in shown),
            "cpu_seconds": round(self.cpu_seconds, 1),
        }

    def _said(self, item: PaperItem) -> list[str]:
        """Return the commands as a user would give them, from the item's folder and with the data's place in short."""
        lines = [" ".join(["deid", *asked.line(self.quick)]) for asked in item.commands.values()]
        return [line.replace("{data}", "corpora").replace("{out}/", "") for line in lines]

    def _of(self, item: PaperItem) -> tuple[dict[str, Mapping[str, Any]] | None, list[Path]]:
        """Return the JSON of the commands of an item, None when one failed, and the plots that were drawn."""
        place = self.folder / item.name
        place.mkdir()
        found: dict[str, Mapping[str, Any]] = {}
        plots = []
        places = {"{data}": str(self.data), "{out}": str(place)}
        for name, asked in item.commands.items():
            words = [re.sub(r"\{data\}|\{out\}", lambda m: places[m[0]], word) for word in asked.line(self.quick)]
            key = " ".join(words)
            if key not in self._done:
                self._done[key] = self._run(words, asked, place, name), place / name
            values, written = self._done[key]
            own = [(Path(f"{written}{kind}"), place / f"{name}{kind}") for kind in (".csv", ".json", ".svg", ".txt")]
            for there, here in own:
                if there != here and there.exists():  # another item ran it
                    shutil.copyfile(there, here)
            plots += [plot for plot in [place / f"{name}.svg"] if plot.exists()]
            if values is None:
                return None, plots
            found[name] = values
        return found, plots

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
        if not self.quiet:
            self.tell(f"{time.monotonic() - begin:6.1f} s, {used:6.1f} CPU s  {place.name}: {name}\n")
        write_bytes(place / f"{name}.txt", done.stdout.encode(), private=False)
        written = place / f"{name}.json"
        if not written.exists():  # an attack that finds somebody ends with 1, and says what it found
            self.tell(done.stderr)
            return None
        values: Mapping[str, Any] = json.loads(written.read_text(encoding="utf-8"))
        return values


def write_reproduced(folder: Path, shown: Sequence[Reproduced]) -> None:
    """Write the figures and verdicts of all items as CSV, and one page with all tables and plots."""
    figures = [
        {"item": one.item.name, "source": one.item.source, "figure": f.what, "printed": f.printed, "here": f.ours}
        for one in shown if one.verdict is not None for f in one.verdict.figures
    ] + [
        {"item": one.item.name, "source": m.whose, "figure": m.figure, "printed": m.theirs, "here": m.ours}
        for one in shown for m in one.item.measured
    ]  # fmt: skip
    verdicts = [
        {"item": one.item.name, "source": one.item.source, "holds": None if one.verdict is None else one.verdict.holds,
         "verdict": f"Not run: {one.missing}" if one.verdict is None else str(one.verdict)}
        for one in shown
    ]  # fmt: skip
    for name, rows in (("figures", figures), ("verdicts", verdicts)):
        write_bytes(folder / f"{name}.csv", pd.DataFrame(rows).to_csv(index=False).encode(), private=False)
    results = [
        (one.item.name, one.sections, [(p.read_bytes(), f"{one.item.source}: {one.item.finding}") for p in one.plots])
        for one in shown
    ]
    write_results(folder / "index.html", "What the papers printed", results)
