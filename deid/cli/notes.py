"""What commands on notes share: how IN is read, and a run over its documents from the first look to the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError, OutputError, require
from deid.base.keys import Key
from deid.cli import EXIT_LEFT_OUT, Summary, argument, option, progress
from deid.document import Tally
from deid.io.formats import CollectionFormat, Format, ReadingOptions
from deid.pipeline.facts import inputs_of

if TYPE_CHECKING:
    from deid.pipeline.files import Watch
    from deid.pipeline.resuming import RunNote
    from deid.pipeline.table_output import TableOutput

NEW_OUT = argument("New file (a name with the format's suffix) or else a new or empty folder.", metavar="OUT")
MISTAKES = option(None, "Write a page that shows every mistake in its context (holds PHI).")
_AGAIN = "Running again"
_BESIDES = frozenset(
    """
    config edits failed files_from jobs json key_file output preview_count quiet resume target vault vault_key_file
    """.split()  # noqa: SIM905
)
"""Options that decide nothing about what is written. (A vault is told by its place: the run itself fills it.)"""


@dataclass(frozen=True)
class ListOptions:
    """Which documents failed, and which are made."""

    PANEL: ClassVar[str] = _AGAIN
    failed: Path | None = option(
        None, "List the real paths of failed documents in F (they may hold PHI); by default beside OUT."
    )
    files_from: Path | None = option(None, "Only the documents that F lists, such as those that failed.")


@dataclass(frozen=True)
class AgainOptions(ListOptions):
    """What is made again of a run that was interrupted, or of which documents failed."""

    resume: bool = option(False, "Go on with an interrupted run into OUT, or make what failed in it.", panel=_AGAIN)


class NotesRun:
    """A run of a command over notes.

    Parameters
    ----------
    told : Summary
    source : Path or str
        IN; a database by its URL.
    reading : ReadingOptions
    again : ListOptions, optional
    """

    def __init__(
        self, told: Summary, source: Path | str, reading: ReadingOptions, again: ListOptions | None = None
    ) -> None:
        from deid.io.database import TableSource
        from deid.pipeline.resuming import select_files

        self.told = told
        self.again = again or ListOptions()
        self.resume = isinstance(again, AgainOptions) and again.resume
        self.reading = self._columns(reading)
        """How IN is read; of a database, what its columns are."""
        self.found = self.reading.scan(source)
        self.rows = self.found if isinstance(self.found, TableSource) else None
        """The rows of a database, where IN is one."""
        if self.again.files_from is not None:
            if self.rows is not None:
                raise ConfigError("--files-from is for files", "rows that were left out are tried again with --resume")
            self.found = select_files(self.found, self.again.files_from)
        self._place = source
        self._target: Path | None = None
        self._table: TableOutput | None = None

    @property
    def place(self) -> Path:
        """Where is written, as it is shown."""
        assert self._target is not None
        return self._target

    @property
    def output(self) -> Path | TableOutput:
        """What is written: the new table of a database, or a file or folder."""
        return self._table or self.place

    def _columns(self, reading: ReadingOptions) -> ReadingOptions:
        """Return how a table of a database is read: options on the fields of documents say what its columns are."""
        said = self.told.context.params
        kept = frozenset(said.get("keep") or ())
        return replace(reading, patient=said.get("patient_field"), date=said.get("date_field"), kept=kept)

    def into(self, target: Path, format: Format | None = None) -> None:
        """Refuse an OUT that cannot be used.

        Parameters
        ----------
        target : Path
        format : Format, optional
            Of what is written; by default that of IN.
        """
        from deid.io import FORMATS, check_output, check_suffix
        from deid.pipeline.resuming import interrupted

        if self.rows is not None and format is None:
            raise ConfigError("rows of a database are not written as they are read", "deid scrub writes a new table")
        if interrupted(target):
            if not self.resume:
                raise OutputError(
                    "the output folder holds a run that was interrupted, or of which documents failed",
                    "go on with --resume and the same options, or name a new folder",
                )
        else:
            check_output(Path(self._place), target)
            choice = FORMATS.values() if format else ()  # of tag, which has --to
            check_suffix(self.found.single, self.found.format, target, format or self.found.format, choice)
        self._target = target

    def into_rows(self, place: str | Path, key: Key, *, notes: bool = True, spans: bool = False) -> TableOutput:
        """Open the new table of a run over a table of a database, or that of a run that was interrupted.

        Parameters
        ----------
        place, key
            See `deid.pipeline.table_output.TableOutput`.
        notes, spans : bool
            Whether rows are written, and whether spans are.

        Raises
        ------
        ConfigError
            When IN is no database, or the run that goes on had an edit log.
        """
        from deid.pipeline.note_nlp import NoteNlp, NotesAndSpans
        from deid.pipeline.table_output import TableOutput

        if self.rows is None:
            raise ConfigError("OUT is a database, and IN is none", "name a file or folder")
        kind = TableOutput if not spans else NotesAndSpans if notes else NoteNlp
        self._table = output = kind(self.rows, str(place), key, self.decides(key), resume=self.resume)
        if output.source.before and self.told.context.params.get("edits") is not None:
            raise ConfigError("the edit log of the interrupted run is lost", "leave out --edits, or name a new table")
        self._target = output.shown
        return output

    def begin(self, out: Path | None = None, key: Key | None = None) -> None:
        """Begin the manifest of what is written, or of a file beside which it lies."""
        self._out = out or self.place
        self.told.begin(self._out, key, inputs=inputs_of(self.found))
        self.told.notes += self.found.remarks()

    def note(self, key: Key | None = None, *, single: bool | None = None) -> RunNote | None:
        """Return the note of a run into a folder; None where one file is written, which appears whole or not at all,
        and where rows are, which keep a note of their own.

        Parameters
        ----------
        key : Key, optional
            Makes digests of the files that options name; with the version of its map of numbers that the run goes by.
        single : bool, optional
            Whether one file is written; by default where one is read.

        Raises
        ------
        ConfigError
            When one file is to be resumed, or a run with an edit log.
        """
        from deid.pipeline.resuming import RunNote

        said, resume = self.told.context.params, self.resume
        if self._table is not None:
            return None
        if self.found.single if single is None else single:
            require(not resume, "--resume is for folders", "the result of one file is there whole, or run anew")
            return None
        if resume and said.get("edits") is not None:
            raise ConfigError(
                "the edit log of the interrupted run is lost, and --resume cannot make it",
                "leave out --edits, or name a new folder",
            )
        self.told.begun = self.place
        return RunNote(self.place, self.decides(key), resume)

    def decides(self, key: Key | None) -> str:
        """Return what decides what is written: the options, the content of the files that they name, key, version."""
        from deid import __version__
        from deid.pipeline.resuming import fingerprint

        said = self.told.context.params
        options = {name: value for name, value in said.items() if name not in _BESIDES}
        if self.rows is not None:  # a database may grow while a run is interrupted
            options["source"] = f"{self.rows.table.store.shown} {self.rows.table.name}"
        for name in ("model", "transformer"):
            if options.get(name) and (folder := Path(options[name])).is_dir():
                options[name] = [path for path in folder.rglob("*") if path.is_file()]
        maker = key or Key(b"\0" * 32)  # tagging has no key; its notes lie beside the notes of OUT
        digest = fingerprint(options, lambda data: maker.mac(data.hex()).hex()) + f"\nvault {said.get('vault')}"
        return f"{__version__}\n{maker.mac('run').hex()} map {maker.map}\n{digest}"

    def watch(self, word: str) -> Watch:
        """Return what shows progress, by documents where their number is known before they are read."""
        total = None if isinstance(self.found.format, CollectionFormat) else len(self.found.names)
        return lambda items: progress(items, word, total)

    def finish(
        self,
        report: Tally,
        figures: dict[str, Any],
        *besides: str,
        remarks: Iterable[str] = (),
        beside: Mapping[str, Path | None] | None = None,
        **facts: Any,
    ) -> int | None:
        """Tell what was done, list what failed, and write the manifest.

        Parameters
        ----------
        report : Tally
        figures : dict
            Further values of the summary; the manifest holds them but for ``besides``.
        remarks : iterable of str
            What the user must know of it.
        beside, facts
            See `deid.manifest.Run.finish`.

        Returns
        -------
        int or None
            The exit status where records of files, or rows of a database, were left out; None where documents were.
        """
        told = self.told
        told.take(report)
        told.notes += remarks
        told.extra = figures
        self._list_failed()
        kept = {name: value for name, value in figures.items() if name not in besides}
        told.sign(self._out, beside=beside, root=self.found.root, results=kept, **facts)
        return EXIT_LEFT_OUT if self.found.format.of_records and told.failures else None

    def _list_failed(self) -> None:
        """List the documents that failed, for another run."""
        from deid.pipeline.resuming import write_failed

        path, target, failures = self.again.failed, self._target, self.told.failures
        place = path or (target.with_name(f"{target.name}.failed") if target is not None else None)
        if place is None:
            return
        if not failures and path is None:
            place.unlink(missing_ok=True)  # of an earlier run into OUT, which is complete now
            return
        write_failed(place, failures)
        if failures:
            named = f"{place}" if path else "OUT.failed (beside OUT; real names, mode 0600)"
            again = "--files-from, or --resume into OUT" if self.rows is None else "--resume when it is corrected"
            told = f"what failed is listed in {named}: run it again with {again}"
            self.told.places.append(told)
