"""The risk report that an expert determination needs (45 CFR 164.514(b)(1)), signed with the custodian's key.

The rule asks an expert to determine that the risk is very small, and to document methods and results. The report states
the results (k, l, q, Q, r, R) with the assumptions under which they hold; the determination itself is the expert's.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deid.base.errors import FormatError, InputError
from deid.base.keys import Key
from deid.disclosure.assessment import Finding
from deid.disclosure.risk import PopulationRisk, SampleRisk
from deid.manifest.content import canonical
from deid.table.microdata import Microdata

_KIND = "risk report for an expert determination, 45 CFR 164.514(b)(1)"
_ALGORITHM = "HMAC-SHA256"


def expert_report(
    release: Microdata,
    findings: Iterable[Finding],
    sample: SampleRisk,
    population: PopulationRisk | None = None,
    *,
    threshold: float = 0.2,
    digests: Mapping[str, str],
    stated: Iterable[str] = (),
    policy: Mapping[str, Any] | None = None,
    version: str = "",
) -> dict[str, Any]:
    """Put the risk of a release together.

    Parameters
    ----------
    release : Microdata
        The published table.
    findings : iterable of Finding
        What `deid.disclosure.assessment.assess` says of it.
    sample, population : SampleRisk, PopulationRisk or None
        Risk without, and with, a population table.
    threshold : float
        Probability above which a person counts as at risk.
    digests : mapping of str to str
        SHA-256 of the files, by what they are: ``table``, ``population``, tables of a joint release by name.
    stated : iterable of str
        Further assumptions, in the user's words.
    policy : mapping, optional
        Name of the notes' policy, and category -> operator.
    version : str
        Of this program.

    Returns
    -------
    dict
        JSON values: counts, probabilities and names of columns, no cell.
    """
    findings = list(findings)
    diversity = {f.column: f.verdict.level for f in findings if f.model == "distinct l-diversity"}
    bound = 1.0 / sample.smallest_class
    q = population.journalist if population is not None else None
    r = population.instance if population is not None else None
    return {
        "kind": _KIND,
        "deid": version,
        "sha256": dict(digests),
        "rows": sample.rows,
        "persons": sample.persons,
        "quasi_identifiers": list(release.quasi_identifiers),
        "sensitive": list(release.sensitive),
        "measures": {
            "k": sample.smallest_class,
            "l": diversity,
            "q": q.highest if q else bound,
            "Q": q.average if q else sample.marketer,
            "r": r.highest if r else 1.0,
            "R": r.average if r else 1.0,
            "from_population": population is not None,
            "threshold": threshold,
            "persons_above_threshold": (q or sample.prosecutor).at_risk,
            "unique_in_table": sample.sample_unique,
            "unique_in_population": population.population_unique if population else sample.population_unique,
        },
        "models": [finding.as_dict() for finding in findings],
        "assumptions": [*assumptions(release, population is not None), *stated],
        "policy": dict(policy) if policy is not None else None,
    }


def assumptions(release: Microdata, population: bool) -> list[str]:
    """Return what the measures take for granted, a sentence each.

    Parameters
    ----------
    release : Microdata
    population : bool
        Whether a population table was given.
    """
    plain = [name for name in release.having("other") if name != release.person]
    said = [
        f"Persons are recognized by these columns alone: {', '.join(release.quasi_identifiers)}.",
        "An attacker knows them without error, and knows no sensitive value.",
        f"Rows of one person have one value of {release.person}; persons are counted."
        if release.person is not None
        else "Every row is another person.",
        "A missing value is a value of its own, that an attacker can know to be missing.",
    ]
    plain = [name for name in plain if name not in release.unnamed]
    if plain:
        said.append(f"These published columns tell nothing about who a person is: {', '.join(plain)}.")
    if release.unnamed:
        said.append(
            f"Nothing was said of these published columns: {', '.join(release.unnamed)}. They were not examined, and "
            "the measures do not hold where an attacker knows any of them."
        )
    if population:
        said.append("The population table holds every person whom an attacker may look for, one row each, up to date.")
    else:
        said.append(
            "Without a population table an attacker is taken to know who is in the table: q is 1/k, Q is classes over "
            "persons, r and R are 1."
        )
    if release.ignore_suppressed:
        said.append("Rows of suppressed cells alone are not counted.")
    said.append("No other release about these persons is known to an attacker.")
    return said


def _canonical(content: Mapping[str, Any]) -> str:
    unsigned = {name: value for name, value in content.items() if name != "signature"}
    return canonical(unsigned).decode()


def sign_report(content: Mapping[str, Any], key: Key) -> dict[str, Any]:
    """Return the content with a signature, a keyed hash of its canonical JSON: whoever holds the key can check it."""
    own = key.derive("risk report")
    signature = {
        "algorithm": _ALGORITHM,
        "key": own.mac("fingerprint").hex()[:16],
        "value": own.mac("content", _canonical(content)).hex(),
    }
    return {**content, "signature": signature}


def check_report(text: str, key: Key, digests: Mapping[str, str]) -> list[str]:
    """Check a report's signature, and that it is about these files.

    Parameters
    ----------
    text : str
        JSON of a signed report.
    key : Key
        That it was signed with.
    digests : mapping of str to str
        SHA-256 of the files at hand, by what to call them; each must be one of the report's.

    Returns
    -------
    list of str
        What does not hold, empty when all does.

    Raises
    ------
    FormatError
        When it is no signed report.
    """
    try:
        content = json.loads(text)
        if content["kind"] != _KIND:
            raise KeyError
        signature, sums = content["signature"], dict(content["sha256"])
        given, value = str(signature["key"]), str(signature["value"])
        canonical = _canonical(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError("not a signed risk report", "name a file that deid risk --expert-report wrote") from None
    own = key.derive("risk report")
    if given != own.mac("fingerprint").hex()[:16]:
        return ["the report was signed with another key"]
    wrong = []
    if not hmac.compare_digest(value.encode(), own.mac("content", canonical).hex().encode()):
        wrong.append("the report was altered after it was signed")
    wrong += [f"the report is about another {name}" for name, digest in digests.items() if digest not in sums.values()]
    return wrong


def read_and_check(place: Path, key: Key, digests: Mapping[str, str]) -> tuple[bytes, list[str]]:
    """Return the content of a report's file, and what `check_report` says of it; errors name the file."""
    try:
        content = place.read_bytes()
        return content, check_report(content.decode("utf-8"), key, digests)
    except (OSError, UnicodeDecodeError):
        raise InputError("cannot be read", "check the path and its permissions", str(place)) from None
    except FormatError as error:
        raise error.at(str(place)) from None


def read_report(place: Path, key: Key) -> bytes:
    """Return the content of a signed report's file.

    Raises
    ------
    InputError
        When it cannot be read, was altered, or was signed with another key.
    FormatError
        When it is no signed report.
    """
    content, wrong = read_and_check(place, key, {})
    if wrong:
        raise InputError("; ".join(wrong), "sign it with the key of this run: deid risk --expert-report", str(place))
    return content
