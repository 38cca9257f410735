"""``deid link``: which rows are of one person."""

from __future__ import annotations

from pathlib import Path

from deid.cli import Summary, again, argument, command, job_count, option, print_rows, working
from deid.cli.option_groups import TableOutputOptions, WorkOptions
from deid.linkage.linked_files import LinkFiles
from deid.linkage.linking import AppliedOptions
from deid.table.options import TableOptions


@command
def link(
    told: Summary,
    *,
    source: TableOptions,
    other: str | None = argument("Another table, whose rows are linked to TABLE's.", metavar="[TABLE2]", default=None),
    place: TableOutputOptions,
    asked: AppliedOptions,
    files: LinkFiles,
    jobs: int = again(WorkOptions, "jobs", panel="Pairs"),
    master: str | None = option(
        None,
        "Compare the pairs on Spark, which runs there: local[4], spark://... (extra spark).",
        metavar="URL",
        panel="Pairs",
    ),
) -> None:
    """Find which rows are of one person, and give each person an id: the column person of OUT.

    What a column is, its name tells, or --kind. Rows are one person by exact rules, or by a model of what each
    agreement says, which is learnt from the table itself. Where record numbers, birth dates or given names contradict,
    rows stay apart: two persons in one do more harm than one in two. Values of a view that were read with low
    confidence count less, and its provenance goes with OUT. OUT, --review and --studio hold PHI (mode 0600).

    Example: deid link view.csv -o linked.csv --review review.csv
    """
    from deid.base.errors import ConfigError
    from deid.base.files import together
    from deid.extraction.view import provenance_path, sure_beside
    from deid.linkage.linking import link_table
    from deid.linkage.report import nearest_pair, write_linkage_report
    from deid.manifest.page import made_section
    from deid.table.table_writing import check_new_table, write_table

    files.check(asked, master)
    inputs = source.files(other, *asked.earlier, asked.model, files.decided)
    out = place.begin(told, source.table, *files.new, inputs=inputs)
    applied, (tables, known) = asked.applied(), asked.tables(source, other)
    settled = files.settled([*tables, *known])
    view, sure = sure_beside(source.table, tables[0])
    beside_out = None
    if view is not None:
        if not isinstance(place.output, Path):
            raise ConfigError("the provenance of a view lies beside a file", "write a file: -o linked.csv")
        beside_out = provenance_path(place.output)
        check_new_table(beside_out)
    with working("linking"):
        linked = link_table(
            tables, asked, known=known, model=applied, threads=job_count(jobs), confidence=sure, decided=settled,
            master=master,
        )  # fmt: skip
    rest = linked.table(tables, asked, [source.table, other] if other is not None else [])

    def report(path: Path) -> None:
        doubtful = nearest_pair(tables, linked, asked, known=known, confidence=sure)
        write_linkage_report(path, linked, asked.threshold, doubtful, made_section(told.run))

    with together():
        place.write(rest)
        if view is not None and beside_out is not None:
            write_table(linked.noted(view.provenance), beside_out)
        files.write(linked, rest, report)
    told.extra = {"linked": True, **linked.as_dict()}
    print_rows(("linked", "rows"), linked.lines())
    told.notes += [*([str(settled)] if settled is not None else []), *linked.remarks(rest.columns)]
    told.places.append(f"{place.output} holds PHI")
    told.sign(out, beside={"provenance": beside_out}, private=True)


@command
def explain(
    told: Summary,
    *,
    source: TableOptions,
    a: int = argument("Row, from 1.", metavar="A"),
    b: int = argument("Another row.", metavar="B"),
    second: str | None = option(None, "Another table, whose rows count on behind TABLE's.", metavar="TABLE2"),
    asked: AppliedOptions,
    show_phi: bool = option(False, "Show the values that were compared."),
) -> None:
    """Say why two rows of a table are one person, or two.

    Each field adds its weight, log2 of how much likelier what is seen is for one person than for two: 3 is eightfold.
    Values are not shown without --show-phi. Options as for deid link, so that the weights are those of its run.

    Example: deid link explain view.csv 4 5 --model model.json
    """
    from deid.extraction.view import sure_beside
    from deid.linkage.explaining import explain_pair

    applied, (tables, known) = asked.applied(), asked.tables(source, second)
    _, sure = sure_beside(source.table, tables[0])
    with working("comparing"):
        found = explain_pair(tables, a, b, asked, known=known, model=applied, confidence=sure)
    print_rows(("field", "level", "weight", *(("row A", "row B") if show_phi else ())), found.rows(show=show_phi))
    told.notes += [f"one person by an exact rule: {rule}" for rule in found.exact]
    told.notes += [f"kept apart: {found.conflict}"] if found.conflict else []
    told.extra = {"weight": round(found.weight, 2), "probability": round(found.probability, 4)}
