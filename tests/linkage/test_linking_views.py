"""Linking what was extracted: several tables, confidences, contradictions, distances, and what is handed on."""

from __future__ import annotations

import functools
import itertools
import json
import random
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from commands import run
from products import by_day
from rapidfuzz.distance import JaroWinkler

from deid.base.errors import ConfigError, DeidError, ModelError
from deid.experiments import mentions
from deid.linkage.blocking import Block
from deid.linkage.columns import read_records
from deid.linkage.comparisons import DOUBTED, Distance, comparisons_of, with_keys
from deid.linkage.explaining import explain_pair
from deid.linkage.linking import LinkOptions, link_table
from deid.linkage.model import default_model, predict, read_model

EXACT = LinkOptions(method="exact")
make_mentions = functools.cache(mentions.make_mentions)
FIRST = pd.DataFrame(
    {"id": ["1", "2", "3"], "name": ["Margaret Thornton", "John Hale", "Anna Berg"],
     "birth_date": ["03/04/1950", "01/02/1941", "12/31/1980"], "mrn": ["4711203", None, None]}, dtype="string",
)  # fmt: skip
SECOND = pd.DataFrame(
    {"id": ["1", "2", "3"], "surname": ["Hale", "Thornton", "Ray"], "given": ["John", "Peggy", "Bo"],
     "dob": ["02.01.1941", "13.07.1999", "01.01.1980"], "record_number": [None, "4711203", "9"]}, dtype="string",
)  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    FIRST.to_csv(tmp_path / "a.csv", index=False)
    return tmp_path / "a.csv"


@pytest.mark.parametrize("said", [EXACT, LinkOptions()], ids=["exact", "model"])
def test_two_tables_whose_columns_and_dates_are_written_otherwise(said: LinkOptions) -> None:
    """Ids that count the rows of each table join nobody; a date is read as its own table writes dates."""
    person = link_table([FIRST, SECOND], said).person
    assert person[0] == person[4]
    assert person[1] == person[3]
    assert len(set(person)) == 4
    swapped = link_table([SECOND, FIRST], said).person
    assert [swapped.index(own) for own in swapped[3:]] != [3, 4, 5]
    assert len(set(swapped)) == 4


def test_ids_that_repeat_in_a_table_are_record_numbers_and_those_of_old_rows_are_not() -> None:
    twice = FIRST.assign(mrn=None, id=["7", "7", "8"], name="Ann Lee", birth_date=None)
    assert len(set(link_table(twice, EXACT).person)) == 2
    old = FIRST.iloc[:2].assign(person=["P7", "P8"], name=["Zoe Quill", "Bo Ray"], mrn=None, birth_date=None)
    assert not set(link_table(FIRST, EXACT, known=old).person) & {"P7", "P8"}


def test_the_command_stacks_two_tables_and_tells_whose_row_is_whose(rows: Path, tmp_path: Path) -> None:
    SECOND.to_csv(tmp_path / "b.csv", index=False)
    run("link", rows, tmp_path / "b.csv", "-o", tmp_path / "o.csv", "--method", "exact")
    out = pd.read_csv(tmp_path / "o.csv", dtype=str)
    assert out["table"].tolist() == ["a.csv"] * 3 + ["b.csv"] * 3
    assert out["mrn"].tolist()[4] == "4711203"
    assert out["person"].nunique() == 4
    told = run("link", "explain", rows, "5", "1", "--second", tmp_path / "b.csv", "--show-phi")
    assert "kept apart" not in told
    assert "19500304" in told
    assert "19990713" in told


@pytest.mark.parametrize("said", [EXACT, LinkOptions()], ids=["exact", "model"])
def test_rows_that_come_twice_join_nobody_else(said: LinkOptions) -> None:
    """A tenth of the rows again: what says who it is of is one person, and no two persons become one by it."""
    made = make_mentions(400, seed=4)
    twice = pd.concat([made, made.iloc[:40]], ignore_index=True)
    person = link_table(twice.drop(columns=["person", "mention"]), said).person
    told = made[["first", "last", "birth_date"]].notna().all(axis=1) & (made["first"].str.len() > 2)
    assert sum(told[:40]) > 20
    assert all(person[row] == person[400 + row] for row in range(40) if told[row])
    assert over_merged(twice["person"], person) <= 1


def over_merged(truth: pd.Series, person: list[str]) -> int:
    return int((pd.crosstab(truth, pd.Series(person)) > 0).sum(axis=0).gt(1).sum())


ONE_VALUE = ("sex", "birth_date", "city", "last", "first", "record_number", "phone")


@pytest.mark.parametrize(("column", "value"), by_day(ONE_VALUE, [None, "1950-01-01"]))
def test_a_column_of_one_value_or_none_joins_nobody_by_itself(column: str, value: str | None) -> None:
    made = make_mentions(300, seed=4)
    frame = made.drop(columns=["person", "mention"]).assign(**{column: value})
    person = link_table(frame, EXACT).person
    assert over_merged(made["person"], person) <= (3 if column == "birth_date" and value else 1)
    assert len(set(person)) < 300


@pytest.mark.parametrize("value", [None, "1950-01-01"])
def test_columns_of_one_value_or_none_mislead_no_model(value: str | None) -> None:
    made = make_mentions(300, seed=4)
    frame = made.drop(columns=["person", "mention"]).assign(sex=value, city=value, phone=value, zip=value)
    assert over_merged(made["person"], link_table(frame).person) <= 1


def test_what_cannot_be_linked_is_told_and_nothing_is_written(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.json").write_text('{"form": "deid linkage 0"}')
    model = default_model(comparisons_of(read_records(FIRST, {"name": "name"})), 0.01, {"name": "name"})
    (tmp_path / "other.json").write_bytes(model.to_bytes())
    FIRST.assign(name=None, birth_date=None, mrn=None).to_csv(tmp_path / "empty.csv", index=False)
    pd.DataFrame({"name": [f"Ann Berg{i % 2}" for i in range(40)]}).to_csv(tmp_path / "one.csv", index=False)
    FIRST.iloc[:0].to_csv(tmp_path / "none.csv", index=False)
    there = set(tmp_path.iterdir())
    out = ("-o", tmp_path / "o.csv", "--review", tmp_path / "r.csv", "--save-model", tmp_path / "s.json")
    for told, error in (
        ((rows, "--saved-model", tmp_path / "m.json"), "no model of linkage, or of another version"),
        ((rows, "--saved-model", tmp_path / "other.json"), "the model says nothing of 'birth'"),
        ((tmp_path / "empty.csv",), "no column tells who a row is of"),
        ((tmp_path / "none.csv",), "no rows"),
        ((tmp_path / "one.csv", "--pairs", 5), r"no rule keeps below 5 pairs: the best, equal \S+.*, has \d+"),
        ((rows, "--compare", "name=cosine:.9"), "no distance 'cosine'"),
        ((rows, "--compare", "name=jaro:.8,.9"), "not numbers below 1 and falling"),
        ((rows, "--compare", "name=levenshtein:0"), "not numbers above 0 and rising"),
        ((rows, "--compare", "name"), "not of the form"),
        ((rows, "--compare", "nmae=jaro:.9"), "'nmae'"),
        ((rows, tmp_path / "gone.csv"), "gone.csv"),
    ):
        with pytest.raises(DeidError, match=error):
            run("link", *told, *out)
        assert set(tmp_path.iterdir()) == there
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ConfigError, match=r"clinical-deid\[link\]"):
        run("link", rows, *out)
    assert set(tmp_path.iterdir()) == there


def test_similarities_of_words_are_those_of_the_database() -> None:
    duckdb = pytest.importorskip("duckdb")
    draw = random.Random(3)
    words = ["".join(draw.choice("abcde") for _ in range(draw.randint(1, 9))) for _ in range(300)]
    pairs = list(itertools.pairwise(words))
    asked = ", ".join(f"jaro_winkler_similarity('{a}', '{b}')" for a, b in pairs)
    for (a, b), expected in zip(pairs, duckdb.sql(f"select {asked}").fetchall()[0], strict=True):
        assert JaroWinkler.similarity(a, b) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("distance", "a", "b", "level"),
    [
        (Distance("jaro_winkler", (0.92, 0.8)), "martha", "marhta", "jaro_winkler 0.92 or more"),
        (Distance("jaro_winkler", (0.92, 0.8)), "dixon", "dicksonx", "jaro_winkler 0.8 or more"),
        (Distance("levenshtein", (1, 3)), "martha", "marhta", "levenshtein 3 or less"),
        (Distance("damerau_levenshtein", (1, 3)), "martha", "marhta", "damerau_levenshtein 1 or less"),
        (Distance("jaccard", (0.9,)), "abc", "cab", "jaccard 0.9 or more"),
        (Distance("difference", (2,)), "70", "72", "difference 2 or less"),
        (Distance("difference", (2,)), "70", "73", "different"),
        (Distance("days", (1, 40)), "1950-01-31", "1950-02-01", "days 1 or less"),
        (Distance("days", (1, 40)), "1950-01-31", "1950-03-01", "days 40 or less"),
        (Distance("jaro", (0.9,)), "abc", "abc", "equal"),
    ],
)
def test_a_field_is_compared_by_the_distance_that_is_said(distance: Distance, a: str, b: str, level: str) -> None:
    kind = "birth" if distance.name == "days" else "similar"
    cuts = ",".join(map(str, distance.cuts))
    said = LinkOptions(kind=(f"x={kind}",), distance=(f"x={distance.name}:{cuts}",))
    assert said.distances == {"x": distance}
    found = explain_pair(pd.DataFrame({"x": [a, b], "name": "Ann Lee"}), 1, 2, said)
    assert {step.field: step.level for step in found.steps}["birth" if kind == "birth" else "x"] == level


def test_a_distance_of_a_name_is_that_of_its_parts_and_a_model_keeps_it() -> None:
    frame = FIRST.assign(zip="02140", city="Cambridge")
    said = LinkOptions(distance=("name=jaro_winkler:.9", "zip=levenshtein:1"))
    linked = link_table(frame, said)
    assert linked.model is not None
    assert list(linked.model.levels["family"]) == ["equal", "jaro_winkler 0.9 or more", "different"]
    assert list(linked.model.levels["zip"]) == ["equal", "levenshtein 1 or less", "different"]
    assert "city equal" in linked.model.levels["place"]
    assert link_table(frame, said, model=linked.model).person == linked.person
    with pytest.raises(ModelError, match="compares it otherwise"):
        link_table(frame, model=linked.model)


PERSON = pd.DataFrame(
    {"name": ["Ann Lee", "Ann Lee", "Ann Lee"], "birth_date": ["1950-03-04", "1950-03-04", "1990-08-09"],
     "phone": ["617-555-0101"] * 3, "sex": ["F", "F", None]}, dtype="string",
)  # fmt: skip


def test_a_value_that_may_be_misread_contradicts_nobody() -> None:
    sure = pd.DataFrame({"birth_date": [0.97, 0.97, 0.97]})
    doubtful = pd.DataFrame({"birth_date": [0.97, 0.97, 0.5]})
    assert len(set(link_table(PERSON, EXACT, confidence=sure).person)) == 2
    assert len(set(link_table(PERSON, EXACT, confidence=doubtful).person)) == 1
    number = PERSON.assign(mrn="4711203", birth_date=None, phone=None, name=["Ann Lee", "Bo Ray", "Cy Fox"])
    assert len(set(link_table(number.drop(columns="sex"), EXACT).person)) == 1
    unsure = pd.DataFrame({"mrn": [0.9, 0.9, 0.4]})
    assert len(set(link_table(number.drop(columns="sex"), EXACT, confidence=unsure).person)) == 2


def test_low_confidence_is_a_level_of_its_own_that_says_less_than_a_difference() -> None:
    doubtful = pd.DataFrame({"birth_date": [0.97, 0.97, 0.5]})
    linked = link_table(PERSON, confidence=doubtful)
    assert linked.model is not None
    levels = linked.model.levels["birth"]
    assert list(levels)[-2:] == [DOUBTED, "different"]
    assert 0 > linked.model.weight("birth", DOUBTED) > linked.model.weight("birth", "different")
    found = explain_pair(PERSON, 2, 3, model=linked.model, confidence=doubtful)
    assert {step.field: step.level for step in found.steps}["birth"] == DOUBTED
    same = explain_pair(PERSON, 1, 2, model=linked.model, confidence=doubtful)
    assert {step.field: step.level for step in same.steps}["birth"] == "equal"
    applied = explain_pair(PERSON, 2, 3, model=linked.model)  # a table that tells no confidence
    assert {step.field: step.level for step in applied.steps}["birth"] == "different"


@pytest.mark.slow
def test_learnt_weights_of_doubted_differences_never_speak_for_one_person() -> None:
    frame = make_mentions(500, seed=6).drop(columns=["person", "mention"])
    draw = random.Random(1)
    low = pd.DataFrame({"birth_date": [0.5 if draw.random() < 0.2 else 0.97 for _ in range(len(frame))]})
    linked = link_table(frame, confidence=low)
    assert linked.model is not None
    assert linked.model.weight("birth", DOUBTED) <= 0
    assert linked.model.weight("birth", "different") <= 0


def test_contradictions_are_listed_by_row_and_column_with_the_share_that_agrees() -> None:
    rows = PERSON.assign(person="a", sex=["F", "F", "M"])
    found = link_table(rows, EXACT).contradictions
    assert found[["column", "row", "share"]].to_numpy().tolist() == [["birth_date", 3, 0.3333], ["sex", 3, 0.3333]]
    tie = link_table(rows.iloc[1:].reset_index(drop=True), EXACT).contradictions
    assert tie[["column", "row", "share"]].to_numpy().tolist() == [
        *(["birth_date", row, 0.5] for row in (1, 2)),
        *(["sex", row, 0.5] for row in (1, 2)),
    ]
    assert link_table(rows, EXACT).as_dict()["contradictions"] == {"birth_date": 1, "sex": 1}


NOTES = {
    "a": "Patient: Zelda Quarrymane\nDOB: 3/4/1950   MRN: 5512345\nHer telephone is (617) 555-0101.\n",
    "b": "Patient: Zelda Quarrymane\nDOB: 3/4/1950   MRN: 5512345\nShe is well.\n",
    "c": "Patient: Zelda Quarrymane\nDOB: 4/3/1950   MRN: 5512345\nShe is well.\n",
}


def test_a_view_is_linked_with_its_provenance_which_names_the_model(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / f"{name}.txt").write_text(text)
    view, out = tmp_path / "view.csv", tmp_path / "out.csv"
    run("extract", tmp_path / "notes", view, "--by", "note", "--model", "none", "--rounds", "1")
    before = pd.read_csv(tmp_path / "view.provenance.csv", dtype=str)
    files = ("--save-model", tmp_path / "m.json", "--report", tmp_path / "r.html", "--studio", tmp_path / "s.html")
    output = run("link", view, "-o", out, *files, "--json", tmp_path / "s.json")
    places = pd.read_csv(tmp_path / "out.provenance.csv", dtype=str)
    assert places["linked_by"].unique().tolist() == [read_model(tmp_path / "m.json").checksum]
    births = places[places["column"] == "birth_date"].set_index("document")["confidence"].astype(float)
    # the extraction has linked these notes too, and lowered it already: it is lowered once
    assert births["c"] < 0.4 < 0.8 < births["a"] == births["b"]
    assert before["value"].tolist() == places["value"].tolist()
    assert "persons of two values: birth_date" in output
    assert json.loads((tmp_path / "s.json").read_text())["contradictions"] == {"birth_date": 1}
    page, studio = (tmp_path / "r.html").read_text(), (tmp_path / "s.html").read_text()
    assert "Contradictions" in page
    assert "Quarrymane" not in page
    assert "Quarrymane" in studio
    assert not any(word in studio for word in ("http://", "https://", "src="))
    assert (tmp_path / "s.html").stat().st_mode & 0o077 == 0
    run("write-back", out, out, tmp_path / "back")


@pytest.mark.slow
def test_persons_that_were_told_apart_are_not_asked_for_again(tmp_path: Path) -> None:
    """Of a table that the model linked, and as it was written: look-alikes are told, and refuse nothing."""
    made = make_mentions(300, seed=2).rename(columns={"person": "who"}).drop(columns=["who", "mention"])
    made.assign(diagnosis=[f"d{n % 7}" for n in range(300)]).to_csv(tmp_path / "t.csv", index=False)
    run("link", tmp_path / "t.csv", "-o", tmp_path / "exact.csv", "--method", "exact")
    run("link", tmp_path / "t.csv", "-o", tmp_path / "model.csv")
    asked = ("--qi", "sex", "--sensitive", "diagnosis", "--person", "person", "--drop-rest", "--k", "2")
    with pytest.raises(ConfigError, match="look alike"):
        run("anonymize", tmp_path / "exact.csv", *asked, "-o", tmp_path / "e.csv")
    run("anonymize", tmp_path / "model.csv", *asked, "-o", tmp_path / "m.csv")
    run("risk", tmp_path / "model.csv", "--qi", "sex", "--person", "person")
    run("privacy", tmp_path / "m.csv", "--qi", "sex", "--k", "2")
    told = json.loads((tmp_path / "m.csv.manifest.json").read_text())["run"]["results"]
    assert told["persons_as_given"] is False
    for end in ("", ".manifest.json"):
        shutil.copy(tmp_path / f"model.csv{end}", tmp_path / f"other.csv{end}")
    with (tmp_path / "other.csv").open("a") as stream:
        stream.write((tmp_path / "model.csv").read_text().splitlines()[1].replace("P", "P9", 1) + "\n")
    with pytest.raises(ConfigError, match="look alike"):
        run("anonymize", tmp_path / "other.csv", *asked, "-o", tmp_path / "o.csv")


def test_the_studio_shows_persons_who_may_be_one_together(tmp_path: Path) -> None:
    made = make_mentions(200, seed=9).drop(columns=["person", "mention"])
    made.to_csv(tmp_path / "t.csv", index=False)
    run(
        "link",
        tmp_path / "t.csv",
        "-o",
        tmp_path / "o.csv",
        "--studio",
        tmp_path / "s.html",
        "--review",
        tmp_path / "r.csv",
    )
    page = (tmp_path / "s.html").read_text()
    review = pd.read_csv(tmp_path / "r.csv", dtype=str)
    assert len(review)
    first = page[page.index("<details") : page.index("</details>")]
    assert 'class="odd"' in first
    for a, b in review[["row_a", "row_b"]].to_numpy().tolist()[:5]:
        assert f"<td>{a}, {b}</td>" in page


def test_predictions_hold_with_columns_that_tell_of_doubt() -> None:
    """A doubt about a cell changes pairs that differ there, and no other weight."""
    rows = read_records(PERSON, {"name": "name", "birth_date": "birth"}).assign(doubt_birth=[None, None, "1"])
    plain = comparisons_of(rows, doubted=())
    with_doubt = comparisons_of(rows)
    kwargs = {"blocks": [], "factors": {}, "least": 0.0}
    assert [c.field for c in plain] == [c.field for c in with_doubt]
    records = with_keys(rows)
    kwargs["blocks"] = [Block(("family",), 3)]
    old = predict(records, plain, default_model(plain, 0.01, {}), **kwargs)
    new = predict(records, with_doubt, default_model(with_doubt, 0.01, {}), **kwargs)
    assert old["weight"].tolist()[0] == new["weight"].tolist()[0]
    assert all(a < b for a, b in zip(old["weight"].tolist()[1:], new["weight"].tolist()[1:], strict=True))
