"""The commands cube and slice: release a table of counts, and ask a released one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.late import pd
from deid.cli import Summary, argument, command, option, print_csv, tell
from deid.cli.paying import release_paid
from deid.dp.domain_options import CubeOptions, SliceQuestion, SurvivalQuestion
from deid.dp.options import GaussianPayingOptions, JoinedTableOptions, PaidReleaseOptions, ToldUnitOptions
from deid.dp.release import CubeRelease, read_release, write_release

if TYPE_CHECKING:
    from deid.dp.methods import CubePlan
    from deid.dp.sequence_release import SequenceRelease

_RELEASE = argument("A release that deid cube wrote.", metavar="RELEASE")


@command
def cube(
    told: Summary,
    *,
    source: JoinedTableOptions,
    counts: CubeOptions,
    paying: GaussianPayingOptions,
    whom: ToldUnitOptions,
    place: PaidReleaseOptions,
    wanted_error: float | None = option(
        None, "With --dry-run: what epsilon this error a number needs.", panel="Before spending"
    ),
) -> None:
    """Release a data cube: counts over declared columns, with differential privacy.

    Example: deid cube visits.csv --dims age,year,death --domains domains.toml --slice year,death --epsilon 0.5
    --ledger study.ledger -o cube.parquet
    """
    from deid.dp.cube import release_cube
    from deid.dp.forecast import forecast_sections

    def batches(plan: CubePlan) -> Iterator[pd.DataFrame]:
        # which rows of a person count, and which table a part is of, all columns tell
        whole = plan.person is not None or bool(plan.part)
        columns = [] if whole else [name for own in plan.dimensions for name in own.columns]
        return whom.read_batches(source, tell, columns)

    release_paid(
        told, source, paying, whom, place, functools.partial(counts.plan, source),
        lambda plan: forecast_sections(plan, wanted_error), batches, release_cube, write_release,
    )  # fmt: skip


@command
def slice(told: Summary, *, release: Path = _RELEASE, asked: SliceQuestion) -> None:
    """Ask a released cube for a slice or a roll-up; prints CSV. This costs no budget.

    Example: deid slice cube.parquet --dims year --where death=1 --where age=60..69
    """
    found = read_release(release)
    frame = asked.ask(found)
    print_csv(frame, "%.2f" if asked.share is None else "%.4f")
    told.notes += ["intervals cover the noise, and that the rows are a sample of others"] if asked.sampling else []
    tell_release(told, found, asked.level, caveat=bool(found.model.caveat))
    told.extra["cells"] = len(frame)


@command
def survival(told: Summary, *, release: Path = _RELEASE, asked: SurvivalQuestion) -> None:
    """Estimate survival from a released cube (Kaplan-Meier); prints CSV. This costs no budget.

    Example: deid survival cube.parquet --time months --event death=1 --dims sex
    """
    found = read_release(release)
    print_csv(asked.ask(found), "%.4f")
    tell_release(told, found, asked.level, caveat=False)
    told.notes.append("a curve ends where fewer are at risk than noise could make out of nothing")


def tell_release(told: Summary, release: CubeRelease | SequenceRelease, level: float | None, *, caveat: bool) -> None:
    """Tell of a release that is asked whether it protects, and what its model cannot say."""
    told.notes += [] if release.private else [str(release.metadata["noise"])]
    told.notes += [release.model.caveat] if caveat else []
    told.extra = {
        "method": release.metadata["method"],
        "epsilon": release.metadata["epsilon"],
        "private": release.private,
        "level": level or release.metadata["level"],
    }
