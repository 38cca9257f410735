from __future__ import annotations

import pandas as pd
import pytest

from deid.base.errors import ConfigError, InputError
from deid.table.hierarchy import hierarchy_from_rows
from deid.transactions.reading import codes_hierarchy, parse_published, read_codes, require_codes
from deid.transactions.transactions import transactions_of
from deid.transactions.tree import code_tree


def test_a_column_of_lists_as_the_identifier_view_has_it() -> None:
    frame = pd.DataFrame({"diagnosis": ["401.1; 250.00", None, "250.00", "401.1;401.1"]})
    found = read_codes(frame, "diagnosis")
    assert found.transactions.texts() == [("250.00", "401.1"), (), ("250.00",), ("401.1",)]
    assert found.rows == ((0,), (1,), (2,), (3,))


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
