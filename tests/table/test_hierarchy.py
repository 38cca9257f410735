"""Generalization hierarchies: ARX files, levels, common ancestors, validation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.table.hierarchy import Hierarchy, format_hierarchy, hierarchy_from_rows, read_hierarchy

ICD = [
    ["401.0", "401", "Circulatory", "*"],
    ["401.1", "401", "Circulatory", "*"],
    ["401.9", "401", "Circulatory", "*"],
    ["411.1", "411", "Circulatory", "*"],
    ["V10", "V10", "Supplementary", "*"],
]


@pytest.fixture
def icd() -> Hierarchy:
    return hierarchy_from_rows(ICD, "icd")


def test_chain_parent_children_and_leaves(icd: Hierarchy) -> None:
    assert icd.chain("401.1") == ("401.1", "401", "Circulatory", "*")
    assert icd.parent("401.1") == "401"
    assert icd.parent("*") is None
    assert icd.children("Circulatory") == ("401", "411")
    assert icd.leaves("Circulatory") == ("401.0", "401.1", "401.9", "411.1")
    assert icd.leaves() == ("401.0", "401.1", "401.9", "411.1", "V10")
    assert [icd.leaf_count(v) for v in ("401.1", "401", "Circulatory", "*")] == [1, 3, 4, 5]
    assert len(icd) == 10


def test_level_is_the_height_above_the_leaves(icd: Hierarchy) -> None:
    assert [icd.level(v) for v in ("V10", "401", "Supplementary", "Circulatory", "*")] == [0, 1, 1, 2, 3]
    assert icd.height == 3


def test_lowest_common_ancestor(icd: Hierarchy) -> None:
    assert icd.lowest_common_ancestor(["401.0", "401.1"]) == "401"
    assert icd.lowest_common_ancestor(["401", "401.1"]) == "401"
    assert icd.lowest_common_ancestor(["401.0", "411.1", "401.9"]) == "Circulatory"
    assert icd.lowest_common_ancestor(["401.0", "V10"]) == "*"
    assert icd.lowest_common_ancestor(["V10"]) == "V10"
    with pytest.raises(InputError):
        icd.lowest_common_ancestor([])


def test_covers(icd: Hierarchy) -> None:
    assert icd.covers("401", "401.1")
    assert icd.covers("401", "401")
    assert not icd.covers("401.1", "401")


def test_inner_value_may_have_a_line_of_its_own() -> None:
    """A table that holds 401 beside 401.1 keeps both, and 401 stays one step above 401.1."""
    icd = hierarchy_from_rows([*ICD, ["401", "401", "Circulatory", "*"]], "icd")
    assert icd == hierarchy_from_rows(ICD, "icd")


def test_unknown_value_is_refused_without_being_shown(icd: Hierarchy) -> None:
    with pytest.raises(InputError) as caught:
        icd.chain("Smith")
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "what", "line"),
    [
        ([["a", "g", "*"], ["a", "g", "*"]], "same value", "line 2"),
        ([["a", "g", "*"], ["b", "g", "all"]], "root", "line 2"),
        ([["a", "g", "*"], ["b", "g", "h", "*"]], "two parents", "line 2"),
        ([["a", "g", "a", "*"]], "above itself", "line 1"),
        ([["a", "", "*"]], "empty", "line 1"),
        ([["a"]], "two levels", "line 1"),
        ([["a", "b", "c", "*"], ["d", "c", "b", "*"]], "two parents", "line 2"),
    ],
)
def test_malformed_lines_are_refused_by_line(rows: list[list[str]], what: str, line: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        hierarchy_from_rows(rows, "h")
    assert line in str(caught.value)


@pytest.mark.parametrize(
    "parents", [{}, {"a": "b", "b": "a"}, {"a": "*", "b": "c", "c": "b"}, {"a": "x", "b": "y"}, {"": "*"}]
)
def test_parents_that_are_no_tree_are_refused(parents: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        Hierarchy("h", parents)


def test_file_in_arx_form_with_padding_quotes_and_bom(tmp_path: Path) -> None:
    path = tmp_path / "sex.csv"
    path.write_text('\ufeff"fe;male";any;*\r\nmale;any;*\r\n\r\nunknown;unknown;*\r\n', encoding="utf-8")
    sex = read_hierarchy(path)
    assert sex.chain("fe;male") == ("fe;male", "any", "*")
    assert sex.chain("unknown") == ("unknown", "*")
    assert format_hierarchy(sex) == '"fe;male";any;*\nmale;any;*\nunknown;unknown;*\n'


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'"a;b\n', b"a,b,*\n"])
def test_files_that_are_no_hierarchy_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        read_hierarchy(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_hierarchy(tmp_path / "none.csv")


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Random trees: every value's parent is an earlier one."""
    size = draw(st.integers(2, 25))
    parents = {f"v{n}": f"v{draw(st.integers(0, n - 1))}" for n in range(1, size)}
    return Hierarchy("tree", parents)


@given(trees())
def test_full_domain_recoding_is_consistent(tree: Hierarchy) -> None:
    """At every level the results partition the leaves, and they only become coarser with the level."""
    for level in range(tree.height + 1):
        results = {leaf: tree.generalize(leaf, level) for leaf in tree.leaves()}
        assert all(set(tree.leaves(r)) == {a for a, b in results.items() if b == r} for r in results.values())
        if level:
            assert all(tree.covers(results[leaf], tree.generalize(leaf, level - 1)) for leaf in results)
    assert {tree.generalize(leaf, tree.height) for leaf in tree.leaves()} == {tree.root}


@given(trees(), st.data())
def test_lowest_common_ancestor_by_definition(tree: Hierarchy, data: st.DataObject) -> None:
    """No child of the result covers all values, the result does."""
    values = data.draw(st.lists(st.sampled_from(sorted(tree)), min_size=1, max_size=4))
    result = tree.lowest_common_ancestor(values)
    assert all(tree.covers(result, v) for v in values)
    assert not any(all(tree.covers(child, v) for v in values) for child in tree.children(result))


@given(trees())
def test_files_round_trip(tmp_path_factory: pytest.TempPathFactory, tree: Hierarchy) -> None:
    path = tmp_path_factory.getbasetemp() / "round.csv"
    path.write_text(format_hierarchy(tree))
    assert read_hierarchy(path, "tree") == tree
    widths = {line.count(";") for line in path.read_text().splitlines()}
    assert widths == {tree.height}


@pytest.mark.parametrize("sign", ["\r", "\n", "\r\n", ";", '"', "\u2028", "\v", "\x85"])
def test_a_file_with_rare_signs_reads_as_it_was_written(tmp_path: Path, sign: str) -> None:
    tree = hierarchy_from_rows([(f"a{sign}b", "x", "*"), ("c", f"y{sign}", "*")], "rare")
    path = tmp_path / "rare.csv"
    path.write_bytes(format_hierarchy(tree).encode())
    assert read_hierarchy(path, "rare") == tree
