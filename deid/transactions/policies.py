"""Privacy and utility policies over codes: what attackers may know, and what may be combined for the studies to come
(Loukides, Gkoulalas-Divanis and Malin, PNAS 2010).

A privacy constraint is a set of codes that an attacker knows together. A utility constraint is a set of codes that mean
the same to the studies; utility constraints are disjoint.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deid.base.errors import ConfigError, require
from deid.base.files import read_text
from deid.base.safe_names import safe_name
from deid.table.hierarchy import Hierarchy
from deid.transactions.reading import require_codes

_MOST_WITH_PARTS = 12
_BETWEEN = re.compile(r"[\s,;]+")


def _lines(path: Path, what: str) -> list[tuple[int, str]]:
    text = read_text(path, f"{what} {safe_name(path.name)}")
    stripped = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in stripped if line]


def listed_codes(text: str, known: Sequence[str], where: str) -> frozenset[str]:
    """Return the codes of a list; ``493.*`` stands for all known codes that begin so.

    Parameters
    ----------
    text : str
        Codes between blanks, commas or semicolons.
    known : sequence of str
        The codes that records have.
    where : str
        Place of the list, for errors.

    Raises
    ------
    ConfigError
        When a code is unknown; with the nearest one.
    """
    found: set[str] = set()
    for word in filter(None, _BETWEEN.split(text.strip())):
        if word.endswith("*"):
            found.update(code for code in known if code.startswith(word[:-1]))
        else:
            require_codes([word], known, where)
            found.add(word)
    return frozenset(found)


def read_policy(path: Path, known: Sequence[str], what: str = "policy") -> dict[str, frozenset[str]]:
    """Read a policy or phenotype definitions: a line a constraint.

    Parameters
    ----------
    path : Path
        Lines ``296.00, 296.01`` or ``asthma: 493.*``; ``#`` begins a comment.
    known : sequence of str
        The codes that there are.
    what : str
        Word for messages.

    Returns
    -------
    dict of str to frozenset of str
        Codes of each constraint, by its name or ``line N``. Patterns without a code are left out.

    Raises
    ------
    ConfigError
        When a code is unknown, with the nearest one; names the line.
    """
    found: dict[str, frozenset[str]] = {}
    for number, line in _lines(path, what):
        name, colon, rest = line.partition(":")
        codes = listed_codes(rest if colon else line, known, f"{what}, line {number}")
        if codes:
            found[name.strip() if colon else f"line {number}"] = codes
    require(found, f"the {what} holds no constraint", "write one a line, such as: 296.00, 296.01")
    return found


def read_rules(path: Path, known: Sequence[str]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Read PS-rules: lines ``401.2 -> 295``; what follows the arrow may be empty.

    Parameters
    ----------
    path : Path
        The file, UTF-8; ``#`` begins a comment.
    known : sequence of str
        The codes that records have.

    Returns
    -------
    list of (frozenset of str, frozenset of str)
        Public and sensitive codes of each rule.

    Raises
    ------
    ConfigError
        When the file cannot be read, a line is no rule, or a code is unknown; names the line.
    """
    found = []
    for number, line in _lines(path, "rules"):
        left, arrow, right = line.partition("->")
        where = f"rules, line {number}"
        public, hidden = listed_codes(left, known, where), listed_codes(right, known, where)
        if not arrow or not public or public & hidden:
            raise ConfigError("no rule", "write public codes, ->, and sensitive codes: 401.2 -> 295", where)
        found.append((public, hidden))
    return found


def maximal_sets(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the distinct sets that lie in no other one, in the order of their first places."""
    distinct = list(dict.fromkeys(codes for codes in sets if codes))
    holding: dict[str, set[int]] = {}
    kept: set[int] = set()
    for place in sorted(range(len(distinct)), key=lambda i: (-len(distinct[i]), i)):
        codes = distinct[place]
        if not set.intersection(*(holding.get(code, set()) for code in codes)):
            kept.add(place)
            for code in codes:
                holding.setdefault(code, set()).add(place)
    return [distinct[place] for place in sorted(kept)]


def all_parts(policy: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return all non-empty parts of constraints, for attackers who know parts of them.

    Raises
    ------
    ConfigError
        When a constraint has more than 12 codes.
    """
    found: dict[frozenset[str], None] = {}
    for number, codes in enumerate(policy, 1):
        if len(codes) > _MOST_WITH_PARTS:
            raise ConfigError(
                f"privacy constraint {number} has {len(codes)} codes: too many parts",
                f"at most {_MOST_WITH_PARTS}; or protect all sets of m codes with the method km",
            )
        for size in range(1, len(codes) + 1):
            found.update(dict.fromkeys(map(frozenset, itertools.combinations(sorted(codes), size))))
    return list(found)


def phenotype_policy(
    phenotypes: Mapping[str, frozenset[str]],
    known: Sequence[str],
    hierarchy: Hierarchy | None = None,
    *,
    siblings: int = 0,
) -> list[frozenset[str]]:
    """Extract the utility policy of studies (UPE): a constraint a phenotype.

    Parameters
    ----------
    phenotypes : mapping of str to frozenset of str
        Codes that define each disease.
    known : sequence of str
        The codes that there are; others are left out.
    hierarchy : Hierarchy, optional
        For ``siblings``.
    siblings : int
        Add the codes below the ancestor of this level of each code; 0 adds none.

    Returns
    -------
    list of frozenset of str
        Disjoint: definitions that share codes become one constraint.
    """
    held = frozenset(known)
    groups: list[frozenset[str]] = []
    for codes in phenotypes.values():
        group = set(codes & held)
        if hierarchy is not None and siblings:
            for code in codes & held:
                if code in hierarchy:
                    above = hierarchy.generalize(code, siblings)
                    group |= (set(hierarchy.leaves(above)) | {above}) & held
        apart = []
        for other in groups:
            if other & group:
                group |= other
            else:
                apart.append(other)
        groups = [*apart, *([frozenset(group)] if group else [])]
    return groups


def check_utility_policy(policy: Sequence[frozenset[str]]) -> None:
    """Refuse a utility policy whose constraints overlap.

    Raises
    ------
    ConfigError
        Names the code and both constraints by their numbers.
    """
    first: dict[str, int] = {}
    for number, codes in enumerate(policy, 1):
        for code in sorted(codes):
            if first.setdefault(code, number) != number:
                raise ConfigError(
                    f"the code {code!r} is in the utility constraints {first[code]} and {number}",
                    "a code belongs to one constraint: merge the two, or take it out of one",
                    "utility policy",
                )
