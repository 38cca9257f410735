"""What a user can say, as fields of a frozen dataclass: one flag of the command line, one key of ``deid.toml`` each.

A field made by `option` carries its help text; `deid.cli.option_groups.command` makes the flags of a command of such
fields. Nothing here needs a library for command lines, so that a value of the library can be what a user says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Option", "argument", "option", "option_of"]

_KEY = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """How a field is said on a command line.

    Attributes
    ----------
    help : str
    flags : tuple of str
        Such as ``--output`` and ``-o``; by default ``--`` and the field's name with dashes.
    metavar : str
        Stands for the value in the help page.
    panel : str
        Heading in the help page; the few options that matter to everybody have none.
    read : callable, optional
        Makes the value of the text that a user writes, or raises `ConfigError`; for values that are neither text,
        number, path nor switch.
    shown : str
        The default as a user would write it, where `read` makes the value.
    positional : bool
        An argument without a flag.
    minimum : float, optional
        The least number that is taken.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    panel: str = ""
    read: Callable[[str], Any] | None = None
    shown: str = ""
    positional: bool = False
    minimum: float | None = None


def option(
    default: Any,
    help: str,
    *flags: str,
    metavar: str = "",
    panel: str = "",
    read: Callable[[str], Any] | None = None,
    shown: str = "",
    minimum: float | None = None,
    repr: bool = True,
) -> Any:
    """Return a field, or the default of a command's parameter, that a user can say.

    Parameters
    ----------
    default
        ``...`` for a value that must be given.
    help, flags, metavar, panel, read, shown, minimum
        See `Option`.
    repr : bool
        Whether the value shows in the `repr` of its dataclass: not where it can hold PHI.
    """
    said = Option(help, flags, metavar, panel, read, shown, minimum=minimum)
    given = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=given, repr=repr, metadata={_KEY: said})


def argument(help: str, *, metavar: str, default: Any = ...) -> Any:
    """Return the default of a command's parameter that is said by its place."""
    given = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=given, metadata={_KEY: Option(help, metavar=metavar, positional=True)})


def option_of(field: Any) -> Option | None:
    """Return how a field is said, None for what no user says."""
    found = field.metadata.get(_KEY) if isinstance(field, dataclasses.Field) else None
    return found if isinstance(found, Option) else None
