"""Tokenizers with exact offsets: the tokens cover the text, ``"".join(tokens.strings) == text``.

* ``default`` separates letters (with their combining marks), digits, runs of white space and single other characters,
  so that a PHI span practically never cuts a token;
* ``hide`` is the dissertation's ``re.split(r"(\\W)", text)`` with empty strings dropped: letters, digits and
  underscores stay together, every other character is a token of its own, white space included;
* ``spacy`` uses ``spacy.blank(language)``, split at its white space.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import regex

from deid.base.errors import ConfigError, require

_DEFAULT = regex.compile(r"[\p{L}\p{M}]+|\p{N}+|\s+|[^\p{L}\p{M}\p{N}\s]")
_HIDE = re.compile(r"\w+|\W", flags=re.DOTALL)  # re, not regex: they disagree on what a word character is


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one text, in order and without gaps."""

    strings: list[str]
    """The tokens; joined they are the text."""
    starts: np.ndarray
    """First character of each token, int64 of shape (n_tokens,)."""
    ends: np.ndarray
    """One past the last character of each token, int64 of shape (n_tokens,)."""
    spaces: np.ndarray
    """Whether a token is white space, bool of shape (n_tokens,)."""

    def __len__(self) -> int:
        return len(self.strings)

    def __repr__(self) -> str:
        return f"Tokens({len(self.strings)})"


def tokenize(text: str, scheme: str = "default") -> Tokens:
    """Split ``text`` into tokens that cover it exactly.

    Parameters
    ----------
    text : str
    scheme : str
        ``default``, ``hide``, ``spacy`` or ``spacy:LANGUAGE``.

    Returns
    -------
    Tokens
        In order and without gaps, white space too.

    Raises
    ------
    ConfigError
        When the scheme is unknown.
    """
    name, _, language = scheme.partition(":")
    require(name in TOKENIZERS, f"unknown tokenizer {scheme!r}", "known: " + ", ".join(TOKENIZERS))
    strings = TOKENIZERS[name](text, language)
    ends = np.cumsum(np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]) if len(strings) else ends
    spaces = np.fromiter(map(str.isspace, strings), dtype=bool, count=len(strings))
    return Tokens(strings, starts, ends, spaces)


@functools.cache
def _spacy_tokenizer(language: str) -> Callable[[str], object]:
    import spacy

    try:
        return spacy.blank(language).tokenizer
    except ImportError:
        raise ConfigError(f"spaCy knows no language {language!r}", "use a code such as en or es") from None


def _spacy(text: str, language: str) -> list[str]:
    strings: list[str] = []
    read = 0
    for token in _spacy_tokenizer(language or "en")(text):  # type: ignore[attr-defined]
        if token.idx > read:
            strings.append(text[read : token.idx])
        strings.append(token.text)
        read = token.idx + len(token.text)
    if read < len(text):
        strings.append(text[read:])
    return strings


TOKENIZERS: dict[str, Callable[[str, str], list[str]]] = {
    "default": lambda text, _: _DEFAULT.findall(text),
    "hide": lambda text, _: _HIDE.findall(text),
    "spacy": _spacy,
}
"""Tokenizers by name: from a text (and a language code) to the tokens that cover it."""
