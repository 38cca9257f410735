"""Workbooks are read to tables of text, each cell behind what its column, or the cell that asks, is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packages import document, scrub, workbook

from deid.pipeline import Pipeline
from tests.commands import run

ASKED: list[list[object]] = [
    ["Question", "Answer"],
    ["Mother's maiden name", "Quendrith"],
    ["Primary care physician", "Zorblat"],
    ["Home address", "Lindenfold 12"],
    ["Gram stain", "moderate growth"],
]


def test_a_workbook_goes_as_its_tables_by_every_command(tmp_path: Path) -> None:
    people: list[list[object]] = [["Name", "MRN"], ["Eleanor Thornbury", 48291735], ["Harriet Lowell", 48291736]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "book.xlsx").write_bytes(workbook(People=people, Asked=ASKED))
    options = ("--model", "none", "--key-file", tmp_path / "key")
    run("scrub", tmp_path / "in", tmp_path / "out", *options)
    [file] = (tmp_path / "out").glob("*")
    assert file.suffix == ".txt"
    text = file.read_text("utf-8-sig")
    assert re.search("Thornbury|Lowell|4829173[56]|Quendrith|Zorblat|Lindenfold", text) is None
    assert "Name,MRN\n" in text
    assert "\nGram stain,moderate growth\n" in text
    run("verify", tmp_path / "in", tmp_path / "out", *options)
    run("tag", tmp_path / "out", tmp_path / "again.jsonl", "--model", "none", "--to", "jsonl")
    assert "Name: " in (tmp_path / "again.jsonl").read_text()
    run("watch", tmp_path / "in", tmp_path / "watched", "--once", "--settle", "0", *options)
    [again] = (tmp_path / "watched").glob("*.txt")
    numbers = re.compile(r"\b[0-9]{8}\b")
    assert numbers.findall(again.read_text("utf-8-sig")) == numbers.findall(text)


@pytest.mark.parametrize("head", ["Answer", "Valeur", "response:"])
def test_what_a_cell_asks_stands_before_the_answer_beside_it(head: str, surrogates: Pipeline) -> None:
    rows: list[list[object]] = [["Nr", "Item", head], *([n, *row] for n, row in enumerate(ASKED[1:], 1))]
    found = document(workbook(A=rows))
    assert "Item: Primary care physician\nPrimary care physician: Zorblat\n" in found.text
    written = scrub(surrogates, workbook(A=rows)).decode()
    assert re.search("Quendrith|Zorblat|Lindenfold", written) is None
    assert "Primary care physician," in written
    for heads in (["Nr", "Item", "Kin"], ["Nr", "Name", head]):  # a name asks nothing
        rows[0] = list(heads)
        assert f"{heads[2]}: Zorblat\n" in document(workbook(A=rows)).text
