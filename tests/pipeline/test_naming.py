"""Pseudonyms of ids and fields."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document, Span
from deid.pipeline import naming as rooms
from deid.pipeline.naming import FieldNames, Naming, mapped_id, pseudonym_of_id

KEY = Key(b"k" * 32)


def test_each_part_of_a_path_has_its_pseudonym() -> None:
    one, two = pseudonym_of_id(KEY, "Smith/admission/n1"), pseudonym_of_id(KEY, "Smith/discharge/n1")
    assert [part.rpartition("-")[0] for part in one.split("/")] == ["folder", "folder", "doc"]
    assert one.split("/")[0] == two.split("/")[0]
    assert one.split("/")[1] != two.split("/")[1]
    assert pseudonym_of_id(Key(b"o" * 32), "n1") != pseudonym_of_id(KEY, "n1")


def test_equal_values_of_a_field_stay_equal_those_of_two_fields_do_not_look_alike() -> None:
    naming = Naming(KEY)
    row = naming.metadata({"author": "Smith", "signed": "Smith", "empty": "", "none": None, "share": 0.5, "yes": True})
    assert row["author"] == naming.metadata({"author": "Smith"})["author"] != row["signed"]
    assert (row["empty"], row["none"], row["share"], row["yes"]) == ("", None, None, None)
    assert list(row) == ["author", "signed", "empty", "none", "share", "yes"]


def test_the_patient_field_links_by_number_or_text() -> None:
    naming = Naming(KEY, patient_field="mrn")
    assert naming.metadata({"mrn": 17}) == naming.metadata({"mrn": "17"})
    assert naming.metadata({"mrn": 17})["mrn"].startswith("patient-")


@given(st.integers(0, 2**63 - 1), st.booleans())
@example(2**31 - 1, False)
@example(2**31, False)
@example(2**32 - 1, False)
@example(2**63 - 1, True)
def test_a_mapped_id_fits_into_the_column_that_held_it(value: int, negative: bool) -> None:
    for seed in range(8):
        new = mapped_id(Key(bytes([seed] * 32)), "note", -value if negative else value)
        assert isinstance(new, int)
        if value == 0:
            assert new == 0
        else:
            assert (new < 0) == negative
            least, most = (1, 2**31 - 1) if value < 2**31 else (2**31, 2**63 - 1)
            assert least <= abs(new) <= most


def test_ids_of_one_kind_are_mapped_one_to_one() -> None:
    assert len({mapped_id(KEY, "note", value) for value in range(1, 3000)}) == 2999
    assert mapped_id(KEY, "note", 17) != mapped_id(KEY, "patient", 17)
    assert mapped_id(KEY, "note", "17") == mapped_id(KEY, "note", "17") != "17"


@pytest.mark.parametrize("border", [1, 1 << 31, 1 << 63])
def test_at_a_border_of_columns_an_id_keeps_its_side(border: int) -> None:
    most = {1: 1 << 31, 1 << 31: 1 << 63, 1 << 63: 1 << 799}[border]
    for value in (border, border + 1, most - 1):
        assert border <= mapped_id(KEY, "note", value) < most  # type: ignore[operator]
        assert -most < mapped_id(KEY, "note", -value) <= -border  # type: ignore[operator]
        assert mapped_id(KEY, "note", -value) == -mapped_id(KEY, "note", value)  # type: ignore[operator]


def test_fields_that_are_kept_or_hold_ids_are_written_by_what_they_are() -> None:
    naming = Naming(KEY, keep_fields=frozenset({"ward"}), patient_field="mrn", ids={"visit": "visit", "mrn": "patient"})
    row = naming.metadata({"ward": "7b", "visit": 17, "mrn": 4, "code": "17", "number": 17, "list": [1], "no": False})
    assert row["ward"] == "7b"
    assert row["visit"] == mapped_id(KEY, "visit", 17)
    assert row["mrn"] == mapped_id(KEY, "patient", 4)  # a number of the database stays one
    assert naming.metadata({"visit": "v17"})["visit"] == mapped_id(KEY, "visit", "v17")
    assert naming.metadata({"mrn": "p4"})["mrn"] == KEY.pseudonym("patient", "p4")
    assert naming.metadata({"mrn": " "})["mrn"] == mapped_id(KEY, "patient", " ")  # nobody
    assert isinstance(row["code"], str)
    assert row["code"] == naming.metadata({"code": 17})["code"] != row["number"]
    assert (row["list"], row["no"]) == (None, None)
    assert naming.id("a/b") == pseudonym_of_id(KEY, "a/b")
    assert Naming(KEY, keep_id=True).id("a/b") == "a/b"


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("Rose Quimby", True),
        ("Rose_Quimby_2", True),
        ("Rose", False),
        ("Dr. Quimby", False),
        ("rquimby@x.example", True),
        ("MRN 47112", True),
        ("MRN 4711", False),
        ("3/14/2019", True),
        ("3/14", False),
        ("age", False),
        ("Boston MA 02115", True),
    ],
)
def test_a_name_of_a_field_tells_of_somebody_by_a_name_in_full_or_five_digits(name: str, tells: bool) -> None:
    names = FieldNames(Ensemble((RuleRecognizer.load("en"),)))
    assert names.telling([name, "x", name]) == ((1, 3) if tells else ())
    assert FieldNames(None).telling([name]) == ()


def test_a_naming_that_was_used_is_still_the_same() -> None:
    used, new = Naming(Key(b"k" * 32)), Naming(Key(b"k" * 32))
    used.metadata({"ward": "B"})
    assert used == new


def test_of_names_of_fields_each_is_read_once_while_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    counting: list[str] = []

    class Counting:
        name, categories = "counting", frozenset({"DATE"})

        def find(self, document: Document) -> list[Span]:
            counting.append(document.text)
            return []

    assert FieldNames(Counting()).telling(f"field {n}" for n in range(1005)) == ()
    assert counting[-1] == "field 999"  # more of one document are not looked at
    counting.clear()
    monkeypatch.setattr(rooms, "_MOST_FIELDS", 3)
    monkeypatch.setattr(rooms, "_MOST_NAMES", 2)
    names = FieldNames(Counting())
    names.telling(["a", "b", "a", "c"])
    assert counting == ["a", "b"]  # the fourth is not looked at
    names.telling(["c", "b", "c"])
    assert counting == ["a", "b", "c", "b"]
