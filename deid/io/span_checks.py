"""Checks that every reader and writer makes: offsets inside the text, labels inside the label set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deid.base.errors import LabelError, OffsetError, OutputError
from deid.document import Document, Span, check_spans
from deid.phi import LABEL_SETS, shown_label


def allowed(label: str, label_sets: Sequence[str]) -> bool:
    """Tell whether a label belongs to one of the sets; with no sets, every label does."""
    return not label_sets or any(label in LABEL_SETS[name] for name in label_sets)


def check_label(label: str, label_sets: Sequence[str], any_label: bool, position: str) -> None:
    """Raise `LabelError` when a label is empty or outside the sets (unless any label is accepted).

    Parameters
    ----------
    label : str
        Category of an annotation.
    label_sets : sequence of str
        Keys of `deid.phi.LABEL_SETS`.
    any_label : bool
        Accept labels outside the sets.
    position : str
        Where the annotation stands, for the error.
    """
    if label and (any_label or allowed(label, label_sets)):
        return
    sets = " and ".join(label_sets)
    raise LabelError(
        f"label {shown_label(label)} does not belong to {sets}" if label else "a label is empty",
        "correct it, map it (deid convert --map), or accept labels of your own with --any-label"
        if label
        else "every annotation needs a label",
        position=position,
    )


def check_labelled(document: Document) -> None:
    """Raise `OffsetError` when a span lies outside the text, `LabelError` when one has no label: for formats that take
    any label.
    """
    check_spans(len(document.text), document.spans)
    for span in document.spans:
        check_label(span.category, (), True, f"offset {span.start}")


def check_text(text: str, start: int, end: int, claimed: str, position: str) -> None:
    """Raise `OffsetError` when an annotation's own text is not what stands at its offsets.

    Tabs and line ends may have become spaces, as XML and one-line formats demand. ``start`` and ``end`` are
    characters of ``text``; ``position`` is where the annotation stands, for the error.
    """
    held = text[start:end]
    if held != claimed and _one_line(claimed) not in (_one_line(held), _one_line(held.replace("\r\n", "\n"))):
        raise OffsetError(
            f"the annotation's text is not what stands at {start}:{end}",
            "offsets count characters (code points) from 0, end excluded; check line ends and encoding of the text",
            position=position,
        )


def nested(document: Document) -> list[Span]:
    """Return the spans in order of position, outer before inner, for formats that write them into the text.

    Raises
    ------
    OutputError
        When two spans overlap without one lying inside the other.
    """
    ordered = sorted(document.spans, key=lambda span: (span.start, -span.end))
    open_ends: list[int] = []
    for span in ordered:
        while open_ends and open_ends[-1] <= span.start:
            open_ends.pop()
        if open_ends and open_ends[-1] < span.end:
            raise OutputError(
                "two annotations overlap, which inline markup cannot express",
                "write a standoff format (i2b2-2014, brat, jsonl) or resolve the overlaps first",
                position=f"offset {span.start}",
            )
        open_ends.append(span.end)
    return ordered


def refuse_fields(document: Document, reserved: Iterable[str]) -> None:
    """Raise `OutputError` when a metadata field has the name of the text's, the id's or the annotations' field."""
    if any(name and name in document.metadata for name in reserved):
        raise OutputError(
            "a metadata field has the name of the text, id or annotations field",
            "name other fields with --text-field, --id-field or --spans-field",
        )


def _one_line(text: str) -> str:
    return text.translate({9: 32, 10: 32, 13: 32})
