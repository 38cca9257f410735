"""Replacing by a policy: what each operator gets, and that nothing readable is passed on."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DetectionError, LabelError, OffsetError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import CATEGORIES
from deid.replacement import operators
from deid.replacement.containment import holds
from deid.replacement.policy import Policy, load_policy, parse_policy
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Operator, Scope

KEY = Key(b"k" * 32)
TEXT = "Mr. Smith, 91, of Boston saw Dr. Jones on 1/2/2003."


def spans(*pairs: tuple[str, str], text: str = TEXT) -> list[Span]:
    return [Span(text.index(word), text.index(word) + len(word), category) for word, category in pairs]


GOLD = spans(("Smith", "PATIENT"), ("91", "AGE"), ("Boston", "CITY"), ("Jones", "DOCTOR"), ("1/2/2003", "DATE"))


def scrub(policy: str | Policy, found: Sequence[Span] = GOLD, text: str = TEXT) -> str:
    loaded = load_policy(policy) if isinstance(policy, str) else policy
    return Replacer(loaded)(Document("d", text), found, Scope(KEY, "d")).document.text


def test_policies_on_a_sentence() -> None:
    assert scrub("redact") == "Mr. [NAME], [AGE], of [LOCATION] saw Dr. [NAME] on [DATE]."
    assert scrub("tag") == "Mr. [PATIENT], [AGE], of [CITY] saw Dr. [DOCTOR] on [DATE]."
    assert scrub("safe-harbor") == "Mr. [NAME], 90+, of [LOCATION] saw Dr. [NAME] on 2003."
    assert scrub("limited-data-set") == "Mr. [NAME], 91, of Boston saw Dr. [NAME] on 1/2/2003."
    assert scrub("full") == "Mr. *****, *****, of ***** saw Dr. ***** on *****."


def test_new_spans_keep_their_labels_and_edits_have_categories() -> None:
    found = [Span(s.start, s.end, "NOMBRE_SUJETO_ASISTENCIA") if s.category == "PATIENT" else s for s in GOLD]
    replaced = Replacer(load_policy("tag"))(Document("d", TEXT), found, Scope(KEY, "d"))
    text = replaced.document.text
    assert next((s.category, text[s.start : s.end]) for s in replaced.document.spans) == (
        "NOMBRE_SUJETO_ASISTENCIA",
        "[PATIENT]",
    )
    assert [e.category for e in replaced.edits] == ["PATIENT", "AGE", "CITY", "DOCTOR", "DATE"]
    assert [TEXT[e.start : e.end] for e in replaced.edits] == ["Smith", "91", "Boston", "Jones", "1/2/2003"]


def test_what_is_kept_is_no_edit_but_stays_annotated() -> None:
    replaced = Replacer(load_policy("limited-data-set"))(Document("d", TEXT), GOLD, Scope(KEY, "d"))
    assert [e.category for e in replaced.edits] == ["PATIENT", "DOCTOR"]
    assert [s.category for s in replaced.document.spans] == ["PATIENT", "AGE", "CITY", "DOCTOR", "DATE"]


def test_overlapping_spans_are_replaced_as_their_union() -> None:
    text = "seen by John Smith-Jones today"
    found = [Span(8, 18, "PATIENT"), Span(13, 24, "DOCTOR"), Span(13, 18, "CITY")]
    assert scrub("tag", found, text) == "seen by [DOCTOR] today"


def test_spans_outside_the_text_are_refused_without_text() -> None:
    with pytest.raises(OffsetError) as caught:
        scrub("redact", [Span(45, 99, "DATE")])
    assert "2003" not in str(caught.value)
    with pytest.raises(OffsetError):
        scrub("redact", [*GOLD, Span(5, 5, "DATE")])


def test_what_fields_say_counts_note_by_note() -> None:
    data = {
        "default": {"operator": "redact"},
        "when": [{"field": "site", "values": [7], "categories": {"AGE": {"operator": "age90"}}}],
    }
    replacer, age = Replacer(parse_policy(data, "by site", Path())), GOLD[1:2]
    for site, written in ((7, "90+"), (8, "[AGE]"), (7, "90+")):
        replaced = replacer(Document("d", TEXT, metadata={"site": site}), age, Scope(KEY, "d", metadata={"site": site}))
        assert replaced.document.text == TEXT.replace("91", written)


def test_unknown_labels_count_as_other_but_are_never_kept() -> None:
    assert scrub("tag", [Span(4, 9, "SOBRIQUET")]).startswith("Mr. [OTHER],")
    keeping = parse_policy(
        tomllib.loads('allow = ["OTHER"]\n[default]\noperator = "redact"\n[categories.OTHER]\noperator = "keep"'),
        "keeping",
        Path(),
    )
    with pytest.raises(LabelError) as caught:
        scrub(keeping, [Span(4, 9, "SOBRIQUET")])
    assert "SOBRIQUET" not in str(caught.value)


def test_what_was_decided_about_labels_is_kept_from_note_to_note_but_not_without_end() -> None:
    replacer = Replacer(load_policy("tag"))

    def kept(*labels: str) -> int:
        marked = [Span(2 * i, 2 * i + 1, label) for i, label in enumerate(labels)]
        replacer(Document("d", "x " * len(labels)), marked, Scope(KEY, "d"))
        return len(replacer._decided)

    assert [kept("CITY"), kept("DATE"), kept("CITY")] == [1, 2, 2]
    assert max(kept(*(f"SOBRIQUET{first + i}" for i in range(600))) for first in range(0, 3000, 600)) < 2000


def careless() -> Operator:
    """Return an operator that writes what it was to replace."""
    return lambda document, found, scope: [f"Dr. {document.text[s.start : s.end].upper()}" for s in found]


def short() -> Operator:
    return lambda document, found, scope: []


def failing() -> Operator:
    def operate(document: Document, found: Sequence[Span], scope: Scope) -> list[str]:
        raise DetectionError("no more surrogates", "use another key")

    return operate


@pytest.mark.parametrize("name", ["careless", "short", "failing"])
def test_operators_that_go_wrong_fail_the_document(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = operators.OperatorSpec(name, f"{__name__}:{name}", "")
    monkeypatch.setattr("deid.replacement.policy.OPERATORS", {**operators.OPERATORS, name: spec})
    monkeypatch.setattr("deid.replacement.replacer.OPERATORS", {**operators.OPERATORS, name: spec})
    policy = parse_policy({"default": {"operator": name}}, "bad", Path())
    with pytest.raises((ConfigError, DetectionError)) as caught:
        scrub(policy)
    assert str(caught.value).startswith("***")  # the document's safe name
    assert not any(word in str(caught.value) for word in ("Smith", "SMITH", "Jones", "Boston"))


def test_an_operator_of_another_installation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = operators.OperatorSpec("magic", "deid.replacement.no_such_module:magic", "")
    monkeypatch.setattr("deid.replacement.policy.OPERATORS", {"magic": spec})
    with pytest.raises(ConfigError, match="not part of this installation"):
        parse_policy({"default": {"operator": "magic"}}, "bad", Path())


@pytest.mark.parametrize(
    ("text", "original", "expected"),
    [
        ("Smith's", "smith", True),
        ("Smithson", "Smith", False),
        ("11/2/2011", "1/2/2011", False),
        ("on 1/2/2011.", "1/2/2011", True),
        ("[NAME]", "A", False),
        ("A", "a", True),
        ("*****", "--", False),
        ("", "x", False),
        (" ", " ", False),
    ],
)
def test_holds(text: str, original: str, expected: bool) -> None:
    assert holds(text, original) is expected


@given(st.data())
def test_text_outside_the_spans_stays_and_edits_tell_where_it_went(data: st.DataObject) -> None:
    """With any spans and any policy: outside the edits both texts agree, character for character."""
    text = data.draw(st.text(min_size=1, max_size=60))
    borders = st.integers(0, len(text))
    pairs = data.draw(st.lists(st.tuples(borders, borders, st.sampled_from(CATEGORIES)), max_size=6))
    found = [Span(min(a, b), max(a, b), c) for a, b, c in pairs if a != b]
    name = data.draw(st.sampled_from(["redact", "tag", "full", "safe-harbor", "limited-data-set"]))
    replaced = Replacer(load_policy(name))(Document("d", text), found, Scope(KEY, "d"))
    new = replaced.document.text
    read = written = 0
    for edit in replaced.edits:
        assert text[read : edit.start] == new[written : edit.new_start]
        read, written = edit.end, edit.new_end
    assert text[read:] == new[written:]


def test_more_general_words_agree_with_their_articles() -> None:
    policy = parse_policy(
        {
            "default": {"operator": "redact"},
            "categories": {"PROFESSION": {"operator": "t-plausible", "t": 2, "ontologies": ["professions"]}},
        },
        "plausible",
        Path(),
    )
    text = "She is an electrician, an uncle is not."
    replaced = Replacer(policy)(Document("d", text), spans(("electrician", "PROFESSION"), text=text), Scope(KEY, "d"))
    article, new = replaced.document.text[len("She is ") : -len(", an uncle is not.")].split(" ", 1)
    assert article == ("an" if new[0] in "aeiou" else "a")
    assert "electrician" not in replaced.document.text


def test_what_was_replaced_shows_no_name() -> None:
    document = Document("n", "Seen: John Quimby", (Span(6, 17, "PATIENT"),))
    replaced = Replacer(load_policy("surrogate"))(document, document.spans, Scope(Key(b"a key of the tests"), "n", "1"))
    assert replaced.people
    assert "quimby" not in repr(replaced).casefold()
    with pytest.raises(OffsetError):
        Replacer(load_policy("redact"))(document, [Span(6, 99, "PATIENT")], Scope(Key(b"a key of the tests"), "n", "1"))


def test_spans_of_several_persons_become_what_each_persons_own_document_says() -> None:
    text = "Rob Long, MRN 4711203, came 1/2/2003. Ann Price, MRN 8822114, came 1/5/2003."
    found = spans(
        ("Rob Long", "PATIENT"), ("4711203", "MEDICALRECORD"), ("1/2/2003", "DATE"), ("Ann Price", "PATIENT"),
        ("8822114", "MEDICALRECORD"), ("1/5/2003", "DATE"), text=text,
    )  # fmt: skip
    half = text.index("Ann")
    one, other = (Scope(KEY, "d", patient) for patient in ("4711203", "8822114"))
    replacer = Replacer(load_policy("surrogate"))
    both = replacer(Document("d", text), found, one, lambda start, end: one if start < half else other)
    new = {
        scope.patient_id: [
            own.document.text[e.new_start : e.new_end]
            for own in [replacer(Document("d", part), [s.moved(s.start - at, s.end - at) for s in whose], scope)]
            for e in own.edits
        ]
        for scope, part, at, whose in ((one, text[:half], 0, found[:3]), (other, text[half:], half, found[3:]))
    }
    assert [both.document.text[e.new_start : e.new_end] for e in both.edits] == new["4711203"] + new["8822114"]
    alone = replacer(Document("d", text), found, one).document.text
    assert alone != both.document.text


def test_the_surrogate_of_a_person_is_nobody_else_in_the_note() -> None:
    """Whom a person is called in a note alone is another name where another person of the note is called so."""
    replacer = Replacer(load_policy("surrogate"))

    def names(*people: str) -> list[str]:
        text = " and ".join(people)
        found = spans(*[(person, "PATIENT") for person in people], text=text)
        scopes = {span.start: Scope(KEY, "d", str(n)) for n, span in enumerate(found)}
        new = replacer(Document("d", text), found, scopes[0], lambda start, end: scopes[start])
        return new.document.text.split(" and ")

    (usual,) = names("Rob Long")
    assert names("Rob Long", "Ann Price")[0] == usual
    for other in (usual, f"Ann {usual.split()[-1]}"):
        for word in names("Rob Long", other)[0].split():
            assert word not in other.split()
