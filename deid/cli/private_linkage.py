"""``deid link encode`` and ``deid link match``: records as keyed filters, and pairs of filters that are alike."""

from __future__ import annotations

from pathlib import Path

from deid.base.errors import ConfigError, InputError
from deid.base.files import together
from deid.base.keys import load_key
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
    key, made = load_key(key_file, kept_for="give it to the other sites, and never to who compares")
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
    told.places += [*([made] if made else []), f"{len(table)} rows; {ids} stays here: it says whose filter each is"]
    told.sign(out, beside={"ids": ids}, private=True)


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
    from deid.base.late import pd
    from deid.linkage import encodings
    from deid.table.table_files import read_table

    out = place.begin(told, inputs=table_of_files(a, b))
    read = [encodings.read_encoded(read_table(one, text=True), one) for one in (a, b)]
    if read[0][0] != read[1][0]:
        hint = "encode both with the same key and the same options"
        raise InputError(f"its filters were made in another way than those of {a}", hint, b)
    with working("comparing"):
        rows_a, rows_b, scores = encodings.match(
            read[0][2], read[1][2], threshold, tables=tables, one_to_one=one_to_one
        )
    ids = [[side[1][row] for row in rows] for side, rows in zip(read, (rows_a.tolist(), rows_b.tolist()), strict=True)]
    pairs = pd.DataFrame({"a": ids[0], "b": ids[1], "dice": scores.round(6)})
    place.write(pairs.sort_values(["dice", "a", "b"], ascending=[False, True, True]))
    told.extra = {"pairs": len(pairs), "rows_a": len(set(ids[0])), "rows_b": len(set(ids[1]))}
    told.places.append(f"{len(pairs)} pairs of {len(read[0][1])} and {len(read[1][1])} rows")
    told.sign(out, private=True)
