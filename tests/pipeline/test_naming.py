"""Pseudonyms of ids and fields."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.pipeline.naming import Naming, mapped_id, pseudonym_of_id

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
