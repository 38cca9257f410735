"""A command is a function whose parameters say its options: each group of options is a frozen dataclass.

How to write a command::

    @command
    def extract(
        *,
        context: typer.Context,                                               # only where the manifest needs it
        source: Path = IN,                                                    # an argument that commands share
        by: str = option("person", "What a row is.", metavar="person|note"),  # an option of its own
        place: OutputOptions,                                                 # shared options: a flag for each field
        said: SummaryOptions,
    ) -> None:
        '''First line: what it does.

        Example: deid extract notes/ -o view.csv
        '''

`deid.base.options.option` makes an option, as a parameter's default or as a dataclass's field: the flag is the name
with dashes, if no other is given; ``tuple[X, ...]`` and ``frozenset[X]`` are repeatable; ``bool`` is a switch, and
``bool | None``, or one that is on by default, has ``--no-...`` too; ``read`` makes other values of a text. The function
gets the built dataclasses, so what their ``__post_init__`` refuses is refused here.

A command stands in `deid.cli.commands`; its module is imported when it is asked for, and imports the library inside of
the function. Order on the help page: options without a panel first (the six that matter), then the panels.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from deid.base.options import argument, option, option_of

__all__ = ["IN", "OUT", "OutputOptions", "SummaryOptions", "command"]


IN = argument("File or folder of any readable format; - for standard input.", metavar="IN")
OUT = argument("New file or folder.", metavar="OUT")


@dataclasses.dataclass(frozen=True)
class SummaryOptions:
    """What a command says of its run; every command has it."""

    json: Path | None = option(
        None, "Write the summary, with all figures, as JSON to F (- is standard output).", metavar="F", panel="Summary"
    )
    quiet: bool = option(False, "Say nothing when all went well.", "--quiet", "-q", panel="Summary")


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Where a result goes that is one file."""

    output: Path = option(..., "New file for the result.", "--output", "-o", metavar="F")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return what typer takes for a command: one flat list of options, of which the function gets the values.

    Raises
    ------
    TypeError
        When two of its options have the same name.
    """
    own = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, tuple[type, list[str]]] = {}
    builders: dict[str, Callable[[Any], Any]] = {}
    flat: list[inspect.Parameter] = []
    at = ""
    for name, parameter in own.items():
        kind = parameter.annotation
        if kind is typer.Context:
            at = name
        elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
            hints = get_type_hints(kind)
            fields = [field for field in dataclasses.fields(kind) if option_of(field)]
            groups[name] = kind, [field.name for field in fields]
            flat += [_parameter(field.name, hints[field.name], field, builders) for field in fields]
        else:
            flat.append(_parameter(name, kind, parameter.default, builders))
    if len({parameter.name for parameter in flat}) < len(flat):
        raise TypeError(f"{function.__module__}.{function.__qualname__} has two options of one name")

    def run(*, context: typer.Context, **given: Any) -> None:
        values = {name: builders[name](value) for name, value in given.items()}
        built = {
            name: kind(**{field: values.pop(field) for field in fields}) for name, (kind, fields) in groups.items()
        }
        function(**built, **values, **({at: context} if at else {}))

    shown: Any = functools.update_wrapper(run, function)
    shown.__annotations__ = {}
    shown.__signature__ = inspect.Signature(
        [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context), *flat]
    )
    return shown


def _parameter(name: str, kind: Any, field: Any, builders: dict[str, Callable[[Any], Any]]) -> inspect.Parameter:
    """Return typer's parameter for a field, and note how its value becomes the field's."""
    said = option_of(field)
    if said is None:
        raise TypeError(f"{name} is no option")
    required = field.default is dataclasses.MISSING
    inner = [part for part in get_args(kind) if part is not type(None)]
    base = inner[0] if get_origin(kind) in (Union, types.UnionType) else kind
    many = get_origin(base) if get_origin(base) in (tuple, frozenset) else None
    one = str if said.read else get_args(base)[0] if many else base
    read = said.read or (lambda value: value)
    if many:
        builders[name] = lambda values: many(map(read, values)) if values else field.default
    else:
        builders[name] = lambda value: field.default if value is None and not required else read(value)
    default = inspect.Parameter.empty if required else None if many or said.read else field.default
    shown: Any = said.shown or True
    if said.positional:
        info: Any = typer.Argument(metavar=said.metavar, help=said.help, show_default=shown)
    else:
        dashed = "--" + name.replace("_", "-")
        flags = said.flags or (dashed,)
        if base is bool and not said.flags and (default is not False):
            flags = (f"{dashed}/--no-{dashed[2:]}",)
        info = typer.Option(
            *flags,
            metavar=said.metavar or None,
            help=said.help,
            rich_help_panel=said.panel or None,
            show_default=shown,
            min=said.minimum,
        )
    taken = list[one] if many else one  # type: ignore[valid-type]
    annotation = taken if required else taken | None if (default is None) else taken
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )
