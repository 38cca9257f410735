"""Load ontologies: the shipped ones, folders and CSV files of the user's own, and WordNet.

An ontology is a folder ``dictionaries/ontologies/<name>/``, or any folder of the same form, with

``hierarchy.csv``
    the tree, in ARX's form (`deid.table.hierarchy`);
``synonyms.csv`` (optional)
    lines ``phrase;term``. A phrase with such a line means that term alone, even if it is the name of others;
``lookup_only.txt`` (optional)
    phrases that are too ambiguous to be searched for (*Reading*), but understood where a span is given;
``exceptions.txt`` (optional)
    phrases in which a term does not count, as in `deid.reading.dictionaries`;
``codes.csv`` (optional)
    lines ``code;term``, for Concept-Match;
``ontology.toml`` (optional)
    ``title``, ``category`` (of the spans that are found), ``categories`` (of given spans that belong here first),
    ``plurals`` (regular plurals are found too), ``surnames`` (terms are surnames where they have a capital inside a
    sentence), ``language`` of the phrases.

A single CSV file in ARX's form is an ontology too: its terms are its phrases. How a phrase is written decides about
case: one word with a capital (*Boston*) is found with a capital only, one of capitals only (*MI*) in capitals only, any
other phrase in any case.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, require
from deid.base.files import read_text, read_toml
from deid.base.resources import resource_folder
from deid.base.safe_names import safe_name
from deid.reading.dictionaries import fold_phrase
from deid.replacement.ontology import Ontology, plural, shown
from deid.replacement.wordnet import DEBIAN_FOLDER, read_wordnet
from deid.table.hierarchy import Hierarchy, read_hierarchy

SHIPPED = ("diseases", "drugs", "places", "professions")
"""Ontologies of this project, in the order in which they are asked about a word that several know."""

_SETTINGS: dict[str, type] = {
    **{"title": str, "category": str, "language": str},
    **{"categories": list, "plurals": bool, "surnames": bool},
}
_LONGEST_PLURAL = 3  # words


def load_ontologies(names: Iterable[str | Path] = SHIPPED) -> tuple[Ontology, ...]:
    """Load several ontologies.

    Parameters
    ----------
    names : iterable of str or Path
        Names of shipped ontologies, ``wordnet``, CSV files, or folders.

    Raises
    ------
    ConfigError
        When one cannot be loaded, or two have the same name.
    """
    loaded = tuple(load_ontology(name) for name in names)
    require(loaded, "no ontology", "name at least one, such as diseases")
    if len({ontology.name for ontology in loaded}) < len(loaded):
        raise ConfigError("two ontologies have the same name", "rename one of the files")
    return loaded


@functools.lru_cache(maxsize=16)
def load_ontology(name: str | Path) -> Ontology:
    """Return an ontology by name or path; see `load_ontologies`.

    Raises
    ------
    ConfigError
        When there is no such ontology.
    """
    if name in SHIPPED:
        return _from_folder(resource_folder("dictionaries") / "ontologies" / str(name))
    if name == "wordnet":
        hierarchy, senses = read_wordnet(DEBIAN_FOLDER)
        return Ontology("wordnet", "thing", hierarchy, senses, language="en")
    path = Path(name)
    if path.is_dir():
        return _from_folder(path)
    if path.is_file():
        return _ontology(path.stem, read_hierarchy(path), (), {}, (), (), {})
    raise ConfigError(
        "no such ontology", f"name one of {', '.join((*SHIPPED, 'wordnet'))}, a folder, or a CSV file in ARX's form"
    )


def _from_folder(folder: Path) -> Ontology:
    hierarchy = read_hierarchy(folder / "hierarchy.csv", folder.name)
    synonyms = _pairs(folder / "synonyms.csv", hierarchy)
    codes = {term: code for code, term in _pairs(folder / "codes.csv", hierarchy)}
    return _ontology(
        folder.name,
        hierarchy,
        synonyms,
        _settings(folder / "ontology.toml"),
        _phrases(folder / "lookup_only.txt"),
        _phrases(folder / "exceptions.txt"),
        codes,
    )


def _ontology(
    name: str,
    hierarchy: Hierarchy,
    synonyms: Sequence[tuple[str, str]],
    settings: dict[str, Any],
    lookup_only: Sequence[str],
    exceptions: Sequence[str],
    codes: dict[str, str],
) -> Ontology:
    senses: dict[str, tuple[str, ...]] = {}
    written: dict[str, str] = {}
    title = settings.get("title", name)
    bare = Ontology(name, title, hierarchy, {})
    for term in hierarchy:
        if term != "*":
            key = fold_phrase(shown(bare, term))
            senses[key] = (*senses.get(key, ()), term)
            written.setdefault(key, shown(bare, term))
    for phrase, term in synonyms:
        senses[fold_phrase(phrase)] = (term,)
        written[fold_phrase(phrase)] = phrase
    plurals: set[str] = set()
    if settings.get("plurals"):
        for key in list(senses):
            several = plural(key)
            if key.count(" ") < _LONGEST_PLURAL and written[key][-1:].islower() and several not in senses:
                senses[several] = senses[key]
                written[several] = plural(written[key])
                plurals.add(several)
    return Ontology(
        name,
        title,
        hierarchy,
        senses,
        settings.get("category", "OTHER"),
        frozenset(settings.get("categories", ())),
        frozenset(plurals),
        {k: w.isupper() for k, w in written.items() if w[:1].isupper()},
        tuple(sorted(senses.keys() - set(lookup_only))),
        tuple(sorted(set(exceptions))),
        bool(settings.get("surnames")),
        codes,
        settings.get("language", ""),
    )


def _where(path: Path) -> str:
    return f"ontology {safe_name(path.parent.name)}, {path.name}"


def _pairs(path: Path, hierarchy: Hierarchy) -> list[tuple[str, str]]:
    """Read lines ``anything;term`` where the term must be known; none when the file is absent."""
    if not path.is_file():
        return []
    text = read_text(path, _where(path))
    pairs = []
    for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=";"), 1):
        if not row:
            continue
        if len(row) != 2 or not row[0].strip() or row[1].strip() not in hierarchy:
            raise ConfigError(
                "not two values with ; between them, or a term that hierarchy.csv does not hold",
                "correct the line",
                _where(path),
                f"line {number}",
            )
        pairs.append((row[0].strip(), row[1].strip()))
    return pairs


def _phrases(path: Path) -> tuple[str, ...]:
    lines = read_text(path, _where(path)).splitlines() if path.is_file() else []
    return tuple(fold_phrase(line) for line in lines if line.strip() and not line.startswith("#"))


def _settings(path: Path) -> dict[str, Any]:
    settings = read_toml(path, "see toml.io for the syntax", _where(path)) if path.is_file() else {}
    for key, value in settings.items():
        if key not in _SETTINGS or not isinstance(value, _SETTINGS[key]):
            raise ConfigError(
                "an unknown setting, or a value of the wrong kind",
                "known: " + ", ".join(f"{k} ({t.__name__})" for k, t in _SETTINGS.items()),
                _where(path),
            )
    return settings
