"""Policies: which operator replaces which category of PHI.

A policy is a TOML file, shipped under ``dictionaries/policies/`` or the user's own::

    description = "what it is for"
    requires_dua = false            # whether its output needs a data use agreement
    requires_expert = false         # whether its output needs an expert's determination
    notice = "what it does not promise" # said to whoever releases the output
    allow = ["CITY"]                # HIPAA identifiers that it leaves readable, on purpose
    if_accepted = ["IDNUM"]         # its rules for these count only where the user accepts them by name (--accept)

    [default]                       # every category without a rule of its own
    operator = "redact"

    [categories.DATE]               # a canonical category or a coarse group (NAME, LOCATION, CONTACT, ID)
    operator = "year-only"

    [[when]]                        # other rules for documents whose metadata say so; the first that fits counts
    field = "note_type"
    values = ["radiology"]
    [when.categories.AGE]
    operator = "redact"

A rule for a category goes before one for its group, that before the default. A policy that does not hold together is
refused when it is loaded: an unknown category, operator or parameter; an operator that is not made for the category; a
category without an operator; a rule that can never apply; a HIPAA identifier left readable without ``allow``.

To leave text readable takes unanimity: a span that anything else took for what the policy takes out is taken out, and
so is one whose label may stand for such a thing (`Policy.applied`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from deid.base.errors import ConfigError, require
from deid.base.files import read_toml
from deid.base.resources import resource_folder
from deid.phi import CATEGORIES, GROUPS, HIPAA, canonical, find_label, group, hipaa, known_category, may_be
from deid.replacement.operators import OPERATORS

T = TypeVar("T")

DEFAULT_POLICY = "surrogate"

_KEYS = (
    "description",
    "requires_dua",
    "requires_expert",
    "notice",
    "allow",
    "if_accepted",
    "default",
    "categories",
    "when",
)
NOT_IN_TEXT = (
    "full-face photographs (HIPAA Q) and biometrics other than in words (HIPAA P) are not in text: "
    "remove them from what accompanies the notes"
)
"""What no run on text can do, for manifests and for whoever chooses a policy."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An operator and its parameters."""

    operator: str
    parameters: tuple[tuple[str, Any], ...] = ()
    """Names and values, sorted; lists as tuples."""

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.operator} ({shown})" if shown else self.operator


@dataclass(frozen=True, slots=True)
class Condition:
    """What a document's metadata must say for other rules to count."""

    field: str
    values: frozenset[str]
    """Any of these, in lower case."""

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Tell whether the field has one of the values, whatever the case."""
        return self.field in metadata and str(metadata[self.field]).casefold() in self.values


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that holds together: every canonical category has an operator."""

    name: str
    description: str
    base: Mapping[str, Rule]
    """Canonical category -> rule."""
    overrides: tuple[tuple[Condition, Mapping[str, Rule]], ...] = ()
    named: frozenset[str] = frozenset()
    """Categories and groups that it names with an operator other than keep: these must be detectable."""
    allow: frozenset[str] = frozenset()
    """Canonical categories that may stay readable, or that nothing need detect."""
    requires_dua: bool = False
    requires_expert: bool = False
    notice: str = ""
    """What the output does not keep by itself, for whoever releases it."""

    def rule(self, category: str, metadata: Mapping[str, Any]) -> Rule:
        """Return the rule for a canonical category in a document with these metadata."""
        for condition, rules in self.overrides:
            if category in rules and condition.holds(metadata):
                return rules[category]
        return self.base[category]

    def applied(self, label: str, also: Iterable[str], metadata: Mapping[str, Any]) -> str:
        """Return the canonical category whose rule counts for a span.

        Its own, unless that rule leaves text readable and the span may be something of which another rule leaves less:
        then that category. Where two rules each leave another part (a year, an age) it is ``OTHER``, because a part of
        one may be what the other takes out.

        Parameters
        ----------
        label : str
            Label of the span, of any known set; one of none counts as ``OTHER``.
        also : iterable of str
            What else it was taken for (`deid.document.Span.also`).
        metadata : mapping
            Of the document.
        """
        readings = dict.fromkeys((known_category(label),))
        for name in (label, *also):
            called = known_category(name)
            # what a coarse label may hide counts, but for what the user accepts by name
            readings |= dict.fromkeys(c for c in may_be(name) if c == called or c not in self.allow)
        levels = {c: self._strictness(c, metadata) for c in readings}
        strictest = [c for c in readings if levels[c] == max(levels.values())]
        several = levels[strictest[0]] == 1 and len({self.rule(c, metadata) for c in strictest}) > 1
        return "OTHER" if several and self._strictness("OTHER", metadata) == 2 else strictest[0]

    def _strictness(self, category: str, metadata: Mapping[str, Any]) -> int:
        return OPERATORS[self.rule(category, metadata).operator].strictness

    def rules(self) -> Iterator[Rule]:
        """Yield all rules: those of the base, then those of each override."""
        yield from self.base.values()
        for _, rules in self.overrides:
            yield from rules.values()

    @property
    def per_person(self) -> bool:
        """Whether a rule depends on who the patient is."""
        return any(OPERATORS[rule.operator].per_person for rule in self.rules())

    def may_repeat(self, category: str) -> bool:
        """Tell whether a rule for the category may leave text as it is."""
        rules = [self.base[category], *(rules[category] for _, rules in self.overrides if category in rules)]
        return any(OPERATORS[rule.operator].may_repeat for rule in rules)

    def readable(self) -> tuple[str, ...]:
        """Return the HIPAA categories that some rule leaves readable."""
        found = dict.fromkeys(c for c, rule in self.base.items() if hipaa(c) and not OPERATORS[rule.operator].protects)
        for _, rules in self.overrides:
            found |= dict.fromkeys(c for c, r in rules.items() if hipaa(c) and not OPERATORS[r.operator].protects)
        return tuple(c for c in CATEGORIES if c in found)

    def lines(self) -> list[str]:
        """Return what happens to each category, with its HIPAA letter, for a terminal."""

        def shown(category: str, rule: Rule, wide: int) -> str:
            return f"{category:<{wide}}{hipaa(category) or '-':<3}{rule}"

        told = [f"{self.name}: {self.description}", *(f"  {shown(c, self.base[c], 16)}" for c in CATEGORIES)]
        for condition, rules in self.overrides:
            told.append(f"  where {condition.field} is {' or '.join(sorted(condition.values))}:")
            told += [f"    {shown(category, rule, 14)}" for category, rule in rules.items()]
        return told

    def summary(self) -> dict[str, Any]:
        """Return JSON values: what happens to each category, and which identifiers of HIPAA stay readable."""
        return {
            "name": self.name,
            "categories": {category: str(rule) for category, rule in sorted(self.base.items())},
            "left_readable": list(self.readable()),
        }

    def notes(self) -> list[str]:
        """Return what whoever releases the output must know."""
        notes = [f"policy {self.name}: {self.notice}"] if self.notice else []
        if self.requires_dua:
            notes.append(f"policy {self.name}: the output may be given out under a data use agreement only")
        if self.requires_expert:
            notes.append(
                f"policy {self.name}: the output needs an expert's determination that the risk is very small "
                "(45 CFR 164.514(b)(1)); deid risk --expert-report writes the report for it"
            )
        if left := self.readable():
            shown = ", ".join(f"{c} ({hipaa(c)})" for c in left)
            notes.append(f"policy {self.name}: left readable on purpose, with their HIPAA letters: {shown}")
        return notes

    def check_detectable(self, labels: Iterable[str]) -> list[str]:
        """Check the policy against what a recognizer can find.

        Parameters
        ----------
        labels : iterable of str
            The recognizer's categories, in any known label set.

        Returns
        -------
        list of str
            Notes about HIPAA identifiers that the recognizer cannot find at all.

        Raises
        ------
        ConfigError
            When the policy has a rule for something of which the recognizer finds nothing, not even under another
            category of the same group, and does not ``allow`` it: the rule would never apply, and what it was to
            replace would stay.
        """
        groups = {group(label) for label in labels}
        # OTHER is whatever an annotator met beside the kinds that can be looked for
        for name in sorted(self.named - {"OTHER"}):
            if group(name) not in groups and not self.allow.issuperset(_members(name)):
                raise ConfigError(
                    f"nothing can find {name}, for which the policy has the operator {self._shown_rule(name)!r}",
                    f"use a model or rules that find it, or accept that it stays: --accept {name}",
                    f"policy {self.name}",
                )
        missing = [g for g in GROUPS if g not in groups and g != "OTHER" and any(hipaa(c) for c in _members(g))]
        if not missing:
            return []
        return [f"nothing was looked for in these groups, so what they hold stays: {', '.join(missing)}"]

    def _shown_rule(self, name: str) -> str:
        return self.base[_members(name)[0]].operator


def shipped_policies() -> tuple[str, ...]:
    """Return the names of the policies that ship with this installation."""
    return tuple(sorted(path.stem for path in (resource_folder("dictionaries") / "policies").glob("*.toml")))


def load_policy(name_or_file: str | Path, allow: Iterable[str] = ()) -> Policy:
    """Load a shipped policy by name, or a file.

    Parameters
    ----------
    name_or_file : str or Path
    allow : iterable of str
        Categories and groups that may stay readable or undetected, beside those that the file allows.

    Returns
    -------
    Policy
        The policy, checked.

    Raises
    ------
    ConfigError
        When there is no such policy, or it does not hold together.
    """
    wanted = str(name_or_file)
    shipped = shipped_policies()
    path = resource_folder("dictionaries") / "policies" / f"{wanted}.toml" if wanted in shipped else Path(wanted)
    require(path.is_file(), f"no policy {wanted!r}", f"name a TOML file, or one of: {', '.join(shipped)}")
    data = read_toml(path, "see toml.io for the syntax", f"policy {wanted}")
    return parse_policy(data, path.stem, path.parent, allow)


def parse_policy(data: Mapping[str, Any], name: str, folder: Path, allow: Iterable[str] = ()) -> Policy:
    """Return the policy that the content of its file says.

    Parameters
    ----------
    data : mapping
        What TOML holds.
    name : str
        Name for messages.
    folder : Path
        Where relative paths of parameters begin.
    allow : iterable of str
        Categories and groups that may stay readable or undetected, beside those that ``data`` allows.

    Raises
    ------
    ConfigError
        When it does not hold together.
    """
    return _Parser(name, folder).policy(data, allow)


def _members(name: str) -> tuple[str, ...]:
    """Return the canonical categories that a category or a group stands for."""
    return (name,) if name in CATEGORIES and name not in GROUPS else tuple(c for c in CATEGORIES if group(c) == name)


def _known(name: object, where: str) -> str:
    if isinstance(name, str) and (name in CATEGORIES or name in GROUPS):
        return name
    known = find_label(name) if isinstance(name, str) else None
    hint = f"write {canonical(known.name)}" if known else f"groups: {', '.join(GROUPS)}; or their sub-types"
    raise ConfigError(f"there is no category {name!r}", hint, where)


@dataclass(slots=True)
class _Parser:
    """Reads one file; knows its name for messages and its folder for paths."""

    name: str
    folder: Path
    where: str = field(init=False)

    def __post_init__(self) -> None:
        self.where = f"policy {self.name}"

    def fault(self, what: str, hint: str) -> ConfigError:
        return ConfigError(what, hint, self.where)

    def policy(self, data: Mapping[str, Any], allow: Iterable[str]) -> Policy:
        self.check_keys(data, _KEYS, "the policy")
        asked = self.names(data.get("if_accepted", []), "if_accepted")
        accepted = frozenset(c for n in allow for c in _members(_known(n, self.where)))
        allowed = accepted.union(c for n in self.names(data.get("allow", []), "allow") for c in _members(n))
        named = {
            name: rule
            for name, rule in self.named_rules(data.get("categories", {}), "categories").items()
            if name not in asked or accepted.issuperset(_members(name))
        }
        base = _spread(named)
        if "default" in data:
            rule = self.rule(data["default"], "default")
            base = {category: base.get(category, rule) for category in CATEGORIES}
        if missing := [category for category in CATEGORIES if category not in base]:
            raise self.fault(
                f"these categories have no operator: {', '.join(missing)}",
                'add rules for them, or a [default] such as operator = "redact"',
            )
        overrides = tuple(self.override(entry) for entry in self.entries(data.get("when", [])))
        policy = Policy(
            self.name,
            self.value(data, "description", ""),
            base,
            tuple((condition, _spread(rules)) for condition, rules in overrides),
            frozenset(
                n for rules in (named, *(r for _, r in overrides)) for n, r in rules.items() if r.operator != "keep"
            ),
            allowed,
            self.value(data, "requires_dua", False),
            self.value(data, "requires_expert", False),
            self.value(data, "notice", ""),
        )
        self.check_coverage(policy)
        return policy

    def value(self, data: Mapping[str, Any], key: str, default: T) -> T:
        found = data.get(key, default)
        if type(found) is not type(default):
            raise self.fault(f"{key} is not of type {type(default).__name__}", "see docs/policies.md")
        return found

    def names(self, listed: object, key: str) -> tuple[str, ...]:
        if not isinstance(listed, list):
            raise self.fault(f"{key} is no list", f'write {key} = ["CITY", "ZIP"]')
        return tuple(_known(name, self.where) for name in listed)

    def check_keys(self, data: object, known: Iterable[str], what: str) -> None:
        if not isinstance(data, Mapping):
            raise self.fault(f"{what} is no table", "see docs/policies.md")
        if unknown := sorted(set(data) - set(known)):
            raise self.fault(f"{what} has the unknown key {unknown[0]!r}", f"known keys: {', '.join(known)}")

    def entries(self, when: object) -> list[Any]:
        if not isinstance(when, list):
            raise self.fault("when is no list of tables", "write [[when]]")
        return when

    def override(self, entry: Any) -> tuple[Condition, dict[str, Rule]]:
        self.check_keys(entry, ("field", "values", "categories"), "a [[when]]")
        named, values = entry.get("field"), entry.get("values")
        if not isinstance(named, str) or not isinstance(values, list) or not values:
            raise self.fault("a [[when]] has no field or no values", 'write field = "note_type" and values = ["x"]')
        rules = self.named_rules(entry.get("categories", {}), "when.categories")
        if not rules:
            raise self.fault("a [[when]] has no rules", "add [when.categories.X], or delete it")
        return Condition(named, frozenset(str(value).casefold() for value in values)), rules

    def named_rules(self, tables: object, what: str) -> dict[str, Rule]:
        if not isinstance(tables, Mapping):
            raise self.fault(f"{what} is no table", f"write [{what}.NAME]")
        rules = {_known(name, self.where): self.rule(table, f"{what}.{name}") for name, table in tables.items()}
        for name in rules:
            members = _members(name)
            if len(members) > 1 and all(member in rules for member in members):
                raise self.fault(
                    f"the rule for {name} can never apply", f"each of its categories has its own: {', '.join(members)}"
                )
        return rules

    def rule(self, table: Any, what: str) -> Rule:
        if not isinstance(table, Mapping) or not isinstance(table.get("operator"), str):
            raise self.fault(f"[{what}] names no operator", f"one of: {', '.join(OPERATORS)}")
        operator = table["operator"]
        if operator not in OPERATORS:
            raise self.fault(f"there is no operator {operator!r}", f"one of: {', '.join(OPERATORS)}")
        spec = OPERATORS[operator]
        given = {key: value for key, value in table.items() if key != "operator"}
        try:
            spec.check(given, self.where)
            paths = {key for key, kind in spec.parameters().items() if kind is Path}
        except ConfigError as error:
            raise error.at(self.where) from None
        resolved = {k: str((self.folder / v).resolve()) if k in paths else v for k, v in given.items()}
        resolved = {k: tuple(v) if isinstance(v, list) else v for k, v in resolved.items()}
        return Rule(operator, tuple(sorted(resolved.items())))

    def check_coverage(self, policy: Policy) -> None:
        """Refuse operators that are not made for their category, and HIPAA identifiers that would stay readable."""
        for rules in (policy.base, *(rules for _, rules in policy.overrides)):
            for category, rule in rules.items():
                only = OPERATORS[rule.operator].only
                if only and category not in only:
                    raise self.fault(
                        f"the operator {rule.operator!r} cannot replace {category}",
                        f"it is made for {', '.join(sorted(only))}; name another operator for {category}",
                    )
        if left := [category for category in policy.readable() if category not in policy.allow]:
            shown = ", ".join(f"{c} (HIPAA {hipaa(c)}: {HIPAA[hipaa(c)]})" for c in left)
            wanted = ", ".join(f'"{c}"' for c in left)
            raise self.fault(
                f"these identifiers of HIPAA would stay readable: {shown}",
                f"give them another operator, or state it: allow = [{wanted}]",
            )


def _spread(named: Mapping[str, Rule]) -> dict[str, Rule]:
    """Turn rules for categories and groups into rules for canonical categories, the more special one first."""
    rules = {c: rule for name, rule in named.items() if name in GROUPS for c in _members(name)}
    return rules | {name: rule for name, rule in named.items() if name not in GROUPS}
