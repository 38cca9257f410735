"""The tables of an evaluation or comparison, as rows of text for terminals and pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np

from deid.base.reports import Section
from deid.evaluation.comparison import LEVEL
from deid.evaluation.evaluation import Evaluation
from deid.evaluation.mistakes import KINDS
from deid.evaluation.scores import Score
from deid.evaluation.systems import METRICS, Comparison

_INTERVAL = f"{LEVEL:.0%} interval"


def _figures(score: Score) -> tuple[str, str, str]:
    return f"{score.precision:.4f}", f"{score.recall:.4f}", f"{score.f1:.4f}"


def _range(low: float, high: float) -> str:
    return f"{low:.4f} to {high:.4f}"


def evaluation_sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return all tables of an evaluation."""
    return (
        _documents(evaluation),
        _measures(evaluation),
        _categories(evaluation),
        _tokens(evaluation),
        _i2b2(evaluation),
        _meddocan(evaluation),
        _leaks(evaluation),
        _mistakes(evaluation),
    )


def _documents(evaluation: Evaluation) -> Section:
    pairing, settings = evaluation.pairing, evaluation.settings
    rows = [
        ("in GOLD", str(len(pairing.pairs))),
        ("in SYSTEM", str(pairing.system_documents)),
        ("missing in SYSTEM (counted as empty)", str(len(pairing.names("missing")))),
        ("with another text in SYSTEM (counted as empty)", str(len(pairing.names("text differs")))),
        ("only in SYSTEM (not scored)", str(len(pairing.extra))),
        ("not readable or not scorable", str(len(pairing.failures))),
    ]
    notes = [] if pairing.matched_by == "id" else [f"Documents were matched by {pairing.matched_by}."]
    if settings.map_to:
        gold, system = evaluation.cases.dropped
        notes.append(
            f"Labels were mapped to {settings.map_to}; {gold} gold and {system} system spans have no place there."
        )
        notes += [f"{loss}." for loss in evaluation.cases.losses]
    if settings.labels:
        notes.append(f"Scored: {', '.join(settings.labels)}.")
    return Section("Documents", ("", "count"), tuple(rows), " ".join(notes))


def _measures(evaluation: Evaluation) -> Section:
    rows = []
    for name, table in evaluation.tables.items():
        score = table.micro()
        row = (table.title, *_figures(score), str(score.gold), str(score.system))
        rows.append((*row, _range(*evaluation.bounds[name][:, 2])) if evaluation.bounds else row)
    columns: tuple[str, ...] = ("measure", "precision", "recall", "F1", "gold", "system")
    if not evaluation.bounds:
        return Section("All categories", columns, tuple(rows))
    return Section(
        "All categories",
        (*columns, f"F1, {_INTERVAL}"),
        tuple(rows),
        f"Intervals: bootstrap over {len(evaluation.pairing.pairs)} documents, {evaluation.settings.resamples} "
        f"resamples, seed {evaluation.settings.seed}.",
    )


def _categories(evaluation: Evaluation) -> Section:
    overlap = evaluation.tables["overlap_category"].by_label()
    rows = []
    scores = evaluation.tables["strict"].by_label().items()
    for category, score in sorted(scores, key=lambda item: (-item[1].gold, item[0])):
        leaks = evaluation.leaks.by_category.get(category)
        left = (str(leaks.untouched), str(leaks.words_left)) if leaks else ("0", "0")
        counts = (str(score.gold), str(score.system))
        rows.append((category, *_figures(score), f"{overlap[category].recall:.4f}", *counts, *left))
    columns = ("category", "precision", "recall", "F1", "overlap recall", "gold", "system")
    return Section(
        "Categories",
        (*columns, "spans untouched", "words left"),
        tuple(rows),
        "Precision, recall and F1 are strict. Overlap recall: a span of the same category overlaps. Spans untouched, "
        "words left: no span of any category touches them.",
    )


def _tokens(evaluation: Evaluation) -> Section:
    rows = [
        (label, *_figures(score), str(score.gold), str(score.system))
        for label, score in evaluation.tables["token"].by_label().items()
        if score.gold or score.system
    ]
    return Section(
        "Tokens: Begin and Intermediate",
        ("label", "precision", "recall", "F1", "gold", "system"),
        tuple(rows),
        f"Tokens of the scheme {evaluation.settings.tokenizer}, white space included.",
    )


def _i2b2(evaluation: Evaluation) -> Section:
    rows = [
        (f"{title}, {part}", *_figures(score), str(score.gold))
        for title, parts in evaluation.i2b2_2014().items()
        for part, score in parts.items()
    ]
    return Section(
        "i2b2-2014, official measures",
        ("measure", "precision", "recall", "F1", "gold"),
        tuple(rows),
        "hipaa counts URL and IPADDR among HIPAA's identifiers, as the law does; hipaa-official leaves them out.",
    )


def _meddocan(evaluation: Evaluation) -> Section:
    titles = {"strict": "NER, strict", "span": "spans, strict", "merged": "spans, merged"}
    scores = {title: evaluation.tables[name].micro() for name, title in titles.items()}
    sentences = evaluation.sentences
    source = "counted by our own split" if sentences.source == "own split" else "of the file given"
    return Section(
        "MEDDOCAN, official measures",
        ("measure", "precision", "recall", "F1"),
        tuple((title, *_figures(score)) for title, score in scores.items()),
        f"Leak score {sentences.leak(scores['NER, strict']):.4f}: false negatives of the strict NER measure divided "
        f"by {sentences.total} sentences {source}.",
    )


def _leaks(evaluation: Evaluation) -> Section:
    leaks = evaluation.leaks.as_dict()
    bounds = evaluation.bounds.get("leaks", np.full((2, 2), np.nan))
    rows = [
        ("PHI words", str(leaks["phi_words"]), ""),
        ("PHI words that no span touches", str(leaks["phi_words_left"]), ""),
        ("  per document", f"{leaks['phi_words_left_per_document']:.3f}", _range(*bounds[:, 0])),
        ("  in the worst document", str(leaks["phi_words_left_worst_document"]), ""),
        ("false alarms per 1,000 words", f"{leaks['false_alarms_per_1000_words']:.2f}", ""),
        ("documents with none left", f"{leaks['documents_clean']} of {leaks['documents']}", ""),
        ("  share", f"{leaks['share_of_documents_clean']:.4f}", _range(*bounds[:, 1])),
        ("PHI letters and digits left", f"{leaks['phi_characters_left']} of {leaks['phi_characters']}", ""),
        ("spans wholly hidden", f"{leaks['spans_hidden']} of {leaks['spans']}", ""),
        ("spans untouched", f"{leaks['spans_untouched']} of {leaks['spans']}", ""),
    ]
    if not evaluation.bounds:
        return Section("Leaks", ("", "value"), tuple(row[:2] for row in rows))
    return Section("Leaks", ("", "value", _INTERVAL), tuple(rows))


def _mistakes(evaluation: Evaluation) -> Section:
    counts = Counter(mistake.kind for mistake in evaluation.mistakes())
    return Section("Mistakes", ("kind", "count"), tuple((kind, str(counts[kind])) for kind in KINDS))


def comparison_section(comparison: Comparison) -> Section:
    """Return the table of a comparison."""
    forms = {"figure": "{title}", "A": "{a:.4f}", "B": "{b:.4f}", "A - B": "{difference:+.4f}"}
    forms |= {_INTERVAL: "{low:.4f} to {high:.4f}", "p": "{p_randomization:.4g}"}
    return Section.of(
        f"A against B on {len(comparison.a.pairing.pairs)} documents",
        [asdict(found) | {"title": METRICS[name].title} for name, found in comparison.differences.items()],
        forms | {"t": "{t:.3f}", "p of t": "{p_t:.4g}", "n of t": "{t_documents}"},
        f"Interval: bootstrap over documents, {comparison.resamples} resamples. p: two-sided approximate "
        f"randomization, {comparison.permutations} swaps of documents. t: paired t-test over the n documents in "
        f"which the figure is defined for both systems. Seed {comparison.seed}.",
    )
