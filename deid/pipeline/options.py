"""What a user says of scrubbing, as one value."""

from __future__ import annotations

import datetime
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError, require, told_as
from deid.base.keys import Key, KeyOptions, load_key
from deid.base.options import again, option, place_of, store_of
from deid.detection.options import PeopleOptions, RecognizerOptions

if TYPE_CHECKING:
    from deid.base.late import pd
    from deid.replacement.t_plausibility import Generalizer
    from deid.replacement.vault import Vault

TARGET_VARIABLE = "DEID_TARGET"
"""Environment variable that may name a new table: a URL with a password must not stand on a command line."""
METHODS = ("policy", "concept-match")
"""How a note can be scrubbed."""
_NOTES, _REPLACING = "Annotations and dates", "Replacing"


def read_day(text: str) -> datetime.date:
    """Read a reference day.

    Raises
    ------
    ConfigError
        When it is no date.
    """
    with told_as(ConfigError("--as-of is no date", "write it as YYYY-MM-DD"), ValueError):
        return datetime.date.fromisoformat(text)


@dataclass(frozen=True)
class NoteOptions(RecognizerOptions):
    """What finds the spans in notes that may carry some already, and have a date.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = _NOTES
    gold: bool = option(False, "Take the annotations that IN carries, instead of detecting.")
    date_field: str | None = option(
        None, "Column or field with the document's date (YYYY-MM-DD).", "--date-field", "--date", repr=False
    )
    as_of: datetime.date | None = option(
        None, "Reference day of documents without a date of their own.", metavar="DATE", read=read_day
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        wished = self.wished()
        if self.gold and wished:
            raise ConfigError("--gold takes just the annotations", f"leave out --{wished[0].replace('_', '-')}")

    def wished(self) -> list[str]:
        """Return the options that say how to detect."""
        people = {field.name for field in fields(PeopleOptions)} | {"language"}
        said = {
            field.name: getattr(self, field.name) for field in fields(RecognizerOptions) if field.name not in people
        }
        return [name for name, value in said.items() if value or (name == "rules" and value is not None)]


@dataclass(frozen=True)
class ViewOptions(NoteOptions):
    """What the identifier view of notes holds: what a row is, how notes become persons, and a table that is joined.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = ""
    by: str = option("person", "What a row is.", metavar="person|note")
    rounds: int = option(2, "Most rounds: each looks for what the one before learnt of a person.")
    link: str = option("exact", "How notes become persons, as by deid link.", metavar="exact|model")
    join: str | None = option(
        None, "Structured table to join: CSV, Parquet, SQLite file or postgresql:// URL.", metavar="TABLE"
    )
    on: str | None = option(
        None, "Column that is the same in the view and the joined table; mrn where it has one.", metavar="COLUMN"
    )
    join_sql_table: str | None = option(None, "Table of a database to join.")

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        require(self.rounds >= 1, "the number of rounds must be at least 1", "such as --rounds 2")

    def joined(self) -> tuple[pd.DataFrame | None, str]:
        """Read the table that is joined, if there is one; return it with its key."""
        if self.join is None:
            return None, ""
        from deid.table.microdata import check_columns
        from deid.table.table_files import read_table

        table = read_table(self.join, table=self.join_sql_table, text=True)
        check_columns(table, [] if self.on is None else [self.on])
        return table, self.on or ("mrn" if "mrn" in table else "")


@dataclass(frozen=True)
class PipelineOptions(NoteOptions):
    """What finds the spans and what becomes of them: all that decides what a scrubbed note is, but for the key.

    Raises
    ------
    ConfigError
        When the options contradict each other.

    Examples
    --------
    >>> PipelineOptions(policy="redact", model="none").policy
    'redact'
    """

    policy: str | None = option(None, "Shipped policy or TOML file (deid policy show).", metavar="NAME|F")
    keep: frozenset[str] = option(frozenset(), "Keep filename, id, or a field as it is (repeatable).")
    accept: tuple[str, ...] = option(
        (), "Accept that this stays readable or undetected (repeatable).", metavar="CATEGORY", panel=_REPLACING
    )
    method: str = option("policy", "policy, or concept-match: keep medical terms only.", panel=_REPLACING)

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        require(self.method in METHODS, "there is no such method of scrubbing", f"methods: {', '.join(METHODS)}")
        if self.method != "policy" and (self.wished() or self.known or self.policy or self.accept or self.gold):
            raise ConfigError(
                f"the method {self.method} uses no annotations, policy, model or lists", "leave out their options"
            )


@dataclass(frozen=True, kw_only=True)
class GeneralizeOptions(PeopleOptions):
    """How far the sensitive words of notes are generalized, and what stays.

    Examples
    --------
    >>> [own.name for own in GeneralizeOptions(t=96, ontology=("drugs",)).generalizer().ontologies]
    ['drugs']
    """

    PANEL: ClassVar[str] = "What is generalized, and how"
    t: int = option(..., "So many original texts must be plausible.", "--plausible", metavar="T", panel="")
    ontology: tuple[str, ...] = option(
        (),
        "diseases, drugs, places, professions (all four by default), wordnet, or a CSV file (repeatable).",
        metavar="NAME|F",
        panel="",
    )
    keep: frozenset[str] = option(frozenset(), "Keep filename, id, or a field as it is (repeatable).", panel="")
    gold: bool = option(False, "The annotations that IN carries are the sensitive words.")
    every_word: bool = option(False, "Leave no sensitive word as it is, even if T is reached without it.")
    objective: str = option("minimal", "minimal: lose no more than T asks for; uniform: spread it over the words.")
    alpha: float = option(
        0.5, "For uniform: weight (0 to 1) of the whole text against the words.", "--text-weight", metavar="A"
    )
    search: str = option("auto", "auto, best-first, branch-and-bound, greedy, or exhaustive (for checks).")

    def generalizer(self) -> Generalizer:
        """Load the ontologies; errors are those of `deid.replacement.t_plausibility.make_generalizer`."""
        from deid.replacement.t_plausibility import SHIPPED, make_generalizer

        return make_generalizer(
            self.t,
            objective=self.objective,
            alpha=self.alpha,
            search=self.search,
            ontologies=self.ontology or SHIPPED,
            every_word=self.every_word,
        )


@dataclass(frozen=True)
class AuditOptions:
    """How many scrubbed notes are drawn and read, and what the sheet says of them.

    Raises
    ------
    ConfigError
        When not either a sheet is to be written or one that is filled in is given.
    """

    sample: int = option(300, "Notes to draw, at least.")
    sheet: Path | None = option(None, "Write the notes that are drawn to F, a CSV to fill in.")
    marks: Path | None = option(None, "The sheet, filled in: state the bound.")
    strata: str | None = option(None, "Draw by type of note: a column or field, or folder.", metavar="FIELD")
    seed: int = option(0, "Another seed draws other notes.", minimum=0)
    confidence: float = option(0.95, "Confidence of the bound.", metavar="P")

    def __post_init__(self) -> None:
        """Refuse what is neither."""
        one = (self.sheet is None) != (self.marks is None)
        require(one, "either --sheet or --marks", "write the sheet first, then give it filled in")


@dataclass(frozen=True)
class TableTarget:
    """A new table of a database that a run writes instead of OUT."""

    output: Path | str | None = option(
        None, f"New table NOTE_NLP, on the side of the PHI (else {TARGET_VARIABLE}).", "--output", "-o", metavar="URL",
        panel="Databases", read=place_of, repr=False,
    )  # fmt: skip

    _MISSING: ClassVar[str] = "name a new file or folder, or of rows of a database a table (--output)"

    def place(self, target: Path | str | None, *, needed: bool = True) -> Path | str | None:
        """Return where is written: as said, or as the environment's variable says; None for nowhere.

        Raises
        ------
        ConfigError
            When two places are said, or none that is ``needed``, or a password stands on the command line.
        """
        require(self.output is None or target is None, "OUT and --output are two places", "leave out one of them")
        said = self.output or target
        if isinstance(said, str):
            from deid.base.store import refuse_password

            return refuse_password(said, TARGET_VARIABLE)
        place = said or os.environ.get(TARGET_VARIABLE) or None
        require(place or not needed, "OUT is missing", self._MISSING)
        return place


@dataclass(frozen=True)
class ScrubTarget(TableTarget):
    """What a scrubbing writes beside the notes, or that it only shows what would change.

    Raises
    ------
    ConfigError
        When nothing is written that a report could lie beside.
    """

    PANEL: ClassVar[str] = "Beside OUT"
    _MISSING: ClassVar[str] = "name a new file or folder, or look first with --preview"
    output: Path | str | None = again(
        TableTarget, "output", help=f"New table: postgresql://host/base/schema.table (else {TARGET_VARIABLE})."
    )
    preview: bool = option(False, "Show what would change in a few notes; write nothing.", panel="")
    preview_count: int = option(3, "Notes to preview.")
    edits: Path | None = option(None, "Write the edit log to F: offsets and categories, no text.")
    note_nlp: bool = option(False, "With --omop: also NOTE_NLP: what stands where in OUT.")
    risk_report: Path | None = option(None, "Check the report of deid risk --expert-report and put it beside OUT.")

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.preview and self.risk_report is not None:
            raise ConfigError("--preview writes nothing, so nothing needs --risk-report", "leave out one of them")

    def check_alone(self, *others: object) -> None:
        """Refuse what a note of standard input does not have: another target, and whatever of ``others`` was said."""
        if any(others) or self != ScrubTarget():
            raise ConfigError("a note of standard input goes to standard output", "name IN to write anything else")

    def checked(self, target: Path | str | None, *, omop: bool) -> Path | str | None:
        """Return where is written; None where a preview writes nothing. Errors are those of `place`.

        Raises
        ------
        ConfigError
            When spans are to be written of a table that is none of the CDM (``omop``).
        """
        place = self.place(target, needed=not self.preview)
        require(not self.note_nlp or omop, "--note-nlp is for tables of the OMOP CDM", "add --omop")
        return place

    def key(self, said: Path | None) -> Key | None:
        """Return a key that is thrown away where a preview, which writes nothing, finds none; else None."""
        made = KeyOptions().existing() is not None if said is None else said.exists()
        return None if made or not self.preview else Key.drawn()


@dataclass(frozen=True)
class VaultKeeping:
    """The vault that keeps what was replaced."""

    PANEL: ClassVar[str] = "Beside OUT"
    vault: str | None = option(
        None, "Keep the originals, encrypted, in a vault (deid vault init).", metavar="VAULT", read=store_of
    )
    vault_key_file: Path | None = option(None, "Key of the vault, if another one.")

    def __post_init__(self) -> None:
        """Refuse a key without what it opens."""
        require(
            self.vault is not None or self.vault_key_file is None, "--vault-key-file without --vault", "name the vault"
        )

    def opened(self, key: Key) -> AbstractContextManager[Vault | None]:
        """Open the vault, if one is asked for."""
        if self.vault is None:
            return nullcontext()
        from deid.replacement.vault import Vault

        own = self.vault_key_file
        return Vault.open(self.vault, load_key(own, create=False)[0] if own else key)
