"""``deid link encode`` and ``deid link match``: records as keyed filters, and pairs of filters that are alike."""

from __future__ import annotations

from pathlib import Path

from deid.base.errors import ConfigError
from deid.base.files import together
from deid.cli import KeyOptions, Summary, TableOutputOptions, argument, command, option, working
from deid.linkage.encodings import Encoding, encoded_table
from deid.table.options import TableOptions, table_of_files


@command
def encode(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    ids: Path = option(..., "New table that says whose filter each is; it stays here."),
    key_file: Path = option(..., "Key in hex, shared by the sites alone; made if missing."),
    name: str | None = option(None, "Column that --ids gets too, to tell rows by.", "--id", metavar="COLUMN"),
    how: Encoding,
) -> None:
    """Make keyed filters of rows, which who has not the key can compare: OUT holds pseudonyms and filters.

    All sites use one key and the same options. Who has the key and the filters can try names: OUT goes to somebody who
    has not the key. Without the key frequent values can be told from unsalted filters: deid experiment
    private-linkage shows what each hardening resists.

    Example: deid link encode patients.csv -o a.csv --ids a-ids.csv --key-file sites.key --text-column first
    --text-column last --date-column birth_date --salt birth_date
    """
    from deid.table.microdata import check_columns
    from deid.table.table_writing import check_new_table, write_table

    check_new_table(ids)
    out = place.begin(told, source.table, inputs=source.files())
    frame = source.read()
    check_columns(frame, [name] if name is not None else [])
    key = told.key(key_file, kept_for="give it to the other sites, and never to who compares")
    own = KeyOptions().existing()
    if own is not None and own.secret == key.secret:
        raise ConfigError("this is the site's own key, which is never shared", "name a new file with --key-file")
    with working("encoding"):
        table, pseudonyms = encoded_table(frame, how, key)
    own_ids = pseudonyms.to_frame("id").assign(row=range(1, len(frame) + 1))
    with together():
        write_table(own_ids if name is None else own_ids.assign(**{name: frame[name]}), ids)
        place.write(table)
    told.extra = {"rows": len(table), "bits": how.length, "encoding": table.columns[1]}
    told.places.append(f"{len(table)} rows; {ids} stays here: it says whose filter each is")
    told.sign(out, private=True)


@command
def match(
    told: Summary,
    *,
    a: str = argument("Filters of one site: a table.", metavar="A"),
    b: str = argument("Filters of another site.", metavar="B"),
    place: TableOutputOptions,
    threshold: float = option(0.85, "Least Dice coefficient of a pair.", "--dice"),
    one_to_one: bool = option(False, "Each row is in one pair at most; best pairs first."),
    tables: int = option(0, "Compare in blocks: rows that agree in some bits, drawn N times.", minimum=0),
) -> None:
    """Find the pairs of filters that are alike; needs no key. OUT has the pseudonyms of both and the Dice coefficient.

    The threshold depends on the encoding: deid experiment private-linkage prints what it finds. --tables 40 is for
    tables that are too large to compare all pairs.

    Example: deid link match a.csv b.csv -o pairs.csv --dice 0.85 --one-to-one
    """
    from deid.linkage.encodings import matched_pairs

    out = place.begin(told, inputs=table_of_files(a, b))
    with working("comparing"):
        pairs, rows = matched_pairs(a, b, threshold, tables=tables, one_to_one=one_to_one)
    place.write(pairs)
    told.extra = {"pairs": len(pairs), "rows_a": pairs["a"].nunique(), "rows_b": pairs["b"].nunique()}
    told.places.append(f"{len(pairs)} pairs of {rows[0]} and {rows[1]} rows")
    told.sign(out, private=True)
