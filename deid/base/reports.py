"""Self-contained HTML pages: no script, style, font or image from elsewhere, so that a report works offline and
nothing of it leaves the machine that opens it (its Content-Security-Policy forbids that).

Templates are Jinja files under ``deid/templates``; they extend ``page.html`` and escape everything that is put into
them. Pages may show text of notes, so they are written with mode 0600.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.files import write_bytes
from deid.base.late import pd
from deid.base.plots import Figure, image

if TYPE_CHECKING:
    import jinja2

# What HTML cannot hold or a reader cannot see: control characters except tab and line feed, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Section:
    """A table of texts with a title and, where it needs one, a sentence about it: for terminals and pages."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    @classmethod
    def of(cls, title: str, records: Iterable[Any], forms: Mapping[str, str], note: str = "") -> Section:
        """Return a section with a row for each record.

        Parameters
        ----------
        title, note : str
        records : iterable
            Mappings, or objects with attributes.
        forms : mapping of str to str
            Name of a column -> how a record is shown in it, as `str.format` says: ``{recall:.4f}`` of a mapping,
            ``{0.recall:.4f}`` of an object. What is undefined (NaN, None) is shown as a dash, and
            an empty text stands for no number.
        """
        rows = []
        for record in records:
            named = record if isinstance(record, Mapping) else {}
            rows.append(tuple(_SHOWN.vformat(form, (record,), named) for form in forms.values()))
        return cls(title, tuple(forms), rows, note)


class _Shown(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return (
            "–"
            if value is None or value != value
            else ""
            if value == ""
            else str(super().format_field(value, format_spec))
        )


_SHOWN = _Shown()


def frame_section(title: str, frame: pd.DataFrame, note: str = "", digits: int = 5) -> Section:
    """Return a table of figures as a section.

    Parameters
    ----------
    title, note : str
    frame : DataFrame
        Its columns are named in words; truth values are shown as yes and no, what is undefined as nothing.
    digits : int
        Significant digits of numbers that are not whole.
    """

    def shown(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return "" if value != value else f"{value:.{digits}g}"
        return str(value)

    rows = [tuple(map(shown, row)) for row in frame.itertuples(index=False)]
    return Section(title, tuple(str(name).replace("_", " ") for name in frame.columns), rows, note)


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON values; what is undefined is None, which Python's encoder would write NaN."""
    found: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return found


def printable(text: str) -> str:
    """Make characters that a page cannot show visible as ``⟨U+0007⟩``; a carriage return becomes ``␍``."""
    return _UNPRINTABLE.sub(lambda match: "␍" if match[0] == "\r" else f"⟨U+{ord(match[0]):04X}⟩", text)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deid", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["printable"] = printable
    return environment


def render_html(template: str, **context: Any) -> str:
    """Return a template of ``deid/templates``, filled in.

    Parameters
    ----------
    template : str
        File name, such as ``evaluation.html``.
    **context
        What the template shows; a name that it needs and does not get is an error.
    """
    return _environment().get_template(template).render(**context)


def write_html(path: Path, template: str, **context: Any) -> None:
    """Render a template into a file, atomically and with mode 0600; a file that is there is replaced.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    write_bytes(path, render_html(template, **context).encode("utf-8"), replace=True)


def write_results(
    path: Path, title: str, results: Iterable[tuple[str, Sequence[Section], Iterable[tuple[bytes, str]]]]
) -> None:
    """Write a page of several results: the title of each, its tables, and its plots, each with what stands for it."""
    shown = [
        {"title": name, "sections": sections, "plots": [{"image": _inline(image), "alt": alt} for image, alt in plots]}
        for name, sections, plots in results
    ]
    write_html(path, "results.html", title=title, results=shown)


def _inline(image: bytes) -> str:
    return base64.b64encode(image).decode("ascii")


def write_page(
    path: Path, title: str, sections: Sequence[Section], figures: Iterable[Figure] = (), note: str = ""
) -> None:
    """Write a self-contained page with tables and plots, as `write_html` does.

    Parameters
    ----------
    path : Path
    title, note : str
        The note stands below the title.
    sections : sequence of Section
    figures : iterable of Figure
    """
    plots = [_inline(image(figure)) for figure in figures]
    write_html(path, "tables.html", title=title, note=note, sections=sections, plots=plots)
