"""Policies: which rule counts for a category, and which policies are refused when they are loaded."""

from __future__ import annotations

import datetime
import pickle
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.cli.main import app
from deid.document import Document, Span
from deid.phi import CATEGORIES, GROUPS, LABEL_SETS, canonical, hipaa
from deid.replacement.operators import OPERATORS
from deid.replacement.policy import Policy, load_policy, parse_policy, shipped_policies
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope
from deid.rules.rules import RuleRecognizer


def policy(text: str, **arguments: Any) -> Policy:
    return parse_policy(tomllib.loads(text), "test", Path(), **arguments)


REST = '\n[default]\noperator = "redact"\n'


def operators(of: Policy) -> dict[str, str]:
    return {category: rule.operator for category, rule in of.base.items()}


def test_the_policies_that_users_are_promised() -> None:
    assert set(shipped_policies()) >= {
        "expert",
        "full",
        "gdpr-anonymous",
        "gdpr-pseudonymised",
        "hro-anonymised",
        "hro-coded",
        "limited-data-set",
        "redact",
        "safe-harbor",
        "statistical",
        "tag",
    }


@pytest.mark.parametrize("name", shipped_policies())
def test_shipped_policies_hold_together_and_travel(name: str) -> None:
    loaded = load_policy(name)
    Replacer(loaded)
    assert loaded.description
    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_safe_harbor_leaves_no_identifier_readable() -> None:
    loaded = load_policy("safe-harbor")
    assert loaded.readable() == ()
    kept = {c for c, o in operators(loaded).items() if o == "keep"}
    assert kept == {"STATE", "COUNTRY"}
    assert not any(hipaa(c) for c in kept)
    assert [operators(loaded)[c] for c in ("DATE", "AGE", "ZIP")] == ["year-only", "age90", "zip3"]


def test_a_limited_data_set_keeps_what_the_law_lets_stay_and_says_that_it_needs_an_agreement() -> None:
    loaded = load_policy("limited-data-set")
    kept = {c for c, o in operators(loaded).items() if o == "keep"}
    assert kept == {"DATE", "AGE", "CITY", "STATE", "COUNTRY", "ZIP", "PROFESSION"}
    assert loaded.requires_dua
    assert any("data use agreement" in note for note in loaded.notes())


def test_surrogates_keep_ages_to_89_and_birth_dates_tell_no_more() -> None:
    """With the day of the document, a birth date of 1915 is moved up to that of somebody of 90; without, shifted."""
    text = "35 years, 93, 02/03/1915, 04/05/1990"
    spans = [Span(0, 2, "AGE"), Span(10, 12, "AGE"), Span(14, 24, "DATE"), Span(26, 36, "DATE")]
    replacer = Replacer(load_policy("surrogate"))
    years = []
    for day in (datetime.date(2010, 6, 1), None):
        scope = Scope(Key(b"a key of the tests"), "n", "7", day)
        new = replacer(Document("n", text), spans, scope).document.text
        assert new.startswith("35 years, 90+, ")
        years.append([int(year) for year in re.findall(r"/(\d{4})", new)])
    (capped, late), (shifted, same) = years
    assert 1919 <= capped <= 1921
    assert abs(shifted - 1915) <= 1
    assert late == same


def test_full_takes_everything_out() -> None:
    assert set(operators(load_policy("full")).values()) == {"redact"}


@pytest.mark.parametrize("name", shipped_policies())
def test_what_is_not_in_text_is_told_to_whoever_looks_at_a_policy(name: str) -> None:
    """And stands in every manifest; a sentence of every run is read by nobody."""
    said = CliRunner().invoke(app, ["policy", "check", name]).output
    assert "full-face photographs" in " ".join(said.split())
    loaded = load_policy(name)
    notes = " ".join(loaded.notes())
    assert "photographs" not in notes
    assert ("data use agreement" in notes, "expert's determination" in notes) == (
        name == "limited-data-set",
        name == "expert",
    )


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("gdpr-pseudonymised", "GDPR Art. 4(5)"),
        ("gdpr-anonymous", "GDPR recital 26"),
        ("hro-coded", "HRO Art. 26"),
        ("hro-anonymised", "HRO Art. 25"),
    ],
)
def test_policies_of_european_laws_say_what_they_do_not_promise(name: str, law: str) -> None:
    """What the law asks in so many words (name, address, day of birth, numbers) is never readable."""
    loaded = load_policy(name)
    assert law in " ".join(loaded.notes())
    assert "CFR" not in " ".join((loaded.description, *loaded.notes()))
    kept = {c for c, o in operators(loaded).items() if o == "keep"}
    assert kept <= {"COUNTRY"}
    said = CliRunner().invoke(app, ["policy", "check", name]).output
    assert law in " ".join(said.split())


def test_sub_type_goes_before_group_before_default() -> None:
    loaded = policy('[categories.NAME]\noperator = "tag"\n[categories.DOCTOR]\noperator = "hash"' + REST)
    assert [operators(loaded)[c] for c in ("DOCTOR", "PATIENT", "CITY")] == ["hash", "tag", "redact"]


def test_a_rule_for_a_group_is_one_for_each_of_its_categories_and_nothing_else() -> None:
    loaded = policy("".join(f'[categories.{name}]\noperator = "redact"\n' for name in GROUPS))
    assert operators(loaded) == dict.fromkeys(CATEGORIES, "redact")


@pytest.mark.parametrize(
    "operator", ["redact", "tag", "mask", "hash", "surrogate", "date-shift", "deid-tag", "year-only"]
)
def test_a_policy_tells_whether_it_must_know_who_the_patient_is(operator: str) -> None:
    needs = operator in ("surrogate", "date-shift", "deid-tag")
    assert policy(f'[categories.DATE]\noperator = "{operator}"' + REST).per_person == needs
    told = f'[[when]]\nfield = "note_type"\nvalues = ["ECG"]\n[when.categories.DATE]\noperator = "{operator}"'
    assert policy(REST + told).per_person == needs


def test_metadata_conditions_choose_other_rules() -> None:
    loaded = policy(
        REST
        + """
        [[when]]
        field = "note_type"
        values = ["Radiology", "ECG"]
        [when.categories.AGE]
        operator = "age90"
        [[when]]
        field = "site"
        values = [7]
        [when.categories.AGE]
        operator = "tag"
        """
    )
    assert loaded.rule("AGE", {"note_type": "radiology"}).operator == "age90"
    assert loaded.rule("AGE", {"note_type": "ECG", "site": 7}).operator == "age90"
    assert loaded.rule("AGE", {"site": 7}).operator == "tag"
    assert loaded.rule("DATE", {"note_type": "radiology"}).operator == "redact"
    assert loaded.rule("AGE", {"note_type": "surgery"}).operator == "redact"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[categories.NAMES]\noperator = "tag"' + REST, "no category 'NAMES'"),
        ('[categories.NAME]\noperator = "shred"' + REST, "no operator 'shred'"),
        ('[categories.NAME]\nstyle = "label"' + REST, "names no operator"),
        ('[categories.NAME]\noperator = "redact"\ncolour = "red"' + REST, "no parameter 'colour'"),
        ('[categories.NAME]\noperator = "redact"\nwidth = "5"' + REST, "a whole number"),
        ('[categories.NAME]\noperator = "zip3"' + REST, "cannot replace PATIENT"),
        ('[categories.LOCATION]\noperator = "zip3"' + REST, "cannot replace HOSPITAL"),
        ('[categories.NAME]\noperator = "tag"', "have no operator: PROFESSION"),
        ('[categories.PATIENT]\noperator = "keep"' + REST, r"PATIENT \(HIPAA A: names\)"),
        ('[categories.ZIP]\noperator = "generalize"\nhierarchy = "h.csv"' + REST, r"ZIP \(HIPAA B"),
        ('alow = ["ZIP"]' + REST, "unknown key 'alow'"),
        ('allow = "ZIP"' + REST, "allow is no list"),
        ('allow = ["ZIPS"]' + REST, "no category 'ZIPS'"),
        ("requires_dua = 1" + REST, "requires_dua is not of type bool"),
        ("when = 5" + REST, "when is no list"),
        (REST + '[[when]]\nfield = "x"\nvalues = ["y"]', "has no rules"),
        (REST + '[[when]]\nfield = "x"\n[when.categories.AGE]\noperator = "tag"', "no values"),
        (REST + '[[when]]\nfield = "x"\nvalues = ["y"]\n[when.categories.PATIENT]\noperator = "keep"', "HIPAA A"),
        (
            "".join(f'[categories.{c}]\noperator = "tag"\n' for c in ("NAME", "PATIENT", "DOCTOR", "USERNAME")) + REST,
            "rule for NAME can never apply",
        ),
    ],
)
def test_policies_that_do_not_hold_together_are_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        policy(text)
    assert "policy test" in str(caught.value)


def test_labels_of_other_sets_get_a_hint() -> None:
    with pytest.raises(ConfigError, match="write DATE"):
        policy('[categories.FECHAS]\noperator = "tag"' + REST)


def test_allow_states_what_stays() -> None:
    text = '[categories.CITY]\noperator = "keep"' + REST
    with pytest.raises(ConfigError):
        policy(text)
    for loaded in (policy('allow = ["CITY"]\n' + text), policy(text, allow=["LOCATION"])):
        assert loaded.readable() == ("CITY",)
        assert any("CITY (B)" in note for note in loaded.notes())


def test_rules_must_be_able_to_fire() -> None:
    """A rule for ages is refused when nothing finds ages; a rule for ZIP codes is not, when places are found."""
    loaded = load_policy("safe-harbor")
    found = ["PATIENT", "DATE", "AGE", "CITY", "PHONE", "IDNUM", "OTHER"]
    assert loaded.check_detectable(found) == []
    with pytest.raises(ConfigError, match="nothing can find AGE"):
        loaded.check_detectable([c for c in found if c != "AGE"])
    notes = load_policy("safe-harbor", ["AGE"]).check_detectable([c for c in found if c != "AGE"])
    assert "AGE" in notes[0]


@pytest.mark.parametrize("name", shipped_policies())
def test_no_shipped_policy_asks_for_what_no_recognizer_names(name: str) -> None:
    # OTHER is whatever an annotator met; rules and models have no such kind, and a rule for it must not stop a run
    found = set(RuleRecognizer.load("en").categories)
    assert "OTHER" not in found
    load_policy(name).check_detectable(found)


def test_models_with_other_label_sets_are_understood() -> None:
    assert load_policy("safe-harbor").check_detectable(LABEL_SETS["meddocan"].names()) == []
    notes = load_policy("redact").check_detectable(["name", "mrn"])
    assert all(group in notes[0] for group in ("DATE", "LOCATION", "CONTACT"))


def test_paths_begin_at_the_policy(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("nurse;health;*\n")
    file = tmp_path / "mine.toml"
    file.write_text('[categories.PROFESSION]\noperator = "generalize"\nhierarchy = "jobs.csv"\n' + REST)
    loaded = load_policy(file)
    assert dict(loaded.base["PROFESSION"].parameters)["hierarchy"] == str((tmp_path / "jobs.csv").resolve())
    Replacer(loaded)
    (tmp_path / "jobs.csv").unlink()
    with pytest.raises(ConfigError, match="hierarchy"):
        Replacer(load_policy(file))


@pytest.mark.parametrize(
    ("label", "also", "applied"),
    [
        ("DATE", [], "DATE"),
        ("DATE", ["PATIENT"], "PATIENT"),
        ("STATE", ["DATE"], "DATE"),
        ("PATIENT", ["DATE"], "PATIENT"),
        ("DATE", ["AGE"], "OTHER"),  # a year and an age: what one leaves is what the other takes out
        ("DATE", ["STATE"], "DATE"),
        ("STATE", ["COUNTRY"], "STATE"),
    ],
)
def test_what_may_be_two_things_loses_what_either_would(label: str, also: list[str], applied: str) -> None:
    assert load_policy("safe-harbor").applied(label, also, {}) == applied


def test_two_rules_of_parts_need_one_that_takes_all_out() -> None:
    both = '[categories.DATE]\noperator = "year-only"\n[categories.AGE]\noperator = "age90"\n'
    assert policy(both + REST).applied("DATE", ["AGE"], {}) == "OTHER"
    assert (
        policy('allow = ["OTHER"]\n' + both + '[categories.OTHER]\noperator = "keep"' + REST).applied(
            "DATE", ["AGE"], {}
        )
        == "DATE"
    )


def test_policies_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="safe-harbor"):
        load_policy("safe-haven")
    file = tmp_path / "broken.toml"
    file.write_text("[default\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_policy(file)


def test_every_operator_says_what_it_is_for() -> None:
    assert all(spec.name == name and spec.says for name, spec in OPERATORS.items())
    assert {c for spec in OPERATORS.values() for c in spec.only} <= set(CATEGORIES)


def test_every_label_of_every_set_has_a_rule() -> None:
    base = load_policy("redact").base
    assert all(canonical(label) in base for known in LABEL_SETS.values() for label in known.labels)


def test_a_policy_shows_what_becomes_of_each_category_and_where_it_differs() -> None:
    shown = policy(
        REST
        + """
        [categories.AGE]
        operator = "age90"
        [[when]]
        field = "ward"
        values = ["b", "a"]
        [when.categories.AGE]
        operator = "redact"
        """
    ).lines()
    assert len(shown) == 1 + len(CATEGORIES) + 2
    assert "  AGE             C  age90" in shown
    assert shown[-2:] == ["  where ward is a or b:", "    AGE           C  redact"]
