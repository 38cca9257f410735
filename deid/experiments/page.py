"""Tables and pages of experiments: numbers only, no text of a note."""

from __future__ import annotations

from typing import Any

from deid.base.late import pd
from deid.base.reports import Section
from deid.experiments.crossval import CrossValidation
from deid.experiments.hips import ATTACKS, Hips
from deid.experiments.learning import STARTS
from deid.experiments.sampling import CURVES
from deid.experiments.subsets import MEASURES
from deid.labeling.learners import LEARNERS

_TITLES = {
    "strict_precision": "strict P",
    "strict_recall": "strict R",
    "strict_f1": "strict F1",
    "token_precision": "token P",
    "token_recall": "token R",
    "token_f1": "token F1",
    "phi_precision": "PHI P",
    "phi_recall": "PHI R",
    "phi_f1": "PHI F1",
    "leaks_per_document": "leaks/doc",
    "documents_clean": "docs clean",
}
_NOTE = (
    "Strict: start, end and category of spans. Token: labels B- and I- of tokens. PHI: words as PHI or not, whatever "
    "the category. Leaks/doc: PHI words that no span touches, per document; docs clean: share of documents without any."
)


def _number(value: float, digits: int = 4) -> str:
    return "–" if value != value else f"{value:.{digits}f}"  # NaN is not itself


def _counts(row: Any) -> tuple[str, str, str]:
    return f"{row['documents']:.0f}", f"{row['spans']:.0f}", f"{row['train_cpu_seconds']:.1f}"


def crossval_sections(result: CrossValidation) -> tuple[Section, ...]:
    """Return the table of folds and the table of Begin and Intermediate labels."""
    frame, summary = result.to_frame(), result.summary()
    rows = [
        (str(fold), *_counts(row), *(_number(row[name]) for name in _TITLES))
        for fold, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]
    rows += [(name, "", "", "", *map(_number, summary.loc[list(_TITLES), name])) for name in ("mean", "sd")]
    rows.append(("pooled", *_counts(frame.sum()), *map(_number, summary.loc[list(_TITLES), "pooled"])))
    accuracy = result.pooled.tables["with_negatives"].micro().recall
    tokens = [
        (str(label), *(_number(row[name]) for name in ("precision", "recall", "f1")), f"{row['gold']:.0f}")
        for label, row in result.token_table().iterrows()
    ]
    return (
        Section(
            f"Cross-validation over {len(frame)} folds",
            ("fold", "docs", "spans", "CPU s", *_TITLES.values()),
            tuple(rows),
            f"{_NOTE} CPU s: training. sd: standard deviation over folds (n - 1). Pooled: all documents together.",
        ),
        Section(
            "Tokens: Begin (B-) and Intermediate (I-), pooled",
            ("label", "precision", "recall", "F1", "gold"),
            tuple(tokens),
            f"Tokens of the scheme {result.features.tokenizer}, white space included; accuracy over all tokens but "
            f"white space {accuracy:.4f}.",
        ),
    )


def subsets_section(frame: pd.DataFrame, measure: str) -> Section:
    """Return the table of `compare_subsets` as a section; ``measure`` is the key of `MEASURES` that was compared."""
    folds = sum(name.startswith("fold_") for name in frame.columns)
    rows = [
        (
            row["features"],
            _number(row["mean"]),
            _number(row["sd"]),
            f"{row['difference']:+.4f}",
            _number(row["t"], 2),
            "–" if row["p"] != row["p"] else f"{row['p']:.3g}",
        )
        for row in frame.to_dict("records")
    ]
    return Section(
        f"Feature groups over {folds} folds",
        ("features", "mean F1", "sd", "difference", "t", "p"),
        tuple(rows),
        f"F1 of {MEASURES[measure]}. r: regular expressions, a: affixes, c: context, d: dictionaries. Difference, t "
        f"and p: two-sided paired t-test against all groups, {folds - 1} degrees of freedom.",
    )


def sampling_section(frame: pd.DataFrame) -> Section:
    """Return the table of `sampling_curves`."""
    shown = [name for name in _TITLES if not name.startswith("token_")]
    rows = [
        (
            CURVES[row["curve"]],
            "" if row["value"] != row["value"] else f"{row['value']:g}",
            f"{row['train_cpu_seconds']:.1f}",
            f"{row['tokens_kept']:.3f}",
            *(_number(row[name]) for name in shown),
        )
        for row in frame.to_dict("records")
    ]
    return Section(
        "Sampling and the recall dial",
        ("training", "value", "CPU s", "kept", *(_TITLES[name] for name in shown)),
        tuple(rows),
        "Value: k of the window, p of random O-sampling, position of the dial. Kept: share of tokens trained on. "
        + _NOTE,
    )


def hips_sections(result: Hips) -> tuple[Section, ...]:
    """Return the tables of `deid.experiments.hips.hips`."""
    shown = [name for name in _TITLES if name not in ("leaks_per_document", "documents_clean")]
    retagging = [
        (row["train"], row["test"], *(_number(row[name]) for name in shown))
        for row in result.retagging.to_dict("records")
    ]
    attacks = [
        (
            ATTACKS[row["attack"]],
            f"{row['flagged']:.0f}",
            f"{row['found']:.1f}",
            *(_number(row[name], 3) for name in ("share", "precision")),
            *(_number(row[name], 2) for name in ("lift", "auc")),
        )
        for row in result.attacks.to_dict("records")
    ]
    return (
        Section(
            "Re-tagging",
            ("train", "test", *(_TITLES[name] for name in shown)),
            tuple(retagging),
            "A tagger trained on one text and scored on the other. " + _NOTE.partition(" Leaks/doc")[0],
        ),
        Section(
            "Finding what was missed",
            ("attack", "flagged", "leaks among them", "share found", "precision", "lift", "AUC"),
            tuple(attacks),
            f"{result.documents} released documents with {result.identifiers} identifiers, {result.leaks} of them "
            "originals that were missed. Flagged: as many as there are leaks; knowing the program all that it "
            "never writes, by the parrot all that it does not find. Lift: precision over that of chance. Ties count as "
            "expected in random order.",
        ),
    )


def learning_section(frame: pd.DataFrame) -> Section:
    """Return the table of `learning_curve`: means over the draws, and the standard deviation of strict F1."""
    shown = [name for name in _TITLES if not name.startswith("token_")]
    groups = frame.groupby(["documents", "start"], sort=True)
    means = groups.mean(numeric_only=True).reset_index()
    rows = [
        (
            f"{row['documents']}",
            STARTS[row["start"]],
            f"{row['train_cpu_seconds']:.1f}",
            *(_number(row[name]) for name in shown),
            _number(sd),
        )
        for row, sd in zip(means.to_dict("records"), groups["strict_f1"].std(ddof=1), strict=True)
    ]
    return Section(
        "Learning curve",
        ("documents", "training", "CPU s", *(_TITLES[name] for name in shown), "sd"),
        tuple(rows),
        f"Means over {frame['repeat'].nunique()} draws of documents; sd: of strict F1 (n - 1). {_NOTE}",
    )


def learners_section(frame: pd.DataFrame) -> Section:
    """Return the table of `compare_learners`."""
    shown = [name for name in _TITLES if not name.startswith("token_")]
    rows = [
        (
            row["algorithm"],
            LEARNERS[row["algorithm"]][0],
            f"{row['train_cpu_seconds']:.1f}",
            *(_number(row[name]) for name in shown),
        )
        for row in frame.to_dict("records")
    ]
    return Section("Learners", ("--algorithm", "", "CPU s", *(_TITLES[name] for name in shown)), tuple(rows), _NOTE)
