"""What lies beside a linked table: what a user asks for, and what exact rules do not have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.linkage.decisions import checks
from deid.linkage.linked_files import LinkFiles
from deid.linkage.linking import PERSON, LinkOptions, link_table

EXACT = LinkOptions(method="exact")
ROWS = pd.DataFrame({"mrn": ["4711", "4711", "5822"], "name": ["Ann Lee", "Ann Lee", "Bo Ray"]})


def test_what_is_asked_for_is_written_and_nothing_else(tmp_path: Path) -> None:
    linked = link_table(ROWS, EXACT)
    asked = LinkFiles(review=tmp_path / "review.csv", report=tmp_path / "r.html", studio=tmp_path / "s.html")
    told: list[Path] = []
    asked.write(linked, linked.table([ROWS], EXACT), told.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["review.csv", "s.html"]
    assert told == [asked.report]
    assert set(asked.new) >= {asked.review, asked.report, asked.studio}
    assert "Ann Lee" in (tmp_path / "s.html").read_text(encoding="utf-8")
    LinkFiles().write(linked, linked.table([ROWS], EXACT), told.append)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("asked", "master", "said"),
    [
        (LinkFiles(save_model=Path("m")), None, "exact rules learn no model"),
        (LinkFiles(report=Path("r")), None, "exact rules learn no model"),
        (LinkFiles(studio=Path("s")), None, "exact rules learn no model"),
        (LinkFiles(), "local[2]", "exact rules need no Spark"),
    ],
)
def test_exact_rules_have_nothing_that_a_model_learns(asked: LinkFiles, master: str | None, said: str) -> None:
    asked.check(LinkOptions(), master)
    LinkFiles(review=Path("r"), decided=Path("d")).check(EXACT)
    with pytest.raises(ConfigError, match=said):
        asked.check(EXACT, master)


def test_what_was_decided_is_read_where_it_is_named(tmp_path: Path) -> None:
    assert LinkFiles().settled([ROWS]) is None
    own = checks([ROWS], [0, 2], without=PERSON)
    review = pd.DataFrame({"row_a": [1], "row_b": [3], "check": [f"{own[0]}-{own[2]}"], "decision": ["same"]})
    review.to_csv(tmp_path / "d.csv", index=False)
    settled = LinkFiles(decided=tmp_path / "d.csv").settled([ROWS.assign(person="p")])
    linked = link_table(ROWS, EXACT, decided=settled)
    assert len(set(linked.person)) == 1
