"""Learning to rescore: trees trained on candidates of notes that the chain was not trained on.

The corpus is dealt out to folds. A chain trained on all others proposes spans in each fold, the habits that tell of
them are those of the others, too, and the trees see all folds together. What is used later are the habits of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from deid.document import Document
from deid.labeling.rescoring import Candidate, Habit, Rescorer, Trees, figures, properties

_ROUNDS, _RATE, _LEAVES, _PENALTY = 120, 0.06, 15, 1.0
"""Boosting: chosen by folds over MEDDOCAN's training part, where half and twice of each gave the same."""

Proposals = Sequence[Sequence[Candidate]]
"""Candidates of each document."""


def learn_rescorer(
    documents: Sequence[Document],
    folds: Sequence[int],
    propose: Callable[[Sequence[Document], Sequence[Document]], Proposals],
    min_documents: int,
    groups: Sequence[str] | None = None,
) -> Rescorer:
    """Learn to rescore.

    Parameters
    ----------
    documents : sequence of Document
        Annotated.
    folds : sequence of int
        Fold of each document.
    propose : callable
        Gets documents to train on and others, and returns the candidates of these, by start.
    min_documents : int
        Strings of fewer training notes are not kept.
    groups : sequence of str, optional
        As `deid.labeling.tagger.train` takes them.

    Returns
    -------
    Rescorer
        What rescores the candidates of a chain that is trained on all documents.
    """
    proposed: dict[int, Sequence[Candidate]] = {}
    for fold in sorted(set(folds)):
        held = [i for i, own in enumerate(folds) if own == fold]
        found = propose(
            [d for d, own in zip(documents, folds, strict=True) if own != fold], [documents[i] for i in held]
        )
        proposed.update(zip(held, found, strict=True))
    gold = [{(span.start, span.end, span.category) for span in document.spans} for document in documents]
    categories = tuple(sorted({span.category for document in documents for span in document.spans}))
    groups = groups or [document.text for document in documents]
    told = [(groups[i], _told(documents[i].text, proposed[i], gold[i])) for i in range(len(documents))]
    rows, right = [], []
    for fold in sorted(set(folds)):
        habits = _habits([one for one, own in zip(told, folds, strict=True) if own != fold], min_documents)
        for i, own in enumerate(folds):
            if own == fold and proposed[i]:
                rows.append(figures(documents[i].text, proposed[i], habits, categories))
                right += [candidate[:3] in gold[i] for candidate in proposed[i]]
    return Rescorer(categories, _habits(told, min_documents), _grown(rows, right))


_Told = list[tuple[list[str], bool]]
"""Properties of each candidate of a note, and whether it is a span."""


def _told(text: str, candidates: Sequence[Candidate], gold: set[tuple[int, int, str]]) -> _Told:
    return [(properties(text, start, end, name), (start, end, name) in gold) for start, end, name, _ in candidates]


def _habits(notes: Sequence[tuple[str, _Told]], min_documents: int) -> Mapping[str, Habit]:
    """Return what is known of the properties that stand in so many groups of notes."""
    right, seen = Counter[str](), Counter[str]()
    stand: dict[str, set[str]] = {}
    for group, note in notes:
        for names, is_span in note:
            seen.update(names)
            if is_span:
                right.update(names)
        stand.setdefault(group, set()).update(name for names, _ in note for name in names)
    documents = Counter(name for own in stand.values() for name in own)
    return {name: Habit(right[name], seen[name], n) for name, n in documents.items() if n >= min_documents}


def _grown(rows: Sequence[np.ndarray], right: Sequence[bool]) -> Trees:
    """Grow the trees; where all candidates are right, or none is, there is nothing to learn."""
    if len(set(right)) < 2:
        none = np.zeros(1, dtype=np.int64)
        return Trees(none, np.zeros(1), none, none, np.zeros(1), none, 0, 3.0 if right and right[0] else -3.0)
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    learner = HistGradientBoostingClassifier(
        max_iter=_ROUNDS,
        learning_rate=_RATE,
        max_leaf_nodes=_LEAVES,
        l2_regularization=_PENALTY,
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(1):
        learner.fit(np.concatenate(rows), np.array(right))
    return flattened(learner)


def flattened(learner: object) -> Trees:
    """Return the trees of a fitted HistGradientBoostingClassifier for two classes as arrays.

    Parameters
    ----------
    learner : HistGradientBoostingClassifier
    """
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    roots, size, depth = [], 0, 0
    for (tree,) in learner._predictors:  # type: ignore[attr-defined]
        nodes = tree.nodes
        leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes)) + size
        parts["feature"].append(np.where(leaf, 0, nodes["feature_idx"]))
        parts["threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]))
        parts["left"].append(np.where(leaf, own, nodes["left"] + size))
        parts["right"].append(np.where(leaf, own, nodes["right"] + size))
        parts["value"].append(np.where(leaf, nodes["value"], 0.0))
        roots.append(size)
        depth = max(depth, int(nodes["depth"].max()))
        size += len(nodes)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    whole = {name: joined[name].astype(np.int64) for name in ("feature", "left", "right")}
    base = float(np.ravel(learner._baseline_prediction)[0])  # type: ignore[attr-defined]
    return Trees(
        **whole, threshold=joined["threshold"], value=joined["value"], roots=np.array(roots), depth=depth, base=base
    )
