"""Letters without their accents, and signs that have none."""

from __future__ import annotations

import unicodedata

SIGNS = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
"""Expression of a sign of Chinese, Japanese or Korean, where no blank, or none without fail, parts a name from the
words beside it."""


def without_accents(text: str) -> str:
    """Return a text with its letters in their plain forms, and no accents.

    >>> without_accents("Zoé Müller")
    'Zoe Muller'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
