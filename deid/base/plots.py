"""Figures for files and pages: one style, and the same bytes for the same numbers. The only importer of matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import require
from deid.base.files import check_folder, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:
    Figure = Any

IMAGES = ("svg", "png")
"""Image formats, also the suffixes of their files."""

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
"""Okabe and Ito's colours, which colour-blind readers tell apart."""


def check_image(path: Path) -> str:
    """Return the image format that a file's suffix names.

    Raises
    ------
    ConfigError
        When it names none.
    """
    kind = path.suffix.lower().removeprefix(".")
    require(kind in IMAGES, "the plot's file has another suffix than .svg or .png", "for example: plot.svg")
    return kind


def image(figure: Figure, kind: str = "svg") -> bytes:
    """Return a figure drawn as ``kind``, ``svg`` or ``png``; equal figures give equal bytes."""
    import matplotlib

    stream = io.BytesIO()
    # text stays text, element ids come from a fixed salt, and no date is written
    with matplotlib.rc_context({"svg.hashsalt": "deid", "svg.fonttype": "none"}):
        figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return stream.getvalue()


def check_plot(path: Path | None) -> None:
    """Refuse a plot that cannot be written, before work or a budget is spent on it; None is no plot."""
    if path is not None:
        check_image(path)
        check_folder(path)


def write_plot(path: Path | None, draw: Callable[[], Figure] | None) -> None:
    """Draw and write a plot, where one is asked for and there is one."""
    if path is not None and draw is not None:
        write_bytes(path, image(draw(), check_image(path)), private=False, replace=True)


def new_figure(width: float, height: float, plots: int = 1, *, grid: bool = False, **how: Any) -> tuple[Figure, Any]:
    """Return an empty figure of a width and height in inches, and its axes: of several plots, from left to right."""
    from matplotlib import figure

    made = figure.Figure(figsize=(width, height), layout="constrained", dpi=110)
    every = made.subplots(1, plots, **how)
    for axes in made.axes if grid else ():
        axes.grid(alpha=0.3)
    return made, every


def draw_lines(axes: Any, frame: Any, by: str, x: str, y: str, *, dashed: Collection[str] = ()) -> None:
    """Draw a line with marks for each value of the column ``by``, in the order of the rows."""
    for number, (key, points) in enumerate(frame.groupby(by, sort=False)):
        style, colour = "--" if key in dashed else "-", COLOURS[number % len(COLOURS)]
        axes.plot(points[x].to_numpy(), points[y].to_numpy(), style, marker="o", color=colour, label=str(key))
