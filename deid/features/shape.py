"""Word shapes: the pattern of capitals, small letters and digits of a token."""

from __future__ import annotations

import itertools

from deid.reading.alphabet import kind_of

LONGEST_SHAPE = 12
"""Characters of a token that its shape shows."""


def shape(token: str, longest: int = LONGEST_SHAPE) -> str:
    """Return the shape: ``X`` upper case, ``x`` lower case, ``d`` digit, ``m`` mark, `` `` space, others as they are.

    Examples
    --------
    >>> shape("McNeil"), shape("2010"), shape("José")
    ('XxXxxx', 'dddd', 'Xxxx')
    """
    return "".join(map(kind_of, token[:longest])) + ("+" if len(token) > longest else "")


def shape_features(token: str, longest: int = LONGEST_SHAPE) -> tuple[str, str]:
    """Return the shape ``SH_...`` and the short shape ``SS_...`` with runs collapsed."""
    full = shape(token, longest)
    return f"SH_{full}", "SS_" + "".join(kind for kind, _ in itertools.groupby(full))
