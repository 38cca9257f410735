"""The command report open: results of other commands as a page."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from deid.base.errors import ConfigError
from deid.cli import Summary, argument, command, option


@command
def open_report(
    told: Summary,
    *,
    source: Path = argument("What a command wrote with --json, or a folder of such files.", metavar="RUN|FILE"),
    output: Path | None = option(None, "Write the page to this file instead of opening it.", "--output", "-o"),
) -> None:
    """Show results with their plots on one page that can be printed.

    Reads what these commands wrote with --json: evaluate, crossval, calibrate, experiment, ru-map, anonymize. Without
    --output the page opens in the browser.

    Example: deid report open scores.json -o scores.html
    """
    from deid.base.plots import image
    from deid.base.reports import write_results
    from deid.experiments.results import find_results, show_results

    if output is None and not _has_browser():
        raise ConfigError("there is no browser to open the page in", "write it to a file with --output PAGE.html")
    shown = show_results(find_results(source), source)
    place = output or Path(tempfile.mkdtemp(prefix="deid-report-")) / "report.html"
    title = shown[0].title if len(shown) == 1 else "Results"
    results = ((one.title, one.sections, [(image(plot.figure), plot.alt) for plot in one.plots]) for one in shown)
    write_results(place, title, results)
    told.places.append(f"wrote {place}")
    if output is None:
        import webbrowser

        webbrowser.open(place.as_uri())


def _has_browser() -> bool:
    """Return whether somebody looks at this terminal who has a display."""
    shown = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return shown and sys.stdout.isatty()
