"""Views of more notes than are linked at once: the same as those that are linked at once, and written the same."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.buckets import Buckets
from deid.base.spool import DiskMap, Spool
from deid.extraction import Fact, build_view, persons, view
from deid.extraction.view import ExtractedView, NoteFacts, link_notes
from deid.linkage import columns
from deid.linkage.look_alikes import count_look_alikes

TOLD = {
    "name": ["Ann Lee", "Anne Lee", "Bo Lee", "Ann Ray", "Lee, A", "Cy"],
    "birth_date": ["1950-03-04", "1950-04-03", "1980-01-02", "--03-14"],
    "sex": ["female", "male"],
    "mrn": ["5512345", "5512346", "0000000", "7"],
    "ssn": ["123456789", "5512345"],
    "phone": ["6175550142", "6175550143"],
    "city": ["Salem"],
}


@st.composite
def note(draw: st.DrawFn) -> NoteFacts:
    told = draw(st.dictionaries(st.sampled_from(sorted(TOLD)), st.integers(0, 9), max_size=5))
    facts = tuple(
        Fact(column, TOLD[column][n % len(TOLD[column])], 0, 3, 1, draw(st.sampled_from([1.0, 1.0, 0.5])))
        for column, n in told.items()
    )
    return NoteFacts("", facts, draw(st.sampled_from([None, None, None, "7", "8", "7.0", " 8", ""])))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(note(), min_size=2, max_size=16), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_parts_link_what_the_whole_links(notes: list[NoteFacts], part: int, shared: int, disk: bool) -> None:
    """Also numbers of so many notes that they stand for nobody, patients' ids, and values that contradict."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_SHARED", shared)
        whole = link_notes(notes)
        patch.setattr(view, "_PART", part)
        patch.setattr(persons, "_OFTEN", len(notes) // shared)  # as few as find what stands in more rows than that
        if disk:  # as if they were very many
            patch.setattr(Buckets, "held", 0)
            patch.setattr(persons, "_AT_ONCE", 3)
        spool: Spool[NoteFacts] = Spool(
            lambda n: [
                n.document,
                [(f.column, f.value, f.start, f.end, f.weight, f.confidence) for f in n.facts],
                n.patient,
            ],
            lambda v: NoteFacts(v[0], tuple(Fact(*f) for f in v[1]), v[2]),
        )
        for one in notes:
            spool.add(one)
        assert list(spool) == notes
        parts = link_notes(spool)
        patch.setattr(view, "_BATCH", part)
        for by in ("person", "note"):
            told = build_view(notes, by=by).frame
            assert ExtractedView(spool, parts.notes, by).look_alikes() == count_look_alikes(told, "person")
    assert list(parts.notes) == whole.notes
    assert list(parts.contradicted) == whole.contradicted


@pytest.mark.parametrize("by", ["person", "note"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "xlsx"])
def test_a_view_is_written_in_batches_as_it_is_at_once(
    by: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [("name", "Ann Lee"), ("mrn", "0012345"), ("phone", "617"), ("city", 'Łódź, a\n"b"')]
    notes = [
        NoteFacts(f"n{n}", tuple(Fact(*one, n, n + 1, confidence=0.5) for one in facts[: n % 5]), str(n // 2))
        for n in range(11)
    ]
    who = link_notes(notes).notes
    monkeypatch.setattr(view, "_BATCH", 3)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    ExtractedView(notes, who, by).write(tmp_path / "a" / f"v.{suffix}")
    build_view(notes, by=by).write(tmp_path / "b" / f"v.{suffix}")
    for name in (f"v.{suffix}", f"v.provenance.{suffix}"):
        one, other = tmp_path / "a" / name, tmp_path / "b" / name
        assert one.stat().st_mode & 0o777 == 0o600
        if suffix == "parquet":
            pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(other), check_dtype=False)
            assert set(pd.read_parquet(one).dtypes.astype(str)) <= {"str", "object", "int64", "float64"}
        elif suffix == "xlsx":
            pd.testing.assert_frame_equal(pd.read_excel(one, dtype=str), pd.read_excel(other, dtype=str))
        else:
            assert one.read_bytes() == other.read_bytes()


def test_values_lie_on_disk_as_they_were_added(tmp_path: Path) -> None:
    names = ["a", "\udcff", "", "é" * 70_000, "a\0b"]
    spool: Spool[str] = Spool(str, str)
    for name in names * 3:
        spool.add(name)
    assert spool[4] == "a\0b"
    assert spool[1:3] == ["\udcff", ""]
    assert list(spool) == names * 3
    assert next(iter(spool.mapped(str.upper))) == "A"
    with pytest.raises(IndexError):
        spool[15]
    held = DiskMap(((name, [n]) for n, name in enumerate(names * 2)), tuple)
    assert {name: held[name] for name in held} == {name: (n + 5,) for n, name in enumerate(names)}
    assert len(held) == 5
    assert held.get("none") is None
    assert held._path.parent.stat().st_mode & 0o777 == 0o700
    folder = held._path.parent
    del held
    assert not folder.exists()


def test_persons_are_numbered_by_their_first_notes() -> None:
    assert list(persons.grouped([0, 1, 0, 2], 3)) == [(0, [0, 2]), (1, [1]), (2, [3])]


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=9), st.integers(1, 4))
def test_what_is_frequent_is_among_the_few_that_are_counted(parts: list[list[int]], few: int) -> None:
    counted: Counter[object] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persons, "_OFTEN", few)
        for part in parts:
            counted = persons._counted(counted, part)
    every = Counter(itertools.chain(*parts))
    assert len(counted) <= few
    assert {value for value, count in every.items() if count > every.total() / (few + 1)} <= set(counted)
