"""WordNet's files: a miniature in their format, and the real ones where they are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.replacement.ontology import Ontology, chain
from deid.replacement.wordnet import DEBIAN_FOLDER, read_wordnet

DATA = """\
  1 This is the licence, which begins with blanks.
00000100 03 n 01 entity 0 002 ~ 00000200 n 0000 ~ 00000300 n 0000 | that which is
00000200 03 n 01 disease 0 002 @ 00000100 n 0000 ~ 00000400 n 0000 | an illness
00000300 03 n 02 place 0 spot 1 001 @ 00000100 n 0000 | somewhere
00000400 03 n 02 liver_cancer 0 cancer_of_the_liver 0 002 @ 00000200 n 0000 @ 00000300 n 0000 | a cancer; "a | b"
00000500 15 n 0b Troy 0 a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 @i 00000300 n 0000 | eleven words
00000600 03 n 01 cold 0 001 @ 00000200 n 0000 | a disease
00000700 03 n 01 cold 1 001 @ 00000300 n 0000 | a place
"""
INDEX = """\
  1 This is the licence.
cancer_of_the_liver n 1 1 @ 1 0 00000400
cold n 2 1 @ 2 1 00000600 00000700
disease n 1 2 @ ~ 1 1 00000200
entity n 1 1 ~ 1 1 00000100
liver_cancer n 1 1 @ 1 0 00000400
spot n 1 1 @ 1 0 00000300
troy n 1 1 @i 1 0 00000500
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.noun").write_text(DATA)
    (tmp_path / "index.noun").write_text(INDEX)
    return tmp_path


def test_miniature(folder: Path) -> None:
    hierarchy, senses = read_wordnet(folder)
    assert hierarchy.chain("liver cancer#00000400") == ("liver cancer#00000400", "disease#00000200", "entity#00000100")
    assert hierarchy.chain("Troy#00000500")[1] == "place#00000300"
    assert senses["cancer of the liver"] == senses["liver cancer"]
    assert senses["cold"] == ("cold#00000600",)
    terms = chain(Ontology("wordnet", "thing", hierarchy, senses), "Cancer of the liver")
    assert terms is not None
    assert (terms.labels, terms.counts) == (("Cancer of the liver", "disease", "entity"), (1, 2, 4))


@pytest.mark.parametrize(
    ("old", "new"), [("00000200 n 0000 @", "99999999 n 0000 @"), (" 0b ", " zz "), ("n 2 1 @", "n")]
)
def test_malformed_files_are_refused(folder: Path, old: str, new: str) -> None:
    for name in ("data.noun", "index.noun"):
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    with pytest.raises(ConfigError, match="malformed"):
        read_wordnet(folder)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="wordnet-base"):
        read_wordnet(tmp_path)


@pytest.mark.skipif(not (DEBIAN_FOLDER / "data.noun").is_file(), reason="Debian's wordnet-base is not installed")
def test_installed_wordnet_generalizes_the_papers_example() -> None:
    """ "tuberculosis" becomes "infectious disease", Sacramento a state capital."""
    hierarchy, senses = read_wordnet(DEBIAN_FOLDER)
    wordnet = Ontology("wordnet", "thing", hierarchy, senses)
    assert chain(wordnet, "tuberculosis").labels[1] == "infectious disease"  # type: ignore[union-attr]
    assert chain(wordnet, "Sacramento").labels[1] == "state capital"  # type: ignore[union-attr]
    assert len(hierarchy.leaves()) > 60_000
