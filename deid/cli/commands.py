"""All commands by panel of the help page, and what finds them by name: a module is imported when its command is asked
for.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {}
"""Panel -> command -> function that runs it (``module:function`` of this room), and its line on the help page. Without
a function it is a group; a group with one runs it where no command of its own is named."""

for _row in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()[1:]:
    _panel, _name, *_command = _row.split("\t")
    COMMANDS.setdefault(_panel, {})[_name] = (_command[0], _command[1])


class OnceOptions(TyperCommand):
    """A command that takes an option of one value once: of two lists of known persons none is dropped in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read arguments and options.

        Raises
        ------
        typer.BadParameter
            When an option of one value is given twice.
        """
        given = self.make_parser(ctx).parse_args(args=list(args))[2]
        for own in self.params:
            once = own.param_type_name == "option" and not (own.multiple or getattr(own, "is_flag", False))
            if once and given.count(own) > 1 and not ctx.resilient_parsing:
                raise typer.BadParameter("it takes one value, and is given two", ctx, own)
        return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """The commands whose names begin with a prefix; loads the one that is asked for."""

    def __init__(self, *, prefix: str = "", **settings: Any) -> None:
        shown: dict[str, Any] = {}
        self._targets: dict[str, str] = {}
        for panel, rows in COMMANDS.items():
            for name, (target, line) in rows.items():
                last = name.removeprefix(prefix)
                if not name.startswith(prefix) or " " in last:
                    continue
                own: dict[str, Any] = {"name": last, "help": line, "rich_help_panel": None if prefix else panel}
                own |= {key: settings[key] for key in ("rich_markup_mode", "context_settings")}
                if target:
                    shown[last], self._targets[last] = TyperCommand(**own), target
                if not target or any(other.startswith(f"{name} ") for other in rows):
                    shown[last] = Commands(prefix=f"{name} ", no_args_is_help=True, **own)
        super().__init__(**{**settings, "commands": shown})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help page."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and arguments of what is asked for; the help page of all needs no more than lines."""
        name, found, rest = super().resolve_command(ctx, args)
        if name in self._targets and not (isinstance(found, Commands) and rest and rest[0] in found.commands):
            found = load(name, self._targets[name], self.context_settings)
        return name, found, rest


def load(name: str, target: str, settings: Any = None) -> Any:
    """Import a command: ``module:function`` of this room, under its own name."""
    module, _, function = target.partition(":")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    run = getattr(importlib.import_module(f"deid.cli.{module}"), function)
    told = "\n\n".join(" ".join(part.split()) for part in (run.__doc__ or "").split("\n\n"))
    app.command(name, cls=OnceOptions, help=told, context_settings=settings)(run)
    return typer.main.get_command(app)
