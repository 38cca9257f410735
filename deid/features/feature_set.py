"""FeatureSet: declares features, names them, expands them into CRF attributes.

A *type* feature depends on a token's string alone and is seen at an offset: the affixes of the token two to the left
are type features at offset -2. A *position* feature depends on the place in the document. Training expands both into
attributes; tagging gives each distinct token type one row of label scores per offset and never expands
(`deid.labeling.decoder`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, ModelError, require
from deid.features.affix import affix_features
from deid.features.patterns import letter_patterns, pattern_features
from deid.features.position import PositionFeatures, occurrence_share, place_features
from deid.features.shape import LONGEST_SHAPE, shape_features
from deid.reading.alphabet import page
from deid.reading.dictionaries import Dictionary, fold, load_dictionary
from deid.reading.phrases import PhraseMatcher
from deid.reading.tokenization import Tokens, tokenize

_LEXICAL_POSITION = ("HD_",)
_MOST_OFFSETS = 16
"""As many as the compiled loops have room for."""

GROUPS = "racd"
"""The four groups of the dissertation: regular expressions, affixes, context, dictionaries."""


@dataclass(frozen=True, slots=True)
class TypeFeature:
    """A family of features that depend on the token's string alone."""

    name: str
    group: str
    """One of r, a, c, d."""
    extract: Callable[[str], tuple[str, ...]]
    offsets: tuple[int, ...]
    """At which neighbours it is seen, 0 is the token itself; -1 the one before it."""
    lexical: bool
    """Whether its attributes spell words or four and more letters of one, and so could tell whom the training notes
    are about."""
    form: tuple[int, int, int, int] | None = None
    """The same for the compiled loops: family (as in ``labeller.h``) and its arguments; without it, a tagger with this
    family runs on the NumPy route."""


def _side(feature: TypeFeature, offset: int) -> str:
    """Return what the attributes of a family begin with at an offset."""
    if feature.name == "context":
        return f"PREV{-offset - 1}_" if offset < 0 else f"NEXT{offset - 1}_"
    return f"{offset:+d}:" if offset else ""


@dataclass(frozen=True, slots=True)
class Preset:
    """A named feature set, before its groups and dictionaries are chosen."""

    tokenizer: str
    spaces: bool
    """Whether white-space tokens are labelled too (as HIDE does)."""
    boundaries: bool
    """Whether the edges of the document are features."""
    types: Callable[[], tuple[TypeFeature, ...]]
    position: Callable[[Tokens, Sequence[int]], PositionFeatures]
    """Position features; they belong to group c."""
    lists_at: tuple[int, ...]
    """At which neighbours single words of the word lists are seen (phrases fire on their own tokens only)."""


def _word(token: str) -> tuple[str, ...]:
    return (token,)


def _lower(token: str) -> tuple[str, ...]:
    return ("LW_" + token.lower(),)


def _single_words(lists: Sequence[Dictionary]) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for dictionary in lists:
        for phrase in dictionary.phrases:
            if " " not in phrase:
                names.setdefault(phrase, []).append(f"IN_{dictionary.name}")
    return {word: tuple(found) for word, found in names.items()}


_PATTERN, _SHAPE, _AFFIX, _TOKEN, _LOWERED, _LISTED = range(6)
"""Families of type features as the compiled loops number them."""
_AROUND = (-4, -3, -2, -1, 1, 2, 3, 4)


def _hide_types() -> tuple[TypeFeature, ...]:
    table = letter_patterns(unicode=False)
    return (
        TypeFeature("pattern", "r", lambda t: pattern_features(t, table), (0,), False, (_PATTERN, 0, 0, 0)),
        TypeFeature("affix", "a", lambda t: affix_features(t, 3, hide_compat=True), (0,), False, (_AFFIX, 3, 1, 1)),
        TypeFeature("context", "c", _word, _AROUND, True, (_TOKEN, 0, 0, 0)),
    )


def _default_types() -> tuple[TypeFeature, ...]:
    table = letter_patterns(unicode=True)
    near = (-2, -1, 0, 1, 2)
    return (
        TypeFeature("pattern", "r", lambda t: pattern_features(t, table), (0,), False, (_PATTERN, 1, 0, 0)),
        TypeFeature("shape", "r", shape_features, near, False, (_SHAPE, LONGEST_SHAPE, 0, 0)),
        TypeFeature("affix", "a", lambda t: affix_features(t, 3), (0,), False, (_AFFIX, 3, 1, 0)),
        TypeFeature("long-affix", "a", lambda t: affix_features(t, 5, 4), (0,), True, (_AFFIX, 5, 4, 0)),
        TypeFeature("context", "c", _word, _AROUND, True, (_TOKEN, 0, 0, 0)),
        TypeFeature("lower", "c", _lower, near, True, (_LOWERED, 0, 0, 0)),
    )


_POSITION = (occurrence_share, place_features)
"""Position features as the compiled loops number them, from 1."""
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "hide": Preset("hide", True, False, _hide_types, occurrence_share, (0,)),
        "default": Preset("default", False, True, _default_types, place_features, (-1, 0, 1)),
    }
)
"""``hide`` is the dissertation exactly; ``default`` is the best that was measured (docs/features.md)."""


@dataclass(frozen=True)
class Encoded:
    """A document as its feature set sees it."""

    tokens: Tokens
    items: np.ndarray
    """Indices of the tokens that are labelled, int64 of shape (n_items,)."""
    types: list[str]
    """Distinct token strings among all context tokens and items."""
    neighbours: dict[int, np.ndarray]
    """For each offset, the index into ``types`` at each item, int64 of shape (n_items,); -1 beyond the document."""
    position: list[list[tuple[str, float]]] = field(repr=False)
    """Position attributes and their values at each item; empty lists when there are none."""


class FeatureSet:
    """What the tagger looks at.

    Parameters
    ----------
    preset : str
        ``hide`` or ``default``.
    groups : str
        Which of the groups r, a, c, d are on.
    dictionaries : sequence of str
        Names of the word lists for group d.
    skip_punct : bool
        Whether neighbours are counted over words only, as in the dissertation's Table 4.1; else punctuation counts.

    Raises
    ------
    ConfigError
        When the preset, a group or a list is unknown.
    """

    def __init__(
        self,
        preset: str = "default",
        groups: str = GROUPS,
        dictionaries: Sequence[str] = (),
        *,
        skip_punct: bool = False,
    ) -> None:
        require(preset in PRESETS, f"unknown feature preset {preset!r}", "known: " + ", ".join(PRESETS))
        if not groups or set(groups) - set(GROUPS):
            raise ConfigError(f"feature groups {groups!r} are not letters of {GROUPS}", "for example: racd, rc")
        self.preset = preset
        self.skip_punct = skip_punct
        self.groups = "".join(g for g in GROUPS if g in groups)
        self.dictionaries = tuple(dictionaries) if "d" in groups else ()
        self._plan = PRESETS[preset]
        lists = [load_dictionary(name) for name in self.dictionaries]
        self._lists = tuple(lists)
        types = [t for t in self._plan.types() if t.group in self.groups]
        if lists:
            types.append(TypeFeature("dictionary", "d", self._singles, self._plan.lists_at, False, (_LISTED, 0, 0, 0)))
        self.type_features = tuple(types)
        self.tokenizer = self._plan.tokenizer
        offsets = {o for t in self.type_features for o in t.offsets} | {0}
        self.offsets = tuple(sorted(offsets))
        # expansion asks again for every document that a type stands in; decoding keeps rows of its own
        self.cached_attributes = functools.lru_cache(maxsize=200_000)(self.type_attributes)

    # the compiled loops have tables of their own, so these two are made where expansion asks for them
    @functools.cached_property
    def _listed(self) -> dict[str, tuple[str, ...]]:
        """Single word -> the attributes of the lists that it is in."""
        return _single_words(self._lists)

    @functools.cached_property
    def _matcher(self) -> PhraseMatcher | None:
        return PhraseMatcher(self._lists, self._split) if self._lists else None

    def _singles(self, token: str) -> tuple[str, ...]:
        return self._listed.get(fold(token), ())

    def __repr__(self) -> str:
        return f"FeatureSet({self.preset!r}, {self.groups!r}, {len(self.dictionaries)} dictionaries)"

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureSet.from_spec, (self.spec(),)

    def spec(self) -> dict[str, Any]:
        """Return what `from_spec` needs to build the same feature set again (JSON values)."""
        return {
            "preset": self.preset,
            "groups": self.groups,
            "dictionaries": list(self.dictionaries),
            "skip_punct": self.skip_punct,
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> FeatureSet:
        """Build the feature set that `spec` describes.

        Raises
        ------
        ModelError
            When the description is not one of ours.
        """
        try:
            lists = [str(name) for name in spec["dictionaries"]]
            return cls(str(spec["preset"]), str(spec["groups"]), lists, skip_punct=bool(spec["skip_punct"]))
        except (KeyError, TypeError):
            raise ModelError("the description of the features is incomplete", "train the model again") from None

    def checksums(self) -> dict[str, str]:
        """Return a checksum of each word list: a model is not used with other lists than it was trained with."""
        return {
            dictionary.name: hashlib.sha256("\n".join(dictionary.phrases).encode()).hexdigest()
            for dictionary in self._lists
        }

    def _split(self, phrase: str) -> list[str]:
        tokens = tokenize(phrase, self.tokenizer)
        return [s for s, space in zip(tokens.strings, tokens.spaces, strict=True) if not space]

    def type_attributes(self, token: str | None, offset: int) -> tuple[str, ...]:
        """Return the attributes of a token's type at an offset; None is beyond the edge of the document."""
        return tuple(name for name, _ in self.spelled_attributes(token, offset))

    def spelled_attributes(self, token: str | None, offset: int) -> Iterator[tuple[str, bool]]:
        """Yield the same attributes, and whether each spells a word or a part of one (a privacy matter)."""
        if token is None:
            if self._plan.boundaries:
                yield f"{offset:+d}:EDGE", False
            return
        for feature in self.type_features:
            if offset not in feature.offsets:
                continue
            side = _side(feature, offset)
            for name in feature.extract(token):
                yield storable(side + name), feature.lexical

    @staticmethod
    def spells(position_attribute: str) -> bool:
        """Tell whether a position attribute spells a word."""
        return position_attribute.startswith(_LEXICAL_POSITION)

    def encode(self, text: str) -> Encoded:
        """Return the tokens of ``text``, with every item's neighbours and position attributes.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        Encoded
            Items are the tokens that get a label: all of them, or all but blanks, as the features ask.
        """
        tokens = tokenize(text, self.tokenizer)
        items = np.arange(len(tokens)) if self._plan.spaces else np.flatnonzero(~tokens.spaces)
        counted = ~tokens.spaces
        if self.skip_punct:
            counted &= np.fromiter((any(map(str.isalnum, s)) for s in tokens.strings), dtype=bool, count=len(tokens))
        words = np.flatnonzero(counted)
        index: dict[str, int] = {}
        type_of = np.fromiter(
            (index.setdefault(s, len(index)) for s in tokens.strings), dtype=np.int64, count=len(tokens)
        )
        # rank = how many words stand before a token; the words around it follow from it
        rank = np.searchsorted(words, items)
        is_word = counted[items]
        padded = np.concatenate([type_of[words], [-1]]) if len(words) else np.array([-1])
        neighbours = {}
        for offset in self.offsets:
            if offset == 0:
                neighbours[0] = type_of[items]
                continue
            place = rank + offset if offset < 0 else rank + is_word + offset - 1
            place = np.where((place < 0) | (place >= len(words)), len(words), place)
            neighbours[offset] = padded[place]
        return Encoded(tokens, items, list(index), neighbours, self._position(tokens, items))

    def _position(self, tokens: Tokens, items: np.ndarray) -> PositionFeatures:
        rows: PositionFeatures = [[] for _ in range(len(items))]
        if "c" in self.groups:
            for row, found in zip(rows, self._plan.position(tokens, items.tolist()), strict=True):
                row.extend((storable(name), value) for name, value in found)
        if self._matcher is not None:
            item_of = {int(token): i for i, token in enumerate(items)}
            for start, end, name in self._matcher.match(tokens.strings):
                # each token of a phrase fires, once; single words are type features already
                fired = (f"IN_{name}", 1.0)
                for token in range(start, end) if end - start > 1 else ():
                    item = item_of.get(token)
                    if item is None or fired in rows[item] or fired[0] in self._singles(tokens.strings[token]):
                        continue
                    rows[item].append(fired)
        return rows

    def compiled(self) -> dict[str, Any] | None:
        """Return what ``deid._native.Labeller`` must know of the features, None when a family has no compiled form."""
        if any(t.form is None for t in self.type_features) or len(self.offsets) > _MOST_OFFSETS:
            return None
        seen = {o for t in self.type_features if t.name == "dictionary" for o in t.offsets}
        position = _POSITION.index(self._plan.position) + 1 if "c" in self.groups else 0
        return {
            "offsets": self.offsets,
            "families": tuple(
                (t.form[0], t.form[1:], {o: _side(t, o) for o in t.offsets})
                for t in self.type_features
                if t.form is not None
            ),
            "edges": tuple("".join(self.type_attributes(None, o)) for o in self.offsets),
            "lists": tuple(
                (
                    "\n".join(d.phrases),
                    "\n".join(d.exceptions),
                    tuple((f"{o:+d}:" if o else "") + f"IN_{d.name}" if o in seen else "" for o in self.offsets),
                )
                for d in self._lists
            ),
            "describe": page,
            "fold": fold,
            "scheme": ("default", "hide").index(self.tokenizer) + 1,
            "spaces": self._plan.spaces,
            "skip_signs": self.skip_punct,
            "position": position,
        }

    def forget(self) -> None:
        """Drop what expansion keeps between documents, so that two trainings can be timed alike."""
        self.cached_attributes.cache_clear()

    def expand(self, encoded: Encoded) -> list[dict[str, float]]:
        """Return every item's CRF attributes and values: what training sees, and what CRFsuite can be fed with."""
        rows: list[dict[str, float]] = [dict(position) for position in encoded.position]
        for offset, column in encoded.neighbours.items():
            by_type = [self.cached_attributes(t, offset) for t in encoded.types]
            edge = self.cached_attributes(None, offset)
            for row, type_id in zip(rows, column.tolist(), strict=True):
                for name in by_type[type_id] if type_id >= 0 else edge:
                    row[name] = 1.0
        return rows


def storable(attribute: str) -> str:
    """Return ``attribute`` without what CRFsuite's file cannot hold: NUL (it stores C strings) and lone surrogates."""
    if attribute.isascii() and "\0" not in attribute:
        return attribute
    return attribute.replace("\0", "\u2400").encode("utf-8", "replace").decode("utf-8")
