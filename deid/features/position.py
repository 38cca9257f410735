"""Features of a token's place in its document: occurrences, line, line header, section (group c)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deid.tokenization import Tokens

__all__ = ["PositionFeatures", "line_features", "occurrence_share"]

PositionFeatures = list[list[tuple[str, float]]]
"""For each item of the sequence its attributes and their values."""


def occurrence_share(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return ``OCC``: how often the token occurs, by the number of tokens (dissertation, section 4.4.4)."""
    counts = Counter(tokens.strings)
    total = len(tokens)
    return [[("OCC", counts[tokens.strings[i]] / total)] for i in items]


_HEADER_TOKENS = 6
_SECTION_CHARACTERS = 60


def line_features(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return where each item stands in its line, the line's header, and the section that it belongs to.

    ``LP_n`` position in the line (0, 1, 2, 3 for 3 to 5, 6 for more), ``LE`` last of its line, ``LL_n`` length class
    of the line, ``HD_x`` the words before a colon among the line's first tokens, ``SE_x`` the last line that was a
    section heading (short, ends with a colon or is all upper case), ``BL`` first line or after an empty line.
    """
    features: PositionFeatures = []
    section = ""
    for line, after_blank in _lines(tokens, items):
        words = [tokens.strings[i] for i in line]
        header = ""
        for k, word in enumerate(words[:_HEADER_TOKENS]):
            if word == ":":
                header = " ".join(words[:k]).lower()
                break
        if _is_heading(words):
            section = " ".join(words).lower().rstrip(" :")
        size = (
            "1"
            if len(words) == 1
            else "4"
            if len(words) <= 4
            else "10"
            if len(words) <= 10
            else "30"
            if len(words) <= 30
            else "+"
        )
        for k in range(len(words)):
            place = str(k) if k < 3 else "3" if k < 6 else "6"
            row = [(f"LP_{place}", 1.0), (f"LL_{size}", 1.0), (f"SE_{section}", 1.0)]
            if k == len(words) - 1:
                row.append(("LE", 1.0))
            if header:
                row.append((f"HD_{header}", 1.0))
            if after_blank:
                row.append(("BL", 1.0))
            features.append(row)
    return features


def _lines(tokens: Tokens, items: Sequence[int]) -> list[tuple[list[int], bool]]:
    """Group the items (token indices, white space left out) by line; tell which lines follow an empty one."""
    lines: list[tuple[list[int], bool]] = []
    current: list[int] = []
    blank = True
    wanted = set(items)
    for i, string in enumerate(tokens.strings):
        if i in wanted:
            current.append(i)
        elif tokens.spaces[i] and ("\n" in string or "\r" in string):
            if current:
                lines.append((current, blank))
            current, blank = [], string.count("\n") > 1 or string.count("\r") > 1
    if current:
        lines.append((current, blank))
    return lines


def _is_heading(words: Sequence[str]) -> bool:
    if sum(map(len, words)) > _SECTION_CHARACTERS or len(words) > 8:
        return False
    text = "".join(words)
    return text.endswith(":") or (text.isupper() and len(text) > 3)
