"""From spans to the identifier view."""

from pathlib import Path

import pandas as pd
import pytest

from deid.base.errors import ConfigError, InputError
from deid.document import Document, Span
from deid.extraction import build_view, note_facts, published_values, read_view
from deid.extraction.values import read_age
from deid.extraction.view import NoteFacts, join_table


def note(name: str, text: str, **spans: str) -> Document:
    """Make a note; spans are given by category and text (``DATE_1``: the second one of a category)."""
    found = []
    for key, value in spans.items():
        start = text.index(value)
        found.append(Span(start, start + len(value), key.partition("__")[0]))
    return Document(name, text, tuple(found))


def facts_of(document: Document) -> NoteFacts:
    return NoteFacts(document.id, note_facts(document, document.spans))


ONE = note(
    "one",
    "Patient: John Smith  DOB: 3/4/1950  MRN 55-1\nDate of service: 6/7/2019\n"
    "Mr. Smith is a 69-year-old man from Philadelphia. "
    "His brother Bill, 71, has gout. He has heart failure (I50.9). Denies asthma.",
    PATIENT="John Smith",
    DATE="3/4/1950",
    MEDICALRECORD="55-1",
    DATE__1="6/7/2019",
    AGE="69",
    CITY="Philadelphia",
    PATIENT__1="Bill",
    AGE__1="71",
)


def test_a_note_gives_its_patients_attributes() -> None:
    """Labels tell what a date is and who the patient is; words around tell sex and diagnoses, and whose they are."""
    frame = build_view([facts_of(ONE)]).frame
    row = frame.iloc[0]
    assert row["name"] == "John Smith"
    assert row["birth_date"] == "1950-03-04"
    assert row["note_date"] == "2019-06-07"
    assert row["mrn"] == "551"
    assert row["age"] == "69"
    assert row["sex"] == "male"
    assert (row["city"], row["state"]) == ("Philadelphia", "PA")
    assert "I50.9" in row["diagnosis"]
    assert "J45" not in row["diagnosis"]  # denied


OF_OTHERS = {
    "es": "Paciente: {0}, nacida el {1}\nFecha de ingreso: {2}, fecha de alta: {3}\nMujer de {4} años. Sin asma.",
    "de": "Patientin: {0}, geb. {1}\nStationär vom {2}, Entlassung am {3}\nDie {4}-jährige Patientin kam. Kein Asthma.",
    "fr": "Patiente : {0}, née le {1}\nEntrée le {2}, sortie le {3}\nFemme de {4} ans. Pas d'asthme.",
    "nl": "Patiënte: {0}, geb. {1}\nOpname op {2}, ontslag op {3}\nVrouw van {4} jaar. Geen astma.",
}
DATED = {
    "es": ("12 de marzo de 1952", "14/3/2019", "20 de marzo de 2019"),
    "de": ("12.03.1952", "14. März 2019", "20.3.19"),
    "fr": ("12/03/1952", "14 mars 2019", "20/3/19"),
    "nl": ("12-03-1952", "14 maart 2019", "20-3-19"),
}


@pytest.mark.parametrize("language", OF_OTHERS)
def test_a_note_of_another_language_gives_them_too(language: str) -> None:
    born, came, left = DATED[language]
    text = OF_OTHERS[language].format("Karin Feldmann", born, came, left, 66) + " J18.9"
    document = note("n", text, PATIENT="Karin Feldmann", DATE=born, DATE__1=came, DATE__2=left, AGE="66")
    found = NoteFacts("n", note_facts(document, document.spans, language=language))
    row = build_view([found]).frame.iloc[0]
    assert (row["name"], row["birth_date"], row["sex"], row["age"]) == ("Karin Feldmann", "1952-03-12", "female", "66")
    assert (row["admission_date"], row["discharge_date"]) == ("2019-03-14", "2019-03-20")
    assert row["diagnosis"] == "J18.9"


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("18 Monate", 1),
        ("8 Monate", 0),
        ("3 Wochen", 0),
        ("18 mois", 1),
        ("10 jours", 0),
        ("18 maanden", 1),
        ("66 Jahre", 66),
    ],
)
def test_ages_of_small_children_are_in_years(text: str, years: int) -> None:
    assert read_age(text) == years


def test_sex_is_read_from_a_field_before_all_else() -> None:
    text = "Sex: F\nHe, the husband, says he and his son drove her here."
    facts = note_facts(Document("n", text), ())
    assert build_view([NoteFacts("n", facts)]).frame["sex"].tolist() == ["female"]


def test_age_follows_from_birth_date_and_note_date() -> None:
    document = note("n", "DOB: 3/4/1950. Seen on 3/3/2019.", DATE="3/4/1950", DATE__1="3/3/2019")
    assert build_view([facts_of(document)]).frame["age"].tolist() == ["68"]


def test_notes_are_linked_by_exact_keys() -> None:
    """Equal record numbers, or equal names and birth dates, are one person; a name alone is not."""
    notes = [
        note("a", "MRN 551, John Smith", MEDICALRECORD="551", PATIENT="John Smith"),
        note("b", "MRN: 5-5-1", MEDICALRECORD="5-5-1"),
        note("c", "Smith, John DOB 3/4/1950", PATIENT="Smith, John", DATE="3/4/1950"),
        note("d", "John Smith born March 4, 1950", PATIENT="John Smith", DATE="March 4, 1950"),
        note("e", "John Smith", PATIENT="John Smith"),
    ]
    frame = build_view([facts_of(n) for n in notes], by="note").frame
    assert frame["person"].tolist() == ["P1", "P1", "P2", "P2", "P3"]


def test_a_known_patient_decides_before_the_keys() -> None:
    facts = note_facts(ONE, ONE.spans)
    frame = build_view(
        [NoteFacts("a", facts, "7"), NoteFacts("b", facts, "8"), NoteFacts("c", (), "7")], by="note"
    ).frame
    assert frame["person"].tolist() == ["P1", "P2", "P1"]


def test_disagreement_is_settled_by_majority_then_by_the_newest_note() -> None:
    def said(name: str, city: str, day: str) -> NoteFacts:
        document = note(name, f"lives in {city}", CITY=city)
        return NoteFacts(name, note_facts(document, document.spans), "7", day)

    majority = build_view(
        [said("a", "Reno", "2019-01-01"), said("b", "Boise", "2020-01-01"), said("c", "Reno", "2018-01-01")]
    )
    newest = build_view([said("a", "Reno", "2019-01-01"), said("b", "Boise", "2020-01-01")])
    undated = [NoteFacts(n.document, n.facts, n.patient) for n in (said("a", "Reno", ""), said("b", "Boise", ""))]
    assert majority.frame["city"].tolist() == ["Reno"]
    assert newest.frame["city"].tolist() == ["Boise"]
    assert build_view(undated).frame["city"].tolist() == ["Boise; Reno"]
    assert majority.conflicts["city"] == 1
    assert majority.frame["notes"].tolist() == [3]


def test_provenance_points_at_the_text() -> None:
    view = build_view([facts_of(ONE)])
    places = view.provenance
    ages = places[places["column"] == "age"]
    assert [ONE.text[a:b] for a, b in zip(ages["start"], ages["end"], strict=True)] == ["69", "71"]


def test_files_round_trip_and_are_private(tmp_path: Path) -> None:
    view = build_view([facts_of(ONE)])
    view.write(tmp_path / "v.csv")
    again = read_view(tmp_path / "v.csv")
    assert again.frame["birth_date"].tolist() == ["1950-03-04"]
    assert len(again.provenance) == len(view.provenance)
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in tmp_path.iterdir())


def test_a_joined_table_wins_and_rows_without_a_partner_are_counted() -> None:
    view = build_view([facts_of(ONE), NoteFacts("two", ())])
    table = pd.DataFrame({"mrn": ["55-1", "99"], "age": ["70", "20"], "race": ["A", "B"]})
    joined, linked, unmatched = join_table(view, table, "mrn")
    assert joined.frame["age"].tolist()[0] == "70"
    assert joined.frame["race"].tolist()[0] == "A"
    assert (linked, unmatched) == (0, 1)
    with pytest.raises(ConfigError, match="'nrm'"):
        join_table(view, table, "nrm")
    with pytest.raises(InputError, match="second row"):
        join_table(view, pd.concat([table, table]), "mrn")


def test_published_values_stand_where_the_values_came_from() -> None:
    view = build_view([facts_of(ONE)])
    release = pd.DataFrame({"age": ["[60-69]"], "city": ["*"], "state": ["PA"], "mrn": ["551"]})
    places = published_values(view, release)
    written = {ONE.text[r.start : r.end]: r.value for r in places.itertuples()}
    assert written["69"] == "[60-69]"
    assert written["Philadelphia"] == "PA"  # the city is suppressed, its state is published
    assert "55-1" not in written  # an identifier is never written back
    with pytest.raises(InputError, match="2 rows"):
        published_values(view, pd.concat([release, release]))
    with pytest.raises(ConfigError, match="share no column that can be written"):
        published_values(view, release[["mrn"]])
