"""Experiments on linkage, with made-up persons whose truth is known."""

from __future__ import annotations

from deid.cli import JOBS, Summary, command, job_count
from deid.cli.outcomes import run
from deid.experiments.asking import FilterRuns, LinkageRuns
from deid.experiments.outcome import OutcomeOptions


@command
def linkage(told: Summary, *, asked: LinkageRuns, jobs: int = JOBS, places: OutcomeOptions) -> None:
    """Make mentions of made-up persons with stated errors, link them, and score the persons found.

    Example: deid experiment linkage --sizes 10000,100000 --methods exact,model --thresholds 0.9,0.95 --plot curve.svg
    """
    from deid.experiments.linkage import linkage_outcome

    run(told, places, "linking", linkage_outcome, asked, threads=job_count(jobs))


@command
def private_linkage(told: Summary, *, asked: FilterRuns, places: OutcomeOptions) -> None:
    """Match keyed filters of two sites with every hardening, and attack them without the key.

    Example: deid experiment private-linkage --persons 5000 --harden none --harden salt
    """
    from deid.experiments.private_linkage import private_linkage_outcome

    run(told, places, "matching", private_linkage_outcome, asked)
