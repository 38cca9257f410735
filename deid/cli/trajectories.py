"""``deid trajectories``: release longitudinal records of codes and ages."""

from __future__ import annotations

from pathlib import Path

from deid.base.files import together
from deid.cli import Summary, TableOutputOptions, command, option, working
from deid.table.options import TableOptions
from deid.trajectories.publishing import TrajectoryOptions, release_diagnoses


@command
def anonymize(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    asked: TrajectoryOptions,
    report: Path | None = option(None, "Write a web page with levels, loss and a plot."),
) -> None:
    """Release trajectories so that each occurs at least k times.

    Persons are clustered (MDAV'), the trajectories of a cluster are aligned, generalized and cut until they are equal
    (A-GS; Tamersoy and others 2012). The release is verified before it is written; persons become numbers, which do not
    depend on the order of TABLE. OUT.manifest.json lies beside it.

    Example: deid trajectories anonymize diagnoses.csv -o released.csv --k 5 --person mrn --code icd --age age
    """
    from deid.manifest.page import made_section

    out = place.begin(told, source.table, report, inputs=source.files())
    with working("anonymizing"):
        published = release_diagnoses(source.read(), asked)
    with together():
        place.write(published.frame)
        if report is not None:
            published.write_report(report, made_section(told.run))
    told.extra = published.figures
    told.notes.append(str(published))
    told.sign(out, columns=published.fates)
