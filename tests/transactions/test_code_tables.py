"""What a release of the codes of a table says of all its columns."""

from __future__ import annotations

from pathlib import Path

from deid.table.options import TableOptions
from deid.transactions.asking import CodesAsked, release_table

CODES = ("250.1", "250.1; 401.9", "250.1; 401.9")
ROWS = "\n".join(["mrn,ward,sex,code", *(f"{n},{'ab'[n % 2]},F,{CODES[n % 3]}" for n in range(30))])


def test_columns_that_are_not_asked_for_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{ROWS}\n")
    asked = CodesAsked(codes="code", k=2, attacked=0)
    release = release_table(TableOptions(str(tmp_path / "t.csv")), asked)
    left = dict.fromkeys(("mrn", "ward", "sex"), "left out")
    assert release.fates == {**left, "code": "anonymized"}
    first, *rest = release.sentences()
    assert first == "left out: mrn, ward, sex"
    assert rest[-1].startswith("every row was taken for a person")
    assert dict(release.lines())["records"] == "30"


def test_columns_that_are_published_and_the_person_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{ROWS}\n")
    asked = CodesAsked(codes="code", method="relational", k=2, qi=("ward",), person="mrn", attacked=0)
    release = release_table(TableOptions(str(tmp_path / "t.csv")), asked)
    assert release.fates == {"mrn": "left out", "ward": "published", "sex": "left out", "code": "anonymized"}
    assert release.sentences() == ["left out: mrn, sex", *release.warnings]
    assert release_table(TableOptions(str(tmp_path / "t.csv")), CodesAsked(codes="code", k=2, persons_as_given=True))
