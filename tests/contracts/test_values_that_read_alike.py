"""A disease is one value however it is written: what counts sensitive values counts what a reader takes them for."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import DeidError, InputError
from deid.disclosure.assessment import Requirements, assess
from deid.disclosure.composition import composition_attack
from deid.disclosure.constraints import AlphaK
from deid.disclosure.disk_levels import assess_on_disk
from deid.disclosure.encoding import encode
from deid.disclosure.methods import METHODS, MethodOptions, recode
from deid.disclosure.privacy import alpha_k_anonymity
from deid.disclosure.release import anonymize
from deid.disclosure.schema import Column, Schema
from deid.table.hierarchy_builders import automatic, icd_9_cm, prefixes
from deid.table.microdata import Microdata
from deid.trajectories.clustering import anonymize_trajectories
from deid.trajectories.measures import check_trajectories
from deid.trajectories.records import trajectories_of_table

WORDS = ["grippe é", "asthma", "hiv"]
WRITTEN = [
    str,
    str.upper,
    "{} ".format,
    "\t{}".format,
    "{}\u00a0".format,
    "{}\u200b".format,
    lambda word: unicodedata.normalize("NFD", word),
    lambda word: "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in word),  # full width
]
"""Ways in which one word gets into a table."""

rows = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([*WORDS, None])), min_size=1, max_size=12)
ways = st.lists(st.sampled_from(WRITTEN), min_size=12, max_size=12)


def table(cells: list[tuple[int, str | None]], how: list[object] | None = None) -> Microdata:
    said = [None if word is None else how[at](word) if how else word for at, (_, word) in enumerate(cells)]  # type: ignore[operator]
    frame = pd.DataFrame({"age": [str(age) for age, _ in cells], "dx": pd.array(said, "object")})
    return Microdata(frame, {"age": "quasi-identifier", "dx": "sensitive"})


ALL = Requirements(k=1, l=2, entropy_l=1.5, c=2.0, alpha=0.7, t=0.3, beta=1.0)


@settings(max_examples=60)
@given(rows, ways)
def test_verifiers_find_the_same_however_values_are_written(
    cells: list[tuple[int, str | None]], how: list[object]
) -> None:
    plain, odd = (assess(data, ALL) for data in (table(cells), table(cells, how)))
    assert [(f.name, f.verdict) for f in plain] == [(f.name, f.verdict) for f in odd]


@settings(max_examples=8)
@given(rows, ways)
def test_verifiers_on_disk_do_too(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[int, str | None]], how: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("disk")
    schema = Schema({"age": Column("quasi-identifier"), "dx": Column("sensitive")}, None, True)
    asked = Requirements(k=1, l=2, entropy_l=1.5, alpha=0.7, t=0.3, beta=1.0)
    data = table(cells, how)
    data.frame.to_parquet(folder / "t.parquet")
    found = assess_on_disk(folder / "t.parquet", schema, asked, folder, memory=2 * 10**8)
    assert {(f.name, f.verdict.ok) for f in found} == {(f.name, f.verdict.ok) for f in assess(data, asked)}
    for one, other in zip(found, assess(table(cells), asked), strict=True):
        assert one.verdict.level == pytest.approx(other.verdict.level)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"kk", "mdav", "records", "incognito", "r-gather"}))
def test_a_release_has_as_many_values_a_class_as_a_reader_sees(method: str) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(20, 40, 60), "zip": rng.choice(["02139", "02140", "10027"], 60)})
    frame["dx"] = [WRITTEN[way](word) for way, word in zip(rng.integers(0, 8, 60), rng.choice(WORDS, 60), strict=True)]
    data = Microdata(
        frame,
        {"age": "quasi-identifier", "zip": "quasi-identifier", "dx": "sensitive"},
        {"zip": prefixes(sorted(set(frame["zip"])))},
        each_row_a_person=True,
    )
    release = anonymize(data, Requirements(k=2, l=3), method, MethodOptions(suppression=0.5))
    for _, group in release.table().groupby(["age", "zip"], dropna=False):
        seen = {unicodedata.normalize("NFKC", text).replace("\u200b", "").strip().casefold() for text in group["dx"]}
        assert len(seen) >= 3


def test_numbers_of_a_numeric_column_are_one_however_many_places_they_have() -> None:
    frame = pd.DataFrame({"age": ["30"] * 4, "cost": ["2.5", "2.50", "2.500", "02.5"]})
    roles = {"age": "quasi-identifier", "cost": "sensitive"}
    levels = {
        kind: assess(Microdata(frame, roles, kinds={"cost": kind}), ALL)[1].verdict.level
        for kind in ("numeric", "nominal")
    }
    assert levels == {"numeric": 1.0, "nominal": 4.0}  # codes such as 250.0 and 250.00 are two


@settings(max_examples=40)
@given(rows, rows, ways, ways)
def test_two_releases_tell_the_same_together_however_values_are_written(
    one: list[tuple[int, str | None]], other: list[tuple[int, str | None]], how: list[object], more: list[object]
) -> None:
    plain = composition_attack(table(one), table(other), "dx")
    assert composition_attack(table(one, how), table(other, more), "dx") == plain


def test_protected_values_are_told_by_what_they_mean() -> None:
    data = table([(0, "hiv"), (0, "hiv"), (0, "asthma")], [str.upper, str, str])
    for said in ("hiv", "HIV "):
        assert alpha_k_anonymity(data, "dx", 0.5, 1, [said]).level == (pytest.approx(2 / 3), 3.0)
        with pytest.raises(DeidError, match="no release"):
            recode(encode(data), AlphaK(0.5, "dx", (said,)), "mondrian", MethodOptions())


def test_what_rules_leave_is_counted_of_what_values_mean() -> None:
    frame = pd.DataFrame({"age": ["30"] * 4, "dx": ["flu", "Flu", "FLU ", "flu"]})
    data = Microdata(frame, {"age": "quasi-identifier", "dx": "sensitive"}, each_row_a_person=True)
    with pytest.raises(DeidError, match="no release of these 4 records"):
        anonymize(data, Requirements(k=2), rules_left=2)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["401.0", "401.1", "250.00"]), st.sampled_from([*WORDS, None])),
        min_size=4,
        max_size=14,
    ),
    st.lists(st.sampled_from(WRITTEN), min_size=14, max_size=14),
    st.sampled_from(["a-gs", "baseline"]),
)
def test_equal_trajectories_have_as_many_values_as_a_reader_sees(
    cells: list[tuple[str, str | None]], how: list[object], method: str
) -> None:
    said = ["" if word is None else how[at](word) for at, (_, word) in enumerate(cells)]  # type: ignore[operator]
    frame = pd.DataFrame({"who": range(len(cells)), "code": [code for code, _ in cells], "age": "40", "dx": said})
    tree = icd_9_cm(sorted(set(frame["code"])))
    data = trajectories_of_table(
        frame, tree, automatic(["40", "41"], name="ages"), person="who", code="code", age="age", sensitive="dx"
    )
    words = dict(zip(map(str, frame["who"]), (word for _, word in cells), strict=True))
    if len({word for _, word in cells} - {None}) < 2:
        with pytest.raises(InputError, match="fewer than 2 sensitive values"):
            anonymize_trajectories(data, 2, method=method, diversity=2)
        return
    release = anonymize_trajectories(data, 2, method=method, diversity=2)
    assert check_trajectories(release.published(), 2, data, 2)[0]
    classes: dict[bytes, set[str]] = {}
    for who, history in zip(data.people, release.published(), strict=True):
        classes.setdefault(history.tobytes(), set()).update({words[who]} - {None})  # type: ignore[arg-type]
    assert all(len(values) != 1 for values in classes.values())
