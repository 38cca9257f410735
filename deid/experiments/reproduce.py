"""What the papers printed, the commands that compute the same here, and whether each finding holds.

An item names commands of this program, the figures that a paper printed, and a criterion in code: a function of the
JSON that the commands wrote. Nothing is computed here a second time. Data of the papers are not public (but Adult and
SEER), so figures need not agree; what is judged is the paper's finding: which method does better, how a curve runs.

Sources: Gardner, Privacy preserving medical data publishing, dissertation, Emory University 2012; Tamersoy et al., IEEE
TITB 16(3), 2012; Liu et al., WISP 2015; Gkoulalas-Divanis and Loukides, Privacy-preserving medical data sharing, SIAM
Data Mining 2012 (tutorial).
"""

# ruff: noqa: E501 (an item, a statement or a figure is a line)
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.errors import ConfigError
from deid.base.nearest import nearest

Values = Mapping[str, Any]
"""JSON of a command."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Compared:
    """A figure of a paper beside ours; ``printed`` is empty where the paper shows a curve without numbers."""

    what: str
    printed: str
    ours: str


@dataclass(frozen=True)
class Verdict:
    """Whether a finding holds, by parts.

    Parameters
    ----------
    parts : sequence of (str, bool)
        Statements that the criterion tests, and whether each is so.
    figures : sequence of Compared
    note : str
        What a reader should know beside.
    """

    parts: Sequence[tuple[str, bool]]
    figures: Sequence[Compared]
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether all parts hold."""
        return all(good for _, good in self.parts)

    def __str__(self) -> str:
        good = [text for text, held in self.parts if held]
        bad = [text for text, held in self.parts if not held]
        said = "holds" if self.holds else "does not hold" if not good else "holds in part"
        told = [f"Seen: {'; '.join(good)}."] if good else []
        told += [f"Not seen: {'; '.join(bad)}."] if bad else []
        return " ".join([f"The finding {said}.", *told, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class Command:
    """A command line: ``{data}`` stands for the folder of data, ``{out}`` for that of the item.

    Parameters
    ----------
    words : str
        What stands behind ``deid``, as for a shell; no word has a blank.
    quick : str
        What is said in the quick form instead of ``full``.
    full : str
        What is said otherwise.
    figures : bool
        Whether it is an experiment, which also writes rows, plot and page.
    """

    words: str
    quick: str = ""
    full: str = ""
    figures: bool = True

    def line(self, quick: bool) -> list[str]:
        """Return the words of one form."""
        return [*self.words.split(), *(self.quick if quick else self.full).split()]


@dataclass(frozen=True, eq=False)
class Item:
    """Something that a paper printed.

    Parameters
    ----------
    name : str
    source : str
        Paper, tables and figures.
    finding : str
        What the paper concludes from it.
    commands : mapping of str to Command
        By what the criterion calls them, in their order.
    judge : callable
        The criterion: from the commands' JSON to a verdict.
    missing : str
        Why the paper's figure cannot be had; such an item has no command.
    """

    name: str
    source: str
    finding: str
    commands: Mapping[str, Command]
    judge: Callable[[Mapping[str, Values]], Verdict]
    missing: str = ""


def _by(rows: Iterable[Row], *keys: str) -> dict[Any, Row]:
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def _rising(values: Sequence[float], slack: float = 0.0) -> bool:
    return all(b >= a - slack for a, b in itertools.pairwise(values))


def _of(frame: Sequence[Row], **wanted: Any) -> list[Row]:
    return [row for row in frame if all(row[name] == value for name, value in wanted.items())]


def _list(values: Iterable[float], form: str = "{:.3g}") -> str:
    return ", ".join(form.format(value) for value in values)


# --- dissertation, chapter 4 ---

_LABELS = {
    "Medical Record Number": "B-MEDICALRECORD",
    "Account Number": "B-ACCOUNT",
    "Age": "B-AGE",
    "Date": "B-DATE",
    "Name (Begin)": "B-PATIENT",
    "Name (Intermediate)": "I-PATIENT",
}
_TABLE_4_4 = dict(zip(_LABELS, (0.994, 0.995, 0.981, 1.0, 0.970, 0.990), strict=True))
_TABLE_4_7 = dict(zip(_LABELS, (0.938, 0.0, 0.6802, 1.0, 0.987, 0.5754), strict=True))
_TABLE_4_8 = dict(zip(_LABELS, (0.9552, 0.0, 0.9963, 1.0, 1.0, 1.0), strict=True))
_HOMOGENEOUS = "The made-up reports are even more alike than the dissertation's, so figures near 1 say little."


def _accuracy(values: Values) -> float:
    return float(values["pooled"]["measures"]["with_negatives"]["micro"]["recall"])


def _label(values: Values, label: str, what: str = "f1") -> float:
    found = values["pooled"]["measures"]["token"]["by_label"].get(label)
    return float(found[what]) if found else 0.0


def _labels(values: Values, printed: Mapping[str, float], accuracy: str, form: str = "F1 of {}") -> list[Compared]:
    first = Compared("overall accuracy", accuracy, f"{_accuracy(values):.3f}")
    return [
        first,
        *(Compared(form.format(n), f"{p:.3f}", f"{_label(values, _LABELS[n]):.3f}") for n, p in printed.items()),
    ]


def _table_4_4(told: Mapping[str, Values]) -> Verdict:
    values = told["crf"]
    f1 = [_label(values, label) for label in _LABELS.values()]
    parts = [
        (f"accuracy at least .982 - .02: {_accuracy(values):.3f}", _accuracy(values) >= 0.962),
        (f"every label has an F1 of at least .95: {_list(f1)}", min(f1) >= 0.95),
    ]
    return Verdict(parts, _labels(values, _TABLE_4_4, "0.982"), _HOMOGENEOUS)


def _table_4_5(told: Mapping[str, Values]) -> Verdict:
    row = told["holdout"]["rows"][0]
    figures = [
        Compared("precision of Begin and Intermediate tokens", "0.967", f"{row['token_precision']:.3f}"),
        Compared("recall", "0.986", f"{row['token_recall']:.3f}"),
        Compared("F1", "0.977", f"{row['token_f1']:.3f}"),
    ]
    parts = [(f"F1 of tokens at least .977 - .03: {row['token_f1']:.3f}", row["token_f1"] >= 0.947)]
    note = "The notes that are scored are of 32 kinds and few were trained on; i2b2's are discharge summaries of one network."
    return Verdict(parts, figures, note)


def _naive_bayes(told: Mapping[str, Values]) -> Verdict:
    plain, sampled = told["plain"], told["sampled"]
    what = "I-PATIENT"
    a, b = _accuracy(plain), _accuracy(sampled)
    recall = [_label(values, what, "recall") for values in (plain, sampled)]
    parts = [
        (f"sampling raises the overall accuracy: {a:.3f} to {b:.3f}", b > a),
        (f"and recall of names inside does not fall: {recall[0]:.3f} to {recall[1]:.3f}", recall[1] >= recall[0]),
    ]
    figures = _labels(plain, _TABLE_4_7, "0.75", "table 4.7: F1 of {}") + _labels(
        sampled, _TABLE_4_8, "0.98", "table 4.8: F1 of {}"
    )
    return Verdict(parts, figures, _HOMOGENEOUS)


def _feature_subsets(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["subsets"]["rows"], "features")
    alone = {name: rows[name]["mean"] for name in "darc"}
    p = rows["rcd"]["p"]
    parts = [
        (
            f"context alone does best of the four: {_list(alone.values())} for d, a, r, c",
            max(alone, key=alone.__getitem__) == "c",
        ),
        ("dictionaries alone do worst", min(alone, key=alone.__getitem__) == "d"),
        ("affixes alone do less than regular expressions alone", alone["a"] < alone["r"]),
        (
            f"leaving out affixes (rcd) is no clear loss: p = {p if p is None else format(p, '.3g')}",
            p is None or p > 0.05,
        ),
    ]
    figures = [
        Compared("F1 of context alone", "0.955", f"{alone['c']:.3f}"),
        Compared("p of rcd against racd", "> 0.326", "" if p is None else f"{p:.3g}"),
        *(Compared(f"F1 of {name} alone", "", f"{alone[name]:.3f}") for name in "rad"),
        Compared("F1 of all four", "", f"{rows['racd']['mean']:.3f}"),
    ]
    return Verdict(parts, figures)


def _samplings(told: Mapping[str, Values]) -> Verdict:
    rows = told["sampling"]["rows"]
    full = _of(rows, curve="full")[0]
    windows = sorted(_of(rows, curve="window"), key=lambda row: float(row["value"]))
    shares = sorted(_of(rows, curve="o-sampling"), key=lambda row: float(row["value"]))
    first, last = windows[0], windows[-1]
    gap = [abs(row["phi_recall"] - row["phi_precision"]) for row in (first, last)]
    parts = [
        (
            f"the smallest window has more recall than all tokens: {first['phi_recall']:.3f}, {full['phi_recall']:.3f}",
            first["phi_recall"] > full["phi_recall"],
        ),
        (f"precision rises with the window: {_list(r['phi_precision'] for r in windows)}",
         _rising([r["phi_precision"] for r in windows], 0.005)),
        (f"precision and recall come nearer with the window: {gap[0]:.3f} to {gap[1]:.3f} apart", gap[1] < gap[0]),
        (f"few O tokens raise recall: {shares[0]['phi_recall']:.3f} at p = {shares[0]['value']:g}",
         shares[0]["phi_recall"] > full["phi_recall"]),
        (f"window sampling begins with more recall than random sampling: {first['phi_recall']:.3f}, "
         f"{shares[0]['phi_recall']:.3f}", first["phi_recall"] > shares[0]["phi_recall"]),
        (f"training takes longer with the window: {_list(r['train_cpu_seconds'] for r in windows)} CPU s",
         last["train_cpu_seconds"] > first["train_cpu_seconds"]),
    ]  # fmt: skip
    figures = [
        Compared("PhysioNet notes, window 4: recall, precision", "0.972, 0.255",
                 f"{first['phi_recall']:.3f}, {first['phi_precision']:.3f} (window {first['value']:g})"),
        Compared("all tokens: recall, precision", "", f"{full['phi_recall']:.3f}, {full['phi_precision']:.3f}"),
        *(Compared(f"window {r['value']:g}: share kept, recall, precision", "",
                   _list((r["tokens_kept"], r["phi_recall"], r["phi_precision"]))) for r in windows),
        *(Compared(f"random O-sampling {r['value']:g}: share kept, recall, precision", "",
                   _list((r["tokens_kept"], r["phi_recall"], r["phi_precision"]))) for r in shares),
    ]  # fmt: skip
    return Verdict(parts, figures, "Words as PHI or not, whatever the category.")


# --- dissertation, chapter 5 ---


def _query_precision(told: Mapping[str, Values]) -> Verdict:
    rows = told["precision"]["rows"]
    partial, full = (next(r["precision"] for r in rows if r["method"] == name) for name in ("partial", "full"))
    curve = sorted((r["k"], r["precision"]) for r in rows if r["k"] is not None)
    values = [value for _, value in curve]
    parts = [
        ("partial de-identification answers exactly", partial == 1),
        (
            f"precision falls with k: {_list(values)} at k = {_list((k for k, _ in curve), '{:g}')}",
            _rising([-v for v in values], 0.002),
        ),
        (f"full de-identification does worst: {full:.3f}", full <= min(values) + 1e-9),
    ]
    figures = [Compared("partial", "1.000", f"{partial:.3f}"), Compared("full", "", f"{full:.3f}")]
    figures += [Compared(f"statistical, k = {k:g}", "", f"{value:.3f}") for k, value in curve]
    return Verdict(parts, figures, "The dissertation draws the curve without numbers.")


def _bin_sum(values: Values, method: str, epsilon: float, series: str = "") -> float:
    return sum(
        r["error"] for r in values["bins"] if (r["method"], r["epsilon"]) == (method, epsilon) and series in r["series"]
    )


def _cube_histograms(told: Mapping[str, Values]) -> Verdict:
    parts, figures = [], []
    for name, values in told.items():
        epsilons = sorted({row["epsilon"] for row in values["bins"]})
        errors = {
            m: [_bin_sum(values, m, e) for e in epsilons] for m in ("cells-clamped", "dpcube-paper", "dpcube", "even")
        }
        better = all(a < b for a, b in zip(errors["dpcube-paper"], errors["cells-clamped"], strict=True))
        parts.append((f"{name}: DPCube as printed errs less than noisy cells at every epsilon", better))
        parts.append((f"{name}: less budget, more error of noisy cells", _rising(errors["cells-clamped"][::-1])))
        above = [r for r in values["bins"] if r["method"] == "cells-clamped"]
        parts.append(
            (
                f"{name}: noisy cells without negative counts are too high in every bin",
                all(r["count"] > r["true"] for r in above),
            )
        )
        for method, title in (
            ("cells-clamped", "noisy cells"),
            ("dpcube-paper", "DPCube, printed"),
            ("dpcube", "DPCube, corrected"),
            ("even", "total spread evenly"),
        ):
            printed = (
                {"cells-clamped": "6,787 to 7,447", "dpcube-paper": "2,227 to 3,056"}.get(method, "")
                if name == "year"
                else ""
            )
            text = _list(errors[method], "{:,.0f}") + f" at epsilon {_list(epsilons)}"
            figures.append(Compared(f"{name} x death: summed error, {title}", printed, text))
    beaten = [
        name for name, values in told.items() if _bin_sum(values, "dpcube-paper", 0.5) >= _bin_sum(values, "even", 0.5)
    ]
    note = (
        f"But the total spread evenly, which knows nothing, errs no more than printed DPCube by: {', '.join(beaten)}."
        if beaten
        else ""
    )
    return Verdict(parts, figures, note)


def _threshold_sweep(told: Mapping[str, Values]) -> Verdict:
    rows = _by(_of(told["sweep"]["thresholds"], gain="printed"), "threshold", "epsilon")
    epsilons = sorted({epsilon for _, epsilon in rows})
    fine, coarse = ([rows[t, e]["l1"] for e in epsilons] for t in (0.1, 1.0))
    low, high = epsilons[0], epsilons[-1]
    parts = [
        (
            f"with much noise (epsilon {low:g}) the low threshold, which cuts deeper, errs less: {fine[0]:,.0f}, {coarse[0]:,.0f}",
            fine[0] < coarse[0],
        ),
        (
            f"with little noise (epsilon {high:g}) it errs more: {fine[-1]:,.0f}, {coarse[-1]:,.0f}",
            fine[-1] > coarse[-1],
        ),
    ]
    figures = [
        Compared(f"error over epsilon {_list(epsilons)}, threshold {t:g}", "", _list(v, "{:,.0f}"))
        for t, v in ((1.0, coarse), (0.1, fine))
    ]
    return Verdict(parts, figures, "The dissertation draws the curves without numbers.")


def _average_slopes(told: Mapping[str, Values]) -> Verdict:
    slopes = {r["method"]: r for r in told["year"]["slopes"] if r["series"] == "death = 1" and r["epsilon"] == 0.5}
    true = slopes["cells-clamped"]["true"]
    off = {m: abs(slopes[m]["released"] - true) for m in ("cells-clamped", "dpcube-paper", "dpcube")}
    parts = [(f"the slope of printed DPCube is nearer to the original's than that of noisy cells: {off['dpcube-paper']:.2f} against "
              f"{off['cells-clamped']:.2f} away", off["dpcube-paper"] < off["cells-clamped"])]  # fmt: skip
    figures = [
        Compared("original", "-76.14", f"{true:.2f}"),
        Compared("noisy cells (baseline)", "-87.6", f"{slopes['cells-clamped']['released']:.2f}"),
        Compared("DPCube, printed", "-81.63", f"{slopes['dpcube-paper']['released']:.2f}"),
        Compared("DPCube, corrected", "", f"{slopes['dpcube']['released']:.2f}"),
    ]
    return Verdict(parts, figures)


def _cube_of_sequences(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["cube"]["methods"], "method")
    cells, printed, mended = (rows[m]["l1"] for m in ("cells-clamped", "dpcube-paper", "dpcube"))
    parts = [(f"DPCube as printed errs more than noisy cells: {printed:,.0f}, {cells:,.0f}", printed > cells)]
    figures = [
        Compared("L1 error of noisy cells", "12,616", f"{cells:,.0f}"),
        Compared("L1 error of DPCube", "106,235", f"{printed:,.0f}"),
        Compared("L1 error of DPCube, corrected", "", f"{mended:,.0f}"),
    ]
    return Verdict(parts, figures)


def _sequence_errors(told: Mapping[str, Values]) -> Verdict:
    rows = _of(told["sequences"]["lengths"], method="tree-paper", epsilon=1.0)
    tree = [r["error"] for r in rows]
    counts, relative = [r["count"] for r in rows], [r["relative"] for r in rows]
    zero = [r["error"] for r in _of(told["sequences"]["lengths"], method="zero", epsilon=1.0)]
    parts = [
        (f"the mean count of a query falls with its length: {_list(counts)}", _rising([-c for c in counts])),
        (f"relative error rises with the length: {_list(relative)}", _rising(relative)),
        (f"the error of a query falls after the first lengths, as most are pruned: {_list(tree)}", tree[-1] < tree[0]),
        (
            "the tree errs less than the answer 0 to everything, at every length",
            all(a < b for a, b in zip(tree, zero, strict=True)),
        ),
    ]
    figures = [Compared(f"length {r['length']}: mean count, error, relative error", "",
                        _list((r["count"], r["error"], r["relative"]))) for r in rows]  # fmt: skip
    return Verdict(parts, figures, "The dissertation draws the curves without numbers.")


def _sequence_slopes(told: Mapping[str, Values]) -> Verdict:
    rows = _of(told["sequences"]["slopes"], method="tree-paper", epsilon=1.0, slope="average")
    even = _by(_of(told["sequences"]["slopes"], method="even", epsilon=1.0, slope="average"), "length", "class")
    relative = [r["error"] / r["true"] for r in rows if r["true"] >= 100]
    parts = [
        (f"classes of at least 100 sequences are told within a quarter: median relative error {np.median(relative):.3f}, "
         f"worst {max(relative):.3f}", max(relative) < 0.25),
        ("and better than by the total spread evenly, in the sum",
         sum(r["error"] for r in rows) < sum(even[r["length"], r["class"]]["error"] for r in rows)),
    ]  # fmt: skip
    figures = [Compared(f"length {r['length']}, {r['class']}: true, error", "", _list((r["true"], r["error"]), "{:,.0f}"))
               for r in rows]  # fmt: skip
    return Verdict(parts, figures, "The dissertation draws the curves without numbers.")


def _conclusions(told: Mapping[str, Values]) -> Verdict:
    k, private = told["anonymous"], told["synthetic"]
    parts = [
        (f"k = 5: at least 80 % of the decisions are kept: {k['same']:.1%}", k["same"] >= 0.8),
        (f"private synthetic rows: at least 80 %: {private['same']:.1%}", private["same"] >= 0.8),
    ]
    figures = [
        Compared(f"{name}: decisions kept, overlap of intervals, median error of cohorts", "",
                 _list((v["same"], v["overlap"], v["median_error"]))) for name, v in (("k = 5", k), ("synthetic", private))
    ]  # fmt: skip
    return Verdict(parts, figures, "Section 6.4 asks the question as future work and prints nothing.")


# --- longitudinal paper ---

_APPENDIX_A = {2: (0.33, 0.21), 5: (0.54, 0.35), 10: (0.62, 0.40), 15: (0.64, 0.42)}
_APPENDIX_A_4 = {2: (0.11, 0.10), 5: (0.21, 0.22), 10: (0.25, 0.30), 15: (0.28, 0.34)}


def _shapes(told: Mapping[str, Values]) -> Verdict:
    printed = {
        "d50": (27639, 50, 102, 5.88, 3.10),
        "d4": (16052, 4, 97, 1.65, 2.78),
        "sample": (1896, 4, 90, 1.96, 4.04),
    }
    names = ("persons", "codes", "ages", "codes_each", "ages_each")
    figures, close = [], True
    for name, values in printed.items():
        shape = told[name]["shape"]
        figures.append(
            Compared(f"{name}: {', '.join(names)}", _list(values, "{:g}"), _list((shape[n] for n in names), "{:.5g}"))
        )
        close &= shape["codes"] == values[1]
    own = told["d50"]["shape"]
    parts = [
        ("each has the number of codes", close),
        ("the large one has the paper's pairs and ages a person, within a tenth",
         all(abs(own[n] / v - 1) < 0.1 for n, v in zip(names[3:], printed["d50"][3:], strict=True))),
    ]  # fmt: skip
    return Verdict(
        parts, figures, "Made-up histories with fewer persons; those of four codes hold more pairs than the paper's."
    )


def _longitudinal_loss(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["d50"]["rows"], "method", "k")
    small = _by(told["d4"]["rows"], "method", "k")
    ks = sorted({k for _, k in rows})
    loss = {m: [rows[m, k]["ilm_estimate"] + rows[m, k]["alm_estimate"] for k in ks] for m in ("a-gs", "baseline")}
    four = [small["a-gs", k]["ilm_estimate"] + small["a-gs", k]["alm_estimate"] for k in ks if ("a-gs", k) in small]
    gone = max(rows["baseline", k]["suppressed"] for k in ks)
    parts = [
        (f"loss rises with k: ILM + ALM {_list(loss['a-gs'])}", _rising(loss["a-gs"])),
        ("A-GS loses less than the baseline at every k", all(a < b for a, b in zip(*loss.values(), strict=True))),
        (
            f"four codes lose less than fifty: {_list(four)}",
            all(a < b for a, b in zip(four, loss["a-gs"], strict=False)),
        ),
        (f"the baseline suppresses everything beyond k = 2: at most {gone:.1%}", gone > 0.999),
    ]
    figures = []
    for title, printed, found in (("50 codes", _APPENDIX_A, rows), ("4 codes", _APPENDIX_A_4, small)):
        for k in ks:
            if ("a-gs", k) in found:
                r = found["a-gs", k]
                shown = f"{r['ilm_estimate']:.2f}, {r['alm_estimate']:.2f} (exactly {r['ilm']:.2f}, {r['alm']:.2f})"
                figures.append(Compared(f"{title}, k = {k}: ILM, ALM", _list(printed[k], "{:.2f}"), shown))
    return Verdict(parts, figures, "The paper's losses are its algorithm's running estimate; ours beside are exact.")


def _longitudinal_answers(told: Mapping[str, Values]) -> Verdict:
    rows, small = (_by(told[name]["rows"], "method", "k") for name in ("d50", "d4"))
    ks = sorted({k for _, k in rows})
    errors = [rows["a-gs", k]["avg_re"] for k in ks]
    four = [small["a-gs", k]["avg_re"] for k in ks if ("a-gs", k) in small]
    ratio = rows["baseline", ks[0]]["avg_re"] / rows["a-gs", ks[0]]["avg_re"]
    parts = [
        (f"AvgRE rises with k: {_list(errors)}", _rising(errors)),
        ("it stays below 1", max(errors) < 1),
        (
            f"four codes are answered better than fifty: {_list(four)}",
            all(a < b for a, b in zip(four, errors, strict=False)),
        ),
        (f"the baseline errs more than six times as much at k = {ks[0]}: {ratio:.1f} times", ratio > 6),
    ]
    return Verdict(parts, [Compared(f"k = {k}: AvgRE", "< 1", f"{rows['a-gs', k]['avg_re']:.3f}") for k in ks])


def _longitudinal_weights(told: Mapping[str, Values]) -> Verdict:
    rows = sorted(told["weights"]["rows"], key=lambda row: float(row["weight"]))
    ilm, alm = [r["ilm"] for r in rows], [r["alm"] for r in rows]
    low, high = rows[0], rows[-1]
    parts = [
        (
            f"at {low['weight']:g} for codes, ages lose less than codes: {low['alm']:.3f}, {low['ilm']:.3f}",
            low["alm"] < low["ilm"],
        ),
        (
            f"at {high['weight']:g} codes lose less than ages: {high['ilm']:.3f}, {high['alm']:.3f}",
            high["ilm"] < high["alm"],
        ),
        ("codes lose less and ages more with every step", _rising([-v for v in ilm], 0.005) and _rising(alm, 0.005)),
    ]
    return Verdict(parts, [Compared(f"weight {r['weight']:g}: ILM, ALM", "", _list((r["ilm"], r["alm"]))) for r in rows],
                   "The paper draws the curve without numbers.")  # fmt: skip


# --- same-disease paper ---


def _disease_risks(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["risks"]["rows"], "release")
    coarse, fine = rows["Safe Harbor"], rows["limited data set"]
    parts = [
        (
            f"R is greater than Q: {coarse['R']:.4f}, {coarse['Q']:.4f} by Safe Harbor",
            coarse["R"] > coarse["Q"] and fine["R"] >= fine["Q"],
        ),
        (
            "a limited data set risks more than Safe Harbor by every measure",
            all(fine[n] > coarse[n] for n in ("max_q", "max_r", "Q", "R")),
        ),
        ("it names at least one person for certain", fine["max_q"] == fine["max_r"] == 1),
    ]
    printed = {"Safe Harbor": (0.0376, 0.0473, 0.0020, 0.0043), "limited data set": (1.0, 1.0, 0.5344, 0.6633)}
    figures = [Compared(f"{name}: max q, max r, Q, R", _list(p, "{:.4f}"), _list((rows[name][n] for n in ("max_q", "max_r", "Q", "R")), "{:.4f}"))
               for name, p in printed.items()]  # fmt: skip
    return Verdict(parts, figures, "Our population is 50,000 people, the paper's a state, so all risks are greater.")


def _disease_algorithm(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["risks"]["rows"], "release")
    coarse, ours = rows["Safe Harbor"], rows["generalized"]
    parts = [
        (f"by the cells of its cuts, the algorithm has at most about half of Safe Harbor's R: {ours['R_cut']:.4f}, {coarse['R']:.4f}",
         ours["R_cut"] <= 0.6 * coarse["R"]),
        (f"and by what is published: {ours['R']:.4f}", ours["R"] <= 0.6 * coarse["R"]),
    ]  # fmt: skip
    figures = [
        Compared(
            "Safe Harbor: classes, max r, R",
            "109, 0.0256, 0.0030",
            f"{coarse['classes']}, {coarse['max_r']:.4f}, {coarse['R']:.4f}",
        ),
        Compared(
            "algorithm: classes, max r, R",
            "115, 0.0137, 0.0015",
            f"{ours['classes']}, {ours['max_r']:.4f}, {ours['R']:.4f} (R of its cells {ours['R_cut']:.4f})",
        ),
    ]
    note = (
        "The algorithm publishes the most detailed common values of a cell; with as many cells as Safe Harbor most hold one "
        "or two records, whose own values are then published, and these single them out. The paper's figures can be had "
        "only for the cells of the cuts."
    )
    return Verdict(parts, figures, note)


# --- tutorial ---


def _census(told: Mapping[str, Values]) -> Verdict:
    rows = _by(told["census"]["rows"], "method", "k")
    ks = sorted({k for _, k in rows})
    names = ("mondrian", "bottom-up", "top-down")
    by = {n: {m: [rows[m, k][n] for k in ks] for m in names} for n in ("ncp", "dm", "avg_re")}
    ncp = by["ncp"]
    parts = [
        (
            "loss rises with k for every method, by NCP and DM",
            all(_rising(by[n][m]) for n in ("ncp", "dm") for m in names),
        ),
        (
            "clustering loses less than Mondrian at every k, by NCP",
            all(c < m for name in names[1:] for c, m in zip(ncp[name], ncp["mondrian"], strict=True)),
        ),
        (
            "bottom-up is slightly better than top-down, by NCP in the mean",
            np.mean(ncp["bottom-up"]) < np.mean(ncp["top-down"]),
        ),
        (
            "queries are answered better after clustering than after Mondrian, in the mean",
            all(np.mean(by["avg_re"][m]) < np.mean(by["avg_re"]["mondrian"]) for m in names[1:]),
        ),
    ]
    figures = [
        Compared(f"{m}: {title} at k = {_list(ks, '{:g}')}", "", _list(by[n][m]))
        for n, title in (("ncp", "NCP"), ("dm", "DM"), ("avg_re", "AvgRE"))
        for m in names
    ]
    return Verdict(parts, figures, "The tutorial draws the curves without numbers.")


def _support(told: Mapping[str, Values]) -> Verdict:
    curves = _by(told["large"]["curves"], "attacker", "records")
    unique = {a: curves[a, 1]["share"] for a, _ in curves}
    whole, two, visit = (
        unique[a] for a in ("all codes of a person", "2 random codes of a person", "codes of one visit")
    )
    sweep = told["large"]["suppression"]
    safe = next((row for row in sweep if row["unique"] == 0), None)
    codes = sweep[0]["codes_left"]
    parts = [
        (f"all codes single out more than 90 % of the persons: {whole:.1%}", whole > 0.9),
        (f"two random codes do single out some: {two:.1%}", two > 0),
        (f"codes of a visit lie between: {visit:.1%}", two < visit < whole),
        (f"suppressing rare codes until nobody is unique leaves hardly a code: {safe['codes_left'] if safe else 'never'} of {codes}",
         safe is not None and safe["codes_left"] <= 0.01 * codes),
    ]  # fmt: skip
    figures = [
        Compared("unique by all codes", "96.5 %", f"{whole:.1%}"),
        Compared("unique by the codes of a visit", "46 %", f"{visit:.1%}"),
        Compared("unique by 2 random codes", "some", f"{two:.1%}"),
        Compared("codes left when nobody is unique", "5 of about 6,000 (those of more than 25 % of the records)",
                 "never" if safe is None else f"{safe['codes_left']} of {codes} (those of more than {safe['share']:.0%})"),
    ]  # fmt: skip
    return Verdict(parts, figures)


def _gwas(told: Mapping[str, Values]) -> Verdict:
    def supported(values: Values, method: str) -> int:
        return sum(s["supported"] for s in values["studies"] if s["method"] == method)

    large, small = told["large"], told["cohort"]
    total, few = (len({s["disease"] for s in v["studies"]}) for v in (large, small))
    found = {m: supported(large, m) for m in ("ugaclip", "cba")}
    useless, error = supported(small, "aclip"), _by(small["rows"], "method")["aclip"]["case_error"]
    parts = [
        (f"UGACLIP keeps more than half of the studies: {found['ugaclip']} of {total}", found["ugaclip"] > total / 2),
        (f"CBA keeps more than UGACLIP: {found['cba']} of {total}", found["cba"] > found["ugaclip"]),
        (f"ACLIP, which knows no utility policy, keeps none: {useless} of {few} on the small cohort", useless == 0),
        ("case counts of frequent sets are off by less than 1.25 on average after UGACLIP and CBA",
         all(row["case_error"] < 1.25 for row in large["rows"])),
    ]  # fmt: skip
    figures = [
        Compared("studies kept by UGACLIP", "11 of 18", f"{found['ugaclip']} of {total}"),
        Compared("studies kept by CBA", "14 of 18", f"{found['cba']} of {total}"),
        Compared("studies kept by ACLIP", "0 of 18", f"{useless} of {few}"),
        *(
            Compared(f"ARE of case counts, {row['method']}", "< 1.25", f"{row['case_error']:.3f}")
            for row in large["rows"]
        ),
        Compared("ARE of case counts, aclip", "comparable", f"{error:.3f}"),
    ]
    note = "ACLIP takes more than ten minutes on the large cohort, so it runs on the small one, with five diseases."
    return Verdict(parts, figures, note)


def _membership(told: Mapping[str, Values]) -> Verdict:
    inside, outside = told["cases"], told["others"]
    shares = [v["found"] / v["persons"] for v in (inside, outside)]
    parts = [
        (f"allele frequencies tell most cases: {shares[0]:.1%}", shares[0] > 0.5),
        (f"and few who are not among them: {shares[1]:.1%}", shares[1] <= 0.1),
    ]
    return Verdict(parts, [Compared("cases found, others found", "", _list(shares, "{:.1%}"))],
                   "The tutorial tells of Homer et al. 2008, without a figure of its own.")  # fmt: skip


_CODES = "--codes code --person person --visit visit"
_CUBE = "experiment dp {data}/tables/cube/cube.csv --dims sex,age,year,behavior,lab,death,other --domains {data}/tables/cube/domains.toml"
_DEV = "{data}/synthetic/dev.jsonl"
_GROUPS = r"--group-pattern ^(.*)-\d+$"
_HISTOGRAM = "--methods cells-clamped,dpcube-paper,dpcube --histogram --runs 3"
_PATHOLOGY = "--preset hide --resamples 0 --min-documents 1"
_SEQUENCES = "{data}/tables/sequences/sequences.csv"
_PERIODS = "q1,q2,q3,q4,q5,q6,q7"
_TRAJECTORIES = "experiment trajectories {data}/tables/trajectories/%s.csv --code-hierarchy {data}/tables/trajectories/codes.csv --age-hierarchy {data}/tables/trajectories/ages.csv"
_REPORTS = "{data}/pathology/%s.jsonl"
_TABLE_4_6 = " ".join(
    f"--acceptance {label}={p:g}"
    for label, p in (("B-MEDICALRECORD", 0.2), ("B-ACCOUNT", 0.2), ("B-AGE", 0.3), ("B-DATE", 0.5), ("O", 0.1))
)
_VALUES = {
    "sex": "Female,Male", "income": "low,high",
    "marriage": "Married,Partnered,Service-couple,Single,Divorced,Separated,Widowed",
    "origin": "First,Second,Third,Fourth,Fifth",
}  # fmt: skip
_DOMAINS = " ".join(f"--domain {name}={values}" for name, values in _VALUES.items()) + " --domain age=17..90"
_CENSUS = "{data}/tables/census/census.csv"
_CENSUS_SCHEMA = "--schema {data}/tables/census/schema.toml"
_DISEASE = (
    "experiment same-disease {data}/tables/same-disease/patients.csv --population {data}/tables/same-disease/population.csv "
    "--qi sex,birth,zip --dates birth --zips zip"
)
_LARGE = f"experiment codes {{data}}/tables/codes/large.csv {_CODES} --code-hierarchy {{data}}/tables/codes/large-hierarchy.csv --phenotypes {{data}}/tables/codes/large-diseases.txt --methods ugaclip,cba"
_COHORT = f"experiment codes {{data}}/tables/codes/cohort.csv {_CODES} --code-hierarchy {{data}}/tables/codes/cohort-hierarchy.csv --phenotypes {{data}}/tables/codes/cohort-diseases.txt --methods aclip"
_GENOMES = "{data}/tables/genomes/%s.csv"
_ATTACK = f"genomes attack membership {_GENOMES} {_GENOMES % 'cases'} {_GENOMES % 'reference'} --non-members {_GENOMES % 'others'}"
_YEAR, _AGE = (
    Command(f"{_CUBE} --slice year,death {_HISTOGRAM}", "--epsilons 0.5,1", "--epsilons 0.1,0.5,1"),
    Command(f"{_CUBE} --slice age,death {_HISTOGRAM}", "--epsilons 0.5,1", "--epsilons 0.1,0.5,1"),
)


def _crossval(form: str) -> Command:
    return Command(
        f"crossval {_PATHOLOGY} {form}", f"--folds 3 {_REPORTS % 'quick'}", f"--folds 10 {_REPORTS % 'reports'}"
    )


def _no_criterion(_: Mapping[str, Values]) -> Verdict:
    raise AssertionError("an item without commands has no criterion")


ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        Item("table-4.4", "Gardner 2012, table 4.4", "A CRF extracts nearly all PHI of pathology reports (ten folds).",
             {"crf": _crossval("--algorithm lbfgs --iterations 50")}, _table_4_4),
        Item("table-4.5", "Gardner 2012, table 4.5", "Trained on one part, a CRF extracts nearly all PHI of the other (i2b2).",
             {"holdout": Command(f"experiment learners {{data}}/synthetic/train.jsonl --test {_DEV} --preset hide",
                                 "--algorithms sgd --iterations 3", "--algorithms lbfgs")}, _table_4_5),
        Item("figure-4.5", "Gardner 2012, figure 4.5", "Context matters most, then regular expressions, affixes, dictionaries.",
             {"subsets": Command(f"experiment features {_DEV} {_GROUPS} --measure token",
                                 "--folds 2 --iterations 2", "--folds 10 --iterations 8")}, _feature_subsets),
        Item("tables-4.6-4.8", "Gardner 2012, tables 4.6 to 4.8", "Cost-proportionate sampling lifts Naive Bayes near the CRF.",
             {"plain": _crossval("--algorithm naive-bayes"), "sampled": _crossval(f"--algorithm naive-bayes {_TABLE_4_6}")},
             _naive_bayes),
        Item("figures-4.6-4.11", "Gardner 2012, figures 4.6 to 4.11", "Sampling trades precision for recall, and saves time.",
             {"sampling": Command(f"experiment sampling {_DEV} {_GROUPS} --no-naive-bayes --biases 1",
                                  "--folds 2 --iterations 2 --windows 1,4,16 --shares 0.1",
                                  "--folds 5 --windows 1,2,4,8,16,32,64 --shares 0.05,0.1,0.25,0.5")}, _samplings),
        Item("figure-5.1", "Gardner 2012, figure 5.1", "Statistical de-identification trades query precision for privacy.",
             {"precision": Command("experiment tables {data}/tables/patients/patients.csv --qi age --drop-rest --person mrn "
                                   "--persons-as-given --methods mondrian --ks 2,5,10,20,50,100 --precision age")},
             _query_precision),
        Item("figures-5.3-5.9", "Gardner 2012, figures 5.3 to 5.9 and 5.11", "DPCube is nearer to the original than noisy cells.",
             {"year": _YEAR, "age": _AGE}, _cube_histograms),
        Item("figure-5.10", "Gardner 2012, figure 5.10", "Cutting deeper helps where there is much noise, and harms where little.",
             {"sweep": Command(f"{_CUBE} --slice death,age --sweep-thresholds", "--epsilons 0.05,0.5,4 --runs 1",
                               "--epsilons 0.05,0.1,0.2,0.5,1,2,4 --runs 3")}, _threshold_sweep),
        Item("section-5.3.3", "Gardner 2012, section 5.3.3", "DPCube keeps the average slope better than noisy cells.",
             {"year": _YEAR}, _average_slopes),
        Item("section-5.3.5", "Gardner 2012, section 5.3.5", "DPCube is ill suited for sequences.",
             {"cube": Command(f"experiment dp {_SEQUENCES} --dims {_PERIODS} --slice {_PERIODS} --methods "
                              "cells-clamped,dpcube-paper,dpcube --epsilons 1 "
                              + " ".join(f"--domain {p}=0..3" for p in _PERIODS.split(",")), "--runs 2", "--runs 10")},
             _cube_of_sequences),
        Item("figure-5.12", "Gardner 2012, figure 5.12", "Four doctors' prescriptions by month, drawn at random.", {},
             _no_criterion, "The figure shows rows of four persons of data that are not public, and claims nothing to test."),
        Item("figures-5.13-5.15", "Gardner 2012, figures 5.13 to 5.15", "Errors by the length of a sequence.",
             {"sequences": Command(f"experiment sequences {_SEQUENCES} --periods {_PERIODS} --domain level=0..3 --methods "
                                   "tree-paper,tree --epsilons 1", "--runs 3", "--runs 20")}, _sequence_errors),
        Item("figure-5.16", "Gardner 2012, figure 5.16", "Counts of falling, steady and rising sequences can be released.",
             {"sequences": Command(f"experiment sequences {_SEQUENCES} --periods {_PERIODS} --domain level=0..3 --methods "
                                   "tree-paper,tree --epsilons 1 --trends 2,3,4,5,6,7", "--runs 3", "--runs 20")},
             _sequence_slopes),
        Item("section-6.4", "Gardner 2012, section 6.4", "Do analyses of private data conclude the same?",
             {"release": Command(f"anonymize {_CENSUS} {_CENSUS_SCHEMA} --k 5 -o {{out}}/k5.csv", figures=False),
              "anonymous": Command(f"experiment conclusions {_CENSUS} {{out}}/k5.csv {_CENSUS_SCHEMA} --outcome income=high"),
              "cube": Command(f"cube {_CENSUS} --dims sex,age,marriage,origin,income {_DOMAINS} --method privtree --epsilon 1 "
                              "--not-private-seed 1 -o {out}/cube.parquet", figures=False),
              "drawn": Command("synthesize {out}/cube.parquet -o {out}/synthetic.csv", figures=False),
              "synthetic": Command(f"experiment conclusions {_CENSUS} {{out}}/synthetic.csv --qi sex,age,marriage,origin "
                                   "--outcome income=high")}, _conclusions),
        Item("longitudinal-table-1", "Tamersoy et al. 2012, table I", "The three data sets.",
             {name: Command(_TRAJECTORIES % file + " --methods a-gs --ks 2") for name, file in
              (("d50", "d50"), ("d4", "d4"), ("sample", "d4-sample"))}, _shapes),
        Item("longitudinal-figure-6", "Tamersoy et al. 2012, figure 6 and appendix A",
             "A-GS loses far less than the baseline, and less with fewer codes.",
             {"d50": Command(_TRAJECTORIES % "d50", "--ks 2,5", "--ks 2,5,10,15"),
              "d4": Command(_TRAJECTORIES % "d4" + " --methods a-gs", "--ks 2,5", "--ks 2,5,10,15")}, _longitudinal_loss),
        Item("longitudinal-figure-7", "Tamersoy et al. 2012, figure 7", "Queries are answered with a relative error below 1.",
             {"d50": Command(_TRAJECTORIES % "d50", "--ks 2,5", "--ks 2,5,10,15"),
              "d4": Command(_TRAJECTORIES % "d4" + " --methods a-gs", "--ks 2,5", "--ks 2,5,10,15")}, _longitudinal_answers),
        Item("longitudinal-figure-8", "Tamersoy et al. 2012, figure 8", "Weights choose what is kept: codes or ages.",
             {"weights": Command(_TRAJECTORIES % "d50" + " --methods a-gs --ks 2", "--weights 0.1,0.5,0.9",
                                 "--weights 0.1,0.3,0.5,0.7,0.9")}, _longitudinal_weights),
        Item("same-disease-table-3", "Liu et al. 2015, tables 1 to 3", "Instance risk is greater than re-identification risk.",
             {"risks": Command(_DISEASE)}, _disease_risks),
        Item("same-disease-table-4", "Liu et al. 2015, table 4", "At as many classes the algorithm has half of Safe Harbor's risk.",
             {"risks": Command(_DISEASE)}, _disease_algorithm),
        Item("tutorial-census", "Gkoulalas-Divanis and Loukides 2012, case study US Census",
             "Clustering outperforms Mondrian; bottom-up is slightly better.",
             {"census": Command(f"experiment tables {_CENSUS} {_CENSUS_SCHEMA}", "--ks 5,25", "--ks 2,5,10,25,50,100")}, _census),
        Item("tutorial-support", "Gkoulalas-Divanis and Loukides 2012, case study VNEC",
             "Codes single out nearly everybody; suppression leaves nothing.", {"large": Command(_LARGE)}, _support),
        Item("tutorial-gwas", "Gkoulalas-Divanis and Loukides 2012, table of diseases",
             "UGACLIP and CBA keep studies that ACLIP loses.", {"large": Command(_LARGE), "cohort": Command(_COHORT)}, _gwas),
        Item("tutorial-genomes", "Gkoulalas-Divanis and Loukides 2012, attacks on genomes",
             "Aggregate frequencies tell who is among the cases.",
             {"cases": Command(_ATTACK % "cases", figures=False), "others": Command(_ATTACK % "others", figures=False)},
             _membership),
    )
}  # fmt: skip
"""What can be reproduced, by name, in the order of the sources."""


def chosen(name: str | None) -> list[Item]:
    """Return one item, or all.

    Raises
    ------
    ConfigError
        When there is no item of that name.
    """
    if name is None:
        return list(ITEMS.values())
    if name not in ITEMS:
        raise ConfigError("there is no such item", nearest(name, ITEMS, "deid reproduce --list names them"))
    return [ITEMS[name]]
