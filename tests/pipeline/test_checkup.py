"""What `deid doctor` says of an installation: what is missing, what to do, and nothing else stops."""

from __future__ import annotations

from importlib import metadata
from itertools import takewhile
from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.base.keys import KEY_VARIABLE, load_key
from deid.detection import recognizers
from deid.labeling import tagger
from deid.pipeline.checkup import SetupCheck, checkup
from deid.reading import dictionaries
from deid.replacement import policy


def of_packages() -> list[SetupCheck]:
    return list(takewhile(lambda found: found.subject in ("python", "packages", "extras"), checkup()))[1:]


def test_packages_that_are_missing_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = ["numpy>=1", "no-such.one>=2,<3; python_version > '3'", "no-such_two"]
    extra = ["pandas; extra == 'all'", "clinical-deid[all]; extra == 'dev'", "no-such-three~=1; extra == 'all'"]
    monkeypatch.setattr(metadata, "version", lambda _: "7.0")
    monkeypatch.setattr(metadata, "requires", lambda _: [*asked, *extra])
    assert of_packages() == [
        SetupCheck("packages", "broken", "missing: no-such.one, no-such_two",
                   "run: pip install no-such.one no-such_two"),
        SetupCheck("extras", "note", "optional packages that are not installed: no-such-three",
                   "install them if needed"),
    ]  # fmt: skip
    monkeypatch.setattr(metadata, "requires", lambda _: [asked[0], *extra[:2]])
    assert [(f.state, f.what) for f in of_packages()] == [
        ("ok", "clinical-deid 7.0 and all that it needs"), ("ok", "optional packages are all installed"),
    ]  # fmt: skip
    assert of_packages()[0].remedy == ""
    monkeypatch.setattr(metadata, "requires", lambda _: None)
    assert [f.state for f in of_packages()] == ["ok", "ok"]


def test_a_checkout_that_nobody_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", none)
    monkeypatch.setattr(metadata, "requires", none)
    (found,) = of_packages()
    assert (found.state, "pip install -e ." in found.remedy) == ("note", True)


def test_what_goes_wrong_is_told_without_its_text_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is there: no list, no policy, no model, rules that find nothing, a key that is none."""

    def secret(_: str) -> str:
        raise RuntimeError("Quendrith")

    monkeypatch.setattr(metadata, "requires", secret)
    monkeypatch.setattr(dictionaries, "available", lambda: ())
    monkeypatch.setattr(policy, "shipped_policies", lambda: ())
    monkeypatch.setattr(recognizers, "build_recognizer", lambda _: type("", (), {"find": lambda *_: []})())
    monkeypatch.setattr(tagger, "available_models", lambda: ())
    wrong = tmp_path / "key"
    wrong.write_text("short")
    found = list(checkup(wrong))
    assert "Quendrith" not in str(found)
    assert [f.subject for f in found if f.state == "broken"] == [
        "packages", "dictionaries", "policies", "rules", "models", "key",
    ]  # fmt: skip
    assert all(f.remedy for f in found if f.state == "broken")
    assert "RuntimeError" in found[1].what


def test_what_goes_wrong_in_a_known_way_has_its_own_remedy_or_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for hint, remedy in (("write it anew", "write it anew"), ("", "install the package again")):

        def broken(hint: str = hint) -> list[str]:
            raise ConfigError("a list is damaged", hint)

        monkeypatch.setattr(dictionaries, "available", broken)
        found = next(f for f in checkup() if f.subject == "dictionaries")
        assert (found.state, found.remedy) == ("broken", remedy)
        assert "a list is damaged" in found.what


def test_what_ships_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model is enough to look at: all are loaded elsewhere."""
    monkeypatch.setattr(tagger, "available_models", lambda: ("nl", "none-such"))
    found = {f.subject: f for f in checkup(tmp_path / "key") if f.subject != "models" or f.state == "ok"}
    assert found["python"].what.startswith("Python 3.")
    assert [found[name].state for name in ("dictionaries", "policies", "rules", "models")] == ["ok"] * 4
    assert "nl: " in found["models"].what
    assert "redact" in found["policies"].what
    assert int(found["rules"].what.split(" ")[3]) >= 5


def test_a_policy_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "shipped_policies", lambda: ("redact", "none-such"))
    found = [f for f in takewhile(lambda f: f.subject != "rules", checkup()) if f.subject == "policies"]
    assert [f.state for f in found] == ["broken", "ok"]
    assert "none-such" in found[0].what


def test_where_the_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((dictionaries, "available"), (policy, "shipped_policies"), (tagger, "available_models")):
        monkeypatch.setattr(module, name, tuple)

    def key(path: Path | None) -> SetupCheck:
        return next(f for f in checkup(path) if f.subject == "key")

    file = tmp_path / "own.key"
    assert (key(file).state, str(file) in key(file).what) == ("note", True)
    load_key(file, create=True)
    assert (key(file).state, str(file) in key(file).what) == ("ok", True)
    monkeypatch.setattr("deid.base.keys.default_key_path", lambda: file)
    assert str(file) in key(None).what
    monkeypatch.setenv(KEY_VARIABLE, file.read_text().strip())
    assert (key(None).state, KEY_VARIABLE in key(None).what) == ("ok", True)
    assert str(file) in key(file).what
    monkeypatch.setenv(KEY_VARIABLE, "short")
    assert key(None).state == "broken"
