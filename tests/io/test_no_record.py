"""A file of many records that holds none (a header alone, an empty list) is told: nothing was written of it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import attempt

from deid.base.errors import DeidError
from deid.document import Failure
from deid.io import FORMATS, CollectionFormat, scan
from deid.io.formats import Options

HEADERS = {"h.csv": b"person_id,note\n", "h.tsv": b"person_id\tnote\r\n", "h.jsonl": b"", "blank.jsonl": b"\n \n"}


def _parquet(place: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"person_id": pa.array([], pa.int64()), "note": pa.array([], pa.string())}), place)


@pytest.mark.parametrize("name", [*HEADERS, "h.parquet"])
def test_every_command_of_notes_tells_it(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    if name == "h.parquet":
        _parquet(place)
    else:
        place.write_bytes(HEADERS[name])
    out = tmp_path / f"out{place.suffix}"
    shared = ("--model", "none")
    for command in (
        ("scrub", place, out, *shared),
        ("scrub", place, "--preview", *shared),
        ("tag", place, tmp_path / "tagged.jsonl", "--to", "jsonl", *shared),
        ("convert", place, tmp_path / "other.jsonl", "--to", "jsonl"),
        ("verify", place, place, *shared),
        ("extract", place, tmp_path / "persons.csv", *shared),
    ):
        try:
            status, said = attempt(*command)
        except DeidError as error:
            status, said = 2, str(error)
        assert status != 0, command
        assert "holds no record" in said or "is empty" in said, command
    assert not out.exists()


# a writer of Parquet needs a document to know its columns
COLLECTIONS = [n for n, kind in FORMATS.items() if isinstance(kind, CollectionFormat) and n != "parquet"]


@pytest.mark.parametrize("name", COLLECTIONS)
def test_no_collection_without_a_record_reads_as_if_all_were_well(name: str, tmp_path: Path) -> None:
    """As a writer leaves it that was given none."""
    format = FORMATS[name]
    assert isinstance(format, CollectionFormat)
    with ExitStack() as stack:
        suffixes = (format.suffixes[0], *format.companions)
        streams = {suffix: stack.enter_context((tmp_path / f"none{suffix}").open("wb+")) for suffix in suffixes}
        format.write(streams, Options()).finish()
    found = list(scan(tmp_path / f"none{format.suffixes[0]}", name).documents())
    assert found
    assert all(isinstance(one, Failure) for one in found)
