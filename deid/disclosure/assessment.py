"""All verifiers on one release: which of the levels asked for it reaches, and what it reaches in any case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deid.base.errors import ConfigError
from deid.disclosure.classes import Verdict
from deid.disclosure.closeness import t_closeness
from deid.disclosure.consistency import delta_presence, k_map, kk_anonymity
from deid.disclosure.privacy import (
    alpha_k_anonymity,
    beta_likeness,
    distinct_l_diversity,
    entropy_l_diversity,
    epsilon_m_anonymity,
    k_anonymity,
    personalised_privacy,
    range_diversity,
    recursive_l_diversity,
)
from deid.table.microdata import NA_CODE, Microdata, check_columns

__all__ = ["Finding", "Requirements", "assess"]


@dataclass(frozen=True)
class Requirements:
    """Levels that a release must reach; None where nothing is asked.

    Parameters
    ----------
    k, l : int
        k-anonymity, and distinct l-diversity of every sensitive column.
    entropy_l : float
        Entropy l-diversity.
    c : float
        Recursive (c, l)-diversity, with ``l`` (2 if not given).
    alpha : float
        Greatest share of a value in a class.
    t : float
        t-closeness, with ``distance``.
    beta : float
        Basic beta-likeness.
    epsilon, m : float
        (epsilon, m)-anonymity of numeric sensitive columns; both or none.
    width, window_alpha : float
        Range diversity of numeric sensitive columns; both or none.
    k_map, kk : int
        k-map against a population, (k,k)-anonymity against the originals.
    presence : (float, float)
        Bounds of delta-presence against a population.
    guard, breach : str, float
        Personalised privacy: the column that holds every row's guarding node, empty for none, and the greatest chance
        of a breach; both or none.
    """

    k: int | None = None
    l: int | None = None  # noqa: E741
    entropy_l: float | None = None
    c: float | None = None
    alpha: float | None = None
    t: float | None = None
    distance: str = "equal"
    beta: float | None = None
    epsilon: float | None = None
    m: float | None = None
    width: float | None = None
    window_alpha: float | None = None
    k_map: int | None = None
    kk: int | None = None
    presence: tuple[float, float] | None = None
    guard: str | None = None
    breach: float | None = None


@dataclass(frozen=True)
class Finding:
    """The result of one verifier.

    Parameters
    ----------
    model : str
        Its name.
    column : str
        The sensitive column, empty where none is concerned.
    asked : float, tuple of float or None
        The level asked for; None when the level is only told.
    verdict : Verdict
        Level and witness; ``ok`` counts only where a level was asked for.
    """

    model: str
    column: str
    asked: float | tuple[float, ...] | None
    verdict: Verdict

    @property
    def failed(self) -> bool:
        """Tell whether a level was asked for and not reached."""
        return self.asked is not None and not self.verdict.ok

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; rows are numbered from 1."""
        return {
            "model": self.model,
            "column": self.column,
            "asked": self.asked,
            "level": self.verdict.level,
            "ok": self.verdict.ok if self.asked is not None else None,
            "rows": [row + 1 for row in self.verdict.witness],
        }


def assess(
    release: Microdata,
    asked: Requirements,
    *,
    population: Microdata | None = None,
    originals: Microdata | None = None,
    suppressed: str = "class",
) -> list[Finding]:
    """Run the verifiers on a published table.

    Parameters
    ----------
    release : Microdata
        The published table.
    asked : Requirements
        Levels to be reached. k-anonymity, diversity and closeness are told even if nothing is asked.
    population, originals : Microdata, optional
        Tables for k-map and delta-presence, and for (k,k)-anonymity.
    suppressed : str
        ``class`` or ``ignore``: what rows without any quasi-identifier are; see `equivalence_classes`.

    Returns
    -------
    list of Finding
        k-anonymity first, then the models of each sensitive column in turn, then those that compare with other records.

    Raises
    ------
    ConfigError
        When a model is asked for without what it needs.
    """
    k = 1 if asked.k is None else asked.k  # what is not asked for is told all the same
    findings = [Finding("k-anonymity", "", asked.k, k_anonymity(release, k, suppressed=suppressed))]
    of_values = (
        asked.l,
        asked.entropy_l,
        asked.c,
        asked.alpha,
        asked.t,
        asked.beta,
        asked.m,
        asked.window_alpha,
        asked.breach,
    )
    if not release.sensitive and any(level is not None for level in of_values):
        raise ConfigError("no column is sensitive", "name the ones to protect with --sensitive")
    for column in release.sensitive:
        findings += _of_column(release, column, asked, suppressed)
    if asked.k_map is not None or asked.presence is not None:
        if population is None:
            raise ConfigError("k-map and delta-presence need a population table", "name it with --population")
        if asked.k_map is not None:
            verdict = k_map(release, population, asked.k_map, suppressed=suppressed)
            findings.append(Finding("k-map", "", asked.k_map, verdict))
        if asked.presence is not None:
            verdict = delta_presence(release, population, *asked.presence, suppressed=suppressed)
            findings.append(Finding("delta-presence", "", asked.presence, verdict))
    if asked.kk is not None:
        if originals is None:
            raise ConfigError("(k,k)-anonymity needs the original records", "name their table with --original")
        findings.append(Finding("(k,k)-anonymity", "", asked.kk, kk_anonymity(release, originals, asked.kk)))
    return findings


def _of_column(release: Microdata, column: str, asked: Requirements, suppressed: str) -> list[Finding]:
    k = 1 if asked.k is None else asked.k
    l = 1 if asked.l is None else asked.l  # noqa: E741
    entropy = 1.0 if asked.entropy_l is None else asked.entropy_l
    alpha = 1.0 if asked.alpha is None else asked.alpha
    t = 1.0 if asked.t is None else asked.t
    beta = 0.0 if asked.beta is None else asked.beta
    found = [
        Finding(
            "distinct l-diversity",
            column,
            asked.l,
            distinct_l_diversity(release, column, l, suppressed=suppressed),
        ),
        Finding(
            "entropy l-diversity",
            column,
            asked.entropy_l,
            entropy_l_diversity(release, column, entropy, suppressed=suppressed),
        ),
        Finding(
            "(alpha,k)-anonymity",
            column,
            None if asked.alpha is None else (alpha, float(k)),
            alpha_k_anonymity(release, column, alpha, k, suppressed=suppressed),
        ),
        Finding(
            f"t-closeness ({asked.distance})",
            column,
            asked.t,
            t_closeness(release, column, t, asked.distance, suppressed=suppressed),
        ),
        Finding("beta-likeness", column, asked.beta, beta_likeness(release, column, beta, suppressed=suppressed)),
    ]
    if asked.c is not None:
        least = 2 if asked.l is None else asked.l
        verdict = recursive_l_diversity(release, column, asked.c, least, suppressed=suppressed)
        found.append(Finding(f"recursive (c,{least})-diversity", column, asked.c, verdict))
    if asked.epsilon is not None and asked.m is not None:
        verdict = epsilon_m_anonymity(release, column, asked.epsilon, asked.m, suppressed=suppressed)
        found.append(Finding(f"({asked.epsilon:g},m)-anonymity", column, asked.m, verdict))
    if asked.guard is not None and asked.breach is not None:
        check_columns(release.frame, [asked.guard])
        coded = release.codes(asked.guard)
        guards = [None if code == NA_CODE else coded.values[code] for code in coded.codes]
        verdict = personalised_privacy(release, column, guards, asked.breach, suppressed=suppressed)
        found.append(Finding("personalised privacy", column, asked.breach, verdict))
    if asked.width is not None and asked.window_alpha is not None:
        verdict = range_diversity(release, column, asked.width, asked.window_alpha, suppressed=suppressed)
        found.append(Finding(f"range diversity ({asked.width:g})", column, asked.window_alpha, verdict))
    return found
