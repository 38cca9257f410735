"""The small words of a language that the grammars ask for by what they do: articles, prepositions, *is*, *Saint*.

They stand in ``dictionaries/patterns/<language>/words.toml``: ``labels`` (label set of what rules alone find), the
table ``[words]`` (name -> words), ``[dates]`` (expressions of the months in their order, of ordinals, *of*, *years*)
and ``[expressions]`` (what may stand behind an age, numbers in groups, postcodes, how dates, telephone numbers and
postcodes are written in the language beside the forms of all, what says that only the last digits of a number follow).
What a language leaves out is empty: that part of a grammar finds nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regex

from deid.base.errors import ConfigError, require
from deid.base.resources import resource_folder
from deid.phi import LABEL_SETS
from deid.reading.dictionaries import fold, load_catalogues

_WORDS = frozenset(
    (
        *("and", "definite", "indefinite", "copula", "possessive", "saint", "place_in", "occupation_at"),
        *("institution_joiner", "institution_link", "institution_behind", "institution_inner", "employer_inner"),
        *("hospital_acronym_ending", "title_plural", "title_word", "title_unlikely", "no_initial", "state_code_word"),
        *("unit", "measure", "value_link", "number_label", "phone_label", "age_label", "date_label"),
        *("purpose", "date_link", "scale", "filler", "graded", "versus", "named_after", "name_label"),
        *(
            "scored",
            "no_name_behind",
            "leads_to_matter",
            "lasting",
            "place_label",
            "form_label",
            "name_head",
            "sex",
            "answer",
        ),
        *("general_institution", "spoken"),
        *("score", "dosing", "guideline", "guideline_body", "animal", "called", "occasion", "homewards", "likeness"),
        *("comparison", "many", "during", "remedy", "sender", "recipient", "team", "opens_sentence"),
        *("staged", "demographic", "faith", "ward_word"),
        *("patient_role", "patient_act", "staff_role", "staff_act", "staff_matter"),
        *("organization_end", "initials_head", "insurer", "kind_of_place", "employed", "elided", "clitic", "attribute"),
        *("behind_surname", "compound_head", "asks", "asks_with_mark", "asked_of", "topic", "trial", "matter"),
        *("individual", "speaks", "owned", "modal", "behind_modal"),
    )
)
_EXPRESSIONS = frozenset(
    (
        *("age_end", "stated_age", "aged", "grouped_number", "postcode", "zip", "date_form", "phone_form", "zip_form"),
        *("last_digits", "ordinal_day", "fraction_of", "acuity", "numbered", "registry", "catalogued"),
        *("abbreviated", "kept_stop", "contraction", "signs_for"),
    )
)
_NEVER = r"(?!)"
TABLES = frozenset(("labels", "words", "dates", "expressions"))
"""Keys of pattern files that belong to the vocabulary."""


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Small words of a language."""

    words: dict[str, frozenset[str]] = field(repr=False)
    """What they do -> folded words."""
    months: tuple[str, ...] = field(default=(_NEVER,) * 12, repr=False)
    """Expression of each month."""
    ordinal: str = ""
    """Expression of what may stand behind the number of a day."""
    of: str = ""
    """Expression of what may stand between day, month and year."""
    years: str = _NEVER
    """Expression of what stands behind the number of an age."""
    expressions: dict[str, Any] = field(default_factory=dict, repr=False)
    """Name -> compiled expression."""
    labels: str = "i2b2-2014"
    """Label set of what rules alone find."""
    told: frozenset[str] = field(init=False, repr=False)
    """The words of all lists: of most words it is soon told that none has them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "told", frozenset().union(*self.words.values()))


def languages() -> tuple[str, ...]:
    """Name the languages that rules ship for."""
    return tuple(sorted(p.name for p in (resource_folder("dictionaries") / "patterns").iterdir() if p.is_dir()))


def load_vocabulary(language: str, folders: Sequence[Path] = ()) -> Vocabulary:
    """Return the small words of a language, loaded once; arguments as those of `deid.reading.lexicon.load_lexicon`.

    Raises
    ------
    ConfigError
        When there is nothing for the language, or a table is malformed.
    """
    return _load(language, tuple(folders))


@functools.lru_cache(maxsize=8)
def _load(language: str, folders: tuple[Path, ...]) -> Vocabulary:
    words: dict[str, frozenset[str]] = dict.fromkeys(_WORDS, frozenset())
    expressions: dict[str, Any] = {name: regex.compile(_NEVER) for name in _EXPRESSIONS}
    dates: dict[str, Any] = {}
    labels = "i2b2-2014"
    for path, content in load_catalogues("patterns", language, folders):
        where = "/".join(path.parts[-3:])
        labels = content.get("labels", labels)
        require(labels in LABEL_SETS, "unknown label set", f"known: {', '.join(LABEL_SETS)}", where)
        for name, values in content.get("words", {}).items():
            if name not in _WORDS or not isinstance(values, list) or not all(isinstance(v, str) for v in values):
                raise ConfigError("a list in [words] that nothing asks for, or no list of words", _known(_WORDS), where)
            words[name] |= frozenset(map(fold, values))
        for name, value in content.get("expressions", {}).items():
            if name not in _EXPRESSIONS or not isinstance(value, str):
                raise ConfigError("an expression in [expressions] that nothing asks for", _known(_EXPRESSIONS), where)
            expressions[name] = _compiled(value, where)
        dates |= _dates(content.get("dates", {}), where)
    return Vocabulary(words, expressions=expressions, labels=labels, **dates)


def _known(names: frozenset[str]) -> str:
    return f"known: {', '.join(sorted(names))}"


def _compiled(expression: str, where: str) -> Any:
    try:
        return regex.compile(expression)
    except regex.error as error:
        raise ConfigError(f"no regular expression ({error.msg})", "see docs/rules.md", where) from None


def _dates(table: Any, where: str) -> dict[str, Any]:
    """Check the table of dates."""
    kinds = {"months": list, "ordinal": str, "of": str, "years": str}
    if not isinstance(table, dict) or any(not isinstance(v, kinds.get(k, tuple)) for k, v in table.items()):
        raise ConfigError("[dates] is no table of months, ordinal, of, years", "see docs/rules.md", where)
    months = table.get("months", [])
    if "months" in table and (len(months) != 12 or not all(isinstance(m, str) for m in months)):
        raise ConfigError("[dates] months are not twelve expressions", "one for each month, in order", where)
    for expression in (*months, *(v for v in table.values() if isinstance(v, str))):
        _compiled(expression, where)
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
