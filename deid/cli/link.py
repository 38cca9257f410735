"""``deid link``: which rows are of one person."""

from __future__ import annotations

from pathlib import Path

from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import OutputOptions, command, job_count
from deid.cli.table_options import TableOptions
from deid.cli.tables import print_rows, working
from deid.linkage.linking import LinkOptions


@command
def link(
    told: Summary,
    *,
    source: TableOptions,
    place: OutputOptions,
    earlier: str | None = option(
        None, "Table of an earlier run: its persons keep their ids, and TABLE's rows join them.", metavar="OLD"
    ),
    asked: LinkOptions,
    model: str | None = option(
        None, "Apply a model that --save-model wrote; learn none.", metavar="F", panel="Further files"
    ),
    save_model: Path | None = option(
        None,
        "Write the model that was learnt (JSON with a checksum; no cell of TABLE).",
        metavar="F",
        panel="Further files",
    ),
    jobs: int = option(1, "Processes; 0 for one a core.", metavar="N", panel="Pairs"),
    review: Path | None = option(
        None, "Write the pairs that a person should look at (CSV).", metavar="F", panel="Further files"
    ),
    report: Path | None = option(
        None,
        "Write a report as a web page: weights, threshold, a pair step by step.",
        metavar="F",
        panel="Further files",
    ),
) -> None:
    """Find which rows are of one person, and give each person an id: the column person of OUT.

    What a column is, its name tells, or --kind. Rows are one person by exact rules, or by a model of what each
    agreement says, which is learnt from the table itself. Where record numbers, birth dates or given names contradict,
    rows stay apart: two persons in one do more harm than one in two. OUT and --review hold PHI (mode 0600).

    Example: deid link view.csv -o linked.csv --review review.csv
    """
    from deid.base.errors import ConfigError
    from deid.base.files import check_new_file, write_bytes
    from deid.linkage.linking import PERSON, explain_pair, link_table
    from deid.linkage.model import read_model
    from deid.linkage.report import write_linkage_report
    from deid.manifest.page import made_section
    from deid.table.table_files import check_new_table, read_table, write_table

    check_new_table(place.output)
    for path in (review, save_model, report):
        if path is not None:
            check_new_file(path)
    if asked.method == "exact" and (save_model or report):
        raise ConfigError("exact rules learn no model", "leave out --save-model and --report, or say --method model")
    told.begin(place.output)
    applied = None if model is None else read_model(Path(model))
    frame = source.read()
    old = None if earlier is None else read_table(earlier, separator=source.sep, table=source.sql, text=True)
    with working("linking"):
        linked = link_table(frame, asked, known=old, model=applied, threads=job_count(jobs))
    rest = frame.drop(columns=PERSON, errors="ignore")
    rest.insert(0, PERSON, linked.person)
    write_table(rest, place.output)
    if review is not None:
        write_table(linked.review, review)
    if save_model is not None and linked.model is not None:
        write_bytes(save_model, linked.model.to_bytes(), private=False)
    if report is not None:
        below = linked.review[linked.review["why_apart"] == "below the threshold"]
        nearest = below.sort_values(["weight", "row_a", "row_b"], key=lambda c: c.astype(float)).tail(1)
        pair = [int(nearest[name].iloc[0]) for name in ("row_a", "row_b")] if len(nearest) else []
        both = len(pair) == 2 and max(pair) <= len(frame)
        doubtful = explain_pair(frame, pair[0], pair[1], asked, model=linked.model) if both else None
        write_linkage_report(report, linked, asked.threshold, doubtful, made_section(told.run))
    told.extra = linked.as_dict()
    print_rows(
        ("linked", "rows"),
        [
            ("rows", f"{told.extra['rows']:,}"),
            ("persons", f"{told.extra['persons']:,}"),
            *([("pairs for review", f"{told.extra['review']:,}")] if told.extra["review"] else []),
            *((f"pairs by {why}", f"{count:,}") for why, count in linked.joined.items()),
            *((f"kept apart: {why}", f"{count:,}") for why, count in linked.refused.items()),
        ],
    )
    for block in linked.blocks[1]:
        told.notes.append(f"not compared: rows of equal {block}, {block.pairs:,} pairs are too many (--pairs)")
    silent = [name for name in rest.columns[1:] if name not in linked.kinds]
    told.notes += [f"not compared: {', '.join(silent)}"] if silent else []
    told.places.append(f"{place.output} holds PHI")
    beside = {"review": review, "linkage model": save_model, "report": report}
    told.sign(place.output, inputs=source.files(earlier, model), beside=beside, private=True)


@command
def explain(
    told: Summary,
    *,
    source: TableOptions,
    a: int = argument("Row, from 1.", metavar="A"),
    b: int = argument("Another row.", metavar="B"),
    asked: LinkOptions,
    model: str | None = option(None, "Explain by a model that --save-model wrote; learn none.", metavar="F"),
    show_phi: bool = option(False, "Show the values that were compared."),
) -> None:
    """Say why two rows of a table are one person, or two.

    Each field adds its weight, log2 of how much likelier what is seen is for one person than for two: 3 is eightfold.
    Values are not shown without --show-phi. Options as for deid link, so that the weights are those of its run.

    Example: deid link explain view.csv 4 5 --model model.json
    """
    from deid.linkage.linking import explain_pair
    from deid.linkage.model import read_model

    applied = None if model is None else read_model(Path(model))
    with working("comparing"):
        found = explain_pair(source.read(), a, b, asked, model=applied)
    rows: list[tuple[str, ...]] = [("before anything is compared", "", f"{found.prior:+.2f}")]
    rows += [(step.field, step.level, f"{step.weight + step.rarity:+.2f}") for step in found.steps]
    rows.append(("together", f"probability {found.probability:.4f}", f"{found.weight:+.2f}"))
    if show_phi:
        rows = [(*row, *found.values.get(row[0], ("", ""))) for row in rows]
    print_rows(("field", "level", "weight", *(("row A", "row B") if show_phi else ())), rows)
    told.notes += [f"one person by an exact rule: {rule}" for rule in found.exact]
    told.notes += [f"kept apart: {found.conflict}"] if found.conflict else []
    told.extra = {"weight": round(found.weight, 2), "probability": round(found.probability, 4)}
