"""Files of releases: a table of numbers, and metadata.

As Parquet the metadata lie in the file's schema, as JSON in the same object, as CSV in a second file ``NAME.csv.json``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deid.base.errors import FormatError, InputError, require
from deid.base.files import atomic_files
from deid.base.late import pd
from deid.dp.intervals import check_level
from deid.dp.unit import PrivacyUnit
from deid.table.table_writing import csv_quoting

FORMATS = (".parquet", ".csv", ".json")
"""Suffixes of release files."""
NOT_PRIVATE = "NOT_PRIVATE"
"""Column that marks every row of a release made with test noise."""


class ReleaseFacts:
    """What a release's metadata say of it, for every kind of release."""

    metadata: Mapping[str, Any]

    @property
    def private(self) -> bool:
        """Whether it was made with noise that protects."""
        return bool(self.metadata["private"])

    def level(self, asked: float | None = None) -> float:
        """Return the level of intervals that is asked for, by default the release's own."""
        return check_level(float(self.metadata["level"]) if asked is None else asked)

    def marked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return numbers as they are shown: those made with test noise are marked in every row."""
        return frame if self.private else frame.assign(**{NOT_PRIVATE: self.metadata["noise"]})


def unit_of(metadata: Mapping[str, Any]) -> PrivacyUnit:
    """Return whom a release protects, by its metadata."""
    return PrivacyUnit(metadata["unit"], metadata["relation"], metadata["max_rows"])


def check_suffix(path: Path) -> str:
    """Return the suffix of a release file.

    Raises
    ------
    ConfigError
        When it is none of `FORMATS`.
    """
    require(path.suffix in FORMATS, "a release is written as .parquet, .csv or .json", "for example: -o cube.parquet")
    return path.suffix


def release_paths(path: Path) -> list[Path]:
    """Return the files of a release: its own, and the metadata beside CSV."""
    return [path, path.with_name(path.name + ".json")] if check_suffix(path) == ".csv" else [path]


def write_numbers(frame: pd.DataFrame, metadata: Mapping[str, Any], path: Path, *, replace: bool) -> None:
    """Write a release's table and metadata; the suffix tells the format.

    Raises
    ------
    ConfigError
        When the suffix is none of `FORMATS`.
    OutputError
        When a file exists already, or cannot be written.
    """
    text = json.dumps(metadata, indent=2, ensure_ascii=False)
    with atomic_files(release_paths(path), private=False, replace=replace) as streams:
        if len(streams) == 2:
            streams[0].write(frame.to_csv(index=False, lineterminator="\n", quoting=csv_quoting(frame)).encode())
            streams[1].write((text + "\n").encode())
        elif path.suffix == ".json":
            rows = json.loads(frame.to_json(orient="records", double_precision=15))
            streams[0].write((json.dumps({"metadata": metadata, "rows": rows}, ensure_ascii=False) + "\n").encode())
        else:
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            table = table.replace_schema_metadata({b"deid": text.encode()})
            pyarrow.parquet.write_table(table, streams[0])


def read_numbers(path: Path, numeric: Sequence[str], form: tuple[str, int]) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return metadata and table of a release; ``numeric`` names the columns that are numbers where they occur.

    The metadata say of which form and version it is by ``form``, which is taken out.

    Raises
    ------
    InputError
        When there is no file.
    OSError, ValueError, KeyError, TypeError, RecursionError
        When the file is no release; callers turn these into a message of their own.
    """
    if not path.exists():
        raise InputError("the release cannot be read: there is no such file", "look at its name", str(path))
    metadata, frame = _read(path, numeric)
    if metadata.pop(form[0]) != form[1]:
        raise FormatError("a release of another version", "read it with the version that made it", str(path))
    # what every release says of itself; without it a reader could take test noise for what protects
    private, noise, level = (metadata[name] for name in ("private", "noise", "level"))
    if not isinstance(private, bool) or not isinstance(noise, str) or isinstance(level, bool) or not 0 < level < 1:
        raise ValueError
    return metadata, frame


def _read(path: Path, numeric: Sequence[str]) -> tuple[dict[str, Any], pd.DataFrame]:
    suffix = check_suffix(path)
    if suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        return content["metadata"], pd.DataFrame(content["rows"])
    if suffix == ".csv":
        metadata = json.loads(path.with_name(path.name + ".json").read_text(encoding="utf-8"))
        frame = pd.read_csv(io.BytesIO(path.read_bytes()), dtype=str, keep_default_na=False)
        for name in numeric:
            if name in frame:
                frame[name] = pd.to_numeric(frame[name])
        return metadata, frame
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return json.loads(table.schema.metadata[b"deid"]), table.to_pandas()
