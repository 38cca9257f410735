"""The arrays that learners are trained on hold what the feature set says about each token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling.encoding import encode_corpus
from deid.labeling.training import TrainingOptions, prepare

FEATURES = (
    FeatureSet("default", "rac"),
    FeatureSet("hide", "rac"),
    FeatureSet("default", "racd", ("places/states", "names/male_popular")),
)
texts = st.lists(st.text(alphabet=st.sampled_from("AaBb 12.,\n:é"), max_size=40), max_size=4)


@pytest.mark.parametrize("features", FEATURES, ids=repr)
@given(texts=texts)
@settings(max_examples=25)
def test_rows_are_those_of_the_feature_set(features: FeatureSet, texts: list[str]) -> None:
    sequences, borders = encode_corpus([Document(str(i), t) for i, t in enumerate(texts)], features)
    for rows, text, (starts, _) in zip(sequences.rows(), texts, borders, strict=True):
        assert rows == [pytest.approx(row) for row in features.expand(features.encode(text))]
        assert len(starts) == len(rows)


def test_a_phrase_and_its_words_fire_once() -> None:
    features = FeatureSet("default", "d", ("places/states", "places/countries"))
    (rows,) = encode_corpus([Document("a", "in New Mexico or Mexico")], features)[0].rows()
    assert all(value == 1.0 for row in rows for value in row.values())
    sequences, _ = encode_corpus([Document("a", "in New Mexico or Mexico")], features)
    for first, stop in zip(sequences.begin[:-1], sequences.begin[1:], strict=True):
        assert len(set(sequences.ids[first:stop].tolist())) == stop - first


def test_documents_are_counted_per_attribute() -> None:
    notes = [Document("a", "fever fever"), Document("b", "fever"), Document("c", "pain")]
    sequences, _ = encode_corpus(notes, FeatureSet("default", "c"))
    counts = dict(zip(sequences.attributes, sequences.documents.tolist(), strict=True))
    assert (counts["LW_fever"], counts["LW_pain"], counts["NEXT0_fever"]) == (2, 1, 1)


@given(kept=st.lists(st.booleans(), min_size=9, max_size=9))
def test_chosen_items_keep_their_rows(kept: list[bool]) -> None:
    text = "Seen by Dr Ruiz on 3 May 2001"
    span = Span(11, 15, "DOCTOR")
    sequences, _ = encode_corpus([Document("a", text, (span,))], FeatureSet("default", "c"))
    items = np.flatnonzero(kept[: int(sequences.bounds[-1])])
    wanted = np.arange(len(sequences.attributes)) % 2 == 0
    bounds = np.array([0, len(items)], dtype=np.int64)
    (whole,) = sequences.rows()
    (part,) = sequences.take(items, bounds, wanted).rows()
    names = {a for a, keep in zip(sequences.attributes, wanted.tolist(), strict=True) if keep}
    assert part == [{k: v for k, v in whole[i].items() if k in names} for i in items.tolist()]


def test_labels_stand_beside_their_rows() -> None:
    note = Document("a", "Seen by Dr Ruiz", (Span(11, 15, "DOCTOR"),))
    data = prepare([note], FeatureSet("default", "r"), TrainingOptions())
    ((rows, labels),) = data.sequences()
    assert labels == ["O", "O", "O", "B-DOCTOR"]
    assert "SH_Xxxx" in rows[3]
