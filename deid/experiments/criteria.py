"""Whether what a paper found is seen in what commands wrote: a criterion for each item of ``papers.toml``.

A criterion is a function of the JSON that the commands of an item wrote, by the names that the item gives them. It
tests statements, and names our figures as ``papers.toml`` names the printed ones. Data of the papers are not public
(but Adult and SEER), so figures need not agree; what is judged is the finding: which method does better, how a curve
runs. Where a margin is needed, it is ours; no paper states one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = Mapping[str, Any]
"""JSON of a command."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class SeenValues:
    """What a criterion saw.

    Parameters
    ----------
    parts : sequence of (str, bool)
        Statements that make up the finding, and whether each is so.
    figures : mapping of str to str
        Our figures by name.
    note : str
        What these figures want said beside.
    """

    parts: Sequence[tuple[str, bool]]
    figures: Mapping[str, str]
    note: str = ""


Criterion = Callable[[Mapping[str, Values]], SeenValues]
CRITERIA: dict[str, Criterion] = {}
"""By the name of the item."""


def _criterion(item: str) -> Callable[[Criterion], Criterion]:
    def kept(judge: Criterion) -> Criterion:
        CRITERIA[item] = judge
        return judge

    return kept


def _by(rows: Iterable[Row], *keys: str) -> dict[Any, Row]:
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def _of(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _rising(values: Sequence[float], slack: float = 0.0) -> bool:
    return all(b >= a - slack for a, b in itertools.pairwise(values))


def _below(lower: Iterable[float], upper: Iterable[float]) -> bool:
    """Return whether one curve lies below another as far as both go."""
    return all(a < b for a, b in zip(lower, upper, strict=False))


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


def _accuracy(values: Values) -> float:
    return float(values["pooled"]["measures"]["with_negatives"]["micro"]["recall"])


def _label(values: Values, label: str, what: str = "f1") -> float:
    found = values["pooled"]["measures"]["token"]["by_label"].get(label)
    return float(found[what]) if found else 0.0


def _by_label(values: Values, table: str = "") -> dict[str, str]:
    figures = {f"{table}overall accuracy": f"{_accuracy(values):.3f}"}
    return figures | {f"{table}F1 of {name}": f"{_label(values, label):.3f}" for name, label in _LABELS.items()}


@_criterion("table-4.4")
def _crf(told: Mapping[str, Values]) -> SeenValues:
    values = told["crf"]
    f1 = [_label(values, label) for label in _LABELS.values()]
    parts = [
        (f"accuracy at least .982 - .02: {_accuracy(values):.3f}", _accuracy(values) >= 0.962),
        (f"every label has an F1 of at least .95: {_list(f1)}", min(f1) >= 0.95),
    ]
    return SeenValues(parts, _by_label(values))


@_criterion("table-4.5")
def _holdout(told: Mapping[str, Values]) -> SeenValues:
    row = told["holdout"]["rows"][0]
    names = {"precision of Begin and Intermediate tokens": "precision", "recall": "recall", "F1": "f1"}
    parts = [(f"F1 of tokens at least .977 - .03: {row['token_f1']:.3f}", row["token_f1"] >= 0.947)]
    return SeenValues(parts, {name: f"{row[f'token_{measure}']:.3f}" for name, measure in names.items()})


@_criterion("figure-4.5")
def _feature_subsets(told: Mapping[str, Values]) -> SeenValues:
    rows = _by(told["subsets"]["rows"], "features")
    alone = {name: rows[name]["mean"] for name in "darc"}
    p = rows["rcd"]["p"]
    best, worst = max(alone, key=alone.__getitem__), min(alone, key=alone.__getitem__)
    parts = [
        (f"context alone does best of the four: {_list(alone.values())} for d, a, r, c", best == "c"),
        ("dictionaries alone do worst", worst == "d"),
        ("affixes alone do less than regular expressions alone", alone["a"] < alone["r"]),
        (f"leaving out affixes (rcd) is no clear loss: p = {p if p is None else format(p, '.3g')}",
         p is None or p > 0.05),
    ]  # fmt: skip
    figures = {
        "F1 of context alone": f"{alone['c']:.3f}",
        "p of rcd against racd": "" if p is None else f"{p:.3g}",
        **{f"F1 of {name} alone": f"{alone[name]:.3f}" for name in "rad"},
        "F1 of all four": f"{rows['racd']['mean']:.3f}",
    }
    return SeenValues(parts, figures)


@_criterion("tables-4.6-4.8")
def _naive_bayes(told: Mapping[str, Values]) -> SeenValues:
    plain, sampled = told["plain"], told["sampled"]
    a, b = _accuracy(plain), _accuracy(sampled)
    inside = [_label(values, "I-PATIENT", "recall") for values in (plain, sampled)]
    parts = [
        (f"sampling raises the overall accuracy: {a:.3f} to {b:.3f}", b > a),
        (f"and recall of names inside does not fall: {inside[0]:.3f} to {inside[1]:.3f}", inside[1] >= inside[0]),
    ]
    return SeenValues(parts, _by_label(plain, "table 4.7: ") | _by_label(sampled, "table 4.8: "))


@_criterion("figures-4.6-4.11")
def _samplings(told: Mapping[str, Values]) -> SeenValues:
    rows = told["sampling"]["rows"]
    full = _of(rows, curve="full")[0]
    windows = sorted(_of(rows, curve="window"), key=lambda row: float(row["value"]))
    shares = sorted(_of(rows, curve="o-sampling"), key=lambda row: float(row["value"]))
    first, last, few = windows[0], windows[-1], shares[0]
    gap = [abs(row["phi_recall"] - row["phi_precision"]) for row in (first, last)]
    recall = "{:.3f}, {:.3f}".format
    parts = [
        (f"the smallest window has more recall than all tokens: {recall(first['phi_recall'], full['phi_recall'])}",
         first["phi_recall"] > full["phi_recall"]),
        (f"precision rises with the window: {_list(r['phi_precision'] for r in windows)}",
         _rising([r["phi_precision"] for r in windows], 0.005)),
        (f"precision and recall come nearer with the window: {gap[0]:.3f} to {gap[1]:.3f} apart", gap[1] < gap[0]),
        (f"few O tokens raise recall: {few['phi_recall']:.3f} at p = {few['value']:g}",
         few["phi_recall"] > full["phi_recall"]),
        ("window sampling begins with more recall than random sampling: "
         + recall(first["phi_recall"], few["phi_recall"]),
         first["phi_recall"] > few["phi_recall"]),
        (f"training takes longer with the window: {_list(r['train_cpu_seconds'] for r in windows)} CPU s",
         last["train_cpu_seconds"] > first["train_cpu_seconds"]),
    ]  # fmt: skip
    four = next(row for row in windows if float(row["value"]) == 4)
    figures = {
        "window 4: recall, precision": recall(four["phi_recall"], four["phi_precision"]),
        "all tokens: recall, precision": recall(full["phi_recall"], full["phi_precision"]),
    }
    for title, curve in (("window", windows), ("random O-sampling", shares)):
        for r in curve:
            values = _list((r["tokens_kept"], r["phi_recall"], r["phi_precision"]))
            figures[f"{title} {r['value']:g}: share kept, recall, precision"] = values
    return SeenValues(parts, figures)


# --- dissertation, chapters 5 and 6 ---


@_criterion("figure-5.1")
def _query_precision(told: Mapping[str, Values]) -> SeenValues:
    rows = told["precision"]["rows"]
    partial, full = (_of(rows, method=name)[0]["precision"] for name in ("partial", "full"))
    curve = sorted((r["k"], r["precision"]) for r in rows if r["k"] is not None)
    ks, values = zip(*curve, strict=True)
    parts = [
        ("partial de-identification answers exactly", partial == 1),
        (f"precision falls with k: {_list(values)} at k = {_list(ks, '{:g}')}", _rising([-v for v in values], 0.002)),
        (f"full de-identification does worst: {full:.3f}", full <= min(values) + 1e-9),
    ]
    figures = {"partial": f"{partial:.3f}", "full": f"{full:.3f}"}
    return SeenValues(parts, figures | {f"statistical, k = {k:g}": f"{value:.3f}" for k, value in curve})


_CELLS = {
    "cells-clamped": "noisy cells",
    "dpcube-paper": "DPCube, printed",
    "dpcube": "DPCube, corrected",
    "even": "total spread evenly",
}


@_criterion("figures-5.3-5.9")
def _cube_histograms(told: Mapping[str, Values]) -> SeenValues:
    parts, figures, beaten = [], {}, []
    for name, values in told.items():
        bins = values["bins"]
        epsilons = sorted({row["epsilon"] for row in bins})
        errors = {m: [sum(r["error"] for r in _of(bins, method=m, epsilon=e)) for e in epsilons] for m in _CELLS}
        cells, cube = errors["cells-clamped"], errors["dpcube-paper"]
        high = all(r["count"] > r["true"] for r in _of(bins, method="cells-clamped"))
        parts += [
            (f"{name}: DPCube as printed errs less than noisy cells at every epsilon", _below(cube, cells)),
            (f"{name}: less budget, more error of noisy cells", _rising(cells[::-1])),
            (f"{name}: noisy cells without negative counts are too high in every bin", high),
        ]
        for method, title in _CELLS.items():
            summed = _list(errors[method], "{:,.0f}")
            figures[f"{name} x death: summed error, {title}"] = f"{summed} at epsilon {_list(epsilons)}"
        half = epsilons.index(0.5)
        if cube[half] >= errors["even"][half]:
            beaten.append(name)
    evenly = "But the total spread evenly, which knows nothing, errs no more than printed DPCube by: "
    return SeenValues(parts, figures, f"{evenly}{', '.join(beaten)}." if beaten else "")


@_criterion("figure-5.10")
def _threshold_sweep(told: Mapping[str, Values]) -> SeenValues:
    rows = _by(_of(told["sweep"]["thresholds"], gain="printed"), "threshold", "epsilon")
    epsilons = sorted({epsilon for _, epsilon in rows})
    fine, coarse = ([rows[t, e]["l1"] for e in epsilons] for t in (0.1, 1.0))
    parts = [
        (f"with much noise (epsilon {epsilons[0]:g}) the low threshold, which cuts deeper, errs less: "
         f"{fine[0]:,.0f}, {coarse[0]:,.0f}", fine[0] < coarse[0]),
        (f"with little noise (epsilon {epsilons[-1]:g}) it errs more: {fine[-1]:,.0f}, {coarse[-1]:,.0f}",
         fine[-1] > coarse[-1]),
    ]  # fmt: skip
    over = f"error over epsilon {_list(epsilons)}, threshold"
    return SeenValues(parts, {f"{over} {t:g}": _list(v, "{:,.0f}") for t, v in ((1.0, coarse), (0.1, fine))})


@_criterion("section-5.3.3")
def _average_slopes(told: Mapping[str, Values]) -> SeenValues:
    slopes = _by(_of(told["year"]["slopes"], series="death = 1", epsilon=0.5), "method")
    true = slopes["cells-clamped"]["true"]
    cells, cube = (abs(slopes[m]["released"] - true) for m in ("cells-clamped", "dpcube-paper"))
    nearer = "the slope of printed DPCube is nearer to the original's than that of noisy cells"
    figures = {_CELLS[method]: f"{slopes[method]['released']:.2f}" for method in _CELLS if method in slopes}
    return SeenValues(
        [(f"{nearer}: {cube:.2f} against {cells:.2f} away", cube < cells)], {"original": f"{true:.2f}"} | figures
    )


@_criterion("section-5.3.5")
def _cube_of_sequences(told: Mapping[str, Values]) -> SeenValues:
    rows = _by(told["cube"]["methods"], "method")
    printed, cells = rows["dpcube-paper"]["l1"], rows["cells-clamped"]["l1"]
    parts = [(f"DPCube as printed errs more than noisy cells: {printed:,.0f}, {cells:,.0f}", printed > cells)]
    methods = [method for method in _CELLS if method in rows]
    return SeenValues(parts, {f"L1 error, {_CELLS[method]}": f"{rows[method]['l1']:,.0f}" for method in methods})


@_criterion("figure-5.12")
def _drawn(told: Mapping[str, Values]) -> SeenValues:
    shapes, drawn = told["sequences"]["shapes"], told["sequences"]["drawn"]
    parts = [
        (f"more than half end higher than they began: {shapes['higher']:.1%}", shapes["higher"] > 0.5),
        (f"some end lower: {shapes['lower']:.1%}", shapes["lower"] > 0),
        (f"some rise and fall: {shapes['turning']:.1%}", shapes["turning"] > 0),
    ]
    return SeenValues(
        parts, {f"drawn {n}: level by period": _list(levels, "{:d}") for n, levels in enumerate(drawn, 1)}
    )


@_criterion("figures-5.13-5.15")
def _sequence_errors(told: Mapping[str, Values]) -> SeenValues:
    lengths = _of(told["sequences"]["lengths"], epsilon=1.0)
    rows, zero = _of(lengths, method="tree-paper"), [r["error"] for r in _of(lengths, method="zero")]
    counts, errors, relative = ([r[name] for r in rows] for name in ("count", "error", "relative"))
    parts = [
        (f"the mean count of a query falls with its length: {_list(counts)}", _rising([-c for c in counts])),
        (f"relative error rises with the length: {_list(relative)}", _rising(relative)),
        (f"the error of a query falls after the first lengths, as most are pruned: {_list(errors)}",
         errors[-1] < errors[0]),
        ("the tree errs less than the answer 0 to everything, at every length", _below(errors, zero)),
    ]  # fmt: skip
    told_of = "mean count, error, relative error"
    return SeenValues(
        parts, {f"length {r['length']}: {told_of}": _list((r["count"], r["error"], r["relative"])) for r in rows}
    )


@_criterion("figure-5.16")
def _sequence_slopes(told: Mapping[str, Values]) -> SeenValues:
    average = _of(told["sequences"]["slopes"], epsilon=1.0, slope="average")
    rows, even = _of(average, method="tree-paper"), _by(_of(average, method="even"), "length", "class")
    relative = [r["error"] / r["true"] for r in rows if r["true"] >= 100]
    ours, evenly = (sum(r["error"] for r in of) for of in (rows, [even[r["length"], r["class"]] for r in rows]))
    parts = [
        (f"classes of at least 100 sequences are told within a quarter: median relative error "
         f"{np.median(relative):.3f}, worst {max(relative):.3f}", max(relative) < 0.25),
        ("and better than by the total spread evenly, in the sum", ours < evenly),
    ]  # fmt: skip
    figures = {f"length {r['length']}, {r['class']}: true, error": f"{r['true']:,.0f}, {r['error']:,.0f}" for r in rows}
    return SeenValues(parts, figures)


@_criterion("section-6.4")
def _conclusions(told: Mapping[str, Values]) -> SeenValues:
    k, private = told["anonymous"], told["synthetic"]
    parts = [
        (f"k = 5: at least 80 % of the decisions are kept: {k['same']:.1%}", k["same"] >= 0.8),
        (f"private synthetic rows: at least 80 %: {private['same']:.1%}", private["same"] >= 0.8),
    ]
    what = "decisions kept, overlap of intervals, median error of cohorts"
    compared = (("k = 5", k), ("synthetic", private))
    return SeenValues(parts, {f"{n}: {what}": _list((v["same"], v["overlap"], v["median_error"])) for n, v in compared})


# --- longitudinal paper ---


@_criterion("longitudinal-table-1")
def _shapes(told: Mapping[str, Values]) -> SeenValues:
    shapes = {name: values["shape"] for name, values in told.items()}
    names = ("persons", "codes", "ages", "codes_each", "ages_each")
    codes = {name: shape["codes"] for name, shape in shapes.items()}
    pairs, ages = shapes["d50"]["codes_each"], shapes["d50"]["ages_each"]
    parts = [
        ("each has the number of codes", codes == {"d50": 50, "d4": 4, "sample": 4}),
        ("the large one has the paper's pairs and ages a person, within a tenth",
         abs(pairs / 5.88 - 1) < 0.1 and abs(ages / 3.10 - 1) < 0.1),
    ]  # fmt: skip
    what = ", ".join(names)
    return SeenValues(parts, {f"{name}: {what}": _list((s[n] for n in names), "{:.5g}") for name, s in shapes.items()})


def _curves(values: Values, measure: Callable[[Row], float]) -> dict[str, dict[int, float]]:
    """Return a measure by k for each method."""
    curves: dict[str, dict[int, float]] = {}
    for row in sorted(values["rows"], key=lambda row: int(row["k"])):
        curves.setdefault(row["method"], {})[row["k"]] = measure(row)
    return curves


@_criterion("longitudinal-figure-6")
def _longitudinal_loss(told: Mapping[str, Values]) -> SeenValues:
    fifty, four = (_curves(told[name], lambda r: r["ilm_estimate"] + r["alm_estimate"]) for name in ("d50", "d4"))
    ours, baseline, small = (list(curve.values()) for curve in (fifty["a-gs"], fifty["baseline"], four["a-gs"]))
    gone = max(row["suppressed"] for row in _of(told["d50"]["rows"], method="baseline"))
    parts = [
        (f"loss rises with k: ILM + ALM {_list(ours)}", _rising(ours)),
        ("A-GS loses less than the baseline at every k", _below(ours, baseline)),
        (f"four codes lose less than fifty: {_list(small)}", _below(small, ours)),
        (f"the baseline suppresses everything beyond k = 2: at most {gone:.1%}", gone > 0.999),
    ]
    figures = {
        f"{title}, k = {r['k']}: ILM, ALM":
        f"{r['ilm_estimate']:.2f}, {r['alm_estimate']:.2f} (exactly {r['ilm']:.2f}, {r['alm']:.2f})"
        for title, name in (("50 codes", "d50"), ("4 codes", "d4")) for r in _of(told[name]["rows"], method="a-gs")
    }  # fmt: skip
    return SeenValues(parts, figures)


@_criterion("longitudinal-figure-7")
def _longitudinal_answers(told: Mapping[str, Values]) -> SeenValues:
    fifty, four = (_curves(told[name], lambda r: float(r["avg_re"])) for name in ("d50", "d4"))
    first = min(fifty["a-gs"])
    errors, small = list(fifty["a-gs"].values()), list(four["a-gs"].values())
    ratio = fifty["baseline"][first] / fifty["a-gs"][first]
    parts = [
        (f"AvgRE rises with k: {_list(errors)}", _rising(errors)),
        ("it stays below 1", max(errors) < 1),
        (f"four codes are answered better than fifty: {_list(small)}", _below(small, errors)),
        (f"the baseline errs more than six times as much at k = {first}: {ratio:.1f} times", ratio > 6),
    ]
    return SeenValues(parts, {f"k = {k}: AvgRE": f"{value:.3f}" for k, value in fifty["a-gs"].items()})


@_criterion("longitudinal-figure-8")
def _longitudinal_weights(told: Mapping[str, Values]) -> SeenValues:
    rows = sorted(told["weights"]["rows"], key=lambda row: float(row["weight"]))
    ilm, alm = [r["ilm"] for r in rows], [r["alm"] for r in rows]
    low, high = rows[0]["weight"], rows[-1]["weight"]
    parts = [
        (f"at {low:g} for codes, ages lose less than codes: {alm[0]:.3f}, {ilm[0]:.3f}", alm[0] < ilm[0]),
        (f"at {high:g} codes lose less than ages: {ilm[-1]:.3f}, {alm[-1]:.3f}", ilm[-1] < alm[-1]),
        ("codes lose less and ages more with every step", _rising([-v for v in ilm], 0.005) and _rising(alm, 0.005)),
    ]
    return SeenValues(parts, {f"weight {r['weight']:g}: ILM, ALM": _list((r["ilm"], r["alm"])) for r in rows})


# --- same-disease paper ---


@_criterion("same-disease-table-3")
def _disease_risks(told: Mapping[str, Values]) -> SeenValues:
    rows = _by(told["risks"]["rows"], "release")
    coarse, fine = rows["Safe Harbor"], rows["limited data set"]
    names = ("max_q", "max_r", "Q", "R")
    greater = coarse["R"] > coarse["Q"] and fine["R"] >= fine["Q"]
    more = all(fine[name] > coarse[name] for name in names)
    parts = [
        (f"R is greater than Q: {coarse['R']:.4f}, {coarse['Q']:.4f} by Safe Harbor", greater),
        ("a limited data set risks more than Safe Harbor by every measure", more),
        ("it names at least one person for certain", fine["max_q"] == fine["max_r"] == 1),
    ]
    risks = {row["release"]: _list((row[name] for name in names), "{:.4f}") for row in (coarse, fine)}
    return SeenValues(parts, {f"{release}: max q, max r, Q, R": values for release, values in risks.items()})


@_criterion("same-disease-table-4")
def _disease_algorithm(told: Mapping[str, Values]) -> SeenValues:
    rows = _by(told["risks"]["rows"], "release")
    coarse, ours = rows["Safe Harbor"], rows["generalized"]
    half = "by the cells of its cuts, the algorithm has at most about half of Safe Harbor's R"
    parts = [
        (f"{half}: {ours['R_cut']:.4f}, {coarse['R']:.4f}", ours["R_cut"] <= 0.6 * coarse["R"]),
        (f"and by what is published: {ours['R']:.4f}", ours["R"] <= 0.6 * coarse["R"]),
    ]
    named = {"Safe Harbor": coarse, "algorithm": ours}
    figures = {
        f"{name}: classes, max r, R": f"{r['classes']}, {r['max_r']:.4f}, {r['R']:.4f}" for name, r in named.items()
    }
    figures["algorithm: classes, max r, R"] += f" (R of its cells {ours['R_cut']:.4f})"
    return SeenValues(parts, figures)


# --- tutorial ---


@_criterion("tutorial-census")
def _census(told: Mapping[str, Values]) -> SeenValues:
    measures = {"ncp": "NCP", "dm": "DM", "avg_re": "AvgRE"}
    by = {name: _curves(told["census"], lambda row, name=name: float(row[name])) for name in measures}  # type: ignore[misc]
    lost = {name: {m: list(curve.values()) for m, curve in curves.items()} for name, curves in by.items()}
    ncp, answers = lost["ncp"], lost["avg_re"]
    clustered = ("bottom-up", "top-down")
    mean = {m: float(np.mean(values)) for m, values in ncp.items()}
    errors = {m: float(np.mean(values)) for m, values in answers.items()}
    parts = [
        ("loss rises with k for every method, by NCP and DM",
         all(_rising(curve) for name in ("ncp", "dm") for curve in lost[name].values())),
        ("clustering loses less than Mondrian at every k, by NCP",
         all(_below(ncp[m], ncp["mondrian"]) for m in clustered)),
        ("bottom-up is slightly better than top-down, by NCP in the mean", mean["bottom-up"] < mean["top-down"]),
        ("queries are answered better after clustering than after Mondrian, in the mean",
         all(errors[m] < errors["mondrian"] for m in clustered)),
    ]  # fmt: skip
    return SeenValues(parts, {
        f"{method}: {title} at k = {_list(by[name][method], '{:g}')}": _list(lost[name][method])
        for name, title in measures.items() for method in ("mondrian", *clustered)
    })  # fmt: skip


@_criterion("tutorial-support")
def _support(told: Mapping[str, Values]) -> SeenValues:
    unique = {row["attacker"]: row["share"] for row in _of(told["large"]["curves"], records=1)}
    who = ("all codes of a person", "2 random codes of a person", "codes of one visit")
    whole, two, visit = (unique[name] for name in who)
    sweep = told["large"]["suppression"]
    codes, safe = sweep[0]["codes_left"], next((row for row in sweep if row["unique"] == 0), None)
    left = str(safe["codes_left"]) if safe else "never"
    parts = [
        (f"all codes single out more than 90 % of the persons: {whole:.1%}", whole > 0.9),
        (f"two random codes do single out some: {two:.1%}", two > 0),
        (f"codes of a visit lie between: {visit:.1%}", two < visit < whole),
        (f"suppressing rare codes until nobody is unique leaves hardly a code: {left} of {codes}",
         safe is not None and safe["codes_left"] <= 0.01 * codes),
    ]  # fmt: skip
    figures = {
        "unique by all codes": f"{whole:.1%}",
        "unique by the codes of a visit": f"{visit:.1%}",
        "unique by 2 random codes": f"{two:.1%}",
        "codes left when nobody is unique": f"{left} of {codes} (those of more than {safe['share']:.0%})"
        if safe
        else left,
    }
    return SeenValues(parts, figures)


@_criterion("tutorial-gwas")
def _gwas(told: Mapping[str, Values]) -> SeenValues:
    large, small = told["large"], told["cohort"]
    kept = {
        method: (sum(s["supported"] for s in studies), len({s["disease"] for s in studies}))
        for values, methods in ((large, ("ugaclip", "cba")), (small, ("aclip",)))
        for method in methods for studies in [_of(values["studies"], method=method)]
    }  # fmt: skip
    (ugaclip, total), (cba, _), (aclip, few) = kept.values()
    errors = {row["method"]: row["case_error"] for row in (*large["rows"], *small["rows"])}
    near = all(row["case_error"] < 1.25 for row in large["rows"])
    parts = [
        (f"UGACLIP keeps more than half of the studies: {ugaclip} of {total}", ugaclip > total / 2),
        (f"CBA keeps more than UGACLIP: {cba} of {total}", cba > ugaclip),
        (f"ACLIP, which knows no utility policy, keeps none: {aclip} of {few} on the small cohort", aclip == 0),
        ("case counts of frequent sets are off by less than 1.25 on average after UGACLIP and CBA", near),
    ]
    figures = {f"studies kept by {method.upper()}": f"{found} of {of}" for method, (found, of) in kept.items()}
    return SeenValues(parts, figures | {f"ARE of case counts, {m.upper()}": f"{errors[m]:.3f}" for m in kept})


@_criterion("tutorial-genomes")
def _membership(told: Mapping[str, Values]) -> SeenValues:
    inside, outside = (told[name]["found"] / told[name]["persons"] for name in ("cases", "others"))
    parts = [
        (f"allele frequencies tell most cases: {inside:.1%}", inside > 0.5),
        (f"and few who are not among them: {outside:.1%}", outside <= 0.1),
    ]
    return SeenValues(parts, {"cases found, others found": f"{inside:.1%}, {outside:.1%}"})
