"""The command explain: why each span was found, and why nothing was found somewhere."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.errors import ConfigError, DeidError, InputError
from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.notes import ReadingOptions
from deid.cli.option_groups import command
from deid.cli.tables import print_sections
from deid.detection.options import RecognizerOptions
from deid.document import Failure

if TYPE_CHECKING:
    from deid.document import Document


@command
def explain(
    told: Summary,
    *,
    source: Path = argument("File or folder of any readable format.", metavar="NOTE"),
    number: int = option(1, "Which document of NOTE.", minimum=1),
    at: tuple[str, ...] = option(
        (), "Explain each word there, also where nothing was found (repeatable).", metavar="START:END"
    ),
    show_text: bool = option(False, "Show the words too: PHI on your terminal (never in the JSON)."),
    policy: str | None = option(None, "Show what this policy does with each span, too.", metavar="NAME|F"),
    said: RecognizerOptions,
    reading: ReadingOptions,
) -> None:
    """Say why each span of a note was found, and what was proposed in vain.

    Shows offsets, categories, rules and figures; the text only with --show-text. The spans are those that deid scrub
    and deid tag find with the same options.

    Example: deid explain note.txt --at 120:135 --show-text
    """
    from deid.detection.explanation_tables import explanation_sections
    from deid.pipeline.known_people import recognizer_of
    from deid.replacement.policy import load_policy

    document = _document(source, number, reading)
    places = [_place(text, len(document.text)) for text in at]
    loaded = load_policy(policy) if policy else None
    recognizer = recognizer_of(said)
    explanation = recognizer.explain(document, places)
    print_sections(explanation_sections(explanation, document, loaded, show=show_text, asked=bool(places)))
    told.documents, told.extra = 1, explanation.as_dict()
    told.categories.update(item.span.category for item in explanation.spans)


def _document(path: Path, number: int, reading: ReadingOptions) -> Document:
    """Read one document."""
    item = next(islice(reading.scan(path).documents(), number - 1, None), None)
    if item is None:
        raise ConfigError(f"there is no document {number}", "--number counts the documents from 1", str(path))
    if isinstance(item, Failure):
        if isinstance(item.error, DeidError):
            raise item.error
        raise InputError("the document cannot be read", "look at its format and encoding", item.name)
    return item


def _place(text: str, length: int) -> tuple[int, int]:
    """Read START:END."""
    start, colon, end = text.partition(":")
    if not (colon and start.isdecimal() and end.isdecimal() and int(start) < int(end) <= length):
        raise ConfigError(
            "--at is no place in the note", f"START:END in characters from 0, such as 120:135; the note has {length}"
        )
    return int(start), int(end)
