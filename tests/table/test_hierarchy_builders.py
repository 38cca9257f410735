"""Hierarchies made from values."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.table.hierarchy_builders import automatic, build_hierarchy, dates, icd_9_cm, icd_10_cm, intervals, prefixes


def test_intervals_of_whole_numbers() -> None:
    ages = intervals(["47", "3"], [10, 20])
    assert ages.chain("47") == ("47", "[40-49]", "[40-59]", "*")
    assert ages.chain("20") == ("20", "[20-29]", "[20-39]", "*")  # between the values: fits other rows
    assert intervals(["-3", "4"], [5]).chain("-3") == ("-3", "[-5--1]", "*")
    assert intervals(["3", "18"], [10], origin=3).chain("18") == ("18", "[13-22]", "*")


def test_intervals_of_measurements_do_not_overlap() -> None:
    weights = intervals(["60.5", "70.0", "69.9"], [5, 10])
    assert weights.chain("69.9") == ("69.9", "[65-69.9]", "[60-69.9]", "*")
    assert weights.chain("70.0") == ("70.0", "[70-74.9]", "[70-79.9]", "*")
    long = "39." + "9" * 26
    assert intervals([long, "40"], [20]).parent(long) == f"[20-{long}]"


def test_top_and_bottom_codes_make_open_intervals() -> None:
    ages = intervals(["<18", "35", "84", "90+"], [5, 20])
    assert ages.chain("90+") == ("90+", "80+", "*")
    assert ages.chain("84") == ("84", "[80-84]", "80+", "*")
    assert ages.chain("<18") == ("<18", "<=19", "*")
    assert ages.chain("35") == ("35", "[35-39]", "[20-39]", "*")
    beyond = intervals(["40", "85+", "91", "90 and over"], [10])
    assert beyond.chain("91") == ("91", "80+", "*")  # 85+ may be 91, so that no closed interval holds either
    halves = automatic(["10", "20", "30", "40", ">40"], groups=2)
    assert {text: halves.parent(text) for text in ("10", "30", "40", ">40")} == {
        "10": "[10-29]",
        "30": "30+",
        "40": "30+",
        ">40": "30+",
    }


def _range(label: str) -> tuple[float, float]:
    """Read a label by a grammar of its own."""
    if label == "*":
        return -math.inf, math.inf
    if found := re.fullmatch(r"\[(-?\d+)-(-?\d+)\]", label):
        return float(found[1]), float(found[2])
    number = float(label.strip("<>=+"))
    low = -math.inf if "<" in label else number + (label[0] == ">" and label[1] != "=")
    high = math.inf if ">" in label or "+" in label else number - ("<" in label and "=" not in label)
    return low, high


@given(
    st.lists(st.integers(-30, 120), min_size=1, max_size=12, unique=True),
    st.lists(st.tuples(st.sampled_from(["{}+", ">{}", ">={}", "<{}", "<={}"]), st.integers(-30, 120)), max_size=4),
    st.sampled_from(["intervals", "automatic"]),
)
def test_no_label_claims_more_than_its_values_say(plain: list[int], codes: list[tuple[str, int]], kind: str) -> None:
    values = list(dict.fromkeys([*map(str, plain), *(form.format(number) for form, number in codes)]))
    tree = build_hierarchy(kind, values, **({"widths": [5, 20]} if kind == "intervals" else {"groups": 4}))
    for value in values:
        low, high = _range(value)
        for label in tree.chain(value):
            above = _range(label)
            assert above[0] <= low
            assert high <= above[1]


def test_automatic_intervals_by_rows_and_by_width() -> None:
    values = [str(value) for value in range(1, 9)]
    skewed = automatic(values, [93, 1, 1, 1, 1, 1, 1, 1], groups=4)
    assert skewed.parent("8") == "[2-8]"  # one value has nearly all the rows
    even = automatic(values, groups=4)
    assert even.chain("3") == ("3", "[3-4]", "[1-4]", "*")
    wide = automatic(["0", "1", "2", "100"], method="equal", groups=2)
    assert wide.chain("2") == ("2", "[0-49]", "*")


@given(st.lists(st.decimals(-50, 50, places=1), min_size=1, max_size=30, unique=True), st.sampled_from([2, 4, 8]))
def test_automatic_intervals_hold_their_values(values: list[object], groups: int) -> None:
    from deid.disclosure.cells import cover_table

    texts = sorted({f"{value:.1f}" for value in values})
    for method in ("quantile", "equal"):
        tree = automatic(texts, method=method, groups=groups)
        for text in texts:
            chain = tree.chain(text)
            assert cover_table(chain[:-1], [text])[: len(chain) - 1, 0].all()
            sizes = [tree.leaf_count(value) for value in chain]
            assert sizes == sorted(sizes)


def test_dates_zip_codes_and_their_levels() -> None:
    born = dates(["1927-07-15", "1935-01-02"])
    assert born.chain("1927-07-15") == ("1927-07-15", "1927-07", "1927", "[1925-1929]", "[1920-1929]", "*")
    assert prefixes(["61802", "61801"]).chain("61802") == ("61802", "6180*", "618**", "61***", "6****", "*")
    assert prefixes(["61802", "60606"], [3]).chain("61802") == ("61802", "618**", "*")
    assert prefixes(["617"], [4, 2]).chain("617") == ("617", "61*", "*")


def test_diagnosis_codes() -> None:
    ten = icd_10_cm(["E11.65", "E1165", "B20", "C4A.0"])
    assert ten.chain("E11.65") == ("E11.65", "E11.6", "E11", "E08-E13", "E00-E89", "*")
    assert ten.chain("E1165") == ("E1165", "E116", "E11", "E08-E13", "E00-E89", "*")
    assert ten.chain("B20") == ("B20", "A00-B99", "*")
    assert ten.parent("C4A") == "C43-C44"
    nine = icd_9_cm(["401.1", "4019", "V85.1", "E885.9", "042", "401"])
    assert nine.chain("401.1") == ("401.1", "401", "401-405", "390-459", "*")
    assert nine.chain("4019")[1:] == ("401", "401-405", "390-459", "*")
    assert nine.chain("E885.9") == ("E885.9", "E885", "E880-E888", "E000-E999", "*")
    assert nine.chain("V85.1") == ("V85.1", "V85", "V01-V91", "*")
    assert nine.chain("042") == ("042", "001-139", "*")


def test_icd_10_categories_agree_with_the_package_that_they_come_from() -> None:
    icd = pytest.importorskip("simple_icd_10_cm")
    codes = ["A00.1", "C7B.02", "E11.65", "I10", "O80", "S72.001A", "Z99.89", "U07.1"]
    tree = icd_10_cm(codes)
    for code in codes:
        above = [value for value in icd.get_ancestors(code) if value != code and not value.isdigit()]
        assert set(above) <= set(tree.chain(code)), code


@pytest.mark.parametrize(
    ("kind", "values", "options", "message"),
    [
        ("interval", ["1"], {}, "no kind of hierarchy 'interval'"),
        ("intervals", ["1"], {"width": 5}, "other options"),
        ("intervals", ["1", "2"], {"widths": [5, 7]}, "not nested"),
        ("intervals", ["1.5"], {"widths": [0.01]}, "not nested"),
        ("intervals", ["Zebedee"], {}, "not a number"),
        ("automatic", ["1"], {"groups": 3}, "power of two"),
        ("dates", ["Zebedee"], {}, "no date"),
        ("dates", ["1927-07-15"], {"years": [4, 6]}, "not nested"),
        ("prefixes", ["1"], {"keep": [2, 3]}, "do not descend"),
        ("icd-10-cm", ["E11.65", "Zebedee"], {}, "1 of 2 values are no codes"),
        ("icd-9-cm", ["999999x.y.z", "401"], {}, "values are no codes"),
    ],
)
def test_what_cannot_be_built(kind: str, values: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises((ConfigError, InputError)) as caught:
        build_hierarchy(kind, values, **options)
    assert message in str(caught.value)
    assert "Zebedee" not in str(caught.value)
