"""Regular-expression features (group r): the dissertation's Table 4.3, with its printing errors corrected.

Corrected where the printed expressions cannot do what their names say: ALPHA, NUMBERS_LETTERS and NUMBER
lost a ``+`` or a look-ahead, HASQUOTE its quote, HASSLASH an ``S``, ISPUNCT its opening bracket, REALNUMBER its anchor.
"""

from __future__ import annotations

import regex

from deid.base.resources import shipped_table

TABLE_4_3: dict[str, str] = shipped_table("labels/word_forms.toml")
"""Name of the feature -> expression, matched by `regex.search`."""


def letter_patterns(*, unicode: bool) -> dict[str, regex.Pattern[str]]:
    """Return Table 4.3, compiled, by name.

    With ``unicode``, the Latin ranges A-Z and a-z stand for all upper and lower case letters. The printed table knows
    English letters only; a Spanish or French name starts with a capital too.
    """
    table = {}
    for name, expression in TABLE_4_3.items():
        if unicode and name != "ROMAN":
            expression = (
                expression.replace("[A-Za-z]", r"[\p{L}\p{M}]").replace("[A-Z]", r"\p{Lu}").replace("[a-z]", r"\p{Ll}")
            )
        table[name] = regex.compile(expression)
    return table


def pattern_features(token: str, table: dict[str, regex.Pattern[str]]) -> tuple[str, ...]:
    """Return the names of the expressions that ``token`` matches."""
    return tuple(name for name, expression in table.items() if expression.search(token))
