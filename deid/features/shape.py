"""Word shapes: the pattern of capitals, small letters and digits of a token."""

from __future__ import annotations

import itertools
import unicodedata

__all__ = ["LONGEST_SHAPE", "shape", "shape_features"]

LONGEST_SHAPE = 12
"""Characters of a token that its shape shows."""


def shape(token: str, longest: int = LONGEST_SHAPE) -> str:
    """Return the shape: ``X`` upper case, ``x`` lower case, ``d`` digit, ``m`` mark, `` `` space, others as they are.

    Examples
    --------
    >>> shape("McNeil"), shape("2010"), shape("José")
    ('XxXxxx', 'dddd', 'Xxxx')
    """
    return "".join(map(_kind, token[:longest])) + ("+" if len(token) > longest else "")


def _kind(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Lu" or category == "Lt":
        return "X"
    if category[0] == "L":
        return "x"
    if category[0] == "N":
        return "d"
    if category[0] == "M":
        return "m"
    return " " if character.isspace() else character


def shape_features(token: str, longest: int = LONGEST_SHAPE) -> tuple[str, str]:
    """Return the shape ``SH_...`` and the short shape ``SS_...`` with runs collapsed."""
    full = shape(token, longest)
    return f"SH_{full}", "SS_" + "".join(kind for kind, _ in itertools.groupby(full))
