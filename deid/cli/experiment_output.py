"""What the commands of experiments share: options that list numbers, progress, tables, pages and plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trainings", "check_outputs", "numbers", "show", "write_rows"]

_Number = TypeVar("_Number", int, float)


def numbers(text: str, kind: Callable[[str], _Number], option: str) -> tuple[_Number, ...]:
    """Read an option that lists numbers with commas between."""
    from deid.base.errors import ConfigError

    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ConfigError(f"{option} is no list of numbers", "put commas between, for example: 4,16,64") from None


class Trainings:
    """Shows the number of trainings done in one line on a terminal."""

    def __init__(self) -> None:
        import sys

        self._stream = sys.stderr if sys.stderr.isatty() else None

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` trainings are done."""
        if self._stream:
            self._stream.write(f"\rtraining: {done} of {total} done{chr(10) if done == total else ''}")
            self._stream.flush()


def check_outputs(*files: Path | None, plot: Path | None = None) -> None:
    """Refuse a file that cannot be written before hours of training rather than after them."""
    from deid.base.errors import OutputError
    from deid.base.plots import check_image

    if plot is not None:
        check_image(plot)
    for file in (*files, plot):
        if file is not None and not file.parent.is_dir():
            raise OutputError("there is no folder for this file", "make the folder first", str(file))


def write_rows(path: Path, frame: pd.DataFrame, settings: dict[str, Any]) -> None:
    """Write an experiment's settings and rows as JSON."""
    # pandas writes what is undefined as null, which Python's own encoder would write as NaN
    rows = json.loads(frame.to_json(orient="records", double_precision=15))
    write_json(path, {"settings": settings, "rows": rows})


def show(
    title: str,
    frame: pd.DataFrame,
    section: Any,
    draw: Callable[[pd.DataFrame], Any],
    html: Path | None,
    plot: Path | None,
) -> None:
    """Print an experiment's table and write what was asked for."""
    from deid.base.files import write_bytes
    from deid.base.plots import check_image, image
    from deid.experiments.page import write_page

    print_sections([section])
    if html is not None:
        write_page(html, title, [section], draw(frame))
    if plot is not None:
        write_bytes(plot, image(draw(frame), check_image(plot)), private=False, replace=True)
