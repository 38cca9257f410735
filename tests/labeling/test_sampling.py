"""Window, random-O and rejection sampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.labeling.sampling import keep_random_o, keep_window, rejection_sample

labels_of_a_document = st.lists(st.sampled_from(["O", "B-A", "I-A"]), max_size=40)


@given(labels=labels_of_a_document, k=st.integers(0, 10))
def test_window_keeps_what_lies_within_k_of_a_labelled_token(labels: list[str], k: int) -> None:
    phi = [i for i, label in enumerate(labels) if label != "O"]
    expected = [any(abs(i - j) <= k for j in phi) for i in range(len(labels))]
    assert keep_window(labels, k).tolist() == expected


@given(labels=labels_of_a_document)
def test_random_o_keeps_all_phi_and_its_limits_are_all_and_none(labels: list[str]) -> None:
    phi = [label != "O" for label in labels]
    assert keep_random_o(labels, 0.0, np.random.default_rng(0)).tolist() == phi
    assert keep_random_o(labels, 1.0, np.random.default_rng(0)).all()
    half = keep_random_o(labels, 0.5, np.random.default_rng(3))
    assert (half | ~np.array(phi, dtype=bool)).all()
    assert half.tolist() == keep_random_o(labels, 0.5, np.random.default_rng(3)).tolist()


def test_random_o_keeps_the_share_asked_for() -> None:
    kept = keep_random_o(["O"] * 10_000, 0.3, np.random.default_rng(1)).mean()
    assert kept == pytest.approx(0.3, abs=3 * np.sqrt(0.3 * 0.7 / 10_000))


def test_rejection_follows_the_probabilities_of_table_4_6() -> None:
    """Accepted shares are proportional to frequency times probability, within three standard deviations."""
    table = {"MRN": 0.2, "Account": 0.2, "Age": 0.3, "Date": 0.5, "Name-B": 1.0, "Name-I": 1.0, "Other": 0.1}
    labels = [label for label in table for _ in range(100)] + ["Other"] * 9_300
    n = 20_000
    drawn = rejection_sample(labels, table, n, np.random.default_rng(5))
    assert len(drawn) == n
    weight = {label: labels.count(label) * p for label, p in table.items()}
    for label in table:
        share = weight[label] / sum(weight.values())
        found = np.mean([labels[i] == label for i in drawn])
        assert found == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / n))


def test_a_label_without_a_probability_is_always_accepted() -> None:
    drawn = rejection_sample(["O", "B-A"], {"O": 0.5}, 20_000, np.random.default_rng(5))
    assert np.mean(drawn == 0) == pytest.approx(1 / 3, abs=0.01)
    assert set(rejection_sample(["O", "B-A", "O"], {"O": 0.0}, 50, np.random.default_rng(5)).tolist()) == {1}


@pytest.mark.parametrize("probability", [{"O": 0.0}, {"O": 1.5}, {"O": -1.0}])
def test_probabilities_that_accept_nothing_are_refused(probability: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        rejection_sample(["O"], probability, 1, np.random.default_rng(0))
    with pytest.raises(ConfigError):
        keep_random_o(["O"], 1.1, np.random.default_rng(0))
    with pytest.raises(ConfigError):
        keep_window(["O"], -1)
