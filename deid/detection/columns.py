"""What a column of a table holds, told by its other cells: rows of values without a head.

*Montague, 8, Inoue*; *Oquendo, 11, Falk*: where most cells of a column are names, the rest are names too, and of two
columns of names that in which a name comes back is the staff's. A table is a run of lines with as many cells each,
parted by tabs, bars or blanks. Only cells that look like those that were found count: names by their words, numbers by
their digits and signs. What no recognizer found in a column is never found there, but for the initials of those who
took values, and for beds: where lines begin with a number before the name of a patient, it is a bed's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from deid.detection.overlaps import score_of
from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, SIGN
from deid.rules import checks
from deid.rules.certainties import certainties
from deid.rules.scene import Scene
from deid.rules.word_classes import CREDENTIAL, PERSON, TITLES

_W: Final = certainties("columns")

_CELLS: Final = {
    "\t": re.compile(r"[^\t]*"),
    "|": re.compile(r"[^|]*"),
    " ": re.compile(r"\S+(?: \S+)*"),
}
"""What parts the cells of a row -> one cell."""
_SEGMENT: Final = re.compile(r"[A-Z][A-Z0-9]{2}\|")
_FEWEST, _MOST, _LONGEST, _LEAST_ROWS = 3, 24, 48, 2
"""Cells of a row, characters of a cell that may be filled in, rows of a table."""
_PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
_FILLED: Final = frozenset(("DATE", "AGE", "ROOM", "MEDICALRECORD", "IDNUM", "ACCOUNT", "PHONE", "SSN", "ZIP"))
"""Categories of numbers that a column tells."""
_NO_NAME: Final = classes_of(
    "clinical", "section", "function", "month", "weekday", "word", "role", "relation", "device"
)
_AFFIXED: Final = TITLES | CREDENTIAL
_DIGITS: Final = re.compile(r"[0-9]")
_FIGURE: Final = re.compile(r"(?<![A-Za-z])[0-9]")
"""A figure, but none of a word as *SpO2* is one."""
_BED: Final = re.compile(
    r"(?m)^[ \t]*(?:\|[ \t]*)?(?:[-*\u2022] )?([A-Z]{0,2}[0-9]{1,3}(?:[-./ ]?[A-Za-z]|[-./ ](?:[1-9]|1[0-2]))?)"
    r"(?:[ \t]*(?:\||:(?![0-5][0-9](?![0-9])))[ \t]*|\t[ \t]*|[ ]{2,}| [\u2013-] )(?=\w)"
)
"""A bed as wards number it (*12*, *3.2*, *14B*, *A4*), where a line of their lists begins, and what parts it from the
next cell."""
_INITIALS: Final = re.compile(r"[A-Z]{2,3}|[a-z]{2,3}")
_LETTERS: Final = re.compile(r"[A-Za-z]")
_PARTICLE: Final = classes_of("particle")
_WIDEST: Final = 160
"""Characters before a cell in which a span that reaches into it begins."""
_TITLE: Final = 6
"""Characters before a name in a cell: its title."""
_OLDEST: Final = 115
_START: Final = attrgetter("start")


class _Cell(NamedTuple):
    start: int
    end: int


def columns(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Return what stands in columns whose other cells say what it is, and people whom their column names otherwise.

    Parameters
    ----------
    scene : Scene
    spans : sequence of Span
        What was found and accepted.

    Returns
    -------
    list of Span
        Source ``consistency:column``.
    """
    text = scene.text
    if not spans or "\n" not in text:
        return []
    held = sorted(spans, key=_START)
    found = _beds(text, held)
    if not ("\t" in text or "|" in text or "   " in text):
        return found
    for rows in _tables(text):
        found += _of_table(scene, rows, held)
    return found


def _beds(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the beds that lines of a ward's list begin with: each another, most before a patient's name, and no
    running numbers.
    """
    beds: list[_Cell] = []
    named = 0
    for line in _BED.finditer(text):
        beds.append(_Cell(line.start(1), line.end(1)))
        at = bisect_left(spans, line.end(), key=_START)
        named += at < len(spans) and spans[at].category == "PATIENT" and spans[at].start - line.end() <= _TITLE
    if named < _FEWEST or 2 * named < len(beds):
        return []
    said = [text[bed.start : bed.end] for bed in beds]
    if len(set(said)) < len(said) or (all(map(str.isdecimal, said)) and int(said[0]) == 1):
        return []
    return [_made(bed, "ROOM") for bed in beds if not _touched(bed, spans)]


def _tables(text: str) -> Iterator[list[list[_Cell]]]:
    """Yield the rows of each table: lines that follow each other and have as many cells."""
    rows: list[list[_Cell]] = []
    parted, at = "", 0
    for line in text.split("\n"):
        sign = _sign(line) if "  " in line or "\t" in line or "|" in line else ""
        if not (sign or rows):
            at += len(line) + 1
            continue
        cells = _cells(line, at, sign) if sign else []
        if not _FEWEST <= len(cells) <= _MOST or (sign == "|" and _SEGMENT.match(line)):
            cells = []
        if rows and (not cells or sign != parted or len(cells) != len(rows[0])):
            if len(rows) >= _LEAST_ROWS:
                yield rows
            rows = []
        if cells:
            rows.append(cells)
            parted = sign
        at += len(line) + 1
    if len(rows) >= _LEAST_ROWS:
        yield rows


def _sign(line: str) -> str:
    """Return what parts the cells of a line; empty where nothing does."""
    return "\t" if line.count("\t") > 1 else "|" if line.count("|") > 1 else " " if "  " in line.strip() else ""


def _cells(line: str, at: int, sign: str) -> list[_Cell]:
    """Return the cells of a line that begins at a place, without the blanks around them."""
    cells = []
    for found in _CELLS[sign].finditer(line):
        bare = found[0].strip()
        if found.end() == found.start() and found.start() and line[found.start() - 1] != sign:
            continue  # the empty match behind a cell
        start = at + found.start() + (found[0].index(bare) if bare else 0)
        cells.append(_Cell(start, start + len(bare)))
    if sign == "|":  # bars at the borders
        while cells and cells[0].start == cells[0].end:
            del cells[0]
        while cells and cells[-1].start == cells[-1].end:
            del cells[-1]
    return cells


def _of_table(scene: Scene, rows: list[list[_Cell]], spans: Sequence[Span]) -> Iterator[Span]:
    text = scene.text
    signed = False
    if _is_head(text, rows[0]) and not _is_head(text, rows[-1]):
        last = rows[0][-1]
        signed = text[last.start : last.end].casefold() in scene.words["initials_head"]
        rows = rows[1:]
    places = list(zip(*rows, strict=True))
    known = [[_whole(text, cell, spans) for cell in column] for column in places]
    people = [n for n, column in enumerate(known) if _agree(column, _PEOPLE)]
    whose = dict(_whose(text, [(n, places[n], known[n]) for n in people], len(places)))
    for number, (cells, column) in enumerate(zip(places, known, strict=True)):
        if number in whose:
            for cell, span in zip(cells, column, strict=True):
                if span is None:
                    if _is_name(scene, cell) and not _touched(cell, spans):
                        yield _made(cell, whose[number])
                elif span.category in _PEOPLE and span.category != whose[number] and not _labelled(span):
                    yield _made(_Cell(span.start, span.end), whose[number])
            continue
        found = {span.category for span in column if span is not None}
        if number == len(places) - 1 and found <= _PEOPLE and _are_initials(scene, cells, places, signed=signed):
            for cell in cells:
                if not _touched(cell, spans):
                    yield _made(cell, "DOCTOR")
            continue
        category = _agree(column, _FILLED)
        if not category or (category in ("AGE", "ROOM") and not people):
            continue
        masks = {_mask(text[c.start : c.end]) for c, s in zip(cells, column, strict=True) if s is not None}
        for cell, span in zip(cells, column, strict=True):
            if span is None and _is_like(text[cell.start : cell.end], category, masks) and not _touched(cell, spans):
                yield _made(cell, category)


def _are_initials(scene: Scene, cells: Sequence[_Cell], places: Sequence[Sequence[_Cell]], *, signed: bool) -> bool:
    """Tell whether a last column holds the initials of those who took the values before it: *98.4   3   TMK*.

    Under a head that says so, some of them may be abbreviations as well, but not all: *by* may stand over *po*, *iv*.
    """
    text = scene.text
    words = {text[cell.start : cell.end] for cell in cells}
    if not all(map(_INITIALS.fullmatch, words)) or len({word.isupper() for word in words}) > 1:
        return False
    other = {
        c for c in cells if scene.known_letters(text[c.start : c.end].casefold()) or scene.classes[scene.at(c.start)]
    }
    if other and (not signed or len(other) == len(cells)):
        return False
    figures = sum(all(_DIGITS.search(text, c.start, c.end) for c in column) for column in places[:-1])
    return figures >= _FEWEST - 1


def _is_head(text: str, row: Sequence[_Cell]) -> bool:
    """Tell whether a row has no figure, as the heads of columns have none."""
    return _FIGURE.search(text, row[0].start, row[-1].end) is None


def _made(cell: _Cell, category: str) -> Span:
    return Span(cell.start, cell.end, category, source="consistency:column", score=_W["like_its_column"])


def _touched(cell: _Cell, spans: Sequence[Span]) -> bool:
    """Tell whether a part of a cell was found to be something."""
    at = bisect_left(spans, cell.start - _WIDEST, key=_START)
    return any(span.end > cell.start for span in _until(spans, at, cell.end))


def _until(spans: Sequence[Span], at: int, end: int) -> Iterator[Span]:
    """Yield spans from a number on that begin before a place."""
    while at < len(spans) and spans[at].start < end:
        yield spans[at]
        at += 1


def _labelled(span: Span) -> bool:
    return span.source.startswith("rule:name.") and span.source.endswith((".column", "_field"))


def _whole(text: str, cell: _Cell, spans: Sequence[Span]) -> Span | None:
    """Return the surest span that holds all letters and digits of a cell, or as many as the cell has, to the last."""
    best: Span | None = None
    for span in _until(spans, bisect_left(spans, cell.start, key=_START), cell.end):
        if span.end > cell.end:
            continue
        rest = text[cell.start : span.start] + text[span.end : cell.end]
        if not any(map(str.isalnum, rest)) and (best is None or score_of(span) > score_of(best)):
            best = span
    return best


def _agree(column: Sequence[Span | None], categories: frozenset[str]) -> str:
    """Return the category that most cells of a column have, of those asked for; empty where fewer than half do."""
    held = [span.category for span in column if span is not None]
    asked = [category for category in held if category in categories]
    if len(asked) < _LEAST_ROWS or 2 * len(asked) < len(column) or 2 * len(asked) <= len(held):
        return ""
    return Counter(asked).most_common(1)[0][0]


def _whose(
    text: str, found: list[tuple[int, Sequence[_Cell], Sequence[Span | None]]], width: int
) -> Iterator[tuple[int, str]]:
    """Yield the columns of names, and whose they are: patients come first, staff last and again and again."""
    names = [[text[c.start : c.end].casefold() for c in cells] for _, cells, _ in found]
    distinct = [len(set(column)) == len(column) for column in names]
    inverted = [2 * sum("," in name for name in column) > len(column) for column in names]
    for n, (number, _, column) in enumerate(found):
        held = Counter(span.category for span in column if span is not None and span.category in _PEOPLE)
        sure = {span.category for span in column if span is not None and _labelled(span)}
        most = held.most_common(1)[0][0]
        if len(sure) == 1:
            most = sure.pop()
        elif len(found) == 2 and distinct[n] != distinct[1 - n]:
            most = "PATIENT" if distinct[n] else "DOCTOR"
        elif len(found) == 2 and inverted[n] != inverted[1 - n]:
            most = "PATIENT" if inverted[n] else "DOCTOR"
        elif len(held) > 1:
            most = "PATIENT" if (n == 0 if len(found) > 1 else 2 * number < width) else "DOCTOR"
        yield number, most


def _is_name(scene: Scene, cell: _Cell) -> bool:
    """Tell whether a cell may be a name: words with capitals, none of them clinical or ordinary unless names too."""
    if not 0 < cell.end - cell.start <= _LONGEST:
        return False
    index, names = scene.at(cell.start), 0
    while index < scene.count and scene.starts[index] < cell.end:
        kind = scene.kinds[index]
        if kind == NUMBER or (kind == LOWER and not (scene.lowercase_text or scene.has(index, _PARTICLE))):
            return False
        if kind == SIGN:
            if scene.word(index) not in (",", ".", "-", "'", "\u2019"):
                return False
        else:
            if scene.has(index, _AFFIXED) or (scene.has(index, _NO_NAME) and not scene.has(index, PERSON)):
                return False
            names += len(scene.strings[index]) > 1
        index += 1
    return names > 0


def _mask(cell: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("9", cell))


def _is_like(cell: str, category: str, masks: set[str]) -> bool:
    """Tell whether a cell has the form of those that were found."""
    if category == "AGE":
        return cell.isdecimal() and 0 < int(cell[:4]) <= _OLDEST
    if category == "DATE":
        groups = re.findall(r"[0-9]+", cell)
        if not re.fullmatch(r"[0-9]{1,4}([-/.])[0-9]{1,2}(?:\1[0-9]{2,4})?", cell):
            return False
        return checks.date(cell) if len(groups) > 2 else checks.month_day(cell)
    mask = _mask(cell)
    return mask in masks and sum(map(str.isdigit, cell)) > (0 if category == "ROOM" else 3)
