"""More general values in place of the originals: out of a hierarchy file, or out of an anonymized table.

`generalize` recodes each value by itself. `published_value` writes back what an anonymized table holds for the person
whom a place in a note is about: whoever anonymizes the table knows which cell was extracted from which place, and lists
document, offsets and published value. Both write a label for what they do not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deid.base.errors import ConfigError, require, told_as
from deid.base.files import read_rows
from deid.document import Document, Span
from deid.reading.dictionaries import fold_phrase
from deid.replacement.operators import label_for, of_each
from deid.replacement.scope import Operator, Scope
from deid.table.hierarchy import read_hierarchy


def generalize(*, hierarchy: Path, level: int = 1) -> Operator:
    """Return the operator that replaces a value by its ancestor in a hierarchy.

    Parameters
    ----------
    hierarchy : Path
        CSV file, a line a leaf: ``leaf;level 1;...;*`` (see `deid.table.hierarchy`). Case, accents and white space do
        not count when a text is looked up. A relative path begins at the policy's folder.
    level : int
        Steps of generality; 0 leaves the value, the highest writes the root.

    Raises
    ------
    ConfigError
        When the file is no hierarchy, or has no such level.
    """
    tree = read_hierarchy(hierarchy)
    if not 0 <= level <= tree.height:
        raise ConfigError(f"the hierarchy has no level {level}", f"its levels are 0 to {tree.height}", str(hierarchy))
    known = {fold_phrase(value): tree.generalize(value, level) for value in tree}
    return of_each(lambda category, text: known.get(fold_phrase(text)) or label_for(category, text))


def published_value(*, values: Path = Path()) -> Operator:
    """Return the operator that writes the values of an anonymized table.

    Parameters
    ----------
    values : Path
        CSV file with the columns ``document``, ``start``, ``end``, ``value``: the document's id, the offsets of the
        place in its original text, and the published value. Without it every value counts as suppressed. A relative
        path begins at the policy's folder.

    Raises
    ------
    ConfigError
        When the file cannot be used.
    """
    published = {} if values == Path() else _read_values(values)

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        return [
            published.get((scope.document_id, s.start, s.end)) or label_for(s.category, document.text[s.start : s.end])
            for s in spans
        ]

    return operate


def _read_values(path: Path) -> dict[tuple[str, int, int], str]:
    hint = "it needs the columns document, start, end and value, one line a place"
    published: dict[tuple[str, int, int], str] = {}
    for line, row in read_rows(path, ("document", "start", "end", "value"), hint):
        with told_as(ConfigError("not a published value", hint, str(path), f"line {line}"), ValueError):
            place = row["document"], int(row["start"]), int(row["end"])
        require(place not in published, "a second value for the same place", hint, str(path), f"line {line}")
        published[place] = row["value"]
    return published
