"""Scrubs and tags files and folders, and reports what was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, OutputError, require
from deid.base.files import atomic_files, write_bytes
from deid.base.keys import MAP_VERSION
from deid.detection import Recognizer
from deid.detection.recognizers import LazyRecognizer, find_with_effect
from deid.detection.site_lists import NO_EFFECT, Effect
from deid.document import Document, Span, Tally
from deid.io import Format, Options, Source
from deid.pipeline.collisions import Collisions
from deid.pipeline.core import Pipeline, Scrubbed
from deid.pipeline.edit_log import log_line
from deid.pipeline.files import Origin, Output, R, Watch, require_annotations, require_names, results
from deid.pipeline.known_people import NOBODY, People
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.patients import SEVERAL, Listed, Patients, Writings, writing_of
from deid.pipeline.resuming import RunNote, make_skip
from deid.reading.languages import foreign, other_language
from deid.replacement.policy import load_policy

if TYPE_CHECKING:
    from deid.detection.site_lists import SiteLists
    from deid.pipeline.table_output import TableOutput
    from deid.replacement.vault import Vault

WITHOUT_PATIENT = (
    "documents without a patient: their replacements are consistent within each document only "
    "(--patients, --patient-field, --patient-pattern)"
)
"""What is told, behind their number, where replacements are to be consistent within a person."""


@dataclass
class Report(Tally):
    """What was done. Holds no text."""

    map_version: int = MAP_VERSION
    """Version of the map of numbers that surrogates went by (`deid.base.keys.Key.map`)."""
    residual: int = 0
    """Replaced texts that still stand elsewhere in their documents (`Scrubbed.residual`)."""
    residual_documents: int = 0
    without_patient: int = 0
    """Documents whose patient was not known."""
    written_twice: int = 0
    """Patients whose ids are written in several ways."""
    unlisted: int = 0
    """Documents whose patient is not in the table of known patients."""
    collisions: int = 0
    """See `deid.pipeline.collisions.Collisions.words`."""
    shared_names: int = 0
    """See `deid.pipeline.collisions.Collisions.names`."""
    unlabelled: int = 0
    """Annotations that were not written because the format has no label for them; their text was replaced all the
    same."""
    effect: Effect = NO_EFFECT
    """What the site's lists changed in the spans."""
    there: int = 0
    """Documents whose results an interrupted run had written."""
    leftovers: int = 0
    """Hidden part files of an interrupted run that were removed."""
    unmatched: int = 0
    """Documents of the table of patients that the source does not have."""
    other_languages: Counter[str] = field(default_factory=Counter)
    """Language -> documents that are surely written in it, and were read in another one."""
    unexamined: int = 0
    """Positions of records that nobody examined, so that nothing of them was passed on (`deid.records`)."""
    telling: Counter[int] = field(default_factory=Counter)
    """Number of a field beside text and id -> documents in which its name may be of somebody (`Scrubbed.telling`)."""

    def remarks(self, site: SiteLists | None = None, *, per_person: bool = False) -> list[str]:
        """Return what whoever ran it must know.

        Parameters
        ----------
        site : SiteLists, optional
            The site's lists, to say what they did.
        per_person : bool
            Whether replacements are to be consistent within a person.
        """
        told = [
            (self.there, "documents were there from the interrupted run"),
            (self.leftovers, "hidden part files that a killed run had left were removed"),
            (self.unmatched, "documents of the table of patients are not in IN"),
        ]
        if site and site.deny:
            what = f"{self.effect.denied} spans added, {self.effect.recategorized} recategorized"
            told.append((1, f"deny list of {len(site.deny)} terms: {what}"))
        if site and site.allow:
            kept = f"{self.effect.refused} kept (structured or known identifiers, denied terms)"
            told.append((1, f"allow list of {len(site.allow)} terms: {self.effect.allowed} spans taken out, {kept}"))
        if site:
            told.append((site.both, "terms stand in both lists; they count as denied"))
        told += [
            (self.other_languages.total(), foreign(self.other_languages)),
            (self.without_patient if per_person else 0, WITHOUT_PATIENT),
            (self.written_twice, SEVERAL),
            (self.unlisted, "documents of patients that the table of known patients does not have, or of none"),
            (
                self.collisions,
                "name words have another surrogate in one document than in the person's others, where theirs is an "
                "original of the document (a table of --known patients prevents it)",
            ),
            (
                self.shared_names,
                "surrogate names are also full names in these notes or the vault (a table of --known patients prevents "
                "it)",
            ),
            (
                self.residual,
                f"replaced texts still stand elsewhere in their documents ({self.residual_documents} of them); look "
                "whether they are PHI: deid scrub --preview",
            ),
            (
                self.unexamined,
                "positions of records that nobody examined: no line of the table of places names them (--places)",
            ),
            (self.telling.total(), telling(self.telling)),
            (self.unlabelled, "annotations were not written: the format has no label for them"),
        ]
        return [text if " list of " in text else f"{count} {text}" for count, text in told if count]

    def telling_fields(self) -> dict[str, int]:
        """Return what `telling` counts as JSON values."""
        return {str(n): count for n, count in sorted(self.telling.items())}

    def counts(self, site: SiteLists | None = None) -> dict[str, Any]:
        """Return the counts of scrubbing as JSON values."""
        names = (
            "residual",
            "residual_documents",
            "without_patient",
            "written_twice",
            "unlisted",
            "collisions",
            "shared_names",
            "unexamined",
        )
        found: dict[str, Any] = {name: getattr(self, name) for name in (*names, "map_version")}
        found["telling_fields"] = self.telling_fields()
        found["other_languages"] = dict(sorted(self.other_languages.items()))
        return found | ({"site_lists": self.effect.as_dict()} if site else {})


def telling(counted: Mapping[int, int]) -> str:
    """Return what is told, behind their number, of names of fields that may be of somebody: which fields, no name."""
    shown = ", ".join(f"{n} ({count})" for n, count in sorted(counted.items())[:10])
    more = ", ..." if len(counted) > 10 else ""
    return (
        "names of fields or columns look like a name, a number or a date, and stay readable (of the fields beside text "
        f"and id, number {shown}{more}): rename them, or make values of them"
    )


def scrub_files(
    source: Source,
    target: Path | TableOutput,
    pipeline: Pipeline,
    *,
    jobs: int = 1,
    edit_log: Path | None = None,
    vault: Vault | None = None,
    run: RunNote | None = None,
    risk_report: Path | None = None,
    watch: Watch = iter,
) -> Report:
    """Scrub a file or folder into a new file or folder of the same format.

    Parameters
    ----------
    source : Source
        What to read (`deid.io.scan`).
    target : Path or TableOutput
        Where to write (checked with `deid.io.check_output`); the new table, where rows of a database are read.
    pipeline : Pipeline
        Where it does not say the language, annotations that it replaces have that of the source's format; collections
        in a folder keep their names if it keeps the field ``filename``, else these are pseudonyms.
    jobs : int
        Number of processes.
    edit_log : Path, optional
        Where to write the edits; mode 0600.
    vault : Vault, optional
        Keeps which replacement stands for which original, before the document is written. No surrogate becomes a full
        name that it knows as an original (`deid.pipeline.collisions`).
    run : RunNote, optional
        Of a run into a folder: lets it go on after an interruption.
    risk_report : Path, optional
        Signed report for the expert's determination that the policy needs
        (`deid.disclosure.expert_report.read_report`); checked before anything is written, and put beside the target
        (`risk_report_beside`).
    watch : callable, optional
        Wraps the stream of results.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        When annotations are to be replaced and no document carries any: its text would come out as it is; when a field
        or a table of patients is named that fits no document; when there is no such run to go on with; when the key
        says another version of the map of numbers than the vault.
    StoreError
        When the vault cannot keep what it must; the run stops there.
    DeidError
        When nothing can be read or written at all; what fails for single documents is in the report.
    """
    if vault is not None and not pipeline.settings.originals:
        raise ConfigError("a vault needs the originals", "make the pipeline with Settings(originals=True)")
    if vault is not None:  # a vault of yesterday goes on with the numbers of yesterday
        pipeline = pipeline.of_map(vault.map_version)
    pipeline = pipeline.of_format(source.format)
    place = target if isinstance(target, Path) else target.shown
    attached = None if risk_report is None else _checked_report(risk_report, place, pipeline)
    if pipeline.settings.gold:
        require_annotations(source, "replace", "detect")
    settings = pipeline.settings
    require_names(
        source, settings.patients, settings.keep_fields, settings.date_field, known=settings.known is not None
    )
    report = Report(map_version=pipeline.key.map)
    collisions = Collisions(pipeline, vault)
    writings = Writings()

    def rename(name: str) -> str:
        return name if "filename" in settings.keep_fields else pseudonym_of_id(pipeline.key, name)

    output = Output(source, target, source.format, rename) if isinstance(target, Path) else target
    with ExitStack() as stack:
        log = stack.enter_context(atomic_files([edit_log], replace=True))[0] if edit_log else None

        def write(origin: Origin, result: Scrubbed) -> Iterator[str]:
            if vault is not None:
                from deid.replacement.sealing import Entry

                result = collisions.settle(origin.document, result)
                vault.record_all((Entry(*found) for found in result.replacements()), all_known=True)
            report.unlabelled += output.write(origin.group, result.document)
            report.residual += result.residual
            report.residual_documents += result.residual > 0
            report.without_patient += not result.patient_known
            writings.met(writing_of(pipeline, result))
            report.unlisted += not result.patient_listed
            report.unexamined += result.unexamined
            report.telling.update(result.telling)
            report.effect += result.effect
            report.other_languages.update(filter(None, [result.other_language]))
            collisions.count(result)
            if log is not None:
                grown = sum((e.new_end - e.new_start) - (e.end - e.start) for e in result.edits)
                key = output.key(origin.group, result.document.id)
                log.write(log_line(key, len(result.document.text) - grown, result.edits, result.places))
            return (edit.category for edit in result.edits)

        write_each(
            report, output, pipeline, write, patients=settings.patients, identify=pipeline.naming.id,
            jobs=jobs, run=run, watch=watch,
        )  # fmt: skip
    report.collisions, report.shared_names, report.written_twice = collisions.words, collisions.names, len(writings)
    if attached is not None:
        write_bytes(risk_report_beside(place), attached, private=False)
    if run is not None and not report.failures:
        run.end()
    return report


def write_each(
    report: Report,
    output: Output | TableOutput,
    work: Callable[[Document], R],
    step: Callable[[Origin, R], Iterable[str]],
    *,
    patients: Patients,
    identify: Callable[[str], str] = str,
    jobs: int = 1,
    run: RunNote | None = None,
    watch: Watch = iter,
) -> None:
    """Do some work on each document of a source, and write what comes of it: the loop of all that writes notes.

    Parameters
    ----------
    report : Report
        Counts; failures of documents stand there, and the rest goes on.
    output : Output or TableOutput
    work : callable
        What is done with a document, perhaps in another process.
    step : callable
        Gets where a document came from and what came of it, writes that, and returns the categories of its spans.
    patients : Patients
        Those of their table whose documents are not there are counted.
    identify : callable
        Gives the id that a document gets, by which its file is known when a run goes on.
    jobs, run, watch
        See `scrub_files`; the caller ends the run.

    Raises
    ------
    DeidError
        When nothing can be read or written at all.
    """
    source, listed = output.source, Listed(patients)
    report.there = output.there
    if run is not None:
        report.leftovers = run.begin()
    there = make_skip(run.target, output.format, output.rename, identify) if run is not None and run.resume else None

    def skip(group: str, document: Document) -> bool:
        listed.met(document.id)
        found = there is not None and there(group, document)
        report.there += found
        return found

    with nullcontext() if run is None else closing(run), output:
        report.each(
            watch(output.follow(results(source, work, jobs, skip=skip), report.failures)),
            lambda pair: step(*pair),
            lambda pair, error: pair[0].failure(error, source),
        )
    report.failures += output.failures
    report.documents -= output.lost
    report.unmatched = listed.missing()


def risk_report_beside(target: Path) -> Path:
    """Return where `scrub_files` puts the report for the expert's determination."""
    return target.with_name(target.name + ".risk-report.json")


def _checked_report(place: Path, target: Path, pipeline: Pipeline) -> bytes:
    """Return the content of a report for the expert's determination, if it can stand beside this release."""
    if pipeline.settings.method != "policy" or not pipeline.policy.requires_expert:
        raise ConfigError("--risk-report is for policies that need an expert's determination", "such as expert")
    beside = risk_report_beside(target)
    require(not beside.exists(), "the file to write exists already", "name a new OUT", str(beside), kind=OutputError)
    from deid.disclosure.expert_report import read_report  # which few runs need, and takes a while to load

    return read_report(place, pipeline.key)


@dataclass(frozen=True, slots=True)
class Tagged:
    """A document with what was found in it."""

    document: Document
    effect: Effect
    """What the site's lists changed in the spans."""
    listed: bool
    """Whether its patient is a known one."""
    other_language: str
    """See `Scrubbed.other_language`."""


@dataclass(frozen=True, slots=True)
class Tagging:
    """The work of `tag_files` on one document."""

    recognizer: Recognizer
    people: People
    attributes: bool
    """Whether what is written keeps the attributes of spans."""

    def _whole(self, span: Span) -> Span:
        """Return a span that says what else it was taken for; else named for what must not stay, if that is so."""
        if self.attributes:
            return span.also_written()
        strictest = load_policy("limited-data-set").applied(span.category, span.also, {}) if span.also else ""
        return span.named(strictest) if strictest in span.also else span

    def __call__(self, document: Document) -> Tagged:
        """Return the document with what is found."""
        found, effect = find_with_effect(self.recognizer, document)
        spans, other = list(map(self._whole, found)), ""
        if isinstance(self.recognizer, LazyRecognizer):
            other = other_language(document.text, self.recognizer.language_of(document))
        return Tagged(document.with_spans(spans), effect, self.people.lists(document), other)


def tag_files(
    source: Source,
    target: Path | TableOutput,
    recognizer: Recognizer,
    output_format: Format,
    *,
    options: Options | None = None,
    people: People = NOBODY,
    jobs: int = 1,
    run: RunNote | None = None,
    watch: Watch = iter,
) -> Report:
    """Write the documents of a file or folder with the spans that a recognizer finds; other annotations are left out.

    Parameters
    ----------
    source : Source
    target : Path or TableOutput
    recognizer : Recognizer
    output_format : Format
    options : Options, optional
        How to write; by default as the source was read.
    people : People
        Whom documents are about, for the report; the recognizer knows of them by itself.
    jobs, run, watch
        See `scrub_files`.

    Returns
    -------
    Report
        Documents, categories and failures; no text.
    """
    report = Report()
    source = source.as_texts()
    require_names(source, people.patients, known=people.known is not None)
    output = Output(source, target, output_format, str, options) if isinstance(target, Path) else target

    def write(origin: Origin, result: Tagged) -> Iterator[str]:
        output.write(origin.group, result.document)
        report.effect += result.effect
        report.unlisted += not result.listed
        report.other_languages.update(filter(None, [result.other_language]))
        return (span.category for span in result.document.spans)

    work = Tagging(recognizer, people, output_format.carries_attributes)
    write_each(report, output, work, write, patients=people.patients, jobs=jobs, run=run, watch=watch)
    if run is not None and not report.failures:
        run.end()
    return report
