"""How good a clustering of mentions is: pairwise and B-cubed precision, recall and F1, with intervals over persons.

A pair of mentions is right when both are of one person (Hand and Christen, "A note on using the F-measure for
evaluating record linkage algorithms", Statistics and Computing 28, 2018, on what its F1 hides). B-cubed averages over
mentions (Bagga and Baldwin, "Entity-based cross-document coreferencing", ACL 1998), so that persons with many mentions
do not decide alone. All follow from how many mentions each person has in each cluster, in linear time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deid.base.arrays import FloatArray
from deid.base.errors import InputError
from deid.base.late import pd

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MEASURES = ("precision", "recall", "f1", "b3_precision", "b3_recall", "b3_f1")
"""Pairwise, then B-cubed."""


@dataclass(frozen=True)
class LinkageScores:
    """How a clustering agrees with the truth."""

    mentions: int
    persons: int
    clusters: int
    over_merged: int
    """Clusters with mentions of several persons: the harmful error."""
    split: int
    """Persons in several clusters."""
    values: Mapping[str, float]
    """`MEASURES`, 0 to 1; 1 where there was nothing to find, or nothing was claimed."""
    intervals: Mapping[str, tuple[float, float]]
    """Percentile intervals of a bootstrap over persons; empty without resamples."""

    def as_dict(self) -> dict[str, float | int | None]:
        """Return all figures in one flat row; ``f1_low`` and the like are the intervals' ends."""
        bounds = {
            f"{name}_{end}": value
            for name, pair in self.intervals.items()
            for end, value in zip(("low", "high"), pair, strict=True)
        }
        counts = {name: getattr(self, name) for name in ("mentions", "persons", "clusters", "over_merged", "split")}
        return {**counts, **self.values, **bounds}


def score_clusters(
    truth: Sequence[Hashable] | ArrayLike,
    found: Sequence[Hashable] | ArrayLike,
    *,
    resamples: int = 0,
    seed: int = 0,
    level: float = 0.95,
) -> LinkageScores:
    """Score a clustering of mentions.

    Parameters
    ----------
    truth, found : sequence of hashable, length n_mentions
        The person that each mention is of, and the cluster that it was put in.
    resamples : int
        Bootstrap draws of persons; 0 for no intervals. A found pair of two persons counts half for each of them.
    seed : int
    level : float
        Of the intervals.

    Raises
    ------
    InputError
        When the two are of different length or empty.
    """
    person, persons = pd.factorize(np.asarray(truth))
    cluster, clusters = pd.factorize(np.asarray(found))
    if len(person) != len(cluster) or not len(person) or person.min() < 0 or cluster.min() < 0:
        raise InputError("a clustering is scored with one person and one cluster for each mention, none missing")
    cells, both = np.unique(person.astype(np.int64) * len(clusters) + cluster, return_counts=True)
    of_person, of_cluster = cells // len(clusters), cells % len(clusters)
    size, width = np.bincount(person), np.bincount(cluster)
    # columns: right pairs, found pairs, true pairs, B-cubed precision and recall summed over mentions, mentions
    parts = [
        both * (both - 1) / 2,
        both * (width[of_cluster] - 1) / 2,
        both * (size[of_person] - 1) / 2,
        both**2 / width[of_cluster],
        both**2 / size[of_person],
        both.astype(float),
    ]
    sums = np.stack([np.bincount(of_person, weights=part) for part in parts], axis=1)
    values = _measures(sums.sum(axis=0))
    intervals = {}
    if resamples:
        # persons that were clustered alike are drawn together
        kinds, many = np.unique(sums.round(9), axis=0, return_counts=True)
        drawn = np.random.default_rng(seed).multinomial(len(size), many / many.sum(), size=resamples).astype(float)
        tail = 50 * (1 - level)
        ends = np.percentile(_measures(drawn @ kinds), [tail, 100 - tail], axis=0)
        intervals = {name: (float(ends[0, i]), float(ends[1, i])) for i, name in enumerate(MEASURES)}
    return LinkageScores(
        len(person), len(persons), len(clusters),
        over_merged=int((np.bincount(of_cluster) > 1).sum()),
        split=int((np.bincount(of_person) > 1).sum()),
        values=dict(zip(MEASURES, map(float, values), strict=True)),
        intervals=intervals,
    )  # fmt: skip


def _measures(sums: FloatArray) -> FloatArray:
    """Return `MEASURES` of sums over persons, on the last axis."""
    right, found, true, precision, recall, mentions = np.moveaxis(sums, -1, 0)
    pairs = [np.divide(right, all_, out=np.ones_like(right), where=all_ > 0) for all_ in (found, true)]
    shares = [*pairs, precision / mentions, recall / mentions]
    f1 = [np.divide(2 * p * r, p + r, out=np.zeros_like(p), where=p + r > 0) for p, r in (shares[:2], shares[2:])]
    return np.stack([shares[0], shares[1], f1[0], shares[2], shares[3], f1[1]], axis=-1)
