"""A language is a folder of patterns, words and lists; nothing of a language stands in the code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import regex

import deid.detection
from deid.base.errors import ConfigError
from deid.detection import Ensemble, RuleRecognizer
from deid.detection.edges import joined
from deid.detection.known import Known, KnownRecognizer
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.reading.vocabulary import languages, load_vocabulary


@pytest.fixture
def klingon(tmp_path: Path) -> Path:
    """A language of few words."""
    (tmp_path / "patterns" / "xx").mkdir(parents=True)
    (tmp_path / "patterns" / "xx" / "words.toml").write_text(
        "[words]\nindefinite = ['wa']\noccupation_at = ['pa']\n"
        "[dates]\nmonths = ['" + "', '".join(f"jar{n}" for n in range(1, 13)) + "']\nof = '(?:vo )?'\nyears = 'ben'\n"
        "[[person_field]]\nname = 'name.patient_field'\ncategory = 'PATIENT'\nlabels = ['pong']\n"
        "[[pattern]]\nname = 'id.mi'\ncategory = 'IDNUM'\nregex = '(?<=mi )[0-9]{4}'\ncertainty = 0.9\n"
        "match = ['mi [[1234]]']\n[[cue]]\nname = 'works_as'\nwords = ['vum']\n"
    )
    jobs = tmp_path / "professions" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "items.txt").write_text("suvwi\n")
    (jobs / "source.toml").write_text(
        'origin = "test"\nlicence = "none"\ndate = "2026-11-21"\nlanguage = "xx"\nclass = "occupation"\n'
    )
    return tmp_path


def test_a_language_of_the_users_own(klingon: Path) -> None:
    recognizer = RuleRecognizer.load("xx", folders=[klingon])
    text = "pong: Martok Worf\nvum suvwi, mi 1234, works as a teacher"
    spans = Ensemble((recognizer,), "xx", folders=(klingon,)).find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in spans] == [
        ("Martok Worf", "PATIENT"),
        ("suvwi", "PROFESSION"),
        ("1234", "IDNUM"),
    ]
    known = KnownRecognizer({"n": (Known("DATE", "2020-03-05"), Known("AGE", "44"))}, language="xx", folders=(klingon,))
    text = "5 vo jar3 vo 2020, March 5, 44 ben, 44 years"
    assert [text[s.start : s.end] for s in known.find(Document("n", text))] == ["5 vo jar3 vo 2020", "44"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[words]\nsaints = ['st']\n", "nothing asks for"),
        ("[words]\nsaint = 'st'\n", "no list of words"),
        ("[expressions]\nzip = '('\n", "no regular expression"),
        ("[expressions]\nzap = 'a'\n", "nothing asks for"),
        ("[dates]\nmonths = ['jan']\n", "twelve"),
        ("[dates]\nof = 3\n", "no table"),
        ("labels = 'none'\n", "label set"),
    ],
)
def test_malformed_words_are_refused(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "patterns" / "xx").mkdir(parents=True)
    (tmp_path / "patterns" / "xx" / "words.toml").write_text(content)
    with pytest.raises(ConfigError, match=what) as error:
        load_vocabulary("xx", [tmp_path])
    assert "words.toml" in error.value.where


def test_no_word_of_a_language_stands_in_the_grammars() -> None:
    """No word of a scene is compared with letters: such words belong to the vocabulary."""
    rooms = Path(deid.detection.__file__).parents[1]
    sources = [path for room in ("detection", "rules", "reading") for path in (rooms / room).glob("*.py")]
    assert rooms / "rules" / "names.py" in sources
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and "scene.word(" in ast.unparse(node.left):
                constants = [c for side in node.comparators for c in ast.walk(side) if isinstance(c, ast.Constant)]
                assert not [c.value for c in constants if any(map(str.isalpha, str(c.value)))], path.name


_SYNTAX = regex.compile(
    r"\\[pP]\{[^}]*\}|\\[NuUx](?:\{[^}]*\}|[0-9a-fA-F]{2,8})|\\.|\(\?P?<[A-Za-z_]\w*>|\(\?[a-zA-Z01-]+[:)]"
    r"|\(\?P=\w+\)|\[\^?\]?[^\]]*\]|\{[^}]*\}|\s\#[^\n]*"
)
"""What is no letter of a text in a regular expression: escapes, groups, flags, classes, repetitions, remarks."""
_OF_ALL = {"ext", "ISO"}
"""What stands before the extension of a telephone in any language, and before the code of a bed in isolation."""
_CONTRACTED = {"re", "ve", "ll"}
"""How words are cut out of a text, before anybody knows its language."""


def test_no_word_of_a_language_stands_in_a_regular_expression() -> None:
    """Such words belong to the expressions of the vocabulary."""
    rooms = Path(deid.detection.__file__).parents[1]
    found = {}
    for path in (path for room in ("detection", "rules", "reading") for path in (rooms / room).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("re.compile", "regex.compile"):
                continue
            written = [c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant)]
            words = set(regex.findall(r"\p{L}{2,}", _SYNTAX.sub(" ", "".join(map(str, written)))))
            words -= _OF_ALL | (_CONTRACTED if path.name == "view.py" else set())
            if words:
                found[f"{path.name}:{node.lineno}"] = words
    assert found == {}


def test_spanish_notes() -> None:
    text = (
        "Nombre: Itziar.\nApellidos: Zubieta Orbegozo.\nNHC: 150679.\nDomicilio: Calle del Olmo 4, 2º B.\n"
        "Localidad/ Provincia: Vitoria.\nCP: 01008.\nFecha de nacimiento: 05/03/1996.\nPaís: España.\n"
        "Médico: Aitor Lasarte Mugica NºCol: 01 01 25574.\n"
        "Motivo de ingreso: Mujer de 45 años, su madre vive en Bilbao.\n"
        "Trabaja como soldadora. La enfermedad de Parkinson es estable desde el 3 de mayo de 2019.\nDNI 12345678Z\n"
    )
    spans = build_recognizer(RecognizerOptions(model="none", language="es")).find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in spans] == [
        ("Itziar", "NOMBRE_SUJETO_ASISTENCIA"),
        ("Zubieta Orbegozo", "NOMBRE_SUJETO_ASISTENCIA"),
        ("150679", "ID_SUJETO_ASISTENCIA"),
        ("Calle del Olmo 4, 2º B", "CALLE"),
        ("Vitoria", "TERRITORIO"),
        ("01008", "TERRITORIO"),
        ("05/03/1996", "FECHAS"),
        ("España", "PAIS"),
        ("Aitor Lasarte Mugica", "NOMBRE_PERSONAL_SANITARIO"),
        ("01 01 25574", "ID_TITULACION_PERSONAL_SANITARIO"),
        ("Mujer", "SEXO_SUJETO_ASISTENCIA"),
        ("45 años", "EDAD_SUJETO_ASISTENCIA"),
        ("madre", "FAMILIARES_SUJETO_ASISTENCIA"),
        ("Bilbao", "TERRITORIO"),
        ("soldadora", "PROFESION"),
        ("3 de mayo de 2019", "FECHAS"),
        ("12345678Z", "OTRO_NUMERO_IDENTIF"),
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("no atiende / cel 15 6544 8123 buzón", "15 6544 8123"),
        ("Celular (55) 0335-4219, recados", "(55) 0335-4219"),
        ("Fono 9 6224 3368 apagado", "9 6224 3368"),
        ("Fono 45 2 234567", "45 2 234567"),
        ("llamar al 0034 91 346 7618", "0034 91 346 7618"),
        ("Tel. 222 912 11 73", "222 912 11 73"),
        ("tfno: 601.17.71.10", "601.17.71.10"),
        ("Wasap: 1165432109", "1165432109"),
        ("su nuera Rosa 099 123 456", "099 123 456"),
        ("hijo (305) 555-1234", "(305) 555-1234"),
        ("Trabajo social, ext. 3962", "3962"),
    ],
)
def test_telephones_of_spanish_countries(text: str, number: str) -> None:
    spans = build_recognizer(RecognizerOptions(model="none", language="es")).find(Document("n", text))
    assert (number, "NUMERO_TELEFONO") in [(text[s.start : s.end], s.category) for s in spans]


@pytest.mark.parametrize(
    "text",
    [
        "registro 14-feb 22:40: duerme",
        "el 7 de octubre 05:12 h, cesárea",
    ],
)
def test_an_hour_is_no_year_in_spanish(text: str) -> None:
    spans = build_recognizer(RecognizerOptions(model="none", language="es")).find(Document("n", text))
    assert [text[s.start : s.end] for s in spans] in (["14-feb"], ["7 de octubre"])


@pytest.mark.parametrize(
    "text",
    [
        "Unidad de Nutrición Clínica y Dietética.",
        "Hospital de Día, sillón 8, suero.",
        "Tijera de Mayo y pinza.",
        "Ictericia Kramer II, cordón seco.",
        "Vía Venosa, Sonda 16.",
        "Medio interno 140, presión 120-300.",
    ],
)
def test_spanish_wards_and_eponyms_are_nobody(text: str) -> None:
    assert not build_recognizer(RecognizerOptions(model="none", language="es")).find(Document("n", text))


def test_an_unknown_language_is_refused_with_the_list() -> None:
    with pytest.raises(ConfigError) as error:
        build_recognizer(RecognizerOptions(model="none", language="tlh"))
    assert "de, en, es, fr, nl" in str(error.value)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Heute kommt Wilhelm Ochsenknecht zur Kontrolle.", ["Wilhelm Ochsenknecht"]),
        ("Vorstellung bei Dr. Meyer-Bontrup zur Portimplantation erbeten.", ["Meyer-Bontrup"]),
        ("Heute war Karl vom Stein da.", ["Karl vom Stein"]),
        ("Sehr geehrte Damen und Herren,", []),
        ("Rücksprache mit Fr. Doz. Salzer", ["Salzer"]),
        ("Stationsärztin Fr. Al-Masri kommt", ["Al-Masri"]),
        ("Dammriss versorgt, DR I° genäht", []),
        ("Fr. Demir Dialyse morgen", ["Demir"]),
        ("Dr. Weber Visite um acht", ["Weber"]),
        ("Hr. Baumann Fieber 38,5", ["Baumann"]),
        ("Frau Janetta Dialyse kommt", ["Janetta Dialyse"]),
        ("Frau Anna Stuhl kommt", ["Anna Stuhl"]),
        ("PD Dr. med. habil. Hartmut Zweigle", ["Hartmut Zweigle"]),
        ("Versorgung mit Perfusor Space und FreeStyle Libre, Abilify pausiert", []),
        ("Mandard 2, Dworak 3, Ishak 4, Barthel 60, Fuhrman entfällt", []),
        ("Levo 0,12 µg/kg/min, Sens 2,4 mV", []),
    ],
)
def test_german_names_end_where_they_end(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="de"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("am 3.5. 10 mg Ramipril", ["3.5."]),
        ("29.3. 11.15 Sono", ["29.3."]),
        ("Kontrolle am 4.6. 14 Uhr", ["4.6."]),
        ("20.5. 10. Tag", ["20.5."]),
        ("am 3. 5. 21 operiert", ["3. 5. 21"]),
        ("Kreatinin 1.2. 80 Jahre", []),
    ],
)
def test_german_days_before_values_are_days(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="de"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text)) if s.category == "DATE"] == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Übelkeit nach dem Essen, Sturz auf dem Hof, seit Mitte der Woche an der Stelle Schmerzen.", []),
        ("Sie wohnt in Essen, er lebt in Stelle, die Tochter lebt in Hof.", ["Essen", "Stelle", "Hof"]),
    ],
)
def test_german_nouns_that_are_towns_are_towns_where_something_tells(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="de"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Behandlung 05.05.25-13.05.25 bei uns", ["05.05.25", "13.05.25"]),
        ("Reha 01.03.-22.03.25, danach Arbeit", ["01.03.", "22.03.25"]),
        ("Gewicht 01.05. 82 kg, 02.05. 81,5 kg, Kalium 3.5. Nein", ["01.05.", "02.05."]),
        ("Status nach Abort 2021, 2023", ["2021", "2023"]),
        ("am 23./24.04. Sturz, Ende 2022 Rezidiv, Nikotin 1985–2010", ["23./24.04.", "2022", "1985–2010"]),
        ("TVT 2009, Punktion 2000 ml", ["2009"]),
        ("verstarb im Alter von 72 Jahren, Kontrolle 3 Monate, Labor vorab", ["72"]),
        ("Labor bitte faxen: 03512 55 08-2460.", ["03512 55 08-2460"]),
        ("Tel. 05541 / 66-22 310, Fax -22 319, Kennung: schaetf1", ["05541 / 66-22 310", "22 319", "schaetf1"]),
        ("28. August 2025/mb", ["28. August 2025", "mb"]),
        ("Arbeitsunfähigkeit als Lastwagenchauffeur 100 %", ["Lastwagenchauffeur"]),
        ("Verlegung durch DGKP, Frau DGKP Sabine Hödl", ["Sabine Hödl"]),
        ("Medizinische Klinik III, Zimmer 214", ["214"]),
        ("sieht Katzen, Zehe livide, Genese unklar", []),
    ],
)
def test_german_letters_are_read_as_they_are_written(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="de"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("A été ostréiculteur, puis chauffeur de car.", ["ostréiculteur", "chauffeur de car"]),
        ("Son fils est kinésithérapeute.", ["kinésithérapeute"]),
        ("Ancien tonnelier, ancienne modiste.", ["tonnelier", "modiste"]),
        ("Facteur de risque vasculaire, berger allemand, bactérie résistante.", []),
        ("Admise à l'hôpital Brisebois, puis à la maison médicale des Trois Ponts.",
         ["hôpital Brisebois", "maison médicale des Trois Ponts"]),
        ("Examen clinique Abdomen souple, clinique rassurante.", []),
        ("Scolarisé à l'école Jean Brisebois, club de bridge « du lavoir ».", ["Jean Brisebois", "du lavoir"]),
        ("Association Amoxicilline Rifampicine, groupe A, stade IIIB.", []),
        ("Il a travaillé aux Faïenceries Belcourt.", ["Faïenceries Belcourt"]),
        ("soudeur pendant 12 ans à la Sogétal.", ["soudeur", "Sogétal"]),
        ("x\n204P Mme Brisebois", ["204P", "Brisebois"]),
        ("12 rue Haute, bât. C, appt 14", ["12 rue Haute, bât. C, appt 14"]),
        ("prochain contrôle semaine 38.", ["semaine 38"]),
        ("PTH gauche 2009, depuis les années 80 par crises", ["2009", "80"]),
    ],
)  # fmt: skip
def test_french_occupations_institutions_and_forms_are_told_by_their_words(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="fr"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Angiome de 13 mm. Surrénales fines. Vu par Mm. Brisebois.", ["Brisebois"]),
        ("Adressée au médecin de l'Éducation, puis au kiné du sport.", []),
        ("Victime : BRISEBOIS Odile, F, 81 ans", ["BRISEBOIS Odile", "81"]),
        ("Nom : Brisebois, F", ["Brisebois, F"]),
        ("il lui a dit d'augmenter la dose, elle s'appelle Brisebois", ["Brisebois"]),
        ("opéré du 3 au 5 mai, revu les 7, 9 et 11/6.", ["3 au 5 mai", "7, 9 et 11/6"]),
        ("IRM en 3T 2025, contrôle lun. 10, sevré en 91.", ["3T 2025", "lun. 10", "91"]),
        ("x\n[ ] ch 14 Brisebois : courrier", ["14", "Brisebois"]),
    ],
)  # fmt: skip
def test_french_forms_of_fresh_notes_are_told_from_what_looks_like_them(text: str, hidden: list[str]) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language="fr"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == hidden


def test_an_elided_article_is_no_part_of_a_place() -> None:
    vocabulary = load_vocabulary("fr")
    for text, category, left in [
        ("l'Oratoire", "HOSPITAL", "Oratoire"),
        ("d\u2019Argelès", "CITY", "Argelès"),
        ("L'Isle", "CITY", "L'Isle"),
        ("d'Ormesson", "PATIENT", "d'Ormesson"),
    ]:
        (span,) = joined(text, [Span(0, len(text), category)], vocabulary)
        assert text[span.start : span.end] == left


def test_the_letter_of_a_french_title_is_no_initial() -> None:
    text = "Sonde à changer : M. Lenoir ce matin, puis M. Da Costa."
    recognizer = build_recognizer(RecognizerOptions(model="none", language="fr"))
    assert [text[s.start : s.end] for s in recognizer.find(Document("n", text))] == ["Lenoir", "Da Costa"]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(
    "identifier",
    [
        "2001:db8:85a3::8a2e:370:7334", "00:1B:44:11:3A:B7", "1M8GDM9AXKP042788", "www.example.org/x?id=3",
        "portal.klinik-nord.de", "pacs-2.imaging.lan", "dale(at)example.org", "dale.orme@example.co.uk", "@dale_k51",
        "42.5278, -70.9287", "42°31'40.1\"N", "(01)00884838002019(17)251231(21)A4410", "2019-03-14",
        "DE89 3704 0044 0532 0130 00", "NL62 INGB 0004 8812 07", "123e4567-e89b-12d3-a456-426614174000",
    ],
)  # fmt: skip
def test_what_is_written_alike_everywhere_is_found_in_every_language(language: str, identifier: str) -> None:
    text = f"x: {identifier}\n"
    spans = build_recognizer(RecognizerOptions(language=language)).find(Document("", text))
    left = {i for i in range(3, len(text)) if text[i].isalnum()} - {i for s in spans for i in range(s.start, s.end)}
    assert not left


@pytest.mark.parametrize(
    ("language", "text", "hidden"),
    [
        ("de", "Frau Kunz ist bei der AOK Bayern versichert, Kasse: Barmer.", ["Kunz"]),
        ("de", "Frau Kunz arbeitet bei der Barmer in Ulm.", ["Kunz", "Barmer", "Ulm"]),
        ("de", "Frau Kunz lebt im Pflegeheim Abendrot.", ["Kunz", "Abendrot"]),
        ("de", "Konsil Dr. Marquardt, OA Neurologie, Fußheberschwäche KG 4/5.", ["Marquardt"]),
        ("fr", "Mme Kunz vit à la résidence Beau Soleil.", ["Kunz", "Beau Soleil"]),
        ("nl", "Mevrouw Kunz is verzekerd bij Zilveren Kruis.", ["Kunz"]),
        ("nl", "De moeder van Femke belde, zij werkt bij Menzis.", ["Femke", "Menzis"]),
        ("en", "Max assist x1 for transfers, min assist for gait.", []),
        ("en", "MAX DOSING WEIGHT 100 KG", []),
        ("en", "Patient: Max Thornbury", ["Max Thornbury"]),
    ],
)
def test_insurers_and_kinds_of_places_name_nobody(language: str, text: str, hidden: list[str]) -> None:
    spans = build_recognizer(RecognizerOptions(language=language)).find(Document("n", text))
    assert " ".join(text[s.start : s.end] for s in spans) == " ".join(hidden)


@pytest.mark.parametrize(
    ("language", "text", "hidden"),
    [
        ("fr", "Réf. : Dre Anh-Thu Pham est absente.", ["Anh-Thu Pham"]),
        ("de", "IN DER NACHT ZUM SONNTAG FIEBER, AN FRONLEICHNAM BESSER.", ["SONNTAG", "FRONLEICHNAM"]),
        ("de", "in der nacht zum sonntag fieber, an fronleichnam besser.", ["sonntag", "fronleichnam"]),
        ("de", "Verlauf\n2909 22:40 RR 172/108\n", ["2909"]),
        ("nl", "Verloop\n2909 22:40 RR 172/108\n", ["2909"]),
    ],
)
def test_titles_and_days_in_any_form(language: str, text: str, hidden: list[str]) -> None:
    """A title that is a given name as well is no name; days count in capitals, small letters and bare figures."""
    spans = build_recognizer(RecognizerOptions(language=language)).find(Document("n", text))
    assert [text[s.start : s.end] for s in spans] == hidden


@pytest.mark.parametrize(
    "form",
    [
        "{}: {}",
        '"{}": "{}"',
        "<td>{}</td><td>{}</td>",
        "**{}:** {}",
        "{} ____{}____",
        "{} ……………… {}",
        "[{}] {}",
        "{} -> {}",
    ],
)
@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("de", {"PLZ": "48157", "Zimmer": "214"}),
        ("fr", {"Code postal": "24300", "Chambre": "214"}),
        ("nl", {"Postcode": "7511 AB", "Kamer": "214"}),
        ("es", {"Código postal": "44100", "Habitación": "214"}),
    ],
)
def test_a_label_leads_to_its_value_in_forms_of_many_kinds(language: str, labels: dict[str, str], form: str) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language=language))
    for label, value in labels.items():
        text = form.format(label, value) + "\n"
        assert value in [text[s.start : s.end] for s in recognizer.find(Document("n", text))]


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "nl"])
def test_figures_in_boxes_are_days_and_numbers(language: str) -> None:
    text = "|0|3|0|4|1|9|5|1| x 1 1 8 2 0 4 4 1 0 x PHQ-9: 1 2 1 0 2 3 1 0 0\n"
    spans = build_recognizer(RecognizerOptions(model="none", language=language)).find(Document("n", text))
    assert [text[s.start : s.end] for s in spans] == ["0|3|0|4|1|9|5|1", "1 1 8 2 0 4 4 1 0"]


@pytest.mark.parametrize(
    ("language", "text", "hidden"),
    [
        ("de", "telefon null zwei fünf eins vier vier zwölf zimmer zweihundertvierzehn rr eins dreißig", 2),
        ("fr", "téléphone zéro cinq cinquante-trois quarante-quatre douze chambre deux cent quatorze point", 2),
        ("nl", "telefoon nul vijf drie vier vier een twee kamer tweehonderdveertien tensie dertien", 2),
        ("es", "teléfono nueve siete ocho cuarenta y cuatro doce habitación doscientos catorce punto", 2),
        ("fr", "née le trois avril mille neuf cent cinquante et un point", 1),
        ("nl", "geboren drie april negentienhonderd eenenvijftig punt", 1),
        ("es", "nacido el tres de abril de mil novecientos cincuenta y uno punto", 1),
    ],
)  # fmt: skip
def test_numbers_are_found_as_they_are_dictated(language: str, text: str, hidden: int) -> None:
    """Telephone numbers, rooms and days in words, up to what ends them; pressures stay."""
    spans = build_recognizer(RecognizerOptions(model="none", language=language)).find(Document("n", text))
    assert len(spans) == hidden
    shown = "".join(c for i, c in enumerate(text) if not any(s.start <= i < s.end for s in spans))
    assert not {"null", "zwölf", "vierzehn", "douze", "quatorze", "cinquante", "nul", "twee", "eenenvijftig", "doce",
                "catorce", "cincuenta", "uno", "un"} & {*shown.replace("-", " ").split()}  # fmt: skip
