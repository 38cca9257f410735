"""Self-contained HTML pages: no script, style, font or image from elsewhere, so that a report works offline and
nothing of it leaves the machine that opens it (its Content-Security-Policy forbids that).

Templates are Jinja files under ``deid/templates``; they extend ``page.html`` and escape everything that is put into
them. Pages may show text of notes, so they are written with mode 0600.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.files import write_bytes

if TYPE_CHECKING:
    import jinja2

__all__ = ["printable", "render_html", "write_html"]

# What HTML cannot hold or a reader cannot see: control characters except tab and line feed, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


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
