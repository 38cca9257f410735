"""Folds: a partition that the seed decides, and that never splits a patient."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes import clinic_notes

from deid.base.errors import ConfigError, DuplicateError
from deid.document import Document
from deid.experiments.folds import assign_folds, group_documents, splits


def empty_notes(count: int) -> list[Document]:
    return [Document(f"note-{i}", "") for i in range(count)]


@given(count=st.integers(2, 40), folds=st.integers(2, 10), seed=st.integers(0, 5))
def test_every_document_is_scored_once_and_never_trained_on_then(count: int, folds: int, seed: int) -> None:
    documents = empty_notes(count)
    if folds > count:
        with pytest.raises(ConfigError, match=f"{folds} folds cannot be made of {count} documents"):
            assign_folds(documents, folds, seed)
        return
    parts = splits(assign_folds(documents, folds, seed))
    assert len(parts) == folds
    assert sorted(i for _, test in parts for i in test) == list(range(count))
    assert all(sorted(train + test) == list(range(count)) for train, test in parts)
    sizes = [len(test) for _, test in parts]
    assert max(sizes) - min(sizes) <= 1


@given(groups=st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=30), seed=st.integers(0, 5))
def test_a_group_stays_together(groups: list[str], seed: int) -> None:
    folds = 2
    documents = empty_notes(len(groups))
    if len(set(groups)) < folds:
        with pytest.raises(ConfigError, match="of 1 groups"):
            assign_folds(documents, folds, seed, groups=groups)
        return
    assigned = assign_folds(documents, folds, seed, groups=groups)
    assert all(len({f for f, g in zip(assigned, groups, strict=True) if g == group}) == 1 for group in set(groups))
    largest = max(groups.count(group) for group in set(groups))
    assert abs(assigned.count(0) - assigned.count(1)) <= largest


def test_the_order_of_the_documents_changes_nothing_but_the_seed_does() -> None:
    documents = empty_notes(20)
    assigned = dict(zip([d.id for d in documents], assign_folds(documents, 4, 1), strict=True))
    turned = documents[::-1]
    assert dict(zip([d.id for d in turned], assign_folds(turned, 4, 1), strict=True)) == assigned
    assert assign_folds(documents, 4, 2) != list(assigned.values())


def test_folds_of_a_seed_never_change() -> None:
    """A worked example, so that published folds can be made again with later versions."""
    assert assign_folds(empty_notes(9), 3, 7) == [2, 1, 1, 1, 2, 0, 0, 2, 0]


def test_documents_with_one_id_are_refused() -> None:
    with pytest.raises(DuplicateError):
        assign_folds([Document("a", ""), Document("a", "")], 2)


def test_groups_come_from_a_field_or_from_the_id() -> None:
    documents = clinic_notes(6)
    assert group_documents(documents, field="person") == ["0", "0", "1", "1", "2", "2"]
    assert group_documents(documents, pattern=r"^(\d+)-") == ["00", "00", "01", "01", "02", "02"]
    assert group_documents(documents, pattern=r"\d$") == ["0", "1", "0", "1", "0", "1"]
    assert group_documents(documents) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": "Smith"}, "2 of 2 documents belong to no group"),
        ({"pattern": "[0-9]+"}, "1 of 2 documents belong to no group"),
        ({"pattern": "("}, "no regular expression"),
        ({"pattern": "x", "field": "y"}, "by a field and by a pattern"),
    ],
)
def test_a_document_without_a_group_is_an_error_that_names_no_patient(options: dict[str, str], message: str) -> None:
    documents = [Document("Smith-17", ""), Document("Smith", "")]
    with pytest.raises(ConfigError, match=message) as caught:
        group_documents(documents, **options)
    assert "Smith" not in str(caught.value)
