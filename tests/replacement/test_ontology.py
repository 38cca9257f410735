"""Ontologies: files, chains of terms, and finding terms in a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.document import Document
from deid.replacement.ontology import Ontology, chain, find_terms, plural, terms_of
from deid.replacement.ontology_files import SHIPPED, load_ontologies, load_ontology

TREE = """\
Boston;Massachusetts;USA;*
Springfield#MA;Massachusetts;USA;*
Springfield#IL;Illinois;USA;*
Reading#MA;Massachusetts;USA;*
Lyon;France;France;*
New York City;New York;USA;*
New York County;New York;USA;*
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    towns = tmp_path / "towns"
    towns.mkdir()
    (towns / "hierarchy.csv").write_text(TREE)
    (towns / "synonyms.csv").write_text("BOS;Boston\ncity of Boston;Boston\nStates;USA\n")
    (towns / "lookup_only.txt").write_text("# ambiguous\nreading\n")
    (towns / "exceptions.txt").write_text("boston scientific\n")
    (towns / "ontology.toml").write_text('title = "town"\ncategory = "CITY"\ncategories = ["CITY"]\n')
    return towns


@pytest.fixture
def towns(folder: Path) -> Ontology:
    return load_ontology(folder)


def labels(ontology: Ontology, phrase: str) -> dict[str, int]:
    found = chain(ontology, phrase, may_stay=False)
    assert found is not None
    return dict(zip(found.labels, found.counts, strict=True))


def found(text: str, *ontologies: Ontology) -> list[str]:
    return [text[s.start : s.end] for s in find_terms(Document("d", text), ontologies)]


def test_chain_shows_terms_without_what_tells_namesakes_apart(towns: Ontology) -> None:
    assert labels(towns, "boston") == {"Massachusetts": 3, "USA": 6, "[TOWN]": 7}
    assert labels(towns, "BOS") == labels(towns, "City  of\nBoston") == labels(towns, "Boston")


def test_ambiguous_phrase_is_generalized_to_what_covers_all_it_can_mean(towns: Ontology) -> None:
    assert terms_of(towns, "Springfield") == ("Springfield#MA", "Springfield#IL")
    assert labels(towns, "Springfield") == {"USA": 6, "[TOWN]": 7}


def test_terms_that_hold_the_phrase_or_say_no_less_are_left_out(towns: Ontology) -> None:
    assert labels(towns, "New York City") == {"New York": 2, "USA": 6, "[TOWN]": 7}
    assert labels(towns, "Lyon") == {"[TOWN]": 7}  # France holds Lyon only
    assert labels(towns, "USA") == {"[TOWN]": 7}


def test_word_may_stay_with_count_one(towns: Ontology) -> None:
    stays = chain(towns, "Boston")
    assert stays is not None
    assert (stays.labels[0], stays.counts[0]) == ("Boston", 1)
    assert chain(towns, "Paris") is None


def test_find_obeys_case_exceptions_and_lookup_only(towns: Ontology) -> None:
    assert found("Boston, boston, BOSTON; BOS and bos.", towns) == ["Boston", "BOSTON", "BOS"]
    assert found("in new\nyork city", towns) == ["new\nyork city"]
    assert found("a Boston Scientific stent from Boston", towns) == ["Boston"]
    assert found("Reading", towns) == []
    assert terms_of(towns, "Reading") == ("Reading#MA",)


def test_found_spans_say_ontology_and_category(towns: Ontology) -> None:
    span = find_terms(Document("d", "in Lyon"), [towns])[0]
    assert (span.start, span.end, span.category, span.source) == (3, 7, "CITY", "ontology:towns")


def test_longest_phrase_counts_then_the_first_ontology(towns: Ontology, tmp_path: Path) -> None:
    (tmp_path / "teams.csv").write_text("Boston;team;*\nNew York City team;team;*\n")
    teams = load_ontology(tmp_path / "teams.csv")
    text = "Boston. New York City team."
    spans = find_terms(Document("d", text), [towns, teams])
    assert [(text[s.start : s.end], s.source) for s in spans] == [
        ("Boston", "ontology:towns"),
        ("New York City team", "ontology:teams"),
    ]
    assert find_terms(Document("d", text), [teams, towns])[0].source == "ontology:teams"


def test_plain_csv_file_is_an_ontology(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("dog;mammal;*\ncat;mammal;*\ncarp;fish;*\n")
    pets = load_ontology(tmp_path / "pets.csv")
    assert labels(pets, "Dog") == {"mammal": 2, "[PETS]": 3}
    assert found("A dog and a Carp", pets) == ["dog", "Carp"]


def test_plurals_are_found_and_stay_plurals(tmp_path: Path) -> None:
    (tmp_path / "hierarchy.csv").write_text("disorder of the eye;body disorder;*\nburn;injury;*\nsalesman;injury;*\n")
    (tmp_path / "ontology.toml").write_text("plurals = true\n")
    ontology = load_ontology(tmp_path)
    assert found("burns", ontology) == ["burns"]
    assert next(iter(labels(ontology, "Burns"))) == "injuries"
    assert found("salesmen", ontology) == ["salesmen"]


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("disease of the eye", "diseases of the eye"),
        ("injury", "injuries"),
        ("stenosis", "stenoses"),
        ("abscess", "abscesses"),
        ("[DRUG]", "[DRUG]"),
        ("toy", "toys"),
        ("bronchitis", "bronchitis"),
        ("gallstones", "gallstones"),
        ("virus", "viruses"),
    ],
)
def test_plural(one: str, several: str) -> None:
    assert plural(one) == several


def test_surnames_need_a_place_where_any_word_has_a_capital(tmp_path: Path) -> None:
    (tmp_path / "hierarchy.csv").write_text("baker;worker;*\ntruck driver;worker;*\n")
    (tmp_path / "ontology.toml").write_text("surnames = true\n")
    jobs = load_ontology(tmp_path)
    assert found("Baker by trade. Mr. Baker saw J. Baker and the baker.\nJob: Baker; Truck Driver", jobs) == [
        "Baker",
        "baker",
        "Baker",
        "Truck Driver",
    ]
    assert found("Baker by trade. Mr. Baker", jobs) == ["Baker"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("synonyms.csv", "Smith;nowhere\n"),
        ("synonyms.csv", "only one value\n"),
        ("codes.csv", "X1;nowhere\n"),
        ("ontology.toml", "titel = 'x'\n"),
        ("ontology.toml", "title = 3\n"),
        ("ontology.toml", "title = \n"),
        ("hierarchy.csv", "a;b\n"),
    ],
)
def test_wrong_files_are_refused_without_their_content(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_ontology(folder)
    assert "Smith" not in str(caught.value)


def test_unknown_and_equal_names_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such ontology"):
        load_ontology("illnesses")
    (tmp_path / "towns.csv").write_text(TREE)
    with pytest.raises(ConfigError, match="same name"):
        load_ontologies([folder, tmp_path / "towns.csv"])
    with pytest.raises(ConfigError, match="no ontology"):
        load_ontologies([])


def test_shipped_ontologies_are_large_enough_and_consistent() -> None:
    """Four kinds with at least 5,000 leaves together; every phrase has a chain that ends above it."""
    shipped = load_ontologies()
    assert [o.name for o in shipped] == list(SHIPPED)
    assert sum(len(o.hierarchy.leaves()) for o in shipped) >= 5_000
    assert all(len(o.hierarchy.leaves()) >= 500 for o in shipped)
    for ontology in shipped:
        for phrase in ontology.senses:
            terms = chain(ontology, phrase, may_stay=False)
            assert terms is not None
            assert all(f" {phrase} " not in f" {label.lower()} " for label in terms.labels)


@pytest.mark.parametrize(
    ("ontology", "phrase", "label"),
    [
        ("diseases", "liver cancer", "cancer of the digestive system"),
        ("diseases", "hepatic cancer", "cancer"),
        ("diseases", "HTN", "cardiovascular disease"),
        ("diseases", "Tuberculosis", "infectious disease"),
        ("diseases", "seizures", "medical conditions"),
        ("drugs", "Lasix", "loop diuretic"),
        ("drugs", "marijuana", "drug of abuse"),
        ("places", "Sacramento", "California"),
        ("places", "Springfield, Illinois", "Illinois"),
        ("places", "Springfield", "United States"),
        ("places", "Paris", "France"),
        ("professions", "truck driver", "transportation worker"),
        ("professions", "fireman", "protective service worker"),
    ],
)
def test_shipped_ontologies_know_what_notes_say(ontology: str, phrase: str, label: str) -> None:
    assert label in labels(load_ontology(ontology), phrase)
