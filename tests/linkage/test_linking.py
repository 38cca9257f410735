"""Who is who in a table: by exact rules, with what speaks against, and the same in whatever order rows come."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, InputError, ModelError
from deid.cli.main import app
from deid.experiments.mentions import make_mentions
from deid.linkage.blocking import Block, neighbour_blocks
from deid.linkage.clustering import Edge, Facts, cluster, near
from deid.linkage.columns import birth_digits, kind_of, kinds_of, read_records
from deid.linkage.comparisons import comparisons_of, with_keys
from deid.linkage.explaining import explain_pair
from deid.linkage.linking import LinkOptions, link_table, prepare
from deid.linkage.model import default_model, predict, read_model
from deid.reading.identity import sound

COLUMNS = ("name", "birth_date", "sex", "mrn", "phone")
ROWS = [
    ("Margaret Thornton", "1950-03-04", "F", "4711203", "617-555-0101"),
    ("Maggie Thornton", "03/04/1950", "F", None, "(617) 555-0101"),
    ("THORNTON, M.", "1950-04-03", "F", "4711203", None),
    ("Anna Berg", "1980-01-01", "F", "100200", "617-555-0199"),
    ("Maria Berg", "1980-01-01", "F", "100317", "617-555-0199"),
    ("John Hale", "1941-05-06", "M", None, "617-555-0111"),
    ("John Hale Jr.", "1970-09-12", "M", None, "617-555-0111"),
]


def table(rows: list[tuple[str | None, ...]], columns: tuple[str, ...] = COLUMNS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns), dtype="string")


def groups(person: list[str]) -> set[frozenset[int]]:
    return {frozenset(i for i, own in enumerate(person) if own == one) for one in person}


def test_exact_rules_join_what_is_equal_and_keep_apart_what_contradicts() -> None:
    linked = link_table(table(ROWS), EXACT)
    assert groups(linked.person) == {
        frozenset({0, 1, 2}),
        frozenset({3}),
        frozenset({4}),
        frozenset({5}),
        frozenset({6}),
    }
    assert linked.refused == {"birth dates far apart": 1}
    assert linked.review[["row_a", "row_b"]].to_numpy().tolist() == [[6, 7]]


def test_the_order_of_rows_changes_nothing() -> None:
    person = link_table(table(ROWS), EXACT).person
    for seed in range(5):
        places = random.Random(seed).sample(range(len(ROWS)), len(ROWS))
        again = link_table(table([ROWS[i] for i in places]), EXACT).person
        assert again == [person[i] for i in places]


def test_ids_of_known_persons_stay_and_new_ones_go_on() -> None:
    old = table(ROWS[:1] + ROWS[3:4]).assign(person=["P7", "P3"])
    linked = link_table(table([*ROWS[1:3], ROWS[4]]), EXACT, known=old)
    assert linked.person[:2] == ["P7", "P7"]
    assert re.fullmatch("P8-[0-9a-f]{8}", linked.person[2])
    with pytest.raises(InputError, match="a known row without a person"):
        link_table(table(ROWS), EXACT, known=table(ROWS[:1]).assign(person=[None]))


def test_two_known_persons_never_become_one() -> None:
    old = table([ROWS[0], ROWS[0]]).assign(person=["P1", "P2"])
    linked = link_table(table(ROWS[:1]), EXACT, known=old)
    assert linked.person[0] in ("P1", "P2")
    assert set(linked.refused) == {"two known persons"}


@pytest.mark.parametrize("steps", [(0, 1), (1,), (0, 2), (0, 1, 2)])
def test_no_id_is_given_to_a_second_person_whatever_earlier_tables_are_named(steps: tuple[int, ...]) -> None:
    """A chain of runs, of which the last one is told all tables before it, some of them, or the last alone."""
    people = [
        (f"{name} Quill", f"19{n}0-01-02", None, None, None) for n, name in enumerate(("Ann", "Bo", "Cy", "Di", "Ed"))
    ]
    first = table(people[:2])
    tables = [first.assign(person=link_table(first, EXACT).person)]
    for more in (people[1:2], people[2:3]):  # one who came before, then one who did not
        new = table(more)
        tables.append(new.assign(person=link_table(new, EXACT, known=tables).person))
    last = table(people[3:])
    tables.append(last.assign(person=link_table(last, EXACT, known=[tables[n] for n in steps]).person))
    beside = link_table(table(people[4:]), EXACT, known=tables[:1]).person
    who = {(own, name) for one in tables for own, name in zip(one["person"], one["name"], strict=True)}
    who |= {(own, "Ed Quill") for own in beside}
    assert len({own for own, _ in who}) == len(who)
    assert len({name for _, name in who}) == len(people)


def test_known_persons_are_each_written_in_one_way() -> None:
    old = table(ROWS[:2]).assign(person=["04711", "4711"])
    with pytest.raises(ConfigError, match="1 ids of persons are written in several ways"):
        link_table(table(ROWS[:1]), EXACT, known=old)


@pytest.mark.parametrize("said", [LinkOptions(method="exact"), LinkOptions()], ids=["exact", "model"])
@pytest.mark.parametrize("written", ["0004711", "4711", "00-4711", " 4711 "])
def test_leading_zeros_of_a_record_number_are_padding(said: LinkOptions, written: str) -> None:
    rows = table([("Ann Thornton", "1950-03-04", "F", "4711", None), ("Ann Keller", "1950-03-04", "F", written, None)])
    assert len(set(link_table(rows, said).person)) == 1
    coded = rows.assign(mrn=["A12", "A0012"], name=["Ann Thornton", "Bo Keller"])
    assert len(set(link_table(coded, said).person)) == 2


def test_rows_that_were_of_one_person_stay_so() -> None:
    rows = table([("Ann Lee", None, None, None, None), ("Bo Ray", None, None, None, None)]).assign(person=["a", "a"])
    assert len(set(link_table(rows, EXACT).person)) == 1


def test_columns_that_say_nothing_are_left_out() -> None:
    rows = table(ROWS).assign(ward="W1", clinic=None, id=[str(i) for i in range(len(ROWS))], zip=None)
    assert kinds_of(rows) == {
        "name": "name", "birth_date": "birth", "sex": "sex", "mrn": "number", "phone": "phone",
    }  # fmt: skip
    assert kinds_of(rows.assign(id=list("7789991")), {"ward": "none"})["id"] == "number"
    with pytest.raises(ConfigError, match="no column tells who a row is of"):
        link_table(pd.DataFrame({"age": ["3"], "dx": ["flu"]}), EXACT)
    with pytest.raises(ConfigError, match="there is no kind 'nmae'"):
        kinds_of(rows, {"name": "nmae"})


@pytest.mark.parametrize(
    "text", ["14-MAR-1962", "14mar62", "Mar 14, 1962", "March 14th, 1962", "14 marzo 1962", "3/14/62", "3/14/1962 0:00",
             "14.03.1962", "1962-03-14 00:00:00", "19620314"],
)  # fmt: skip
def test_a_birth_date_is_read_however_it_is_written(text: str) -> None:
    assert birth_digits(text) == "19620314"
    assert not any(map(birth_digits, ("1962", "March 1962", "14-XYZ-1962", "unknown")))


def test_names_of_columns_of_other_systems_are_known() -> None:
    names = {"PatNm": "name", "PT_NAME": "name", "LAST_NM": "family", "First_Nm": "given", "Birth_Dt": "birth",
             "Hosp No": "number", "Tel No": "phone", "Addr_Line_1": "address", "PostCode": "zip",
             "SEX_CD": "sex", "Patienten-Nr.": "id", "PatNr": "id", "Patientenvorname": "given", "Zuname": "family",
             "Geb.-Datum": "birth", "Geschlecht": "sex", "Straße": "address", "Telefonnr": "phone", "PRÉNOM": "given",
             "Nom": "family", "Date de naissance": "birth", "Téléphone": "phone", "Fecha de nacimiento": "birth",
             "Teléfono": "phone", "Voornaam": "given", "Achternaam": "family", "geboortedatum": "birth"}  # fmt: skip
    assert {name: kind_of(name) for name in names} == names
    assert {kind_of(name) for name in ("ward", "title", "visit_no", "hospital", "doctor", "ptsd", "patient_entry")} == {
        "none"
    }


def test_numbers_that_stand_for_none_join_nobody() -> None:
    rows = table([(f"{name} Berg", None, None, mrn, None) for name in ("Ann", "Bo") for mrn in ("000000", "99-99-99")])
    assert len(set(link_table(rows, EXACT).person)) == 4
    many = table([(f"Ann {chr(97 + i % 26)}erg{chr(97 + i // 26)}n", None, None, "4711203", None) for i in range(60)])
    assert len(set(link_table(many, EXACT).person)) == 60


def test_a_number_of_one_who_comes_often_is_a_number() -> None:
    rows = table([("Ann Berg" if i else "Ann Bergh", None, None, "4711203", None) for i in range(60)])
    assert len(set(link_table(rows, EXACT).person)) == 1


def test_cells_are_brought_to_one_form() -> None:
    rows = pd.DataFrame(
        {"surname": ["O'Neill", "Cruz-López"], "given_name": ["Peggy", "J."], "dob": ["31/12/1950", "1.2.1950"],
         "telephone": ["(617) 555-0101 x4", "12"], "maiden_name": ["Hart", None]}
    )  # fmt: skip
    records = read_records(rows, kinds_of(rows))
    assert records["full_given"].tolist() == ["margaret", "j"]
    assert records["families"].tolist() == [("hart", "oneill"), ("cruz", "lopez")]
    assert records["birth"].tolist() == ["19501231", "19500201"]
    assert records["phone"].tolist() == ["6175550101", None]
    assert sound("rupert") == sound("robert") != sound("rubin")


def test_one_odd_date_does_not_turn_a_column_round() -> None:
    """A column of months before days with a slip keeps its births: no month is 14."""
    births = ["3/14/1950"] * 9 + ["14/3/1951", "3/4/1952"]
    rows = pd.DataFrame({"name": [f"Ann Berg{chr(97 + n)}" for n in range(11)], "birth_date": births})
    assert read_records(rows, kinds_of(rows))["birth"].tolist() == ["19500314"] * 9 + ["19510314", "19520304"]


def test_one_slip() -> None:
    for a, b in (("4711203", "4711263"), ("4711203", "4712103"), ("4711203", "471203"), ("abc", "abcd")):
        assert near(a, b)
        assert near(b, a)
    assert not near("4711203", "4711322")


def test_the_heaviest_pairs_are_joined_first_and_no_chain_joins_what_contradicts() -> None:
    facts = [Facts(births=frozenset({"19400101"})), Facts(), Facts(births=frozenset({"19700912"}))]
    found = cluster(facts, pd.DataFrame([Edge(3.0, 0, 1), Edge(5.0, 1, 2)]))
    assert found.person == [0, 1, 1]
    assert [why for _, why in found.refused] == ["birth dates far apart"]


EXACT = LinkOptions(method="exact")


@pytest.fixture(scope="module")
def mentions() -> tuple[pd.DataFrame, list[str]]:
    made = make_mentions(1500, seed=5)
    return made.drop(columns=["person", "mention"]), made["person"].tolist()


def scores(person: list[str], truth: list[str]) -> tuple[float, float]:
    """Precision and recall of pairs, counted without the measures of the package."""

    def pairs(keys: Iterable[Hashable]) -> int:
        return sum(n * (n - 1) // 2 for n in Counter(keys).values())

    both = pairs(zip(person, truth, strict=True))
    return both / pairs(person), both / pairs(truth)


def test_a_model_finds_what_no_exact_rule_does_and_is_the_same_again(mentions: tuple[pd.DataFrame, list[str]]) -> None:
    frame, truth = mentions
    linked = link_table(frame, threads=2)
    precision, recall = scores(linked.person, truth)
    exact = scores(link_table(frame, EXACT).person, truth)
    assert precision > 0.99
    assert recall > 0.93 > 0.8 > exact[1]
    assert linked.model is not None
    linked.model.check([])
    places = random.Random(1).sample(range(len(frame)), len(frame))
    again = link_table(frame.iloc[places].reset_index(drop=True), threads=1)
    assert again.person == [linked.person[i] for i in places]
    assert again.model == linked.model
    applied = link_table(frame, model=linked.model)
    assert applied.person == linked.person
    assert linked.pairs is not None
    assert (linked.pairs["a"] < linked.pairs["b"]).all()
    shown = linked.review[linked.review["why_apart"] == "below the threshold"]
    assert ((shown["probability"].astype(float) >= 0.5) & (shown["probability"].astype(float) < 0.95)).all()


def test_a_model_is_read_as_it_was_written(tmp_path: Path, mentions: tuple[pd.DataFrame, list[str]]) -> None:
    model = default_model(comparisons_of(read_records(table(ROWS), kinds_of(table(ROWS)))), 0.01, {"name": "name"})
    (tmp_path / "m.json").write_bytes(model.to_bytes())
    assert read_model(tmp_path / "m.json") == model
    with pytest.raises(ModelError, match="the model says nothing of"):
        link_table(mentions[0], model=model)
    (tmp_path / "m.json").write_bytes(model.to_bytes().replace(b"0.01", b"0.02", 1))
    with pytest.raises(ModelError, match="was changed"):
        read_model(tmp_path / "m.json")
    for content in ("{}", "[1]", "nothing", '{"form": "deid linkage 1"}'):
        (tmp_path / "m.json").write_text(content)
        with pytest.raises(ModelError, match="no model of linkage"):
            read_model(tmp_path / "m.json")


def test_new_rows_join_known_persons_by_a_model(mentions: tuple[pd.DataFrame, list[str]]) -> None:
    frame, truth = mentions
    old = frame.iloc[:1200].assign(person=truth[:1200])
    new = frame.iloc[1200:].reset_index(drop=True)
    linked = link_table(new, known=old)
    right = [own == one for own, one in zip(linked.person, truth[1200:], strict=True) if one in set(truth[:1200])]
    assert sum(right) / len(right) > 0.9
    assert not {own for own in linked.person if own.startswith("p")} - set(truth[:1200])


def test_a_factor_of_nothing_leaves_a_column_out_and_a_greater_one_counts_more() -> None:
    rows = table(ROWS)
    ready = prepare([rows], LinkOptions())
    comparisons = comparisons_of(ready.records)
    model = default_model(comparisons, 0.001, ready.kinds)
    blocks = [Block(("family",), 9)]
    kwargs = {"blocks": blocks, "least": 0.0}
    records = with_keys(ready.records)
    one, two = (predict(records, comparisons, model, factors=f, **kwargs)["weight"] for f in ({}, {"birth": 2.0}))
    same = predict(records, comparisons, model, factors={"birth": 1.0}, **kwargs)["weight"]
    assert (same == one).all()
    assert not (two == one).all()
    assert "birth_date" not in link_table(rows, LinkOptions(weight=("birth_date=0",))).joined
    with pytest.raises(ConfigError, match="'ward' is not compared"):
        link_table(rows.assign(ward="W"), LinkOptions(weight=("ward=2",)))


def test_rows_next_to_each_other_are_compared_though_no_block_has_both() -> None:
    names = [f"{given} {family}" for given in ("Aaron", "Boris", "Cecil") for family in ("Abel", "Borg", "Cole")]
    rows = with_keys(read_records(pd.DataFrame({"name": names}), {"name": "name"}))
    blocks = neighbour_blocks(rows, 2)
    comparisons = [c for c in comparisons_of(rows) if c.field == "family"]
    found = predict(rows, comparisons, default_model(comparisons, 0.5, {}), blocks, factors={}, least=0.0)
    places = sorted(range(9), key=lambda i: (names[i].split()[1], names[i].split()[0]))
    expected = {tuple(sorted((places[i], places[j]))) for i in range(9) for j in range(i + 1, min(9, i + 3))}
    assert set(zip(found["a"], found["b"], strict=True)) == expected


@pytest.mark.slow
def test_pairs_that_are_weighed_some_at_a_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = make_mentions(200, seed=6).drop(columns=["person", "mention"])
    whole = link_table(frame)
    assert whole.pairs is not None
    monkeypatch.setattr("deid.linkage.model._CHUNK", sum(block.pairs for block in whole.blocks[0]) // 3)
    parts = link_table(frame, model=whole.model, threads=2)
    assert parts.pairs is not None
    pd.testing.assert_frame_equal(parts.pairs, whole.pairs)
    assert parts.person == whole.person


def test_no_rule_below_the_budget_is_an_error_with_the_count() -> None:
    rows = table([(f"Ann Berg{i % 2}", None, "F", None, None) for i in range(40)], COLUMNS)
    with pytest.raises(ConfigError, match=r"no rule keeps below 5 pairs: the best, equal \S+.*, has \d+"):
        link_table(rows, LinkOptions(pairs=5))


def test_without_splink_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ConfigError, match=r"clinical-deid\[link\]"):
        link_table(table(ROWS))
    assert len(link_table(table(ROWS), EXACT).person) == len(ROWS)


@pytest.mark.slow
def test_what_a_pair_is_explained_by_is_what_it_was_weighed_by() -> None:
    linked = link_table(table(ROWS))
    assert linked.pairs is not None
    for a, b, weight, probability in linked.pairs.itertuples(index=False):
        found = explain_pair(table(ROWS), a + 1, b + 1, model=linked.model)
        assert found.weight == pytest.approx(weight, abs=1e-4)
        assert found.probability == pytest.approx(probability, abs=1e-4)
    twins = explain_pair(table(ROWS), 4, 5)
    assert twins.conflict == "two record numbers of one authority"
    assert {step.field: step.level for step in twins.steps}["mrn"] == "different"
    assert "Berg" not in repr(twins)
    with pytest.raises(ConfigError, match="no two rows of the table"):
        explain_pair(table(ROWS), 1, 99)


@pytest.mark.slow
def test_a_report_is_one_page_without_anything_from_elsewhere(tmp_path: Path) -> None:
    table(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    said = ["link", str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out.csv"), "--report", str(tmp_path / "r.html")]
    assert CliRunner().invoke(app, said).exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "What each level says" in page
    assert not any(word in page for word in ("Thornton", "4711203", "http://", "https://", "<script"))
    assert (tmp_path / "out.csv").stat().st_mode & 0o077 == 0
    said = [
        "link",
        str(tmp_path / "rows.csv"),
        "-o",
        str(tmp_path / "no.csv"),
        "--method",
        "exact",
        "--report",
        str(tmp_path / "n"),
    ]
    assert isinstance(CliRunner().invoke(app, said).exception, ConfigError)
    assert not [path for path in tmp_path.iterdir() if path.name[0] == "n"]
