"""What is read from a record and what is written back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recipes import KEY, WordRecipe

from deid.base.errors import DeidError
from deid.pipeline.naming import pseudonym_of_id
from deid.streaming.records import CONTENTS, Fields

NAME = "Zebulon Quartermain"


def scrub(record: object, fields: Fields | None = None, offset: int = 5, **options: Any) -> dict[str, Any]:
    content = record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode()
    output, _ = CONTENTS["json"](content, offset, WordRecipe(**options).pipeline(), fields or Fields())
    assert b"\n" not in output
    return json.loads(output)  # type: ignore[no-any-return]


def test_other_fields_follow_the_rule_of_scrub() -> None:
    written = scrub({"id": "n1", "note": f"Seen {NAME}.", "mrn": 77, "rest": {"a": NAME}, "x": None}, keep=frozenset())
    assert list(written) == ["id", "note", "mrn", "rest", "x"]
    assert written["id"] == pseudonym_of_id(KEY, "n1")
    assert written["note"] == "Seen [NAME]."
    assert written["mrn"].startswith("value-")
    assert (written["rest"], written["x"]) == (None, None)


def test_nested_fields_by_their_path() -> None:
    record = {"report": {"body": {"text": f"Seen {NAME}.", "by": NAME}, "ward": "W1", "raw": [NAME]}, "who": {"id": 7}}
    fields = Fields("report.body.text", named=frozenset({"who.id", "report.ward"}))
    written = scrub(record, fields, patient_field="who.id", keep=frozenset({"report.ward"}))
    assert written["report"]["body"]["text"] == "Seen [NAME]."
    assert written["report"]["body"]["by"].startswith("value-")
    assert written["report"]["ward"] == "W1"
    assert written["report"]["raw"] is None
    assert written["who"]["id"].startswith("patient-")
    assert "Zebulon" not in json.dumps(written)


def test_a_name_with_a_dot_goes_before_a_path() -> None:
    written = scrub({"a.b": f"Seen {NAME}.", "a": {"b": NAME}}, Fields("a.b"))
    assert written == {"a.b": "Seen [NAME].", "a": None}


def test_ids_are_added_where_duplicates_must_be_told() -> None:
    fields = Fields(add_id=True)
    first, second = scrub({"text": "x"}, fields, 0), scrub({"text": "x"}, fields, 12)
    assert first["id"] != second["id"]
    assert first == scrub({"text": "x"}, fields, 0)
    assert "id" not in scrub({"text": "x"})


def test_equal_texts_get_equal_outputs_wherever_they_stand() -> None:
    """A feed that is sent again, or in other files, is scrubbed alike."""
    assert scrub({"text": NAME}, offset=0, policy="surrogate") == scrub({"text": NAME}, offset=99, policy="surrogate")


@pytest.mark.parametrize(
    "content",
    [
        b"not json",
        b"[1]",
        b'{"text": 5}',
        b'{"note": {"text": "x"}}',
        b'{"text": "x", "text": "y"}',
        b'{"text": "x", "n": NaN}',
        b'{"id": ["x"], "text": "y"}',
        b'{"text": "\xff"}',
        b'{"text": "x"',
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_an_error_without_text(content: bytes) -> None:
    with pytest.raises(DeidError):
        scrub(content)


def test_a_byte_order_mark_at_the_beginning_is_no_error() -> None:
    assert scrub(b'\xef\xbb\xbf{"text": "x"}', offset=0) == {"text": "x"}


def test_plain_text_keeps_every_byte_around() -> None:
    pipeline = WordRecipe().pipeline()
    text = f"\ufeff {NAME}\x00\t\u2028x\r".encode()
    output, scrubbed = CONTENTS["text"](text, 0, pipeline, Fields())
    assert output == text.replace(NAME.encode(), b"[NAME]")
    assert [edit.category for edit in scrubbed.edits] == ["PATIENT"]
    latin = f"{NAME} é".encode("cp1252")
    assert CONTENTS["text"](latin, 0, pipeline, Fields(encoding="cp1252"))[0] == "[NAME] é".encode("cp1252")
