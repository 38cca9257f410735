"""A linkage on one page that works offline: what each agreement says, the threshold, who cannot be linked at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deid.base.late import pd
from deid.base.plots import COLOURS, new_figure
from deid.base.reports import Section, write_page
from deid.linkage.columns import Tables
from deid.linkage.explaining import ExplainedPair, explain_pair
from deid.linkage.linking import Linked, LinkOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_linkage_report(
    path: Path, linked: Linked, threshold: float, doubtful: ExplainedPair | None, made: Section
) -> None:
    """Write the report of a linkage by a model; it shows counts, weights and names of columns, no cell.

    Parameters
    ----------
    path : Path
    linked : Linked
    threshold : float
        The probability from which rows were joined.
    doubtful : Explained, optional
        A pair to be shown step by step: the one for review that is nearest to the threshold.
    made : Section
        How it was made, for the end of the page.
    """
    told = linked.as_dict()
    counts = [
        ("rows", f"{told['rows']:,}"),
        ("persons", f"{told['persons']:,}"),
        ("pairs for review", f"{told['review']:,}"),
    ]
    counts += [(f"pairs by {why}", f"{n:,}") for why, n in linked.joined.items()]
    counts += [(f"kept apart: {why}", f"{n:,}") for why, n in linked.refused.items()]
    counts += [(f"persons of two values: {name}", f"{n:,}") for name, n in told["contradictions"].items()]
    sections = [Section("What was found", ("what", "number"), counts)]
    figures: list[Figure] = []
    if linked.model is not None:
        rows = [
            (field, label, f"{m:.4g}", f"{u:.4g}", f"{linked.model.weight(field, label):+.2f}")
            for field, own in linked.model.levels.items()
            for label, (m, u) in own.items()
        ]
        note = f"Before anything is compared: {linked.model.prior_weight:+.2f}. A weight of +1 doubles the odds."
        sections.append(Section("What each level says", ("field", "level", "m", "u", "weight"), rows, note))
        figures.append(_weights(rows))
    if linked.best is not None:
        figures.append(_unlinkable(linked.best, threshold))
    if linked.pairs is not None and len(linked.pairs):
        figures.append(_thresholds(linked.pairs["probability"].to_numpy(), threshold))
    if doubtful is not None:
        figures.append(_waterfall(doubtful))
    if len(linked.contradictions):
        odd = [
            (who, name, str(row), f"{share:.0%}")
            for who, name, row, share in linked.contradictions.itertuples(index=False)
        ]
        note = "Values that others of the person contradict; what most of its rows say is not listed."
        sections.append(
            Section("Contradictions", ("person", "column", "row", "rows that say the same"), odd[:500], note)
        )
    blocks = [(str(block), f"{block.pairs:,}", "compared") for block in linked.blocks[0]]
    blocks += [(str(block), f"{block.pairs:,}", "too many") for block in linked.blocks[1]]
    if blocks:
        sections.append(Section("Which rows were compared: those of equal", ("columns", "pairs", ""), blocks))
    write_page(path, "Who is who", [*sections, made], figures)


def nearest_pair(
    tables: Sequence[pd.DataFrame],
    linked: Linked,
    said: LinkOptions,
    *,
    known: Tables = (),
    confidence: pd.DataFrame | None = None,
) -> ExplainedPair | None:
    """Explain the pair below the threshold that is nearest to it, if there is one; parameters as for `link_table`."""
    below = linked.review[linked.review["why_apart"] == "below the threshold"]
    if not len(below):
        return None
    pair = below.sort_values(["weight", "row_a", "row_b"], key=lambda cells: cells.astype(float)).iloc[-1]
    a, b = int(pair["row_a"]), int(pair["row_b"])
    return explain_pair(tables, a, b, said, known=known, model=linked.model, confidence=confidence)


def _weights(rows: Sequence[tuple[str, ...]]) -> Figure:
    figure, axes = new_figure(8, 1 + 0.2 * len(rows))
    places = np.arange(len(rows))[::-1]
    weights = [float(row[4]) for row in rows]
    axes.barh(places, weights, color=[COLOURS[3] if weight > 0 else COLOURS[2] for weight in weights])
    axes.set_yticks(places, [f"{field}: {label}" for field, label, *_ in rows], fontsize=7)
    axes.axvline(0, color=COLOURS[0], linewidth=0.8)
    axes.set(xlabel="match weight (log2 of m / u)", title="What each level says")
    return figure


def _thresholds(probability: np.ndarray, threshold: float) -> Figure:
    figure, axes = new_figure(8, 3)
    shown = np.linspace(0.5, 1, 101)
    axes.step(shown, [int((probability >= one).sum()) for one in shown], where="post", color=COLOURS[1])
    axes.axvline(threshold, color=COLOURS[2], linestyle="--")
    axes.set(xlabel="threshold", ylabel="pairs of rows", ylim=(0, None), title="Pairs that a threshold joins")
    return figure


def _unlinkable(best: np.ndarray, threshold: float) -> Figure:
    """Draw the share of rows that no other row could be joined with, not even one that says the same."""
    figure, axes = new_figure(8, 3)
    shown = np.linspace(0.5, 0.999, 100)
    axes.plot(shown, [100 * float((best < one).mean()) for one in shown], color=COLOURS[1])
    axes.axvline(threshold, color=COLOURS[2], linestyle="--")
    title = f"Rows that say too little to be linked: {100 * float((best < threshold).mean()):.1f} % at {threshold:g}"
    axes.set(xlabel="threshold", ylabel="% of rows", ylim=(0, None), title=title)
    return figure


def _waterfall(pair: ExplainedPair) -> Figure:
    figure, axes = new_figure(8, 3.5)
    parts = [("before", pair.prior), *((s.field, s.weight + s.rarity) for s in pair.steps)]
    ends = np.cumsum([weight for _, weight in parts])
    for place, (_, weight) in enumerate(parts):
        axes.bar(place, weight, bottom=ends[place] - weight, color=COLOURS[3] if weight > 0 else COLOURS[2])
    axes.bar(len(parts), ends[-1], color=COLOURS[1])
    axes.set_xticks(range(len(parts) + 1), [*(name for name, _ in parts), "together"], rotation=30, fontsize=7)
    axes.axhline(0, color=COLOURS[0], linewidth=0.8)
    axes.set(ylabel="match weight", title=f"The pair nearest to the threshold: probability {pair.probability:.3f}")
    return figure
