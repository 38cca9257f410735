"""Names for files and documents that are safe to print.

A file name, a document id or a patient id can carry PHI (``Smith_John_1960-03-12.txt``). Messages, summaries and
progress lines therefore show a masked form: words that only describe files stay, everything else becomes stars, and
the ordinal in the (sorted) collection tells the user which one it is.
"""

from __future__ import annotations

import re

_PART = re.compile(r"[^\W\d_]+|\d+|[\W_]", re.UNICODE)

# Words that describe a file and name nobody; given and family names (Page, Case, Day, Read, ...) are left out.
_HARMLESS = frozenset(
    """
    a abstract admission admit all an and ann annotated annotation anaesthesia anonymized archive bad batch big binary
    bom brat broken brief cardiology chart clean clinic clinical cohort consult consultation copy corpus crlf csv cut
    cyclic data dataset deid deidentified demo dev dictation discharge doc docs document documents draft duplicate
    duplicates dup ed eeg ehr ekg ecg emergency empty emr encoded encoding english entity error errors eval evaluation
    example examples export extra fail failed feed file files final first fold followup format gold good gz half
    header hidden huge ib imaging import in inbox index inline input invalid items json jsonl lab labs large last latin
    letter line lines list log long main malformed medical messages meta mini missing model more mri multi nested new
    no normal not note notes nul null nursing ok old oncology one op operative out outbox output overlap overlapping
    part parquet pathology patient patients phi physionet plain pre predictions processed progress psychiatry public
    radiology random raw record records ref reference release report reports result results sample samples sanitized
    scan scrub scrubbed second section sections sentences set sets sgml short single small source space spaces span
    spanish spans spec split standoff summary surgery surrogate synthetic system tab table tag tagged test tests text
    the third tiny tmp train training truncated truth tsv two txt unicode unknown utf valid validation version visit
    windows with wrong xml xxe zero
    """.split()  # noqa: SIM905  (a list literal of 200 words reads worse)
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
        p if (p.isascii() and not p.isalnum()) or p.lower() in _HARMLESS or (p.isdigit() and few_digits) else "***"
        for p in parts
    ]
    masked = "".join(c if c.isprintable() else "?" for c in "".join(shown)) or "(no name)"
    return masked if index is None else f"{masked} (#{index})"
