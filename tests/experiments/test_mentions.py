"""Made-up mentions have the errors that their rates state."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.experiments.mentions import COLUMNS, Rates, make_mentions
from deid.reading.identity import full_names

SIZE = 20_000
NONE = Rates(**{
    one.name: 0.0 for one in dataclasses.fields(Rates) if one.name not in ("mentions", "common", "common_surname")
})  # fmt: skip


@pytest.fixture(scope="module")
def plain() -> pd.DataFrame:
    return make_mentions(SIZE, NONE, 3)


def _of(**rates: float) -> pd.DataFrame:
    return make_mentions(SIZE, dataclasses.replace(NONE, **rates), 3)


def test_without_errors_all_mentions_of_a_person_are_equal(plain: pd.DataFrame) -> None:
    assert tuple(plain) == COLUMNS
    assert plain.notna().all().all()
    assert plain["mention"].is_unique
    assert len(plain) == SIZE
    assert (plain.drop(columns="mention").groupby("person").nunique() == 1).all().all()
    assert abs(SIZE / plain["person"].nunique() - NONE.mentions) < 0.1


def test_the_same_seed_gives_the_same_table_and_another_one_others() -> None:
    first = make_mentions(500, seed=1)
    assert first.equals(make_mentions(500, seed=1))
    assert not first.equals(make_mentions(500, seed=2))


@pytest.fixture(scope="module")
def usual() -> pd.DataFrame:
    return make_mentions(SIZE)


@pytest.mark.parametrize("column", ["birth_date", "sex", "record_number", "phone", "zip", "city", "street"])
def test_values_are_missing_at_the_stated_rate(usual: pd.DataFrame, column: str) -> None:
    assert abs(usual[column].isna().mean() - getattr(Rates(), f"no_{column}")) < 0.01


WRONG = {"wrong_birth_date": "birth_date", "first_typo": "first", "last_typo": "last", "wrong_sex": "sex",
         "record_number_typo": "record_number", "phone_typo": "phone"}  # fmt: skip
"""Rate -> the column that it is of, one each."""


@pytest.fixture(scope="module")
def wrong() -> pd.DataFrame:
    return _of(**dict.fromkeys(WRONG, 0.2))


@pytest.mark.parametrize("column", WRONG.values())
def test_values_are_wrong_at_the_stated_rate(plain: pd.DataFrame, wrong: pd.DataFrame, column: str) -> None:
    assert {name: (plain[name] != wrong[name]).any() for name in COLUMNS} == {
        name: name in WRONG.values() for name in COLUMNS
    }
    found = wrong[wrong["person"] < "p0002500"]
    usual = found.groupby("person")[column].transform(lambda values: values.mode().iloc[0])
    # the most frequent value is a little more often found than the true one, most of all where mentions are few
    several = found.groupby("person")[column].transform("size") >= 4
    assert 0.14 < (found[column] != usual)[several].mean() < 0.21
    pd.testing.assert_index_equal(found.columns, pd.Index(COLUMNS))


def test_half_of_the_wrong_dates_that_can_be_swapped_are_swapped(plain: pd.DataFrame) -> None:
    found = _of(wrong_birth_date=1.0)
    truth = plain.drop_duplicates("person").set_index("person")["birth_date"]
    day = found["birth_date"].str[8:]
    assert (pd.to_datetime(found["birth_date"]).notna()).all()
    assert set(found["person"]) == set(truth.index)
    true = found["person"].map(truth)
    swapped = (true.str[5:7] == day) & (true.str[8:] == found["birth_date"].str[5:7])
    can = (true.str[8:].astype(int) <= 12) & (true.str[8:] != true.str[5:7])
    assert 0.45 < swapped[can].mean() < 0.55
    assert not (found["birth_date"] == true).any()


def test_families_look_alike_and_are_as_many_as_stated() -> None:
    twins = _of(twin=0.2, common_surname=0.0).drop_duplicates("person")
    alike = twins.duplicated(["last", "birth_date", "street", "zip", "phone"], keep=False)
    assert abs(alike.mean() - 0.2) < 0.01
    juniors = _of(junior=0.2, suffix=1.0).drop_duplicates("person")
    named = juniors["last"].str.removesuffix(" Jr.")
    alike = juniors.assign(last=named).duplicated(["first", "last", "street", "phone"], keep=False)
    assert abs(alike.mean() - 0.2) < 0.01
    assert abs(juniors["last"].str.endswith(" Jr.").mean() - 0.1) < 0.01
    assert set(juniors[alike]["sex"]) == {"M"}


def test_short_forms_and_initials_stand_for_the_name_at_the_stated_rate(plain: pd.DataFrame) -> None:
    truth = plain.drop_duplicates("person").set_index("person")["first"]
    for rate in ("initial", "nickname"):
        found = _of(**{rate: 1.0})
        true = found["person"].map(truth)
        if rate == "initial":
            assert (found["first"].str[0] == true.str[0]).all()
            assert (found["first"].str.len() <= 2).all()
        else:
            changed = found["first"] != true
            assert changed.mean() > 0.3
            pairs = zip(found["first"][changed].str.lower(), true[changed].str.lower(), strict=True)
            assert all(name in full_names(form) for form, name in pairs)


def test_some_women_marry_and_some_persons_move() -> None:
    found = _of(married=1.0, moved=1.0)
    values = found.groupby("person")[["last", "phone", "sex"]].nunique()
    sexes = found.groupby("person")["sex"].first()
    assert (values["last"][sexes == "M"] == 1).all()
    assert (values["last"][sexes == "F"] == 2).mean() > 0.4
    assert (values["phone"] == 2).mean() > 0.4
    assert values["phone"].max() == 2


@pytest.mark.parametrize("wrong", [{"twin": -0.1}, {"no_zip": 1.5}, {"mentions": 0.5}, {"couple": 0.9, "twin": 0.2}])
def test_impossible_rates_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Rates(**wrong)


def test_no_mentions_are_refused() -> None:
    with pytest.raises(ConfigError, match="0 mentions"):
        make_mentions(0)
