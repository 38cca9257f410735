"""Options that several commands share: how IN is read, which model, which key, what the summary says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary

if TYPE_CHECKING:
    import datetime

    from deid.base.keys import Key
    from deid.detection.known import KnownRecognizer
    from deid.detection.site_lists import SiteLists
    from deid.io import Format, Options, Source
    from deid.pipeline import Report
    from deid.pipeline.known_people import KnownPeople
    from deid.pipeline.patients import Patients
    from deid.pipeline.resuming import RunNote

__all__ = [
    "Accept",
    "Allow",
    "AnyLabel",
    "AsOf",
    "Bias",
    "DateField",
    "Deny",
    "Encoding",
    "Failed",
    "FilesFrom",
    "IdField",
    "In",
    "InFormat",
    "Jobs",
    "Keep",
    "KeyFile",
    "KnownColumn",
    "KnownField",
    "KnownTable",
    "Language",
    "Model",
    "PatientField",
    "PatientPattern",
    "PatientTable",
    "People",
    "PolicyName",
    "Resume",
    "Rules",
    "SpansField",
    "TextField",
    "check_target",
    "document_total",
    "existing_key",
    "fill_summary",
    "job_count",
    "keeps_ids",
    "listed_source",
    "read_day",
    "read_options",
    "read_people",
    "run_note",
    "site_lists",
    "tell_leftovers",
    "write_failed",
]

In = Annotated[Path, typer.Argument(metavar="IN", help="File or folder of any readable format.")]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Encoding of text files, such as cp1252; utf-8,cp1252: each file in the first that it fits.",
    ),
]
MaxDocument = Annotated[str, typer.Option(metavar="SIZE", help="Leave out larger documents: bytes, or with K, M, G.")]
Timeout = Annotated[
    float, typer.Option(metavar="S", help="Leave out documents that take longer than S seconds; 0 for any time.")
]
OutputEncoding = Annotated[
    str, typer.Option(metavar="NAME", help="Encoding of OUT; by default (the first of) --encoding.")
]
AnyLabel = Annotated[bool, typer.Option("--any-label", help="Accept labels outside the format's label sets.")]
TextField = Annotated[str | None, typer.Option("--text-field", metavar="NAME", help="Column or field of the text.")]
IdField = Annotated[str | None, typer.Option("--id-field", metavar="NAME", help="Column or field of the id.")]
SpansField = Annotated[
    str | None, typer.Option("--spans-field", metavar="NAME", help="Column or field of the annotations.")
]
InFormat = Annotated[str | None, typer.Option("--format", metavar="F", help="Format of IN; told by its content.")]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME|DIR", help="Shipped model or model folder; none for rules alone."),
]
Doubt = Annotated[
    float,
    typer.Option(
        metavar="P", help="Flag a word too where the model's probability that it is no PHI is at most P: fewer leaks."
    ),
]
Transformer = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Token-classification model (ONNX) that works beside model and rules."),
]
Rules = Annotated[
    bool | None, typer.Option("--rules/--no-rules", help="Rules beside the model; by default as the model says.")
]
Bias = Annotated[
    str | None,
    typer.Option(
        "--dial",
        metavar="VALUE|FILE",
        help="Recall dial of the model: 0 as trained, 0.5 to 2 finds more; or a file of deid calibrate.",
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME|FILE", help="Shipped policy or TOML file (deid policy show)."),
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Keep filename, id, or a field as it is (repeatable).")
]
Accept = Annotated[
    list[str] | None,
    typer.Option(metavar="CATEGORY", help="Accept that this stays readable or undetected (repeatable)."),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Reference day of documents without a date of their own."),
]
DateField = Annotated[
    str | None,
    typer.Option("--date-field", metavar="NAME", help="Column or field with the document's date (YYYY-MM-DD)."),
]
Language = Annotated[str | None, typer.Option(help="Language of rules and surrogates; by default the model's.")]
Deny = Annotated[
    list[Path] | None,
    typer.Option("--deny", metavar="FILE", help="Terms that are always PHI: staff, clinics, streets (repeatable)."),
]
Allow = Annotated[
    list[Path] | None,
    typer.Option("--allow", metavar="FILE", help="Terms that never are PHI: local abbreviations (repeatable)."),
]
PatientTable = Annotated[
    Path | None,
    typer.Option("--patients", metavar="F", help="CSV file with the columns document and patient."),
]
PatientField = Annotated[
    str | None, typer.Option("--patient-field", metavar="NAME", help="Column or field with the patient's id.")
]
PatientPattern = Annotated[
    str | None,
    typer.Option("--patient-pattern", metavar="REGEX", help="Finds the patient's id in the file's name (first group)."),
]
KnownTable = Annotated[
    Path | None,
    typer.Option("--known", metavar="FILE", help="Table of patients and their identifiers: CSV, Parquet, JSON lines."),
]
KnownColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--known-column",
        metavar="NAME=MEANING",
        help="What a column of --known holds: a category, id, given, middle, family or none (repeatable).",
    ),
]
KnownField = Annotated[
    list[str] | None,
    typer.Option(
        "--known-field",
        metavar="NAME[=CATEGORY]",
        help="Column or field of IN with an identifier that is looked for in the text of its record (repeatable).",
    ),
]
Failed = Annotated[
    Path | None,
    typer.Option(
        "--failed",
        metavar="F",
        help="List the real paths of failed documents in F (they may hold PHI); by default beside OUT.",
    ),
]
FilesFrom = Annotated[
    Path | None,
    typer.Option("--files-from", metavar="F", help="Only the documents that F lists, such as those that failed."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with an interrupted run into OUT, or make what failed in it.")
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Processes; 0 for one a core.")]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="F", help="Key in hex; else the variable DEID_KEY, else ~/.config/deid/key."),
]


def read_options(
    encoding: str,
    any_label: bool,
    text_field: str | None,
    id_field: str | None,
    spans_field: str | None,
    output_encoding: str = "",
    max_document: str = "64M",
    timeout: float = 600.0,
) -> Options:
    """Return the options for `deid.io.scan`.

    Raises
    ------
    ConfigError
        When a limit is none.
    """
    from deid.base.errors import ConfigError
    from deid.io import Options

    if not timeout >= 0:
        raise ConfigError("--timeout must not be below 0", "it is in seconds; 0 for any time")
    return Options(
        encoding=encoding,
        any_label=any_label,
        text_field=text_field,
        id_field=id_field,
        spans_field=spans_field,
        output_encoding=output_encoding,
        max_document=size_of(max_document, "--max-document"),
        timeout=timeout,
    )


def size_of(text: str, option: str) -> int:
    """Read a size: bytes, or a number with K, M or G.

    Raises
    ------
    ConfigError
        When it is none.
    """
    from deid.base.errors import ConfigError

    number, factor = (text[:-1], {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower()))
    if factor is None:
        number, factor = text, 1
    if not number.isascii() or not number.isdigit() or not int(number):
        raise ConfigError(f"{option} is no size", "write bytes, or a number with K, M or G, such as 4M")
    return int(number) * factor


def keeps_ids(kept: frozenset[str], source: Source) -> bool:
    """Tell whether ``--keep`` keeps the ids of documents; where each is a file, its name is its id."""
    from deid.io import CollectionFormat

    return "id" in kept or (not isinstance(source.format, CollectionFormat) and "filename" in kept)


def document_total(source: Source) -> int | None:
    """Return the number of documents for a progress bar, None when only reading tells."""
    from deid.io import CollectionFormat

    return None if isinstance(source.format, CollectionFormat) else len(source.names)


def existing_key(path: Path | None) -> Key | None:
    """Load the key if there is one; commands that only look never make one."""
    import os

    from deid.base.keys import KEY_VARIABLE, default_key_path, load_key

    if path is None and not os.environ.get(KEY_VARIABLE) and not default_key_path().exists():
        return None
    return load_key(path, create=False)[0]


def read_day(text: str | None) -> datetime.date | None:
    """Return the day of --as-of."""
    import datetime

    from deid.base.errors import ConfigError

    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        raise ConfigError("--as-of is no date", "write it as YYYY-MM-DD") from None


def job_count(jobs: int) -> int:
    """Return the number of processes for what the user said."""
    import os

    if jobs < 0:
        from deid.base.errors import ConfigError

        raise ConfigError("the number of jobs must be at least 1", "such as --jobs 2; 0 for one a core")
    return jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(frozen=True)
class People:
    """What the user said about whom the documents are about."""

    patients: Patients
    known: KnownPeople | None
    fields: dict[str, str]
    """Metadata field -> category."""

    def recognizer(self, language: str | None) -> KnownRecognizer | None:
        """Return what finds known identifiers, if there are any."""
        from deid.pipeline.known_people import KnownPeople

        if self.known is None and not self.fields:
            return None
        return (self.known or KnownPeople()).recognizer(self.patients, self.fields, language)

    def note(self, unlisted: int) -> list[str]:
        """Say how many documents are of patients that the table does not have."""
        if not unlisted:
            return []
        return [f"{unlisted} documents of patients that the table of known patients does not have, or of none"]


def read_people(
    table: Path | None,
    field: str | None,
    pattern: str | None,
    known: Path | None = None,
    columns: list[str] | None = None,
    fields: list[str] | None = None,
) -> People:
    """Read the table of patients and that of their identifiers.

    Raises
    ------
    ConfigError
        When one of them cannot be used, or known patients are given and nothing says whom a document is about.
    """
    import re

    from deid.base.errors import ConfigError
    from deid.phi import LABEL_SETS
    from deid.pipeline.known_people import column_meaning, read_known_people
    from deid.pipeline.patients import Patients, read_patients

    try:
        compiled = re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise ConfigError(
            f"--patient-pattern is no regular expression ({error.msg})", "see docs/scrubbing.md"
        ) from None
    patients = Patients(read_patients(table) if table else {}, field, compiled)
    if known is None and columns:
        raise ConfigError("--known-column without --known", "name the table of known patients")
    if known is not None and not patients.named:
        raise ConfigError(
            "--known needs to know whom a document is about", "add --patients, --patient-field or --patient-pattern"
        )
    meanings = {}
    for text in columns or ():
        name, equals, meaning = text.rpartition("=")
        if not equals:
            raise ConfigError(
                f"--known-column {text} is not of the form NAME=MEANING", "for example: mrn_no=MEDICALRECORD"
            )
        meanings[name] = meaning
    searched = {}
    for text in fields or ():
        name, equals, meaning = text.rpartition("=") if "=" in text else (text, "", column_meaning(text) or "")
        meaning = "PATIENT" if meaning in ("given", "middle", "family") else meaning
        if meaning not in LABEL_SETS["i2b2-2014"]:
            raise ConfigError(
                f"--known-field {text}: what the field holds is not known", "write NAME=CATEGORY, as in doc=DOCTOR"
            )
        searched[name] = meaning
    return People(patients, read_known_people(known, meanings) if known else None, searched)


def site_lists(deny: list[Path] | None, allow: list[Path] | None) -> SiteLists:
    """Read a site's lists; none when no file is named."""
    from deid.detection.site_lists import load_site_lists

    return load_site_lists(deny or (), allow or ())


def fill_summary(summary: Summary, report: Report, site: SiteLists | None = None) -> None:
    """Take over what a report counts, and say what a site's lists did."""
    summary.documents = report.documents
    summary.failures = report.failures
    summary.categories = report.categories
    if report.there:
        summary.notes.append(f"{report.there} documents were there from the interrupted run")
    tell_leftovers(summary, report.leftovers)
    if report.unmatched:
        summary.notes.append(f"{report.unmatched} documents of the table of patients are not in IN")
    if not site:
        return
    effect = report.effect
    if site.deny:
        summary.notes.append(
            f"deny list of {len(site.deny)} terms: {effect.denied} spans added, {effect.recategorized} recategorized"
        )
    if site.allow:
        summary.notes.append(
            f"allow list of {len(site.allow)} terms: {effect.allowed} spans taken out, {effect.refused} kept "
            "(structured or known identifiers, denied terms)"
        )
    if site.both:
        summary.notes.append(f"{site.both} terms stand in both lists; they count as denied")


def listed_source(source: Source, files_from: Path | None) -> Source:
    """Return what --files-from names of a source."""
    if files_from is None:
        return source
    from deid.pipeline.resuming import select_files

    return select_files(source, files_from)


def check_target(summary: Summary, source: Source, place: Path, target: Path, format: Format, *, resume: bool) -> None:
    """Refuse an OUT that cannot be used, and remove what killed runs left hidden beside it.

    Parameters
    ----------
    summary : Summary
        Told what was removed.
    source, place : Source, Path
        What is read: as it was found, and as the user named it.
    target : Path
    format : Format
        Of what is written.
    resume : bool
        Whether OUT is a folder with an interrupted run.
    """
    from deid.base.errors import OutputError
    from deid.base.files import clear_leftovers
    from deid.io import check_output, check_suffix
    from deid.pipeline.resuming import interrupted

    if interrupted(target):
        if not resume:
            raise OutputError(
                "the output folder holds a run that was interrupted, or of which documents failed",
                "go on with --resume and the same options, or name a new folder",
            )
    else:
        check_output(place, target)
        check_suffix(source.single, source.format, target, format)
    tell_leftovers(summary, clear_leftovers(target.absolute().parent))


def tell_leftovers(summary: Summary, removed: int) -> None:
    """Say how many hidden part files of killed runs were removed."""
    if removed:
        summary.notes.append(f"{removed} hidden part files that a killed run had left were removed")


def run_note(context: typer.Context, source: Source, target: Path, key: Key | None, *, resume: bool) -> RunNote | None:
    """Return the note of a run into a folder; None where one file is written, which appears whole or not at all.

    Parameters
    ----------
    context : typer.Context
        Of the command, with the values of its options.
    source, target
        What is read, and where results go.
    key : Key, optional
        Makes digests of the files that options name; with the version of its map of numbers that the run goes by.
    resume : bool
    """
    from deid import __version__
    from deid.base.errors import ConfigError
    from deid.base.keys import Key
    from deid.pipeline.resuming import RunNote, fingerprint

    if source.single:
        if resume:
            raise ConfigError("--resume is for folders", "the result of one file is there whole, or run anew")
        return None
    if resume and context.params.get("edits") is not None:
        raise ConfigError(
            "the edit log of the interrupted run is lost, and --resume cannot make it",
            "leave out --edits, or name a new folder",
        )
    besides = {"jobs", "failed", "summary_json", "resume", "files_from", "edits", "target", "preview_count", "key_file"}
    besides |= {"vault", "vault_key_file"}  # a vault is told by its place: the run itself fills it
    options = {name: value for name, value in context.params.items() if name not in besides}
    for name in ("model", "transformer"):
        if (folder := Path(options.get(name) or "")).is_dir() and options.get(name):
            options[name] = [path for path in folder.rglob("*") if path.is_file()]
    maker = key or Key(b"\0" * 32)  # tagging has no key; its notes lie beside the notes of OUT
    digest = fingerprint(options, lambda data: maker.mac(data.hex()).hex()) + f"\nvault {context.params.get('vault')}"
    return RunNote(target, f"{__version__}\n{maker.mac('run').hex()} map {maker.map}\n{digest}", resume)


def write_failed(summary: Summary, path: Path | None, target: Path | None = None) -> None:
    """List the documents that failed, for another run; only the user may read the list.

    Parameters
    ----------
    summary : Summary
    path : Path, optional
        Where the user wants the list.
    target : Path, optional
        OUT, beside which it stands otherwise.
    """
    from deid.base.files import write_bytes

    place = path or (target.with_name(f"{target.name}.failed") if target is not None else None)
    if place is None:
        return
    if not summary.failures and path is None:
        place.unlink(missing_ok=True)  # of an earlier run into OUT, which is complete now
        return
    lines = "".join(f"{failure.path}\n" for failure in summary.failures)
    write_bytes(place, lines.encode("utf-8", "surrogateescape"), replace=True)
    if summary.failures:
        named = f"{place}" if path else "OUT.failed (beside OUT; real names, mode 0600)"
        summary.places.append(f"what failed is listed in {named}: run it again with --files-from, or --resume into OUT")
