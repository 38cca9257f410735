"""Choices of a document for tests of single categories."""

from __future__ import annotations

from deid.base.keys import Key
from deid.replacement.choices import Choices
from deid.replacement.names import NameMap
from deid.replacement.permutation import Keyed

KEY = Key(b"a key of the tests")


def make_choices(scope: str = "patient:1", language: str = "en", originals: tuple[str, ...] = ()) -> Choices:
    keyed = Keyed(KEY, scope)
    words = frozenset(originals)
    return Choices(keyed, NameMap(keyed, language, words), words, language)
