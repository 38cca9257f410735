"""What a user says of finding: whom documents are about, and what looks for PHI. Commands, feeds, plans, spaCy and
Python say it by the same values; files that they name are read when something is made of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError, require
from deid.base.options import option

RULES_ALONE = "none"
"""In place of a model's name: rules, and no model."""
_PEOPLE, _DETECTION = "Whom notes are about", "Detection"


@dataclass(frozen=True)
class PeopleOptions:
    """Whom documents are about, and what is known of these people.

    Raises
    ------
    ConfigError
        When the options contradict each other or cannot be read.
    """

    PANEL: ClassVar[str] = _PEOPLE
    patients: Path | None = option(None, "CSV file with the columns document and patient.", repr=False)
    patient_field: str | None = option(
        None, "Column or field with the patient's id.", "--patient-field", "--patient", repr=False
    )
    patient_pattern: str | None = option(None, "Finds the patient's id in a file's name.", metavar="REGEX", repr=False)
    patient_text: str | None = option(None, "Finds the patient's id in the text.", metavar="REGEX", repr=False)
    known: Path | None = option(None, "Patients to look for (CSV, Parquet, JSONL).", repr=False)
    known_column: tuple[str, ...] = option(
        (),
        "What a column of --known is: a category, id, given, middle, family, none (repeatable).",
        metavar="NAME=MEANING",
        repr=False,
    )
    known_field: tuple[str, ...] = option(
        (),
        "Column or field of IN with an identifier to look for in its record (repeatable).",
        metavar="NAME[=CATEGORY]",
        repr=False,
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for spelling, pattern in (("--patient-pattern", self.patient_pattern), ("--patient-text", self.patient_text)):
            try:
                re.compile(pattern or "")
            except re.error as error:
                raise ConfigError(
                    f"{spelling} is no regular expression ({error.msg})", "see docs/scrubbing.md"
                ) from None
        if self.known is None and self.known_column:
            raise ConfigError("--known-column without --known", "name the table of known patients")
        for text in self.known_column:
            if "=" not in text:
                raise ConfigError(
                    f"--known-column {text} is not of the form NAME=MEANING", "for example: mrn_no=MEDICALRECORD"
                )

    @property
    def whose_is_untold(self) -> bool:
        """Whether documents' patients must be told, and nothing but the documents themselves can tell them."""
        told = (self.patients, self.patient_field, self.patient_pattern, self.patient_text)
        return self.known is not None and all(one is None for one in told)


@dataclass(frozen=True)
class RecognizerOptions(PeopleOptions):
    """What finds the spans: model, rules, word lists of a site, and what is known of people.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = _DETECTION
    model: str | None = option(
        None, "Shipped model or model folder; none for rules alone.", metavar="NAME|DIR", panel=""
    )
    deny: tuple[Path, ...] = option((), "Terms that are always PHI: staff, clinics, streets (repeatable).", repr=False)
    allow: tuple[Path, ...] = option((), "Terms that never are PHI: local abbreviations (repeatable).", repr=False)
    dial: str | None = option(
        None,
        "Recall dial of the model: 0 as trained, 0.5 to 2 finds more; or a file of deid calibrate.",
        metavar="VALUE|F",
    )
    doubt: float | None = option(
        None, "Flag a word too where the model's probability that it is no PHI is at most P: fewer leaks.", metavar="P"
    )
    span_probability: float | None = option(
        None,
        "Choose the model's spans by their own probability, each above P: 0.4 finds most spans exactly.",
        metavar="P",
    )
    threshold: float | None = option(None, "Leave out spans less sure than P.", metavar="P")
    rules: bool | None = option(None, "Rules beside the model; else as it says.")
    transformer: Path | None = option(None, "Token classifier (ONNX) beside model and rules.", metavar="DIR")
    language: str | None = option(None, "Language of notes, or auto.", metavar="L")

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        require(0 <= (self.doubt or 0) <= 1, "the doubt must be 0 to 1", "it is a probability")
        if not 0 <= (self.span_probability or 0) < 1:
            raise ConfigError("the probability of a span must be 0 to below 1", "0.4 finds most spans exactly")
        if self.doubt and self.span_probability:
            raise ConfigError("doubt and the probability of spans exclude each other", "give one of them")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigError("the threshold must be 0 to 1", "it is a probability")
        turned = self.dial is not None or self.threshold is not None or self.doubt or self.span_probability
        if self.model == RULES_ALONE and (self.rules is False or turned):
            raise ConfigError("without a model there are no dials, and rules are needed", "name a model")
