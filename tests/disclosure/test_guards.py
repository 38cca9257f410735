"""What must hold before any release: the same refusals for the command, the functions, the estimator and the scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from split_patients import table

from deid.base.errors import ConfigError
from deid.disclosure.anonymizers import Anonymizer
from deid.disclosure.assessment import Requirements
from deid.disclosure.frontier import map_releases
from deid.disclosure.guards import check_published, drop_unnamed
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import anonymize
from deid.disclosure.scheme import apply_scheme, scheme_of
from deid.linkage.look_alikes import LookAlikes
from deid.table.microdata import Microdata

ROLES = {"age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive", "mrn": "identifier"}


def people(rows: int = 40, **columns: object) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "mrn": [f"M{i}" for i in range(rows)],
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "disease": rng.choice(["flu", "cold", "asthma"], rows),
            **columns,
        }
    )


def by_scheme(data: Microdata) -> object:
    return apply_scheme(scheme_of(anonymize(Microdata(people(), ROLES), Requirements(k=3))), data, Requirements(k=3))


DOORS: dict[str, Callable[[Microdata], object]] = {
    "anonymize": lambda data: anonymize(data, Requirements(k=3)),
    "fit_transform": lambda data: Anonymizer(k=3).fit_transform(data),
    "scheme": by_scheme,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("ssn", [f"123-45-{6000 + i}" for i in range(40)], "identifier"),
        ("mother", [f"Ann Smith {i}" for i in range(40)], "identifier"),
        ("comment", ["a long text about the patient, her family and her work"] * 39 + ["x" * 60], "free-text"),
        ("town", ["Lyon", "Nice"] * 20, "quasi-identifier"),
        ("income", list(range(40)), "sensitive"),
    ],
)
def test_a_column_that_nobody_named_is_never_published(door: str, name: str, values: list[object], role: str) -> None:
    frame = people(**{name: values})
    with pytest.raises(ConfigError, match=f"nothing is said of the columns '{name}' .{role}") as refused:
        DOORS[door](Microdata(frame, ROLES))
    assert "Smith" not in str(refused.value)
    named = DOORS[door](Microdata(frame, {**ROLES, name: "other"}))
    assert name in named.table().columns
    left = DOORS[door](drop_unnamed(Microdata(frame, ROLES)))
    assert list(left.table().columns) == ["age", "sex", "disease"]
    assert left.as_dict()["columns"][name] == {"role": "dropped", "fate": "dropped"}


@pytest.mark.parametrize("door", [*DOORS, "map"])
def test_rows_of_one_person_are_no_crowd(door: str) -> None:
    through = {**DOORS, "map": lambda data: map_releases(data, ["mondrian"], [3])}[door]
    notes = people().assign(mrn=[f"M{i // 3}" for i in range(40)])
    data = Microdata(notes, ROLES)
    with pytest.raises(ConfigError, match="several rows share a value of 'mrn'"):
        through(data)
    through(Microdata(notes, ROLES, each_row_a_person=True))
    through(Microdata(notes, ROLES, person="mrn"))
    for role in ("dropped", "other"):
        with pytest.raises(ConfigError, match="several rows share"):
            through(Microdata(notes, {**ROLES, "mrn": role}))


@pytest.mark.parametrize("door", [*DOORS, "map", "published"])
@pytest.mark.parametrize("way", ["07X", " 7X", "7X ", "7x", "\uff17X", "7X\u200b", "7X\u00a0"])
def test_an_id_that_is_written_in_several_ways_is_no_second_person(door: str, way: str) -> None:
    """*0012* and *12* would be two, and a class of three rows of two persons would be three."""
    through = {
        **DOORS,
        "map": lambda data: map_releases(data, ["mondrian"], [3]),
        "published": lambda data: check_published(data, None),
    }[door]
    ids = [f"{i + 7}X" for i in range(40)]
    frame = people(mrn=[way, *ids[:39]])
    with pytest.raises(ConfigError, match="1 ids of persons are written in several ways") as refused:
        through(Microdata(frame, ROLES, person="mrn"))
    assert "7" not in str(refused.value)
    through(Microdata(frame, ROLES, person="mrn", persons_as_given=True))


@pytest.mark.parametrize(
    ("columns", "shared"),
    [
        ({"name": ["Ann Lee", "Ann Lee", "Bo Ray", "Cy Day"], "mrn": ["1", "2", "3", "4"]}, None),
        ({"name": ["Ann Lee", "Ann Lee", "Bo Ray", "Cy Day"]}, "name"),
        ({"name": ["Ann Lee", "Ann Lee", "Bo Ray", "Cy Day"], "mrn": ["1", "1", "3", "4"]}, "mrn"),
        ({"first_name": ["Ann", "Ann", "Bo", "Cy"], "doctor": ["Roe"] * 4, "city": ["Lyon"] * 4}, None),
        ({"patientId": [7, 7, 8, 9]}, "patientId"),
        ({"PatNr": ["0012", "12", "8", "9"]}, "PatNr"),
        ({"mrn": ["a1", " A1", "8", "9"]}, "mrn"),
        ({"patient": [7, 7, 8, 9]}, "patient"),
        ({"patient_status": ["in", "in", "out", "out"]}, None),
        ({"register_nr": ["a", "a", "b", "c"]}, "register_nr"),
    ],
)
def test_names_repeat_by_chance_and_numbers_of_persons_do_not(
    columns: dict[str, list[object]], shared: str | None
) -> None:
    frame = pd.DataFrame({"age": [30, 30, 40, 40], **columns})
    role = "dropped" if shared is None else "identifier"
    data = Microdata(frame, {"age": "quasi-identifier", **dict.fromkeys(columns, role)})
    if shared is None:
        assert len(anonymize(data, Requirements(k=2)).table()) == 4
        return
    with pytest.raises(ConfigError, match=f"share a value of '{shared}'"):
        anonymize(data, Requirements(k=2))


def test_what_is_called_published_may_leave() -> None:
    frame = people(ward=["a", "b"] * 20, note=["text"] * 40, left=range(40))
    roles = {**ROLES, "ward": "other", "note": "free-text", "left": "dropped"}
    rows = np.random.default_rng(0).permutation(40)
    releases = [
        anonymize(Microdata(part.reset_index(drop=True), roles), Requirements(k=3), "mondrian")
        for part in (frame, frame.iloc[rows])
    ]
    first, second = (release.published for release in releases)
    assert list(first.frame.columns) == ["age", "sex", "disease", "ward"]
    assert first.person is None
    pd.testing.assert_frame_equal(first.frame.astype(str), second.frame.astype(str))
    assert {name: what["fate"] for name, what in releases[0].as_dict()["columns"].items()} == {
        "mrn": "dropped",
        "age": "generalized",
        "sex": "generalized",
        "disease": "published",
        "ward": "unaltered",
        "note": "dropped",
        "left": "dropped",
    }


def test_linking_is_told_for_all_that_is_published() -> None:
    data = Microdata(people(code=range(40)), {**ROLES, "code": "other"})
    release = anonymize(data, Requirements(k=5))
    assert release.risks[1].marketer <= 0.2
    assert release.linked_by_all == (1.0, 1.0)
    plain = anonymize(replace(data, roles={**ROLES, "code": "dropped"}), Requirements(k=5))
    rows = plain.table().astype(str)
    assert plain.linked_by_all[1] == len(rows.drop_duplicates()) / len(rows)


def test_persons_are_named_in_one_way() -> None:
    with pytest.raises(ConfigError, match="say one of the two"):
        Microdata(people(), ROLES, person="mrn", each_row_a_person=True)


def test_who_counts_persons_of_a_published_table_is_told_of_a_column_that_repeats_like_one() -> None:
    rows = people().assign(mrn=[f"M{i // 3}" for i in range(40)])
    told = check_published(Microdata(rows, ROLES), None)
    assert len(told) == 1
    assert "share a value of 'mrn'" in told[0]
    assert check_published(Microdata(rows, ROLES, person="mrn"), None) == []
    assert check_published(Microdata(people(), ROLES), None) == []


def test_who_leaves_out_quasi_identifiers_of_a_release_is_told() -> None:
    data = Microdata(people(), {**ROLES, "sex": "other"})
    (told,) = check_published(data, {"quasi_identifiers": ["age", "sex", "gone"]})
    assert "took sex for quasi-identifiers" in told
    assert check_published(Microdata(people(), ROLES), {"quasi_identifiers": ["age", "sex"]}) == []


def test_who_looked_alike_in_the_original_is_told_of_a_release_that_has_no_names() -> None:
    """The manifest says it; where so many are others of the table that levels mean nothing it is refused."""
    data = Microdata(people(), ROLES)
    few, many = LookAlikes(10_000, 30, 30, 25.0), LookAlikes(1_000, 400, 400, 5.0)
    assert check_published(data, {"look_alikes": few.as_dict()}) == [str(few)]
    assert check_published(data, {"look_alikes": None}) == []
    with pytest.raises(ConfigError, match="look alike"):
        check_published(data, {"look_alikes": many.as_dict()})
    assert check_published(data, {"look_alikes": many.as_dict(), "persons_linked": True}) == [str(many)]


def test_persons_who_are_others_count_as_given_only_where_somebody_says_so() -> None:
    frame = table(60, 60).rename_axis("person").reset_index()
    roles = dict.fromkeys(frame.columns, "identifier") | {"sex": "quasi-identifier", "diagnosis": "sensitive"}
    data = Microdata(frame, roles, person="person")
    with pytest.raises(ConfigError, match="look alike"):
        anonymize(data, Requirements(k=2))
    for said in ({"persons_as_given": True}, {"linked": True}):
        assert len(anonymize(replace(data, **said), Requirements(k=2)).rows) == 120


def test_a_release_says_what_was_asked_of_its_method() -> None:
    told = anonymize(Microdata(people(), ROLES), Requirements(k=3), options=MethodOptions(suppression=0.1)).as_dict()
    assert told["options"]["suppression"] == 0.1
    assert "jobs" not in told["options"]
