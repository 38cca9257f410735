"""Linking a table: from rows to persons, in one call.

Rows are put in an order of their own first, that of a hash of their cells, so that nothing depends on the order in
which they come. Then exact rules, the model's pairs from a threshold on, and `deid.linkage.clustering` over all.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray
from deid.base.errors import ConfigError, InputError, require, told_as
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
from deid.linkage.clustering import DECIDED, Edge, Facts, cluster
from deid.linkage.columns import Tables, fields_of, kinds_of, places_of, read_records, stacked, sure_of, tables_of
from deid.linkage.comparisons import DOUBTED, Distance, FieldComparison, comparisons_of, with_keys
from deid.linkage.decisions import Decided, checks
from deid.linkage.exact import RULES, SURE, exact_edges, facts_of
from deid.linkage.look_alikes import check_ids
from deid.linkage.model import LinkageModel, learn, predict, read_model, require_splink
from deid.table.cell_text import text_list
from deid.table.microdata import check_columns
from deid.table.options import TableOptions

PERSON, _TABLE = "person", "table"
"""Column of the ids; one that the table has says which rows are known to be of one person."""

METHODS = ("model", "exact")
DOUBTFUL = 0.8
"""Confidence below which a value may have been misread: it contradicts nobody, and no exact rule takes it."""
REVIEWED = 0.5
"""Probability from which a pair is put down for review, up to the threshold."""


@dataclass(frozen=True)
class LinkOptions:
    """How a table is linked."""

    method: str = option("model", "model (needs the extra link) or exact (rules alone).", metavar="model|exact")
    threshold: float = option(0.95, "Probability from which two rows are one person.", metavar="P")
    kind: tuple[str, ...] = option(
        (),
        "What a column is: name, given, family, birth, number, phone, similar, none, ... (repeatable).",
        metavar="COLUMN=KIND",
        panel="Columns",
    )
    weight: tuple[str, ...] = option(
        (),
        "Factor on the match weights of a column (repeatable); 0 leaves it out.",
        metavar="COLUMN=X",
        panel="Columns",
    )
    distance: tuple[str, ...] = option(
        (),
        "Compare a column by a distance with cut-offs: jaro_winkler, jaro, jaccard, levenshtein, "
        "damerau_levenshtein, difference, days (repeatable).",
        "--compare",
        metavar="COLUMN=NAME:A,B",
        panel="Columns",
    )
    pairs: int = option(0, "Most pairs of rows that are compared; by default 20 a row.", panel="Pairs", minimum=0)
    window: int = option(
        0,
        "Compare each row also with the N next to it by name and by birth date.",
        "--neighbours",
        panel="Pairs",
        minimum=0,
    )
    seed: int = option(1, "Seed of the sample for training, and of the order of ids.", panel="Pairs", minimum=0)

    def __post_init__(self) -> None:
        require(self.method in METHODS, f"there is no method {self.method!r}", "say --method model or --method exact")
        if not REVIEWED <= self.threshold < 1:
            raise ConfigError("the threshold is not from 0.5 to below 1", "for example: --threshold 0.95")
        if self.weights and self.method == "exact":
            raise ConfigError("exact rules have no weights", "leave out --weight, or --method exact")
        if self.distances and self.method == "exact":
            raise ConfigError("exact rules compare by no distance", "leave out --compare, or --method exact")

    @property
    def kinds(self) -> dict[str, str]:
        """What is said of columns."""
        return _pairs(self.kind, "--kind", "COLUMN=KIND")

    @property
    def weights(self) -> dict[str, float]:
        """Factors by column.

        Raises
        ------
        ConfigError
            When one is of another form, or negative.
        """
        with told_as(ConfigError("--weight is not of the form COLUMN=X", "for example: --weight zip=0.5"), ValueError):
            found = {name: float(text) for name, text in _pairs(self.weight, "--weight", "COLUMN=X").items()}
        if not all(0 <= factor < math.inf for factor in found.values()):
            raise ConfigError("a weight is negative", "a factor of 1 changes nothing, 0 leaves the column out")
        return found

    @property
    def distances(self) -> dict[str, Distance]:
        """Distances by column.

        Raises
        ------
        ConfigError
            When one is of another form, or there is no such distance.
        """
        found = {}
        for name, text in _pairs(self.distance, "--compare", "COLUMN=NAME:A,B").items():
            kind, _, cuts = text.partition(":")
            try:
                found[name] = Distance(kind, tuple(map(float, cuts.split(","))))
            except ValueError:
                hint = "for example: --compare surname=jaro_winkler:.92,.8"
                raise ConfigError("--compare is not of the form COLUMN=NAME:A,B", hint) from None
        return found


@dataclass(frozen=True)
class AppliedOptions(LinkOptions):
    """How a table is linked, beside what, and by which model."""

    earlier: tuple[str, ...] = option(
        (),
        "Table of an earlier run: its persons keep their ids, and TABLE's rows join them (repeatable: name all).",
        metavar="OLD",
    )
    model: str | None = option(
        None, "Apply a model that --save-model wrote; learn none.", "--saved-model", metavar="F", panel="Further files"
    )

    def applied(self) -> LinkageModel | None:
        """Read the model that is to be applied."""
        return None if self.model is None else read_model(Path(self.model))

    def tables(self, source: TableOptions, other: str | None) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
        """Read TABLE, the one beside it, and those of earlier runs."""
        second = [] if other is None else [source.read(other)]
        return [source.read(), *second], [source.read(path) for path in self.earlier]


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
    """Pairs that a person should look at: rows (from 1), persons, probability, weight, why they are not joined, and
    what says which rows these were (`deid.linkage.decisions.checks`)."""
    contradictions: pd.DataFrame = field(repr=False)
    """Values that others of their person contradict: person, column, row (from 1), share of the person's rows with a
    value that say the same."""
    model: LinkageModel | None = None
    """What was learnt or applied; None for exact rules."""
    blocks: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))
    """Rules by which pairs were chosen, and those that would have been too many."""
    pairs: pd.DataFrame | None = field(default=None, repr=False)
    """Pairs from `REVIEWED` on: a, b (rows from 0), weight, probability."""
    best: FloatArray | None = field(default=None, repr=False)
    """For each row the probability that it would have with a row that says the same; rarity does not count."""

    def noted(self, places: pd.DataFrame) -> pd.DataFrame:
        """Return the places of a view's values (columns row, column, confidence) as they are after linking.

        What other rows of the person contradict is less sure; ``linked_by`` is the checksum of the model.
        """
        share = {(row - 1, name): own for _, name, row, own in self.contradictions.itertuples(index=False)}
        cells = zip(places["row"].astype(int).tolist(), places["column"].tolist(), strict=True)
        sure = places["confidence"].astype(float).to_numpy() if "confidence" in places else np.ones(len(places))
        lowered = (sure * np.array([share.get(cell, 1.0) for cell in cells])).round(4)
        by = "exact rules" if self.model is None else self.model.checksum
        return places.assign(confidence=lowered, linked_by=by)

    def table(self, tables: Sequence[pd.DataFrame], said: LinkOptions, names: Sequence[str] = ()) -> pd.DataFrame:
        """Return the rows that were linked with their persons, and with the table each is of where that has a name."""
        rest = stacked([table.drop(columns=PERSON, errors="ignore") for table in tables], said.kinds)
        if names:
            short = [Path(name).name for name in names]
            shown = short if len(set(short)) == len(short) else names
            rest.insert(0, _TABLE, [name for name, table in zip(shown, tables, strict=True) for _ in range(len(table))])
        rest.insert(0, PERSON, self.person)
        return rest

    def remarks(self, columns: Iterable[str]) -> list[str]:
        """Return what was not compared; ``columns`` are those of `table`."""
        told = [f"rows of equal {one}, {one.pairs:,} pairs are too many (--pairs)" for one in self.blocks[1]]
        if silent := [name for name in columns if name not in (PERSON, _TABLE, *self.kinds)]:
            told.append(", ".join(silent))
        return [f"not compared: {what}" for what in told]

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
            "contradictions": dict(sorted(self.contradictions.groupby("column")["person"].nunique().items())),
            "blocks": {str(block): block.pairs for block in self.blocks[0]},
            "blocks_left_out": {str(block): block.pairs for block in self.blocks[1]},
            "model": None if self.model is None else self.model.checksum,
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return what was joined and kept apart, for a terminal."""
        told = self.as_dict()
        counts = {
            "rows": told["rows"],
            "persons": told["persons"],
            **({"pairs for review": told["review"]} if told["review"] else {}),
            **{f"pairs by {why}": count for why, count in self.joined.items()},
            **{f"kept apart: {why}": count for why, count in self.refused.items()},
            **{f"persons of two values: {name}": count for name, count in told["contradictions"].items()},
        }
        return [(what, f"{count:,}") for what, count in counts.items()]


@dataclass(frozen=True)
class Whole:
    """What was seen of a whole table of which rows are linked that no other row of it can be joined with."""

    kinds: dict[str, str]
    """What each column is, as `deid.linkage.columns.kinds_of` says it of the whole."""
    stand_ins: Mapping[str, Collection[object]] = field(default_factory=dict, repr=False)
    """Column of records -> what stands for no number in it (`deid.linkage.columns.stand_ins_of`)."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that is ready to be linked: its rows in an order that their cells alone decide."""

    records: pd.DataFrame = field(repr=False)
    kinds: dict[str, str]
    order: list[int] = field(repr=False)
    """Place of each record in the table; known rows come behind the new ones."""
    new: int
    """New rows."""
    run: str = ""
    """What the ids of new persons end with where some are known: no other run, of other rows, gives the same ids."""


def prepare(
    tables: Sequence[pd.DataFrame],
    said: LinkOptions,
    known: Tables = (),
    *,
    fixed: bool = False,
    confidence: pd.DataFrame | None = None,
    whole: Whole | None = None,
) -> Prepared:
    """Bring tables into the form in which they are linked; parameters and errors are those of `link_table`."""
    require(all(map(len, tables)), "the table has no rows", "name a table with rows", kind=InputError)
    earlier = tables_of(known)
    for old in earlier:
        check_columns(old, [PERSON])
    parts = [*tables, *earlier]
    before: list[str | None] = []
    for part in parts:
        before += [text or None for text in text_list(part[PERSON], key=True)] if PERSON in part else [None] * len(part)
    plain = [part.drop(columns=PERSON, errors="ignore") for part in parts]
    for name in [*said.kinds, *said.weights, *said.distances]:
        if not any(name in part for part in plain):
            check_columns(plain[0], [name])
    rows = stacked(plain, said.kinds)
    table = [number for number, part in enumerate(parts) for _ in range(len(part))]
    if whole is None:
        kinds = kinds_of(rows, {name: kind for name, kind in said.kinds.items() if name in rows}, table)
    else:
        kinds = whole.kinds
    pieces = [rows[np.equal(table, number)].reset_index(drop=True) for number in range(len(parts))]
    read = [read_records(piece, kinds, None if whole is None else whole.stand_ins) for piece in pieces]
    records = pd.concat(read, ignore_index=True)
    new = sum(map(len, tables))
    require(all(before[new:]), "a known row without a person", "fill it in, or remove the row", kind=InputError)
    check_ids((one for one in before[new:] if one), "make them differ in more")
    stays = [fixed or row >= new for row in range(len(rows))]
    for name, wanted in (("before", False), ("known", True)):
        if any(one is not None and stay == wanted for one, stay in zip(before, stays, strict=True)):
            cells = [one if stay == wanted else None for one, stay in zip(before, stays, strict=True)]
            records[name] = pd.Series(cells, dtype=object)
    for column, fields in fields_of(kinds).items():
        if confidence is not None and column in confidence:
            low = np.flatnonzero(confidence[column].to_numpy(float) < DOUBTFUL)
            for one in fields if len(low) else ():
                doubted = records.get(f"doubt_{one}", pd.Series([None] * len(rows), dtype=object))
                doubted.iloc[low] = "1"
                records[f"doubt_{one}"] = doubted
    places = places_of(rows, said.seed)
    order = sorted(range(len(rows)), key=places.__getitem__)
    run = hashlib.blake2b(b"".join(sorted(places)), digest_size=4).hexdigest() if earlier else ""
    return Prepared(records.iloc[order].reset_index(drop=True), kinds, order, new, run)


def link_table(
    frame: Tables,
    said: LinkOptions | None = None,
    *,
    known: Tables = (),
    model: LinkageModel | None = None,
    threads: int = 1,
    fixed: bool = False,
    confidence: pd.DataFrame | None = None,
    decided: Decided | None = None,
    whole: Whole | None = None,
    master: str | None = None,
) -> Linked:
    """Say which rows of a table, or of several, are of one person.

    Parameters
    ----------
    frame : pandas.DataFrame or sequence of them
        Cells are texts. Rows that have a ``person`` in common are of one, whatever else they say. Of several tables
        the rows count one after the other (`deid.linkage.columns.stacked`).
    said : LinkOptions, optional
    known : pandas.DataFrame or sequence of them
        Rows whose ``person`` is known and stays: new rows join these persons or become new ones, whose ids no other
        run gives. No two known persons become one.
    model : LinkageModel, optional
        One that was learnt before; else it is learnt from the table.
    threads : int
        The same for any number.
    fixed : bool
        Each ``person`` of the table is known too.
    confidence : pandas.DataFrame, optional
        How sure it is that cells of the first table were read rightly: 0 to 1, by column and row.
    decided : Decided, optional
        Rows that somebody decided to be of one person, whatever they say, or to be of two, in whatever way they could
        be joined; known rows come behind.
    whole : Whole, optional
        Where exact rules link a part of a table: what was seen of the whole.
    master : str, optional
        Where Spark runs that weighs the pairs, such as ``local[4]`` (extra ``spark``): the same persons.

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
    tables = tables_of(frame)
    ready = prepare(tables, said, known, fixed=fixed, confidence=confidence, whole=whole)
    records, order = ready.records, ready.order
    facts, edges, given = exact(ready, len(RULES) if said.method == "exact" else SURE)
    decided = decided or Decided()
    apart: list[tuple[int, int]] = []
    if decided.pairs:
        group = decided.groups(len(order))
        given.append([group[row] for row in order])
        place_of = {row: place for place, row in enumerate(order)}
        apart = [(place_of[a], place_of[b]) for a, b in decided.different]
    clusters = cluster(facts, edges, given, apart)
    refused = clusters.refused
    blocks: tuple[list[Block], list[Block]] = ([], [])
    pairs = best = None
    if said.method == "model" and len(records) > 1:
        compared = comparing(ready, said, model)
        model, blocks, pairs = _scored(ready, compared, said, clusters.person, model, threads, master)
        best = _best(compared, model)
        del compared
        high = pairs.loc[pairs["probability"] >= said.threshold, ["a", "b", "weight"]].assign(why="model")
        clusters = cluster(facts, high, [clusters.person], apart)
        refused = refused + clusters.refused
        edges = pd.concat([edges, high], ignore_index=True)
    names = _ids(clusters.person, records, ready.run)
    person = [""] * len(order)
    for place, row in enumerate(order):
        person[row] = names[clusters.person[place]]
    whose = np.asarray(clusters.person)
    joined = Counter(edges["why"][whose[edges["a"]] == whose[edges["b"]]])
    review = _review(refused, pairs, said.threshold, order, person, decided)
    known_too = [*tables, *tables_of(known)]
    check = checks(known_too, (int(row) - 1 for name in ("row_a", "row_b") for row in review[name]), without=PERSON)
    review["check"] = [f"{check[a - 1]}-{check[b - 1]}" for a, b in zip(review["row_a"], review["row_b"], strict=True)]
    return Linked(
        person[: ready.new], ready.kinds, dict(joined), dict(sorted(Counter(why for _, why in refused).items())),
        review, _contradictions(ready, person), model, blocks,
        None if pairs is None else _in_table(pairs, order), best,
    )  # fmt: skip


def exact(ready: Prepared, rules: int) -> tuple[list[Facts], pd.DataFrame, list[Sequence[str | int | None]]]:
    """Return what rows say for sure, what exact rules join, and the persons that are given."""
    sure = sure_of(ready.records)
    given: list[Sequence[str | int | None]] = [
        ready.records[name].tolist() for name in ("before", "known") if name in ready.records
    ]
    return facts_of(sure), exact_edges(sure, rules), given


def _contradictions(ready: Prepared, person: Sequence[str]) -> pd.DataFrame:
    """Return the values that the other rows of their person contradict, but for what most of them say."""
    columns = {one: column for column, fields in fields_of(ready.kinds).items() for one in fields}
    found: list[tuple[str, str, int, float]] = []
    for name in map(str, ready.records):
        if name not in ("birth", "sex") and not name.startswith("number_"):
            continue
        told: dict[tuple[str, str], dict[str, list[int]]] = {}
        for row, value in zip(ready.order, ready.records[name].tolist(), strict=True):
            if value:
                issuer = value.rpartition(":")[0] if name.startswith("number_") else ""
                told.setdefault((person[row], issuer), {}).setdefault(value, []).append(row)
        for (who, _), values in told.items():
            sizes = [len(rows) for rows in values.values()]
            for rows in values.values() if len(sizes) > 1 else ():
                if len(rows) < max(sizes) or sizes.count(max(sizes)) > 1:
                    share = round(len(rows) / sum(sizes), 4)
                    found += [(who, columns[name], row + 1, share) for row in rows if row < ready.new]
    listed = sorted(found, key=lambda one: (one[1], one[2]))
    return pd.DataFrame(listed, columns=["person", "column", "row", "share"])


_Compared = tuple[pd.DataFrame, list[FieldComparison], dict[str, float]]
"""Records with their keys, how they are compared, and the factors on fields."""


def _scored(
    ready: Prepared,
    compared: _Compared,
    said: LinkOptions,
    persons: Sequence[int],
    model: LinkageModel | None,
    threads: int,
    master: str | None,
) -> tuple[LinkageModel, tuple[list[Block], list[Block]], pd.DataFrame]:
    """Learn the model where there is none, choose the pairs and weigh them."""
    records, comparisons, factors = compared
    fresh = "known" in records
    budget = said.pairs or max(LEAST_PAIRS, PAIRS_A_ROW * ready.new)
    blocks = chosen_blocks(proposed_blocks(records, fresh=fresh), budget)
    near = neighbour_blocks(records, said.window) if said.window else []
    if model is None:
        model = learn(records, comparisons, ready.kinds, persons, seed=said.seed)
    pairs = predict(
        records, comparisons, model, [*blocks[0], *near], factors=factors, least=REVIEWED, threads=threads, fresh=fresh,
        master=master,
    )  # fmt: skip
    return model, ([*blocks[0], *near], blocks[1]), pairs


def _best(compared: _Compared, model: LinkageModel) -> FloatArray:
    records, comparisons, factors = compared
    weights = np.full(len(records), model.prior_weight)
    for one in (c for c in comparisons if c.field in model.levels):
        told = [records[name].notna().to_numpy() for name in one.columns or ("zip", "city")]
        equal = next(label for label in one.labels if label.endswith("equal"))
        weights += model.weight(one.field, equal) * factors.get(one.field, 1.0) * np.logical_or.reduce(told)
    if "initial" in model.levels.get("given", ()):
        weights[records["given"].str.len() == 1] += model.weight("given", "initial") - model.weight("given", "equal")
    return 1 / (1 + np.exp2(-weights))


def comparing(ready: Prepared, said: LinkOptions, model: LinkageModel | None) -> _Compared:
    """Return records with their keys, how they are compared, and the factors on fields."""
    factors = {one: own for name, own in said.weights.items() for one in _fields(ready.kinds, name, "--weight")}
    distances = {one: own for name, own in said.distances.items() for one in _compared_as(ready.kinds, name)}
    doubted = None if model is None else {one for one, own in model.levels.items() if DOUBTED in own}
    comparisons = comparisons_of(ready.records, distances, doubted)
    comparisons = [c for c in comparisons if factors.get(c.field) != 0]
    if model is not None:
        model.check(comparisons)
    records = with_keys(ready.records)
    for one in doubted or ():
        if f"doubt_{one}" not in records:
            records[f"doubt_{one}"] = pd.Series([None] * len(records), dtype=object)
    return records, comparisons, factors


def _compared_as(kinds: Mapping[str, str], name: str) -> list[str]:
    """Return the fields that a distance is for: of a name given and family name, of a place its own."""
    return [one for one in _fields(kinds, name, "--compare") if one not in ("middle", "place")]


def _fields(kinds: Mapping[str, str], name: str, option: str) -> Sequence[str]:
    """Return the fields of a column that an option names."""
    found = fields_of(kinds).get(name, ())
    require(found, f"column {name!r} is not compared", f"say what it is with --kind, or leave out its {option}")
    return found


def _ids(person: Sequence[int], records: pd.DataFrame, run: str) -> dict[int, str]:
    """Return the id of each person by its number: the known one, else the next that is free."""
    known = records["known"].tolist() if "known" in records else [None] * len(person)
    found = {root: own for root, own in zip(person, known, strict=True) if own}
    numbers = [int(own[1:]) for own in found.values() if own[:1] == "P" and own[1:].isascii() and own[1:].isdigit()]
    taken = max(numbers, default=0)
    for root in person:
        if root not in found:
            taken += 1
            found[root] = f"P{taken}-{run}" if run else f"P{taken}"
    return found


def _in_table(pairs: pd.DataFrame, order: Sequence[int]) -> pd.DataFrame:
    """Return pairs by their rows of the table, the first below the second."""
    rows = np.sort(np.asarray(order)[pairs[["a", "b"]].to_numpy()], axis=1)
    return pairs.assign(a=rows[:, 0], b=rows[:, 1]).sort_values(["a", "b"], ignore_index=True)


def _review(
    refused: Sequence[tuple[Edge, str]],
    pairs: pd.DataFrame | None,
    threshold: float,
    order: Sequence[int],
    person: Sequence[str],
    decided: Decided,
) -> pd.DataFrame:
    found: dict[tuple[int, int], tuple[object, ...]] = {}
    if pairs is not None:
        low = _in_table(pairs[pairs["probability"] < threshold], order)
        for a, b, weight, chance in zip(*(low[name].tolist() for name in low.columns), strict=True):
            found[a, b] = (f"{chance:.4f}", f"{weight:.2f}", "below the threshold")
    for edge, why in refused:
        a, b = sorted((order[edge.a], order[edge.b]))
        if why == DECIDED:
            continue
        if edge.why == "model":
            found[a, b] = (f"{1 / (1 + 2**-edge.weight):.4f}", f"{edge.weight:.2f}", why)
        else:
            found[a, b] = ("", "", f"{why} (equal: {edge.why})")
    rows = [
        (a + 1, b + 1, person[a], person[b], *rest)
        for (a, b), rest in sorted(found.items())
        if person[a] != person[b] and (a, b) not in decided.pairs
    ]
    return pd.DataFrame(rows, columns=["row_a", "row_b", "person_a", "person_b", "probability", "weight", "why_apart"])
