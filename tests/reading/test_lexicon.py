"""The lists of a language as one: what is kept between runs is what the files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.reading import lexicon
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
