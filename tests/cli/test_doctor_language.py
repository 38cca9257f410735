"""The list that whoever adds a language works through."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.base import resources
from deid.cli.main import app
from deid.pipeline.language_checkup import language_checkup
from deid.reading import dictionaries, lexicon
from deid.reading.vocabulary import languages, load_vocabulary
from deid.rules.catalogue import load_catalogue
from deid.rules.fields import CUES


@pytest.mark.parametrize("language", languages())
def test_nothing_of_a_shipped_language_is_broken(language: str) -> None:
    findings = list(language_checkup(language))
    assert {f.subject for f in findings} >= {
        "patterns",
        "cues",
        "words",
        "lists",
        "auto",
        "surrogates",
        "attributes",
        "model",
    }
    assert [f for f in findings if f.state == "broken"] == []
    assert [f for f in findings if f.subject in ("auto", "surrogates", "attributes") and f.state != "ok"] == []
    assert all(f.remedy for f in findings if f.state == "note")
    lacking = re.compile(r"\b(no|not|never|unknown|refuses|lacks?|none)\b")
    assert [f for f in findings if (lacking.search(f.what) is not None or f.remedy != "") is (f.state == "ok")] == []


def test_the_command_tells_it_and_an_unknown_language_is_refused() -> None:
    result = CliRunner().invoke(app, ["doctor", "--language", "nl", "--json", "-"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout[result.stdout.index("{") :])
    assert {finding["subject"] for finding in summary["findings"]} >= {"patterns", "model"}
    assert "python" not in {finding["subject"] for finding in summary["findings"]}
    from deid.base.errors import ConfigError

    with pytest.raises(ConfigError, match="no rules for the language 'tlh'"):
        list(language_checkup("tlh"))


def test_what_a_new_language_lacks_and_what_is_wrong_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "dictionaries"
    shutil.copytree(resources.resource_folder("dictionaries"), own)
    folder = own / "patterns" / "xx"
    folder.mkdir()
    (folder / "words.toml").write_text("[words]\nand = ['ja']\n")
    good = "[[pattern]]\nname = 'date.one'\ncategory = 'DATE'\nregex = 'on [0-9]{4}'\ncertainty = 0.9\n"
    cases = (("", "broken"), (good + "match = ['[[on 2001]]']\n", "ok"), (good + "match = ['on [[2001]]']\n", "broken"))
    for entries, state in cases:
        (folder / "dates.toml").write_text(entries)
        for module in ("deid.reading.dictionaries", "deid.reading.vocabulary"):
            monkeypatch.setattr(f"{module}.resource_folder", lambda name: own if name == "dictionaries" else tmp_path)
        from deid.reading import vocabulary
        from deid.rules import catalogue

        vocabulary._load.cache_clear()
        catalogue._load.cache_clear()
        findings = list(language_checkup("xx"))
        patterns = [f for f in findings if f.subject == "patterns"]
        assert ("broken" in [f.state for f in patterns]) == (state == "broken")
        assert all("Hint:" not in f.what for f in patterns), "the remedy stands beside it, once"
        assert any("nothing" in f.what or "no pattern of its own" in f.what for f in patterns) == (not entries)
        if state == "ok":
            lacking = next(f.what for f in patterns if "none for: " in f.what).partition("none for: ")[2].split(", ")
            assert "PATIENT" in lacking
            assert not {"DATE", "EMAIL"} & set(lacking)  # the pattern of its own, and one of all languages
    told = " ".join(f.what for f in findings)
    for lacking in ("the months have no names", "function", "occupations (professions.txt)", "unknown to py3langid"):
        assert lacking in told
    found, _, lacking = next(f.what for f in findings if f.subject == "words").partition("; none for: ")
    assert found == "1 lists of small words are there"
    assert {"unit", "saint"} < set(lacking.split(", "))
    assert "and" not in lacking.split(", ")
    vocabulary._load.cache_clear()
    catalogue._load.cache_clear()


def test_a_list_of_a_class_that_does_not_exist_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command would stop at it."""
    own = tmp_path / "dictionaries"
    shutil.copytree(resources.resource_folder("dictionaries"), own)
    (own / "patterns" / "qq").mkdir()
    (own / "patterns" / "qq" / "words.toml").write_text("[words]\nand = ['ja']\n")
    (own / "names" / "titles_qq").mkdir()
    (own / "names" / "titles_qq" / "items.txt").write_text("sig\n")
    told = "origin = 'x'\nlicence = 'x'\ndate = '2026-11-27'\nlanguage = 'qq'\nclass = "
    for module in ("deid.reading.dictionaries", "deid.reading.vocabulary"):
        monkeypatch.setattr(f"{module}.resource_folder", lambda name: own if name == "dictionaries" else tmp_path)
    for kind, state in (("titles", "broken"), ("title", "note")):
        (own / "names" / "titles_qq" / "source.toml").write_text(f"{told}'{kind}'\n")
        for kept in (*vars(dictionaries).values(), *vars(lexicon).values()):
            getattr(kept, "cache_clear", lambda: None)()
        lists = [f for f in language_checkup("qq") if f.subject == "lists"]
        assert [f.state for f in lists] == [state]
        assert ("'titles'" in lists[0].what) == (state == "broken")
        lacking = lists[0].what.rpartition("none for: ")[2].split(", ")
        assert ("given" in lacking, "title" in lacking) == (state == "note", False)
    (own / "names" / "titles_qq" / "items.txt").write_text("sig\ndott.\n")
    for kept in (*vars(dictionaries).values(), *vars(lexicon).values()):
        getattr(kept, "cache_clear", lambda: None)()
    told_of = [f.what for f in language_checkup("qq") if f.subject == "lists"]
    assert any("full stop" in what and "names/titles_qq" in what for what in told_of)


def test_a_file_that_several_checks_read_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "dictionaries"
    shutil.copytree(resources.resource_folder("dictionaries"), own)
    folder = own / "patterns" / "xx"
    folder.mkdir()
    (folder / "words.toml").write_text("[words\nand = ['ja']\n")
    (folder / "dates.toml").write_text("[[pattern]]\nname = 'd'\ncategory = 'DATE'\nregex = 'on'\ncertainty = 0.9\n")
    for module in ("deid.reading.dictionaries", "deid.reading.vocabulary"):
        monkeypatch.setattr(f"{module}.resource_folder", lambda name: own if name == "dictionaries" else tmp_path)
    broken = [finding for finding in language_checkup("xx") if finding.state == "broken"]
    assert len(broken) == 1
    assert "words.toml" in f"{broken[0].what} {broken[0].remedy}"


@pytest.mark.parametrize("language", ["de", "es"])
def test_what_a_language_lacks_is_named_one_by_one(language: str) -> None:
    told = {found.subject: found.what.partition(" there; none for: ") for found in language_checkup(language)}
    cues, words = {cue.name for cue in load_catalogue(language).cues}, load_vocabulary(language).words
    lacking = {"cues": [n for n in CUES if n not in cues], "words": sorted(n for n, own in words.items() if not own)}
    there = {"cues": len(cues), "words": sum(map(bool, words.values()))}
    for subject, names in lacking.items():
        count, _, listed = told[subject]
        assert (int(count.split()[0]), listed.split(", ")) == (there[subject], names)
