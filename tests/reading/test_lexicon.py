"""The lists of a language as one: what is kept between runs is what the files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.reading import lexicon
from deid.reading.lexicon import CLASSES, classes_of, load_lexicon
from deid.reading.vocabulary import languages


@pytest.mark.parametrize("language", languages())
def test_lists_are_the_same_however_often_they_are_kept(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    read = lexicon._joined(language, ())
    for _ in range(2):  # written, then read
        assert lexicon._kept(language) == read
    assert len(list(tmp_path.glob(f"deid/lexicon-{language}-*"))) == 1


@pytest.mark.parametrize(
    ("language", "clinical", "name"),
    [
        ("de", ["kinderschutzambulanz", "frauenarztpraxis"], ["wolfgang", "corbett", "delange"]),
        ("nl", ["voetenspreekuur", "wondbehandeling"], ["locklier", "annemie"]),
        ("en", [], ["kinderschutzambulanz"]),
    ],
)
def test_an_unlisted_compound_is_what_its_head_is(
    language: str, clinical: tuple[str, ...], name: tuple[str, ...]
) -> None:
    known = load_lexicon(language)
    for word in clinical:
        assert word not in known.words
        assert known.classes(word) & CLASSES["clinical"], word
    for word in name:
        assert not known.classes(word) & CLASSES["clinical"] or word in known.words, word


@pytest.mark.parametrize("language", languages())
def test_no_name_or_town_ends_like_a_clinical_compound(language: str) -> None:
    known = load_lexicon(language)
    names = classes_of("given", "last", "city")
    # listed words are what their lists say; what no list has must not be taken for a compound of these
    heads = tuple(known.heads)
    taken = {w for w, bits in known.words.items() if bits & names and w not in known.heads and w.endswith(heads)}
    assert not taken


def test_an_ordinary_word_behind_an_elided_one_is_ordinary_and_a_name_is_not() -> None:
    known = load_lexicon("fr")
    assert known.classes("s'appelle") & CLASSES["word"]
    assert not known.classes("n'zorblat")
    assert not known.classes("d'alençon") & CLASSES["word"]


def test_an_unlisted_compound_of_an_ordinary_last_word_is_ordinary() -> None:
    known = load_lexicon("de")
    for word in ("blornfragebogen", "quendrithvertretung"):
        assert word not in known.words
        assert known.classes(word) & (CLASSES["word"] | CLASSES["clinical"]), word
    assert known.classes("blornvertretung") == CLASSES["word"]
    assert not known.classes("vertretung"[2:])  # a last word alone is none of a compound
    ends, names = tuple(known.ends), classes_of("given", "last", "city")
    other = classes_of("word", "clinical")
    assert not [w for w, bits in known.words.items() if bits & names and not bits & other and w[3:].endswith(ends)]
