"""Tables and pages of experiments: numbers only, no text of a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deid.base.late import pd
from deid.base.reports import Section
from deid.evaluation.sections import tokens_section
from deid.experiments.active_learning import documents_needed
from deid.experiments.crossval import CrossValidation
from deid.experiments.hips import ATTACKS
from deid.experiments.learning import STARTS
from deid.experiments.outcome import Form, frame_of
from deid.experiments.plots import plot_active_learning, plot_hips, plot_learning, plot_sampling, plot_subsets
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


def _scores(*left_out: str) -> dict[str, str]:
    """Return how the figures of a table are shown, but for some kinds of them."""
    return {title: f"{{{name}:.4f}}" for name, title in _TITLES.items() if not name.startswith(left_out)}


def crossval_sections(result: CrossValidation) -> tuple[Section, ...]:
    """Return the table of folds and the table of Begin and Intermediate labels."""
    frame, summary = result.to_frame(), result.summary()
    counts = frame.sum(numeric_only=True).to_dict()
    forms = {"fold": "{fold}", "docs": "{documents:.0f}", "spans": "{spans:.0f}", "CPU s": "{train_cpu_seconds:.1f}"}
    rows = frame.reset_index().to_dict("records")
    blank = dict.fromkeys(counts, "")
    rows += [{**blank, **summary[name].to_dict(), "fold": name} for name in ("mean", "sd")]
    rows.append({**counts, **summary["pooled"].to_dict(), "fold": "pooled"})
    folds = Section.of(
        f"Cross-validation over {len(frame)} folds",
        rows,
        forms | _scores(),
        f"{_NOTE} CPU s: training. sd: standard deviation over folds (n - 1). Pooled: all documents together.",
    )
    return folds, tokens_section(result.pooled.as_dict())


def subsets_section(frame: pd.DataFrame, measure: str) -> Section:
    """Return the ranking of feature groups as a section."""
    folds = sum(name.startswith("fold_") for name in frame.columns)
    forms = {
        "mean F1": "{mean:.4f}",
        "sd": "{sd:.4f}",
        "difference": "{difference:+.4f}",
        "t": "{t:.2f}",
        "p": "{p:.3g}",
    }
    return Section.of(
        f"Feature groups over {folds} folds",
        frame.to_dict("records"),
        {"features": "{features}"} | forms,
        f"F1 of {MEASURES[measure]}. r: regular expressions, a: affixes, c: context, d: dictionaries. Difference, t "
        f"and p: two-sided paired t-test against all groups, {folds - 1} degrees of freedom.",
    )


def sampling_section(frame: pd.DataFrame) -> Section:
    """Return the curves of sampling and the dial as a section."""
    rows = frame.assign(training=frame["curve"].map(CURVES)).to_dict("records")
    forms = {
        "training": "{training}",
        "value": "{value:g}",
        "CPU s": "{train_cpu_seconds:.1f}",
        "kept": "{tokens_kept:.3f}",
    }
    return Section.of(
        "Sampling and the recall dial",
        rows,
        forms | _scores("token_"),
        "Value: k of the window, p of random O-sampling, position of the dial. Kept: share of tokens trained on. "
        + _NOTE,
    )


def hips_sections(attacks: pd.DataFrame, values: Mapping[str, Any]) -> tuple[Section, ...]:
    """Return the re-tagging table and the attacks as sections; values are those of `Hips.as_dict`."""
    return (
        Section.of(
            "Re-tagging",
            frame_of(values["retagging"]).to_dict("records"),
            {"train": "{train}", "test": "{test}"} | _scores("leaks_", "documents_"),
            "A tagger trained on one text and scored on the other. " + _NOTE.partition(" Leaks/doc")[0],
        ),
        Section.of(
            "Finding what was missed",
            [row | {"attack": ATTACKS[row["attack"]]} for row in attacks.to_dict("records")],
            {
                "attack": "{attack}",
                "flagged": "{flagged:.0f}",
                "leaks among them": "{found:.1f}",
                "share found": "{share:.3f}",
                "precision": "{precision:.3f}",
                "lift": "{lift:.2f}",
                "AUC": "{auc:.2f}",
            },
            "{documents} released documents with {identifiers} identifiers, {leaks} of them ".format(**values)
            + "originals that were missed. Flagged: as many as there are leaks; knowing the program all that it "
            "never writes, by the parrot all that it does not find. Lift: precision over that of chance. Ties count as "
            "expected in random order.",
        ),
    )


def learning_section(frame: pd.DataFrame) -> Section:
    """Return a learning curve as a section, means over the repeats."""
    groups = frame.groupby(["documents", "start"], sort=True)
    means = groups.mean(numeric_only=True).assign(sd=groups["strict_f1"].std(ddof=1)).reset_index()
    forms = {"documents": "{documents}", "training": "{training}", "CPU s": "{train_cpu_seconds:.1f}"}
    return Section.of(
        "Learning curve",
        means.assign(training=means["start"].map(STARTS)).to_dict("records"),
        forms | _scores("token_") | {"sd": "{sd:.4f}"},
        f"Means over {frame['repeat'].nunique()} draws of documents; sd: of strict F1 (n - 1). {_NOTE}",
    )


def active_learning_sections(frame: pd.DataFrame, targets: Sequence[float]) -> tuple[Section, ...]:
    """Return what had to be annotated for each target, and the curves, means over the simulations."""
    means = frame.groupby(["queue", "documents"], sort=False).mean(numeric_only=True)
    means["simulations"] = frame.groupby(["queue", "documents"], sort=False).size()
    return (
        Section.of(
            "Notes to annotate",
            documents_needed(frame, targets).to_dict("records"),
            {
                "strict F1": "{target:g}",
                "queue": "{queue}",
                "reached": "{reached} of {seeds}",
                "notes": "{documents:.1f}",
                "sd": "{sd:.1f}",
                "fewer than random": "{fewer:.1%}",
                "words": "{words:.0f}",
                "fewer words": "{fewer_words:.1%}",
            },
            "Until the curve first reached strict F1, straight between trainings; means over simulations, sd: of notes "
            "(n - 1). Words: what an annotator reads.",
        ),
        Section.of(
            "Curves",
            means.reset_index().to_dict("records"),
            {
                "queue": "{queue}",
                "notes": "{documents:.0f}",
                "of": "{simulations:.0f}",
                "words": "{words:.0f}",
                "CPU s, training": "{train_cpu_seconds:.1f}",
                "CPU s, queue": "{queue_cpu_seconds:.1f}",
            }
            | _scores("token_", "leaks_", "documents_"),
            "Means over the simulations that annotated so many notes; those that reached the largest target end. "
            + _NOTE.partition(" Token:")[0],
        ),
    )


def learners_section(frame: pd.DataFrame) -> Section:
    """Return a comparison of learners as a section."""
    rows = [row | {"what": LEARNERS[row["algorithm"]][0]} for row in frame.to_dict("records")]
    forms = {"--algorithm": "{algorithm}", "": "{what}", "CPU s": "{train_cpu_seconds:.1f}"}
    return Section.of("Learners", rows, forms | _scores("token_"), _NOTE)


FEATURES = Form(
    "Feature groups",
    lambda frame, values: [subsets_section(frame, values["settings"]["measure"])],
    lambda frame, _: plot_subsets(frame),
    "F1 of each subset of the feature groups, by fold and mean",
)
SAMPLING = Form(
    "Sampling and the recall dial",
    lambda frame, _: [sampling_section(frame)],
    lambda frame, _: plot_sampling(frame),
    "Precision over recall of PHI words, and strict F1 over CPU seconds",
)
LEARNING = Form(
    "Learning curve",
    lambda frame, _: [learning_section(frame)],
    lambda frame, _: plot_learning(frame),
    "Strict F1 and recall of PHI words over the documents trained on",
)
QUEUES = Form(
    "Active learning, simulated",
    lambda frame, values: active_learning_sections(frame, values["settings"]["queue"]["targets"]),
    lambda frame, _: plot_active_learning(frame),
    "Strict F1 over notes and over words annotated, a line a queue",
)
LEARNT = Form("Learners", lambda frame, _: [learners_section(frame)])
HIPS = Form(
    "Hiding in plain sight",
    hips_sections,
    lambda _, values: plot_hips(frame_of(values["curve"])),
    "Share of missed identifiers met over identifiers examined, a line an attack",
    "attacks",
)
