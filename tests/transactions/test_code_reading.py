from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.buckets import Buckets
from deid.base.errors import ConfigError, InputError
from deid.table.column_names import split_ids
from deid.table.hierarchy import hierarchy_from_rows
from deid.transactions import transactions
from deid.transactions.reading import codes_hierarchy, parse_published, read_codes, require_codes
from deid.transactions.transactions import Transactions, generalize, transactions_of
from deid.transactions.tree import code_tree


def test_a_column_of_lists_as_the_identifier_view_has_it() -> None:
    frame = pd.DataFrame({"diagnosis": ["401.1; 250.00", None, "250.00", "401.1;401.1"]})
    found = read_codes(frame, "diagnosis")
    assert found.transactions.texts() == [("250.00", "401.1"), (), ("250.00",), ("401.1",)]
    assert found.first.tolist() == [0, 1, 2, 3]


def test_a_long_table_has_a_record_a_person_and_keeps_visits_apart() -> None:
    frame = pd.DataFrame(
        {
            "who": [7, 7, 9, 7],
            "code": ["a", "b", "c", "d"],
            "day": ["2001-01-01", "2001-01-01", "2002-01-01", "2003-01-01"],
        }
    )
    found = read_codes(frame, "code", person="who", visit="day")
    assert found.transactions.texts() == [("a", "b", "d"), ("c",)]
    assert found.visits == (frozenset("ab"), frozenset("d"), frozenset("c"))
    assert found.visit_of == (0, 0, 1)


def test_an_id_that_is_written_in_several_ways_is_no_second_person() -> None:
    frame = pd.DataFrame({"mrn": ["0012", "12", "7"], "code": ["a", "b", "c"]})
    with pytest.raises(ConfigError, match="1 ids of persons are written in several ways"):
        read_codes(frame, "code", person="mrn", persons_as_given=False)
    assert len(read_codes(frame, "code", person="mrn").transactions.texts()) == 3


@pytest.mark.parametrize(("one", "other"), [("MRN-100", "mrn 100"), ("1/2", "1-2"), ("\u00c4 1", "a\u0308 1")])
def test_ids_are_one_however_they_are_written(one: str, other: str) -> None:
    assert split_ids([one, other, "200"]) == 1


def test_other_ids_are_others() -> None:
    assert split_ids(["7", "70", "7.1", "7-1", "17", "A7", "7A", "1-23", "12-3", "123"]) == 0
    assert split_ids(["7", "7.0", "007.0", "\uff17"]) == 1


def test_published_sets_keep_their_separators() -> None:
    frame = pd.DataFrame({"codes": ["(401.2,401.4), 295", "295"]})
    found = read_codes(frame, "codes", separator=",")
    assert found.transactions.texts() == [("(401.2,401.4)", "295"), ("295",)]
    published = parse_published(found.transactions.texts())
    assert published.members[published.place["(401.2,401.4)"]] == {"401.2", "401.4"}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"column": "kode"}, "no column 'kode'"),
        ({"column": "code", "separator": "||"}, "not one character"),
        ({"column": "code", "person": "who", "visit": "day"}, "without a visit"),
    ],
)
def test_what_cannot_be_read_is_refused(options: dict[str, str], what: str) -> None:
    frame = pd.DataFrame({"who": [1, 2], "code": ["a", "b"], "day": ["1", None]})
    with pytest.raises((ConfigError, InputError), match=what):
        read_codes(frame, **options)


def test_an_unknown_code_is_refused_with_the_nearest_known_one_or_becomes_a_leaf(tmp_path) -> None:
    file = tmp_path / "codes.csv"
    file.write_text("401.1;401;*\n401.2;401;*\n")
    found = read_codes(pd.DataFrame({"c": ["401.1", "401.22"]}), "c")
    with pytest.raises(InputError, match=r"row 2: 1 codes .* did you mean '401.2'"):
        codes_hierarchy(found, str(file))
    tree = codes_hierarchy(found, str(file), own_leaf=True)
    assert tree is not None
    assert tree.parent("401.22") == "*"


def test_icd_hierarchies_need_no_file_and_may_hold_unknown_codes_as_leaves() -> None:
    found = read_codes(pd.DataFrame({"c": ["401.1", "LOCAL7"]}), "c")
    with pytest.raises(InputError, match="1 of 2"):
        codes_hierarchy(found, "icd-9-cm")
    tree = codes_hierarchy(found, "icd-9-cm", own_leaf=True)
    assert tree is not None
    assert tree.parent("401.1") == "401"
    assert tree.parent("LOCAL7") == "*"


def test_codes_of_a_policy_must_occur() -> None:
    with pytest.raises(ConfigError, match=r"'401.l'.*did you mean '401.1'"):
        require_codes(["401.l"], ["401.1", "250.00"], "privacy policy")


def test_the_tree_leaves_out_values_that_generalize_nothing_and_holds_inner_codes() -> None:
    hierarchy = hierarchy_from_rows(
        [["401.1", "401", "400-405", "*"], ["401.2", "401", "400-405", "*"], ["250.0", "250", "249-259", "*"]], "t"
    )
    data = transactions_of([["401.1", "401"], ["250.0"], ["401.2"]])
    tree = code_tree(data, hierarchy)
    assert tree.labels == ("250.0", "401", "401.1", "401.2", "401", "*")
    assert [tree.parent[item] for item in range(4)] == [5, 4, 4, 4]
    assert tree.leaves[4] == (1, 2, 3)


@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from(["", "b", "a;b", "c"]), st.sampled_from("12")), min_size=1
    ),
    st.integers(1, 4),
)
def test_batches_are_the_table(rows: list[tuple[str, str, str]], size: int) -> None:
    frame = pd.DataFrame(rows, columns=["who", "code", "day"])
    batches = [frame[n : n + size] for n in range(0, len(frame), size)]
    whole, parts = (read_codes(one, "code", person="who", visit="day") for one in (frame, iter(batches)))
    held: dict[str, set[str]] = {}
    visits: dict[tuple[str, str], set[str]] = {}
    for who, cell, day in rows:
        held.setdefault(who, set()).update(cell.split(";") if cell else ())
        visits.setdefault((who, day), set()).update(cell.split(";") if cell else ())
    people = list(held)
    for found in (whole, parts):
        assert found.transactions.texts() == [tuple(sorted(own)) for own in held.values()]
        assert [rows[n][0] for n in found.first] == people
        assert all(rows[n][0] not in people[:i] for i, n in enumerate(found.first))
        told = sorted(((people.index(who), own) for (who, _), own in visits.items() if own), key=lambda one: one[0])
        assert list(zip(found.visit_of, found.visits, strict=True)) == told


def test_rows_that_went_to_disk_come_back_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"who": [f"p{n % 700}" for n in range(3000)], "code": [f"c{n % 13}" for n in range(3000)]})
    batches = [frame[n : n + 500] for n in range(0, 3000, 500)]
    whole = [read_codes(frame, "code", person=person) for person in ("who", None)]
    monkeypatch.setattr(Buckets, "held", 1000)
    for found, person in zip(whole, ("who", None), strict=True):
        again = read_codes(iter(batches), "code", person=person)
        assert again.transactions.texts() == found.transactions.texts()
        assert again.first.tolist() == found.first.tolist()


def test_a_row_is_named_by_its_place_in_the_table_and_not_in_its_batch() -> None:
    batches = [
        pd.DataFrame({"who": ["1", own], "code": ["a", "b"], "day": ["1", day]})
        for own, day in (("2", "2"), (None, None))
    ]
    with pytest.raises(InputError, match="row 4: a row without a person"):
        read_codes(iter(batches), "code", person="who")
    with pytest.raises(InputError, match="row 4: a row without a visit"):
        read_codes(iter(batches), "code", visit="day")
    with pytest.raises(InputError, match="no rows"):
        read_codes(iter([batches[0][:0]]), "code")


@given(st.lists(st.frozensets(st.sampled_from(["b", "a", "ab", "c"]))))
def test_the_order_of_records_is_that_of_their_texts(records: list[frozenset[str]]) -> None:
    data = transactions_of(records)
    texts = data.texts()
    assert data.order().tolist() == sorted(range(len(texts)), key=lambda n: texts[n])
    turned = Transactions(("z", "y"), np.arange(3), np.array([0, 1], np.int32))  # labels that stand in no order
    assert turned.order().tolist() == [1, 0]


@given(
    st.lists(st.frozensets(st.sampled_from("abcd")), max_size=9), st.randoms(use_true_random=False), st.integers(0, 5)
)
def test_many_records_are_worked_on_a_block_at_a_time(
    records: list[frozenset[str]], draw: random.Random, size: int
) -> None:
    data = transactions_of(records, "abcd")
    chosen = draw.sample(range(len(records)), draw.randint(0, len(records)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "_BLOCK", size)
        assert data.take(chosen).texts() == [tuple(sorted(records[n])) for n in chosen]
        found = generalize(data, np.array([0, 0, -1, 1]), ["(a,b)", "d"], [frozenset("ab"), frozenset("d")])
    assert found.texts() == [("(a,b)",) * bool(own & {"a", "b"}) + ("d",) * ("d" in own) for own in records]
