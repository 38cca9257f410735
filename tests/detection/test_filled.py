"""Rules fill what a model leaves that was trained without them, where the language was named and not the model."""

from __future__ import annotations

import itertools

import pytest

from deid import Document, RecognizerOptions, Span, build_recognizer
from deid.detection import Ensemble, RuleRecognizer
from deid.detection.filled import Alone, Filled, Labels
from deid.reading import passages

URL, ACCOUNT = "www.osasuna-zabal.eus", "ES91 2100 0418 4502 0005 1332"
TEXT = f"Paciente remitida por el Dr. Ansorena, RUN: 12.531.909-2. Peso 61 kg, web {URL}, IBAN {ACCOUNT}."
"""Forms that hardly any of the notes has that the model was trained on."""


def found(**options: object) -> dict[str, str]:
    spans = build_recognizer(RecognizerOptions(**options)).find(Document("n", TEXT))  # type: ignore[arg-type]
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    return {TEXT[s.start : s.end]: s.source for s in spans}


def test_rules_fill_what_the_model_leaves() -> None:
    alone, filled = found(language="es", rules=False), found(language="es")
    assert alone
    assert all(source.startswith("model:") for source in alone.values())
    assert {URL, ACCOUNT}.isdisjoint(alone)
    assert {text: source for text, source in alone.items() if text not in URL}.items() <= filled.items()
    assert all(source.startswith("rule:") for text, source in filled.items() if text not in alone)
    assert {URL, ACCOUNT} <= filled.keys()
    assert not any(text != URL and text in URL for text in filled)  # an address is whole


@pytest.mark.parametrize("options", [{"model": "es"}, {"model": "es", "language": "es"}])
def test_who_names_the_model_gets_the_model(options: dict[str, str]) -> None:
    assert found(**options) == found(language="es", rules=False)


def test_the_language_of_each_note_has_its_rules_too() -> None:
    note = f"{TEXT} La paciente refiere dolor en la rodilla izquierda desde hace tres semanas, sin fiebre."
    spans = build_recognizer(RecognizerOptions(language="auto")).find(Document("n", note))
    assert URL in {note[s.start : s.end] for s in spans}


def test_what_rules_fill_is_explained() -> None:
    told = build_recognizer(RecognizerOptions(language="es")).explain(Document("n", TEXT))
    reasons = {TEXT[one.span.start : one.span.end]: one.reasons[0] for one in told.spans}
    assert reasons[ACCOUNT].fate == "decides"
    assert reasons[ACCOUNT].source == "id.iban"


@pytest.mark.parametrize(
    "date",
    [
        "28 de septiembre al 3 de octubre de 2022",
        "3 al 11 de octubre de 2022",
        "3, 5 y 11 de octubre de 2022",
        "11 de octubre de 2022",
        "octubre de 2022",
    ],
)
def test_no_day_of_a_date_of_several_is_left(date: str) -> None:
    """The model may have the last day alone: the others would stay, and the stay get another length."""
    note = f"Ingresado el {date} por dolor."
    spans = build_recognizer(RecognizerOptions(language="es")).find(Document("n", note))
    assert "".join(note[s.start : s.end] for s in spans).replace(" ", "") in (
        date.replace(" ", ""),
        date.replace(" al ", "").replace(" ", ""),
    )
    assert note.index(date) == spans[0].start


@pytest.mark.parametrize(
    "number",
    [
        *("34.118.902", "12.531.909-2", "1.028.776.451", "V-19.447.203", "BOXW310820HNERXN09", "20-26756539-3"),
        "2589 14478 1601",
    ],
)
@pytest.mark.parametrize("label", ["DNI", "C.I.", "RUN:", "Paciente con cédula", "Brunetti, Lucía Belén DNI"])
def test_of_a_number_that_rules_know_no_digit_is_left(label: str, number: str) -> None:
    """The model may have a part of it, as part of something else: *34.118* of *34.118.902*."""
    note = f"Paciente: Marta Ledesma, {label} {number} OS: OSDE 310. Consulta por dolor abdominal.\n"
    spans = build_recognizer(RecognizerOptions(language="es")).find(Document("n", note))
    at = note.index(number)
    seen = [note[i] for i in range(at, at + len(number)) if not any(s.start <= i < s.end for s in spans)]
    assert not any(map(str.isalnum, seen))
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize(
    "note", ["BM: deltoides 4/5, bíceps 5/5.", "Paresia derecha 3/5 con claudicación, izquierda 5/5."]
)
def test_what_a_model_alone_found_must_be_able_to_stand_alone(note: str) -> None:
    told = build_recognizer(RecognizerOptions(language="es")).explain(Document("n", note))
    assert "FECHAS" not in {one.span.category for one in told.spans}


@pytest.mark.parametrize("day", [8, 21, 27])
def test_days_that_begin_behind_a_word_of_the_model_are_one_stretch(day: int) -> None:
    """The model alone takes *Ingresado del 21* for something else that says who somebody is."""
    dates = f"{day} al {day + 1} de septiembre de 1950"
    text = f"Ingresado del {dates}."
    spans = build_recognizer(RecognizerOptions(language="es")).find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in spans] == [(dates, "FECHAS")]


def test_of_a_place_that_rules_are_certain_of_no_word_is_left() -> None:
    """The model has *Imagen Vega Baja* alone, and ends a street before its storey."""
    text = "Centro: Diagnóstico por Imagen Vega Baja, avda. de la Purísima, 112, entlo., 03180 Torrevieja.\n"
    spans = build_recognizer(RecognizerOptions(language="es")).find(Document("n", text))
    left = {i for i in range(8, len(text)) if text[i].isalnum()} - {i for s in spans for i in range(s.start, s.end)}
    assert not left


class Told:
    """A model that finds some words, and holds every other place for as likely as it is told."""

    name = "told"
    categories = frozenset(("DATE", "DOCTOR", "MEDICALRECORD", "STREET"))

    def __init__(self, chance: float, **words: str) -> None:
        self.chance, self.words = chance, words

    def find(self, document: Document) -> list[Span]:
        text = document.text
        places = ((text.index(words), words, category) for category, words in self.words.items())
        return [Span(at, at + len(words), category, source="model:told") for at, words, category in places]

    def chances(self, _text: str, places: list[tuple[int, int]]) -> list[float]:
        return [self.chance for _ in places]


def filled(text: str, chance: float = 0.0, **words: str) -> list[str]:
    rules = Ensemble((RuleRecognizer.load("es"),), "es")
    finder = Filled(Alone(Told(chance, **words), "es", rules), rules, Labels("meddocan"))  # type: ignore[arg-type]
    spans = finder.find_normal(Document("n", text))
    assert finder.trace(Document("n", text)).spans == tuple(spans)
    return [text[s.start : s.end] for s in spans]


def test_what_both_hold_for_possible_counts() -> None:
    text = "Se coordina con Riobamba, que lo espera."
    assert filled(text, 0.1) == []
    assert filled(text, 0.6) == ["Riobamba"]


def test_what_both_hold_for_possible_counts_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "WINDOW", 120)
    monkeypatch.setattr(passages, "MARGIN", 20)
    line = "El enfermo refiere dolor en la rodilla desde hace un mes.\n"
    for before, behind in ((0, 8), (4, 4), (8, 0)):
        text = line * before + "Se coordina con Riobamba, que lo espera.\n" + line * behind
        assert len(passages.windows(text)) > 3
        assert filled(text, 0.6) == ["Riobamba"]
        assert filled(text, 0.1) == []


def test_rules_that_find_first_are_filled_too() -> None:
    rules = Ensemble((RuleRecognizer.load("es"),), "es")
    finder, text = Filled(rules, rules, Labels("meddocan")), Document("n", TEXT)
    assert [TEXT[s.start : s.end] for s in finder.find_normal(text)] == [
        TEXT[s.start : s.end] for s in rules.find_normal(text)
    ]
    assert finder.trace(text).spans == tuple(finder.find_normal(text))


def test_a_name_of_the_model_is_found_everywhere() -> None:
    text = "Vienen tres, y Brahim los trae.\nBrahim pide volver."
    assert filled(text, DOCTOR="Brahim") == ["Brahim", "Brahim"]


def test_what_rules_know_whole_is_whole() -> None:
    assert filled("Realizada el martes quince a las nueve.", DATE="martes") == ["martes quince"]
    assert filled("[07:58] Nacho Urrea: buenas", DOCTOR="Nacho") == ["Nacho", "Urrea"]


def test_rules_say_what_of_the_model_is_nobodys() -> None:
    assert filled("Equipo: bala de oxígeno a 60 bar.", STREET="bala de oxígeno a 60 bar") == []
    assert filled("Vive en Olmo 6 desde ayer.", STREET="Olmo 6") == ["Olmo 6"]
    assert filled("Ficha:\n118842   F", MEDICALRECORD="118842   F") == ["118842"]
    assert filled("Avisada la madre. Hemograma normal.", DOCTOR="Hemograma") == []


@pytest.mark.parametrize(
    ("note", "hidden", "shown"),
    [
        ("Se avisa a su hija, Ximena Riffo, que viene mañana.", "Ximena Riffo", "hija"),
        ("Cuidadora: Juana Tzoc (nuera), viene los lunes.", "Juana Tzoc", "nuera"),
        ("La trae su madre, doña Luz Dary Caicedo, en taxi.", "Luz Dary Caicedo", "madre"),
        ("Se informa a la familia: su padre vive lejos.", "padre", ""),
        ("Trabaja de conserje. Pregunta por él el capataz Nando Fuertes.", "Nando Fuertes", "capataz"),
        ("Tiene la custodia su hija Leire y Unax, el menor.", "Unax", "hija"),
        ("Paciente remitida por la doctora Iria Pazos y Xandru L.; acude sola.", "Xandru", ""),
        ("Pide hablar con la doctora Noelia G., de guardia.", "Noelia G.", ""),
    ],
)
def test_who_is_named_is_hidden_and_not_what_they_are(note: str, hidden: str, shown: str) -> None:
    spans = build_recognizer(RecognizerOptions(language="es")).find(Document("n", note))
    told = " | ".join(note[s.start : s.end] for s in spans)
    assert hidden in told
    assert not shown or shown not in told


@pytest.mark.parametrize(
    ("note", "taken", "left"),
    [
        ("Vive en olmo 6 desde ayer.", {"STREET": "olmo 6"}, []),
        ("vive en olmo 6 desde ayer.", {"STREET": "olmo 6"}, ["olmo 6"]),
        ("Vive en calle olmo ya, Ana.", {"STREET": "calle olmo"}, ["calle olmo"]),
        ("Vive en N-340 ya, Ana.", {"STREET": "N-340"}, ["N-340"]),
        ("de 6 y 3 hoy, Ana.", {"STREET": "de 6 y 3"}, []),
        ("Vive en de 123 45 ya, Ana.", {"STREET": "de 123 45"}, ["de 123 45"]),
        ("Vive en de 123 4 ya, Ana.", {"STREET": "de 123 4"}, []),
        ("Ficha: 118842   334455, Ana", {"MEDICALRECORD": "118842   334455"}, ["118842", "334455"]),
        ("Ficha: 118842\t334455, Ana", {"MEDICALRECORD": "118842\t334455"}, ["118842", "334455"]),
        ("Ficha: 118842 334455, Ana", {"MEDICALRECORD": "118842 334455"}, ["118842 334455"]),
        ("Ficha: Tel. 118842   NHC 334455, A", {"MEDICALRECORD": "Tel. 118842   NHC 334455"}, ["118842", "334455"]),
        ("Ana (Brahim) hoy", {"DOCTOR": "(Brahim"}, ["Brahim"]),
        ("Ana (Brahim) hoy", {"DOCTOR": "(Brahim)"}, ["(Brahim)"]),
    ],
)
def test_a_street_needs_a_word_or_figures_and_numbers_stand_in_their_columns(
    note: str, taken: dict[str, str], left: list[str]
) -> None:
    assert filled(note, **taken) == left


@pytest.mark.parametrize(
    ("note", "taken", "left"),
    [
        ("Visto por Noelia G., de guardia.", "Noelia", ["Noelia G."]),  # though the rules have the initial apart
        ("Visto por Noelia T. 37, de guardia.", "Noelia", ["Noelia", "T"]),
        ("Visto por NOELIA G., de guardia.", "NOELIA", ["NOELIA", "G"]),
        ("Vienen Quendri y Unax hoy.", "Quendri", ["Quendri", "Unax"]),
        ("Vienen Unax y Quendri hoy.", "Quendri", ["Unax", "Quendri"]),
        ("Vienen Quendri (7) y Unax hoy.", "Quendri", ["Quendri", "Unax"]),
        ("Vienen Quendri + Unax hoy.", "Quendri", ["Quendri", "Unax"]),
        ("Vienen Quendri y Unax: hoy.", "Quendri", ["Quendri"]),
        ("Vienen Quendri y hoy.", "Quendri", ["Quendri"]),
        ("Viene su madre, Quendri, hoy.", "Quendri", ["Quendri"]),
        ("Viene su madre, la señora Quendri, hoy.", "Quendri", ["Quendri"]),
        ("Viene Quendri (madre) hoy.", "Quendri", ["Quendri"]),
        ("web www.osasuna.eus hoy", "osasuna", ["www.osasuna.eus"]),
        ("Brahim viene.\nbrahim se va.", "Brahim", ["Brahim"]),
    ],
)
def test_who_stands_beside_a_name_of_the_model_and_what_is_a_part_of_it(note: str, taken: str, left: list[str]) -> None:
    assert filled(note, DOCTOR=taken) == left


@pytest.mark.parametrize(
    ("note", "taken", "left"),
    [
        ("Realizada el 3 de mayo de 2019 hoy.", {"DATE": "mayo de 2019"}, ["3 de mayo de 2019"]),
        ("Realizada el 3 de mayo de 2019 hoy.", {"DATE": "3 de mayo"}, ["3 de mayo de 2019"]),
        ("Realizada el 3 de mayo de 2019 hoy.", {"DATE": "el 3 de mayo de 2019"}, ["3 de mayo de 2019"]),
        ("DNI 34.118.902 hoy.", {"MEDICALRECORD": "34.118"}, ["34.118", "902"]),
        ("DNI 34.118.902 hoy.", {"STREET": "118.902"}, ["34", "118.902"]),
    ],
)
def test_of_a_date_or_number_of_which_the_model_has_a_part_nothing_is_left(
    note: str, taken: dict[str, str], left: list[str]
) -> None:
    assert filled(note, **taken) == left
