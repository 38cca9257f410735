"""Values out of a hierarchy, and values that an anonymized table publishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.generalize import generalize, published_value
from deid.replacement.scope import Scope

SCOPE = Scope(Key(b"k" * 32), "note 1")


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text("nurse;health care;service;*\nbaker;crafts;production;*\nporter;logistics;service;*\n")
    return path


def whole(text: str, category: str = "PROFESSION") -> tuple[Document, list[Span]]:
    return Document("note 1", text), [Span(0, len(text), category)]


def test_levels(jobs: Path) -> None:
    assert [generalize(hierarchy=jobs, level=n)(*whole("NURSE"), SCOPE)[0] for n in range(4)] == [
        "nurse",
        "health care",
        "service",
        "*",
    ]


def test_unknown_values_become_a_label(jobs: Path) -> None:
    assert generalize(hierarchy=jobs)(*whole("astronaut"), SCOPE) == ["[PROFESSION]"]


def test_a_level_that_is_not_there_is_refused(jobs: Path) -> None:
    with pytest.raises(ConfigError, match="0 to 3"):
        generalize(hierarchy=jobs, level=4)


def test_published_values_stand_at_their_places(tmp_path: Path) -> None:
    values = tmp_path / "view.csv"
    values.write_text("document,start,end,value\nnote 1,0,2,[50-59]\nnote 2,0,2,[10-19]\n")
    assert published_value(values=values)(*whole("56", "AGE"), SCOPE) == ["[50-59]"]
    assert published_value(values=values)(*whole("567", "AGE"), SCOPE) == ["[AGE]"]
    assert published_value()(*whole("56", "AGE"), SCOPE) == ["[AGE]"]


@pytest.mark.parametrize(
    "content",
    [
        "document,start,end\nSmith,0,2\n",
        "document,start,end,value\nSmith,x,2,a\n",
        "document,start,end,value\nSmith,0,2,a\nSmith,0,2,b\n",
    ],
)
def test_bad_tables_name_the_line_and_no_id(tmp_path: Path, content: str) -> None:
    values = tmp_path / "view.csv"
    values.write_text(content)
    with pytest.raises(ConfigError, match=r"line [123]") as caught:
        published_value(values=values)
    assert "Smith" not in str(caught.value)


def test_a_file_of_values_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Nothing is suppressed in silence because a path was misspelt or a file is no text."""
    latin = tmp_path / "latin.csv"
    latin.write_bytes("document,start,end,value\nnote 1,0,2,Öl\n".encode("latin-1"))
    for path in (tmp_path / "missing.csv", latin, tmp_path):
        with pytest.raises(ConfigError, match=r"cannot be read|not UTF-8") as caught:
            published_value(values=path)
        assert path.name in str(caught.value)
