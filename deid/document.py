"""Documents and spans: the plain values that travel between the rooms.

Offsets are Python string offsets (code points) into ``Document.text``, end excluded. All values are frozen; a step
that changes text returns a new document and the edits that lead to it. A `repr` shows counts, never text.
"""

from __future__ import annotations

import datetime
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter, le, lt
from typing import Any, Protocol, TypeVar

from deid.base.compiled import changed, quick
from deid.base.errors import DeidError, DetectionError, ModelError, OffsetError, StoreError, raised_at
from deid.base.safe_names import safe_name
from deid.phi import shown_label

T = TypeVar("T")


@quick
@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a document's text that is (or is said to be) PHI.

    Sorting is by position, then category.
    """

    start: int
    """First character, a Python string offset."""
    end: int
    """One past the last character."""
    category: str
    """Category in the label set of whoever made the span, such as ``PATIENT`` or ``FECHAS``."""
    id: str = field(default="", compare=True)
    """Identifier of the annotation in the file that it was read from."""
    source: str = field(default="", compare=False)
    """Why it was found: ``model:en-default``, ``rule:phone.us``, ``gold``; names and offsets only, never text."""
    score: float | None = field(default=None, compare=False)
    """Confidence in 0..1 where the recognizer has one."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Further attributes that a format carries (``comment`` of i2b2, a brat note), in file order."""
    also: tuple[str, ...] = field(default=(), compare=False)
    """What else it was taken for, wholly or in part, by evidence that passed: the categories that were overruled.
    Text is left readable only where a policy leaves all of them readable (`deid.replacement.policy.Policy.applied`)."""

    def __len__(self) -> int:
        return self.end - self.start

    def overlaps(self, other: Span) -> bool:
        """Tell whether the two spans share a character."""
        return self.start < other.end and other.start < self.end

    def moved(self, start: int, end: int) -> Span:
        """Return the same span at another place."""
        if start == self.start and end == self.end:
            return self
        return changed(self, "start", start, "end", end)

    def named(self, category: str) -> Span:
        """Return the same span with another category."""
        if category == self.category:
            return self
        return changed(self, "category", category)

    def read_as(self, categories: Iterable[str]) -> Span:
        """Return the same span with what else it was taken for: its category apart, sorted."""
        others = {*categories}
        others.discard(self.category)
        also = tuple(sorted(others)) if others else ()
        if also == self.also:
            return self
        return changed(self, "also", also)

    def scored(self, score: float | None) -> Span:
        """Return the same span with another score."""
        return changed(self, "score", score)

    def also_written(self) -> Span:
        """Return the same span with what else it was taken for as an attribute, which formats carry."""
        return replace(self, attributes=(*self.attributes, (_ALSO, ",".join(self.also)))) if self.also else self

    def also_read(self) -> Span:
        """Return the same span with what an attribute of `also_written` says that it was taken for."""
        told = [label for name, value in self.attributes if name == _ALSO for label in value.split(",") if label]
        return self.read_as((*self.also, *told)) if told else self


_ALSO = "also"
_by_start, _by_end = attrgetter("start"), attrgetter("end")
by_position = attrgetter("start", "end", "category", "id", "attributes")
"""Key by which spans sort as they do by themselves, only faster."""


class Carrier(Protocol):
    """A record that a document's text was taken from, and that is written back in its place (`deid.records`)."""

    @property
    def data(self) -> bytes:
        """The record as it is read or written."""

    @property
    def source(self) -> str:
        """The record's characters; empty for one that is only written."""

    @property
    def free(self) -> int:
        """Characters at the beginning of the document's text that recognizers look at; behind them stand fields."""

    @property
    def known(self) -> tuple[tuple[str, str], ...]:
        """Categories and values of the record's own identifiers."""

    @property
    def patient(self) -> str | None:
        """The key of whom the record is about."""

    @property
    def owners(self) -> tuple[str | None, ...]:
        """Keys of the patients of its places, where it is about several."""

    @property
    def sexes(self) -> Mapping[str, str]:
        """Words of given names -> M or F, as the record says."""

    def patient_at(self, start: int, end: int) -> str | None:
        """Return the key of the patient whom a stretch of the text is about."""

    @property
    def date(self) -> datetime.date | None:
        """The record's day."""

    @property
    def unexamined(self) -> int:
        """Positions that nobody examined."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the record and references to others, which get new ones."""

    def spans(self) -> list[Span]:
        """Return the identifiers in the record's fields."""

    def paths(self, spans: Iterable[Span | Edit]) -> list[tuple[str, int]]:
        """Return where each span or edit of the text begins: the path of the place, and the offset there."""

    def inside(self, spans: Iterable[Span]) -> list[Span]:
        """Return spans, cut where one place of the record ends."""

    def replaced(
        self, text: str, edits: Iterable[Edit], *, keep_blocked: bool, renamed: Callable[[str], str] | None = None
    ) -> Carrier:
        """Return the record with what was done to the text, and with new ids."""

    def frames(self, written: str) -> bool:
        """Tell whether a written record is this one outside of its places."""


@quick
@dataclass(frozen=True, slots=True)
class Document:
    """A note: its text, its annotations, and what else its file says about it."""

    id: str
    """Identifier, unique in its collection: the file's stem and folder, or the record's own id. May carry PHI."""
    text: str = field(repr=False)
    """The text, exactly as read: BOM, CR, tabs and NUL included."""
    spans: tuple[Span, ...] = field(default=(), repr=False)
    """Annotations in file order."""
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Other fields of the record (JSON values). May carry PHI."""
    index: int | None = field(default=None, compare=False)
    """1-based position in the collection that it was read from."""
    record: Carrier | None = field(default=None, compare=False, repr=False)
    """The record that the text was taken from, where a format has such."""

    @property
    def name(self) -> str:
        """The document's name for messages: masked, with its position in the collection."""
        return safe_name(self.id, self.index)

    def __repr__(self) -> str:
        return f"Document({self.name}, {len(self.text)} characters, {len(self.spans)} spans)"

    def with_spans(self, spans: Iterable[Span]) -> Document:
        """Return the same document with other annotations."""
        return Document(self.id, self.text, tuple(spans), self.metadata, self.index, self.record)

    def with_text(self, text: str) -> Document:
        """Return the same document with another text and no annotations; itself when the text is its own."""
        return self if text is self.text else Document(self.id, text, (), self.metadata, self.index, self.record)


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be processed; stands in the stream where the document would have stood."""

    name: str
    """Safe name of the document or file."""
    error: Exception = field(repr=False)
    """What went wrong; its message holds no PHI."""
    index: int | None = None
    """1-based position in the collection."""
    path: str = field(default="", repr=False)
    """Real path or id (a line of `deid.base.list_lines`), which may carry PHI: only for files that the user asked for,
    never for messages."""


def kept(items: Iterable[T | Failure], failures: list[Failure]) -> Iterator[T]:
    """Yield what did not fail; what failed goes into ``failures``, and the rest goes on."""
    for item in items:
        if isinstance(item, Failure):
            failures.append(item)
        else:
            yield item


def failure_of(document: Document, error: Exception) -> Failure:
    """Return the failure that stands for a document; of unknown errors only the kind and place are kept."""
    if isinstance(error, DeidError):
        known = error.at(document.name)
    else:
        known = DetectionError(
            f"internal error {raised_at(error)}",
            "the document was left out; please report this",
            document.name,
        )
    # frames and causes would keep the document's text alive, and show it to whoever prints them
    known.__traceback__ = known.__context__ = known.__cause__ = None
    return Failure(document.name, known, document.index, document.id)


@dataclass(slots=True)
class Tally:
    """What became of documents: how many went through, what was met in them, and which failed. Holds no text."""

    documents: int = 0
    failures: list[Failure] = field(default_factory=list)
    categories: Counter[str] = field(default_factory=Counter)
    """Spans by category, of the documents that went through."""

    def each(
        self,
        items: Iterable[T | Failure],
        step: Callable[[T], Iterable[str]],
        failed: Callable[[T, DeidError], Failure],
    ) -> None:
        """Take each item through a step, and count it; a failure stands aside, and the rest goes on.

        Parameters
        ----------
        items : iterable
        step : callable
            What is done with an item; returns the categories of the spans that were met.
        failed : callable
            Makes the failure of an item of an error of the step.

        Raises
        ------
        StoreError, ModelError
            What a step says of a store or a model: it has nothing to do with the item.
        """
        for item in kept(items, self.failures):
            try:
                categories = step(item)
            except (StoreError, ModelError):
                raise
            except DeidError as error:
                self.failures.append(failed(item, error))
            else:
                self.documents += 1
                self.categories.update(categories)


@quick
@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """One replacement: where it was, where it is now. Holds offsets and category, no text."""

    start: int
    end: int
    new_start: int
    new_end: int
    category: str


def check_spans(text_length: int, spans: Iterable[Span], where: str = "", position: str = "") -> None:
    """Raise `OffsetError` when a span is empty, reversed or outside a text of ``text_length`` characters.

    ``where`` is the document's name, ``position`` where the span stands in a file, else its offset is told.
    """
    made = spans if isinstance(spans, list | tuple) else [*spans]
    starts, ends = [*map(_by_start, made)], [*map(_by_end, made)]
    if not made or (min(starts) >= 0 and max(ends) <= text_length and all(map(lt, starts, ends))):
        return
    for span in made:
        if not 0 <= span.start < span.end <= text_length:
            raise OffsetError(
                f"span {span.start}:{span.end} of category {shown_label(span.category)} does not lie in the text "
                f"of {text_length} characters",
                "offsets are characters counted from 0, end excluded, start before end",
                where,
                position or f"offset {span.start}",
            )


def resolve_overlaps(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Merge overlapping spans into their union, so that no character of any of them is lost.

    The union takes the category, source and score of its longest member; ties go to the earlier start, then to the
    category in alphabetical order. It was also taken for what its other members say (`Span.also`). Returns spans sorted
    by position.
    """
    ordered = sorted(spans, key=_by_start)
    starts, ends = [*map(_by_start, ordered)], [*map(_by_end, ordered)]
    if all(map(lt, starts, ends)) and all(map(le, ends, starts[1:])):
        return tuple(ordered)
    ordered.sort(key=lambda s: (s.start, -s.end, s.category))
    united: list[Span] = []
    end = -1
    for span in ordered:
        if span.start >= end:
            longest, said = span, {span.category, *span.also}
            united.append(span)
            end = span.end
        else:
            if len(span) > len(longest):
                longest = span
            said.update((span.category, *span.also))
            end = max(end, span.end)
            united[-1] = longest.moved(united[-1].start, end).read_as(said)
    return tuple(united)


def apply_edits(document: Document, replacements: Iterable[tuple[Span, str]]) -> tuple[Document, tuple[Edit, ...]]:
    """Replace spans by new text.

    Parameters
    ----------
    document : Document
    replacements : iterable of (Span, str)
        Spans that do not overlap, and what to write instead of each.

    Returns
    -------
    (Document, tuple of Edit)
        The document with the new text, its annotations replaced by the new spans (same category, id and source;
        spans whose replacement is empty vanish), and the edits in order of position.

    Raises
    ------
    OffsetError
        When a span lies outside the text or two spans overlap.
    """
    ordered = replacements if isinstance(replacements, list) else list(replacements)
    starts = [span.start for span, _ in ordered]
    if starts != sorted(starts):
        ordered = sorted(ordered, key=lambda pair: pair[0].start)
    text = document.text
    size = len(text)
    out = io.StringIO()  # a list of pieces would hold two strings a span
    write = out.write
    spans: list[Span] = []
    edits: list[Edit] = []
    read = written = 0
    for span, new in ordered:
        start, end = span.start, span.end
        if not read <= start < end <= size:
            check_spans(size, (span,), document.name)
            raise OffsetError(
                "two spans overlap where text is to be replaced",
                "resolve overlaps first (deid.document.resolve_overlaps)",
                document.name,
                f"offset {span.start}",
            )
        write(text[read:start] + new)
        at = written + start - read
        written = at + len(new)
        category = span.category
        edits.append(Edit(start, end, at, written, category))
        if new:
            # made outright: dataclasses.replace takes three times as long, for every span
            spans.append(Span(at, written, category, span.id, span.source, span.score))
        read = end
    write(text[read:])
    scrubbed = Document(document.id, out.getvalue(), tuple(spans), document.metadata, document.index)
    return scrubbed, tuple(edits)
