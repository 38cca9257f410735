"""A command is a function whose parameters say its options: each group of options is a frozen dataclass.

How to write a command::

    @command
    def extract(
        told: Summary,                                                        # what the run did: fill it in
        *,
        source: Path = IN,                                                    # an argument that commands share
        by: str = option("person", "What a row is.", metavar="person|note"),  # an option of its own
        place: OutputOptions,                                                 # shared options: a flag for each field
    ) -> int | None:                                                          # exit status, if not all went well
        '''First line: what it does.

        Example: deid extract notes/ -o view.csv
        '''

`deid.base.options.option` makes an option, as a parameter's default or as a dataclass's field: the flag is the name
with dashes, if no other is given; ``tuple[X, ...]`` and ``frozenset[X]`` are repeatable; ``Sequence[X]`` is numbers
with commas between; ``bool`` is a switch, and ``bool | None``, or one that is on by default, has ``--no-...`` too;
``read`` makes other values of a text. The function
gets the built dataclasses, so what their ``__post_init__`` refuses is refused here. A command that takes `KeyOptions`
or options on people has ``--config`` too: flags win over the site's file.

A command stands in `deid.cli.commands`; its module is imported when it is asked for, and imports the library inside of
the function. Order on the help page: options without a panel first (the six that matter), then the panels.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import TyperPath

from deid.base.files import check_new_file
from deid.base.keys import KeyOptions, WorkOptions
from deid.base.options import (
    SITE_FILE,
    Said,
    again,
    argument,
    option,
    options_of,
    place_of,
    read_site,
    refuse_one_file,
    said,
    store_of,
)
from deid.base.summary_options import SummaryOptions
from deid.cli.common import Summary, tell
from deid.detection.options import PeopleOptions

if TYPE_CHECKING:
    from deid.base.late import pd


SOURCE_VARIABLE = "DEID_SOURCE"
"""Environment variable that may name IN: a URL with a password must not stand on a command line."""
_IN = functools.partial(
    argument,
    "File or folder of any readable format, or a database.",
    metavar="IN",
    variable=SOURCE_VARIABLE,
    read=place_of,
)
IN, IN_OR_STDIN = _IN(), _IN(dash=True)
OUT = argument("New file or folder.", metavar="OUT")


_SITE = (
    ("deid.pipeline.options", "PipelineOptions"),
    ("deid.base.keys", "WorkOptions"),
    ("deid.io.formats", "ReadingOptions"),
)
"""Values that a site's file may name, whatever command it is beside."""
_CONFIG = option(
    None, f"Options of your site (TOML); by default {SITE_FILE} beside IN, else here.", metavar="F", panel="Summary"
)


JOBS = again(WorkOptions, "jobs")


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Where a result goes that is one file."""

    output: Path = option(..., "New file for the result.", "--output", "-o")


@dataclasses.dataclass(frozen=True)
class TableOutputOptions:
    """Where a table goes: a file, or a new table of a database."""

    output: Path | str = option(
        ...,
        "New .csv, .tsv, .parquet, .xlsx, .xpt, .dta or .sav, or table: sqlite:///FILE.db/NAME, postgresql://USER@HOST/DATABASE/NAME.",
        "--output",
        "-o",
        metavar="F",
        read=place_of,
    )

    def check(self, source: str | Path | None = None) -> Path:
        """Refuse a place where no table can be written; return the path by which what lies beside it is named."""
        from deid.table.table_writing import check_new_table, shown_place

        check_new_table(self.output, source)
        return shown_place(self.output)

    def begin(
        self,
        told: Summary,
        source: str | Path | None = None,
        *files: Path | None,
        inputs: Iterable[tuple[str, Path]] = (),
    ) -> Path:
        """Do so, and for further new files, and begin the run that writes them; it reads ``inputs``."""
        out = self.check(source)
        check_new_file(*files)
        told.begin(out, inputs=inputs)
        return out

    def write(self, frame: pd.DataFrame) -> None:
        """Write the table."""
        from deid.table.table_writing import write_table

        write_table(frame, self.output)


def command(function: Any = None, *, brief: type | None = None) -> Any:
    """Return what typer takes for a command: one flat list of options, of which the function gets the values.

    With ``brief``, a value of options is taken whole, and the help page shows those of its options alone that have no
    panel: the pages of the commands that are about them show all. The function gets the run's `Summary` first, and
    returns the exit status where all did not go well. The options of the summary are every command's.

    Raises
    ------
    TypeError
        When two of its options have the same name, or a parameter is no option.
    """
    if function is None:
        return functools.partial(command, brief=brief)
    hidden = {one.name for one in options_of(brief) if one.option.panel} if brief else set()
    groups, flat = _taken_by(function)
    summary = {one.name: one for one in options_of(SummaryOptions)}
    taken = [*flat.values(), *summary.values()]
    sites = any(issubclass(kind, PeopleOptions | KeyOptions) for kind, _ in groups.values())
    config = said("config", Path | None, _CONFIG)
    taken += [config] if sites and config else []

    def run(*, context: typer.Context, **given: Any) -> None:
        said = SummaryOptions(**{name: given.pop(name) for name in summary})
        if sites:
            given |= _site_options(context, given.pop("config"), flat)
        _refuse_passwords(context, flat, given)
        values = {name: flat[name].value(written) for name, written in given.items()}
        refuse_one_file([*flat.values(), *summary.values()], {**given, **vars(said)})
        built = {name: kind(**{field: values.pop(field) for field in names}) for name, (kind, names) in groups.items()}
        told = Summary(context=context, said=said)
        _charges()  # of a command before in this process
        try:
            status = function(told, **built, **values) or 0
            sys.stdout.flush()
            told.finish(status)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                told.interrupted()
            for line in () if isinstance(error, typer.Exit) else _charges():
                tell(line)
            raise

    shown: Any = functools.update_wrapper(run, function)
    shown.__annotations__ = {}
    shown.__signature__ = inspect.Signature(
        [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(_parameter(one, hidden=one.name in hidden) for one in taken),
        ]
    )
    return shown


def _taken_by(function: Any) -> tuple[dict[str, tuple[type, list[str]]], dict[str, Said]]:
    """Return the groups of options among a function's parameters, with the names of theirs, and all of its options."""
    groups: dict[str, tuple[type, list[str]]] = {}
    flat: dict[str, Said] = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind = parameter.annotation
        if kind is Summary:
            continue
        grouped = dataclasses.is_dataclass(kind) and isinstance(kind, type)
        found = options_of(kind) if grouped else [one for one in [said(name, kind, parameter.default)] if one]
        if not found or {one.name for one in found} & flat.keys():
            raise TypeError(f"{function.__qualname__}: {name} is no option, or two options have one name")
        flat |= {one.name: one for one in found}
        if grouped:
            groups[name] = kind, [one.name for one in found]
    return groups, flat


def _charges() -> list[str]:
    """Say what this process was charged for since it was asked last."""
    paid = sys.modules.get("deid.dp.spent_here")  # not loaded by a command that pays nothing
    return [] if paid is None else list(paid.charges_made())


def _site_options(context: typer.Context, named: Path | None, flat: dict[str, Said]) -> dict[str, Any]:
    """Return what the site's file says of options that no flag says; the context is told, too."""
    place = next(
        (context.params[name] for name, one in flat.items() if one.option.positional and one.is_place),
        None,
    )
    shown = str(place or "-")
    beside = [] if shown == "-" or "://" in shown else [Path(shown).absolute().parent]
    near = [folder / SITE_FILE for folder in (*beside, Path.cwd())]
    path = named or next((file for file in near if file.is_file()), None)
    if path is None:
        return {}
    found = {
        name: written
        for name, written in read_site(path, [getattr(importlib.import_module(m), name) for m, name in _SITE]).items()
        if name in flat and _origin(context, name) == "DEFAULT"
    }
    if found:
        where = "--config" if named else f"{SITE_FILE} beside IN" if path.parent in beside else f"{SITE_FILE} here"
        sys.stderr.write(f"options of {where}: {', '.join(flat[name].key for name in sorted(found))}\n")
    context.params.update(found)
    return found


def _refuse_passwords(context: typer.Context, flat: dict[str, Said], given: dict[str, Any]) -> None:
    """Refuse stores with a password in their URL, which other users can read, but those that the environment names."""
    for name, one in flat.items():
        if not (one.option.read is store_of or one.option.variable) or _origin(context, name) == "ENVIRONMENT":
            continue
        for text in map(str, given[name] or () if one.many else [given[name]]):
            if "://" in text:
                from deid.base.store import refuse_password

                refuse_password(text, one.option.variable)


def _origin(context: typer.Context, name: str) -> str:
    """Return where an option's value is from, in click's words."""
    return getattr(context.get_parameter_source(name), "name", "")


def _parameter(one: Said, *, hidden: bool) -> inspect.Parameter:
    """Return typer's parameter for a field."""
    how = one.option
    as_path: dict[str, Any] = {"click_type": TyperPath()} if how.read is place_of else {}
    kind: Any = list[one.one] if one.many else one.one  # type: ignore[name-defined]
    default = inspect.Parameter.empty if one.required else None if one.many or how.read else one.default
    if how.positional:
        info: Any = typer.Argument(
            metavar=how.metavar, help=how.help, envvar=how.variable or None, show_envvar=False, **as_path
        )
    else:
        dashed = "--" + one.name.replace("_", "-")
        both = one.one is bool and default is not False
        info = typer.Option(
            *(how.flags or (f"{dashed}/--no-{dashed[2:]}" if both else dashed,)),
            metavar=how.metavar or None,
            help=how.help,
            hidden=hidden,
            rich_help_panel=how.panel or None,
            min=how.minimum,
            show_default=_shown(one.default) if how.read and isinstance(one.default, tuple) else True,
            **as_path,
        )
    annotation: Any = Annotated[kind | None, info] if default is None else Annotated[kind, info]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shown(values: tuple[Any, ...]) -> str | bool:
    """Return a default of several values as a user would write it."""
    parts = ["=".join(map(str, value)) if isinstance(value, tuple) else str(value) for value in values]
    return ",".join(parts) or True
