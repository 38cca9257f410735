"""What a user can say, as fields of a frozen dataclass: one flag of the command line, one key of ``deid.toml`` each.

A field made by `option` carries its help text; `deid.cli.option_groups.command` makes the flags of a command of such
fields. Nothing here needs a library for command lines, so that a value of the library can be what a user says.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import functools
import inspect
import os
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from deid.base.errors import ConfigError, require, told_of
from deid.base.files import read_toml
from deid.base.nearest import nearest

T = TypeVar("T")

SITE_FILE = "deid.toml"
"""Name of a site's file of options."""

_KEY = "option"
_SAME = object()
_MAY_BE_EMPTY = (",", "TEXT", '""')
"""Signs in the metavar of an option for which nothing is an answer: a list, a note, a field that is not there."""
_METAVARS: dict[Any, str] = {Path: "F", int: "N", float: "X", str: "NAME"}
_PAIR = re.compile(r'\s*"((?:[^"]|"")*)"\s*=(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """How a field is said on a command line.

    Attributes
    ----------
    help : str
    flags : tuple of str
        Such as ``--output`` and ``-o``; by default ``--`` and the field's name with dashes.
    metavar : str
        Stands for the value in the help page; by default a letter or word for its type.
    panel : str
        Heading in the help page, empty for the few options that matter to all; by default the dataclass's ``PANEL``.
    read : callable, optional
        Makes the value of the text that a user writes, or raises `ConfigError`; for values that are neither text,
        number, path nor switch.
    positional : bool
        An argument without a flag.
    minimum : float, optional
        The least number that is taken.
    variable : str
        Environment variable that says it too; of an option with a flag, the command looks there itself.
    dash : bool
        Whether ``-`` is standard input or output; elsewhere it is refused, as nobody wants such a file.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    panel: str | None = None
    read: Callable[[str], Any] | None = None
    positional: bool = False
    minimum: float | None = None
    variable: str = ""
    dash: bool = False


def store_of(text: str) -> str:
    """Read the place of a vault or a ledger: a file, or the URL of a database.

    Raises
    ------
    ConfigError
        When it is ``-``.
    """
    require(text != "-", "a store is no standard input or output", "name a file, or the URL of a database")
    return text


def place_of(text: str) -> Path | str:
    """Read a place: the URL of a database as it is, else a path."""
    return text if "://" in text else Path(text)


def named_file(text: str) -> tuple[str, Path]:
    """Read a file behind what it is: ``report=r.html``.

    Raises
    ------
    ConfigError
        When one of the two is missing.
    """
    what, _, path = text.partition("=")
    require(what and path, "this is no file behind what it is", "such as report=r.html")
    return what, Path(path)


def option(
    default: Any,
    help: str,
    *flags: str,
    metavar: str = "",
    panel: str | None = None,
    read: Callable[[str], Any] | None = None,
    minimum: float | None = None,
    repr: bool = True,
    dash: bool = False,
    variable: str = "",
) -> Any:
    """Return a field, or the default of a command's parameter, that a user can say.

    Parameters
    ----------
    default
        ``...`` for a value that must be given.
    help, flags, metavar, panel, read, minimum, dash, variable
        See `Option`.
    repr : bool
        Whether the value shows in the `repr` of its dataclass: not where it can hold PHI.
    """
    said = Option(help, flags, metavar, panel, read, minimum=minimum, dash=dash, variable=variable)
    given = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=given, repr=repr, metadata={_KEY: said})


def argument(
    help: str,
    *,
    metavar: str,
    default: Any = ...,
    variable: str = "",
    read: Callable[[str], Any] | None = None,
    dash: bool = False,
) -> Any:
    """Return the default of a command's parameter that is said by its place."""
    given = dataclasses.MISSING if default is ... else default
    how = Option(help, metavar=metavar, read=read, positional=True, variable=variable, dash=dash)
    return dataclasses.field(default=given, metadata={_KEY: how})


@dataclass(frozen=True)
class Said:
    """A field that a user can say, with its type."""

    name: str
    option: Option
    default: Any
    """`dataclasses.MISSING` where there is none."""
    one: Any
    """Type of what is written, or of one of many: str, int, float, bool or Path."""
    many: type | None
    """tuple or frozenset, where an option is repeatable."""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is dataclasses.MISSING

    @property
    def is_place(self) -> bool:
        """Whether it names a file or folder."""
        return self.one is Path or self.option.read is place_of

    @property
    def key(self) -> str:
        """Return what the option is called in a file: the long flag without its dashes."""
        flags = [flag for flag in self.option.flags if flag.startswith("--")]
        return (flags[0] if flags else self.name.replace("_", "-")).removeprefix("--").partition("/")[0]

    def value(self, written: Any) -> Any:
        """Return the field's value for what is written; the default for nothing.

        Raises
        ------
        ConfigError
            When it is empty (but for lists, notes and what may be nowhere), cannot be read, or is ``-`` where that is
            neither standard input nor output.
        """
        parts = written if self.many and written else [written]
        if written == "" and self.default != "" and not any(sign in self.option.metavar for sign in _MAY_BE_EMPTY):
            name = self.option.metavar if self.option.positional else f"--{self.key}"
            raise ConfigError(f"{name} is empty", "leave it out, or say what it is")
        if self.is_place and not self.option.dash and any(str(part) == "-" for part in parts):
            name = self.option.metavar if self.option.positional else f"--{self.key}"
            raise ConfigError(f"{name} is -, which is no standard input or output here", "name a file or folder")
        if self.is_place:
            written = [*map(_with_a_name, written)] if self.many and written else _with_a_name(written)
        read = self._read if self.option.read else lambda text: text
        if self.many:
            return self.many(map(read, written)) if written else self.default
        return self.default if written is None and not self.required else read(written)

    def _read(self, text: str) -> Any:
        assert self.option.read is not None
        try:
            return self.option.read(text)
        except ConfigError as error:  # say what cannot be read, not only why
            raise ConfigError(f"--{self.key}: {error.what}", error.hint) from None

    def written(self, value: Any, folder: Path) -> Any:
        """Return what a user would write on a command line for a value of a file; paths start from its folder.

        Raises
        ------
        ConfigError
            When it is of another type.
        """
        if self.many and not isinstance(value, list):
            value = [value]
        parts = value if self.many else [value]
        if self.one is str and not self.many and isinstance(value, int | float | datetime.date):
            parts = [value if isinstance(value, bool) else str(value)]
        wanted: Any = (int, float) if self.one is float else str if self.one is Path else self.one
        for part in parts:
            if not isinstance(part, wanted) or (isinstance(part, bool) and self.one is not bool):
                word = {bool: "true or false", int: "a whole number", float: "a number"}.get(self.one, "a text")
                raise ConfigError(f"{self.key} is not {word}", "write it as in deid COMMAND --help")
        if self.one is Path or (self.one is str and any((folder / part).is_file() for part in parts)):
            parts = [folder / part for part in parts] if self.one is Path else [str(folder / part) for part in parts]
        return parts if self.many else parts[0]


def _with_a_name(place: Any) -> Any:
    """Return a folder called ``.`` or ``x/..`` by its name: what lies beside it is called after it."""
    return type(place)(os.path.realpath(place)) if place and Path(place).name in ("", "..") else place


def said(name: str, kind: Any, field: Any, panel: str = "") -> Said | None:
    """Return a field, or a parameter's default, as what a user can say; None for what no user says.

    Parameters
    ----------
    name : str
    kind : type
        What its annotation says: a type, one or None, ``tuple[X, ...]`` or ``frozenset[X]``; ``Sequence[X]`` for
        numbers that are written with commas between.
    field
        What `option` or `argument` returned.
    panel : str
        Its heading, where it says none.
    """
    if not isinstance(field, dataclasses.Field) or _KEY not in field.metadata:
        return None
    parts = [part for part in get_args(kind) if part is not type(None)]
    base = parts[0] if get_origin(kind) in (Union, types.UnionType) else kind
    many = get_origin(base) if get_origin(base) in (tuple, frozenset) else None
    how = field.metadata[_KEY]
    if get_origin(base) is Sequence and how.read is None:
        flag = how.flags[0] if how.flags else f"--{name.replace('_', '-')}"
        how = dataclasses.replace(how, read=functools.partial(_numbers, flag, get_args(base)[0]))
    one = str if how.read else get_args(base)[0] if many else base
    shown = how.metavar or ("" if how.read else _METAVARS.get(one, ""))
    how = dataclasses.replace(how, metavar=shown, panel=panel if how.panel is None else how.panel)
    return Said(name, how, field.default, one, many)


def _numbers(flag: str, kind: Callable[[str], Any], text: str) -> tuple[Any, ...]:
    """Read numbers with commas between."""
    try:
        numbers = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        numbers = ()
    if not numbers and text.strip():
        raise ConfigError(f"{flag} is no list of numbers", "put commas between, for example: 2,5,10")
    return numbers


def options_of(kind: type) -> list[Said]:
    """Return the fields of a dataclass that a user can say."""
    hints = get_type_hints(kind)
    homes = {name: home for home in reversed(kind.__mro__) for name in inspect.get_annotations(home)}
    panels = {name: vars(home).get("PANEL", "") for name, home in homes.items()}
    found = (said(field.name, hints[field.name], field, panels[field.name]) for field in dataclasses.fields(kind))
    return [one for one in found if one is not None]


def again(kind: type, name: str, default: Any = _SAME, **how: Any) -> Any:
    """Return a field of another dataclass of options, with a default of its own or otherwise said (see `Option`)."""
    one = next(one for one in options_of(kind) if one.name == name)
    shown = next(field.repr for field in dataclasses.fields(kind) if field.name == name)
    given = one.default if default is _SAME else default
    return dataclasses.field(default=given, repr=shown, metadata={_KEY: dataclasses.replace(one.option, **how)})


def read_site(path: Path, kinds: Iterable[type]) -> dict[str, Any]:
    """Read a site's file of options: TOML, a key for each option, lists for repeatable ones.

    Parameters
    ----------
    path : Path
    kinds : iterable of type
        Dataclasses of the options that it may name.

    Returns
    -------
    dict of str to Any
        Name of a field -> what a user would write on a command line. Files are named from the folder of this one.

    Raises
    ------
    ConfigError
        When it cannot be read, names an unknown option, or gives a value of another type.
    """
    content = read_toml(path, 'write lines such as policy = "safe-harbor"')
    with told_of(str(path), ConfigError):
        return _named(content, kinds, path.parent)


def read_options(kind: type[T], content: Mapping[str, Any], folder: Path = Path()) -> T:
    """Return the value of a dataclass of options that plain values say, such as those of a file.

    Parameters
    ----------
    kind : type
    content : mapping
        By names of fields, or as flags are called.
    folder : Path
        Where relative paths start.

    Raises
    ------
    ConfigError
        When an option is unknown, of another type, or contradicts another one.
    """
    known = {one.name: one for one in options_of(kind)}
    return kind(**{name: known[name].value(given) for name, given in _named(content, [kind], folder).items()})


def _named(content: Mapping[str, Any], kinds: Iterable[type], folder: Path) -> dict[str, Any]:
    known = {one.key: one for kind in kinds for one in options_of(kind)}
    found = {}
    for key, value in content.items():
        one = known.get(key.replace("_", "-"))
        if one is None:
            hint = nearest(key.replace("_", "-"), sorted(known), "known are")
            raise ConfigError(f"there is no option {key!r}", hint)
        found[one.name] = one.written(value, folder)
    return found


def size_of(text: str) -> int:
    """Read a size: bytes, or a number with K, M or G.

    Raises
    ------
    ConfigError
        When it is none.

    Examples
    --------
    >>> size_of("4M")
    4194304
    """
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower(), 0)
    number = text[:-1] if factor else text
    if not number.isascii() or not number.isdigit() or not int(number):
        raise ConfigError(f"{text} is no size", "write bytes, or a number with K, M or G, such as 4M")
    return int(number) * (factor or 1)


def column_names(*texts: str | None) -> list[str]:
    """Return the names in lists with commas between; a name that holds a comma stands in quotes, as in CSV.

    >>> column_names('"city, state",age', "sex")
    ['city, state', 'age', 'sex']

    Raises
    ------
    ConfigError
        When a quote is not closed.
    """
    try:
        rows = [row for text in texts if text for row in csv.reader([text], skipinitialspace=True, strict=True)]
    except csv.Error:
        raise ConfigError("a list of names has an odd quote", "write a name with a comma as '\"a, b\",c'") from None
    return [name.strip() for row in rows for name in row if name.strip()]


def named_value(text: str, option: str, hint: str) -> tuple[str, str]:
    """Return name and value of a text NAME=VALUE; a name that holds = stands in quotes, as in CSV.

    >>> named_value('"dose=mg"=1..5', "--domain", "for example: --domain age=0..129")
    ('dose=mg', '1..5')

    Raises
    ------
    ConfigError
        When it is not of this form.
    """
    quoted = _PAIR.fullmatch(text)
    name, _, value = (quoted[1].replace('""', '"'), "=", quoted[2]) if quoted else text.partition("=")
    require(name.strip() and value.strip(), f"{option} is not of the form NAME=VALUE", hint)
    return name.strip(), value.strip()


def refuse_one_file(taken: Iterable[Said], given: dict[str, Any]) -> None:
    """Refuse a new file that two options name: one result would lie in the place of the other.

    Raises
    ------
    ConfigError
        Naming both.
    """
    named: dict[str, Said] = {}
    for one in taken:
        if not one.is_place or one.name.endswith("key_file"):  # a key is made where there is none, for both
            continue
        for text in map(str, given[one.name] or () if one.many else [given[one.name]]):
            if text in ("None", "-") or "://" in text or os.path.lexists(text):
                continue
            other = named.setdefault(os.path.realpath(text), one)
            if other is not one:
                names = [own.option.metavar if own.option.positional else f"--{own.key}" for own in (other, one)]
                raise ConfigError(f"{names[0]} and {names[1]} name one file", "name a file for each")


def refuse_given(why: str, beside: str, **others: object) -> None:
    """Refuse options that do nothing beside another one, by name, where they were given."""
    for name, value in others.items():
        if value:
            raise ConfigError(f"--{name.replace('_', '-')} {why}", f"leave out one of it, {beside}")


def said_over(base: T, said: T) -> T:
    """Return a value of options with another one's over it, where these are not what they are by default."""
    values = {one.name: (getattr(said, one.name), one.default) for one in options_of(type(said))}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return dataclasses.replace(base, **changed)  # type: ignore[type-var]
