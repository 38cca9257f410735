"""The commands anonymize and ru-map: a table that can be released, and the map of what could be."""

from __future__ import annotations

from dataclasses import asdict, replace

from deid.base.files import check_new_file, together, write_bytes
from deid.cli import Summary, column_names, command, job_count, option, print_rows, tell_made, working
from deid.cli.option_groups import OutputOptions, TableOutputOptions
from deid.disclosure.assessment import Requirements
from deid.disclosure.methods import MapOptions, MethodOptions
from deid.disclosure.options import DiskOptions, RoleOptions
from deid.disclosure.releasing import AskedRelease, FurtherFiles, MethodChoice
from deid.table.options import TableOptions

_TABLES = "Against other tables"


@command
def anonymize(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    roles: RoleOptions,
    asked: Requirements,
    how: MethodChoice,
    options: MethodOptions,
    population: str | None = option(
        None, "Table of the population, for --k-map, --presence and same-disease.", metavar="P", panel=_TABLES
    ),
    beside: FurtherFiles,
    disk: DiskOptions,
) -> None:
    """Make a table that can be released with a stated protection.

    Every column must be spoken of: quasi-identifiers are generalized until what is asked for holds, sensitive columns
    and those of --publish leave as they are, identifiers, free text and those of --drop do not. Verifiers that know
    only the result must pass it, otherwise nothing is written. OUT.manifest.json lies beside the release.

    Example: deid anonymize patients.csv --qi age,sex,zip --sensitive disease --drop mrn --k 5 --l 2 -o released.csv
    """
    from deid.disclosure.release import Release
    from deid.manifest.page import made_section

    out = place.check(source.table)
    wanted = AskedRelease(source, roles, asked, how, options, population, beside, disk)
    told.begin(out, inputs=source.files(population))
    with working("anonymizing"):
        release = wanted.make(out)
    if isinstance(release, Release):
        with together():
            place.write(release.table())
            beside.write(release, made_section(told.run))
        told.notes = how.said_of_size(release.original)
    if beside.aligned is not None:
        told.places.append(f"{beside.aligned} ties the release to the rows of the table: it must not leave the house")
    tell_made(told, out, release, "columns")


@command
def ru_map(told: Summary, *, source: TableOptions, place: OutputOptions, roles: RoleOptions, asked: MapOptions) -> None:
    """Map risk and utility of many releases of a table, with the Pareto front and choices; releases nothing.

    Writes a plot, .svg or .png.

    Example: deid ru-map patients.csv --qi age,sex,zip --ks 2,5,10 --max-risk 0.05 --min-utility 0.8 -o map.svg
    """

    from deid.base.plots import check_image, image
    from deid.disclosure.frontier import choose, frontier, map_releases, plot_map

    kind = check_image(place.output)
    check_new_file(place.output)
    choose((), least_utility=asked.min_utility, greatest_risk=asked.max_risk)  # bounds that are none are told at once
    data = roles.open(source.table, source)
    asked = replace(asked, jobs=job_count(asked.jobs))
    with working("making releases"):
        points, failures = map_releases(data, column_names(asked.methods), asked.ks, asked, Requirements(l=asked.l))
    choices = choose(points, least_utility=asked.min_utility, greatest_risk=asked.max_risk)
    front = frontier(points)
    write_bytes(place.output, image(plot_map(points, choices), kind), private=False)
    print_rows(
        ("method", "k", "utility", "risk", "Pareto"),
        [(p.method, str(p.k), f"{p.utility:.4f}", f"{p.risk:.4f}", "yes" if p in front else "") for p in points],
    )
    told.notes = [f"{name}, k = {size}: not reached: {error.what}" for name, size, error in failures]
    told.notes += [str(choice) for choice in choices]
    told.extra = {
        "points": [asdict(point) for point in points],
        "front": [asdict(point) for point in front],
        "choices": [asdict(choice) for choice in choices],
    }
