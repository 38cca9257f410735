"""Patterns as data: every shipped pattern keeps its golden cases, malformed ones are refused."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest
import regex

from deid.base.errors import ConfigError
from deid.document import Span
from deid.reading.dictionaries import load_catalogues
from deid.reading.vocabulary import languages
from deid.rules import catalogue, patterns, sieve
from deid.rules.catalogue import check_golden, load_catalogue
from deid.rules.fields import CUES
from deid.rules.patterns import compiled_of, keep_compiled
from deid.rules.rules import RuleRecognizer

CATALOGUE = load_catalogue("en")
ITEMS = {
    (language, item.name): item
    for language in languages()
    for loaded in (load_catalogue(language),)
    for item in (*loaded.patterns, *loaded.fields, *loaded.lists, *loaded.heads)
}

HEAD = '[[pattern]]\nname = "own.badge"\ncategory = "IDNUM"\n'
GOOD = HEAD + "regex = 'badge [0-9]{4}'\ncertainty = 0.9\nmatch = ['has [[badge 1234]].']\nno_match = ['badge 12']\n"


def catalogue_of(folder: Path, text: str, language: str = "xx") -> Path:
    path = folder / "patterns" / language / "own.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("language", "name"), sorted(ITEMS))
def test_golden_cases(language: str, name: str) -> None:
    """Each entry finds exactly the marked spans of its cases."""
    item = ITEMS[language, name]
    check_golden(item, load_catalogue(language))
    # files of a user's own are asked when they are loaded
    alone = getattr(item, "part", False)  # a head that needs nothing behind it
    assert alone or not regex.fullmatch(getattr(item, "expression", None) or ".", "")


IN_TURN = [pytest.param(name, marks=() if name == "en" else pytest.mark.slow) for name in languages()]
"""English by day; what is asked of all patterns is asked of those of the others in the longer tests."""
ENDS = {"name.last_line", "name.closing_initials"}
"""What a note ends with is found where it ends."""


@pytest.mark.parametrize("language", IN_TURN)
def test_blanks_at_the_ends_of_lines_and_lines_behind_change_nothing(language: str) -> None:
    """Notes come in lines of one width, and few cases are a note's last line."""
    loaded = load_catalogue(language)
    for item in (*loaded.patterns, *loaded.fields, *loaded.lists, *loaded.heads):
        for case in item.match:
            behind = "" if item.name in ENDS else "\nx y z"
            for varied in (case.replace("\n", "  \n"), f"{case}  ", case.rstrip("\n") + behind):
                check_golden(dataclasses.replace(item, match=(varied,), no_match=()), loaded)


def test_kept_tables_follow_from_all_code_that_computes_them() -> None:
    homes = {getattr(thing, "__module__", None) or "" for thing in vars(sieve).values()}
    assert {h for h in homes if h.startswith("deid.")} <= {room.__name__ for room in catalogue._SIEVE_CODE}


def test_tables_are_kept_for_shipped_patterns_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    load_catalogue("xx", [catalogue_of(tmp_path, GOOD)])
    kept = {path.name.partition("-")[0] for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert kept == {"patterns"}  # the shipped file of all languages; no sieve


@pytest.mark.parametrize("language", IN_TURN)
def test_kept_expressions_are_those_that_are_compiled(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(patterns, "_KEPT", {})
    items = load_catalogue(language)
    values = (item.expression for item in (*items.fields, *items.heads))
    expressions = [*((p.whole, p.case) for p in items.patterns), *((value, False) for value in values)]
    for _ in range(2):  # makes the table, reads it
        patterns.compiled_of.cache_clear()
        keep_compiled(expressions)
    patterns.compiled_of.cache_clear()
    kept = sum(one in patterns._KEPT for one in set(expressions))
    assert kept > 0.9 * len(set(expressions))
    for expression, case in expressions:
        restored = compiled_of(expression, case)
        plain = regex.compile(expression, flags=0 if case else regex.IGNORECASE, cache_pattern=False)
        # the library writes the members of a set in the order in which they lie in memory
        assert (restored.pattern, restored.flags, restored.groupindex) == (expression, plain.flags, plain.groupindex)
        assert sorted(pickle.dumps(restored)) == sorted(pickle.dumps(plain))
    assert not patterns._KEPT


def test_every_cue_that_a_grammar_asks_for_is_defined() -> None:
    """A cue without words would silently switch a rule off."""
    assert {c.name for c in CATALOGUE.cues} == set(CUES)


def test_a_pattern_of_the_users_own_is_found(tmp_path: Path) -> None:
    rules = RuleRecognizer.load("nl", folders=[catalogue_of(tmp_path, GOOD, "nl")])
    text = "Staff badge 4711 was seen."
    spans = [(text[s.start : s.end], s.category) for s in rules.find_in(text) if s.source == "rule:own.badge"]
    assert spans == [("badge 4711", "IDNUM")]


@pytest.mark.skipif(catalogue.native is None, reason="sieves are compiled")
def test_patterns_of_the_users_own_have_a_sieve_of_their_own(tmp_path: Path) -> None:
    """To sift what ships takes no tables anew: they take seconds, and are kept for that alone."""
    mine = load_catalogue("en", [catalogue_of(tmp_path, GOOD, "en")])
    assert mine.sieves[0][0] is CATALOGUE.sieves[0][0]
    assert [mine.patterns[number].name for number in mine.sieves[1][1]] == ["own.badge"]
    text = "Badge 12, badge 4711. Seen 3/4/2019 by Dr. Baker at 4 Elm Street, Boston, MA 02115; MRN: 4711203\n"
    assert mine.search(text) == dataclasses.replace(mine, sieves=()).search(text)
    assert [s for s in mine.search(text) if s.source != "rule:own.badge"] == CATALOGUE.search(text)


def test_a_pattern_that_ships_and_reads_otherwise_is_sifted_as_it_reads() -> None:
    if catalogue.native is None:
        pytest.skip("sieves are compiled")
    number = [p.name for p in CATALOGUE.patterns].index("zip.plus4")
    other = list(CATALOGUE.patterns)
    other[number] = dataclasses.replace(other[number], expression="zzz[0-9]", anchor="")
    sieves = catalogue._sieves(other, CATALOGUE, keep=False)
    assert sieves[1][1] == (number,)
    assert number not in sieves[0][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("IDNUM", "BADGE"), "unknown category BADGE"),
        (GOOD.replace("[0-9]{4}", "[0-9"), "is no regular expression"),
        (GOOD.replace("badge [0-9]{4}'", "(?:badge)?'"), "matches the empty text"),
        (GOOD.replace("0.9", "0"), "cannot fire"),
        (GOOD.replace("0.9", "1.5"), "certainty outside 0..1"),
        (GOOD.replace("0.9", "'high'"), "certainty that is not of type float"),
        (GOOD + "needs = ['Badge']\n", "cannot fire"),
        (GOOD + "check = 'sum'\n", "unknown check sum"),
        (GOOD + "priority = 3\n", "unknown keys: priority"),
        (GOOD.replace("badge [0-9]", "{{prefix}} [0-9]"), "the placeholder prefix is not defined"),
        (GOOD.replace("badge [0-9]", "{{list:no/list}} [0-9]"), "no dictionary 'no/list'"),
        (GOOD + GOOD, "the name own.badge is used twice"),
        (GOOD.replace("match = ['has [[badge 1234]].']\n", ""), "has no match"),
        (GOOD.replace("badge 12'", "badge 1234'"), "golden case 2 expects spans at \\[\\]"),
        (GOOD.replace("[[badge 1234]]", "[[badge]] 1234"), "golden case 1"),
        (GOOD.replace("[[badge 1234]]", "badge 1234"), "must .not. mark"),
        (GOOD.replace("[[pattern]]", "[[patern]]"), "unknown tables: patern"),
        (GOOD + "context = {words = []}\n", "a words that is not a list of texts"),
        (GOOD.replace("regex", "[[pattern.regex]]\nx"), "regex"),
        ("[define]\nprefix = 3\n", "definition prefix is defined twice or is no text"),
        ("[[cue]]\nname = 'mood'\nwords = ['sad']\n", "a name that no grammar asks for"),
        ("[[segment]]\nname = 'PID'\nfields = {x = 'DATE'}\n", "fields that are not number = category"),
    ],
)
def test_a_malformed_catalogue_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_catalogue("xx", [catalogue_of(tmp_path, text)])


def test_a_definition_of_another_file_is_not_made_anew(tmp_path: Path) -> None:
    folder = catalogue_of(
        tmp_path / "one", "[define]\nprefix = 'badge'\n" + GOOD.replace("badge [0-9]", "{{prefix}} [0-9]")
    )
    assert load_catalogue("xx", [folder]).search("has badge 1234") == [Span(4, 14, "IDNUM")]
    other = catalogue_of(tmp_path / "two", "[define]\nprefix = 'card'\n")
    with pytest.raises(ConfigError, match="definition prefix is defined twice"):
        load_catalogue("xx", [folder, other])


def test_a_language_may_define_otherwise_what_all_languages_have(tmp_path: Path) -> None:
    (tmp_path / "patterns").mkdir()
    shared = "[define]\nprefix = 'card'\n" + GOOD.replace("own.badge", "all.badge").replace(
        "badge [0-9]", "{{prefix}} [0-9]"
    )
    (tmp_path / "patterns" / "all.toml").write_text(shared, encoding="utf-8")
    folder = catalogue_of(tmp_path, "[define]\nprefix = 'badge'\n")
    assert load_catalogue("xx", [folder]).search("has badge 1234, card 1234") == [Span(4, 14, "IDNUM")]


def test_an_error_names_file_and_entry(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"patterns/xx/own\.toml: pattern 1 \(own\.badge\) has the unknown category"):
        load_catalogue("xx", [catalogue_of(tmp_path, GOOD.replace("IDNUM", "BADGE"))])


def test_languages_share_what_is_written_alike_in_all_and_nothing_else(tmp_path: Path) -> None:
    own, *shared = (p.name for p in load_catalogue("xx", [catalogue_of(tmp_path, GOOD)]).patterns)
    assert own == "own.badge"
    of_each = [{p.name for p in load_catalogue(language).patterns} for language in languages()]
    assert {"email", "ip.v6", "coordinates.pair", "date.iso"} <= set(shared) <= set.intersection(*of_each)
    assert not {p.name for p in load_catalogue("en").patterns}.issubset(shared)


def test_shipped_files_say_where_they_come_from() -> None:
    for path, _ in load_catalogues("patterns", "en"):
        assert "Origin:" in path.read_text(encoding="utf-8").split("\n\n")[0], path.name
