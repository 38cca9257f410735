"""Files of releases: what is written is read again, and what is no release is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from deid.base.errors import ConfigError, FormatError, InputError, OutputError
from deid.dp.release_files import FORMATS, read_numbers, release_paths, write_numbers

METADATA: dict[str, Any] = {"private": True, "noise": "none ü", "level": 0.95, "unit": "row"}
FORM = ("form", 3)
WRITTEN = {**METADATA, "form": 3}
NUMERIC = ("count", "lower", "absent")
FRAME = pd.DataFrame(
    {
        # texts that readers of tables like to take for something else
        "level": ["NA", "", "007", "1.50", "ü, \"quoted\"", "nan", "True", "2020-01-01"],
        "count": [-3.0, 0.0, 0.1 + 0.2, 1e15, 123456789.123456, 1e-7, 5.0, 7.25],
        "lower": [1, 2, 3, 4, 5, 6, 7, 2**40],
    }
)  # fmt: skip


def changed(path: Path, **metadata: Any) -> None:
    """Write other metadata into the files of a release."""
    for own in release_paths(path):
        own.unlink()
    write_numbers(FRAME, {**WRITTEN, **metadata}, path, replace=False)


@pytest.mark.parametrize("suffix", FORMATS)
def test_texts_stay_texts_and_numbers_numbers(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write_numbers(FRAME, WRITTEN, path, replace=False)
    metadata, frame = read_numbers(path, NUMERIC, FORM)
    assert metadata == METADATA
    pd.testing.assert_frame_equal(frame, FRAME, rtol=1e-14, check_dtype=False)
    assert frame["level"].tolist() == FRAME["level"].tolist()
    assert frame[["count", "lower"]].dtypes.map(pd.api.types.is_numeric_dtype).all()
    files = [tmp_path / "x.csv", tmp_path / "x.csv.json"] if suffix == ".csv" else [path]
    assert sorted(tmp_path.iterdir()) == release_paths(path) == files
    if suffix != ".parquet":  # a person reads them, as what they are
        assert all(own.read_bytes().endswith(b"\n") for own in files)
        assert "none ü" in files[-1].read_text(encoding="utf-8")
        assert "ü, " in files[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_release_is_for_others_to_read_and_is_not_written_over(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    write_numbers(FRAME, WRITTEN, path, replace=False)
    assert {own.stat().st_mode for own in release_paths(path)} == {ordinary.stat().st_mode}
    kept = [own.read_bytes() for own in release_paths(path)]
    with pytest.raises(OutputError):
        write_numbers(FRAME.head(1), WRITTEN, path, replace=False)
    assert [own.read_bytes() for own in release_paths(path)] == kept
    write_numbers(FRAME.head(1), WRITTEN, path, replace=True)
    assert len(read_numbers(path, NUMERIC, FORM)[1]) == 1


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_does_not_say_whether_it_protects_is_no_release(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    with pytest.raises(InputError, match="no such file"):
        read_numbers(path, NUMERIC, FORM)
    write_numbers(FRAME, WRITTEN, path, replace=False)
    for wrong in ({"private": "no"}, {"private": 1}, {"noise": None}, {"noise": 1}, {"level": True}, {"level": 0},
                  {"level": 1}, {"level": 1.5}, {"level": -0.5}):  # fmt: skip
        changed(path, **wrong)
        with pytest.raises(ValueError):  # noqa: PT011
            read_numbers(path, NUMERIC, FORM)
    changed(path, form=4)
    with pytest.raises(FormatError, match="another version"):
        read_numbers(path, NUMERIC, FORM)
    for level in (0.01, 0.99):
        changed(path, level=level, private=False)
        assert read_numbers(path, NUMERIC, FORM)[0]["level"] == level


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    for name in ("x", "x.txt", "x.json.gz", "csv"):
        with pytest.raises(ConfigError):
            write_numbers(FRAME, WRITTEN, tmp_path / name, replace=False)
        assert not list(tmp_path.iterdir())
