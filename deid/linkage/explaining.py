"""Why two rows of a table are one person, or two."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.linkage.clustering import cluster
from deid.linkage.columns import Tables, fields_of, sure_of, tables_of
from deid.linkage.comparisons import FieldComparison
from deid.linkage.exact import SURE, exact_edges
from deid.linkage.linking import LinkOptions, comparing, exact, prepare
from deid.linkage.model import LinkageModel, Step, learn, require_splink, steps_of


@dataclass(frozen=True)
class ExplainedPair:
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

    def rows(self, *, show: bool) -> list[tuple[str, ...]]:
        """Return field, level and weight of each step for a terminal, and what was compared where that may show."""
        rows: list[tuple[str, ...]] = [("before anything is compared", "", f"{self.prior:+.2f}")]
        rows += [(step.field, step.level, f"{step.weight + step.rarity:+.2f}") for step in self.steps]
        rows.append(("together", f"probability {self.probability:.4f}", f"{self.weight:+.2f}"))
        return [(*row, *self.values.get(row[0], ("", ""))) for row in rows] if show else rows


def explain_pair(
    frame: Tables,
    a: int,
    b: int,
    said: LinkOptions | None = None,
    *,
    known: Tables = (),
    model: LinkageModel | None = None,
    confidence: pd.DataFrame | None = None,
) -> ExplainedPair:
    """Say why two rows of a table are one person, or two.

    Parameters
    ----------
    frame, said, known, model, confidence
        As for `link_table`.
    a, b : int
        Rows, from 1; known ones come behind.

    Raises
    ------
    ConfigError, InputError, ModelError
        As `link_table`; and when a row is none of the table.
    """
    said = said or LinkOptions()
    require_splink()
    ready = prepare(tables_of(frame), said, known, confidence=confidence)
    rows = len(ready.order)
    if a == b or not all(1 <= row <= rows for row in (a, b)):
        raise ConfigError(f"these are no two rows of the table, which has {rows:,}", "count them from 1")
    records, comparisons, factors = comparing(ready, said, model)
    facts, edges, given = exact(ready, SURE)
    if model is None:
        model = learn(records, comparisons, ready.kinds, cluster(facts, edges, given).person, seed=said.seed)
    pair = ready.order.index(a - 1), ready.order.index(b - 1)
    steps = steps_of(records, comparisons, model, pair, factors)
    two = ready.records.iloc[list(pair)].reset_index(drop=True)

    def shown(one: FieldComparison, row: int) -> str:
        names = {"birth": ("birth",), "place": ("zip", "city")}.get(one.field, one.columns)
        cells = [two[name].iloc[row] for name in names if name in two]
        return " ".join(str(cell).lstrip(":") for cell in cells if isinstance(cell, str))

    named = {own[0]: column for column, own in fields_of(ready.kinds).items() if own[0][-1].isdigit()}
    return ExplainedPair(
        model.prior_weight,
        [replace(step, field=named.get(step.field, step.field)) for step in steps],
        exact_edges(sure_of(two), SURE)["why"].tolist(),
        facts[pair[0]].conflict(facts[pair[1]]),
        {named.get(one.field, one.field): (shown(one, 0), shown(one, 1)) for one in comparisons},
    )
