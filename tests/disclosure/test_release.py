from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError, DeidError, InputError, OutputError
from deid.disclosure import methods
from deid.disclosure.anonymizers import Anonymizer
from deid.disclosure.assessment import Requirements
from deid.disclosure.methods import METHODS, MethodOptions, Recoding
from deid.disclosure.queries import PublishedColumn
from deid.disclosure.release import anonymize
from deid.disclosure.scheme import Scheme, apply_scheme, read_scheme, scheme_of
from deid.table.microdata import Microdata
from tests.disclosure.tables import REGIONS, random_table


@pytest.mark.parametrize("method", ["local", "mondrian", "relaxed", "bottom-up", "top-down", "hybrid", "optimal"])
@pytest.mark.parametrize(
    "asked", [Requirements(k=2, epsilon_m=(5.0, 1.5)), Requirements(k=3, range_diversity=(0.2, 0.7))], ids=str
)
def test_numeric_sensitive_values_are_kept_apart(method: str, asked: Requirements) -> None:
    rng = np.random.default_rng(4)
    table = random_table(90, 3)
    frame = table.frame.assign(cost=rng.choice([10, 12, 40, 70, 90], 90))
    data = Microdata(frame, {**table.roles, "disease": "other", "cost": "sensitive"}, table.hierarchies)
    release = anonymize(data, asked, method, MethodOptions(suppression=0.4))
    assert [finding.model for finding in release.findings if finding.asked is not None][1:]
    assert release.loss.classes > 1


def test_loss_grows_with_k() -> None:
    table = random_table(400, 8)
    for method in ("local", "mondrian", "top-down", "optimal"):
        losses = [
            anonymize(table, Requirements(k=k), method, MethodOptions(suppression=0.05)).loss for k in (2, 5, 15, 50)
        ]
        assert [loss.ncp for loss in losses] == sorted(loss.ncp for loss in losses)
        assert [loss.dm for loss in losses] == sorted(loss.dm for loss in losses)


def test_a_release_that_the_verifier_rejects_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(60, 1)

    def broken(coded, constraint, options, target):
        found = METHODS["mondrian"](coded, constraint, options, target)
        classes = found.classes.copy()
        classes[0] = classes.max() + 1  # one row alone
        return Recoding(classes)

    monkeypatch.setitem(methods.METHODS, "broken", broken)
    with pytest.raises(OutputError, match="verifier rejects what the method broken found: k-anonymity"):
        anonymize(table, Requirements(k=4), "broken")


def test_cells_that_are_not_true_are_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(60, 1)

    def lying(coded, constraint, options, target):
        low = np.zeros(1, dtype=np.int32)
        return Recoding(np.zeros(60, dtype=np.intp), None, [(low, low)] * 3)

    monkeypatch.setitem(methods.METHODS, "lying", lying)
    with pytest.raises(OutputError, match="sex, place, age that are not true"):
        anonymize(table, Requirements(k=4), "lying")


def test_identifiers_persons_and_the_order_of_rows_do_not_leave() -> None:
    table = random_table(80, 5, persons=70)
    frame = table.frame.assign(name=[f"P{i}" for i in range(80)], note="text")
    data = Microdata(frame, {**table.roles, "name": "identifier", "note": "free-text"}, table.hierarchies, "person")
    release = anonymize(data, Requirements(k=5))
    assert list(release.table().columns) == ["age", "sex", "place", "disease"]
    shuffled = np.random.default_rng(0).permutation(80)
    other = Microdata(frame.iloc[shuffled].reset_index(drop=True), data.roles, data.hierarchies, "person")
    assert len(anonymize(other, Requirements(k=5)).table()) == 80
    keys = [release.recoded.codes(name).codes for name in ("sex", "place", "age", "disease")]  # few values first
    assert release.table()["disease"].tolist() == release.recoded.frame["disease"].iloc[np.lexsort(keys[::-1])].tolist()


def test_notes_of_one_person_do_not_make_a_crowd() -> None:
    frame = pd.DataFrame({"age": [30] * 5 + [40] * 5, "mrn": [1] * 5 + [2, 3, 4, 5, 6]})
    data = Microdata(frame, {"age": "quasi-identifier"}, person="mrn")
    release = anonymize(data, Requirements(k=2))
    assert release.aligned()["age"].tolist() == ["[30-40]"] * 10
    assert release.risks[1].smallest_class == 6


@pytest.mark.parametrize(
    ("asked", "method", "message"),
    [
        (Requirements(k=61), "auto", "60 records can reach 61-anonymity"),
        (Requirements(k=2, l=5), "auto", "can reach distinct 5-diversity of disease"),
        (Requirements(k=5), "mondriaan", "no method 'mondriaan'. Hint: did you mean 'mondrian'"),
        (Requirements(), "auto", "nothing is asked for"),
        (Requirements(k=2, presence=(0, 1)), "auto", "need a population table"),
        (Requirements(k=2, l=2), "kk", "takes no other model"),
        (Requirements(k=61), "optimal", "reaches 61-anonymity with so few rows suppressed"),
    ],
)
def test_what_cannot_be_is_refused(asked: Requirements, method: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        anonymize(random_table(60, 2), asked, method)


def test_a_hundred_columns() -> None:
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(100)]
    frame = pd.DataFrame(rng.integers(0, 4, (150, 100)), columns=names)
    data = Microdata(frame, dict.fromkeys(names, "quasi-identifier"))
    for method in ("auto", "mondrian", "optimal"):
        release = anonymize(data, Requirements(k=5), method, MethodOptions(suppression=0.1))
        assert release.findings[0].verdict.level >= 5


@pytest.mark.parametrize("method", ["local", "mondrian", "optimal"])
def test_a_scheme_is_kept_and_applied_to_new_rows(tmp_path, method: str) -> None:
    table = random_table(600, 1)
    release = anonymize(table, Requirements(k=4), method, MethodOptions(suppression=0.1))
    file = tmp_path / "scheme.json"
    file.write_text(scheme_of(release).to_json())
    scheme = read_scheme(file)
    assert scheme == scheme_of(release)
    new = random_table(500, 2)
    applied = apply_scheme(scheme, new, Requirements(k=4))
    assert applied.suppressed < 250
    share = applied.suppressed / len(new)
    assert (
        apply_scheme(scheme, new, Requirements(k=4), MethodOptions(suppression=share)).suppressed == applied.suppressed
    )
    if share:
        with pytest.raises(ConfigError, match="would be suppressed"):
            apply_scheme(scheme, new, Requirements(k=4), MethodOptions(suppression=share - 0.001))
    assert applied.findings[0].verdict.level >= 4
    known = {tuple(row) for row in release.recoded.frame[["age", "sex", "place"]].astype(str).to_numpy()}
    if not scheme.levels:
        assert {tuple(row) for row in applied.recoded.frame[["age", "sex", "place"]].astype(str).to_numpy()} <= known
    with pytest.raises(ConfigError, match="would be suppressed"):
        apply_scheme(scheme, random_table(10, 3), Requirements(k=9), MethodOptions(suppression=0.1))


@pytest.mark.parametrize("seed", range(4))
def test_a_scheme_has_every_published_row_missing_cells_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(["u", "v", "w", None], 400) for name in ("a", "b", "c")})
    release = anonymize(Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier")), Requirements(k=2), "local")
    shown = {tuple(None if cell != cell else cell for cell in row) for row in release.recoded.frame.to_numpy()}
    assert set(scheme_of(release).cells) == shown
    assert any(None in row for row in shown)


def test_a_scheme_of_levels_recodes_new_rows_along_the_hierarchies_it_was_made_with() -> None:
    frame = pd.DataFrame({"place": ["Lyon", "Nice", "Bonn", "Kyoto", "Osaka", "Lima"] * 2})
    roles = {"place": "quasi-identifier"}
    scheme = Scheme(("place",), levels=(2,))
    applied = apply_scheme(scheme, Microdata(frame, roles, {"place": REGIONS}), Requirements(k=2))
    coarse = dict.fromkeys(("Lyon", "Nice", "Bonn"), "Europe") | {"Kyoto": "Asia", "Osaka": "Asia", "Lima": "America"}
    assert applied.recoded.frame["place"].tolist() == [coarse[frame["place"][row]] for row in applied.rows]
    # cells that were general already, and are no value of the hierarchy, stay as they are
    general = frame.assign(place=frame["place"].replace({"Bonn": "L*", "Kyoto": "Asia"}))
    applied = apply_scheme(scheme, Microdata(general, roles, {"place": REGIONS}), Requirements(k=2))
    assert set(applied.recoded.frame["place"]) == {"Europe", "Asia", "America", "L*"}
    with pytest.raises(ConfigError, match="needs the hierarchy of column 'place'"):
        apply_scheme(scheme, Microdata(frame, roles), Requirements(k=2))


def test_new_rows_are_transformed_by_the_fitted_scheme() -> None:
    anonymizer = Anonymizer(k=2, method="mondrian").fit(random_table(60, 1))
    new = random_table(60, 2)
    release = anonymizer.transform(new)
    by_hand = apply_scheme(anonymizer.scheme_, new, Requirements(k=2), MethodOptions(1.0))
    pd.testing.assert_frame_equal(release.table(), by_hand.table())


def test_all_rows_of_a_published_column_count_where_none_are_chosen() -> None:
    table = random_table(40, 1)
    release = anonymize(table, Requirements(k=3), "mondrian")
    whole = PublishedColumn.of(release.original, release.recoded, "age")
    some = PublishedColumn.of(release.original, release.recoded, "age", np.array([3, 1]))
    assert len(whole.certain((18, 60))) == 40
    assert some.certain((18, 30)).tolist() == whole.certain((18, 30))[[3, 1]].tolist()


def test_a_scheme_without_rows_recodes_nothing() -> None:
    table = random_table(20, 1)
    with pytest.raises(InputError, match="the scheme has no cells"):
        apply_scheme(Scheme(table.quasi_identifiers), table, Requirements(k=2))


def test_a_file_that_is_no_scheme_is_refused(tmp_path) -> None:
    for text in ("", "[]", '{"format": "deid recoding scheme 1", "columns": ["a"], "cells": [["x", "y"]]}'):
        (tmp_path / "s.json").write_text(text)
        with pytest.raises(ConfigError, match="not a recoding scheme"):
            read_scheme(tmp_path / "s.json")


def test_the_class_works_as_scikit_learns_do() -> None:
    from sklearn.base import clone

    anonymizer = clone(Anonymizer(k=3, method="mondrian"))
    assert anonymizer.get_params()["k"] == 3
    assert anonymizer.set_params(k=4).k == 4
    with pytest.raises(DeidError, match="did you mean 'method'"):
        anonymizer.set_params(metod="local")
    with pytest.raises(DeidError, match="fit first"):
        anonymizer.transform(random_table(50, 2))
    release = anonymizer.fit_transform(random_table(300, 1))
    assert release.method == "mondrian"
    assert anonymizer.transform(random_table(300, 2)).findings[0].verdict.level >= 4


@pytest.mark.parametrize("method", ["mondrian", "local", "same-disease", "population"])
def test_the_time_of_a_search_is_that_of_the_search(method: str) -> None:
    """It is told in reports, and compared between methods."""
    everybody = random_table(300, 4)
    data = Microdata(everybody.frame.head(40), everybody.roles, everybody.hierarchies)
    asked = Requirements(presence=(0.0, 0.9)) if method == "population" else Requirements(k=2)
    whole = everybody if method in ("same-disease", "population") else None
    begun = time.process_time()
    made = anonymize(data, asked, "mondrian" if method == "population" else method, population=whole)
    assert 0 <= made.seconds <= time.process_time() - begun


def test_a_cell_meets_a_condition_for_certain_when_all_that_it_may_be_does() -> None:
    ages = Microdata(pd.DataFrame({"age": [20, 22, 29, 31]}), {"age": "quasi-identifier"})
    shown = Microdata(pd.DataFrame({"age": ["[20-29]", "[20-29]", "*", "31"]}), {"age": "quasi-identifier"})
    column = PublishedColumn.of(ages, shown, "age")
    assert column.certain((20, 29)).tolist() == [True, True, False, False]
    assert column.certain((20, 28)).tolist() == [False, False, False, False]
    assert column.certain((0, 99)).tolist() == [True, True, False, True]
    assert column.middles().tolist() == [24.5, 24.5, 25.5, 31]


def test_the_picture_of_class_sizes_tells_before_from_after() -> None:
    from deid.disclosure.release_report import _sizes

    release = anonymize(random_table(60, 1), Requirements(k=4), "mondrian")
    (axes,) = _sizes(release).axes
    before, after = axes.lines
    assert (before.get_label(), after.get_label()) == ("before", "after")
    assert before.get_color() != after.get_color()
    assert min(before.get_xdata()) < 4 <= min(after.get_xdata())
    for line in (before, after):  # rows in classes up to each size, all of them in the end
        sizes = np.asarray(line.get_xdata())
        assert np.asarray(line.get_ydata()) == pytest.approx(np.cumsum(sizes) / sizes.sum())
    assert "size" in axes.get_xlabel()
    assert "share" in axes.get_ylabel()


def test_what_is_published_keeps_the_kinds_that_were_declared() -> None:
    frame = pd.DataFrame({"age": [20, 21, 30, 31] * 3, "ward": [101, 102] * 6})  # numbers of wards measure nothing
    roles = {"age": "quasi-identifier", "ward": "sensitive"}
    for kind in ("nominal", "numeric"):
        release = anonymize(Microdata(frame, roles, kinds={"ward": kind}, each_row_a_person=True), Requirements(k=2))
        assert release.published.kind("ward") == kind
