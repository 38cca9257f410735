"""Features of a token's place in its document: occurrences, line, line header, chunk (group c)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deid.features.shape import shape_features
from deid.reading.tokenization import Tokens

PositionFeatures = list[list[tuple[str, float]]]
"""For each item of the sequence its attributes and their values."""


def occurrence_share(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return ``OCC``: how often the token occurs, by the number of tokens (dissertation, section 4.4.4)."""
    counts = Counter(tokens.strings)
    total = len(tokens)
    return [[("OCC", counts[tokens.strings[i]] / total)] for i in items]


def place_features(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return `line_features` and `chunk_features` of each item."""
    return [
        line + chunk for line, chunk in zip(line_features(tokens, items), chunk_features(tokens, items), strict=True)
    ]


_HEADER_TOKENS = 6


def line_features(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return where each item stands in its line, and the line's header.

    ``LP_n`` position in the line (0, 1, 2, 3 for 3 to 5, 6 for more), ``LE`` last of its line, ``HD_x`` the words
    before a colon among the line's first tokens.
    """
    features: PositionFeatures = []
    for line in _lines(tokens, items):
        words = [tokens.strings[i] for i in line]
        colon = words.index(":") if ":" in words[:_HEADER_TOKENS] else 0
        header = [(f"HD_{' '.join(words[:colon]).lower()}", 1.0)] if colon else []
        for k in range(len(words)):
            place = str(k) if k < 3 else "3" if k < 6 else "6"
            end = [("LE", 1.0)] if k == len(words) - 1 else []
            features.append([(f"LP_{place}", 1.0), *end, *header])
    return features


_CHUNK_CHARACTERS = 20


def chunk_features(tokens: Tokens, items: Sequence[int]) -> PositionFeatures:
    """Return what each item's chunk looks like: the tokens around it up to white space, such as ``22-10-04``.

    ``CS_x`` short shape of the chunk without punctuation at its edges, ``CF_x`` its full shape when it holds a digit,
    ``CP_n`` the item's place in it (3 for all later ones). A chunk of one token has none.
    """
    features: PositionFeatures = [[] for _ in items]
    first = 0
    for stop in range(1, len(items) + 1):
        if stop < len(items) and items[stop] == items[stop - 1] + 1:
            continue
        if stop - first > 1:
            chunk = "".join(tokens.strings[i] for i in items[first:stop]).strip(".,;:()[]")
            full, short = shape_features(chunk, _CHUNK_CHARACTERS)
            names = [f"CS_{short[3:]}"]
            if any(map(str.isdigit, chunk)):
                names.append(f"CF_{full[3:]}")
            for k in range(first, stop):
                features[k] = [(name, 1.0) for name in (*names, f"CP_{min(k - first, 3)}")]
        first = stop
    return features


def _lines(tokens: Tokens, items: Sequence[int]) -> list[list[int]]:
    """Group the items (token indices, white space left out) by line."""
    lines: list[list[int]] = []
    current: list[int] = []
    before = 0
    for i in items:
        if current and any("\n" in s for s in tokens.strings[before + 1 : i]):
            lines.append(current)
            current = []
        current.append(i)
        before = i
    if current:
        lines.append(current)
    return lines
