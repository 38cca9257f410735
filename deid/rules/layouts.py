"""Values that only their place in a layout gives away: segments of HL7 messages, columns of tables.

A segment (*PID|1||123456^^^MRN||SMITH^JOHN*) is read by the table ``[[segment]]`` of the catalogue, which names the
category of each field. A table is a run of lines with tabs or bars; its first line names the columns by the same labels
that stand before values elsewhere (*MRN*, *Provider*).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import regex

from deid.document import Span
from deid.reading.dictionaries import fold
from deid.reading.passages import rows
from deid.rules.certainties import certainties
from deid.rules.fields import Field, PersonField
from deid.rules.person_words import read_last_first, read_run
from deid.rules.scene import Scene
from deid.rules.word_classes import CREDENTIAL, PARTICLE, PERSON, TITLES

_W: Final = certainties("layouts")

PARTS: dict[str, tuple[str, ...]] = {
    "address": ("STREET", "STREET", "CITY", "STATE", "ZIP", "COUNTRY", "", "", "LOCATION-OTHER"),
    "location": ("DEPARTMENT", "ROOM", "", "HOSPITAL"),
    "staff": ("LICENSE", "name"),
}
"""Composite fields: category of each component between carets; ``name`` takes the rest as one name of a clinician."""

_SEGMENT: Final = regex.compile(r"(?m)^[ \t]*([A-Za-z][A-Za-z0-9]{2})\|.*")
_NAME_CATEGORIES: Final = frozenset(("PATIENT", "DOCTOR"))
_CELL_END: Final = regex.compile(r"[\t|]")
_SPACED: Final = regex.compile(
    r"(?m)^[^\t|\r\n0-9:]*[^\s0-9:|](?:[ ]{2,40}[^\s0-9:|](?:[^\t|\r\n0-9:]|(?<=[A-Za-z])[0-9]){0,40}){2,12}$"
)
"""A line of words in three and more columns between blanks: what may be the head of a table."""
_WORDS: Final = regex.compile(r"[^ ]+(?:[ ][^ ]+)*")
_JOINED: Final = re.compile(r",(?=[^\W\d_])")
_LISTED: Final = re.compile(r"[^\s,0-9][^,\n0-9]{0,39}(?:,[^\s,0-9][^,\n0-9]{0,39}){2,24}")
"""A line between commas without blanks behind them: what may be the head of a table."""
_STACKED: Final = re.compile(r"[^\s0-9:][^\n0-9:]{0,39}(?:\n[^\s0-9:][^\n0-9:]{0,39}){1,24}(?=\n\n|\n?\Z)")
"""Short lines between empty ones: what may be the heads of columns under each other."""
_WORD: Final = regex.compile(r"[^\s/&.()#-]+")
_DIGIT: Final = re.compile("[0-9]")
_FEWEST: Final = 3
"""Cells of the head of a table."""
_APART: Final = 6
"""Characters between the place of a column and a value that stands in it but does not touch it."""
_INITIALS: Final = regex.compile(r"[A-Z]{2,3}")
_ACCOUNT: Final = regex.compile(r"[a-z]{2,8}[0-9]{1,4}|[A-Z]{2,6}[0-9]{2,5}")
"""A user's name where a column names people."""
_BED: Final = re.compile(
    r"\n[ \t]{0,4}+(?P<code>(?:ISO[ ]?)?[A-Z]{0,2}+-?[0-9]{1,3}(?:[.-][0-9]{1,2})?[A-Za-z]?(?:[ ]ISO)?)"
    r"(?:[ ]*\|[ ]*|[ ]{2,24}|\t)(?=[^\s|0-9])"
)
"""The end of a line and what may be the code of a bed, before the next cell of the line."""
_LEAST_BEDS: Final = 3
_NAMED: Final = PERSON | TITLES | PARTICLE
_MAX_HEADER_CELL: Final = 40
_INITIALS_LABEL: Final = "initials"
_OF_LETTERS: Final = "name.letter"
"""Labels of letters, which are no heads of columns: *CC* is a complaint there."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One kind of segment."""

    name: str
    """Three letters, such as ``PID``."""
    fields: Mapping[int, str] = field(repr=False)
    """Number of a field -> category, or a key of `PARTS`."""


def find_segments(text: str, segments: Iterable[Segment]) -> Iterator[Span]:
    """Yield the values of HL7 segments, by the fields that the segments name."""
    if "|" not in text:
        return
    by_name = {segment.name: segment for segment in segments}
    for line in _SEGMENT.finditer(text):
        segment = by_name.get(line[1].upper())
        if segment is None:
            continue
        # MSH-1 is the separator itself, so its fields count from one more
        number, at = (1 if line[1].upper() == "MSH" else 0), line.start(1)
        for value in line[0].lstrip().split("|"):
            kind = segment.fields.get(number, "")
            if kind and value.strip():
                yield from _field(at, value, kind, f"rule:hl7.{line[1].lower()}")
            at += len(value) + 1
            number += 1


def segment_names(text: str, segments: Iterable[Segment]) -> list[tuple[int, int]]:
    """Return where the names of segments stand in a text that holds a segment of the table; they are no PHI.

    In such a text every line that begins with three capitals (or digits) and a bar is a segment.
    """
    if "|" not in text:
        return []
    known = {segment.name for segment in segments}
    heads = [(line.span(1), line[1]) for line in _SEGMENT.finditer(text) if line[1].isupper()]
    return [span for span, _ in heads] if any(name in known for _, name in heads) else []


def beside(names: Sequence[tuple[int, int]], span: Span) -> Span | None:
    """Return what of a span lies before the names of segments, given in order; None where nothing does."""
    at = bisect_right(names, (span.start, span.start))
    # a span may begin inside one name and go over another
    end = min((first for first, last in names[max(0, at - 1) : at + 1] if last > span.start), default=span.end)
    return span.moved(span.start, min(end, span.end)) if end > span.start else None


def _field(start: int, value: str, kind: str, source: str) -> Iterator[Span]:
    """Yield the spans of one field; repeats stand between tildes."""
    at = start
    for repeat in value.split("~"):
        if kind in PARTS:
            yield from _components(at, repeat, PARTS[kind], source)
        else:
            # a name is all of its components, any other value the first one
            part = repeat.rstrip("^ ") if kind in _NAME_CATEGORIES else repeat.partition("^")[0]
            yield from _span(at, part, kind, source)
        at += len(repeat) + 1


def _components(start: int, value: str, categories: Sequence[str], source: str) -> Iterator[Span]:
    at = start
    for category, part in zip(categories, value.split("^"), strict=False):
        if category == "name":
            pieces = value[at - start :].split("^")[:3]  # last, first, middle; what follows are titles
            if len(pieces) > 2 and len(pieces[2]) != 1:
                pieces.pop()
            yield from _span(at, "^".join(pieces).rstrip("^ "), "DOCTOR", source)
            return
        if category:
            yield from _span(at, part, category, source)
        at += len(part) + 1


def _span(start: int, part: str, category: str, source: str) -> Iterator[Span]:
    bare = part.strip()
    if any(c.isalnum() for c in bare):
        at = start + part.index(bare)
        yield Span(at, at + len(bare), category, source=source, score=_W["segment"])


def find_tables(scene: Scene, rules: Mapping[str, Field | PersonField]) -> Iterator[Span]:
    """Yield the values in columns whose head is a label.

    Parameters
    ----------
    scene : Scene
    rules : mapping
        Folded label -> the field that it belongs to.
    """
    columns: list[Field | PersonField | None] = []
    bars = placed = False
    last_end = -2
    text = scene.view.text
    for start, end in rows(text):
        if columns and start - last_end > 2:
            columns = []
        last_end = end
        row = text[start:end]
        if not columns and row.count("\t") + row.count("|") < 2:
            continue  # too few for the head of a table
        cells = _cells(row, start)
        if not columns:
            bars = row.lstrip(" ").startswith("|")
        if bars and not cells[0][1].strip():
            del cells[0]  # what stands before a bar at the border
        while cells and not cells[-1][1].strip():
            del cells[-1]
        filled = [(at, cell) for at, cell in cells if cell.strip(" -+:")]
        heads = _heads(scene, rules, [fold(c.strip(" :*")) if len(c) < _MAX_HEADER_CELL else "" for _, c in filled])
        if sum(h is not None for h in heads) > 1 and len(heads) > 2:
            columns, placed = heads, len(filled) == len(cells)
        elif columns and len(filled) <= len(columns):
            # an empty cell keeps its place, but where several tabs are what lines columns up
            if not placed or len(cells) > len(columns):
                cells = filled
            for rule, (at, cell) in zip(columns, cells, strict=False):
                if rule is not None and cell.strip(" -+:"):
                    yield from _cell(scene, rule, at, cell)


def find_beds(scene: Scene) -> Iterator[Span]:
    """Yield the codes of rooms and beds before persons, in lines of a ward's board: *2.1 | v. Bredow*, *A3   Mw Stam*.

    Parameters
    ----------
    scene : Scene
        Codes count where three lines and more begin with one, and two of three with a person behind; numbers that go
        up by one are those of a list.
    """
    beds = list(_BED.finditer("\n" + scene.text))
    if len(beds) < _LEAST_BEDS:
        return
    codes = [bed["code"] for bed in beds]
    numbered = all(code.isdecimal() for code in codes) and [int(c) for c in codes] == list(
        range(int(codes[0]), int(codes[0]) + len(codes))
    )
    behind = [scene.at(bed.end() - 1) for bed in beds]
    persons = sum(scene.has(i, _NAMED) or (scene.capital(i) and not scene.classes[i]) for i in behind)
    if len(set(codes)) == len(codes) and not numbered and 3 * persons >= 2 * len(beds):
        for bed in beds:
            yield Span(bed.start("code") - 1, bed.end("code") - 1, "ROOM", "", "rule:layout.bed", _W["bed"])


def find_spaced_tables(scene: Scene, rules: Mapping[str, Field | PersonField]) -> Iterator[Span]:
    """Yield the values in columns that blanks line up under heads that are labels; arguments as of `find_tables`.

    A value belongs to the head above it: that it touches, or that stands nearest.
    """
    text = scene.view.text
    if "   " not in text:
        return
    for line in _spaced(text):
        words = list(_WORDS.finditer(line[0]))
        told = _heads(scene, rules, [fold(found[0].strip(" *")) for found in words])
        signed = [_initials(scene, rules, found[0]) for found in words]
        heads = [(w.span(), rule or sign) for w, rule, sign in zip(words, told, signed, strict=True)]
        known = [rule for _, rule in heads if rule is not None]
        if len(heads) < 3 or not known or (len(known) < 2 and not any(signed)):
            continue
        at = line.end() + 1
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            cells = [(found.span(), found[0]) for found in _columns_of(text[at:end])]
            if len(cells) < 2 or len(cells) > len(heads) + 1:
                break  # a remark may stand behind the last column
            if sum(_is_head(scene, rules, fold(cell.strip(" *:"))) for _, cell in cells) > 1:
                break  # the head of another table
            for (first, last), cell in cells:
                distance, rule = min(
                    ((max(a - last + 1, first - b + 1, 0), n) for n, ((a, b), _) in enumerate(heads)), default=(0, 0)
                )
                field = heads[rule][1]
                if field is not None and distance <= _APART:
                    yield from _cell(scene, field, at + first, cell, signed=signed[rule] is not None)
            at = end + 1


def _heads(
    scene: Scene, rules: Mapping[str, Field | PersonField], names: Sequence[str]
) -> list[Field | PersonField | None]:
    """Return the fields of the heads of columns; *Last* and *First* beside each other are heads of names."""
    halves = [name in scene.words["name_head"] for name in names]
    person = next((r for r in rules.values() if r.category == "PATIENT"), None) if sum(halves) > 1 else None
    known = [rule if (rule := rules.get(name)) and rule.name != _OF_LETTERS else None for name in names]
    return [rule or (person if half else None) for rule, half in zip(known, halves, strict=True)]


def _initials(scene: Scene, rules: Mapping[str, Field | PersonField], head: str) -> Field | PersonField | None:
    return rules.get(_INITIALS_LABEL) if fold(head.strip(" *")) in scene.words["initials_head"] else None


def _is_head(scene: Scene, rules: Mapping[str, Field | PersonField], name: str) -> bool:
    words = _WORD.findall(name)
    return name in rules or (bool(words) and scene.words["form_label"].issuperset(words))


def head_rows(scene: Scene, rules: Mapping[str, Field | PersonField]) -> list[tuple[int, int]]:
    """Return where labels stand in the heads of tables, in order: nothing in them is PHI.

    A head has no figures, and five of eight or more of its three and more cells are labels; between commas, or line
    under line, all are. A cell that is no label may be a name between labels.

    Parameters
    ----------
    scene : Scene
    rules : mapping
        Folded label -> the field that it belongs to.
    """
    text = scene.view.text
    lines: list[tuple[list[tuple[int, str]], int]] = []
    if "  " in text:
        for line in _spaced(text):
            lines.append(([(line.start() + cell.start(), cell[0]) for cell in _WORDS.finditer(line[0])], 5))
    if "\t" in text or "|" in text:
        for start, end in rows(text):
            if not _DIGIT.search(text, start, end):
                lines.append((_cells(text[start:end], start), 5))
    for line in _listed(text):
        lines.append((_cells(line[0], line.start(), ","), 8))
    for line in _stacked(text):
        cells = _cells(line[0], line.start(), "\n")
        # of two one may be the other's value: *Surname*, under it *Ward*
        if len(cells) >= _FEWEST or all(f"\n{cell}:" in text for _, cell in cells):
            lines.append((cells, 8))
    return sorted(stretch for cells, least in lines for stretch in _labels_of(scene, rules, cells, least))


def _labels_of(
    scene: Scene, rules: Mapping[str, Field | PersonField], cells: Sequence[tuple[int, str]], least: int
) -> Iterator[tuple[int, int]]:
    """Yield where labels stand beside each other, if so many of eight cells or more are labels; no other cell is."""
    told = [(at, at + len(cell), fold(bare)) for at, cell in cells if (bare := cell.strip(" *:.#-_"))]
    if not told or max(len(name) for *_, name in told) >= _MAX_HEADER_CELL or (least < 8 and len(told) < _FEWEST):
        return
    labels = [_is_head(scene, rules, name) for *_, name in told]
    if 8 * sum(labels) < least * len(labels):
        return
    start = -1
    for number, ((first, last, _), label) in enumerate(zip(told, labels, strict=True)):
        start = (first if start < 0 else start) if label else -1
        if label and not (number + 1 < len(labels) and labels[number + 1]):
            yield start, last


def _listed(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines between commas that may be the head of a table."""
    last = -1
    for comma in _JOINED.finditer(text):
        if comma.start() > last:
            start, last = text.rfind("\n", 0, comma.start()) + 1, text.find("\n", comma.start())
            last = len(text) if last < 0 else last
            if found := _LISTED.fullmatch(text, start, last):
                yield found


def _stacked(text: str) -> Iterator[re.Match[str]]:
    """Yield the short lines under each other, between empty ones, that may be the head of a table."""
    at = 0
    while at >= 0:
        if found := _STACKED.match(text, at):
            yield found
        behind = text.find("\n\n", at)
        at = behind + 2 if behind >= 0 else -1


def _spaced(text: str) -> Iterator[regex.Match[str]]:
    """Yield the lines that may be the head of a table; those without two gaps between words are not looked at."""
    at = text.find("  ")
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[start:end].strip()
        if ":" not in line and line.count("  ") > 1 and (found := _SPACED.match(text, start, end)):
            yield found
        at = text.find("  ", end)


def _columns_of(row: str) -> Iterator[regex.Match[str]]:
    return _WORDS.finditer(row.rstrip("\r"))


def _cells(row: str, start: int, sign: str = "") -> list[tuple[int, str]]:
    """Return where each cell of a row begins, and what stands in it; the row begins at ``start``."""
    cells = []
    for cell in row.split(sign) if sign else _CELL_END.split(row):
        cells.append((start, cell))
        start += len(cell) + 1
    return cells


def _cell(scene: Scene, rule: Field | PersonField, start: int, cell: str, *, signed: bool = False) -> Iterator[Span]:
    """Read one cell; in a ``signed`` column, whose head says that somebody's initials stand there."""
    bare = cell.strip()
    at = start + cell.index(bare)
    if isinstance(rule, Field):
        span = rule.value_at(scene.view.text, at)
        if span is not None and span.end <= at + len(bare):
            yield span
        return
    index = scene.at(at)
    while scene.has(index, TITLES):
        index += 2 if scene.word(index + 1) == "." else 1
    if index >= scene.count:
        return
    run = read_last_first(scene, index, relaxed=True) or read_run(scene, index, relaxed=True)
    if run is None and rule.category == "DOCTOR" and _INITIALS.fullmatch(bare) and not scene.has(index, CREDENTIAL):
        sure = _W["signed_initials" if signed else "column_initials"]
        yield scene.span(index, index + 1, rule.category, f"{rule.name}.column", sure)
    if rule.category == "DOCTOR" and _ACCOUNT.fullmatch(bare):
        yield Span(at, at + len(bare), "USERNAME", "", f"rule:{rule.name}.column", _W["column_initials"])
    if run is not None and scene.ends[run.end - 1] <= at + len(bare):
        yield scene.span(run.first, run.end, rule.category, f"{rule.name}.column", rule.certainty - _W["column"])
