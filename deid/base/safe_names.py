"""Names for files and documents that are safe to print.

A file name, a document id or a patient id can carry PHI (``Smith_John_1960-03-12.txt``). Messages, summaries and
progress lines therefore show a masked form: words that only describe files stay, everything else becomes stars, and
the ordinal in the (sorted) collection tells the user which one it is.
"""

from __future__ import annotations

import functools
import re

from deid.base.resources import resource_folder

_PART = re.compile(r"[^\W\d_]+|\d+|[\W_]", re.UNICODE)


@functools.cache
def _harmless() -> frozenset[str]:
    """Return the words that describe a file and name nobody."""
    return frozenset(
        (resource_folder("dictionaries") / "messages" / "harmless.txt").read_text(encoding="utf-8").split()
    )


def safe_name(name: str, index: int | None = None) -> str:
    """Mask a file name or an id for messages.

    Parameters
    ----------
    name : str
        File name (without folders) or id as it came in.
    index : int, optional
        1-based position of the document in its collection, in reading order.

    Returns
    -------
    str
        The name with unknown words and longer numbers masked, and ``#index`` behind it.

    Examples
    --------
    >>> safe_name("note-17.txt", 3)
    'note-17.txt (#3)'
    >>> safe_name("Smith_John_1960-03-12.xml", 4)
    '***_***_***-***-***.xml (#4)'
    """
    parts = _PART.findall(name)
    few_digits = sum(len(p) for p in parts if p.isdigit()) <= 4
    shown = [
        p if (p.isascii() and not p.isalnum()) or p.lower() in _harmless() or (p.isdigit() and few_digits) else "***"
        for p in parts
    ]
    masked = "".join(c if c.isprintable() else "?" for c in "".join(shown)) or "(no name)"
    return masked if index is None else f"{masked} (#{index})"
