"""Pseudonyms of ids and fields."""

from __future__ import annotations

from deid.base.keys import Key
from deid.pipeline.naming import Naming, pseudonym_of_id

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
