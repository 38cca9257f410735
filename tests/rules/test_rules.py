"""The rule recognizer on invented notes and on hard negatives."""

from __future__ import annotations

import pytest
from marked import NOTES, tokens
from synthetic.marked import notes, unmark

from deid.base.errors import ConfigError, DetectionError
from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document

RULES = RuleRecognizer.load("en")
ALL = Ensemble((RULES,))


def found(text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.category) for s in ALL.find(Document("note", text))]


def rates(documents: list[Document]) -> tuple[float, float]:
    hits = gold = marked = 0
    for document in documents:
        expected, got = tokens(document, document.spans), tokens(document, ALL.find(document))
        hits += len(expected & got)
        gold += len(expected)
        marked += len(got)
    return hits / gold, hits / marked


def test_invented_notes_of_many_kinds() -> None:
    recall, precision = rates(notes(NOTES))
    assert recall > 0.97
    assert precision > 0.98


@pytest.mark.parametrize(("change", "least"), [(str.upper, 0.93), (str.lower, 0.90)])
def test_case_costs_little(change: object, least: float) -> None:
    """Reports in capitals and notes in lower case are read too, without more false alarms."""
    changed = [Document(d.id, change(d.text), d.spans) for d in notes(NOTES)]  # type: ignore[operator]
    recall, precision = rates([d for d in changed if len(d.text)])
    assert recall > least
    assert precision > 0.97


def test_clinical_language_is_left_alone() -> None:
    """Eponyms, devices, scores, doses, vertebrae, verbs that are also names or months."""
    (document,) = (d for d in notes(NOTES) if d.id == "hard negatives")
    assert tokens(document, ALL.find(document)) - tokens(document, document.spans) == set()


@pytest.mark.parametrize(
    "marked",
    [
        "Seen by Dr. [[DOCTOR:Long]] for long QT.",
        "Mrs. [[PATIENT:Price]] asked for the price.",
        "Ms. [[PATIENT:Graves]] has Graves' disease.",
        "[[PATIENT:Hodgkin, Mary A.]] has Hodgkin lymphoma.",
        "Her wife, [[PATIENT:Rose]], picked a rose.",
        "[[PATIENT:Jean-Luc O'Brien-Østergård]] denies pain.",
        'Mr. [[PATIENT:Robert "Bob" Tanner]] presents with cough.',
        "Signed: [[DOCTOR:Ana de la Cruz]], PA-C",
        "[[PATIENT:Thandeka Mkhabela]] is a [[AGE:40]]-year-old woman.",
        "Reviewed with [[DOCTOR:T. Achebe]], MD and [[DOCTOR:Lee]], RN.",
        "Drs. [[DOCTOR:Moore]] and [[DOCTOR:Patel]] agree.",
    ],
)
def test_names(marked: str) -> None:
    document = unmark(marked)
    expected = [(document.text[s.start : s.end], s.category) for s in document.spans]
    assert found(document.text) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ward list\n\nPatient    Baker\n", ["Baker"]),
        ("Patient    Baker\n", ["Baker"]),
        ("  Patient    Potter\nPatient    Potter", ["Potter", "Potter"]),
        ("Ward list\n\nPatient    Baker    Ward\n", []),
        ("Ward list\n\nPatient | Baker | Ward\n", []),
    ],
)
def test_an_ordinary_word_in_a_column_behind_a_label_is_a_name_but_in_the_head_of_a_table(
    text: str, names: list[str]
) -> None:
    assert [word for word, category in found(text) if category == "PATIENT"] == names


@pytest.mark.parametrize(
    "marked",
    [
        # a login that nothing announces
        "Paged [[USERNAME:kpatel]] twice overnight.",
        "Results were sent to [[USERNAME:rjohnson]] today.",
        # what somebody does, and where
        "He is a [[PROFESSION:welder]] at [[ORGANIZATION:Torrance Shipyards]] and smokes.",
        "[[PATIENT:Matthew]], a [[PROFESSION:welder]], came in.",
        "Her brother, a [[PROFESSION:carpenter]], drove.",
        "Her sister a [[PROFESSION:waitress]] drove.",
        "Her uncle - a [[PROFESSION:plumber]] - drove.",
        "Her brother ([[PROFESSION:line cook]]) drove.",
        # what a relative does is nobody's role here
        "His daughter is a [[PROFESSION:nurse]] in town.",
        "The nurse is a nurse in town.",
        "Her wife is a retired [[PROFESSION:pediatrician]] who agrees.",
        "Her brother, a [[PROFESSION:fund manager]], wants to know.",
        "The resident, a manager, wants to know.",
        "Lives with wife, [[PROFESSION:attorney]], and a dog.",
        "Came (late, [[PROFESSION:nail tech]]) by bus.",
        "Came (nail tech) by bus.",
        "She gave up her post as [[PROFESSION:postmaster]] last year.",
        # an age that only stands behind a name
        "Mr. [[PATIENT:Romano]] is [[AGE:71]].",
        "[[PATIENT:Carl Carpenter]] [[AGE:53]] ankle pain",
        "Mr. [[PATIENT:Romano]] is 71 kg.",
        "Mr. [[PATIENT:Romano]] is 171.",
        "[[PATIENT:Carl Carpenter]] 53 mg",
    ],
)
def test_logins_occupations_and_ages_that_no_label_announces(marked: str) -> None:
    document = unmark(marked)
    assert found(document.text) == [(document.text[s.start : s.end], s.category) for s in document.spans]


def test_a_city_in_the_name_of_something_else_is_less_sure() -> None:
    """A custodian who asks for sure cities keeps the name of a team, and loses no home."""

    def score(text: str) -> float:
        return max(s.score or 0 for s in RULES.find_in(text) if s.category == "CITY")

    team, home = score("He wore a Green Bay Packers cap."), score("He comes from Green Bay.")
    assert team < 0.6 < home


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("per American Heart Association 2014", []),
        ("by World Health Organization criteria 2016", ["2016"]),
        ("World Health Organization wrote 2016", ["2016"]),
        ("by QVZRF (2016) criteria", []),
        ("by QVZRF 2016 criteria", []),
        ("by QVZRF criteria, done ( 2016", ["2016"]),
        ("by qvzrf (2016) criteria", ["2016"]),
        ("by QV (2016) criteria", ["2016"]),
    ],
)
def test_a_year_is_an_edition_directly_behind_who_publishes(text: str, years: list[str]) -> None:
    assert [word for word, category in found(text) if category == "DATE"] == years


@pytest.mark.parametrize(
    "text",
    [
        "He needs a welder for his fence. It looked like a welder had burnt it.",
        "The welder at the bench. Saw the welder at",
        "Bell's palsy, Murphy's sign, Swan-Ganz, Foley catheter.",
        "Strength 5/5, pain 7/10, BP 120/80, murmur 2/6, L5/S1, T12-L1.",
        "Norco 10/325 and Humulin 70/30 at 2015, then 2000 mL.",
        "She may fall; he will march. Last fall was unwitnessed.",
        "Major depression. Miss two doses. Sister well.",
        "Follow up in Pain Clinic. Transfer to ICU. Physical Therapy.",
        "Hepatitis B surface antigen; Type 2; Stage III; G2P1.",
        "Given 38 2/7 weeks gestation. Apgars 8/9. 10-year-old fracture.",
    ],
)
def test_no_phi(text: str) -> None:
    assert found(text) == []


def test_threshold_and_sources() -> None:
    """A lower threshold shows weaker evidence; every span says why it was found, and never what."""
    text = "Cut 7/8 off. Contact: Jasper Vann, 555-0143."
    weak = RuleRecognizer.load("en", threshold=0.1).find_in(text)
    sure = RULES.find_in(text)
    assert set(sure) < set(weak)
    for span in weak:
        assert span.source.startswith("rule:")
        assert text[span.start : span.end].lower() not in span.source
        assert 0.1 <= (span.score or 0) <= 1


def test_categories_are_canonical_and_cover_what_is_found() -> None:
    every = {s.category for d in notes(NOTES) for s in RULES.find(d)}
    assert every <= RULES.categories
    assert {"PATIENT", "DATE", "VEHICLE", "BIOID", "ROOM"} <= RULES.categories


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="no patterns for language 'xx'"):
        RuleRecognizer.load("xx")


def test_same_text_same_spans() -> None:
    document = notes(NOTES)[0]
    assert RULES.find(document) == RuleRecognizer.load("en").find(document)


ADVERSARIAL = {
    "brackets": "(",
    "digits": "1",
    "slashes": "1/",
    "letters": "a",
    "capitals": "A",
    "names": "John ",
    "commas": "Smith, ",
    "addresses": "a@",
    "stops": "a.",
    "blanks": " ",
    "lines": "\n",
    "titles": "Dr. ",
    "labels": "MRN: ",
    "carets": "A^",
    "segments": "PID|",
    "dashes": "1-",
    "months": "may ",
    "ages": "age 5, ",
    "heads": "Hospital ",
    "saints": "St. ",
    "cues": "works as a ",
    "invisible": "a\u200b",
    "look-alikes": "\u0430",
    "prints": "fingerprint ",
    "houses": "5 Oak ",
}


@pytest.mark.parametrize("name", sorted(ADVERSARIAL))
def test_effort_grows_with_the_length_of_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pattern and no grammar is worse than linear: steps are counted, not seconds.

    The counter is the interpreter's: calls of Python functions. Expressions have their own limit of time, which would
    raise here.
    """
    import sys

    def calls(length: int) -> int:
        text = (ADVERSARIAL[name] * length)[:length]
        count = 0

        def tick(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(tick)
        try:
            ALL.find(Document("note", text))
        finally:
            sys.setprofile(None)
        return count

    small, large = calls(2_000), calls(8_000)
    assert large < 6 * small + 2_000


def test_a_pattern_that_takes_too_long_fails_closed(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exponential pattern raises an error without text; nothing is passed on half-searched."""
    from pathlib import Path

    from deid.rules import patterns

    folder = Path(str(tmp_path)) / "patterns" / "nl"
    folder.mkdir(parents=True)
    (folder / "own.toml").write_text(
        "[[pattern]]\nname = 'own.slow'\ncategory = 'IDNUM'\nregex = '(?:a|aa)+(?=!)'\ncertainty = 0.9\n"
        "match = ['[[aa]]!']\n"
    )
    rules = RuleRecognizer.load("nl", folders=[Path(str(tmp_path))])
    monkeypatch.setattr(patterns, "_SECONDS", 0.05)
    with pytest.raises(DetectionError, match=r"pattern own\.slow did not finish") as error:
        rules.find_in("secret " + "a" * 200)
    assert "secret" not in str(error.value)


def test_a_shipped_pattern_that_has_much_to_do_finds_all_and_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that matches at thousands of places looks at the clock; it may never pass a text on half-searched."""
    from deid.rules import patterns
    from deid.rules.catalogue import load_catalogue

    catalogue = load_catalogue("en")
    text = "dale@quarry.org\n" * 5_000
    assert sum(span.source == "rule:email" for span in catalogue.search(text)) == 5_000
    monkeypatch.setattr(patterns, "_SECONDS", 1e-9 - patterns._SECONDS_PER_CHARACTER * len(text))
    with pytest.raises(DetectionError, match="did not finish") as error:
        catalogue.search(text)
    assert "quarry" not in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "Radiology reports no change.",
        "Ultrasound was found to be normal.",
        "Chest was clear. Abdomen was found soft.",
        "Lives with family. Accompanied by Staff.",
        "Trauma team to see. Cardiology service.",
        "However, I think this is viral.",
        "Lisinopril was started; Metoprolol was found to help.",
    ],
)
def test_words_that_lists_know_are_no_names_where_names_stand(line: str) -> None:
    """The patterns for names that no list has would take any capitalized word."""
    assert not [span for span in RULES.find(Document("", line)) if span.source.startswith("rule:name.")]


def test_a_line_of_labels_and_values_is_no_head_of_a_table() -> None:
    """*Bill* is an ordinary word, which a label has as its value where the line is one of labels."""
    text = "Patient Name   Bill Orme   Unit: Surgery   Bed: four\n"
    told = [text[s.start : s.end] for s in RULES.find_in(text) if s.source == "rule:name.patient_field"]
    assert told == ["Bill Orme"]
