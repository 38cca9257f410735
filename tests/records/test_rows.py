"""Tables of plain text: taken apart as the csv module does, and no change alters which cells there are."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from deid.records.rows import read

SIGNS = st.sampled_from(",;\t|")
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
CELLS = st.text(st.sampled_from('ab ,;\t|"\n\rß'), max_size=6)


def rows_of(text: str, sign: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=sign, strict=True))


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[list[str]]]:
    sign, end, columns = draw(SIGNS), draw(ENDS), draw(st.integers(2, 3))
    name = st.sampled_from(["note", "the\nnote", f"a{sign} b"])
    names = [f"{draw(name)}{n}" for n in range(columns)]
    rows = [names, *draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), max_size=4))]
    always = draw(st.booleans())

    def written(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if always or set(cell) & {sign, '"', "\r", "\n"} else cell

    body = "".join(sign.join(map(written, row)) + end for row in rows)
    above = draw(st.sampled_from(["", "\ufeff"])) + end * draw(st.integers(0, 2))
    return above + body, sign, rows


@given(tables())
def test_cells_are_those_of_the_csv_module_behind_their_columns(
    table: tuple[str, str, list[list[str]]],
) -> None:
    text, sign, rows = table
    record = read(text.encode(), text, "utf-8")
    wanted = [cell for row in rows_of(text, sign) for cell in row if cell.strip()]
    assert [place.text for place in record.places] == wanted
    names = [" ".join(name.split()) for name in rows[0]]
    for row in rows[1:]:
        for name, cell in zip(names, row, strict=True):
            if cell.strip():
                assert f"{name}: {cell}" in record.text


@given(tables(), st.text(st.sampled_from('xy ,;\t|"\n\r'), max_size=4))
def test_whatever_is_written_the_table_keeps_its_cells(table: tuple[str, str, list[list[str]]], new: str) -> None:
    text, sign, _ = table
    record = read(text.encode(), text, "utf-8")
    written = text
    for place in reversed(record.places):
        raw = text[place.start : place.end]
        changed = place.encode(raw, place, [(0, len(place.text), f"z{new}z")])
        written = written[: place.start] + changed + written[place.end :]
    assert [len(row) for row in rows_of(written, sign)] == [len(row) for row in rows_of(text, sign)]
