"""Hypothesis strategies that all tests share."""

from __future__ import annotations

from hypothesis import strategies as st

from deid.document import Document, Span

PLAIN = [
    "a",
    "Smith",
    "12",
    " ",
    "  ",
    ".",
    "Ü",
    "\n",
    "\t",
    "\r\n",
    "\r",
    "😀",
    "e\u0301",
    "’",
    "ñ",
    "中",
    "\ufeff",
    "\x85",
    "\u2028",
]
"""Pieces of text that every format must carry."""
MARKUP = ["]]>", "<![CDATA[", "&amp;", "&", "<", ">", "<b>", "</b>", "&#13;", '"', "'", ",", ";", "|", "\\", "{"]
"""Pieces that mean something in one format or another."""
HOSTILE = [
    "\x00",
    "\x01",
    "\x0b",
    "\x1a",
    "\x7f",
    "\ud800",
    "\udc00",
    "\ufffe",
    "\uffff",
    "START_OF_RECORD=1||||2||||\n",
    "\n||||END_OF_RECORD\n",
    "%PDF-",
    "PK\x03\x04",
]
"""Pieces that some formats cannot carry."""

LABELS = ["PATIENT", "DATE", "HOSPITAL", "DOCTOR", "PHONE"]
"""Labels that i2b2-2006 and i2b2-2014 have in common."""


def texts(*pieces: list[str], max_size: int = 12) -> st.SearchStrategy[str]:
    """Texts made of pieces."""
    return st.lists(st.sampled_from([piece for group in pieces for piece in group]), max_size=max_size).map("".join)


@st.composite
def spans(
    draw: st.DrawFn,
    text: str,
    *,
    overlapping: bool = True,
    labels: list[str] | None = None,
    ids: bool = False,
    attributes: st.SearchStrategy[str] | None = None,
) -> tuple[Span, ...]:
    """Spans of a text in any order; without overlaps they are in order of position."""
    if not text:
        return ()
    borders = draw(st.lists(st.integers(0, len(text)), min_size=0, max_size=8))
    if not overlapping:
        borders = sorted(set(borders))
    pairs = [(min(a, b), max(a, b)) for a, b in zip(borders[::2], borders[1::2], strict=False)]
    found = []
    for number, (start, end) in enumerate((a, b) for a, b in pairs if a < b):
        name = st.text("abcdefgh", min_size=1, max_size=4)
        more = draw(st.dictionaries(name, attributes, max_size=2)) if attributes is not None else {}
        found.append(
            Span(
                start,
                end,
                draw(st.sampled_from(labels or LABELS)),
                id=draw(st.sampled_from(["", f"P{number}", "x y", 'a"<&'])) if ids else "",
                attributes=tuple(more.items()),
            )
        )
    return tuple(found)


@st.composite
def documents(
    draw: st.DrawFn,
    *pieces: list[str],
    overlapping: bool = True,
    labels: list[str] | None = None,
    ids: bool = False,
    attributes: bool = False,
    metadata: st.SearchStrategy[dict] | None = None,
) -> Document:
    """Documents with texts made of pieces (by default those that every format carries)."""
    text = draw(texts(*(pieces or (PLAIN,))))
    value = texts(PLAIN, MARKUP, max_size=3) if attributes else None
    return Document(
        draw(st.text("abcXYZ019-_. é", min_size=1, max_size=8)),
        text,
        draw(spans(text, overlapping=overlapping, labels=labels, ids=ids, attributes=value)),
        draw(metadata) if metadata is not None else {},
    )


def json_values() -> st.SearchStrategy[object]:
    """Any JSON value, with numbers that are finite."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    )
