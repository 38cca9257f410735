"""Review and quality: agreement and adjudication of annotators, and what corrections of a scrubbing become."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.annotation.editing import REPLACEMENT
from deid.annotation.project import Project
from deid.base.errors import MALFORMED, FormatError, InputError, require, told_as
from deid.base.files import atomic_files, read_rows, read_text
from deid.document import Document, Failure, Span, Tally
from deid.evaluation.agreement import disputes
from deid.phi import find_label, group
from deid.pipeline.edit_log import LoggedEdits

_LISTED_GROUPS = ("NAME", "LOCATION")
"""What a site's list of terms is for: days and numbers are other ones in each note."""
_ALLOWED_DIGITS = 4  # as in deid.detection.site_lists
_UNLISTED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def annotated(project: Project, annotators: Sequence[str] = ()) -> dict[str, list[Document]]:
    """Return what each annotator is done with; all annotators by default.

    Raises
    ------
    ConfigError
        When fewer than two are named, or have done anything.
    """
    found = {name: list(project.documents(name)) for name in annotators or project.annotators()}
    found = {name: documents for name, documents in found.items() if documents}
    require(len(found) > 1, "fewer than two annotators are done with notes", "import another annotator's layer")
    return found


@dataclass(frozen=True, slots=True)
class Adjudication:
    """What lies before an adjudicator."""

    notes: int
    agreed: int
    """Spans that all have, and that are accepted in the adjudicator's layer."""
    disputed: int
    """Stretches where they differ; what each has is suggested there."""


def adjudicate(project: Project, adjudicator: str, annotators: Sequence[str]) -> Adjudication:
    """Prepare an adjudicator's layer: what all agree on is accepted, what they differ on is suggested.

    Where the adjudicator has decided, nothing changes. A suggestion names the annotator whose it is.

    Raises
    ------
    ConfigError
        When fewer than two annotators are done with notes, or the adjudicator is one of them.
    """
    require(adjudicator not in annotators, "the adjudicator is one of the annotators", "name a layer of its own")
    layers = annotated(project, annotators)
    texts = {document.id: document for documents in layers.values() for document in documents}
    held: dict[str, list[str]] = {id: [n for n, ds in layers.items() if any(d.id == id for d in ds)] for id in texts}
    shared = {id: document for id, document in texts.items() if len(held[id]) > 1}
    open_ones: dict[str, list[Span]] = {}
    for dispute in disputes(layers):
        for name, spans in dispute.spans.items():
            known = {(s.start, s.end, s.category) for s in open_ones.setdefault(dispute.document, [])}
            open_ones[dispute.document] += [
                Span(s.start, s.end, s.category, source=name)
                for s in spans
                if (s.start, s.end, s.category) not in known
            ]
    disputed = {id: {(s.start, s.end, s.category) for s in spans} for id, spans in open_ones.items()}
    agreed = [
        document.with_spans(s for s in document.spans if (s.start, s.end, s.category) not in disputed.get(id, ()))
        for id, document in shared.items()
    ]
    project.add(agreed, adjudicator, done=False)
    project.add((shared[id].with_spans(spans) for id, spans in open_ones.items()), adjudicator, accepted=False)
    project.set_adjudicated(adjudicator, layers)
    return Adjudication(len(shared), sum(len(d.spans) for d in agreed), len(disputes(layers)))


def scrubbed_documents(
    documents: Iterable[Document | Failure],
    log: Iterable[LoggedEdits],
    names: Callable[[str], Iterable[str]],
    scrubbed: Iterable[Document | Failure] | None = None,
) -> Iterator[Document | Failure]:
    """Yield originals with what a scrubbing replaced in them as their spans.

    Parameters
    ----------
    documents : iterable of Document or Failure
        The originals.
    log : iterable of LoggedEdits
        The edit log of the run.
    names : callable
        Gives the ids that an original's document may have in the log.
    scrubbed : iterable of Document or Failure, optional
        What the run wrote, to say in each span what stands there now (its attribute ``replacement``).
    """
    written = {one.id: one.text for one in scrubbed or () if isinstance(one, Document)}
    edits = {one.document: one for one in log}
    for item in documents:
        if isinstance(item, Failure):
            yield item
            continue
        own = next((edits[name] for name in names(item.id) if name in edits), None)
        if own is None or own.length != len(item.text):
            what = "the edit log has no such document" if own is None else "the edit log is about another text"
            error = InputError(what, "name the originals and the log of one run, and its key", item.name)
            yield Failure(item.name, error, item.index, item.id)
            continue
        text = written.get(own.document)
        if written and (text is None or len(text) != own.new_length):
            what = (
                "there is no scrubbed note of it" if text is None else "the scrubbed note is not that of the edit log"
            )
            yield Failure(item.name, InputError(what, "name what the run wrote", item.name), item.index, item.id)
            continue
        yield item.with_spans(
            Span(
                e.start,
                e.end,
                e.category,
                source="scrub",
                attributes=() if text is None else ((REPLACEMENT, text[e.new_start : e.new_end]),),
            )
            for e in own.edits
        )


@dataclass(frozen=True, slots=True)
class SiteTerms:
    """What an annotator's corrections say to a site's lists of terms (`deid.detection.site_lists`)."""

    deny: tuple[tuple[str, str], ...] = field(repr=False)
    """Term and category of what was missed, and marked by hand."""
    allow: tuple[str, ...] = field(repr=False)
    """What was suggested and rejected wherever it stands."""
    left_out: int
    """Corrections that no list can say: numbers and days, and text that is PHI in one place and not in another."""
    notes: int
    """Notes that they rest on."""


def site_terms(project: Project, annotator: str) -> SiteTerms:
    """Return the terms that an annotator's corrections of suggestions give for a site's lists.

    Names and places that were marked by hand are denied, suggestions that were rejected are allowed. Only notes that
    are done count.
    """
    missed: dict[str, str] = {}
    right: set[str] = set()
    wrong: dict[str, None] = {}
    notes = left_out = 0
    for entry in project.entries(annotator):
        if entry.state != "done":
            continue
        notes += 1
        text = project.text(entry.id)
        for mark in project.marks(entry.id, annotator)[1]:
            term = " ".join(text[mark.start : mark.end].split())
            if mark.state == "rejected":
                wrong[term] = None
            elif mark.state == "accepted":
                right.add(term)
                if not mark.source:
                    missed.setdefault(term, mark.category)
    deny, allow = [], []
    for term, category in missed.items():
        if _listable(term) and group(category) in _LISTED_GROUPS and term not in wrong:
            known = find_label(category)
            deny.append((term, known.canonical if known else ""))
        else:
            left_out += 1
    for term in wrong:
        digits = sum(c.isdigit() for c in term)
        if _listable(term) and term not in right and digits <= _ALLOWED_DIGITS and "@" not in term:
            allow.append(term)
        else:
            left_out += 1
    return SiteTerms(tuple(sorted(deny)), tuple(sorted(allow)), left_out, notes)


def _listable(term: str) -> bool:
    letters = sum(c.isalnum() for c in term)
    return letters > 1 and not _UNLISTED.search(term) and term[0] not in '#"['


def write_site_lists(terms: SiteTerms, deny: Path, allow: Path) -> list[Path]:
    """Write the lists that the options ``--deny`` and ``--allow`` take; return those that hold a term (mode 0600).

    Raises
    ------
    OutputError
        When a file exists, or cannot be written.
    """
    lines = {
        deny: [f'"{term}"\t{category}' if category else f'"{term}"' for term, category in terms.deny],
        allow: list(terms.allow),
    }
    written = [path for path, held in lines.items() if held]
    with atomic_files(written) as streams:
        for path, stream in zip(written, streams, strict=True):
            stream.write("".join(f"{line}\n" for line in lines[path]).encode())
    return written


def add_pairs(project: Project, review: Path, table: Path | None = None) -> int:
    """Add the pairs of rows that ``deid link --review`` wrote as items to be decided; return how many were new.

    Parameters
    ----------
    project : Project
    review : Path
    table : Path, optional
        The table that was linked, whose rows are shown then.

    Raises
    ------
    FormatError
        When the file is no such list, or names rows that the table has not.
    """
    columns = ("row_a", "row_b", "person_a", "person_b", "probability", "weight", "why_apart", "check")
    rows: Sequence[Mapping[str, Any]] = ()
    if table is not None:
        from deid.table.table_files import read_table

        rows = [
            {str(name): str(value) for name, value in row.items()}
            for row in read_table(table, text=True).fillna("").to_dict("records")
        ]
    found = []
    for line, pair in read_rows(review, columns, "name what deid link --review wrote", FormatError):
        content: dict[str, Any] = {name: pair[name] for name in columns}
        if table is not None:
            try:
                content["a"], content["b"] = (rows[int(pair[name]) - 1] for name in ("row_a", "row_b"))
            except (ValueError, IndexError):
                raise FormatError(
                    "a row that the table has not", "name the table that was linked", str(review), f"line {line}"
                ) from None
        found.append((f"{pair['row_a']}-{pair['row_b']}", content))
    return project.items.add("link", found)


def add_findings(project: Project, report: Path) -> int:
    """Add what ``deid verify --json`` found as items to be decided; return how many were new.

    Raises
    ------
    FormatError
        When the file is no such report.
    """
    text, wrong = read_text(report, str(report), FormatError), "no report of a check"
    with told_as(FormatError(wrong, "name what deid verify --json wrote", str(report)), *MALFORMED):
        told = json.loads(text)
        found = [(f"{one['document']}: {one['message']}", one) for one in told["failures"]]
        if told["command"] != "verify":
            raise ValueError
    return project.items.add("verify", found)


def write_decisions(project: Project, kind: str, annotator: str, path: Path) -> Tally:
    """Write what an annotator decided on the items of a kind as CSV: the content's plain columns, decision, comment.

    Raises
    ------
    OutputError
        When the file exists, or cannot be written.
    """
    tally = Tally()
    lines: list[dict[str, str]] = []
    for item in project.items.all(kind):
        own = [decision for decision in item.decisions if decision.annotator == annotator]
        if own:
            plain = {name: str(value) for name, value in item.content.items() if not isinstance(value, dict | list)}
            last = own[-1]
            lines.append({**plain, "decision": last.decision, "comment": last.comment, "when": last.when})
            tally.documents += 1
            tally.categories[last.decision] += 1
    columns = dict.fromkeys(name for line in lines for name in line)
    _write_csv(path, list(columns) or ["decision"], lines)
    return tally


def write_history(project: Project, path: Path) -> int:
    """Write who did what to which note and when as CSV, a mark a line; return how many notes have a history.

    Raises
    ------
    OutputError
        When the file exists, or cannot be written.
    """
    lines: list[dict[str, Any]] = []
    notes = 0
    for id, name in project.names():
        events = project.history(id)
        notes += bool(events)
        for event in events:
            line = {"note": name, "when": event.when, "annotator": event.annotator, "what": event.what}
            lines += [
                {**line, "mark": m.id, "start": m.start, "end": m.end, "category": m.category, "state": m.state}
                for m in event.marks
            ] or [line]
    _write_csv(path, ["note", "when", "annotator", "what", "mark", "start", "end", "category", "state"], lines)
    return notes


def _write_csv(path: Path, columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(lines)
    with atomic_files([path]) as (stream,):
        stream.write(text.getvalue().encode("utf-8", "surrogatepass"))
