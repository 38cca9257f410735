"""Marks of a note, and what an annotator does to them: plain values, no database."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from deid.base.compiled import quick
from deid.base.errors import DeidError, LabelError, OffsetError
from deid.document import Span, check_spans
from deid.phi import shown_label

IMPORT = "import"
"""Source of marks that were brought by a file that names none."""
REPLACEMENT = "replacement"
"""Attribute of a span: what a scrubbing put in its place."""
State = Literal["suggested", "accepted", "rejected"]


class Conflict(DeidError):
    """A change to what has changed meanwhile, in another tab or by another process: nothing of it was done."""


def changed_meanwhile() -> Conflict:
    """Return the error of a change to what is not as it was seen."""
    return Conflict("the note has changed meanwhile", "load it again, then repeat the change")


@quick
@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a note in one layer."""

    id: int
    """Its number in the project; never given again."""
    start: int
    """First character (code points)."""
    end: int
    """One past the last character."""
    category: str
    state: State
    probability: float | None
    """How sure whoever suggested it is, 0..1."""
    by: str
    """Who set it as it is: an annotator, or ``model:NAME``, ``rule:NAME``, ``import``."""
    when: str
    """UTC, ISO 8601."""
    note: str = field(repr=False)
    """What somebody remarked on it."""
    source: str = ""
    """What suggested or brought it; empty for one made by hand."""
    span: tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]] = field(default=("", (), ()), repr=False)
    """`Span.id`, `Span.attributes` and `Span.also` of the span that it was made of."""

    def overlaps(self, start: int, end: int) -> bool:
        """Tell whether it shares a character with a stretch."""
        return self.start < end and start < self.end

    def as_span(self) -> Span:
        """Return the span that files hold; a remark is its attribute ``comment``, who marked it is not told."""
        id, attributes, also = self.span
        if self.note:
            attributes = (*(pair for pair in attributes if pair[0] != "comment"), ("comment", self.note))
        source = "" if self.source == IMPORT else self.source
        return Span(self.start, self.end, self.category, id, source, self.probability, attributes, also)

    @classmethod
    def of_span(cls, span: Span, id: int, state: State, by: str, when: str) -> Mark:
        """Return the mark of a span; its attribute ``comment`` is the remark."""
        source = span.source or by
        note = dict(span.attributes).get("comment", "")
        about = (span.id, span.attributes, span.also)
        return cls(id, span.start, span.end, span.category, state, span.score, source, when, note, source, about)

    def as_json(self) -> list[Any]:
        """Return a JSON value that `from_json` makes the same mark of."""
        return [getattr(self, name) for name in self.__slots__]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Mark:
        """Return the mark of a value of `as_json`."""
        id, attributes, also = values[-1]
        about = (id, tuple((name, value) for name, value in attributes), tuple(also))
        return cls(**{**dict(zip(cls.__slots__, values, strict=True)), "span": about})


@dataclass(frozen=True, slots=True)
class Add:
    """Mark a stretch; marks of the layer that it overlaps give way."""

    start: int
    end: int
    category: str
    quote: str = field(repr=False)
    """The text there, as the annotator saw it."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a mark away; one that was suggested stays as rejected, so that it is not suggested again."""

    mark: int


@dataclass(frozen=True, slots=True)
class Relabel:
    """Give a mark another category; a suggestion is accepted by that."""

    mark: int
    category: str


@dataclass(frozen=True, slots=True)
class Move:
    """Move a mark's borders; a suggestion is accepted by that."""

    mark: int
    start: int
    end: int
    quote: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Accept:
    """Accept a suggestion."""

    mark: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Reject a suggestion."""

    mark: int


@dataclass(frozen=True, slots=True)
class Note:
    """Remark something on a mark; an empty text takes the remark away."""

    mark: int
    text: str = field(repr=False)


Change = Add | Remove | Relabel | Move | Accept | Reject | Note


class Editing:
    """The marks of a layer of a note while changes are made to them.

    Parameters
    ----------
    text : str
    marks : iterable of Mark
    categories : collection of str
        Those that may be given.
    ids : iterator of int
        Numbers of new marks.
    by, when : str
        Who makes the changes, and when.
    """

    def __init__(
        self, text: str, marks: Iterable[Mark], categories: frozenset[str], ids: Iterator[int], by: str, when: str
    ) -> None:
        self._text = text
        self.marks = {mark.id: mark for mark in marks}
        self._categories = categories
        self._ids = ids
        self._by = by
        self._when = when
        self.before: dict[int, Mark | None] = {}
        """What the marks that were touched were at first; None: not there."""

    @property
    def after(self) -> dict[int, Mark | None]:
        """What the marks that were touched are now; None: gone."""
        return {id: self.marks.get(id) for id in self.before}

    @property
    def changed(self) -> bool:
        """Whether anything differs from what it was."""
        return self.before != self.after

    def do(self, change: Change) -> None:
        """Make a change.

        Raises
        ------
        Conflict
            When the mark is not there any more.
        OffsetError
            When a stretch does not lie in the text, or its quote is not what stands there.
        LabelError
            When the project has no such category.
        """
        match change:
            case Add(start, end, category, quote):
                self._check(start, end, quote)
                self._check_category(category)
                self._give_way(start, end)
                self._put(Mark(next(self._ids), start, end, category, "accepted", None, self._by, self._when, ""))
            case Remove(id):
                mark = self._mark(id)
                if mark.source:
                    self._put(self._own(mark, state="rejected"))
                else:
                    self._drop(id)
            case Relabel(id, category):
                self._check_category(category)
                self._accept(self._mark(id), category=category)
            case Move(id, start, end, quote):
                self._check(start, end, quote)
                self._accept(self._mark(id), start=start, end=end)
            case Accept(id):
                self._accept(self._mark(id))
            case Reject(id):
                self._put(self._own(self._mark(id), state="rejected"))
            case Note(id, text):
                self._put(replace(self._mark(id), note=text))

    def settle(self, mark: int, category: str) -> None:
        """Accept a mark as of a category, if it is not already."""
        if (self._mark(mark).state, self._mark(mark).category) != ("accepted", category):
            self.do(Relabel(mark, category))

    def same(self, quote: str, category: str) -> None:
        """Accept ``category`` wherever ``quote`` stands as words of its own, but where the annotator has decided."""
        self._check_category(category)
        decided = Covered(mark for mark in self.marks.values() if mark.state != "suggested")
        suggested = Covered(mark for mark in self.marks.values() if mark.state == "suggested")
        exact = {(mark.start, mark.end): mark for mark in self.marks.values() if mark.state == "suggested"}
        for start, end in occurrences(self._text, quote):
            if decided.touches(start, end):
                continue
            if (old := exact.get((start, end))) is not None:
                self._accept(old, category=category)
                continue
            if suggested.touches(start, end):
                self._give_way(start, end)
            self._put(Mark(next(self._ids), start, end, category, "accepted", None, self._by, self._when, ""))

    def _own(self, mark: Mark, **values: Any) -> Mark:
        return replace(mark, **values, by=self._by, when=self._when)

    def _accept(self, mark: Mark, **values: Any) -> None:
        new = self._own(mark, **values, state="accepted")
        if mark.state != "accepted" or (new.start, new.end) != (mark.start, mark.end):
            self._give_way(new.start, new.end, but=mark.id)
        self._put(new)

    def _mark(self, id: int) -> Mark:
        if id not in self.marks:
            raise changed_meanwhile()
        return self.marks[id]

    def _put(self, mark: Mark) -> None:
        self.before.setdefault(mark.id, self.marks.get(mark.id))
        self.marks[mark.id] = mark

    def _drop(self, id: int) -> None:
        self.before.setdefault(id, self.marks.get(id))
        del self.marks[id]

    def _give_way(self, start: int, end: int, but: int = -1) -> None:
        for mark in [m for m in self.marks.values() if m.id != but and m.overlaps(start, end)]:
            self._drop(mark.id)

    def _check(self, start: int, end: int, quote: str) -> None:
        check_spans(len(self._text), [Span(start, end, "")])
        if self._text[start:end] != quote:
            raise OffsetError(
                f"the quote is not what stands at {start}:{end}",
                "offsets count characters (code points) from 0, end excluded; send the text between them as it is",
                position=f"offset {start}",
            )

    def _check_category(self, category: str) -> None:
        if category not in self._categories:
            raise LabelError(f"the project has no label {shown_label(category)}", "add it to the project's labels")


def occurrences(text: str, quote: str) -> Iterator[tuple[int, int]]:
    """Yield where ``quote`` stands in ``text`` and no word goes on at its ends."""
    before = r"(?<!\w)" if re.match(r"\w", quote) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", quote) else ""
    for found in re.finditer(before + re.escape(quote) + behind, text):
        yield found.span()


def offered(
    marks: Mapping[int, Mark],
    spans: Iterable[Span],
    ids: Iterator[int],
    by: str,
    when: str,
    state: State,
    *,
    instead: bool,
) -> list[Mark]:
    """Return the marks of a layer after something else offered spans: where the annotator has decided, all stays.

    Parameters
    ----------
    marks : mapping of int to Mark
        Those of the layer.
    spans : iterable of Span
    ids : iterator of int
        Numbers of new marks; a suggestion that is made again keeps its own.
    by, when : str
        What offers them where a span names no source, and when.
    state : str
        ``suggested``, or ``accepted`` for annotations made elsewhere.
    instead : bool
        Whether they take the place of all earlier suggestions; else earlier suggestions stay where they are.
    """
    decided = [mark for mark in marks.values() if mark.state != "suggested"]
    earlier = [mark for mark in marks.values() if mark.state == "suggested"]
    known = {(mark.start, mark.end, mark.category): mark for mark in earlier}
    stays = decided if instead or state == "accepted" else [*decided, *earlier]
    taken = Covered(stays)
    found = []
    for span in spans:
        if not taken.touches(span.start, span.end):
            old = known.pop((span.start, span.end, span.category), None)
            found.append(Mark.of_span(span, old.id if old else next(ids), state, by, when))
    if state == "accepted" and not instead:
        new = Covered(found)
        stays = [*decided, *(mark for mark in known.values() if not new.touches(mark.start, mark.end))]
    return sorted([*stays, *found], key=lambda mark: (mark.start, mark.end, mark.id))


class Covered:
    """The stretches of text that marks cover, for questions by bisection."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted((mark.start, mark.end) for mark in marks):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def touches(self, start: int, end: int) -> bool:
        """Tell whether one of them shares a character with a stretch."""
        place = bisect_right(self._ends, start)
        return place < len(self._starts) and self._starts[place] < end
