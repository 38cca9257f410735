"""All that attackers can do with one release: alone, with a population, with another release; as rows, JSON, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key
from deid.disclosure.assessment import Requirements, assess
from deid.disclosure.composition import Composition, composition_attack
from deid.disclosure.exclusion import ExclusionAttack, exclusion_attack
from deid.disclosure.expert_report import expert_report, read_and_check, sign_report
from deid.disclosure.risk import AttackerRisk, PopulationRisk, SampleRisk, population_risk, sample_risk
from deid.table.microdata import Microdata

Row = tuple[str, str, str]


@dataclass(frozen=True)
class MeasuredRisk:
    """What attackers can do with a release.

    Parameters
    ----------
    release : Microdata
    sample : SampleRisk
        By the table alone.
    whole : PopulationRisk, optional
        Against a population.
    composed : mapping of str to Composition
        Sensitive column -> with another release.
    threshold : float
        Probability from which a person is at risk.
    known : bool
        Whether the attacker of the composition knows persons.
    excluded : mapping of str to ExclusionAttack
        Sensitive column -> with rules of the original that rule values out.
    """

    release: Microdata
    sample: SampleRisk
    whole: PopulationRisk | None
    composed: Mapping[str, Composition]
    threshold: float
    known: bool = field(default=False)
    excluded: Mapping[str, ExclusionAttack] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        found: dict[str, Any] = {"sample": self.sample.as_dict()}
        if self.whole is not None:
            found["population"] = self.whole.as_dict()
        if self.composed:
            found["composition"] = {column: asdict(attack) for column, attack in self.composed.items()}
        if self.excluded:
            found["rules"] = {column: asdict(attack) for column, attack in self.excluded.items()}
        return found

    def rows(self) -> list[Row]:
        """Return measure, value, and rows (from 1) that decide."""
        rows = self._sample_rows() + (self._population_rows(self.whole) if self.whole is not None else [])
        for column, attack in self.composed.items():
            rows += self._composition_rows(f"composition, {column}: ", attack)
        for column, told in self.excluded.items():
            rows += self._exclusion_rows(f"rules, {column}: ", told)
        return rows

    def _attacker_rows(self, name: str, found: AttackerRisk) -> list[Row]:
        return [
            (f"{name}: highest", f"{found.highest:.2%}", _numbers(found.witness)),
            (f"{name}: average", f"{found.average:.2%}", ""),
            (f"{name}: persons above {self.threshold:g}", f"{found.at_risk:.2%}", ""),
        ]

    def _sample_rows(self) -> list[Row]:
        found = self.sample
        rows = [
            ("rows, persons, classes", f"{found.rows}, {found.persons}, {found.classes}", ""),
            ("persons of the smallest class", str(found.smallest_class), ""),
            *self._attacker_rows("prosecutor", found.prosecutor),
            ("marketer: linked rightly", f"{found.marketer:.2%}", ""),
            ("unique in the table", f"{found.sample_unique:.2%}", ""),
        ]
        if found.population_unique is not None:
            rows.append(("unique in the population, estimated", f"{found.population_unique:.2%}", ""))
        return rows

    def _population_rows(self, found: PopulationRisk) -> list[Row]:
        member = found.membership
        return [
            ("population matching a row: least", str(found.smallest_match), ""),
            *self._attacker_rows("journalist (q, Q)", found.journalist),
            *self._attacker_rows("instance disclosure (r, R)", found.instance),
            ("unique in the population", f"{found.population_unique:.2%}", ""),
            ("membership: chance of presence", f"{member.least:.2%} to {member.greatest:.2%}", ""),
            ("membership: certainly in the table", f"{member.certain:.2%}", ""),
        ]

    def _composition_rows(self, name: str, found: Composition) -> list[Row]:
        what = "persons in both releases" if self.known else "pairs of classes with a value in common"
        left = ", ".join(f"{values:.2f}" for values in found.candidates)
        return [
            (name + what, str(found.targets), ""),
            (name + "mean values left by each, by both", left, ""),
            (name + "disclosed by one alone", f"{found.disclosed_before:.2%}", ""),
            (name + "disclosed by both", f"{found.disclosed:.2%}", _numbers(found.rows)),
        ]

    def _exclusion_rows(self, name: str, found: ExclusionAttack) -> list[Row]:
        return [
            (name + "mined from the original", f"{found.rules:,}", ""),
            (
                name + "least values left, without and with",
                f"{found.least_before}, {found.least}",
                _numbers(found.rows),
            ),
            (name + "persons with fewer values left", f"{found.fewer:.2%}", ""),
            (name + "disclosed without, and with", f"{found.disclosed_before:.2%}, {found.disclosed:.2%}", ""),
        ]

    def signed(self, key: Key, **said: Any) -> bytes:
        """Return the signed report for an expert determination, as JSON; ``said`` is what `expert_report` is told."""
        findings = assess(self.release, Requirements())
        content = expert_report(self.release, findings, self.sample, self.whole, threshold=self.threshold, **said)
        return (json.dumps(sign_report(content, key), indent=1, ensure_ascii=False) + "\n").encode()


def _numbers(rows: tuple[int, ...]) -> str:
    return " ".join(str(row + 1) for row in rows[:5])


def measure_risk(
    release: Microdata,
    *,
    population: Microdata | None = None,
    population_size: int | None = None,
    earlier: Microdata | None = None,
    known: Microdata | None = None,
    threshold: float = 0.2,
    mined: Microdata | None = None,
    expected: float = 5.0,
) -> MeasuredRisk:
    """Measure what attackers can do with a release.

    Parameters
    ----------
    release : Microdata
    population : Microdata, optional
        One row a person, with the release's quasi-identifiers.
    population_size : int, optional
        Estimates who is unique in a population that is not at hand.
    earlier, known : Microdata, optional
        Another release of these persons, for the composition attack on each sensitive column; and whom that attacker
        knows.
    threshold
        See `MeasuredRisk`.
    mined, expected : Microdata, float
        The original, whose rules rule values out (`deid.disclosure.exclusion`), and how many rows a rule surprises.

    Returns
    -------
    MeasuredRisk
        By the table alone, against the population and with the other release, as far as these are given.

    Raises
    ------
    ConfigError
        When there is another release, or an original, and no column is sensitive.
    """
    if (earlier is not None or mined is not None) and not release.sensitive:
        raise ConfigError("no column is sensitive", "name the ones under attack with --sensitive")
    sample = sample_risk(release, threshold=threshold, population_size=population_size)
    whole = None
    if population is not None:
        whole = population_risk(release, population, threshold=threshold)
    composed = {}
    if earlier is not None:
        sides = release.with_suppressed, earlier.with_suppressed
        composed = {column: composition_attack(*sides, column, known) for column in release.sensitive}
    excluded = {}
    if mined is not None:
        excluded = {own: exclusion_attack(release, mined, own, expected=expected) for own in release.sensitive}
    return MeasuredRisk(release, sample, whole, composed, threshold, known is not None, excluded)


def digests_of(place: str, population: str | None) -> dict[str, str]:
    """Return the checksums that tie a report to its files; a database has none."""
    files = {"table": place} | ({"population": population} if population is not None else {})
    return {name: sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items() if Path(file).is_file()}


def check_signed(report: Path, key: Key, place: str, population: str | None) -> list[str]:
    """Return what is wrong with a signed report of these files, nothing when it holds.

    Raises
    ------
    InputError
        When the table or the report cannot be read.
    FormatError
        When it is no signed report.
    """
    digests = digests_of(place, population)
    if "table" not in digests:
        raise InputError("there is no such file", "name the table that the report is about", place)
    return read_and_check(report, key, digests)[1]
