"""Word lists and pattern catalogues: expert knowledge that is data.

A list is a folder ``dictionaries/<category>/<list>/`` with

``items.txt``
    one word or phrase a line, UTF-8; empty lines and lines that start with ``#`` are skipped;
``exceptions.txt`` (optional)
    phrases in which an item does not count: with the item ``graves`` and the exception ``graves disease`` the
    surname is found in *Mrs. Graves* and left alone in *Graves disease*. An exception equal to an item
    removes it;
``source.toml``
    ``origin``, ``licence`` and ``date`` (YYYY-MM-DD), all required; ``script`` for a list that a script
    builds, and ``language`` (``en``, ``es``, or ``any``, the default).

Lists are named ``<category>/<list>``, such as ``names/male_unambig``. A folder of the user's own, of the same
form, may stand beside the shipped one; its lists replace shipped lists of the same name.

A catalogue is ``dictionaries/patterns/<language>/<catalogue>.toml`` with an array of tables ``[[pattern]]``;
what a pattern may say is up to `deid.rules.patterns`.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.base.cache import cached
from deid.base.errors import ConfigError, require
from deid.base.files import read_text, read_toml
from deid.base.plain_letters import without_accents
from deid.base.resources import resource_folder
from deid.base.safe_names import safe_name

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]")
ALL_LANGUAGES = "all.toml"
"""The file of what is written alike in every language, beside the folders of languages."""
_NOT_LISTS = frozenset({"hierarchies", "ontologies", "patterns", "policies", "surrogates"})


def fold(text: str) -> str:
    """Return the form in which words are compared: lower case, without accents, with straight apostrophes."""
    if text.isascii():
        return text.lower()
    return without_accents(text.replace("\u2019", "'").replace("\u2018", "'")).lower()


def fold_phrase(text: str) -> str:
    """Return the form in which phrases are compared: that of `fold`, single blanks between words."""
    return " ".join(fold(text).split())


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A word list."""

    name: str
    """``<category>/<list>``."""
    phrases: tuple[str, ...] = field(repr=False)
    """Items in the form of `fold`, single blanks between words, sorted, each once."""
    exceptions: tuple[str, ...] = field(default=(), repr=False)
    """Phrases in which an item does not count; same form."""
    source: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """Content of ``source.toml``."""

    def __contains__(self, phrase: str) -> bool:
        return fold_phrase(phrase) in self.words

    @property
    def words(self) -> frozenset[str]:
        """The items as a set."""
        return _as_set(self.phrases)

    @property
    def language(self) -> str:
        """Language of the list, ``any`` when it belongs to none."""
        return self.source.get("language", "any")


@functools.lru_cache(maxsize=256)
def _as_set(phrases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(phrases)


def _shown(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _fail(path: Path, what: str, hint: str, position: str = "") -> ConfigError:
    return ConfigError(what, hint, _shown(path), position)


def _read_items(path: Path) -> tuple[str, ...]:
    """Read a list of phrases; sorted and without doubles, so that the order of lines changes nothing."""
    text = read_text(path, _shown(path))
    control = _CONTROL.search(text)
    if control:
        at = text[: control.start()].count("\n") + 1
        raise _fail(path, "control character", "one word or phrase a line, nothing else", f"line {at}")
    # most files hold words in order, one a line: what is left to look at is little
    lines = dict.fromkeys(fold(text).split("\n"))
    others = [line for line in lines if not line.isalpha()]
    for line in others:
        del lines[line]
        phrase = " ".join(line.split())
        if not phrase or phrase[0] == "#":
            continue
        if not any(c.isalnum() for c in phrase):
            at = fold(text).split("\n").index(line) + 1
            raise _fail(path, "an item without letter or digit", "remove the line", f"line {at}")
        lines[phrase] = None
    return tuple(sorted(lines))


def _read_toml(path: Path) -> dict[str, Any]:
    return read_toml(path, "see toml.io for the syntax", _shown(path))


@functools.lru_cache(maxsize=512)
def _read_source(path: Path) -> Mapping[str, str]:
    """Read and check ``source.toml``, once."""
    require(path.is_file(), "missing", "say where the list comes from: origin, licence, date", _shown(path))
    source = _read_toml(path)
    for key in ("origin", "licence", "date"):
        require(key in source, f"no {key}", "origin, licence and date are required", _shown(path))
    if isinstance(source["date"], datetime.date):
        source["date"] = source["date"].isoformat()
    for key, value in source.items():
        if not isinstance(value, str) or not value.strip():
            raise _fail(path, f"{safe_key(key)} is not a text", 'write key = "text"')
    try:
        datetime.date.fromisoformat(source["date"])
    except ValueError:
        raise _fail(path, "date is not a date", "write it as YYYY-MM-DD") from None
    return source


def safe_key(key: str) -> str:
    """Return a key of a configuration file for messages."""
    return key if key.isidentifier() else safe_name(key)


def _folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders in which lists are looked up, the user's own first."""
    return (*folders, resource_folder("dictionaries"))


def available(language: str | None = None, folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Name the lists that can be loaded.

    Parameters
    ----------
    language : str, optional
        Only lists of this language and lists that belong to no language.
    folders : sequence of Path
        Folders of the user's own, searched before the shipped one.

    Returns
    -------
    tuple of str
        Names ``<category>/<list>``, sorted.
    """
    shipped = _shipped(resource_folder("dictionaries"))
    own = {"/".join(place.parts[-2:]): place for folder in reversed(folders) for place in _lists(folder)}
    names = tuple(sorted({*own, *shipped}))
    if language is None:
        return names
    sources = {n: _read_source(own[n] / "source.toml") if n in own else shipped[n].source for n in names}
    return tuple(n for n in names if sources[n].get("language", "any") in (language, "any"))


def _lists(folder: Path) -> list[Path]:
    """Return the folders of the lists in a folder."""
    return [i.parent for i in sorted(folder.glob("*/*/items.txt")) if i.parent.parent.name not in _NOT_LISTS]


def _list_folder(name: str, folders: Sequence[Path]) -> Path:
    parts = name.split("/")
    if len(parts) == 2 and all(p and p not in (".", "..") and "\\" not in p for p in parts):
        for folder in _folders(folders):
            path = folder.joinpath(*parts)
            if (path / "items.txt").is_file():
                return path
    known = available(folders=folders)
    raise ConfigError(f"no dictionary {name!r}", f"known: {', '.join(known) or 'none'}")


def load_dictionary(name: str, folders: Sequence[Path] = ()) -> Dictionary:
    """Load a word list.

    Parameters
    ----------
    name : str
        ``<category>/<list>``.
    folders : sequence of Path
        Folders of the user's own, searched before the shipped one.

    Returns
    -------
    Dictionary
        The list, loaded once.

    Raises
    ------
    ConfigError
        When there is no such list, or a file of it is malformed; names file and line.
    """
    return _load(_list_folder(name, folders), name)


@functools.lru_cache(maxsize=512)
def _load(folder: Path, name: str) -> Dictionary:
    kept = _kept(folder, name)
    if kept:
        return Dictionary(name, _phrases(kept.items), _phrases(kept.exceptions), kept.source)
    return _read(folder, name)


def _read(folder: Path, name: str) -> Dictionary:
    source = _read_source(folder / "source.toml")
    items = _read_items(folder / "items.txt")
    require(items, "the list is empty", "add items or remove the folder", _shown(folder / "items.txt"))
    exceptions = folder / "exceptions.txt"
    return Dictionary(name, items, _read_items(exceptions) if exceptions.is_file() else (), source)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A shipped list as it is kept between runs; items and exceptions are sorted, one a line."""

    source: Mapping[str, str]
    items: bytes = field(repr=False)
    exceptions: bytes = field(repr=False)


def _phrases(lines: bytes) -> tuple[str, ...]:
    return tuple(lines.decode().split("\n")) if lines else ()


def _kept(folder: Path, name: str) -> _Kept | None:
    """Return a list that ships; None for a user's own."""
    root = folder.parent.parent
    return _shipped(root).get(name) if root == resource_folder("dictionaries") else None


@functools.lru_cache(maxsize=2)
def _shipped(root: Path) -> Mapping[str, _Kept]:
    """Read all shipped lists, or what was kept of them when files and code were the same."""
    folders = _lists(root)
    names = ["/".join(folder.parts[-2:]) for folder in folders]
    files = [file for folder in folders for file in sorted(folder.iterdir())]

    def make() -> tuple[bytes, ...]:
        lists = [_read(folder, name) for folder, name in zip(folders, names, strict=True)]
        texts = ["\n".join(part) for d in lists for part in (d.phrases, d.exceptions)]
        return (json.dumps([d.source for d in lists]).encode(), *(text.encode() for text in texts))

    content = (part for file in files for part in (str(file.relative_to(root)).encode(), file.read_bytes()))
    sources, *texts = cached("lists", (Path(__file__).read_bytes(), *content), make)
    rows = zip(names, json.loads(sources), texts[::2], texts[1::2], strict=True)
    return {name: _Kept(source, items, exceptions) for name, source, items, exceptions in rows}


def shipped_content(names: Iterable[str]) -> Iterator[bytes]:
    """Yield all that some shipped lists hold: what a table follows from that is computed from them."""
    lists = _shipped(resource_folder("dictionaries"))
    for name in names:
        kept = lists[name]
        yield from (name.encode(), json.dumps(dict(kept.source)).encode(), kept.items, kept.exceptions)


def load_catalogues(kind: str, language: str, folders: Sequence[Path] = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Read the TOML files ``dictionaries/<kind>/<language>/*.toml``, sorted by name, then that of all languages.

    Yields
    ------
    (Path, dict)
        The file and its content; the reader of the content says in its errors which file is meant.

    Raises
    ------
    ConfigError
        When there is no such folder or a file is not TOML.
    """
    found = [f / kind for f in _folders(folders) if (f / kind).is_dir()]
    if not any((folder / language).is_dir() for folder in found):
        raise ConfigError(
            f"no {kind} for language {language!r}",
            f"make dictionaries/{kind}/{language}/ with at least one .toml file",
        )
    for folder in found:
        paths = [*sorted((folder / language).glob("*.toml")), *folder.glob(ALL_LANGUAGES)]
        if folder.parent == resource_folder("dictionaries"):
            yield from zip(paths, _shipped_toml(kind, language, paths), strict=True)
        else:
            yield from ((path, _read_toml(path)) for path in paths)


def _shipped_toml(kind: str, language: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what shipped files hold, or what was kept of them: reading JSON takes a tenth of the time."""
    texts = [part for path in paths for part in (path.name.encode(), path.read_bytes())]
    (kept,) = cached(f"{kind}-{language}", texts, lambda: (json.dumps([_read_toml(path) for path in paths]).encode(),))
    found: list[dict[str, Any]] = json.loads(kept)
    return found
