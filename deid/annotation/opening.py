"""A project for what a user names: a project, or notes, beside which one is opened or made; and notes out of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid.annotation.project import Project, ProjectLabel
from deid.base.errors import ConfigError, InputError, require
from deid.base.options import option
from deid.document import Document, Tally
from deid.io import FORMATS, check_output, check_suffix, open_writer
from deid.io.conversion import Conversion
from deid.io.database_places import is_database
from deid.io.formats import Options, ReadingOptions, TargetOptions
from deid.io.reading import get_format
from deid.phi import LABEL_SETS, map_used_labels

_SUFFIX = ".annotations"


@dataclass(frozen=True, kw_only=True)
class ExportOptions(TargetOptions):
    """Whose annotations of which notes are written, and how."""

    annotator: str = option(..., "Whose marks.", metavar="NAME")
    unfinished: bool = option(False, "Notes that are not done too, with what is accepted so far.")
    any_label: bool = option(False, "Accept labels outside the format's label set.")


def open_or_create(
    source: Path | str, place: Path | None, labels: Sequence[str], reading: ReadingOptions
) -> tuple[Project, Tally, bool]:
    """Open the project of some notes, or make it, and put into it the notes that are new.

    Parameters
    ----------
    source : Path or str
        A project; or a file or folder of notes, or a database.
    place : Path, optional
        File of the project; by default beside ``source``.
    labels : sequence of str
        Of a new project, where the notes bring none: labels or label sets, each with ``=KEY`` behind it or not.
    reading : ReadingOptions

    Returns
    -------
    project : Project
    tally : Tally
        What was put into it.
    made : bool
        Whether it is new.

    Raises
    ------
    ConfigError
        When ``source`` and ``place`` do not go together, or a label is none.
    InputError
        When there are no notes.
    """
    if isinstance(source, Path) and is_database(source):
        require(place is None, "IN is a project, and --project names another one", "leave out one of them")
        return Project.open(source), Tally(), False
    if place is None:
        require(isinstance(source, Path), "a database needs --project", "name a file for the project")
        place = Path(source).absolute()
        place = place.with_name((place.name if place.is_dir() else place.stem) + _SUFFIX)
    found, made = reading.scan(source).as_texts(), not place.exists()
    if made:
        if next(iter(found.documents()), None) is None:
            raise InputError("there are no notes", "name a folder or file with some", str(source))
        annotated = any(getattr(item, "spans", ()) for item in found.documents())
        project = Project.create(place, () if annotated else _labels(labels))
    else:
        project = Project.open(place)
    return project, project.add(found.documents()), made


def _labels(said: Sequence[str]) -> list[ProjectLabel | str]:
    made: list[ProjectLabel | str] = []
    for part in said:
        category, named, key = part.partition("=")
        if not category.strip() or len(key) > 1 or (named and not key):
            raise ConfigError("--label is not a label, nor a label with a key", "for example: --label NAME=n")
        made += LABEL_SETS[part].names() if part in LABEL_SETS else [ProjectLabel(category, key) if named else category]
    return made


def export_notes(
    project: Path,
    target: Path,
    asked: ExportOptions,
    watch: Callable[[Iterator[Document]], Iterable[Document]] = iter,
) -> Conversion:
    """Write what an annotator accepted.

    Parameters
    ----------
    project, target : Path
        A project, and the new file or folder.
    asked : ExportOptions
    watch : callable
        Wraps the stream of documents, for progress.

    Raises
    ------
    DeidError
        When the project, the output, the format or the label set cannot be used.
    """
    format = get_format(asked.to, FORMATS)
    with Project.open(project) as opened:
        used = [label.category for label in opened.labels()]
        mapping = map_used_labels(used, asked.map).to if asked.map else None
        check_output(project, target)
        check_suffix(False, FORMATS["text"], target, format, FORMATS.values())  # a project is like a folder
        done = Conversion(target=asked.to)
        with open_writer(target, asked.to, Options(any_label=asked.any_label)) as writer:
            items = watch(opened.documents(asked.annotator, done=not asked.unfinished))
            done.write(items, writer, mapping, format, asked.drop_unmapped)
    return done.told()
