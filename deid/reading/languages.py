"""Which language a text is written in, and whether it is the one that a user asked for.

A text of a language has that language's function words and words of its lists, or hardly a word that these lack; where
it has, nothing more is asked. Else py3langid, a naive Bayes classifier over byte n-grams for 97 languages (Lui and
Baldwin, ACL 2012, system demonstrations), tells the language. It works offline and always says the same. Short texts
and doubtful ones are no guess: values of a laboratory are of no language.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.cache import mapped, packed, unpacked
from deid.base.errors import ConfigError
from deid.reading.dictionaries import available, load_dictionary
from deid.reading.lexicon import classes_of, load_lexicon
from deid.reading.vocabulary import languages

AUTO = "auto"
"""In place of a language: that of each document."""
DEFAULT_LANGUAGE = "en"
"""Where nothing says the language."""
LEAST_WORDS = 20
"""A text of fewer words has no language that could be told from it."""
_SAMPLE, _FIRST = 1500, 500
"""Characters around the middle of a text that are looked at, those that often suffice; headers stand at its ends."""
_UNLIKELY = 0.01
"""Most probability of the language that a text was read in, where it is told to be of another."""
_NEAR = 0.1
_LIKELY = 0.35
_FEW_WORDS, _OWN_WORDS, _FLUENT = 0.015, 0.04, 0.2
"""Share of words of its own grammar from which a text may be of a language that has fewer of others; from which it may
be of it anyhow (another one's have .03 at most, kin .13); from which nothing more is asked."""
_LISTED = classes_of("word", "clinical", "section", "function")
"""Classes of a language's words."""
_SOME, _NEARLY_ALL = 0.4, 0.9
"""Share of listed words that a text of a language has beside such words of grammar, and from which it needs none of
them (telegraphic notes have few) if it has none of another language: French and Dutch lists know most English words."""
_WORD = re.compile(r"[^\W\d_]+")
_WORD_OF_THREE = re.compile(r"[^\W\d_]{3,}")


def read_language(said: str | None) -> tuple[str | None, bool]:
    """Return the language that a user asks for, and whether each document's own goes before it.

    Parameters
    ----------
    said : str or None
        Such as ``de``; ``auto``, or ``auto:de`` where documents that cannot be told shall be taken for German.

    Raises
    ------
    ConfigError
        When there are no rules for the language.
    """
    auto, _, fallback = (said or "").partition(":")
    own = auto == AUTO
    language = (fallback or DEFAULT_LANGUAGE) if own else said
    if language is not None and language not in languages():
        known = f"languages: {', '.join(languages())}; or {AUTO}, {AUTO}:{DEFAULT_LANGUAGE}"
        raise ConfigError(f"there are no rules for the language {language!r}", known)
    return language, own


def language_of(text: str, fallback: str) -> str:
    """Return the language of a text among those that rules ship for; ``fallback`` where it cannot be told."""
    sample = _sample(text)
    if sample is None:
        return fallback
    told, sure = _among(languages()).classify(sample)
    return str(told) if sure >= _LIKELY else fallback


def other_language(text: str, language: str) -> str:
    """Return the language of a text where it surely is another one than ``language``; else nothing."""
    # nearly all texts: the classifier is large and slow
    if _is_of(_middle(text, _FIRST), language) or (len(text) > _FIRST and _is_of(_middle(text), language)):
        return ""
    sample = _sample(text)
    if sample is None:
        return ""
    found: dict[str, float] = dict(_among(()).rank(sample))
    if found.get(language, 0.0) > _UNLIKELY:
        return ""
    first = max(found, key=lambda name: found[name])
    # Dutch and Afrikaans share their probability: one that can be read here is named
    known = max(languages(), key=lambda name: found.get(name, 0.0))
    return str(known if found.get(known, 0.0) >= _NEAR * found[first] else first)


def foreign(counts: Mapping[str, int]) -> str:
    """Return what whoever reads ``counts`` (language -> documents) must know, without the number of all documents."""
    which = ", ".join(f"{language}: {count}" for language, count in sorted(counts.items()))
    return (
        f"documents are written in another language than they were read in ({which}): names and places may be left in "
        f"them; name the language (--language, or --language {AUTO})"
    )


def classified() -> frozenset[str]:
    """Return the languages that can be told from a text."""
    return frozenset(_among(()).labels)


def _middle(text: str, size: int = _SAMPLE) -> str:
    """Return what is looked at of a text."""
    start = max(0, (len(text) - size) // 2)
    return text[start : start + size]


def _sample(text: str) -> str | None:
    """Return what the classifier sees of a text; None where it has too few words."""
    sample = _middle(text)
    if len(_WORD.findall(sample)) < LEAST_WORDS:
        return None
    return sample.lower() if sample.isupper() else sample


def _is_of(sample: str, language: str) -> bool:
    """Tell whether a text plainly is of a language: by its lists, and by the function words of this and of others."""
    folded = sample.lower()
    words, (own, others) = folded.split(), _own_words(language)
    spoken = sum(map(own.__contains__, words))
    if spoken >= _FLUENT * len(words):
        return True
    listed, classes = _WORD_OF_THREE.findall(folded), load_lexicon(language).words
    known = len([bits for bits in map(classes.get, listed) if bits is not None and bits & _LISTED])
    if known < _SOME * len(listed):
        return False
    if spoken >= _OWN_WORDS * len(words):
        return True
    foreign = sum(map(others.__contains__, words))
    if foreign < spoken and spoken >= _FEW_WORDS * len(words):
        return True
    return known >= _NEARLY_ALL * len(listed) and foreign < _OWN_WORDS * len(words)


@functools.lru_cache(maxsize=16)
def _own_words(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the function words that a language alone has, and those that it does not have and another one has."""
    own = _function_words(language)
    others = frozenset().union(*(_function_words(other) for other in languages() if other != language))
    return own - others, others - own


@functools.lru_cache(maxsize=16)
def _function_words(language: str) -> frozenset[str]:
    names = (name for name in available(language) if name.startswith("common/function"))
    return frozenset(word for name in names for word in load_dictionary(name).words)


@functools.lru_cache(maxsize=2)
def _among(those: tuple[str, ...]) -> Any:
    """Return the classifier for some languages, or for all that it knows."""
    classifier = _classifier()
    if those:
        classifier.set_languages(list(those))
    return classifier


def _classifier() -> Any:
    """Load the classifier: what it unpacks in half a second is kept between runs, for all processes once."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    model = (MODEL_DIR / MODEL_FILE).read_bytes()

    def make() -> bytes:
        made = LanguageIdentifier.from_model_file(MODEL_FILE)
        numbers = made.tk_nextmove, np.asarray(made.nb_ptc), made.nb_pc, made.tk_row, np.array(made.tk_output)
        kinds = [np.asarray(part).dtype.str for part in numbers]
        head = json.dumps({"kinds": kinds, "classes": made.nb_classes})
        return packed((*(np.ascontiguousarray(part).tobytes() for part in numbers), head.encode()))

    table = mapped("languages", (Path(__file__).read_bytes(), model), make)
    if table is None:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    *parts, head = unpacked(table)
    told = json.loads(bytes(head))
    moves, weights, priors, rows, output = map(np.frombuffer, parts, told["kinds"])
    # one move after the other is looked up in Python, which is slow on arrays of numpy
    walked = moves.data
    known = weights.reshape(-1, len(priors)), priors, told["classes"]
    return LanguageIdentifier(*known, walked, output.tolist(), norm_probs=True, tk_row=rows.tolist())
