"""Self-contained HTML pages: no script, style, font or image from elsewhere, so that a report works offline and
nothing of it leaves the machine that opens it (its Content-Security-Policy forbids that).

Templates are Jinja files under ``deid/templates``; they extend ``page.html`` and escape everything that is put into
them. Pages may show text of notes, so they are written with mode 0600.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.errors import OutputError
from deid.io.atomic import write_bytes

if TYPE_CHECKING:
    import jinja2

__all__ = ["manifest_path", "printable", "read_manifest", "render_html", "write_html", "write_manifest"]

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
    """Render a template of ``deid/templates``.

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


def manifest_path(out: Path) -> Path:
    """Return where the manifest of a released file lies: ``released.csv`` has ``released.csv.manifest.json``.

    Raises
    ------
    OutputError
        When there is one already.
    """
    beside = out.with_name(out.name + ".manifest.json")
    if beside.exists():
        raise OutputError("the file to write exists already", "name a new file", str(beside))
    return beside


def read_manifest(out: Path) -> dict[str, Any] | None:
    """Return the manifest of a released file, None where there is none, or it is another file's."""
    beside = out.with_name(out.name + ".manifest.json")
    try:
        values = json.loads(beside.read_text(encoding="utf-8"))
        own = values["output_sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return values if own else None


def write_manifest(out: Path, kind: str, content: Mapping[str, Any], *, inputs: Sequence[Path], version: str) -> None:
    """Write the manifest of a released file beside it: counts, parameters and findings, no record.

    Parameters
    ----------
    out : Path
        The released file; its checksum is written.
    kind : str
        Format and version of the content, such as ``deid release of codes 1``.
    content : mapping
        JSON values.
    inputs : sequence of Path
        Files that it was made from; their checksums are written, not their names.
    version : str
        Version of the program.

    Raises
    ------
    OutputError
        When it cannot be written.
    """
    values = {
        "format": kind,
        "version": version,
        "command": shlex.join(["deid", *sys.argv[1:]]),
        "input_sha256": [hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs if path.is_file()],
        "output_sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
        **content,
    }
    write_bytes(manifest_path(out), (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())
