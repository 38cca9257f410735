"""Rows of values between commas, semicolons or any other sign, as exports and typists leave them in notes.

*Orme,48291735,2024-03-14,True* is, to a pattern, one number of too many digits. The commas that part the values of
such a row become tabs: the same length, and what every later reader knows as columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import regex

_SEMICOLON = regex.compile(r"(?<![\s;]);(?=\S)|(?<=;);|;(?=;)")
_QUOTED = regex.compile(r'(?<![^,;])"(?:[^"]|"")*+"(?![^,;])')
_OF_NUMBER = regex.compile(
    r"""(?x) (?<![\w,.]) \d{1,3} (?:,\d{3})++ (?![\d,])        # 1,250,000
    | (?<![\d,.]) \d{1,4} , \d{1,3} (?![\d,]) (?!-\d|/\d)      # 10,4 as most of the world writes it
    | \p{L}{3,} \.? \s? \d{1,2} , (?=\d{4}(?!\d))              # FEB 3,1941"""
)
_TELLING = regex.compile(r"\d{5}|(?<!\d)(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{2,4})(?!\d)")
"""A number of many digits or a day: what a row of an export holds and a list of findings seldom does."""
_FIGURE = regex.compile(r"\d\d")
_FIGURE_AT_ALL = regex.compile(r"\d")
_VALUE = regex.compile(r"(?<![\p{L}_])\d|\d{3}")
"""A figure that is of no name of a column, as those of *ap1* and *tel_2* are."""
_COLUMNS = regex.compile(r"\S {2,}\S|\t")
_FEW, _MANY = 2, 3
_TOP = regex.compile(r"(?m)^(?=[^\d\n]{5,300}+\n[^\n]*\d[^\n]*\n[^\n]*\d)[^\n]*\p{L}[^\n]*")
"""A line without a figure over two with figures: what may be the head of a table."""
_FIGURED = re.compile(r"\d[^\n]*")
"""The rest of a line from its first figure on."""
_SIGN = regex.compile(r" *(?:[^\w\s'\"()\[\]{}<>]|[_<>\x01-\x08\x1c-\x1f])+ *| {2,}")
"""What may part columns; quotes and brackets do not."""
_OF_VALUES = frozenset(".,:/-'")
"""Signs that numbers, days and times have inside."""
_IN_NUMBER = regex.compile(r"(?<=\d)[.,:/-](?=\d)")
_KNOWN = frozenset("\t|")
"""Signs that every reader knows as columns."""
_LONGEST_CELL, _MOST_WORDS = 40, 4
"""Characters and words of a head of a column."""
_OPENED = regex.compile(r'(?<![^,])"(?:[^"]|"")*+\Z')
_LONGEST_VALUE = 20
"""Lines that a value in quotes goes over at most."""


def parted(text: str) -> str:
    """Return the text with tabs for the commas between the values of rows.

    A row is a line of two and more commas without blanks beside them around a telling value, or of three and more
    around any figure. Lines beside it that have as many, and those beside them, are rows of its table, whose commas all
    part values; a row alone is parted beside its figures. Under a head (words between commas, and rows with as many)
    commas between figures part values too, and semicolons do as commas. Any other sign, and these with blanks beside
    them, part values under a head of few words in two rows and more that have it as often, and figures in one column.
    Commas in quotes and, elsewhere, within numbers and days part nothing.

    Args:
        text: the text, its line ends line feeds.

    Returns:
        A text of the same length.
    """
    text = _between_signs(text)
    if _parts(text, ";"):
        text = _under_heads(text)
    if not _parts(text, ","):
        return text
    lines = _lines(text)
    every, commas = zip(*[_parting(line) if line.count(",") >= _FEW else ((), ()) for line in lines], strict=True)
    changed = _mark_tables(lines, every)
    for first, stop in _runs(commas):
        rows = [at for at in range(first, stop) if _is_row(lines[at], len(commas[first]))]
        whole = stop - first > 1
        for at in range(first, stop) if rows and whole else rows:
            lines[at] = _with_tabs(lines[at], commas[at], whole)
            changed = True
    return "\n".join(lines) if changed else text


def _parts(text: str, sign: str) -> bool:
    """Tell whether a sign without a blank or the end of its line behind it stands in a text more than once."""
    count = text.count(sign)
    return count >= _FEW and count - text.count(f"{sign} ") - text.count(f"{sign}\n") >= _FEW


def _between_signs(text: str) -> str:
    """Return the text with tabs for the signs that part the columns of tables with a head, whatever they are."""
    pieces: list[str] = []
    done = 0
    for top in _tops(text):
        if top.start() < done:
            continue
        for sign in dict.fromkeys(_SIGN.findall(top[0].strip())):
            stop = _stop(text, top, sign)
            if stop > top.end():
                tabs = "\t".ljust(len(sign.strip() or sign))
                tabs = sign.replace(sign.strip(), tabs) if sign.strip() else tabs
                pieces += [text[done : top.start()], text[top.start() : stop].replace(sign, tabs)]
                done = stop
                break
    return "".join((*pieces, text[done:])) if pieces else text


def _tops(text: str) -> Iterator[regex.Match[str]]:
    """Yield what `_TOP` finds: it is tried above two lines with figures that follow a line without."""
    before, start, end = -1, 0, -1  # the ends of the last two lines with figures, and where the last one begins
    for figured in _FIGURED.finditer(text):
        last, end = end, figured.end()
        first, start = start, text.rfind("\n", 0, figured.start()) + 1
        if start == last + 1 and first > 0 and first != before + 1:
            top = _TOP.match(text, text.rfind("\n", 0, first - 1) + 1)
            if top is not None:
                yield top
        before = last


def _stop(text: str, top: regex.Match[str], sign: str) -> int:
    """Return where the table ends whose columns a sign parts below a head; its end where it is none."""
    bare = sign.strip()
    heads = top[0].split(sign)
    if len(heads) <= _FEW or not _KNOWN.isdisjoint(bare):
        return top.end()
    if not all(0 < len(cell.strip()) <= _LONGEST_CELL and len(cell.split()) <= _MOST_WORDS for cell in heads):
        return top.end()
    rows: list[list[str]] = []
    at = top.end()
    while at < len(text):
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end
        cells = text[at + 1 : end].split(sign)
        if len(cells) != len(heads) or not _FIGURE_AT_ALL.search(text, at, end):
            break
        if (
            bare == sign
            and bare in _OF_VALUES
            and any(found[0] == sign for found in _IN_NUMBER.finditer(text, at, end))
        ):
            break  # *Orme/Dale/Vann* over *3/4/2019*
        rows.append(cells)
        at = end
    told = any(all(map(_FIGURE_AT_ALL.search, column)) for column in zip(*rows, strict=True))
    return at if len(rows) > 1 and told else top.end()


def _under_heads(text: str) -> str:
    """Return the text with tabs for the semicolons of tables with a head, as most of Europe exports them."""
    lines = _lines(text)
    signs = [
        [sign.start() for sign in _SEMICOLON.finditer(_unquoted(line))] if ";" in line and "&" not in line else []
        for line in lines
    ]
    return "\n".join(lines) if _mark_tables(lines, signs) else text


def _mark_tables(lines: list[str], signs: Sequence[Sequence[int]]) -> bool:
    """Put tabs for the signs of tables with a head; tell whether there are any."""
    changed = False
    for first, stop in _runs(signs):
        if _is_table(lines[first:stop]):
            lines[first:stop] = [_with_tabs(lines[at], signs[at], True) for at in range(first, stop)]
            changed = True
    return changed


def _is_table(lines: Sequence[str]) -> bool:
    """Tell whether lines with as many signs are a head and rows, some with figures."""
    return len(lines) > 1 and _is_head(lines[0]) and any(map(_FIGURE_AT_ALL.search, lines[1:]))


def _runs(commas: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield first and one past the last of lines that follow each other with as many commas, of two and more."""
    first = 0
    for at in range(1, len(commas) + 1):
        if at == len(commas) or len(commas[at]) != len(commas[first]):
            if len(commas[first]) >= _FEW:
                yield first, at
            first = at


def _lines(text: str) -> list[str]:
    """Return the lines; those of a value in quotes that goes over several are one."""
    lines = text.split("\n")
    if '"' not in text:
        return lines
    found: list[str] = []
    at = 0
    while at < len(lines):
        end = at + 1
        if lines[at].count('"') % 2 and _OPENED.search(lines[at]):
            ends = range(end, min(end + _LONGEST_VALUE, len(lines)))
            end = next((line + 1 for line in ends if lines[line].count('"') % 2), end)
        found.append("\n".join(lines[at:end]))
        at = end
    return found


def _parting(line: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return the places of the commas that may part values, and of those among them that are in no number.

    Those of a line with less than two are not wanted: most lines are sentences.
    """
    kept = _unquoted(line)
    every = _tight(kept)
    if len(every) < _FEW:
        return (), ()
    figures = [at for at in every if kept[at - 1 : at].isdecimal() and kept[at + 1 : at + 2].isdecimal()]
    return every, _tight(_numbers_closed(kept, figures)) if figures else every


def _numbers_closed(line: str, commas: Sequence[int]) -> str:
    """Return a line with other signs for those of some commas that stand in a number, or behind the day of a date."""
    around: list[tuple[int, int]] = []
    for at in commas:
        if around and at < around[-1][1]:
            continue
        word, end = max(line.rfind(" ", 0, at), 0), line.find(" ", at)
        first = max(line.rfind(" ", 0, word), 0)  # the word before may be the month
        if around and first < around[-1][1]:
            first, _ = around.pop()
        around.append((first, end if end >= 0 else len(line)))
    pieces: list[str] = []
    done = 0
    for first, end in around:
        pieces += line[done:first], _OF_NUMBER.sub(lambda number: number[0].replace(",", "_"), line[first:end])
        done = end
    return "".join((*pieces, line[done:]))


def _tight(line: str) -> list[int]:
    """Return the places of commas with nothing but values, or nothing at all, beside them."""
    found: list[int] = []
    at = line.find(",")
    while at >= 0:
        before, behind = line[at - 1 : at], line[at + 1 : at + 2]
        ends_quote = before == '"' and behind in ("", "\n") and at + 2 >= len(line)
        if before == "," or behind == "," or ends_quote or not (not behind or _is_blank(behind) or _is_blank(before)):
            found.append(at)
        at = line.find(",", at + 1)
    return found


def _is_blank(sign: str) -> bool:
    return sign.isspace() and sign != "\x1f"  # which parts units


def _unquoted(line: str) -> str:
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line) if '"' in line else line


def _is_head(line: str) -> bool:
    return not _VALUE.search(line) and not _COLUMNS.search(line)


def _is_row(line: str, commas: int) -> bool:
    if commas < _FEW or _COLUMNS.search(line):
        return False
    return _TELLING.search(line) is not None or (commas >= _MANY and _FIGURE.search(line) is not None)


def _with_tabs(line: str, commas: Sequence[int], whole: bool) -> str:
    end = line.find("\n") % (len(line) + 1)  # what stands behind a value of several lines is in no column of a line
    commas = [c for c in commas if c < end]
    parting = [c for c in commas if whole or line[c - 1 : c].isdigit() or line[c + 1 : c + 2].isdigit()]
    pieces = [line[start + 1 : end] for start, end in zip([-1, *parting], [*parting, len(line)], strict=True)]
    return "\t".join(pieces)
