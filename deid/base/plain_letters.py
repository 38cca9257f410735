"""Letters without their accents."""

from __future__ import annotations

import unicodedata


def without_accents(text: str) -> str:
    """Return a text with its letters in their plain forms, and no accents.

    >>> without_accents("Zoé Müller")
    'Zoe Muller'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
