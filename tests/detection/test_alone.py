"""What of a name that a model found is a name: ordinary words in small letters beside it are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.detection.alone import names_nobody, stands_alone
from deid.detection.cut import in_capitals, within
from deid.detection.edges import in_one_row
from deid.detection.nouns import is_noun
from deid.detection.numbers import plain_scene
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.phi import LABEL_SETS, group
from deid.reading.lexicon import load_lexicon
from deid.rules.scene import Scene


def scene(text: str, language: str) -> Scene:
    return plain_scene(text, load_lexicon(language))


@pytest.mark.parametrize(
    ("language", "category", "text", "left"),
    [
        ("nl", "PATIENT", "Gerrit haalt de bus", ["Gerrit"]),
        ("de", "PATIENT", "Elias und Finn", ["Elias", "Finn"]),
        ("nl", "DOCTOR", "Marjolein van den Berg", ["Marjolein van den Berg"]),
        ("nl", "ORGANIZATION", "het Corderius College", ["Corderius College"]),
        ("fr", "HOSPITAL", "au Beau Vallon", ["Beau Vallon"]),
        ("fr", "HOSPITAL", "clinique du Parc", ["clinique du Parc"]),
        ("fr", "PROFESSION", "chef de Rang", ["chef de Rang"]),
        ("en", "PATIENT", "wanda and ruth", ["wanda and ruth"]),
        ("en", "ORGANIZATION", "Quendrith Valley raffle", ["Quendrith Valley"]),
    ],
)
def test_small_words_beside_names_are_cut(language: str, category: str, text: str, left: list[str]) -> None:
    spans = in_capitals(scene(text, language), Span(0, len(text), category))
    assert [text[s.start : s.end] for s in spans] == left


@pytest.mark.parametrize(
    ("language", "text", "word", "noun"),
    [
        ("de", "danach mit dem Linear-Stapler abgesetzt", "Linear-Stapler", True),
        ("de", "sie arbeitet im Homeoffice", "Homeoffice", True),
        ("de", "der Arzt Magazin kam", "Magazin", False),
        ("de", "Karin Kaltwasser kam", "Kaltwasser", False),
        ("de", "Nächster Kontakt: Herbst", "Herbst", False),
        ("de", "danach kam Oyelaran", "Oyelaran", False),
        ("en", "after the Magazine was read", "Magazine", False),
        ("nl", "Lichte irritatie van de patellapees", "van de patellapees", True),
        ("nl", "Overleg met van den Berg", "van den Berg", False),
    ],
)
def test_a_noun_in_running_text_is_nobody_where_nouns_have_capitals(
    language: str, text: str, word: str, noun: bool
) -> None:
    start = text.index(word)
    span = Span(start, start + len(word), "PATIENT", source="model:x")
    assert is_noun(scene(text, language), span) is noun


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("E L E C T R O C A R D I O G R A M\nID 12", False),
        ("D I S C H A R G E   S U M M A R Y", False),
        ("V A L D I V I E S O\nID 12", True),
        ("D I S C H A R G E   V A L D I V I E S O", True),
        ("A B C D", True),
    ],
)
def test_letters_apart_that_spell_ordinary_words_are_nobody(text: str, stands: bool) -> None:
    span = Span(0, min(len(text), 26), "PATIENT", source="model:en")
    assert stands_alone(scene(text, "en"), span) is stands


@pytest.mark.parametrize(("text", "stands"), [("Leerling: Wout Maas", False), ("Oyelaran: Wout Maas", True)])
def test_a_label_before_its_colon_is_nobody(text: str, stands: bool) -> None:
    span = Span(0, text.index(":"), "PATIENT", source="model:nl")
    assert stands_alone(scene(text, "nl"), span) is stands


@pytest.mark.parametrize(
    ("category", "text", "proposed", "stands"),
    [
        ("DOCTOR", "Wt 180 lb today", "lb", False),
        ("DOCTOR", "signed lb today", "lb", True),
        ("VEHICLE", "0400  95  QJX\n0800  93  ZQR", "QJX\n0800  93  ZQR", False),
        ("VEHICLE", "plate QJX 0800 today", "QJX 0800", True),
        ("URL", "SILT s/sp/dp/t today", "s/sp/dp/t", False),
        ("URL", "see quendrith.example/dp today", "quendrith.example/dp", True),
        ("USERNAME", "sex=F|adm_dt=20240311", "adm_dt", False),
        ("USERNAME", "by adm_dt on 20240311", "adm_dt", True),
        ("DOCTOR", "Dear Sir, re: the tenancy", "Sir", False),
        ("DOCTOR", "awaiting CXR, then home", "CXR", False),
        ("DOCTOR", "vitals 0400 by CXR", "CXR", True),
    ],
)
def test_units_two_rows_and_slashes_alone_are_nobodys(category: str, text: str, proposed: str, stands: bool) -> None:
    start = text.index(proposed)
    span = Span(start, start + len(proposed), category, source="model:en")
    assert stands_alone(scene(text, "en"), span) is stands


@pytest.mark.parametrize(
    ("category", "text", "left"),
    [
        ("DATE", "SAT 1922", "SAT"),
        ("DATE", "14 Aug 0622", "14 Aug"),
        ("DATE", "Tues 17th Sept 11.30", "Tues 17th Sept"),
        ("DATE", "Aug 1922", "Aug 1922"),
        ("DATE", "3 May 2014", "3 May 2014"),
        ("CITY", "MBBS Jos", "Jos"),
        ("CITY", "Fort Orme", "Fort Orme"),
    ],
)
def test_a_time_behind_a_day_and_letters_before_a_town_are_cut(category: str, text: str, left: str) -> None:
    span = within(scene(text, "en"), Span(0, len(text), category, source="model:en"))
    assert text[span.start : span.end] == left


def test_the_letter_of_whose_child_somebody_is_belongs_to_no_name() -> None:
    text = "Name: Quendrith Velay W/o Orme Nair"
    span = in_one_row(scene(text, "en"), Span(6, text.index("/"), "PATIENT", source="model:en"))
    assert text[span.start : span.end] == "Quendrith Velay"


@pytest.mark.parametrize("day", ["1st", "21st", "22nd"])
def test_a_day_of_a_month_is_no_label_of_a_form(day: str) -> None:
    text = f"parking pass by the {day}"
    span = Span(text.index(day), len(text), "DATE", source="model:en")
    assert not names_nobody(scene(text, "en"), span)


@pytest.mark.parametrize("category", sorted(LABEL_SETS["i2b2-2014"].names()))
@pytest.mark.parametrize("word", ["metformin", "diabetes mellitus"])
def test_clinical_words_that_a_model_alone_proposes_name_nobody_but_may_be_numbers(category: str, word: str) -> None:
    """What is no name, place or occupation is told by its form: words say nothing of a login or a registration."""
    text = "She takes metformin for diabetes mellitus now."
    start = text.index(word)
    of_words = group(category) in ("NAME", "LOCATION", "PROFESSION") and category not in ("USERNAME", "ROOM")
    assert stands_alone(scene(text, "en"), Span(start, start + len(word), category)) is not of_words


@pytest.mark.parametrize(("category", "stands"), [("STREET", True), ("CITY", False), ("PATIENT", False)])
def test_a_street_may_have_the_name_of_a_clinical_phrase(category: str, stands: bool) -> None:
    text = "Home is 12 Foley Catheter, not far."
    assert stands_alone(scene(text, "en"), Span(11, 25, category)) is stands


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Pas de signe de Homans, score de Manchester 3, vit à Manchester.", ["Manchester"]),
        ("Un long compte rendu de consultation d'arrivant, vu par le Dr Gagnon\nH0 agitation, menaces", ["Gagnon"]),
        ("Une longue ligne du compte rendu de consultation, avis du Dr Paul\nMercadier ce matin", ["Paul\nMercadier"]),
        ("À Monsieur le Docteur Ursule Lorent, merci.", ["Ursule Lorent"]),
        ("Prochaine séance, kiné M. Lebrun.", ["Lebrun"]),
        ("Cher Confrère, Chère Consœur, tout va bien.", []),
        ("Mère rappelée. AS Yassine relance.", ["Yassine"]),
        ("Groupe O (Rhophylac fait), Tegaderm, Hadlock 45e percentile, T4N1M0, G5L 3B6", ["G5L 3B6"]),
        ("Bulle d'emphysème. Vire au bleu. Plaisir conservé. Née à Menton, vient de Gland.", ["Menton", "Gland"]),
        ("Mons, le soir.\nDr Roux, Plaisir.\nVif à la piqûre.", ["Mons", "Roux", "Plaisir"]),
    ],
)
def test_french_things_are_nobody(text: str, left: list[str]) -> None:
    found = build_recognizer(RecognizerOptions(model="none", language="fr")).find(Document("n", text))
    assert [text[span.start : span.end] for span in found] == left


@pytest.mark.parametrize(
    ("category", "found", "left"),
    [
        ("DATE", "la mi-juin", "mi-juin"),
        ("DATE", "la 23", "la 23"),
        ("CITY", "Mourenx le", "Mourenx"),
        ("PROFESSION", "traductrice au", "traductrice"),
        ("PATIENT", "petite Brisebois", "Brisebois"),
        ("PATIENT", "Petit Brisebois", "Petit Brisebois"),
    ],
)
def test_small_words_at_the_edges_of_what_a_model_found_are_none_of_it(category: str, found: str, left: str) -> None:
    text = f"x {found} y"
    span = within(scene(text, "fr"), Span(2, 2 + len(found), category, source="model:fr"))
    assert text[span.start : span.end] == left


@pytest.mark.parametrize(
    ("category", "word", "text", "stands"),
    [
        ("PATIENT", "Inquiet", "Voit Me Roux. Inquiet. Part demain.", False),
        ("PATIENT", "Brisebois", "Voit Me Roux. Brisebois. Part demain.", True),
        ("CITY", "Section", "NID 44   Section : 2e Cie", False),
    ],
)
def test_a_sentence_of_one_word_and_a_label_are_nobody_in_french(
    category: str, word: str, text: str, stands: bool
) -> None:
    start = text.index(word)
    assert stands_alone(scene(text, "fr"), Span(start, start + len(word), category, source="model:fr")) is stands


def test_the_letters_of_a_measure_before_its_value_are_nobody_in_a_line_of_capitals() -> None:
    text = "CREAT 211 UREE 24 NA 134 CL 101"
    start = text.index("NA")
    assert names_nobody(scene(text, "fr"), Span(start, start + 2, "PATIENT", source="rule:name.word"))


@pytest.mark.parametrize(
    ("category", "word", "text"),
    [
        ("CITY", "Nijmegen", "Nijmegen vragenlijst 24"),
        ("CITY", "Rome", "Rome negatief"),
        ("PATIENT", "Berg", "MMSE 20, Berg 41/56"),
        ("PATIENT", "Bennett", "een Bennett onder de duim"),
        ("PATIENT", "Jansen", "Jansen teken positief"),
        ("DOCTOR", "Pools", "tolk Pools"),
        ("HOSPITAL", "Acute Opname", "naar Acute Opname"),
        ("PATIENT", "Echtgenoot", "Echtgenoot: Jan"),
    ],
)
def test_scales_tongues_wards_and_labels_in_dutch_are_nobody(category: str, word: str, text: str) -> None:
    start = text.index(word)
    span = Span(start, start + len(word), category, source="model:nl")
    assert names_nobody(scene(text, "nl"), span)


@pytest.mark.parametrize(
    ("text", "nobody"),
    [
        ("Speaks Ormeric at home", True),
        ("Speaks Ormeric and Tuvolic at home", True),
        ("Speaks Ormeric, Kelvic and Tuvolic at home", True),
        ("Came with Ormeric and Tuvolic", False),
    ],
)
def test_each_of_several_languages_is_nobody(text: str, nobody: bool) -> None:
    for word in (w for w in ("Ormeric", "Kelvic", "Tuvolic") if w in text):
        span = Span(text.index(word), text.index(word) + len(word), "PATIENT", source="model:en")
        assert names_nobody(scene(text, "en"), span) is nobody


@pytest.mark.parametrize("text", ["in Nijmegen opgenomen", "Jansen operatie dinsdag", "Berg belt om 11 uur"])
def test_towns_and_names_in_dutch_are_somebodys(text: str) -> None:
    word = next(word for word in text.split() if word[0].isupper())
    start = text.index(word)
    span = Span(start, start + len(word), "CITY" if start else "PATIENT", source="model:nl")
    assert not names_nobody(scene(text, "nl"), span)


@pytest.mark.parametrize("model", ["none", "nl"])
def test_products_are_nobody_in_dutch(model: str) -> None:
    recognizer = build_recognizer(RecognizerOptions(model=model, language="nl"))
    for product in ("Atacand", "Allevyn", "Langenbeck", "Sorbact", "Weitlaner"):
        assert not recognizer.find(Document("n", f"overleg met {product} erbij"))
        assert not recognizer.find(Document("n", f"Patiënt startte met {product} en voelde zich beter."))
    assert recognizer.find(Document("n", "Patiënt startte met mevrouw Janssens en voelde zich beter."))


def hidden(lines: str, form: str) -> list[str]:
    """Return the lines of which something is hidden where they stand in a form."""
    recognizer = build_recognizer(RecognizerOptions(language="en"))
    return [line for line in lines.split("\n") if line and recognizer.find(Document("n", form.format(line)))]


@pytest.mark.parametrize(
    "form",
    ["{}", "Seen today.\n\n{}\nShe was reviewed without concerns.\n", "{}:\nno concerns\n", "Reason: {}\n", "- {}\n"],
)
def test_a_line_of_ordinary_words_is_a_heading_or_a_value_and_names_nobody(form: str) -> None:
    told = (Path(__file__).parent / "headings.txt").read_text("utf-8").partition("\n")[2].partition("\n")[2]
    read, counted, names = told.split("\n--\n")
    assert len(hidden(read, form)) <= 3  # of 132: 9 without a rule for such lines
    assert len(hidden(counted, form)) <= 20  # of 148: 39
    assert len(hidden(names, form)) >= len(names.split()) / 2 - 5
