"""Trajectories as the table that may leave, from the table of diagnoses on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from deid.base.errors import ConfigError, InputError, method_fault
from deid.base.late import pd
from deid.base.options import option
from deid.base.plots import COLOURS, new_figure
from deid.base.reports import Section, write_page
from deid.linkage.look_alikes import check_ids
from deid.table.cell_text import text_list
from deid.table.hierarchy import Hierarchy, read_hierarchy
from deid.table.hierarchy_builders import BUILDERS, build_hierarchy
from deid.table.microdata import check_columns
from deid.trajectories.clustering import TrajectoryRelease, anonymize_trajectories
from deid.trajectories.measures import average_relative_error, check_trajectories, loss_of
from deid.trajectories.records import (
    Trajectories,
    age_text,
    suppress_repeats,
    trajectories_of_table,
    values_of_persons,
)

_WIDTHS = (5, 10, 20, 40)
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
_COLUMNS, _JOINING = "Columns of TABLE", "How trajectories are joined"


@dataclass(frozen=True)
class DiagnosisColumns:
    """What a table of diagnoses holds."""

    PANEL: ClassVar[str] = _COLUMNS
    person: str = option("person", "Whose diagnosis it is.", metavar="COLUMN", panel="")
    code: str = option("code", "The diagnosis code.", metavar="COLUMN", panel="")
    age: str = option("age", "The age at the diagnosis.", metavar="COLUMN", panel="")
    code_hierarchy: str = option(
        "icd-10-cm", "CSV in ARX's form, icd-10-cm, icd-9-cm or prefixes.", metavar="FILE|NAME"
    )
    age_hierarchy: Path | None = option(
        None, "CSV in ARX's form; else intervals of 5, 10, 20, 40 years.", metavar="FILE"
    )
    own_leaf: bool = option(False, "Codes outside the hierarchy are leaves of their own.")


@dataclass(frozen=True)
class TrajectoryOptions(DiagnosisColumns):
    """What a table of diagnoses holds, and how its trajectories are released."""

    k: int = option(5, "How often each published trajectory occurs.", panel="")
    attach: str | None = option(None, "Column to release beside each trajectory (DNA, for instance).", metavar="COLUMN")
    sensitive: str | None = option(
        None, "Sensitive column, one value a person.", "--sensitive-column", metavar="COLUMN"
    )
    l: int = option(1, "Distinct sensitive values of equal trajectories, at least.")  # noqa: E741
    weight: float = option(0.5, "Weight of codes against ages, 0 to 1.", "--code-weight", panel=_JOINING)
    method: str = option("a-gs", "How trajectories are joined.", metavar="a-gs|baseline", panel=_JOINING)
    persons_as_given: bool = option(
        False,
        "Ids that differ in blanks, hyphens, leading zeros, case or look-alike signs alone are different persons.",
        panel=_COLUMNS,
    )
    cut_repeats: bool = option(
        False, "First cut numbers of repetitions of a code that fewer than k have.", panel=_JOINING
    )
    seed: int = option(0, "Seed of the one random choice.", panel=_JOINING, minimum=0)


@dataclass(frozen=True, repr=False)
class Published:
    """A release of trajectories, verified.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table that may leave.
    figures : dict
        Counts, level and losses.
    sizes : tuple of int
        Persons of each cluster.
    fates : mapping of str to str
        What became of each column of the original.
    """

    frame: pd.DataFrame
    figures: dict[str, Any]
    sizes: tuple[int, ...]
    fates: Mapping[str, str]

    def __str__(self) -> str:
        f = self.figures
        return (
            f"{f['persons']} persons in {f['clusters']} clusters; every trajectory occurs at least {f['level']} times; "
            f"loss of codes {f['ilm']:.3f}, of ages {f['alm']:.3f}; {f['suppressed']} of {f['pairs']} pairs "
            f"suppressed; relative error of {f['queries']} counts {f['average_relative_error']:.3f}"
        )

    def write_report(self, path: Path, made: Section) -> None:
        """Write figures and sizes of clusters as a page; ``made`` says how they were made."""
        figure, axes = new_figure(6, 3)
        axes.hist(self.sizes, bins=range(min(self.sizes), max(self.sizes) + 2), color=COLOURS[1])
        axes.set(xlabel="persons of a cluster", ylabel="clusters")
        rows = [(n.replace("_", " "), f"{v:.4f}" if isinstance(v, float) else str(v)) for n, v in self.figures.items()]
        write_page(path, "Release of trajectories", [Section("Release", ("", "figure"), rows), made], [figure])


def read_diagnoses(frame: pd.DataFrame, asked: DiagnosisColumns, sensitive: str | None = None) -> Trajectories:
    """Return the trajectories of a table of diagnoses, all cells texts; see `trajectories_of_table` for errors."""
    check_columns(frame, [asked.person, asked.code, asked.age])
    return trajectories_of_table(
        frame, *_hierarchies(frame, asked), person=asked.person, code=asked.code, age=asked.age,
        sensitive=sensitive, own_leaf=asked.own_leaf,
    )  # fmt: skip


def release_diagnoses(frame: pd.DataFrame, asked: TrajectoryOptions) -> Published:
    """Release the trajectories of a table of diagnoses.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a diagnosis, all cells texts.
    asked : TrajectoryOptions

    Returns
    -------
    Published
        The table that may leave, with the figures of its report.

    Raises
    ------
    ConfigError, InputError
        When a column or hierarchy is missing, a column is named for two things, ids of persons are written in several
        ways, or too few persons are there.
    OutputError
        When the verifier rejects the release.
    """
    beside = [name for name in (asked.attach, asked.sensitive) if name]
    own = [asked.person, asked.code, asked.age]
    check_columns(frame, [*own, *beside])
    for name in {name for name in beside if name in own or beside.count(name) > 1}:
        raise ConfigError(f"column {name!r} is named for two things", "each column is one: person, code, age or beside")
    if not asked.persons_as_given:
        check_ids(text_list(frame[asked.person], key=True))
    data = read_diagnoses(frame, asked, asked.sensitive)
    cut = 0
    if asked.cut_repeats:
        data, cut = suppress_repeats(data, asked.k)
    release = anonymize_trajectories(
        data, asked.k, weight=asked.weight, method=asked.method, diversity=asked.l, seed=asked.seed
    )
    cells = values_of_persons(frame, asked.person, asked.attach) if asked.attach else {}
    published, level = _published(release, asked, cells)
    loss = loss_of(release)
    error, queries = average_relative_error(release)
    figures = {"persons": len(data), "level": level, "clusters": len(release.clusters), **asdict(loss)}
    figures |= {"suppressed": loss.suppressed + cut, "pairs": loss.pairs + cut}
    figures |= {"average_relative_error": error, "queries": queries}
    fates = dict.fromkeys(frame.columns, "left out") | {asked.code: "generalized", asked.age: "generalized"}
    fates |= {asked.attach: "published"} if asked.attach else {}
    return Published(published, figures, tuple(len(c.members) for c in release.clusters), fates)


def _hierarchies(frame: pd.DataFrame, asked: DiagnosisColumns) -> tuple[Hierarchy, Hierarchy]:
    """Return the hierarchies of codes and ages."""
    codes = sorted({cell for cell in text_list(frame[asked.code]) if cell})
    ages = text_list(frame[asked.age])
    years = sorted({age_text(cell) for cell in ages if cell})
    if asked.code_hierarchy in BUILDERS:
        tree = build_hierarchy(asked.code_hierarchy, codes)
    else:
        tree = read_hierarchy(Path(asked.code_hierarchy))
    if asked.age_hierarchy:
        return tree, read_hierarchy(asked.age_hierarchy)
    for row, cell in enumerate(ages, 1):
        if cell and not _NUMBER.fullmatch(cell):
            raise InputError("an age is no number", "write years as 45 or 45.5", f"column {asked.age!r}", f"row {row}")
    return tree, build_hierarchy("intervals", years, widths=_WIDTHS)


def _published(
    release: TrajectoryRelease, asked: TrajectoryOptions, cells: Mapping[str, str]
) -> tuple[pd.DataFrame, int]:
    """Verify a release and return it as a table, a row a pair, and how often the rarest trajectory occurs.

    Records are numbered in the order of what is published of them, so that their numbers tell nothing. A person of whom
    no pair is published has one row. ``cells`` are those of the attached column, by person.
    """
    data = release.data
    published = release.published()
    good, level, place = check_trajectories(published, release.k, data, asked.l)
    if not good:
        raise method_fault(f"the release does not hold: trajectory {(place or 0) + 1}")
    records = sorted(
        ([(data.codes.names[c], data.ages.names[a]) for c, a in pairs.tolist()], cells.get(who, ""))
        for who, pairs in zip(data.people, published, strict=True)
    )
    rows: list[dict[str, object]] = []
    for number, (pairs, cell) in enumerate(records, 1):
        beside = {asked.attach: cell or None} if asked.attach else {}
        rows += [{"record": number, asked.code: c, asked.age: a, **beside} for c, a in pairs or [(None, None)]]
    return pd.DataFrame(rows, columns=["record", asked.code, asked.age, *filter(None, [asked.attach])]), level
