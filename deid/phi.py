"""PHI taxonomies and the maps between them.

Six label sets are known: HIPAA's 18 identifiers (45 CFR 164.514(b)(2)), i2b2-2006, i2b2-2014 with sub-types,
the PhysioNet nursing notes, MEDDOCAN's 29 and HIDE's. The sub-types of i2b2-2014 are the hub: every label of
every set has one *canonical* category there, and a map between two sets goes through it. A map says where it
loses something: labels without a place in the target, several labels that become one, and labels that become
a wider or another one. All of it stands in ``dictionaries/labels/labels.toml``.

Sources: Stubbs and Uzuner 2015 (i2b2-2014); Uzuner et al. 2007 (i2b2-2006); Marimon et al. 2019 (MEDDOCAN);
Neamatullah et al. 2008 (PhysioNet); Gardner and Xiong 2009 (HIDE). The table that joins them is
docs/labels.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from deid.base.errors import require
from deid.base.resources import shipped_table
from deid.base.safe_names import safe_name

GROUPS = ("NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID", "OTHER")
"""The coarse groups: the elements of i2b2-2014 XML."""


@dataclass(frozen=True, slots=True)
class Label:
    """One label of a label set."""

    name: str
    """As written in files of the set."""
    group: str
    """One of `GROUPS`."""
    canonical: str
    """The canonical category (a sub-type of i2b2-2014) that comes nearest."""
    exact: bool = True
    """Whether the label means the same as its canonical category; False when wider, narrower or different."""
    hipaa: str = ""
    """Letter of the HIPAA identifier, empty where Safe Harbor lists none."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A named set of labels."""

    name: str
    labels: Mapping[str, Label]
    """The labels by name, in the set's order."""

    def __contains__(self, name: str) -> bool:
        return name in self.labels

    def names(self) -> tuple[str, ...]:
        """Return the labels' names in the set's order."""
        return tuple(self.labels)


_TABLES = shipped_table("labels/labels.toml")

HIPAA: Mapping[str, str] = MappingProxyType({letter: row[2] for letter, row in _TABLES["identifiers"].items()})
"""HIPAA's 18 identifiers by letter. Q is not in text."""

_CANONICAL: Mapping[str, tuple[str, str]] = {
    c: (coarse, letter) for c, (coarse, letter) in _TABLES["categories"].items()
}
"""Canonical category -> group, and HIPAA letter or nothing where Safe Harbor does not list it."""

CATEGORIES: tuple[str, ...] = tuple(_CANONICAL)
"""The canonical categories: the sub-types of i2b2-2014."""


def _members(names: Iterable[str]) -> tuple[str, ...]:
    """Return categories by name; ``@ID`` is all of a group, ``@`` all there are."""
    found: dict[str, None] = {}
    for name in names:
        own = [c for c, (coarse, _) in _CANONICAL.items() if name in ("@", f"@{coarse}")] if name[0] == "@" else [name]
        found.update(dict.fromkeys(own))
    return tuple(found)


I2B2_2014_HIPAA_OFFICIAL = frozenset(_members(_TABLES["official"]["i2b2-2014"]))
"""Canonical categories that the scorer of i2b2-2014 counts as HIPAA's."""

I2B2_2014_HIPAA = I2B2_2014_HIPAA_OFFICIAL | {"URL", "IPADDR"}
"""The same with URL and IPADDR, which HIPAA lists (items N and O) and the official scorer leaves out."""


def _set(name: str, rows: Mapping[str, str]) -> LabelSet:
    """Make a set of rows label -> ``CANONICAL [LETTER]``.

    ``~`` before the canonical category marks it as only the nearest one; a letter (``-`` for none) replaces
    the HIPAA letter of the canonical category.
    """
    labels = {}
    for label, row in rows.items():
        hub, *letters = row.split()
        nearest = hub.lstrip("~")
        coarse, letter = _CANONICAL[nearest]
        labels[label] = Label(label, coarse, nearest, nearest == hub, letters[0].strip("-") if letters else letter)
    return LabelSet(name, MappingProxyType(labels))


_ROWS = {
    "i2b2-2014": {category: category for category in _CANONICAL},
    **_TABLES["sets"],
    "hipaa": {label: f"{hub} {letter}" for letter, (label, hub, _) in _TABLES["identifiers"].items()},
}
LABEL_SETS: Mapping[str, LabelSet] = MappingProxyType({name: _set(name, rows) for name, rows in _ROWS.items()})
"""The label sets by name."""


def _first_of_each(fold: bool) -> dict[str, Label]:
    found: dict[str, Label] = {}
    for label_set in LABEL_SETS.values():
        for name, label in label_set.labels.items():
            found.setdefault(name.casefold() if fold else name, label)
    return found


_BY_NAME = _first_of_each(fold=False)
_BY_FOLDED_NAME = _first_of_each(fold=True)

_STAND_INS: Mapping[str, tuple[str, ...]] = {
    category: tuple(others) for name, others in _TABLES["stand_ins"].items() for category in _members([name])
}
"""Where a target set has no label with the same canonical category: the categories that may stand in, in order."""

_REMEMBERED = 1024


def shown_label(label: str) -> str:
    """Return a label for messages: labels of the known sets as they are, others masked (they come from a file)."""
    return label if any(label in known for known in LABEL_SETS.values()) else safe_name(label)


def find_label(name: str) -> Label | None:
    """Return the label of that name in the first set that has it, else in another letter case."""
    return _BY_NAME.get(name) or _BY_FOLDED_NAME.get(name.casefold())


class _Told(dict[str, str]):
    """Label -> what is told of it; remembered when it is asked for, of so many that memory stays bounded."""

    def __init__(self, tell: Callable[[str], str]) -> None:
        super().__init__()
        self._tell = tell

    def __missing__(self, label: str) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[label] = self._tell(label)
        return found


def canonical(label: str) -> str:
    """Return the canonical category of a label of any known set; an unknown one is its own, in upper case."""
    return CANONICAL[label]


def _canonical(label: str) -> str:
    known = find_label(label)
    return known.canonical if known else label.upper()


CANONICAL: Mapping[str, str] = _Told(_canonical)
"""Label -> what `canonical` says of it, for who asks often."""


@functools.lru_cache(maxsize=_REMEMBERED)
def known_category(label: str) -> str:
    """Return the canonical category of a label; a label of no known set counts as ``OTHER``."""
    known = find_label(label)
    return known.canonical if known else "OTHER"


def group(label: str) -> str:
    """Return the coarse group of a label of any known set or of a group, ``OTHER`` for an unknown one."""
    return GROUP[label]


def _group(label: str) -> str:
    if label in GROUPS:
        return label
    known = find_label(label)
    return known.group if known else "OTHER"


GROUP: Mapping[str, str] = _Told(_group)
"""Label -> what `group` says of it, for who asks often."""


def hipaa(label: str) -> str:
    """Return the letter of the HIPAA identifier of a label, empty where Safe Harbor lists none."""
    known = find_label(label)
    return known.hipaa if known else ""


_COARSE: Mapping[str, tuple[str, ...]] = {label: _members(names) for label, names in _TABLES["coarse"].items()}
"""Labels of the sets that stand for several canonical categories, and for which."""


def may_be(label: str) -> tuple[str, ...]:
    """Return the canonical categories that a label may stand for; its own alone for most.

    A coarse label may hide an identifier of another kind: *ID* of i2b2-2006 is a record number as well as a number of
    no list.
    """
    return _COARSE.get(label) or (known_category(label),)


def label_set_of(labels: Iterable[str]) -> LabelSet | None:
    """Return the first known label set that holds all ``labels``, else None."""
    wanted = set(labels)
    return next((s for s in LABEL_SETS.values() if wanted <= s.labels.keys()), None)


@dataclass(frozen=True, slots=True)
class LabelMap:
    """A map from one label set to another, and what it loses."""

    source: str
    """Name of the source set, ``mixed`` for labels of several sets."""
    target: str
    to: Mapping[str, str | None]
    """Label of the source -> label of the target, None where the target has no place for it (dropped)."""
    losses: tuple[str, ...]
    """One sentence for each label that is dropped, whose meaning changes, or that shares its target."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """Labels of the source that have no place in the target."""
        return tuple(label for label, mapped in self.to.items() if mapped is None)


def map_labels(source: str, target: str) -> LabelMap:
    """Map the labels of one set to those of another through their canonical categories.

    Parameters
    ----------
    source, target : str
        Names in `LABEL_SETS`.

    Returns
    -------
    LabelMap
        With every label of the source; one that has no place in the target maps to None.

    Raises
    ------
    ConfigError
        When a set is unknown.
    """
    return _map(source, _known_set(source).labels, _known_set(target))


def map_used_labels(labels: Iterable[str], target: str) -> LabelMap:
    """Map just the labels that were met, of whatever set they are.

    They are read as labels of the first set that holds them all; when none does, each is read as a label of
    the first set that has it, and the map's ``source`` is ``mixed``. A label of no set maps to None, unless
    the target has it.

    Returns
    -------
    LabelMap
        Of the labels that were met alone.

    Raises
    ------
    ConfigError
        When the target is unknown.
    """
    used = sorted(set(labels))
    there = _known_set(target)
    label_set = label_set_of(used)
    if label_set is not None:
        return _map(label_set.name, {name: label_set.labels[name] for name in used}, there)
    return _map("mixed", {name: there.labels.get(name) or find_label(name) for name in used}, there)


def _known_set(name: str) -> LabelSet:
    require(name in LABEL_SETS, f"unknown label set {name!r}", "known sets: " + ", ".join(LABEL_SETS))
    return LABEL_SETS[name]


def _map(source: str, labels: Mapping[str, Label | None], target: LabelSet) -> LabelMap:
    there = _TargetSet.of(target)
    to: dict[str, str | None] = {}
    losses: list[str] = []
    for name, label in labels.items():
        own = label is not None and target.labels.get(label.name) is label
        found = label if own or label is None else there.nearest(label)
        to[name] = found.name if found else None
        if label is None or found is None:
            losses.append(f"{name} has no place in {target.name} and is dropped")
        elif not own and not (found.canonical == label.canonical and found.exact and label.exact):
            losses.append(f"{name} becomes {found.name}, which does not mean exactly the same")
    for target_name in target.names():
        sharers = [label for label, mapped in to.items() if mapped == target_name]
        if len(sharers) > 1:
            losses.append(f"{', '.join(sharers)} all become {target_name}")
    return LabelMap(source, target.name, MappingProxyType(to), tuple(losses))


@dataclass(frozen=True, slots=True)
class _TargetSet:
    """The labels of a target set by what leads to them."""

    by_canonical: Mapping[str, Label]
    by_letter: Mapping[str, Label] | None
    """Only for HIPAA's own set: there the law's letter decides, not the nearest category."""

    @classmethod
    def of(cls, label_set: LabelSet) -> _TargetSet:
        by_canonical: dict[str, Label] = {}
        for label in label_set.labels.values():
            held = by_canonical.get(label.canonical)
            if held is None or (label.exact and not held.exact):
                by_canonical[label.canonical] = label
        letters = {label.hipaa: label for label in label_set.labels.values()} if label_set.name == "hipaa" else None
        return cls(by_canonical, letters)

    def nearest(self, label: Label) -> Label | None:
        if self.by_letter is not None:
            return self.by_letter.get(label.hipaa)
        candidates = (label.canonical, *_STAND_INS.get(label.canonical, ()))
        return next((self.by_canonical[c] for c in candidates if c in self.by_canonical), None)
