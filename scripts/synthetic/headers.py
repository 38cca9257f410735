"""Headers of fields in random order and layout: more kinds than anyone writes down. Only training notes get them."""

from __future__ import annotations

from functools import cache

from .draw import Draw
from .pools import ROOT
from .template import Template, blocks

_SEPARATORS = ((": ", 60), (":", 12), (":  ", 8), (" - ", 4), ("\t", 4), (" = ", 1), (" ", 5), (" : ", 4), (":\t", 2))


@cache
def _fields(uk: bool) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return (labels, fillings) of each field."""
    block = next(
        b for b in blocks(ROOT / "blocks" / "header_fields.txt", "fields") if ("uk" in b.options) == uk and b.options
    )
    rows = (line.split("|", 1) for line in block.text.splitlines())
    return tuple((tuple(labels.split(";")), tuple(fillings.split(";"))) for labels, fillings in rows)


def make_header(draw: Draw, uk: bool) -> Template:
    """Return a header: the patient's name, then some other fields, in one of several layouts."""
    name, *others = _fields(uk)
    chosen = [name]
    for _ in range(draw.between(2, 9)):
        field = others.pop(draw.below(min(len(others), 12 if draw.chance(0.6) else 99)))
        chosen.insert(draw.between(0 if draw.chance(0.15) else 1, len(chosen)), field)
    separator = draw.weighted(_SEPARATORS)
    case = draw.weighted((("", 70), ("upper", 20), ("lower", 10)))
    cells = []
    for labels, fillings in chosen:
        label = draw.pick(labels)
        label = label.upper() if case == "upper" else label.lower() if case == "lower" else label
        bare = draw.chance(0.04)  # some systems print no labels
        cells.append(draw.pick(fillings) if bare else label + separator + draw.pick(fillings))
    return Template("fields", "headers", _lay_out(cells, draw) + "\n", frozenset())


def _lay_out(cells: list[str], draw: Draw) -> str:
    kind = draw.weighted((("lines", 45), ("pairs", 25), ("row", 8), ("pipes", 8), ("boxed", 6), ("list", 8)))
    if kind == "lines":
        return "\n".join(cells)
    if kind == "pairs":
        gap = draw.pick(("    ", "  ", "\t", "          "))
        size = draw.between(2, 3)
        return "\n".join(gap.join(cells[i : i + size]) for i in range(0, len(cells), size))
    if kind == "row":
        return draw.pick(("  ", ", ", "; ", "   ")).join(cells)
    if kind == "pipes":
        return " | ".join(cells)
    if kind == "boxed":
        line = draw.pick("-=*_") * draw.between(20, 70)
        return "\n".join((line, *cells, line))
    return "\n".join(draw.pick(("* ", "- ", "  ")) + cell for cell in cells)
