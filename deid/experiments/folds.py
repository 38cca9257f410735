"""Folds of a cross-validation: fixed by a seed, and never with one patient on both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from deid.base.draws import draw
from deid.base.errors import ConfigError, DuplicateError, require
from deid.base.safe_names import safe_name
from deid.document import Document

Split = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices of the documents to train on and of those to score."""


def group_documents(
    documents: Sequence[Document], *, field: str | None = None, pattern: str | None = None
) -> list[str] | None:
    """Tell which documents belong together, such as those of one patient.

    Parameters
    ----------
    documents : sequence of Document
    field : str, optional
        Field of the documents' metadata whose value names the group.
    pattern : str, optional
        Regular expression searched in the documents' ids; its first group, or the whole match when it has none, names
        the group: ``^\\d+`` for ids such as ``220-03``.

    Returns
    -------
    list of str or None
        Name of each document's group; None when neither field nor pattern is given.

    Raises
    ------
    ConfigError
        When both are given, the pattern is no regular expression, or a document has no group.
    """
    if field is None and pattern is None:
        return None
    require(field is None or pattern is None, "groups by a field and by a pattern at once", "give one of the two")
    if field is not None:
        found = [str(value) if (value := d.metadata.get(field)) is not None else None for d in documents]
    else:
        try:
            compiled = re.compile(pattern or "")
        except re.error as error:
            raise ConfigError("the pattern of the groups is no regular expression", error.msg) from None
        found = [match[1 if compiled.groups else 0] if (match := compiled.search(d.id)) else None for d in documents]
    groups = [group for group in found if group]
    if len(groups) < len(documents):
        first = next(d for d, group in zip(documents, found, strict=True) if not group)
        raise ConfigError(
            f"{len(documents) - len(groups)} of {len(documents)} documents belong to no group, first {first.name}",
            "name a field that every document has, or a pattern that every id matches",
            "" if field is None else f"field {safe_name(field)}",
        )
    return groups


def assign_folds(
    documents: Sequence[Document], folds: int, seed: int = 0, *, groups: Sequence[str] | None = None
) -> list[int]:
    """Deal documents out to folds.

    Groups go round in an order that only the seed and their names decide (a hash), large ones first, each to the
    smallest fold so far. So the folds do not depend on the order of the documents, and without groups their sizes
    differ by one at most.

    Parameters
    ----------
    documents : sequence of Document
    folds : int
        How many, at least 2.
    seed : int
    groups : sequence of str, optional
        Group of each document; each document is its own group when not given.

    Returns
    -------
    list of int
        Fold of each document, from 0.

    Raises
    ------
    ConfigError
        When there are fewer than two folds, or fewer groups than folds.
    DuplicateError
        When two documents have the same id.
    """
    names = [d.id for d in documents]
    if len(set(names)) < len(names):
        raise DuplicateError("two documents have the same id", "give each document an id of its own")
    names = list(groups) if groups is not None else names
    sizes = Counter(names)
    if not 2 <= folds <= len(sizes):
        raise ConfigError(
            f"{folds} folds cannot be made of {len(sizes)} {'documents' if groups is None else 'groups'}",
            f"choose 2 to {len(sizes)} folds" if len(sizes) > 1 else "a cross-validation needs more of them",
        )

    filled = [0] * folds
    fold_of: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: (-sizes[n], draw(seed, n))):
        fold_of[name] = min(range(folds), key=lambda f: (filled[f], f))
        filled[fold_of[name]] += sizes[name]
    return [fold_of[name] for name in names]


def splits(assigned: Sequence[int]) -> list[Split]:
    """Return what to train on and what to score in each fold of `assign_folds`."""
    return [
        (
            tuple(i for i, other in enumerate(assigned) if other != fold),
            tuple(i for i, other in enumerate(assigned) if other == fold),
        )
        for fold in range(max(assigned, default=-1) + 1)
    ]
