"""The operators: what may stand where PHI stood, by the name that a policy calls it.

An operator is made by a factory from the parameters of a policy and replaces all spans of a document that the policy
gives to it (`deid.replacement.scope.Operator`). `OPERATORS` lists them all, with what a policy must know about each:
for which categories it is made, whether its results still identify, whether it may return what it was given. Factories
are named by their place and imported when a policy asks for them, so that a run loads only what it uses.
"""

from __future__ import annotations

import importlib
import inspect
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, get_args, get_type_hints

from deid.base.errors import ConfigError, require
from deid.document import Document, Span
from deid.phi import group
from deid.replacement.containment import holds
from deid.replacement.scope import Operator, Scope

_FIXED_WIDTH = 5
_MIN_HASH_LENGTH = 16


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """What a policy must know about an operator: its name, factory and strictness. Calling it makes the operator."""

    name: str
    factory: str
    """``module:function``; the module is imported when the operator is first asked for."""
    says: str
    """One line for the user."""
    only: frozenset[str] = frozenset()
    """Categories that it is made for; empty for all."""
    protects: bool = True
    """Whether what it writes no longer identifies, in the sense of HIPAA Safe Harbor."""
    may_repeat: bool = False
    """Whether it may return its original: to keep, and to generalize what is general already."""
    leaves_part: bool = False
    """Whether it leaves a part of the original where it never leaves all of it: digits of a ZIP code."""
    per_person: bool = False
    """Whether it depends on who the patient is, so that an unknown patient must be reported."""
    articles: bool = False
    """Whether *a* and *an* before what it writes are made to agree."""
    composed: bool = False
    """Whether it reads a letter with its accent as one character, however written (`deid.reading.accents`)."""

    @property
    def strictness(self) -> int:
        """How little of the original it leaves: 0 what identifies, 1 what the law lets stay, 2 nothing."""
        return 0 if not self.protects else 1 if self.may_repeat or self.leaves_part else 2

    def resolve(self) -> Callable[..., Operator]:
        """Import and return the factory.

        Raises
        ------
        ConfigError
            When this installation does not have it.
        """
        module, _, function = self.factory.partition(":")
        try:
            factory: Callable[..., Operator] = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError):
            raise ConfigError(
                f"the operator {self.name!r} is not part of this installation",
                "choose another operator, or install the package again",
            ) from None
        return factory

    def parameters(self) -> Mapping[str, Any]:
        """Return the names and kinds (see `_KINDS`) of the parameters that a policy may give."""
        factory = self.resolve()
        hints = {name: _kind(hint) for name, hint in get_type_hints(factory).items()}
        # what a TOML file cannot say (tables of the caller's own) is no parameter of a policy
        return {name: hints[name] for name in inspect.signature(factory).parameters if hints[name] in _KINDS}

    def check(self, parameters: Mapping[str, Any], where: str) -> None:
        """Raise `ConfigError` when a parameter is unknown or of the wrong type."""
        known = self.parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ConfigError(
                    f"the operator {self.name!r} has no parameter {name!r}",
                    f"it has: {', '.join(known)}" if known else "it has no parameters",
                    where,
                )
            kind = known[name]
            if not _fits(value, kind):
                raise ConfigError(
                    f"the parameter {name!r} of the operator {self.name!r} must be {_KINDS[kind]}",
                    "see docs/policies.md",
                    where,
                )

    def __call__(self, **parameters: Any) -> Operator:
        """Make the operator.

        Raises
        ------
        ConfigError
            When a parameter's value cannot be used.
        """
        known = self.parameters()
        try:
            return self.resolve()(**{n: Path(v) if known.get(n) is Path else v for n, v in parameters.items()})
        except TypeError:
            needed = ", ".join(
                n for n, p in inspect.signature(self.resolve()).parameters.items() if p.default is p.empty
            )
            raise ConfigError(f"the operator {self.name!r} lacks a parameter", f"it needs: {needed}") from None


_KINDS: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    Sequence: "a list of texts",
}
"""What parameters of operators can be."""


def _kind(hint: Any) -> Any:
    """Return the kind of a parameter that may also be None."""
    options = [option for option in get_args(hint) if option is not type(None)]
    return options[0] if isinstance(hint, UnionType) and len(options) == 1 else hint


def _fits(value: object, kind: Any) -> bool:
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is Sequence:
        return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    wanted: Any = {Path: str, float: (int, float)}.get(kind, kind)
    return isinstance(value, wanted)


def label_for(category: str, original: str) -> str:
    """Return the label that stands for a span: ``[NAME]`` with the coarse group of its category.

    Where the original is that very word (a clinic called ``Location``) it is ``[***]``, so that "nothing of the
    original is left" can be checked without exceptions.
    """
    return _bracketed(group(category), original)


def _bracketed(word: str, original: str) -> str:
    label = f"[{word}]"
    return "[***]" if holds(label, original) else label


def word_for(category: str, original: str) -> str:
    """Return the coarse group of a category, or ``PHI`` where the original is just that word."""
    word = group(category)
    return "PHI" if original.strip().casefold() == word.casefold() else word


def of_each(written: Callable[[str, str], str]) -> Operator:
    """Return the operator that writes what a function makes of each span alone: of its category and its text."""

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        return [written(s.category, document.text[s.start : s.end]) for s in spans]

    return operate


def keep() -> Operator:
    """Return the operator that leaves spans as they are."""
    return of_each(lambda _, text: text)


def redact(*, style: str = "label", width: int = _FIXED_WIDTH) -> Operator:
    """Return the operator that takes spans out.

    Parameters
    ----------
    style : {'label', 'mask', 'removed'}
        Write the coarse group, ``[NAME]``; or stars; or nothing.
    width : int
        Number of stars, whatever the length of the original.

    Raises
    ------
    ConfigError
        When the style is unknown or the width is not 1 to 100.
    """
    require(style in ("label", "mask", "removed"), "redact has no such style", "its styles are label, mask and removed")
    require(1 <= width <= 100, "the width of redact must be 1 to 100", f"leave it out for {_FIXED_WIDTH}")
    return of_each(label_for if style == "label" else lambda *_: "*" * width if style == "mask" else "")


def tag() -> Operator:
    """Return the operator that writes the category: ``[PATIENT]``."""
    return of_each(_bracketed)


def mask(*, character: str = "*") -> Operator:
    """Return the operator that covers each letter and digit, and keeps length, spaces and punctuation.

    It shows how long the original was; `redact` with the style ``mask`` does not. What has no letter or digit is
    replaced by fixed-width stars.

    Raises
    ------
    ConfigError
        When ``character`` is not one printable character other than a letter or digit.
    """
    if len(character) != 1 or not character.isprintable() or character.isalnum() or character.isspace():
        raise ConfigError("mask needs one character that is no letter, digit or blank", "such as * or #")
    return of_each(lambda _, text: _cover(text, character))


def _cover(text: str, character: str) -> str:
    # combining marks are covered as well: they tell which letter stood below
    covered = "".join(
        character if c.isalnum() or unicodedata.category(c)[0] == "M" or not c.isascii() else c for c in text
    )
    return covered if covered != text else character * _FIXED_WIDTH


def hash_text(*, length: int = _MIN_HASH_LENGTH, within: str = "corpus") -> Operator:
    """Return the operator that writes a keyed hash: ``NAME-5f0c9a7be1d24c38``.

    HMAC-SHA256 with the user's key over the coarse group and the text, without regard to case and white space. Equal
    texts get equal hashes, so they can be counted and joined; without the key nobody can try out names.

    Parameters
    ----------
    length : int
        Hexadecimal digits, 16 to 64: shorter hashes collide.
    within : {'corpus', 'person', 'document'}
        Where equal texts get equal hashes.

    Raises
    ------
    ConfigError
        When the length or the scope cannot be used.
    """
    if not _MIN_HASH_LENGTH <= length <= 64:
        raise ConfigError(f"the length of hash must be {_MIN_HASH_LENGTH} to 64", "shorter hashes collide")
    if within not in ("corpus", "person", "document"):
        raise ConfigError("hash is consistent within no such scope", "choose corpus, person or document")

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        place = {"corpus": "", "person": scope.person_scope, "document": f"document:{scope.document_id}"}[within]
        key = scope.key.derive("operator:hash")
        hashed = []
        for span in spans:
            kind, text = group(span.category), document.text[span.start : span.end]
            folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
            digits = key.mac(place, kind, folded).hex()[:length]
            hashed.append(f"{word_for(span.category, text)}-{digits}")
        return hashed

    return operate


def _table(*specs: OperatorSpec) -> Mapping[str, OperatorSpec]:
    return MappingProxyType({spec.name: spec for spec in specs})


_HERE = __name__
_ROOM = __name__.rpartition(".")[0]

OPERATORS: Mapping[str, OperatorSpec] = _table(
    OperatorSpec("keep", f"{_HERE}:keep", "leaves the text as it is", protects=False, may_repeat=True),
    OperatorSpec("redact", f"{_HERE}:redact", "writes the coarse group [NAME], stars, or nothing"),
    OperatorSpec("tag", f"{_HERE}:tag", "writes the category, [PATIENT]"),
    OperatorSpec("mask", f"{_HERE}:mask", "covers letters and digits, keeps length and punctuation"),
    OperatorSpec("hash", f"{_HERE}:hash_text", "writes a keyed hash, NAME-5f0c9a7be1d24c38"),
    OperatorSpec("encrypt", f"{_ROOM}.encryption:encrypt", "writes the text encrypted; the key's owner can read it"),
    OperatorSpec(
        "deid-tag",
        f"{_ROOM}.deid_tags:deid_tag_operator",
        "writes tags as DE-ID does, **NAME[AAA, BBB M]",
        per_person=True,
        composed=True,
    ),
    OperatorSpec(
        "year-only",
        f"{_ROOM}.safe_harbor:year_only",
        "leaves the year of a date; 90 years back and more become <=year",
        only=frozenset({"DATE"}),
        may_repeat=True,
    ),
    OperatorSpec(
        "zip3",
        f"{_ROOM}.safe_harbor:zip3",
        "leaves three digits of a ZIP code, 000 where at most 20,000 people live",
        only=frozenset({"ZIP"}),
        leaves_part=True,
    ),
    OperatorSpec(
        "age90",
        f"{_ROOM}.safe_harbor:age90",
        "leaves ages to 89, writes 90+ for older ones",
        only=frozenset({"AGE"}),
        may_repeat=True,
    ),
    OperatorSpec(
        "generalize",
        f"{_ROOM}.generalize:generalize",
        "writes a more general value out of a hierarchy file",
        protects=False,
        may_repeat=True,
    ),
    OperatorSpec(
        "published-value",
        f"{_ROOM}.generalize:published_value",
        "writes the value of an anonymized table that belongs to the place",
        may_repeat=True,  # [60-69] holds the 69 that it stands for
    ),
    OperatorSpec(
        "surrogate",
        f"{_ROOM}.surrogates:surrogate_operator",
        "writes a realistic surrogate, the same for the same person",
        per_person=True,
        composed=True,
    ),
    OperatorSpec(
        "date-shift",
        f"{_ROOM}.dates:date_shift_operator",
        "shifts dates by the patient's secret number of days",
        only=frozenset({"DATE"}),
        per_person=True,
        composed=True,
    ),
    OperatorSpec(
        "t-plausible",
        f"{_ROOM}.t_plausibility:t_plausible_operator",
        "writes more general words until t originals are plausible",
        protects=False,
        may_repeat=True,
        articles=True,
    ),
)
"""The operators by name."""
