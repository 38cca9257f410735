"""Surrogates of institutions, departments, streets and other places by template.

What kind of thing a name names stays (*St. ... Hospital*, *... Avenue*); what tells it from others is replaced: names
of persons, cities and states by those persons', cities' and states' surrogates, words of a list by others of the list,
numbers by numbers.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from deid.reading.identity import name_key, name_words
from deid.replacement.choices import Choices
from deid.replacement.identifiers import scramble
from deid.replacement.names import match_case
from deid.replacement.pools import FIFTY, Words, group_index, ordinal_ending, phrase_key, read_words, states, words

_ORDINAL: Final = re.compile(r"(\d+)(st|nd|rd|th)\b", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
_LONGEST_PHRASE: Final = 3


@dataclass(frozen=True, slots=True)
class Template:
    """How names of one category are replaced."""

    kept: tuple[str, ...]
    """Lists of words that stay (``[kept]`` of words.toml)."""
    groups: tuple[str, ...] = ()
    """Lists whose words are always exchanged for others of the list (``[groups]``)."""
    spare: tuple[str, ...] = ()
    """Lists whose words are exchanged when nothing else was replaced."""


TEMPLATES: dict[str, Template] = {
    category: Template(**{name: tuple(lists) for name, lists in said.items()})
    for category, said in read_words("words.toml")["templates"].items()
}
_ENDINGS: dict[str, list[str]] = read_words("words.toml")["endings"]
_COMPOUNDING: Final = ("de", "nl")
_WITH_SPARE: Final = ("en", "es")
_STAYING_MODIFIERS: Final = (
    *("modifiers", "denominations", "directions", "directions_long"),
    *("departments", "departments_es"),
)


def replace_by_template(
    choices: Choices, category: str, text: str, known: Mapping[str, str], acronyms: Mapping[str, str], step: int = 1
) -> str:
    """Replace the name of an institution, street or place.

    Parameters
    ----------
    choices : Choices
        The document's choices.
    category : str
        A key of `TEMPLATES`.
    text : str
    known : mapping
        Key of a city, state, country or postal code of the document -> its surrogate.
    acronyms : mapping
        Initials of longer names of the document, upper case -> initials of their surrogates.
    step : int
        1 for the first choice; further ones change more words.

    Returns
    -------
    str
        Empty when ``text`` has neither letter nor digit.
    """
    template = TEMPLATES[category]
    stays = _staying(category, choices.language[:2])
    tokens = _tokens(text)
    phrases = bool(known or template.groups)
    capitals = text.isupper()
    out: list[str] = []
    read = i = 0
    replaced = False
    while i < len(tokens):
        start, end, key = tokens[i]
        new = ""
        i += 1
        if phrases:
            length, new = _phrase(choices, text, tokens[i - 1 : i - 1 + _LONGEST_PHRASE], template, known)
            i += length - 1
            end = tokens[i - 1][1]
        if not new and key not in stays:
            word = text[start:end]
            new = (
                acronyms.get(word, "")
                or _compound(choices, category, word)
                or _word(choices, key, word, abbreviated=not capitals or word == text)
            )
        if new:
            out += (text[read:start], new)
            read = end
            replaced = True
    out.append(text[read:])
    result = "".join(out)
    # where words of more languages stay, a street can be nothing else: Große Str. 88
    bare = not replaced and category == "STREET" and choices.language[:2] not in _WITH_SPARE
    if _DIGIT.search(text):
        result = _numbers(choices, result, step, known)
        replaced = True
    if not replaced or step > 1 or bare:
        result = _exchange_spare(choices, result, template, words(), step)
    return result if tokens or replaced else ""


_tokens = functools.lru_cache(maxsize=8)(name_words)  # a name is taken apart for several reasons, one after the other


@functools.cache
def _staying(category: str, language: str) -> frozenset[str]:
    """Return the keys of the words that stay in the names of a category."""
    lists = words().kept
    kept = [lists[name] for name in TEMPLATES[category].kept]
    kept += [lists.get(f"{name} {language}", frozenset()) for name in TEMPLATES[category].kept]
    if category in ("HOSPITAL", "ORGANIZATION"):
        kept += [frozenset(map(phrase_key, words().groups[name])) for name in _STAYING_MODIFIERS]
    return frozenset({""}).union(*kept)


def _phrase(
    choices: Choices,
    text: str,
    tokens: list[tuple[int, int, str]],
    template: Template,
    known: Mapping[str, str],
) -> tuple[int, str]:
    """Return how many words belong together here, and their surrogate, empty when they are no known phrase."""
    index = group_index(template.groups)
    several = known or (index and tokens[0][2] in _starters(template.groups))
    for length in range(len(tokens) if several else 1, 0, -1):
        key = " ".join(token[2] for token in tokens[:length])
        word = text[tokens[0][0] : tokens[length - 1][1]]
        if key in known:
            return length, match_case(known[key], word)
        if found := index.get(key):
            group = words().groups[found[0]]
            new = choices.claim(found[0], key, choices.others(found[0], found[1], group))
            return length, match_case(new.title() if word[0].isupper() else new, word)
    return 1, ""


@functools.cache
def _starters(groups: tuple[str, ...]) -> frozenset[str]:
    """Return the first words of phrases of several words."""
    phrases = (phrase_key(phrase).split() for name in groups for phrase in words().groups[name])
    return frozenset(phrase[0] for phrase in phrases if len(phrase) > 1)


def _word(choices: Choices, key: str, word: str, *, abbreviated: bool) -> str:
    if len(key) == 1:
        return choices.names.initials(word)
    if abbreviated and len(word) <= 5 and word.isupper() and not choices.names.is_name(key):
        return choices.names.initials(word)
    return choices.names.spelled(key, word)


def _compound(choices: Choices, category: str, word: str) -> str:
    """Return the surrogate of a word whose end says what it names: *Linden|straße*; else nothing."""
    if choices.language[:2] not in _COMPOUNDING:
        return ""
    ending = next((e for e in _ENDINGS.get(category, ()) if word.lower().endswith(e)), "")
    own = word[: len(word) - len(ending)].rstrip("-")
    key = name_key(own)
    if not ending or len(key) < 3:
        return ""
    return choices.names.spelled(key, own) + word[len(own) :]


def _numbers(choices: Choices, text: str, step: int, known: Mapping[str, str]) -> str:
    """Replace numbers, a postal code of the document by its surrogate; ordinal endings agree with them."""
    parts = re.split(r"(\d+)", text)
    for i in range(1, len(parts), 2):
        parts[i] = known.get(parts[i]) or scramble(choices.keyed, parts[i], "number", step)
    return _ORDINAL.sub(lambda m: m[1] + match_case(ordinal_ending(int(m[1][-2:])), m[2]), "".join(parts))


def _exchange_spare(choices: Choices, text: str, template: Template, lists: Words, step: int) -> str:
    """Exchange one word that usually stays, for a name that has nothing else; without any, the first word."""
    tokens = name_words(text)
    for start, end, key in tokens:
        found = lists.find(key, template.spare)
        if found is not None:
            group = lists.groups[found[0]]
            word = text[start:end]
            new = group[choices.keyed.move(found[0], found[1], len(group), step)]
            return text[:start] + match_case(new.title() if word[0].isupper() else new, word) + text[end:]
    if not tokens:
        return text
    function = lists.kept["function"]
    start, end, key = next((t for t in tokens if t[2] not in function), tokens[0])
    return text[:start] + choices.names.spelled(key, text[start:end]) + text[end:]


def learn_states(choices: Choices, text: str, known: dict[str, str]) -> None:
    """Add the surrogates of states that an institution is named after to ``known``."""
    keys = [key for _, _, key in _tokens(text)]
    if _state_starters().isdisjoint(keys):
        return
    index = _state_names()
    for phrase in (*keys, *(" ".join(pair) for pair in itertools.pairwise(keys))):
        if phrase in index and phrase not in known:
            known[phrase] = states()[choices.keyed.move("state", index[phrase], FIFTY)].name


@functools.cache
def _state_starters() -> frozenset[str]:
    return frozenset(name.split()[0] for name in _state_names())


@functools.cache
def _state_names() -> dict[str, int]:
    return {phrase_key(state.name): i for i, state in enumerate(states()[:FIFTY])}


def initials_of(text: str) -> str:
    """Return the initials of a name of several words, upper case, words like "of" left out; else an empty string."""
    function = words().kept["function"]
    keys = [name_key(text[s:e]) for s, e, key in _tokens(text) if key not in function or key in ("st", "saint")]
    return "".join(k[0] for k in keys if k).upper() if len(keys) > 1 else ""
