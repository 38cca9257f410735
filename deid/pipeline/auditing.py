"""A bound on what scrubbing missed, without gold: a reader looks through notes that were drawn at random.

Notes are drawn by type (a field, or the folder they lie in), each type by its share: so many that none has less than
its share of the sample. Which notes is decided by a seed and their ids alone, so the draw can be repeated and no note
can be exchanged for another. The share of notes with a leak has Clopper and Pearson's upper bound; with shares of the
types kept, a stratified draw varies less than a simple one (Hoeffding, "On the distribution of the number of successes
in independent trials", 1956), and what rounding adds to some types is put on the bound.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.draws import draw
from deid.base.errors import ConfigError, FormatError, require, told_as
from deid.base.files import csv_text, read_rows, write_bytes
from deid.base.reports import Section
from deid.document import Document
from deid.evaluation.proportions import design_effect, effective_words, upper_bound
from deid.io import Source
from deid.pipeline.files import keyed_documents
from deid.reading.tokenization import tokenize

FOLDER = "folder"
"""In place of a field: the first folder of a note's path."""
_COLUMNS = ("note", "type", "leaks", "words", "digest", "text")
_TYPES = 20
"""Types that are drawn from separately; the smaller ones are drawn from together."""
_OTHERS = "(others)"


@dataclass(frozen=True, slots=True)
class Draw:
    """The notes that a reader looks through."""

    notes: Mapping[str, str] = field(repr=False)
    """Key of a note -> its type."""
    sizes: Mapping[str, int] = field(repr=False)
    """Type -> notes that there are."""
    unreadable: int = 0

    @property
    def drawn(self) -> Counter[str]:
        """Type -> notes that were drawn."""
        return Counter(self.notes.values())

    @property
    def total(self) -> int:
        """Notes that there are."""
        return sum(self.sizes.values())

    def __str__(self) -> str:
        return f"{self.drawn.total()} of {self.total} notes are drawn, of {len(self.sizes)} types"

    def remarks(self) -> list[str]:
        """Return what whoever reads them must know."""
        return [f"{self.unreadable} notes could not be read, so nothing is said of them"] if self.unreadable else []


@dataclass(frozen=True, slots=True)
class ReaderMark:
    """What a reader found in one note."""

    leaks: int
    """Identifiers that were missed, whole or in part."""
    words: int | None = None
    """Words of them; None when nobody counted."""
    digest: str | None = None
    """Of the text that was read, as `text_digest` writes it; None where nobody says which it was."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What the marks say about all notes."""

    confidence: float
    read: int
    leaking: int
    """Notes with a leak, of those that were read."""
    leaks: int
    bound: float
    """At most this share of all notes holds a leak."""
    types: Mapping[str, tuple[int, int, int, float]]
    """Type -> notes, read, with a leak, bound."""
    words: int
    """Words of the notes that were read."""
    leaked_words: int | None
    words_bound: float | None
    """At most this share of all words leaks; None where the marks cannot say it."""

    def sentences(self) -> list[str]:
        """Return what may be said."""
        sure = f"with {self.confidence:.0%} confidence"
        said = [
            f"at most {self.bound:.2%} of the notes hold a leak, {sure} ({self.leaking} of {self.read} read do, "
            f"{self.leaks} missed identifiers)"
        ]
        if self.words_bound is not None:
            said.append(
                f"at most {self.words_bound:.4%} of the words leak, {sure} ({self.leaked_words} of {self.words} read)"
            )
        else:
            said.append("words: too few notes with leaks, or words that were not counted, to say more than of notes")
        return said

    def section(self) -> Section:
        """Return the bounds by type as a table."""
        rows = tuple(
            (kind, f"{n:,}", str(r), str(bad), f"{bound:.2%}") for kind, (n, r, bad, bound) in self.types.items()
        )
        return Section("Notes with a leak", ("type", "notes", "read", "with a leak", "at most"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        told = {name: value for name, value in asdict(self).items() if name != "types"}
        return {**told, "sentences": self.sentences()}


def text_digest(text: str) -> str:
    """Return by what a note is known again; no program for tables takes it for a number."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def draw_notes(source: Source, sample: int, *, by: str | None = None, seed: int = 0) -> Draw:
    """Draw notes.

    Parameters
    ----------
    source : Source
        The scrubbed notes.
    sample : int
        How many, at least; all when there are no more.
    by : str, optional
        Field of the records that tells a note's type, or ``folder``; by default one type.
    seed : int

    Returns
    -------
    Draw
        The notes to be looked through, at random within each type.

    Raises
    ------
    ConfigError
        When there is nothing to draw from, or no note has the field.
    """
    require(sample >= 1, "the sample must have a note at least", "for example: --sample 300")
    types: dict[str, str] = {}
    unreadable = told = 0
    for key, item in keyed_documents(source):
        if not isinstance(item, Document):
            unreadable += 1
            continue
        kind = _type_of(key, item, by)
        told += bool(kind)
        types[key] = kind or "(none)"
    require(types, "there is no note that could be read", "name the output of deid scrub")
    if by not in (None, FOLDER) and not told:
        raise ConfigError("no note has the field of --strata", "name a field that the output has, or folder")
    common = {kind for kind, _ in sorted(Counter(types.values()).items(), key=lambda p: (-p[1], p[0]))[:_TYPES]}
    types = {key: kind if kind in common else _OTHERS for key, kind in types.items()}
    sizes = Counter(types.values())
    notes: dict[str, str] = {}
    for kind in sorted(sizes):
        count = math.ceil(min(sample, len(types)) * sizes[kind] / len(types))
        ranked = sorted((draw(seed, key), key) for key, own in types.items() if own == kind)
        notes.update((key, kind) for _, key in ranked[:count])
    return Draw(dict(sorted(notes.items())), dict(sorted(sizes.items())), unreadable)


def _type_of(key: str, document: Document, by: str | None) -> str:
    if by is None:
        return "notes"
    if by == FOLDER:
        return key.partition("/")[0] if "/" in key else ""
    value = document.metadata.get(by)
    return "" if value is None else str(value)


def write_sheet(path: Path, source: Source, draw: Draw) -> None:
    """Write the sheet that a reader fills in: CSV with ``note``, ``type``, ``leaks``, ``words``, ``digest``, ``text``.

    Its mode is 0600.

    Parameters
    ----------
    path : Path
        The new file.
    source : Source
        The scrubbed notes.
    draw : Draw
        Which of them are looked through.

    Raises
    ------
    OutputError
        When the file exists or cannot be written.
    """
    rows = (
        (key, draw.notes[key], "", "", text_digest(item.text), item.text)
        for key, item in keyed_documents(source)
        if isinstance(item, Document) and key in draw.notes
    )
    write_bytes(path, csv_text([_COLUMNS, *rows]).encode("utf-8", "surrogatepass"))


def read_marks(path: Path) -> dict[str, ReaderMark]:
    """Return the marks of a sheet that was filled in, by note; ``leaks`` is needed in every row.

    Raises
    ------
    FormatError
        When it is no such sheet, or a row is not marked or marked twice; names rows, never notes.
    """
    hint = "fill in the sheet that deid audit --sheet wrote, and keep its columns"
    marks: dict[str, ReaderMark] = {}
    for number, (_, row) in enumerate(read_rows(path, ("note", "leaks", "words", "digest"), hint, FormatError), 2):
        where = str(path), f"row {number}"
        key, leaks, words, digest = (row[name].strip() for name in ("note", "leaks", "words", "digest"))
        what = "leaks is no number", "write how many identifiers were missed, 0 for none"
        with told_as(FormatError(*what, *where), ValueError):
            mark = ReaderMark(int(leaks), int(words) if words else None, digest)
        if mark.leaks < 0 or (mark.words or 0) < 0 or (mark.words is not None and bool(mark.words) != bool(mark.leaks)):
            raise FormatError("the counts cannot be", "words are those of the leaks", *where)
        if key in marks:
            raise FormatError("the note is marked twice", hint, *where)
        marks[key] = mark
    return marks


def bound_leaks(source: Source, draw: Draw, marks: Mapping[str, ReaderMark], confidence: float = 0.95) -> Audit:
    """Return what the marks of a draw say about all notes.

    Parameters
    ----------
    source : Source
        The scrubbed notes, for their words.
    draw : Draw
        The same draw as the sheet's.
    marks : mapping of str to Mark
    confidence : float
        0.5 to below 1.

    Raises
    ------
    ConfigError
        When the marks are not of exactly these notes, or of other texts: a draw of which notes are left out,
        exchanged or changed bounds nothing.
    """
    require(0.5 <= confidence < 1, "the confidence must be 0.5 to below 1", "0.95 is usual")
    if marks.keys() != draw.notes.keys():
        missing, other = len(draw.notes.keys() - marks.keys()), len(marks.keys() - draw.notes.keys())
        raise ConfigError(
            f"the marks are not of this draw: {missing} of its notes are not marked, {other} others are",
            "give --sample, --strata and --seed as for the sheet, and mark every row",
        )
    lengths: dict[str, int] = {}
    changed = 0
    for key, item in keyed_documents(source):
        if isinstance(item, Document) and key in marks:
            lengths[key] = int((~tokenize(item.text).spaces).sum())
            changed += marks[key].digest not in (None, text_digest(item.text))
    require(
        not changed,
        f"{changed} of the notes that were read are no longer what they were: marks of other texts bound nothing",
        "write a sheet of the notes as they are now",
    )
    drawn = draw.drawn
    leaking = Counter(draw.notes[key] for key, mark in marks.items() if mark.leaks)
    types = {}
    for kind, size in draw.sizes.items():
        types[kind] = (size, drawn[kind], leaking[kind], _bound(leaking[kind], drawn[kind], size, confidence))
    read = len(marks)
    # rounding up gives some types more than their share: a note of another may weigh more than one of those read
    weight = max(size * read / (draw.total * drawn[kind]) for kind, size in draw.sizes.items())
    bound = min(1.0, weight * _bound(leaking.total(), read, draw.total, confidence))
    words = np.array([lengths[key] for key in marks], dtype=float)
    counted = all(mark.words is not None or not mark.leaks for mark in marks.values())
    leaked = np.array([min(mark.words or 0, lengths[key]) for key, mark in marks.items()], dtype=float)
    words_bound = None
    if counted and leaking.total() > 1:
        effective = effective_words(float(words.sum()), design_effect(words, leaked), read, confidence)
        words_bound = upper_bound(leaked.sum() / words.sum() * effective, effective, confidence)
    return Audit(
        confidence,
        read,
        leaking.total(),
        sum(mark.leaks for mark in marks.values()),
        bound,
        types,
        int(words.sum()),
        int(leaked.sum()) if counted else None,
        words_bound,
    )


def _bound(found: int, read: int, size: int, confidence: float) -> float:
    """Return the bound of a share; what was read as a whole is known."""
    return found / size if read == size else upper_bound(found, read, confidence)
