"""An explanation as tables, for a terminal or a page."""

from __future__ import annotations

from deid.base.reports import Section
from deid.detection.explanation import FATES, Explained, Explanation, Reason
from deid.document import Document
from deid.replacement.policy import Policy

_SHOWN = 5
"""Terms that a line shows; the file of `--json` has all of them."""


def explanation_sections(
    explanation: Explanation,
    document: Document,
    policy: Policy | None = None,
    *,
    show: bool = False,
    asked: bool = False,
) -> list[Section]:
    """Return an explanation as tables.

    Parameters
    ----------
    explanation : Explanation
    document : Document
    policy : Policy, optional
        Whose operator for each span is told.
    show : bool
        Whether the words themselves are shown, which are PHI.
    asked : bool
        Whether places were asked for, whose words are told.
    """

    def shown(start: int, end: int) -> tuple[str, ...]:
        return (_printable(document.text[start:end]),) if show else ()

    words = ("text",) if show else ()
    operator = ("operator",) if policy is not None else ()
    rows = []
    for item in explanation.spans:
        span = item.span
        does: tuple[str, ...] = ()
        if policy is not None:
            category = policy.applied(span.category, span.also, document.metadata)
            does = (policy.rule(category, document.metadata).operator,)
        rows.append(
            (_offsets(span.start, span.end), span.category, _score(span.score), *does, *shown(span.start, span.end))
        )
    sections = [Section("Spans", ("offsets", "category", "score", *operator, *words), tuple(rows))]
    columns = (
        "offsets",
        "proposed at",
        "by",
        "category",
        "proposed",
        "raised to",
        "model's probability",
        "what became of it",
    )
    told = tuple(row for item in explanation.spans for row in _reason_rows(item))
    legend = "; ".join(f"{fate}: {meaning}" for fate, meaning in FATES.items())
    sections.append(Section("Why", columns, told, legend))
    everything = (*(r for item in (*explanation.spans, *explanation.removed) for r in item.reasons), *explanation.loose)
    if weighed := tuple(_weighed_row(r) for r in dict.fromkeys(everything) if r.weighed is not None):
        heads = ("proposed at", "by", "category", "likely", "what counts most")
        sections.append(Section("What nobody else speaks for, by the learnt weights", heads, weighed))
    if explanation.removed:
        out = tuple(row for item in explanation.removed for row in _reason_rows(item))
        sections.append(Section("Taken out by the allow list", columns, out))
    if explanation.loose:
        vain = tuple(_row("", r) for r in explanation.loose)
        sections.append(Section("Proposed in vain", columns, vain))
    if asked:
        place = tuple(
            (
                _offsets(w.start, w.end),
                "" if w.probability is None else f"{w.probability:.4f}",
                w.category,
                ", ".join(w.lists) or "none",
                "yes" if w.protected else "no",
                *shown(w.start, w.end),
            )
            for w in explanation.words
        )
        heads = ("offsets", "model: PHI", "as", "word lists", "in a clinical phrase", *words)
        sections.append(Section("The words there", heads, place))
    return sections


def _reason_rows(item: Explained) -> list[tuple[str, ...]]:
    span = item.span
    rows = [_row(_offsets(span.start, span.end) if i == 0 else "", r) for i, r in enumerate(item.reasons)]
    if item.settled:
        rows.append(("", "", "consistency", span.category, "", "", "", "category of the same name elsewhere"))
    return rows


def _by(reason: Reason) -> str:
    return reason.recognizer if reason.source in (reason.recognizer, "") else f"{reason.recognizer}: {reason.source}"


def _weighed_row(reason: Reason) -> tuple[str, ...]:
    terms = ", ".join(f"{name} {term:+.2f}" for name, term in reason.terms[:_SHOWN])
    return _offsets(reason.start, reason.end), _by(reason), reason.category, _score(reason.weighed), terms


def _row(head: str, reason: Reason) -> tuple[str, ...]:
    return (
        head,
        _offsets(reason.start, reason.end),
        _by(reason),
        reason.category,
        _score(reason.proposed),
        _score(reason.certainty),
        "" if reason.probability is None else f"{reason.probability:.4f}",
        reason.fate,
    )


def _offsets(start: int, end: int) -> str:
    return f"{start}:{end}"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _printable(text: str) -> str:
    """Return text that cannot drive the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
