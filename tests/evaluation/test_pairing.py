"""Every gold document is answered or counted as empty, and nothing is dropped silently."""

from __future__ import annotations

import pytest

from deid.base.errors import DuplicateError, FormatError, InputError, OffsetError
from deid.document import Failure
from deid.evaluation.pairing import pair_documents


def test_documents_are_matched_by_id_whatever_their_order(note) -> None:
    gold = [note("a", "one"), note("b", "two")]
    pairing = pair_documents(gold, [note("b", "two", (0, 3, "AGE")), note("a", "one")])
    assert [(pair.gold.id, pair.system.id) for pair in pairing.pairs] == [("a", "a"), ("b", "b")]
    assert pairing.matched_by == "id"
    assert pairing.failures == ()


def test_a_missing_document_stays_in_the_pairs_and_an_extra_one_is_named(note) -> None:
    pairing = pair_documents(
        [note("note-1", "one"), note("note-2", "two")], [note("note-2", "two"), note("note-3", "x")]
    )
    assert [(pair.gold.id, pair.status) for pair in pairing.pairs] == [("note-1", "missing"), ("note-2", "scored")]
    assert pairing.extra == ("note-3",)
    assert pairing.failures == ()


def test_another_text_is_an_error_and_counts_as_no_answer(note) -> None:
    pairing = pair_documents([note("a", "Mr Smith fell")], [note("a", "Mr Jones fell")])
    assert [pair.status for pair in pairing.pairs] == ["text differs"]
    assert pairing.pairs[0].system is None
    (failure,) = pairing.failures
    assert isinstance(failure.error, InputError)
    assert "offset 3" in str(failure.error)
    assert "Smith" not in str(failure.error)
    assert "Jones" not in str(failure.error)


def test_texts_that_differ_in_line_ends_only_get_their_own_advice(note) -> None:
    (failure,) = pair_documents([note("a", "x\r\ny")], [note("a", "x\ny")]).failures
    assert "line ends" in str(failure.error)


def test_ids_in_other_folders_match_by_their_last_part(note) -> None:
    pairing = pair_documents([note("gold/a", "one"), note("gold/b", "two")], [note("run/x/b", "two")])
    assert [pair.status for pair in pairing.pairs] == ["missing", "scored"]
    assert pairing.matched_by == "last part of the id"


def test_last_parts_that_are_not_unique_do_not_match(note) -> None:
    gold = [note("p/a", "one"), note("q/a", "two"), note("b", "three")]
    pairing = pair_documents(gold, [note("a", "one"), note("b", "three")])
    assert [pair.status for pair in pairing.pairs] == ["missing", "missing", "scored"]
    assert len(pairing.extra) == 1


def test_answers_to_other_documents_are_no_answers(note) -> None:
    gold = [note("a", "one"), note("b", "two")]
    with pytest.raises(InputError, match="no document of SYSTEM has the id"):
        pair_documents(gold, [note("x", "one"), note("y", "two")])
    assert [pair.status for pair in pair_documents(gold, []).pairs] == ["missing", "missing"]


def test_two_single_documents_are_a_pair(note) -> None:
    pairing = pair_documents([note("gold", "one")], [note("tagged", "one")])
    assert pairing.pairs[0].status == "scored"
    assert pairing.matched_by == "position"


def test_unreadable_documents_are_failures_and_the_rest_is_paired(note) -> None:
    broken = Failure("note-2 (#2)", FormatError("truncated"), 2)
    pairing = pair_documents([note("note-1", "one"), note("note-2", "two")], [note("note-1", "one"), broken])
    assert [pair.status for pair in pairing.pairs] == ["scored", "missing"]
    assert pairing.failures == (broken,)


def test_a_second_document_with_the_same_id_is_a_failure(note) -> None:
    pairing = pair_documents([note("a", "one")], [note("a", "one"), note("a", "one")])
    assert [type(failure.error) for failure in pairing.failures] == [DuplicateError]
    assert pairing.pairs[0].status == "scored"


def test_a_span_outside_its_text_is_a_failure(note) -> None:
    pairing = pair_documents([note("a", "one"), note("b", "two")], [note("a", "one", (1, 9, "AGE")), note("b", "two")])
    assert [type(failure.error) for failure in pairing.failures] == [OffsetError]
    assert [pair.status for pair in pairing.pairs] == ["missing", "scored"]


def test_gold_without_any_readable_document_is_refused(note) -> None:
    with pytest.raises(InputError, match="truncated"):
        pair_documents([Failure("x", FormatError("truncated"))], [note("a", "one")])
