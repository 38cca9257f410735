"""Words that tell which attribute of the patient a value is: ``dictionaries/attributes/<language>/cues.toml``."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deid.base.errors import ConfigError
from deid.base.resources import resource_folder

_GAP = r"[\s:.#=\-–—|*]{0,8}"  # between a label and its value


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of one language, as expressions."""

    before: Mapping[str, re.Pattern[str]] = field(repr=False)
    """Column -> matches text that ends with one of its labels."""
    behind: Mapping[str, re.Pattern[str]] = field(repr=False)
    """Column -> matches text that begins with what stands behind its values."""
    sex_labels: Mapping[str, re.Pattern[str]] = field(repr=False)
    """``female`` and ``male`` -> a labelled field with that value."""
    sex_strong: Mapping[str, frozenset[str]] = field(repr=False)
    sex_weak: Mapping[str, frozenset[str]] = field(repr=False)
    negation: frozenset[str] = field(repr=False)
    negation_ends: frozenset[str] = field(repr=False)


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(w).replace(r"\ ", r"\s+") for w in sorted(words, key=lambda w: (-len(w), w)))


def load_cues(language: str) -> Cues:
    """Return the cues of a language (``en``), loaded once.

    Raises
    ------
    ConfigError
        When there are none for the language, or the file is malformed.
    """
    return _load(language)


@functools.lru_cache(maxsize=4)
def _load(language: str) -> Cues:
    folder = resource_folder("dictionaries") / "attributes"
    path = folder / language / "cues.toml"
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in folder.iterdir() if p.is_dir()))
        raise ConfigError(f"there are no attribute cues for the language {language!r}", f"languages: {known}")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sex = table["sex"]
    labels = sex["labels"]
    return Cues(
        {c: re.compile(rf"(?i)(?<!\w)(?:{_any(w)}){_GAP}$") for c, w in table["before"].items()},
        {c: re.compile(rf"(?i)[\s-]{{0,2}}(?:{_any(w)})(?!\w)") for c, w in table["behind"].items()},
        {
            s: re.compile(rf"(?i)(?<!\w)(?:{_any(labels['words'])})\s*[:=\-|]\s*(?:{_any(labels[s])})(?!\w)")
            for s in ("female", "male")
        },
        {s: frozenset(sex["strong"][s]) for s in ("female", "male")},
        {s: frozenset(sex["weak"][s]) for s in ("female", "male")},
        frozenset(table["negation"]["words"]),
        frozenset(table["negation"]["ends"]),
    )
