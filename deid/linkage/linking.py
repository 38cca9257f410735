"""Linking a table: from rows to persons, in one call.

Rows are put in an order of their own first, that of a hash of their cells, so that nothing depends on the order in
which they come. Then exact rules, the model's pairs from a threshold on, and `deid.linkage.clustering` over all.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray
from deid.base.errors import ConfigError, InputError
from deid.base.late import pd
from deid.base.options import option
from deid.linkage.blocking import (
    LEAST_PAIRS,
    PAIRS_A_ROW,
    Block,
    chosen_blocks,
    neighbour_blocks,
    proposed_blocks,
)
from deid.linkage.clustering import Edge, cluster
from deid.linkage.columns import fields_of, kinds_of, read_records
from deid.linkage.comparisons import Comparison, comparisons_of, with_keys
from deid.linkage.exact import RULES, SURE, exact_edges, facts_of
from deid.linkage.model import LinkageModel, Step, learn, predict, require_splink, steps_of
from deid.table.cell_text import text_list
from deid.table.microdata import check_columns

PERSON = "person"
"""Column of the ids; one that the table has says which rows are known to be of one person."""

METHODS = ("model", "exact")
REVIEWED = 0.5
"""Probability from which a pair is put down for review, up to the threshold."""


@dataclass(frozen=True)
class LinkOptions:
    """How a table is linked."""

    method: str = option("model", "model (needs the extra link) or exact (rules alone).", metavar="model|exact")
    threshold: float = option(0.95, "Probability from which two rows are one person.", metavar="P")
    kind: tuple[str, ...] = option(
        (), "What a column is: name, given, family, birth, number, phone, similar, none, ... (repeatable).",
        metavar="COLUMN=KIND", panel="Columns",
    )  # fmt: skip
    weight: tuple[str, ...] = option(
        (), "Factor on the match weights of a column (repeatable); 0 leaves it out.",
        metavar="COLUMN=X", panel="Columns",
    )  # fmt: skip
    pairs: int = option(
        0, "Most pairs of rows that are compared; by default 20 a row.", metavar="N", panel="Pairs", minimum=0
    )
    window: int = option(
        0,
        "Compare each row also with the N next to it by name and by birth date.",
        metavar="N",
        panel="Pairs",
        minimum=0,
    )
    seed: int = option(1, "Seed of the sample for training, and of the order of ids.", metavar="N", panel="Pairs")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"there is no method {self.method!r}", "say --method model or --method exact")
        if not REVIEWED <= self.threshold < 1:
            raise ConfigError("the threshold is not from 0.5 to below 1", "for example: --threshold 0.95")
        if self.weights and self.method == "exact":
            raise ConfigError("exact rules have no weights", "leave out --weight, or --method exact")

    @property
    def kinds(self) -> dict[str, str]:
        """What is said of columns."""
        return _pairs(self.kind, "--kind", "COLUMN=KIND")

    @property
    def weights(self) -> dict[str, float]:
        """Factors by column."""
        try:
            found = {name: float(text) for name, text in _pairs(self.weight, "--weight", "COLUMN=X").items()}
        except ValueError:
            raise ConfigError("--weight is not of the form COLUMN=X", "for example: --weight zip=0.5") from None
        if not all(0 <= factor < math.inf for factor in found.values()):
            raise ConfigError("a weight is negative", "a factor of 1 changes nothing, 0 leaves the column out")
        return found


def _pairs(texts: Sequence[str], flag: str, form: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise ConfigError(f"{flag} is not of the form {form}", "for example: --kind nr=number")
        found[name] = value
    return found


@dataclass(frozen=True, eq=False)
class Linked:
    """Who is who in a table."""

    person: list[str] = field(repr=False)
    """Id of each row's person, in the table's order."""
    kinds: dict[str, str]
    """What each column was taken for."""
    joined: dict[str, int]
    """What joined rows -> pairs of rows."""
    refused: dict[str, int]
    """Contradiction -> pairs that it kept apart."""
    review: pd.DataFrame = field(repr=False)
    """Pairs that a person should look at: rows (from 1), persons, probability, weight, and why they are not joined."""
    model: LinkageModel | None = None
    """What was learnt or applied; None for exact rules."""
    blocks: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))
    """Rules by which pairs were chosen, and those that would have been too many."""
    pairs: pd.DataFrame | None = field(default=None, repr=False)
    """Pairs from `REVIEWED` on: a, b (rows from 0), weight, probability."""
    best: FloatArray | None = field(default=None, repr=False)
    """For each row the probability that it would have with a row that says the same; rarity does not count."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: counts, and names of columns."""
        sizes = Counter(Counter(self.person).values())
        return {
            "rows": len(self.person),
            "persons": len(set(self.person)),
            "persons_of_one_row": sizes.get(1, 0),
            "largest": max(sizes),
            "kinds": self.kinds,
            "joined": self.joined,
            "refused": self.refused,
            "review": len(self.review),
            "blocks": {str(block): block.pairs for block in self.blocks[0]},
            "blocks_left_out": {str(block): block.pairs for block in self.blocks[1]},
            "model": None if self.model is None else self.model.checksum,
        }


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that is ready to be linked: its rows in an order that their cells alone decide."""

    records: pd.DataFrame = field(repr=False)
    kinds: dict[str, str]
    order: list[int] = field(repr=False)
    """Place of each record in the table; known rows come behind the new ones."""
    new: int
    """New rows."""


def prepare(frame: pd.DataFrame, said: LinkOptions, known: pd.DataFrame | None = None) -> Prepared:
    """Bring a table into the form in which it is linked; parameters and errors are those of `link_table`."""
    if not len(frame):
        raise InputError("the table has no rows", "name a table with rows")
    whole = frame.rename(columns={PERSON: "before"})
    if known is not None:
        check_columns(known, [PERSON])
        whole = pd.concat([whole, known.rename(columns={PERSON: "known"})], ignore_index=True)
    ids = {name: whole.pop(name) for name in ("before", "known") if name in whole}
    kinds = kinds_of(whole, said.kinds)
    records = read_records(whole, kinds)
    for name, column in ids.items():
        cells = [text or None for text in text_list(column, key=True)]
        records[name] = pd.Series(cells, index=records.index, dtype=object)
    if known is not None and not all(records["known"].tolist()[len(frame) :]):
        raise InputError("a known row without a person", "fill it in, or remove the row")
    order = _order(whole, said.seed)
    return Prepared(records.iloc[order].reset_index(drop=True), kinds, order, len(frame))


def link_table(
    frame: pd.DataFrame,
    said: LinkOptions | None = None,
    *,
    known: pd.DataFrame | None = None,
    model: LinkageModel | None = None,
    threads: int = 1,
) -> Linked:
    """Say which rows of a table are of one person.

    Parameters
    ----------
    frame : pandas.DataFrame
        Cells are texts. Rows that have a ``person`` in common are of one, whatever else they say.
    said : LinkOptions, optional
    known : pandas.DataFrame, optional
        Rows whose ``person`` is known and stays: new rows join these persons or become new ones. No two known persons
        become one.
    model : LinkageModel, optional
        One that was learnt before; else it is learnt from the table.
    threads : int
        The same for any number.

    Returns
    -------
    Linked
        Equal for equal rows, in whatever order they come.

    Raises
    ------
    ConfigError, InputError, ModelError
        When nothing can be linked so.
    """
    said = said or LinkOptions()
    if said.method == "model":
        require_splink()
    ready = prepare(frame, said, known)
    records, order = ready.records, ready.order
    facts = facts_of(records)
    given = [records[name].tolist() for name in ("before", "known") if name in records]
    edges = exact_edges(records, len(RULES) if said.method == "exact" else SURE)
    clusters = cluster(facts, edges, given)
    blocks: tuple[list[Block], list[Block]] = ([], [])
    pairs = None
    if said.method == "model" and len(records) > 1:
        model, blocks, pairs = _scored(ready, said, clusters.person, model, threads)
        sure = pairs[pairs["probability"] >= said.threshold]
        found = zip(sure["a"].tolist(), sure["b"].tolist(), sure["weight"].tolist(), strict=True)
        edges += [Edge(weight, a, b, "model") for a, b, weight in found]
        clusters = cluster(facts, edges, given)
    names = _ids(clusters.person, records)
    person = [""] * len(order)
    for place, row in enumerate(order):
        person[row] = names[clusters.person[place]]
    refused = Counter(why for _, why in clusters.refused)
    joined = Counter(e.why for e in edges if clusters.person[e.a] == clusters.person[e.b])
    review = _review(clusters.refused, pairs, said.threshold, order, person)
    return Linked(
        person[: ready.new], ready.kinds, dict(joined), dict(sorted(refused.items())), review, model, blocks,
        None if pairs is None else _in_table(pairs, order),
        None if pairs is None or model is None else _best(ready, model, factors_of(ready.kinds, said)),
    )  # fmt: skip


def _scored(
    ready: Prepared, said: LinkOptions, persons: Sequence[int], model: LinkageModel | None, threads: int
) -> tuple[LinkageModel, tuple[list[Block], list[Block]], pd.DataFrame]:
    """Learn the model where there is none, choose the pairs and weigh them."""
    records, comparisons, factors = _compared(ready, said, model)
    fresh = "known" in records
    budget = said.pairs or max(LEAST_PAIRS, PAIRS_A_ROW * ready.new)
    blocks = chosen_blocks(proposed_blocks(records, fresh=fresh), budget)
    near = neighbour_blocks(records, said.window) if said.window else []
    if model is None:
        model = learn(records, comparisons, ready.kinds, persons, seed=said.seed)
    pairs = predict(
        records, comparisons, model, [*blocks[0], *near], factors=factors, least=REVIEWED, threads=threads, fresh=fresh
    )
    return model, ([*blocks[0], *near], blocks[1]), pairs


def _best(ready: Prepared, model: LinkageModel, factors: Mapping[str, float]) -> FloatArray:
    records = ready.records
    weights = np.full(len(records), math.log2(model.prior / (1 - model.prior)))
    for one in (c for c in comparisons_of(records) if c.field in model.levels):
        told = [records[name].notna().to_numpy() for name in one.columns or ("zip", "city")]
        equal = next(label for label in one.labels if label.endswith("equal"))
        weights += model.weight(one.field, equal) * factors.get(one.field, 1.0) * np.logical_or.reduce(told)
    if "given" in model.levels:
        initial = np.array([isinstance(own, str) and len(own) == 1 for own in records["given"]])
        weights[initial] += model.weight("given", "initial") - model.weight("given", "equal")
    return 1 / (1 + np.exp2(-weights))


def _compared(
    ready: Prepared, said: LinkOptions, model: LinkageModel | None
) -> tuple[pd.DataFrame, list[Comparison], dict[str, float]]:
    factors = factors_of(ready.kinds, said)
    comparisons = [c for c in comparisons_of(ready.records) if factors.get(c.field) != 0]
    if model is not None:
        model.check(comparisons)
    return with_keys(ready.records), comparisons, factors


@dataclass(frozen=True)
class Explained:
    """Why two rows are one person, or two."""

    prior: float
    """Weight before anything is compared."""
    steps: list[Step]
    exact: list[str]
    """Exact rules that hold."""
    conflict: str
    """What contradicts; empty when nothing does."""
    values: dict[str, tuple[str, str]] = field(repr=False)
    """By field, what is compared."""

    @property
    def weight(self) -> float:
        """Weight of the pair, log2 of the odds."""
        return self.prior + sum(step.weight + step.rarity for step in self.steps)

    @property
    def probability(self) -> float:
        """Probability that the two are one person."""
        return 1 / (1 + 2 ** -max(-1000.0, self.weight))


def explain_pair(
    frame: pd.DataFrame, a: int, b: int, said: LinkOptions | None = None, *, model: LinkageModel | None = None
) -> Explained:
    """Say why two rows of a table are one person, or two.

    Parameters
    ----------
    frame, said, model
        As for `link_table`.
    a, b : int
        Rows, from 1.

    Raises
    ------
    ConfigError, InputError, ModelError
        As `link_table`; and when a row is none of the table.
    """
    said = said or LinkOptions()
    require_splink()
    if a == b or not all(1 <= row <= len(frame) for row in (a, b)):
        raise ConfigError(f"these are no two rows of the table, which has {len(frame):,}", "count them from 1")
    ready = prepare(frame, said)
    records, comparisons, factors = _compared(ready, said, model)
    facts = facts_of(ready.records)
    edges = exact_edges(ready.records, SURE)
    if model is None:
        model = learn(records, comparisons, ready.kinds, cluster(facts, edges).person, seed=said.seed)
    pair = ready.order.index(a - 1), ready.order.index(b - 1)
    steps = steps_of(records, comparisons, model, pair, factors)
    two = ready.records.iloc[list(pair)].reset_index(drop=True)

    def shown(one: Comparison, row: int) -> str:
        names = {"birth": ("birth",), "place": ("zip", "city")}.get(one.field, one.columns)
        cells = [two[name].iloc[row] for name in names if name in two]
        return " ".join(str(cell).lstrip(":") for cell in cells if isinstance(cell, str))

    named = {own[0]: column for column, own in fields_of(ready.kinds).items() if own[0][-1].isdigit()}
    return Explained(
        math.log2(model.prior / (1 - model.prior)),
        [replace(step, field=named.get(step.field, step.field)) for step in steps],
        [edge.why for edge in exact_edges(two, SURE)],
        facts[pair[0]].conflict(facts[pair[1]]),
        {named.get(one.field, one.field): (shown(one, 0), shown(one, 1)) for one in comparisons},
    )


def factors_of(kinds: Mapping[str, str], said: LinkOptions) -> dict[str, float]:
    """Return the factor on each field's weights.

    Raises
    ------
    ConfigError
        When a column tells nothing of a person.
    """
    fields = fields_of(kinds)
    for name in said.weights:
        if name not in fields:
            raise ConfigError(
                f"column {name!r} is not compared", "say what it is with --kind, or leave out its --weight"
            )
    return {one: factor for name, factor in said.weights.items() for one in fields[name]}


def _order(frame: pd.DataFrame, seed: int) -> list[int]:
    """Return the places of rows in an order that their cells alone decide."""
    cells = [text_list(frame[name]) for name in sorted(map(str, frame.columns))]
    start = hashlib.blake2b(str(seed).encode(), digest_size=16)

    def place(row: int) -> bytes:
        own = start.copy()
        for column in cells:
            own.update(column[row].encode("utf-8", "surrogatepass") + b"\0")
        return own.digest()

    return sorted(range(len(frame)), key=place)


def _ids(person: Sequence[int], records: pd.DataFrame) -> dict[int, str]:
    """Return the id of each person by its number: the known one, else the next that is free."""
    known = records["known"].tolist() if "known" in records else [None] * len(person)
    found = {root: own for root, own in zip(person, known, strict=True) if own}
    numbers = [int(own[1:]) for own in found.values() if own[:1] == "P" and own[1:].isascii() and own[1:].isdigit()]
    taken = max(numbers, default=0)
    for root in person:
        if root not in found:
            taken += 1
            found[root] = f"P{taken}"
    return found


def _in_table(pairs: pd.DataFrame, order: Sequence[int]) -> pd.DataFrame:
    """Return pairs by their rows of the table, the first below the second."""
    rows = np.array([[order[a], order[b]] for a, b in zip(pairs["a"], pairs["b"], strict=True)]).reshape(-1, 2)
    rows.sort(axis=1)
    return pairs.assign(a=rows[:, 0], b=rows[:, 1]).sort_values(["a", "b"], ignore_index=True)


def _review(
    refused: Sequence[tuple[Edge, str]],
    pairs: pd.DataFrame | None,
    threshold: float,
    order: Sequence[int],
    person: Sequence[str],
) -> pd.DataFrame:
    found: dict[tuple[int, int], tuple[object, ...]] = {}
    if pairs is not None:
        low = _in_table(pairs[pairs["probability"] < threshold], order)
        for a, b, weight, chance in zip(*(low[name].tolist() for name in low.columns), strict=True):
            found[a, b] = (f"{chance:.4f}", f"{weight:.2f}", "below the threshold")
    for edge, why in refused:
        a, b = sorted((order[edge.a], order[edge.b]))
        if edge.why == "model":
            found[a, b] = (f"{1 / (1 + 2**-edge.weight):.4f}", f"{edge.weight:.2f}", why)
        else:
            found[a, b] = ("", "", f"{why} (equal: {edge.why})")
    rows = [
        (a + 1, b + 1, person[a], person[b], *rest) for (a, b), rest in sorted(found.items()) if person[a] != person[b]
    ]
    return pd.DataFrame(rows, columns=["row_a", "row_b", "person_a", "person_b", "probability", "weight", "why_apart"])
