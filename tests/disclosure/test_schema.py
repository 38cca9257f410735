"""Schemas: files, roles from flags, hierarchies of columns, and what is proposed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DeidError
from deid.disclosure.proposal import propose_schema
from deid.disclosure.schema import Column, Schema, apply_schema, format_schema, read_microdata, read_schema
from deid.manifest import run
from deid.table.column_names import repeated_person
from deid.table.microdata import Microdata

FRAME = pd.DataFrame(
    {"age": [30, 41, 52], "zip": ["61801", "61802", "60606"], "sex": ["M", "F", "F"], "dx": ["I10"] * 3}
)
TEXT = """
person = "sex"
[columns.age]
role = "quasi-identifier"
hierarchy = { kind = "intervals", widths = [10, 20] }
[columns.zip]
role = "quasi-identifier"
kind = "nominal"
hierarchy = "zip.csv"
[columns."dx"]
role = "sensitive"
hierarchy = { kind = "icd-10-cm" }
"""


def test_a_file_gives_roles_and_hierarchies(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TEXT)
    (tmp_path / "zip.csv").write_text("61801;618;*\n61802;618;*\n60606;606;*\n")
    said = read_schema(tmp_path / "s.toml")
    table = apply_schema(FRAME, said)
    assert table.quasi_identifiers == ("age", "zip")
    assert table.sensitive == ("dx",)
    assert table.person == "sex"
    assert table.hierarchies["age"].parent("41") == "[40-49]"
    assert table.hierarchies["zip"].parent("61802") == "618"
    assert table.hierarchies["dx"].parent("I10") == "I10-I1A"
    published = FRAME.assign(age=["[40-49]"] * 3)
    assert set(apply_schema(published, said, published=True).hierarchies) == {"zip", "dx"}  # not of the intervals


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (("PatNr", "Geschlecht", "Größe", "Hauptdiagnose", "PLZ"), "identifier quasi quasi sensitive quasi"),
        (("idPatient", "Sexe", "Âge", "Diagnostic", "Code postal"), "identifier quasi quasi sensitive quasi"),
        (("NHC", "sexo", "edad", "Diagnóstico", "codigo_postal"), "identifier quasi quasi sensitive quasi"),
        (("patientnummer", "geslacht", "leeftijd", "Diagnose", "postcode"), "identifier quasi quasi sensitive quasi"),
    ],
)
def test_names_of_columns_are_read_in_five_languages(names: tuple[str, ...], roles: str) -> None:
    cells = [[7001, 7001, 7002], ["M", "F", "F"], [30, 41, 52], ["a", "b", "a"], ["10115", "10117", "80331"]]
    table = Microdata(pd.DataFrame(dict(zip(names, cells, strict=True))), {})
    said = propose_schema(table)
    assert [said.columns[name].role.split("-")[0] for name in names] == roles.split()
    assert said.columns[names[4]].hierarchy == {"kind": "prefixes"}
    assert said.person == names[0]
    assert repeated_person(table) == names[0]


def test_numbers_and_dates_that_are_read_as_names_are_told() -> None:
    cells = {"x": ["1,5", "2,25", "10,0"], "y": ["31.12.2020", "2020-01-01", "1/2/21"], "z": ["1,5", "A", "x"]}
    columns = propose_schema(Microdata(pd.DataFrame(cells), {})).columns
    assert "decimal comma" in columns["x"].reason
    assert columns["y"].role == "quasi-identifier"
    assert "YYYY-MM-DD" in columns["y"].reason
    assert "order" not in columns["z"].reason


HARMLESS = (
    "B12",
    "mg/m2",
    "mmol / l",
    "10 mg",
    "beats per minute",
    "2019",
    "Ward",
    "active",
    "USA",
    "not applicable",
    "v1.2.3",
)
TELLING = (
    "Seen by Dr. Walters",
    "Mary Smith",
    "SMITH, JOHN",
    "lives alone with her wife",
    "Élodie Ünal",
    "12 Main Street",
)


@pytest.mark.parametrize(
    ("values", "role", "why"),
    [
        (["red", "blue", "green"], "identifier", "another value in every row"),
        (["red", "blue", None], "quasi-identifier", "not recognized"),
        (["red", "blue", "red"], "quasi-identifier", "not recognized"),
        (["red", "red", "red"], "other", "one value only"),
        (["red"], "other", "one value only"),
        ([1, 2, 4], "quasi-identifier", "not recognized"),
        ([3, 3, 3], "other", "one value only"),
        (["red", None, "red"], "quasi-identifier", "not recognized"),
        ([3, 3, None], "quasi-identifier", "not recognized"),
        *((3 * [value], "other", "one value only") for value in HARMLESS),
        *((3 * [value], "free-text", "may name somebody") for value in TELLING),
        *((3 * [value], "identifier", "may be somebody's") for value in (4711203, "47-11-203", "N 4711203")),
    ],
)
def test_a_column_that_nothing_is_known_of_is_told_by_how_often_its_values_are_there(
    values: list[object], role: str, why: str
) -> None:
    column = propose_schema(Microdata(pd.DataFrame({"zxq": values}), {})).columns["zxq"]
    assert column.role == role
    assert why in column.reason


def test_schemas_are_written_as_they_are_read(tmp_path: Path) -> None:
    columns = {
        'a "b"\n\\é': Column("other"),
        "age": Column("quasi-identifier", "numeric", {"kind": "intervals", "widths": [5, 10], "origin": 0.5}),
        "dx": Column("sensitive", None, {"kind": "icd-9-cm"}),
        "of which a kind is said alone": Column(None, "nominal"),
    }
    (tmp_path / "s.toml").write_text(format_schema(Schema(columns, "age")), encoding="utf-8")
    assert read_schema(tmp_path / "s.toml") == Schema(columns, "age")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.agee]\nrole = 'sensitive'", "no column 'agee'"),
        ("[columns.age]\nrole = 'secret'", "column 'age': unknown role or kind"),
        ("[columns.age]\nroles = 'sensitive'", "column 'age': unknown settings"),
        ("[column.age]\nrole = 'sensitive'", "did you mean 'columns'"),
        ("[columns.age]\nhierarchy = 7", "file name, or has a kind"),
        ("[columns.age]\nhierarchy = {kind = 'dates'}", "column 'age': a value is no date"),
        ("[columns.age]\nhierarchy = {kind = 'intervals', widths = [3, 5]}", "column 'age': the widths are not nested"),
        ("[columns.age]\nhierarchy = 'missing.csv'", "cannot be read"),
        ("person = 7", "person is no column's name"),
        ("role = ", "not valid TOML"),
        ("persons_as_given = 'yes'", "persons_as_given is neither true nor false"),
        ("each_row_a_person = 1", "each_row_a_person is neither true nor false"),
    ],
)
def test_unusable_schemas(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(DeidError) as caught:
        apply_schema(FRAME, read_schema(tmp_path / "s.toml"))
    assert message in str(caught.value)


def test_a_column_is_free_text_from_a_mean_of_more_than_40_characters() -> None:
    for size, role in ((40, "identifier"), (41, "free-text")):
        frame = pd.DataFrame({"remark": ["x" * (size - 1) + letter for letter in "abc"]})
        table = Microdata(frame, {"remark": "other"})
        assert propose_schema(table).columns["remark"].role == role


@pytest.mark.parametrize("person", ["person", "mrn"])
def test_persons_of_a_file_are_linked_where_its_manifest_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str
) -> None:
    """Else whether some look alike is looked at."""
    place, schema = tmp_path / "t.csv", Schema({"age": Column("quasi-identifier")}, person)
    place.write_text(f"{person},age\n1,30\n2,31\n")
    for said in (None, {}, {"linked": True}, {"model": "m.json"}, {"linked": True, "model": "m.json"}):
        monkeypatch.setattr(run, "results_of", lambda _, said=said: said)
        assert read_microdata(str(place), schema).linked is (said is not None and len(said) == 2 and person == "person")


def test_a_column_has_one_role() -> None:
    with pytest.raises(ConfigError, match="two roles"):
        Schema.of_roles(quasi_identifier=["age"], sensitive=["age"])


def test_what_is_proposed_for_a_hospital_table() -> None:
    n = 60
    frame = pd.DataFrame(
        {
            "MRN": [f"{i // 2:06}" for i in range(n)],
            "patientName": ["Ann Bell", "Cy Dorn"] * (n // 2),
            "contact": [f"user{i}@example.org" for i in range(n)],
            "date_of_birth": [f"19{20 + i % 60}-03-0{1 + i % 9}" for i in range(n)],
            "zip_code": [f"{61801 + i % 7}" for i in range(n)],
            "gender": ["M", "F"] * (n // 2),
            "age": [20 + i for i in range(n)],
            "dx_code": ["E11.65", "I10", "C4A.0"] * (n // 3),
            "hiv_status": ["neg", "pos", None] * (n // 3),
            "report": [f"The patient was seen on day {i} and complained of pain in the left knee." for i in range(n)],
            "ward": ["A", "B", "C"] * (n // 3),
            "site": ["X"] * n,
        }
    )
    found = propose_schema(Microdata(frame, {}))
    roles = {name: column.role for name, column in found.columns.items()}
    assert roles == {
        "MRN": "identifier",
        "patientName": "identifier",
        "contact": "identifier",
        "date_of_birth": "quasi-identifier",
        "zip_code": "quasi-identifier",
        "gender": "quasi-identifier",
        "age": "quasi-identifier",
        "dx_code": "sensitive",
        "hiv_status": "sensitive",
        "report": "free-text",
        "ward": "quasi-identifier",  # nobody knows: protected until someone says otherwise
        "site": "other",
    }
    assert found.person == "MRN"
    assert all(column.reason for column in found.columns.values())
    assert found.columns["dx_code"].hierarchy == {"kind": "icd-10-cm"}
    assert "not recognized" in found.columns["ward"].reason
    table = apply_schema(frame, found)  # what is proposed can be used
    assert table.hierarchies["zip_code"].height == 5
    assert table.hierarchies["date_of_birth"].root == "*"


@pytest.mark.parametrize(
    ("cells", "named", "unnamed"),
    [
        ("E11.65 I10 C4A.0", "icd-10-cm", "icd-10-cm"),
        ("E11 I10 C4A", "icd-10-cm", None),  # a ward may be called so
        ("250.00 V58.1 401.9", "icd-9-cm", None),
        ("V58.1 V10 V45", "icd-10-cm", "icd-10-cm"),
        ("250 401 V58", "icd-9-cm", None),
        ("250.00 401.9 414.01", "icd-9-cm", None),  # a number may be written so
        ("E11.65 I10 flu", None, None),
        (" ".join(["E11.65"] * 99 + ["flu"]), None, None),
        ("3.5 flu cold", None, None),
    ],
)
def test_codes_are_told_by_the_name_of_their_column_or_by_letters_and_a_point(
    cells: str, named: str | None, unnamed: str | None
) -> None:
    frame = pd.DataFrame({"dx_code": cells.split(), "x": cells.split()}, dtype="string")
    found = propose_schema(Microdata(frame, {})).columns
    for name, system in (("dx_code", named), ("x", unnamed)):
        told = f"codes of {system} (" in found[name].reason
        assert (told, found[name].role == "sensitive") == (system is not None, system is not None or name == "dx_code")


@pytest.mark.parametrize("kind", ["automatic", "intervals", "prefixes"])
def test_a_built_hierarchy_is_of_the_values_that_are_not_suppressed(kind: str) -> None:
    """A published table has stars in its columns, which are its root and no value."""
    schema, values = Schema({"x": Column("quasi-identifier", hierarchy={"kind": kind})}), "1123345679"
    starred, plain = (apply_schema(pd.DataFrame({"x": cells}), schema) for cells in ([*values, "*", "*"], [*values]))
    assert starred.hierarchies["x"] == plain.hierarchies["x"]


def test_what_is_said_in_either_of_two_schemas_holds() -> None:
    for name in ("each_row_a_person", "persons_as_given"):
        for one in (False, True):
            for other in (False, True):
                both = Schema({}, **{name: one}).over(Schema({}, **{name: other}))
                assert getattr(both, name) is (one or other)
    given = Schema({"a": Column("sensitive", None, {"kind": "x"}), "b": Column("other")}, "p")
    mine = Schema({"a": Column(None, "nominal"), "c": Column("dropped")})
    assert mine.over(given) == Schema(
        {"a": Column("sensitive", "nominal", {"kind": "x"}), "b": Column("other"), "c": Column("dropped")}, "p"
    )


@pytest.mark.parametrize(
    "said",
    ["5", '"sensitive"', '["role"]', '{ rule = "other" }', '{ role = "others" }', '{ kind = "number" }',
     "{ hierarchy = 5 }", "{ hierarchy = { widths = [5] } }"],
)  # fmt: skip
def test_a_column_of_which_nonsense_is_said_is_named(said: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f"[columns]\nage = {said}\n")
    with pytest.raises(ConfigError, match="column 'age'"):
        read_schema(tmp_path / "s.toml")


CELLS = st.one_of(
    st.sampled_from(["", "34", "7", "forty", "V10", "250", "A1", "2020-01-04", "01/02/2020", "*", "02139"]),
    st.integers(-5, 130).map(str),
    st.text("abXY12.-/ ", min_size=1, max_size=6),
)


@given(st.data())
def test_what_is_proposed_can_be_used_as_it_is(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 6))
    names = ["age", "ward", "dx", "zip", "visit"]
    frame = pd.DataFrame({name: data.draw(st.lists(CELLS, min_size=rows, max_size=rows)) for name in names})
    proposed = propose_schema(Microdata(frame, {}))
    assert set(apply_schema(frame, proposed).roles) == set(names)


def test_numbers_beside_words_are_proposed_as_codes_and_the_schema_says_so() -> None:
    proposed = propose_schema(Microdata(pd.DataFrame({"ward": ["A1", "7", "7", "B2"]}), {}))
    assert proposed.columns["ward"].kind == "nominal"
    assert "numbers and words" in proposed.columns["ward"].reason


@pytest.mark.parametrize("role", ["identifier", "dropped", "other"])
def test_a_published_table_counts_persons_where_their_column_was_left_in(role: str) -> None:
    schema = Schema({"mrn": Column(role), "age": Column("quasi-identifier")}, "mrn")
    frame = pd.DataFrame({"mrn": ["1", "1"], "age": [30, 41]})
    assert apply_schema(frame, schema, published=True).person == "mrn"
    if role != "other":  # a release leaves it out
        assert apply_schema(frame[["age"]], schema, published=True).person is None
