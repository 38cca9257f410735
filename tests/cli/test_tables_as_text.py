"""A table that a command would read as text is refused with the remedy: what only its column tells would stay."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import attempt
from hypothesis import given
from hypothesis import strategies as st
from products import by_day

from deid.base.errors import DeidError, InputError
from deid.io.contents import is_table
from deid.streaming.beginning import begins_as

ROWS = [["person_id", "ward", "note"], ["40012", "3B", "Well today."], ["40013", "4C", "Slept, ate\nand left."]]
SIGNS = {"csv": ",", "tsv": "\t", "semicolons": ";", "bars": "|"}
SHARED = ("--model", "none", "--policy", "redact")
NOTES = (
    "Seen today, well.\nSlept, ate.\n",
    "Name, Date of birth\nQuendrith, 3 May\n",
    "person_id,note\n",
    "MRN: 4711203 | Name: Orme\nWard: 3 | Bed: 4\n",
    "name,room\nOrme,3\nHe was seen, and went home, today.\n",
    "id\n7\n",
    "Dear Dr Orme,\nthe patient, who came today, is well.\n",
)


def table(sign: str, rows: list[list[str]], quoting: int = csv.QUOTE_MINIMAL, end: str = "\n") -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=sign, quoting=quoting, lineterminator=end).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


def _scrub(place: Path) -> tuple[int, str]:
    return attempt("scrub", place, place.parent / "out.txt", *SHARED)


def _standard_input(place: Path) -> tuple[int, str]:
    return attempt("scrub", "-", *SHARED, data=place.read_bytes())


def _preview(place: Path) -> tuple[int, str]:
    return attempt("scrub", place, "--preview", *SHARED)


def _filter(place: Path) -> tuple[int, str]:
    return attempt("filter", place, "-o", place.parent / "out.txt", *SHARED)


def _verify(place: Path) -> tuple[int, str]:
    (copy := place.parent / "copy.txt").write_bytes(place.read_bytes())
    return attempt("verify", place, copy, "--model", "none")


def _watch(place: Path) -> tuple[int, str]:
    (inbox := place.parent / "inbox").mkdir()
    place.rename(inbox / place.name)
    found = attempt("watch", inbox, place.parent / "outbox", "--once", "--settle", "0", *SHARED)
    assert (inbox / "failed" / place.name).exists()
    assert not list((place.parent / "outbox").glob("[!.]*"))
    return found


COMMANDS: dict[str, Callable[[Path], tuple[int, str]]] = {
    "scrub": _scrub,
    "scrub -": _standard_input,
    "scrub --preview": _preview,
    "filter": _filter,
    "verify": _verify,
    "watch": _watch,
}


@pytest.mark.parametrize(("command", "sign"), by_day(sorted(COMMANDS), sorted(SIGNS)))
def test_no_command_passes_a_table_on_as_text(command: str, sign: str, tmp_path: Path) -> None:
    (place := tmp_path / "one.txt").write_text(table(SIGNS[sign], ROWS))
    try:
        status, said = COMMANDS[command](place)
    except DeidError as error:
        status, said = 2, str(error)
    assert status != 0
    assert "is a table" in said
    assert "--from" in said
    assert "40012" not in said
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "A.CSV"])
@pytest.mark.parametrize("command", ["filter", "watch"])
def test_a_feed_takes_no_file_of_a_table_by_its_name(command: str, name: str, tmp_path: Path) -> None:
    """Whatever its columns are called."""
    (place := tmp_path / name).write_text("x;y\n40012;3B\n")
    try:
        status, said = COMMANDS[command](place)
    except InputError as error:
        status, said = 2, str(error)
    assert status != 0
    assert "deid scrub IN OUT reads tables" in said


def test_who_says_that_it_is_text_gets_it_as_text(tmp_path: Path) -> None:
    (place := tmp_path / "a.csv").write_text(table(",", ROWS))
    assert attempt("filter", place, "-o", tmp_path / "b.txt", "--from", "plain", *SHARED)[0] == 0
    assert attempt("scrub", "-", "--from", "text", *SHARED, data=place.read_bytes())[0] == 0
    assert (tmp_path / "b.txt").read_text().startswith("person_id,ward,note\n")


WORDS = st.text("abcdefgh ,;|\t\"'\n", max_size=12)


@given(
    st.sampled_from(sorted(SIGNS)),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["person_id", "Patient ID", "MRN", "note", "Report", "Nachname", "prénom", "apellidos"]),
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4),
    st.sampled_from(["", "\ufeff", "\n\n"]),
    st.booleans(),
)
def test_tables_are_told_however_they_are_written(sign, quoting, end, name, rows, before, index) -> None:
    cells = [[name, "x"], *([cell.replace("\n", end) for cell in row] for row in rows)]
    if index:  # of rows, without a name
        cells = [[str(number) if number else "", *row] for number, row in enumerate(cells)]
    data = (before + table(SIGNS[sign], cells, quoting, end)).encode()
    assert is_table(data, True)
    with pytest.raises(InputError, match="is a table"):
        begins_as(data, final=True)


@pytest.mark.parametrize("note", NOTES)
def test_notes_are_no_tables(note: str) -> None:
    assert not is_table(note.encode(), True)
    assert begins_as(note.encode(), final=True) == "text"


def test_a_feed_waits_for_the_row_that_tells() -> None:
    assert begins_as(b"person_id,no", final=False) is None
    assert begins_as(b"person_id,note\n4001", final=False) is None
    assert begins_as(b"Seen by Dr. Orme.\n", final=False) == "text"
    with pytest.raises(InputError, match="is a table"):
        begins_as(b"person_id,note\n4001,x\n", final=False)
