"""``deid link``: which rows are of one person."""

from __future__ import annotations

from pathlib import Path

from deid.base.options import option
from deid.cli.common import Summary
from deid.cli.option_groups import OutputOptions, command
from deid.cli.table_options import TableOptions
from deid.cli.tables import print_rows, working
from deid.linkage.linking import LinkOptions


@command
def link(
    told: Summary,
    *,
    source: TableOptions,
    place: OutputOptions,
    known: str | None = option(
        None, "Table of an earlier run: its persons keep their ids, and TABLE's rows join them.", metavar="OLD"
    ),
    asked: LinkOptions,
    review: Path | None = option(
        None, "Write the pairs that a person should look at (CSV).", metavar="F", panel="Further files"
    ),
) -> None:
    """Find which rows are of one person, and give each person an id: the column person of OUT.

    What a column is, its name tells, or --kind. Where record numbers, birth dates or given names contradict, rows stay
    apart: two persons in one do more harm than one in two. OUT and --review hold PHI (mode 0600).

    Example: deid link view.csv -o linked.csv --review review.csv
    """
    from deid.base.files import check_new_file
    from deid.linkage.linking import PERSON, link_table
    from deid.table.table_files import check_new_table, read_table, write_table

    check_new_table(place.output)
    if review is not None:
        check_new_file(review)
    told.begin(place.output)
    frame = source.read()
    old = None if known is None else read_table(known, separator=source.sep, table=source.sql, text=True)
    with working("linking"):
        linked = link_table(frame, asked, known=old)
    rest = frame.drop(columns=PERSON, errors="ignore")
    rest.insert(0, PERSON, linked.person)
    write_table(rest, place.output)
    if review is not None:
        write_table(linked.review, review)
    told.extra = counts = linked.as_dict()
    print_rows(
        ("linked", "rows"),
        [
            ("rows", f"{counts['rows']:,}"),
            ("persons", f"{counts['persons']:,}"),
            *((f"pairs by {why}", f"{count:,}") for why, count in linked.joined.items()),
            *((f"kept apart: {why}", f"{count:,}") for why, count in linked.refused.items()),
        ],
    )
    told.places.append(f"{place.output} holds PHI")
    told.sign(place.output, inputs=source.files(known), beside={"review": review}, private=True)
