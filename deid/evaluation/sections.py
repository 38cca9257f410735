"""The tables of an evaluation, of its JSON values, and of a comparison: for terminals and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deid.base.reports import Section
from deid.evaluation.comparison import LEVEL
from deid.evaluation.systems import METRICS, Comparison

_INTERVAL = f"{LEVEL:.0%} interval"
_FIGURES = {"precision": "{precision:.4f}", "recall": "{recall:.4f}", "F1": "{f1:.4f}"}
_COUNTS = {"gold": "{gold}", "system": "{system}"}
Values = Mapping[str, Any]


def evaluation_sections(values: Values) -> tuple[Section, ...]:
    """Return all tables of an evaluation, by what `deid.evaluation.evaluation.Evaluation.as_dict` gives."""
    return (
        _documents(values["documents"], values["settings"]),
        _measures(values),
        _categories(values),
        tokens_section(values),
        _i2b2(values["i2b2-2014"]),
        _meddocan(values["meddocan"]),
        _leaks(values["leaks"]),
        Section("Mistakes", ("kind", "count"), _counts(values["mistakes"]["by_kind"])),
    )


def _counts(counts: Values) -> list[tuple[str, str]]:
    return [(name, str(count)) for name, count in counts.items()]


def _documents(compared: Values, settings: Values) -> Section:
    rows = {
        "in GOLD": compared["gold"],
        "in SYSTEM": compared["system"],
        "missing in SYSTEM (counted as empty)": len(compared["missing"]),
        "with another text in SYSTEM (counted as empty)": len(compared["text_differs"]),
        "only in SYSTEM (not scored)": len(compared["extra"]),
        "not readable or not scorable": compared["failed"],
    }
    notes = [] if compared["matched_by"] == "id" else [f"Documents were matched by {compared['matched_by']}."]
    if settings["map"]:
        dropped = "{gold} gold and {system} system spans".format(**settings["map_dropped_spans"])
        notes.append(f"Labels were mapped to {settings['map']}; {dropped} have no place there.")
        notes += [f"{loss}." for loss in settings["map_losses"]]
    if settings["labels"]:
        notes.append(f"Scored: {', '.join(settings['labels'])}.")
    return Section("Documents", ("", "count"), _counts(rows), " ".join(notes))


def _measures(values: Values) -> Section:
    forms, note, settings = {"measure": "{title}", **_FIGURES, **_COUNTS}, "", values["settings"]
    if settings["resamples"]:
        forms[f"F1, {_INTERVAL}"] = "{f1_interval[0]:.4f} to {f1_interval[1]:.4f}"
        note = "Intervals: bootstrap over {} documents, {resamples} resamples, seed {seed}."
        note = note.format(values["documents"]["gold"], **settings)
    rows = [{"title": own["title"], **own["micro"]} for own in values["measures"].values()]
    return Section.of("All categories", rows, forms, note)


def _categories(values: Values) -> Section:
    strict, overlap = (values["measures"][name]["by_label"] for name in ("strict", "overlap_category"))
    leaks, none = values["leaks"]["by_category"], {"spans_untouched": 0, "phi_words_left": 0}
    rows = [
        {**leaks.get(name, none), **score, "category": name, "overlap": overlap[name]["recall"]}
        for name, score in sorted(strict.items(), key=lambda item: (-item[1]["gold"], item[0]))
    ]
    left = {"spans untouched": "{spans_untouched}", "words left": "{phi_words_left}"}
    return Section.of(
        "Categories",
        rows,
        {"category": "{category}", **_FIGURES, "overlap recall": "{overlap:.4f}", **_COUNTS, **left},
        "Precision, recall and F1 are strict. Overlap recall: a span of the same category overlaps. Spans untouched, "
        "words left: no span of any category touches them.",
    )


def tokens_section(values: Values) -> Section:
    """Return the table of Begin and Intermediate labels, in the form of the dissertation's tables 4.4 and 4.5."""
    measures = values["measures"]
    found = measures["token"]["by_label"].items()
    rows = [{"label": label, **score} for label, score in found if score["gold"] or score["system"]]
    note = (
        f"Tokens of the scheme {values['settings']['tokenizer']}, white space included; accuracy over all tokens but "
        f"white space {measures['with_negatives']['micro']['recall']:.4f}."
    )
    return Section.of("Tokens: Begin and Intermediate", rows, {"label": "{label}", **_FIGURES, **_COUNTS}, note)


def _i2b2(measures: Values) -> Section:
    rows = [
        {"title": f"{title}, {part}", **score} for title, parts in measures.items() for part, score in parts.items()
    ]
    return Section.of(
        "i2b2-2014, official measures",
        rows,
        {"measure": "{title}", **_FIGURES, "gold": "{gold}"},
        "hipaa counts URL and IPADDR among HIPAA's identifiers, as the law does; hipaa-official leaves them out.",
    )


def _meddocan(measures: Values) -> Section:
    titles = {"strict": "NER, strict", "span": "spans, strict", "merged": "spans, merged"}
    source = "counted by our own split" if measures["sentences_from"] == "own split" else "of the file given"
    return Section.of(
        "MEDDOCAN, official measures",
        [{"title": title, **measures[name]} for name, title in titles.items()],
        {"measure": "{title}", **_FIGURES},
        f"Leak score {measures['leak_score']:.4f}: false negatives of the strict NER measure divided by "
        f"{measures['sentences']} sentences {source}.",
    )


def _leaks(leaks: Values) -> Section:
    rows = {
        "PHI words": "{phi_words}",
        "PHI words that no span touches": "{phi_words_left}",
        "  per document": "{phi_words_left_per_document:.3f}",
        "  in the worst document": "{phi_words_left_worst_document}",
        "false alarms per 1,000 words": "{false_alarms_per_1000_words:.2f}",
        "documents with none left": "{documents_clean} of {documents}",
        "  share": "{share_of_documents_clean:.4f}",
        "PHI letters and digits left": "{phi_characters_left} of {phi_characters}",
        "spans wholly hidden": "{spans_hidden} of {spans}",
        "spans untouched": "{spans_untouched} of {spans}",
    }
    shown = [(name, form.format(**leaks)) for name, form in rows.items()]
    intervals = {
        "  per document": leaks.get("phi_words_left_per_document_interval"),
        "  share": leaks.get("share_of_documents_clean_interval"),
    }
    if not any(intervals.values()):
        return Section("Leaks", ("", "value"), shown)
    told = {name: "{:.4f} to {:.4f}".format(*ends) for name, ends in intervals.items() if ends}
    return Section("Leaks", ("", "value", _INTERVAL), [(*row, told.get(row[0], "")) for row in shown])


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
