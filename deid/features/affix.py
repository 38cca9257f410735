"""Affix features (group a): prefixes and suffixes of a token (the dissertation's section 4.4.2)."""

from __future__ import annotations


def affix_features(token: str, longest: int = 3, shortest: int = 1, *, hide_compat: bool = False) -> tuple[str, ...]:
    """Return ``PRE{n}_{s}`` and ``SUF{n}_{s}`` for n = shortest..min(longest, length).

    Parameters
    ----------
    token : str
    longest, shortest : int
        Lengths of the affixes in characters.
    hide_compat : bool
        As in the released HIDE code, a token shorter than 3 characters gives only affixes shorter than itself.

    Examples
    --------
    >>> affix_features("diagnosis")
    ('PRE1_d', 'PRE2_di', 'PRE3_dia', 'SUF1_s', 'SUF2_is', 'SUF3_sis')
    """
    n = min(longest, len(token))
    if hide_compat and len(token) < 3:
        n = len(token) - 1
    return tuple(f"PRE{k}_{token[:k]}" for k in range(shortest, n + 1)) + tuple(
        f"SUF{k}_{token[-k:]}" for k in range(shortest, n + 1)
    )
