"""Shows what scrubbing would change: originals and replacements side by side, on the terminal only."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from deid.cli import EXIT_FAILED
from deid.document import Document, Failure

if TYPE_CHECKING:
    from rich.text import Text

    from deid.io import Source
    from deid.pipeline import Pipeline, Scrubbed


def show(pipeline: Pipeline, source: Source, count: int) -> int:
    """Print the changes in the first ``count`` documents on standard output; return the exit status.

    What is shown holds PHI: the user asked to see it. Nothing is written anywhere.
    """
    from rich.console import Console
    from rich.rule import Rule

    from deid.pipeline import Scrubbed

    console = Console(highlight=False, soft_wrap=True)
    status = 0
    for item in islice(source.documents(), count):
        result = next(pipeline.pipe([item]))
        if isinstance(item, Document) and isinstance(result, Scrubbed):
            console.print(Rule(f"{item.name}: {len(result.edits)} changes"))
            console.print(_diff(item, result, colours=console.is_terminal))
        elif isinstance(result, Failure):
            console.print(f"failed: {result.name}: {result.error}", markup=False)
            status = EXIT_FAILED
    return status


def _diff(document: Document, scrubbed: Scrubbed, *, colours: bool) -> Text:
    """Return the lines that change, each with its originals struck out in red and its replacements in green."""
    from rich.text import Text

    text, new = document.text, scrubbed.document.text
    out = Text()
    read = 0  # end of the line that was shown last
    for line_start, line_end, edits in scrubbed.changed_lines(text):
        if line_start > read:
            out.append("…\n", style="dim")
        at = line_start
        for edit in edits:
            out.append(_plain(text[at : edit.start]))
            old, replacement = _plain(text[edit.start : edit.end]), _plain(new[edit.new_start : edit.new_end])
            out.append(old if colours else f"[-{old}-]", style="red strike")
            out.append(replacement if colours else f"{{+{replacement}+}}", style="green")
            at = edit.end
        out.append(_plain(text[at:line_end]))
        if not out.plain.endswith("\n"):
            out.append("\n")
        read = line_end
    return out


def _plain(text: str) -> str:
    """Return text without control characters, which could drive the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text.replace("\r\n", "\n"))
