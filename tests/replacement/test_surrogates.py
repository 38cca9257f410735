"""The surrogate operator on whole documents: consistent, complete, keyed, and silent about originals."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notes import composed

from deid.base.errors import ConfigError, OffsetError
from deid.base.keys import Key
from deid.document import Document, Span, apply_edits
from deid.phi import LABEL_SETS
from deid.reading.identity import parse_name
from deid.replacement.choices import Choices
from deid.replacement.filling import _original_words as original_words
from deid.replacement.names import full_name_key
from deid.replacement.scope import Scope
from deid.replacement.surrogates import surrogate_operator
from tests import strategies
from tests.replacement.making import make_choices

KEY = Key(b"a key of the tests")
OPERATOR = surrogate_operator()


def build(*pieces: str | tuple[str, str], name: str = "d") -> Document:
    """Return a document from plain text and (category, text) pieces."""
    return Document(name, *composed(*pieces))


def run(
    document: Document, patient: str | None = "1", key: Key = KEY, names: tuple[str, ...] = (), **options: object
) -> list[str]:
    scope = Scope(key, document.id, patient, known_names=names)
    return surrogate_operator(**options)(document, document.spans, scope)  # type: ignore[arg-type]


# the English development notes


def english(folder: Path) -> Iterator[Document]:
    for line in (folder / "english" / "standoff.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        spans = sorted(Span(s["start"], s["end"], s.get("type", s.get("label"))) for s in record["spans"])
        yield Document(record["id"], record["text"], tuple(spans))


def as_word(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def test_no_original_is_left_in_the_development_notes(shared_data: Path) -> None:
    """No replaced span holds its original; none of 5 characters stays as a word unless it stands elsewhere too."""
    for document in english(shared_data):
        new = OPERATOR(document, document.spans, Scope(KEY, document.id))
        scrubbed, _ = apply_edits(document, zip(document.spans, new, strict=True))
        outside, _ = apply_edits(document, [(span, "\0") for span in document.spans])
        for span, surrogate in zip(document.spans, new, strict=True):
            original = document.text[span.start : span.end]
            assert original.casefold() not in surrogate.casefold(), (document.id, span.category)
            assert not surrogate.startswith("["), (document.id, span.category)
            if len(original) >= 5 and as_word(original).search(scrubbed.text):
                assert as_word(original).search(outside.text), (document.id, span.category)


FORMS = [
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}"), "%m/%d/%Y"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "%Y-%m-%d"),
    (re.compile(r"(?:January|February|March|April|May|June|July|August|\w+ber) \d{1,2}, \d{4}", re.I), "%B %d, %Y"),
]


def read_date(text: str) -> datetime.date | None:
    form = next((form for pattern, form in FORMS if pattern.fullmatch(text)), None)
    try:
        return datetime.datetime.strptime(text, form).date() if form else None
    except ValueError:
        return None


def test_distances_between_full_dates_of_the_development_notes_stay(shared_data: Path) -> None:
    """Read by strptime, month first; notes with their day first are left to the tests of dates."""
    compared = 0
    for document in english(shared_data):
        spans = [s for s in document.spans if s.category == "DATE"]
        old = [read_date(document.text[s.start : s.end]) for s in spans]
        if any(re.match(r"(1[3-9]|[23]\d)[/.-]", document.text[s.start : s.end]) for s in spans):
            continue
        new = [read_date(text) for text in OPERATOR(document, spans, Scope(KEY, document.id, "7"))]
        moved = {b and b - a for a, b in zip(old, new, strict=True) if a}
        assert len(moved) <= 1
        assert None not in moved
        compared += sum(a is not None for a in old)
    assert compared > 150


# two processes

PROGRAM = """
import json, sys
from deid.document import Document, Span
from deid.base.keys import Key
from deid.replacement.scope import Scope
from deid.replacement.surrogates import surrogate_operator
text, spans, key = json.load(sys.stdin)
spans = [Span(*s) for s in spans]
print(json.dumps(surrogate_operator()(Document("d", text), spans, Scope(Key(key.encode()), "d", "1"))))
"""
SAMPLE = build(
    ("PATIENT", "John Smith"), " (", ("AGE", "56"), ", ", ("PROFESSION", "bus driver"), ") of ",
    ("STREET", "12 Oak Street"), ", ", ("CITY", "Boston"), ", ", ("STATE", "MA"), " ", ("ZIP", "02115"),
    " seen ", ("DATE", "3/14/2019"), " at ",
    ("HOSPITAL", "Boston Medical Center"), " by Dr. ", ("DOCTOR", "Xiomara Qwertyson"), ", tel ",
    ("PHONE", "617-555-0199"), ", ", ("EMAIL", "john.smith@home.org"), ", ", ("MEDICALRECORD", "MRN 0012345"), ", ",
    ("USERNAME", "xqwertyson"), ", ",
    ("ORGANIZATION", "Acme Corp"), ", ", ("COUNTRY", "Canada"), ", ",
    ("SSN", "123-45-6789"), ", ", ("IPADDR", "10.0.0.7"),
)  # fmt: skip


def in_a_process(key: Key, hash_seed: str) -> list[str]:
    data = json.dumps([SAMPLE.text, [[s.start, s.end, s.category] for s in SAMPLE.spans], key.secret.decode()])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=data,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    return json.loads(done.stdout)


def test_two_processes_agree_and_two_keys_do_not() -> None:
    first = in_a_process(KEY, "1")
    assert first == in_a_process(KEY, "2") == run(SAMPLE)
    other = run(SAMPLE, key=Key(b"another key, as long"))
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_categories_of_other_label_sets_mean_the_same() -> None:
    spanish = build(
        ("NOMBRE_SUJETO_ASISTENCIA", "Ana Ruiz"), " ", ("FECHAS", "3 de mayo"), " ", ("CALLE", "Calle Mayor 3")
    )
    canonical = build(("PATIENT", "Ana Ruiz"), " ", ("DATE", "3 de mayo"), " ", ("STREET", "Calle Mayor 3"))
    assert run(spanish) == run(canonical)


# one person, one surrogate

GIVEN = [
    ("John", "Johnny"),
    ("William", "Will"),
    ("Katherine", "Kathy"),
    ("Susan", "Sue"),
    ("Thomas", "Tommy"),
    ("Jennifer", "Jenny"),
]
FAMILY = ["Smith", "Fairbanks", "O'Neil", "Kowalczyk", "Lopez", "Thistlewood"]
DOCTORS = ["Mary Brown", "Robert Chen", "Priya Patel", "Hans Weber", "Carol White", "James Wilson", "Ahmed Khan"]


def patient_documents(n: int) -> tuple[tuple[str, str], list[Document]]:
    """Return a patient's name and three documents with all forms of it, each with physicians of its own."""
    (given, short), family = GIVEN[n % 6], FAMILY[n // 6 % 6]
    login = re.sub("[^a-z]", "", family.lower())
    forms = [
        [f"{given} {family}", f"{family}, {given} Q.", f"{given[0]}. {family}", f"{given[0]}{family[0]}"],
        [f"{family.upper()}^{given.upper()}", short, f"{family}'s", given.upper()],
        [family, f"{given.lower()} {family.lower()}", f"{family}, {given[0]}.", given],
    ]
    logins = [f"{given[0].lower()}{login}", f"{given.lower()}.{login}", f"{login}{given[0].lower()}"]
    documents = []
    for k in range(3):
        pieces: list[str | tuple[str, str]] = []
        for form in forms[k]:
            pieces += [("PATIENT", form), "; "]
        for doctor in (DOCTORS[(n + k) % 7], DOCTORS[(n + k + 3) % 7]):
            pieces += ["Dr. ", ("DOCTOR", doctor), "; "]
        documents.append(build(*pieces, ("USERNAME", logins[k]), name=f"{n}-{k}"))
    return (given, family), documents


def check_one_person(new: list[list[str]]) -> None:
    (full, inverted, initialed, initials), (carets, short, possessive, capital), (family, lower, comma, given) = (
        x[:4] for x in new
    )
    assert full == f"{given} {family}"
    assert inverted.startswith(f"{family}, {given} ")
    assert initialed == f"{given[0]}. {family}"
    assert initials == given[0] + family[0]
    assert carets == f"{family}^{given}".upper()
    assert (short, capital) == (given, given.upper())
    assert possessive == f"{family}'s"
    assert lower == full.lower()
    assert comma == f"{family}, {given[0]}."
    logins = [x[-1] for x in new]
    login = re.sub("[^a-z]", "", family.lower())
    assert logins == [f"{given[0].lower()}{login}", f"{given.lower()}.{login}", f"{login}{given[0].lower()}"]


def test_one_surrogate_person_over_documents_and_forms() -> None:
    """With a table of known names for all patients; the table makes the documents agree whoever else they name."""
    surrogates = set()
    for n in range(36):
        _, documents = patient_documents(n)
        known = tuple(d.text[s.start : s.end] for d in documents for s in d.spans if s.category != "USERNAME")
        new = [run(d, str(n), names=known) for d in documents]
        check_one_person(new)
        surrogates.add(new[0][0])
    assert len(surrogates) > 33


def test_without_a_table_documents_agree_but_for_reported_collisions() -> None:
    for n in range(36):
        _, documents = patient_documents(n)
        scopes = [Scope(KEY, d.id, str(n)) for d in documents]
        new = [OPERATOR(d, d.spans, s) for d, s in zip(documents, scopes, strict=True)]
        if not any(written.collisions for written in new):
            check_one_person(new)


def test_nobody_gets_the_full_name_of_somebody_real() -> None:
    """Another given name with the same initial, in all documents that write the full name in whatever form."""
    forms = build(*[(("DOCTOR", text)) for text in ("Robert Miller", "MILLER, BOB", "R. Miller", "Miller", "Robert")])
    usual, again = (OPERATOR(forms, forms.spans, Scope(KEY, d, "1")) for d in ("a", "b"))
    assert usual == again
    people = {"robert miller": full_name_key(parse_name(usual[0]))}
    assert usual.people == people
    taken = frozenset(people.values())
    new = OPERATOR(forms, forms.spans, Scope(KEY, "a", "1", people=taken))
    assert taken.isdisjoint(new.people.values())
    assert new[2:4] == usual[2:4]  # the initial and the family name stay
    given = new[0].split()[0]
    assert given[0] == usual[0][0]
    assert new[1].endswith(given.upper())
    assert new[4] == given  # a given name alone means the full name in its document
    alone = build(("DOCTOR", "Dr. Robert Q. Miller"), name="c")
    assert given in OPERATOR(alone, alone.spans, Scope(KEY, "c", "1", people=taken))[0]
    other = build(("DOCTOR", "Robert Smith"))
    assert run(other)[0] == OPERATOR(other, other.spans, Scope(KEY, "d", "1", people=taken))[0]


def test_people_of_one_given_name_who_give_way_get_different_ones() -> None:
    both = build(("DOCTOR", "Robert Miller"), ("DOCTOR", "Robert Smith"))
    usual = OPERATOR(both, both.spans, Scope(KEY, "a", "1"))
    assert usual[0].split()[0] == usual[1].split()[0]
    taken = frozenset(full_name_key(parse_name(new)) for new in usual)
    new = OPERATOR(both, both.spans, Scope(KEY, "a", "1", people=taken))
    assert len({text.split()[0] for text in (*usual, *new)}) == 3
    for one, text in zip(both.spans, new, strict=True):
        alone = build(("DOCTOR", both.text[one.start : one.end]))
        assert OPERATOR(alone, alone.spans, Scope(KEY, "b", "1", people=taken))[0] == text


def test_scope_of_patient_document_or_corpus() -> None:
    a, b = build(("DOCTOR", "Priya Patel"), name="a"), build(("DOCTOR", "Priya Patel"), name="b")
    assert run(a, "1") == run(b, "1") != run(b, "2")
    assert run(a, None) != run(b, None)
    assert run(a, "1", scope="corpus") == run(b, "2", scope="corpus")
    with pytest.raises(ConfigError):
        surrogate_operator(scope="planet")


# what a document is about hangs together


def test_places_of_an_address_fit_and_institutions_follow_them() -> None:
    new = dict(zip((s.category for s in SAMPLE.spans), run(SAMPLE), strict=True))
    assert new["HOSPITAL"] == f"{new['CITY']} Medical Center"
    assert new["EMAIL"].split("@")[0] == new["PATIENT"].lower().replace(" ", ".")
    assert new["USERNAME"] == (new["DOCTOR"][0] + new["DOCTOR"].split()[1]).lower()


def test_the_initials_of_a_hospital_follow_its_name() -> None:
    document = build(("HOSPITAL", "KBH"), " ", ("HOSPITAL", "Kensington Baptist Hospital"))
    short, full = run(document)
    assert short == "".join(word[0] for word in full.split())


def test_a_span_that_comes_back_as_another_ones_original_is_replaced_again() -> None:
    """The surrogate of one profession is an original elsewhere in the document: it gives way."""
    usual = run(build(("PROFESSION", "plumber")))[0]
    new = run(build(("PROFESSION", "plumber"), ", ", ("PROFESSION", usual)))
    assert usual not in new
    assert "plumber" not in new
    assert len(set(new)) == 2


ONE_OF_EACH = {
    "HOSPITAL": "Kensington Baptist Hospital",
    "ORGANIZATION": "Acme Steel Company",
    "STREET": "12 Elm Street",
    "ZIP": "02115",
    "PHONE": "617-555-8331",
    "MEDICALRECORD": "8834412",
    "USERNAME": "zq1233",
    "EMAIL": "zq@harbor.org",
    "URL": "http://harbor.org/x",
    "SSN": "219-09-9999",
    "IDNUM": "AB-12345",
    "DEVICE": "SN 99812",
    "BIOID": "F 33122",
}


@pytest.mark.parametrize("category", ONE_OF_EACH)
@pytest.mark.parametrize("other", ["OTHER", "MEDICALRECORD", "PROFESSION", "HOSPITAL"])
def test_no_surrogate_shows_what_another_span_of_the_document_hid(category: str, other: str) -> None:
    """A reader who knows the note must not meet its originals in the scrubbed one, in whatever place."""
    for number in range(3):
        key = Key(b"another key of the tests %d" % number)
        usual = run(build((category, ONE_OF_EACH[category])), key=key)[0]
        first, second = (category, ONE_OF_EACH[category]), (other, usual)
        for pieces in ((first, ", ", second), (second, ", ", first)):
            new = run(build(*pieces), key=key)
            assert not any(as_word(usual).search(text) for text in new), (usual, new)


@pytest.mark.parametrize("signs", ["-----", "*****", "§§§§§§"])
def test_an_original_of_signs_alone_stands_in_no_surrogate(signs: str) -> None:
    """It has no words by which surrogates that hold it could be told."""
    new = run(build(("OTHER", signs), " and ", ("URL", f"http://harbor.org/{signs}/x"), " by ", ("PATIENT", "Ann Lee")))
    assert not any(signs in text for text in new)
    assert new[2] not in ("Ann Lee", "[PATIENT]")


@pytest.mark.parametrize(
    ("original", "candidate", "allowed"),
    [
        ("12 Bay St", "14 Oak St", True),  # words of up to three letters stand in too many names
        ("Bay Rowan", "North Bay", True),
        ("Bay Rowan", "Lee Rowan", False),
        ("Elsewhere", "Lee Rowan", False),
        ("Elsewhere", "Rowanberry", True),
        ("Bay", "Bayview", False),  # but none holds the whole of what it replaces
        ("Bay", "", False),
    ],
)
def test_a_surrogate_has_no_long_word_of_an_original(original: str, candidate: str, allowed: bool) -> None:
    choices = make_choices(originals=("bay", "st", "rowan"))
    assert choices.allowed(original, candidate) is allowed


# bad input


def test_spans_outside_the_text_are_refused_without_naming_the_text() -> None:
    with pytest.raises(OffsetError) as caught:
        run(Document("Smith_John", "John Smith", (Span(0, 99, "PATIENT"),)))
    assert "Smith" not in str(caught.value)


SPOKEN = ["".join(letters) for letters in itertools.product("BDFGKLMNPRSTVZ", "aeiou", "bdfgklmnprstvz")]


@pytest.mark.parametrize(
    ("category", "originals", "distinct"),
    [
        ("PHONE", [f"{200 + n}-{1000 + n}" for n in range(150)], 100),
        ("IPADDR", [f"10.0.{n // 250}.{n % 250 + 1}" for n in range(900)], 762),
        ("EMAIL", [f"jsmith@clinic{n}.org" for n in range(300)], 300),
        ("ZIP", [f"{n:05}" for n in range(10000, 12000)], 500),
        ("CITY", [f"{word}ton" for word in SPOKEN], 200),
        ("COUNTRY", [f"{word}land" for word in SPOKEN[:300]], 10),
        ("PROFESSION", [f"{word}smith" for word in SPOKEN], 100),
    ],
)
def test_where_surrogates_run_out_the_rest_becomes_its_category(
    category: str, originals: list[str], distinct: int
) -> None:
    pieces = [piece for text in originals for piece in ((category, text), " ")]
    new = run(build(*pieces))
    written = [text for text in new if text != f"[{category}]"]
    assert len(written) == len(set(written)) >= distinct


@pytest.mark.parametrize(
    ("category", "originals"),
    [
        ("PHONE", [f"{200 + n % 700}-{1000 + n}" for n in range(3000)]),
        ("PHONE", [f"(217) {200 + n % 700}-{1000 + n % 9000}" for n in range(30_000)]),
        ("IPADDR", [f"10.{n // 2500}.{n // 250 % 10}.{n % 250 + 1}" for n in range(4000)]),
        ("URL", [f"www.clinic{n}.org" for n in range(40_000)]),
        ("ZIP", [f"60{n:03}" for n in range(1000)] + [f"61{n:03}" for n in range(1000)]),
        ("CITY", [f"{a}{b}ton" for a, b in itertools.product(SPOKEN, SPOKEN[:4])]),
        ("STATE", [f"{word}land" for word in SPOKEN]),
        ("COUNTRY", [f"{word}land" for word in SPOKEN]),
        ("PROFESSION", [f"{a}{b}smith" for a, b in itertools.product(SPOKEN, SPOKEN[:4])]),
    ],
)
def test_where_surrogates_run_out_the_work_grows_no_faster_than_the_note(
    monkeypatch: pytest.MonkeyPatch, category: str, originals: list[str]
) -> None:
    tried, claim = [0], Choices.claim

    def counted(self: Choices, kind: str, original: str, candidates: Iterable[str], *, words: bool = True) -> str:
        def each() -> Iterator[str]:
            for candidate in candidates:
                tried[0] += 1
                yield candidate

        return claim(self, kind, original, each(), words=words)

    monkeypatch.setattr(Choices, "claim", counted)
    run(build(*[piece for text in originals for piece in ((category, text), " ")]))
    assert len(originals) < tried[0] < 17 * len(originals) + 5000


def test_what_has_no_surrogate_becomes_its_category() -> None:
    document = build(
        ("PATIENT", "---"), " ", ("AGE", "elderly"), " ", ("OTHER", "tattoo of a rose"), " ", ("DATE", "yesterday")
    )
    assert run(document) == ["[PATIENT]", "[AGE]", "[OTHER]", "[DATE]"]


LABELS = sorted({label for label_set in LABEL_SETS.values() for label in label_set.labels})
SOUP = [
    "TX",
    "Paris",
    "St.",
    "O'",
    "'s",
    "^",
    "Jr",
    "555",
    "+44",
    "::",
    "@",
    "http://",
    "th",
    "½",
    "Иван",
    "2019",
    "March",
    "x",
]


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), strategies.texts(strategies.PLAIN, SOUP, max_size=5).filter(bool)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["en", "es"]),
)
def test_any_text_is_replaced(pieces: list[tuple[str, str]], language: str) -> None:
    """One replacement a span, never empty, never with its original in it (a tag may hold a letter of it)."""
    document = build(*(x for piece in pieces for x in (piece, "; ")))
    new = OPERATOR(document, document.spans, Scope(KEY, "d", language=language))
    assert len(new) == len(pieces)
    for (_, text), surrogate in zip(pieces, new, strict=True):
        assert surrogate
        assert (
            text.casefold() not in surrogate.casefold() or surrogate.startswith("[") or not any(map(str.isalnum, text))
        )


def test_options_reach_the_dates() -> None:
    document = build(("DATE", "3/4/2019"), " ", ("DATE", "Monday"))
    new = run(document, preserve_weekday=True, day_first=True)
    assert new[1] == "[DATE]"
    old, moved = datetime.date(2019, 4, 3), datetime.datetime.strptime(new[0], "%d/%m/%Y").date()
    assert (moved - old).days % 7 == 0


@given(st.lists(st.text(st.characters(max_codepoint=127))))
def test_original_words_of_ascii_texts_are_found_like_those_of_others(texts: list[str]) -> None:
    with_accents: list[str] = [*texts, "ñandú"]
    assert original_words(with_accents) == original_words(texts) | {"nandu"}


def test_a_surrogate_that_is_an_original_elsewhere_becomes_another_one() -> None:
    for category, text, form in (
        ("PHONE", "234-5678", r"555-01\d\d"), ("IPADDR", "10.1.2.3", r"[\d.]+"), ("ROOM", "K12-77", r"[A-Z]\d\d-\d\d"),
        ("CITY", "Boston", r"[A-Z][\w ]+"),
    ):  # fmt: skip
        usual = run(build((category, text)))[0]
        first, second = run(build((category, text), " or ", (category, usual)))
        assert usual not in (first, second), category
        assert re.fullmatch(form, first), (category, first)


def test_words_of_the_patients_known_names_are_in_no_surrogate() -> None:
    document = build(("PATIENT", "John Smith"), " of ", ("CITY", "Boston"))
    usual, _ = run(document)
    again, _ = run(document, names=(usual,))
    assert not set(usual.split()) & set(again.split())


@pytest.mark.parametrize("name", ["??", "- ."])
def test_a_name_of_which_no_letter_can_be_exchanged_becomes_a_tag(name: str) -> None:
    assert run(build("Seen by ", ("PATIENT", name), " today")) == ["[PATIENT]"]
