"""Telling the format of a file or a folder by suffix and content, when the user names none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from deid.base.errors import FormatError, InputError, require
from deid.base.files import refused_as
from deid.io.folder import shown_suffix, split_suffix
from deid.io.formats import DocumentFormat, Format

_HEAD = 1 << 16
_SAMPLE = 5
"""So many files of a suffix are looked into."""


def sniff_file(
    path: Path, formats: Mapping[str, Format], beside: Collection[str] | None = None, sure: bool = False
) -> Format | None:
    """Return the format of one file, or None.

    A file whose suffix is known but whose content is not gets the plainest format of that suffix (the last in the
    table): reading it will say what is wrong.

    Parameters
    ----------
    path : Path
    formats : mapping of name to Format
        Tried in this order, those that share the file's suffix first.
    beside : collection of str, optional
        Suffixes of the files with the same stem; looked up on the disk when not given.
    sure : bool
        Return None rather than a format whose content does not look like it.

    Raises
    ------
    InputError
        When the path is no regular file, or cannot be read.
    """
    require(path.is_file(), "this is no regular file", "name a file or a folder", kind=InputError)
    with refused_as(InputError, "the file cannot be read", "check path and rights"), path.open("rb") as stream:
        head = stream.read(_HEAD)
    suffix = split_suffix(path.name)[1]
    if beside is None:
        beside = {s for f in formats.values() for s in f.companions if path.with_suffix(s).is_file()}
    known = [f for f in formats.values() if suffix in f.suffixes]
    for candidate in known or [f for f in formats.values() if not f.needs_suffix]:
        required = candidate.companions and isinstance(candidate, DocumentFormat)
        if required and not set(candidate.companions) <= set(beside):
            continue
        if candidate.matches(head):
            return candidate
    return known[-1] if known and not sure else None


def sniff_names(root: Path, names: Sequence[str], formats: Mapping[str, Format]) -> Format:
    """Return the format that most files of a folder have.

    Parameters
    ----------
    root : Path
        The folder.
    names : sequence of str
        Its files, relative to it; a sample of each suffix is looked at.
    formats : mapping of str to Format
        Tried in this order.

    Raises
    ------
    FormatError
        When no file has a known format, or two formats have equally many.
    """
    by_suffix: dict[str, list[str]] = defaultdict(list)
    stems: dict[str, set[str]] = defaultdict(set)
    companions = {suffix for f in formats.values() for suffix in f.companions}
    for name in names:
        stem, suffix = split_suffix(name)
        if suffix in companions:
            stems[stem].add(suffix)
        by_suffix[suffix].append(name)
    votes: dict[str, float] = defaultdict(float)
    for sure in (True, False):
        for suffix, group in by_suffix.items():
            if suffix in companions or not any(suffix in f.suffixes for f in formats.values()):
                continue
            sample = group[:: max(1, len(group) // _SAMPLE)][:_SAMPLE]
            for name in sample:
                try:
                    found = sniff_file(root / name, formats, stems.get(split_suffix(name)[0], ()), sure=sure)
                except InputError:
                    continue  # it will fail visibly when it is read
                if found is not None:
                    votes[found.name] += len(group) / len(sample)
        if votes:
            break
    if not votes:
        require(names, "the folder holds no file", "name a folder with notes in it", kind=FormatError)
        kinds = Counter(shown_suffix(split_suffix(name)[1]) or "without suffix" for name in names)
        there = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        raise FormatError(
            f"no file here has a format that can be told (files: {there})",
            f"name one with --from: {', '.join(formats)}; Excel files must be saved as CSV first",
        )
    for name in list(votes):
        votes[name] += sum(votes[other] for other in formats[name].reads_too if other in votes)
    ranked = sorted(votes.items(), key=lambda item: -item[1])
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        raise FormatError(
            f"the folder holds as many {ranked[0][0]} as {ranked[1][0]} files", "name the one to read with --from"
        )
    return formats[ranked[0][0]]
