"""Joint releases: several tables and the notes of the same patients, as one.

A patient has one pseudonym, one set of surrogates and one shift of dates in all of them, because all replacements are
made by one pipeline in the patient's scope. The quasi-identifiers of all tables are joined to one row a patient and
generalized there; every table gets the patient's published cells. What an attacker can join is therefore what was
anonymized, and a verifier that reads the written tables alone checks it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from deid.base.files import check_new_file, part_folder, write_bytes
from deid.base.keys import Key
from deid.base.late import pd
from deid.detection.known import Known
from deid.detection.recognizers import build_recognizer
from deid.disclosure.assessment import Finding
from deid.disclosure.expert_report import expert_report, sign_report
from deid.disclosure.release import Release
from deid.disclosure.risk import sample_risk
from deid.document import Document, Failure, Span
from deid.io import Options as ReadOptions
from deid.io import scan
from deid.joint.plan import JointPlan
from deid.joint.view import Cells, LoadedTable, anonymize_join, load_table, verify_join
from deid.linkage.look_alikes import check_ids, check_persons, count_look_alikes
from deid.manifest import persons_linked
from deid.pipeline.batch import Report, scrub_files, telling
from deid.pipeline.core import Pipeline, Settings
from deid.pipeline.files import Watch
from deid.pipeline.known_people import KnownPeople
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.patients import Patients
from deid.replacement.policy import DEFAULT_POLICY, Policy, Rule, load_policy
from deid.table.microdata import Microdata
from deid.table.table_writing import write_table

_LEFT_OUT = "left out"
_FATES = {
    "patient": "replaced by a pseudonym",
    "quasi-identifier": "generalized",
    "free-text": "scrubbed",
    "identifier": _LEFT_OUT,
    "dropped": _LEFT_OUT,
    "sensitive": "published",
}
"""Role of a column -> what becomes of it, where nothing else does."""
_FIELD = "(patient)"
"""Metadata field that tells the patient of a cell, where notes name theirs in another way."""


@dataclass
class JointReport:
    """What was done. Holds no text."""

    rows: dict[str, int] = field(default_factory=dict)
    """Table -> rows."""
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    """Table -> column -> what became of it."""
    persons: int = 0
    release: Release | None = field(default=None, repr=False)
    """The joined view, anonymized; None without quasi-identifiers."""
    joined: Microdata | None = field(default=None, repr=False)
    """The tables as they are written, joined."""
    findings: tuple[Finding, ...] = ()
    """What the verifiers say of the joined tables."""
    notes: Report | None = None
    failures: list[Failure] = field(default_factory=list)
    """Notes and cells that could not be scrubbed; then nothing was written."""
    residual: int = 0
    """Replaced texts that still stand elsewhere in their note or cell."""
    remarks: list[str] = field(default_factory=list)
    """What whoever releases the output must know."""

    @property
    def left_out(self) -> dict[str, list[str]]:
        """Table -> columns that are not published: identifiers without a category, and dropped ones."""
        gone = {name: [c for c, fate in own.items() if fate == _LEFT_OUT] for name, own in self.columns.items()}
        return {name: columns for name, columns in gone.items() if columns}

    def lines(self) -> list[tuple[str, str]]:
        """Return what was done and reached in a dozen lines, for a terminal."""
        rows = [("patients", str(self.persons)), *((f"rows of {n}", f"{count:,}") for n, count in self.rows.items())]
        rows += [(f"joined: {f.name}", f"{f.reached} (asked: {f.wanted})") for f in self.findings if f.wanted]
        if self.release is not None:
            rows.append(("loss: NCP, classes", f"{self.release.loss.ncp:.4f}, {self.release.loss.classes:,}"))
        return rows

    def sentences(self) -> list[str]:
        """Return what the user must see."""
        told = [*self.remarks, *(f"table {n}: left out: {', '.join(columns)}" for n, columns in self.left_out.items())]
        if self.residual:
            told.append(f"{self.residual} replaced texts still stand elsewhere in their note or cell")
        return told + (["nothing was written, because something failed"] if self.failures else [])

    def as_dict(self, plan: JointPlan) -> dict[str, Any]:
        """Return what was done as JSON values, for the manifest: roles and levels, no cell."""
        return {
            "persons": self.persons,
            "asked": {k: v for k, v in dataclasses.asdict(plan.asked).items() if v is not None},
            "joined": [finding.as_dict() for finding in self.findings],
            "release": self.release.as_dict() if self.release is not None else None,
            "tables": {
                name: {
                    "rows": rows,
                    "roles": {c: s.role for c, s in plan.tables[name].columns.items()},
                    "categories": dict(plan.tables[name].categories),
                    "left_out": self.left_out.get(name, []),
                }
                for name, rows in self.rows.items()
            },
            "residual": self.residual,
        }


def release_jointly(
    plan: JointPlan, target: Path, key: Key, *, version: str = "", jobs: int = 1, watch: Watch = iter
) -> JointReport:
    """Release tables and notes of the same patients together.

    Parameters
    ----------
    plan : JointPlan
    target : Path
        New folder: ``NAME.csv`` for each table, ``notes/`` and ``notes.csv`` (document and patient, by pseudonym),
        and the signed ``risk-report.json`` of policies that need an expert. It is there whole or not at all.
    key : Key
        Of pseudonyms, surrogates and shifts.
    version : str
        Of this program, for the risk report.
    jobs : int
        Processes that scrub.
    watch : callable
        Looks on while notes come in.

    Returns
    -------
    JointReport
        When it has failures, nothing was written.

    Raises
    ------
    ConfigError
        When a column is not spoken of, what is asked for cannot be reached, or too many patients of a table look like
        others of it and the plan does not say that they are different ones.
    InputError
        When a table cannot be read, or a patient has two values of one quasi-identifier.
    OutputError
        When the folder exists already, or a verifier rejects the joined tables; nothing was written.
    """
    check_new_file(target)
    tables = {name: load_table(name, table) for name, table in plan.tables.items()}
    report = JointReport({n: len(t.frame) for n, t in tables.items()})
    for table in tables.values():
        found = count_look_alikes(table.frame, table.plan.patient)
        linked = persons_linked(str(table.plan.path), table.plan.patient)
        check_persons(found, as_given=plan.persons_as_given or linked)
        report.remarks += [str(found)] if found is not None and found.pairs else []
    report.persons = len({p for t in tables.values() for p in t.patients})
    written = {p for t in tables.values() for p in t.patients}
    _check_ids(plan, written | set(plan.notes.patients.table.values() if plan.notes else ()))
    plain = [
        f"{column} ({name})"
        for name, table in tables.items()
        for column in table.having("other")
        if column not in table.plan.categories
    ]
    report.remarks += [f"published as they are, without protection: {', '.join(plain)}"] if plain else []
    pipeline = _pipeline(plan, tables, key, report)
    anonymized = anonymize_join(plan, tables)
    report.release, cells = anonymized or (None, {})
    frames = {name: _replaced(name, table, cells, pipeline, jobs, report) for name, table in tables.items()}
    if anonymized is not None:
        report.joined, report.findings = verify_join(plan.asked, tables, frames)
    if report.failures:
        return report
    with part_folder(target) as folder:
        part = folder / "release"
        part.mkdir(mode=0o700)
        for name, frame in frames.items():
            write_table(frame, part / f"{name}.csv")
        if plan.notes is not None:
            _write_notes(plan, part, pipeline, jobs, watch, report, written)
        if report.failures:
            return report
        digests = {f"table {name}": sha256((part / f"{name}.csv").read_bytes()).hexdigest() for name in frames}
        if pipeline.policy.requires_expert and report.joined is not None:
            content = expert_report(
                report.joined,
                report.findings,
                sample_risk(report.joined),
                digests=digests,
                policy=pipeline.policy.summary(),
                version=version,
            )
            signed = json.dumps(sign_report(content, key), indent=1, ensure_ascii=False)
            write_bytes(part / "risk-report.json", f"{signed}\n".encode())
        part.rename(target)
    return report


def _pipeline(plan: JointPlan, tables: Mapping[str, LoadedTable], key: Key, report: JointReport) -> Pipeline:
    """Make the one pipeline that scrubs notes, free text and cells; it knows the identifiers of the tables."""
    known: dict[str, dict[Known, None]] = {}
    told: set[str] = set()
    bare: list[str] = []
    for table in tables.values():
        for patient in table.patients:
            known.setdefault(patient, {})
        for column in table.having("identifier"):
            if category := table.plan.categories.get(column):
                for patient, text in zip(table.patients, table.texts(column), strict=True):
                    if text:
                        known[patient][Known(category, text)] = None
        for column in table.having("quasi-identifier"):
            category = table.plan.categories.get(column)
            if category:
                told.add(category)
            else:
                bare.append(column)
    people = KnownPeople({patient: tuple(items) for patient, items in known.items()})
    patients = plan.notes.patients if plan.notes is not None else Patients()
    patients = dataclasses.replace(patients, field_name=patients.field_name or _FIELD)
    said = plan.options
    recognizer = build_recognizer(said, people.recognizer(patients, {}, said.language))
    policy = _withholding(load_policy(said.policy or DEFAULT_POLICY, said.accept), told)
    settings = Settings(
        patients=patients,
        date_field=said.date_field,
        as_of=said.as_of,
        language=said.language,
        known=people,
    )
    pipeline = Pipeline(recognizer, policy, key, settings)
    report.remarks += pipeline.notes
    texts = plan.notes is not None or any(t.having("free-text") for t in tables.values())
    if bare and texts:
        report.remarks.append(
            f"notes and free text may still tell {', '.join(dict.fromkeys(bare))}: give a quasi-identifier its "
            "category, such as AGE, and texts will not"
        )
    return pipeline


def _withholding(policy: Policy, categories: set[str]) -> Policy:
    """Return the policy with these categories redacted: their values are published by the tables, generalized."""
    gone = dict.fromkeys(sorted(categories), Rule("redact"))
    overrides = tuple(
        (condition, {c: rule for c, rule in rules.items() if c not in gone}) for condition, rules in policy.overrides
    )
    return dataclasses.replace(policy, base={**policy.base, **gone}, overrides=overrides)


def _replaced(
    name: str,
    table: LoadedTable,
    cells: Cells,
    pipeline: Pipeline,
    jobs: int,
    report: JointReport,
) -> pd.DataFrame:
    """Return a table as it is published, sorted by pseudonym, then by its cells: the order of rows tells nothing."""
    key = pipeline.key
    pseudonyms = {p: key.pseudonym("patient", p) for p in dict.fromkeys(table.patients)}
    out: dict[str, Any] = {}
    fates = report.columns.setdefault(name, {})
    for column in table.frame.columns:
        category = table.plan.categories.get(column)
        role = "patient" if column == table.plan.patient else table.plan.columns[column].role
        fates[column] = _FATES.get(str(role), "unaltered")
        if role == "patient":
            out[column] = [pseudonyms[p] for p in table.patients]
        elif role == "quasi-identifier":
            out[column] = [cells[p][column] for p in table.patients]
        elif role == "free-text":
            out[column] = _scrubbed(name, table, column, pipeline, jobs, report)
        elif category is not None and role != "dropped":
            fates[column] = f"surrogates ({category})"
            out[column] = _surrogates(name, table, column, category, pipeline)
        elif role not in ("identifier", "dropped"):
            out[column] = table.frame[column].to_numpy()
    frame = pd.DataFrame(out)
    keys = [table.plan.patient, *(name for name in frame.columns if name != table.plan.patient)]
    return frame.sort_values(keys, kind="stable", ignore_index=True, key=lambda column: column.astype(str))


def _document(pipeline: Pipeline, table: str, column: str, row: int, patient: str, text: str) -> Document:
    assert pipeline.settings.patients.field_name is not None
    return Document(f"{table}/{column}/{row}", text, metadata={pipeline.settings.patients.field_name: patient})


def _scrubbed(
    name: str, table: LoadedTable, column: str, pipeline: Pipeline, jobs: int, report: JointReport
) -> list[str | None]:
    texts = table.texts(column)
    rows = [row for row, text in enumerate(texts) if text]
    documents = (_document(pipeline, name, column, row + 1, table.patients[row], texts[row] or "") for row in rows)
    found: list[str | None] = [None] * len(texts)
    for row, result in zip(rows, pipeline.pipe(documents, jobs), strict=True):
        if isinstance(result, Failure):
            report.failures.append(
                dataclasses.replace(result, name=f"table {name!r}, column {column!r}, row {row + 1}")
            )
        else:
            found[row] = result.document.text
            report.residual += result.residual
    return found


def _surrogates(name: str, table: LoadedTable, column: str, category: str, pipeline: Pipeline) -> list[str | None]:
    """Replace whole cells, as the policy replaces their category in the patient's notes."""
    made: dict[tuple[str, str], str] = {}
    found: list[str | None] = []
    for row, (patient, text) in enumerate(zip(table.patients, table.texts(column), strict=True)):
        if text is None:
            found.append(None)
            continue
        if (patient, text) not in made:
            document = _document(pipeline, name, column, row + 1, patient, text)
            made[patient, text] = pipeline.replace(document, (Span(0, len(text), category),)).document.text
        found.append(made[patient, text])
    return found


def _check_ids(plan: JointPlan, written: Collection[str]) -> None:
    if not plan.persons_as_given:
        check_ids(written, "say persons_as_given = true")


def _write_notes(
    plan: JointPlan,
    part: Path,
    pipeline: Pipeline,
    jobs: int,
    watch: Watch,
    report: JointReport,
    written: Collection[str],
) -> None:
    """Write the notes; ``written`` are the ids of patients as the tables write them."""
    assert plan.notes is not None
    source = scan(plan.notes.path, plan.notes.format, ReadOptions())
    report.remarks += source.remarks()
    place = part / "notes"
    # the field of cells is none of the notes
    settings = dataclasses.replace(pipeline.settings, patients=plan.notes.patients)
    scrubber = Pipeline(pipeline.recognizer, pipeline.policy, pipeline.key, settings)
    whose = [(document.id, patient) for document, patient in _of(source.documents(), pipeline.settings.patients)]
    _check_ids(plan, {*written, *(patient for _, patient in whose if patient)})
    report.notes = scrub_files(source, place, scrubber, jobs=jobs, watch=watch)
    report.failures += report.notes.failures
    report.residual += report.notes.residual
    if fields := report.notes.telling:
        report.remarks.append(f"{fields.total()} {telling(fields)}")
    pairs = [
        (pseudonym_of_id(pipeline.key, document), pipeline.key.pseudonym("patient", patient) if patient else None)
        for document, patient in whose
    ]
    pairs.sort()
    write_table(pd.DataFrame(pairs, columns=["document", "patient"]), part / "notes.csv")


def _of(documents: Iterable[Document | Failure], patients: Patients) -> Iterator[tuple[Document, str | None]]:
    for document in documents:
        if isinstance(document, Document):
            yield document, patients.of(document)
