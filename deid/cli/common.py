"""What all commands share: summaries, progress, options, exit codes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from deid.base.errors import one_line
from deid.base.files import clear_leftovers, make_folder, write_bytes
from deid.base.keys import Key, load_key
from deid.base.summary_options import SummaryOptions
from deid.document import Tally

if TYPE_CHECKING:
    from deid.manifest import ManifestRun
    from deid.manifest.options import OptionRecord

EXIT_FAILED = 1
"""Some documents failed, or what was checked does not hold."""
EXIT_USAGE = 2
"""Options, files named by the user, models or policies cannot be used."""
EXIT_LEFT_OUT = 3
"""A stream went through, but for some of its records."""

T = TypeVar("T")
_State = tuple[int, ...] | None


@dataclass
class Summary(Tally):
    """What a command did: shown on standard error, written as JSON on request, signed in the manifest of its output.

    `deid.cli.option_groups.command` makes one for each run and hands it to the command. Holds counts and safe names.
    """

    context: typer.Context = field(kw_only=True)
    said: SummaryOptions = field(default_factory=SummaryOptions, kw_only=True)
    left_out: int = 0
    """Further documents that failed, of which only the number is known: a stream has no end."""
    notes: list[str] = field(default_factory=list)
    """Sentences that the user must see, and everybody may."""
    places: list[str] = field(default_factory=list)
    """Sentences that name a place on this machine, or what the user typed: for the user alone."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further JSON values of the command."""
    lost: str = ""
    """What to tell where manifests of the output were taken away during the run, which fails then."""
    begun: Path | None = None
    """A folder in which an interrupted run can go on."""
    started: float = field(default_factory=time.perf_counter)
    run: ManifestRun = field(init=False, repr=False)
    """What `begin` began."""
    before: dict[str, tuple[Path, _State]] = field(init=False, repr=False)
    """Option -> the file that it names, and what that was when the run began."""

    @property
    def command(self) -> str:
        """Return the command's name, with those of its groups."""
        names: list[str] = []
        at: Any = self.context
        while at.parent is not None:
            names.append(at.info_name or "")
            at = at.parent
        return " ".join(reversed(names))

    def interrupted(self) -> None:
        """Say what becomes of a run that the user ends."""
        if self.begun is not None and (there := sum(path.is_file() for path in self.begun.rglob("[!.]*"))):
            tell(f"interrupted: {there} files are there, each whole; the same command goes on with --resume")

    def take(self, report: Tally) -> None:
        """Take over what a report counts."""
        self.documents, self.failures, self.categories = report.documents, report.failures, report.categories

    def key(self, path: Path | None, **how: Any) -> Key:
        """Load the key, and say where a new one was made; see `deid.base.keys.load_key`."""
        key, made = load_key(path, **how)
        self.places += [made] if made else []
        return key

    def begin(
        self,
        out: Path,
        key: Key | None = None,
        first: Path | None = None,
        *,
        inputs: Iterable[tuple[str, Path]] = (),
    ) -> ManifestRun:
        """Begin the run of the command, before it does anything; see `deid.manifest.begin_run`.

        ``inputs`` are the files that it is going to read, by relative path. What killed runs left hidden beside the
        output, which may be PHI, is removed.
        """
        from deid import __version__
        from deid.manifest import begin_run

        options = self.asked(out)
        self.before = {name: (path, _state(path)) for name, path in self._files(out).items()}
        self.run = begin_run(self.command, out, version=__version__, key=key, options=options, first=first)
        self.run.inputs.note(inputs)
        if removed := clear_leftovers(out.absolute().parent):
            self.places.append(f"{removed} hidden part files that a killed run had left were removed")
        return self.run

    def _files(self, out: Path) -> dict[str, Path]:
        """Return the files that options name, by the options: no output, no summary, which is written last, no key."""
        named = {}
        for parameter in self.context.command.params:
            value = self.context.params.get(parameter.name or "")
            if parameter.type.name == "path" and isinstance(value, str | Path) and "://" not in str(value):
                named[(parameter.name or "").replace("_", "-")] = Path(value)
        return {name: path for name, path in named.items() if path != out and name not in ("json", "key-file")}

    def asked(self, out: Path | None = None) -> list[OptionRecord]:
        """Return the options as they were understood, for a manifest; ``out`` is the output, which is none."""
        from deid.manifest.options import OptionRecord

        options = []
        for parameter in self.context.command.params:
            value = self.context.params.get(parameter.name or "")
            if parameter.param_type_name == "option" and parameter.name:
                paths = parameter.type.name == "path"
                if paths and value is not None and (str(value) == str(out) or "://" in str(value)):
                    continue  # where the output is put decides nothing about it
                options.append(OptionRecord(parameter.name, _paths(value) if paths else value))
        return options

    def sign(self, out: Path, *, beside: Mapping[str, Path | None] | None = None, **facts: Any) -> None:
        """Write the manifest of the run that began, and say where it lies; see `deid.manifest.ManifestRun.finish`.

        Files that options name and that are new or other than when the run began stand in it by these options;
        ``beside`` are those without an option.
        """
        from deid.table.database_tables import is_shown_as

        written = str(self.context.params.get("output"))
        told: dict[str, Any] = {
            "table": written if is_shown_as(written, out) else None,
            "documents": self.documents,
            "failed": len(self.failures) + self.left_out,
            "categories": dict(sorted(self.categories.items())),
            "notes": list(self.notes),
            **facts,
            "results": _without_times(facts.get("results", self.extra)),
        }
        named = self.before.items()
        there = {name: path for name, (path, state) in named if path != out and _state(path) != state}
        there |= {what: path for what, path in (beside or {}).items() if path is not None}
        make_folder(out.parent)  # a run in which all failed has made nothing
        place = self.run.finish(out, beside=there, failures=self.failures, **told)
        self.places += [*self.run.created, f"manifest: {place}"]
        self.lost = self.run.lost

    def sign_paid(self, out: Path, notes: list[str]) -> None:
        """Write the manifest of a release with differential privacy: nothing in it is of the table but by the release.

        Notes and counts of the summary are for the user alone; ``notes`` are those of the release itself.
        """
        parts = (".json",) if out.suffix == ".csv" else ()
        self.sign(out, withheld=True, parts=parts, notes=notes, documents=0, categories={})

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "command": self.command,
            "documents": self.documents,
            "failed": len(self.failures) + self.left_out,
            "failures": [
                {"document": f.name, "index": f.index, "error": type(f.error).__name__, "message": str(f.error)}
                for f in self.failures
            ],
            "categories": dict(sorted(self.categories.items())),
            "notes": [*self.notes, *self.places],
            "seconds": round(time.perf_counter() - self.started, 3),
            **self.extra,
        }

    def finish(self, status: int = 0) -> None:
        """Print the summary on standard error, write the JSON, and end with status 1 when documents failed.

        ``status`` is the exit status where something else did not go well, which even --quiet does not hide.
        """
        if self.lost:
            self.notes.append(self.lost)
            status = status or EXIT_FAILED
        if not self.said.quiet or self.failures or self.left_out or status:
            write = sys.stderr.write
            for note in (*self.notes, *self.places):
                write(f"{one_line(note)}\n")
            failed = len(self.failures) + self.left_out
            if self.documents or failed:
                write(f"{self.command}: {self.documents} documents, {failed} failed")
                if self.categories:
                    write(f", {sum(self.categories.values())} spans")
                write("\n")
            for category, count in sorted(self.categories.items(), key=lambda item: (-item[1], item[0])):
                write(f"  {category:<24}{count:>8}\n")
            for failure in self.failures:
                write(f"failed: {failure.name}: {type(failure.error).__name__}: {failure.error}\n")
        if self.said.json is not None:
            text = json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"
            if str(self.said.json) == "-":
                sys.stdout.write(text)
            elif self.said.json.is_file() or not self.said.json.exists():
                self.said.check()  # the run may have written a file of this name
                write_bytes(self.said.json, text.encode(), private=False, replace=True)
            else:  # a pipe
                self.said.json.write_text(text, encoding="utf-8")
        if status or self.failures:
            raise typer.Exit(status or EXIT_FAILED)


def _state(path: Path) -> _State:
    """Return what changes where a file is written anew; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _paths(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_paths(one) for one in value]
    return None if value is None else Path(value)


def _without_times(value: Any) -> Any:
    """Return results without how long something took: two equal runs have the same."""
    if isinstance(value, dict):
        return {name: _without_times(one) for name, one in value.items() if not str(name).endswith("seconds")}
    return value


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield ``items`` with a progress bar on standard error when that is a terminal, silently otherwise."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=description, total=total, console=Console(stderr=True), transient=True)


def tell(line: str) -> None:
    """Say something on standard error, at once."""
    sys.stderr.write(f"{one_line(line)}\n")
    sys.stderr.flush()


def in_line(text: str, *, last: bool) -> None:
    """Show in one line of standard error how far work is, when that is a terminal; ``last`` ends the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}{chr(10) if last else ''}")
        sys.stderr.flush()


@contextmanager
def growing(description: str, total: int | None, done: Callable[[], int], *, shown: bool) -> Iterator[None]:
    """Show on a terminal how far work is that counts by itself, such as bytes that were read."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    import threading

    from rich.console import Console
    from rich.progress import Progress

    over = threading.Event()

    def show() -> None:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(description, total=total)
            while not over.wait(0.5):
                bar.update(task, completed=done())

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
