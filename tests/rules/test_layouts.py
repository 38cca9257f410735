"""Tables and places are looked for only where something speaks for one, and nothing is lost by that."""

from __future__ import annotations

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from deid.detection import RuleRecognizer
from deid.detection.edges import may_be_several
from deid.document import Document
from deid.reading.passages import rows
from deid.rules import layouts
from deid.rules.institutions import find_institutions
from deid.rules.places import find_places

ROW = regex.compile(r"(?m)^(.*[\t|].*)$")
RULES = RuleRecognizer.load("en")
PIECES = st.sampled_from(
    [
        *("Springfield", ", ", "OH", "Boston", "lives in ", "MERCY", "Mercy", "admitted to ", "seen at ", "St. "),
        *("\n", " ", "Ohio", "Reading", "Salem", "(", "45501", "the ", "Georgia", "Vincent's", "mobile", "\r\n"),
    ]
)


@given(st.text(alphabet="ab\t|\n", max_size=40))
def test_lines_with_separators_are_those_of_the_expression(text: str) -> None:
    assert list(rows(text)) == [found.span(1) for found in ROW.finditer(text)]


@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from([0.0, 0.3, 0.5, 0.62, 0.9]))
@example("Reading, 45501", 0.62)
@example("went to Reading 45501", 0.62)
@example("12 Reading (45501", 0.5)
def test_places_below_the_least_certainty_are_all_that_is_left_out(text: str, least: float) -> None:
    _, scene = RULES.analyse(text)
    sure, every = find_places(scene, least), find_places(scene)
    assert [s for s in every if (s.score or 0.0) >= least] == [s for s in sure if (s.score or 0.0) >= least]


@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_found_has_an_extent(text: str) -> None:
    _, scene = RULES.analyse(text)
    assert all(s.start < s.end for s in [*find_institutions(scene), *find_places(scene)])


def test_tables_are_read_whatever_ends_their_lines() -> None:
    lines = ["Name\tMRN\tProvider", "Ann Smith\t1234567\tBob Jones", ""]
    found = [
        [(text[s.start : s.end], s.source) for s in RULES.find_in(text)]
        for text in map(str.join, ("\n", "\r\n"), [lines] * 2)
    ]
    assert found[0] == found[1]
    assert ("1234567", "rule:id.mrn") in found[0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Patient\tMRN\tPhone\nBlorn Quux\t\t417 2203\n", {"Blorn Quux": "PATIENT", "417 2203": "PHONE"}),
        ("Patient\tMRN\tPhone\n\t471120\n", {"471120": "MEDICALRECORD"}),
        ("Ward | Patient | MRN\n | Blorn Quux | 471\n", {"Blorn Quux": "PATIENT", "471": "MEDICALRECORD"}),
        (
            "| Patient | MRN | Phone |\n|---|---|---|\n| Blorn Quux |  | 417 2203 |\n|  | 471120 | |\n",
            {"Blorn Quux": "PATIENT", "417 2203": "PHONE", "471120": "MEDICALRECORD"},
        ),
        ("Patient | MRN | Phone\nBlorn Quux | - | 417 2203\n", {"Blorn Quux": "PATIENT", "417 2203": "PHONE"}),
        # several tabs that line columns up are no empty cells
        (
            "Patient\t\tMRN\tPhone\nBlorn Quux\t471120\t417 2203\nOddly\t\t471121\n",
            {"Blorn Quux": "PATIENT", "471120": "MEDICALRECORD", "417 2203": "PHONE", "471121": "MEDICALRECORD"},
        ),
        (
            "Patient\tMRN\tPhone\nBlorn Quux\t\t471120\t417 2203\n",
            {"Blorn Quux": "PATIENT", "471120": "MEDICALRECORD", "417 2203": "PHONE"},
        ),
    ],
)
def test_a_value_is_of_its_column_whatever_cells_beside_it_are_empty(text: str, values: dict[str, str]) -> None:
    found = {text[s.start : s.end]: s.category for s in RULES.find_in(text)}
    assert values.items() <= found.items()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Last | First | MRN\nQuuxley | Blornia | 471120\n", ["Quuxley", "Blornia"]),
        ("Last | MRN | Room\nQuuxley | 471120 | 12\n", []),
        ("MRN    Last    First    Room\n471120   Quuxley   Blornia    12\n", ["Quuxley", "Blornia"]),
        ("MRN    Last    Drug    Room\n471120   Quuxley   Blornia    12\n", []),
    ],
)
def test_last_and_first_are_heads_of_names_beside_each_other_alone(text: str, names: list[str]) -> None:
    assert [text[s.start : s.end] for s in RULES.find_in(text) if s.category == "PATIENT"] == names


def test_the_first_line_of_a_table_has_three_columns() -> None:
    text = "Patient | MRN |\nBlorn Quux | 471120\n"
    assert not [s for s in RULES.find_in(text) if s.source.endswith(".column")]


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("Mr. Romano, 41, came.", ["41"]),
        ("Mr. Romano is 71.", ["71"]),
        ("Mr. Romano, 2019, came.", []),
        ("Mr. Romano, 0, came.", []),
        ("Mr. Romano (41, a baker) came.", ["41"]),
        ("Mr. Romano 53 ankle", ["53"]),
        ("Mr. Romano 1 ankle", []),
        ("Mr. Romano, 1, came.", ["1"]),
        ("Mr. Romano\n, 41; came.", []),
        ("Mr. Romano,\n41; came.", []),
        ("Mr. Romano is\n71.", []),
    ],
)
def test_what_stands_behind_a_name_is_an_age_where_one_can_be_as_old(text: str, ages: list[str]) -> None:
    found = {s.start: text[s.start : s.end] for s in RULES.find_in(text) if s.source == "rule:age.behind_name"}
    assert list(found.values()) == ages


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Surname (PRINT) Quendrith\n", True),
        ("Surname (print as on card): Quendrith\n", True),
        ("Surname (PRINT)\nQuendrith\n", True),
        ("Surname ........ Quendrith\n", True),
        ("Surname (PRINT)\n\nQuendrith\n", False),
        ("Surname (PRINT\nHERE) Quendrith\n", False),
    ],
)
def test_a_label_may_say_in_brackets_how_it_is_filled_in(text: str, named: bool) -> None:
    assert [text[s.start : s.end] for s in RULES.find_in(text)] == ["Quendrith"] * named


@pytest.mark.parametrize("before", ["", "Grade ABC 12 tear. ", "Grade AB 12 tear. ", "Grade\nAB12 3CD tear. "])
def test_an_unlisted_town_before_a_postcode_is_found_whatever_looked_like_one_before(before: str) -> None:
    text = f"{before}Lives in Zorbmorden OL14 5PX, was in Zorb Regis SW1A 1AA."
    found = [text[s.start : s.end] for s in RULES.find_in(text) if s.source == "rule:place.postcode"]
    assert found == ["Zorbmorden", "Zorb Regis"]


def test_a_hospital_in_capitals_behind_a_verb_is_found_whole() -> None:
    text = "The patient was admitted to MERCY for care of her leg."
    assert [text[s.start : s.end] for s in RULES.find_in(text)] == ["MERCY"]


@given(st.lists(st.sampled_from(["MRN", "Name", "  ", "   ", " ", "\n", "\t", "|", "7", ":", "\r", "a"]), max_size=40))
def test_heads_of_tables_between_blanks_are_looked_for_in_every_line(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [m.span() for m in layouts._spaced(text)] == [m.span() for m in layouts._SPACED.finditer(text)]


@pytest.mark.parametrize(
    ("text", "beds"),
    [
        ("2.1 | Stone | 92\n2.2 | Nguyen T. | 34\n3.1 | closed\n3.2 | Quill | 70\n", ["2.1", "2.2", "3.1", "3.2"]),
        ("A1    Mr Orme     drain\nA2    Ms Quill    TPN\nISO 1    Stone    diet\n", ["A1", "A2", "ISO 1"]),
        ("7B\tOrme\tnpo\n8A\tQuill\tlabs\n", []),  # two lines are no board
        ("1  Orme J  npo\n2  Quill K  labs\n3  Stone T  home\n", []),  # a list counts
        ("T1    signal low\nT2    signal high\nT3    signal low\n", []),  # nobody stands behind
        ("7B    Orme    npo\n7B    Quill    labs\n8A    Stone    home\n", []),  # a bed has one person
        ("4    Orme    npo\n5    Quill    labs\n6    Stone    home\n", []),  # a list, from wherever it goes on
        ("4    Orme    npo\n5    Quill    labs\n7    Stone    home\n", ["4", "5", "7"]),
        ("5    Orme    npo\n4    Quill    labs\n3    Stone    home\n", ["5", "4", "3"]),
        ("4    Orme    npo\n5    Quill    labs\n6A    Stone    home\n", ["4", "5", "6A"]),
    ],
)
def test_codes_before_the_persons_of_a_board_are_beds(text: str, beds: list[str]) -> None:
    _, scene = RULES.analyse(text)
    assert [text[s.start : s.end] for s in layouts.find_beds(scene)] == beds


def test_names_of_segments_are_those_of_a_message_alone() -> None:
    """Beside a segment that is known all lines are segments; three capitals and a bar by themselves are none."""
    known = [layouts.Segment("PID", {}), layouts.Segment("OBX", {})]
    text = "MSH|^~\\&|L\nZUB|1\npid|2\nOBX|3"
    assert [text[a:b] for a, b in layouts.segment_names(text, known)] == ["MSH", "ZUB", "OBX"]
    assert layouts.segment_names("ANN|1\nLEE|2", known) == []
    assert layouts.segment_names("PID of 3", known) == []


@pytest.mark.parametrize(
    ("text", "several"),
    [("2012 vs 2024", True), ("2012,2024", True), ("2012-2024", False), ("5/2012 202", True), ("012 vs 2024", False)],
)
def test_dates_are_several_where_there_are_figures_for_two_apart(text: str, several: bool) -> None:
    assert may_be_several(f"9 {text} 9", 2, 2 + len(text)) is several


def test_a_cue_that_leads_nowhere_hides_none_behind_it() -> None:
    text = "Facility:\nHe was admitted to Quarrymane."
    found = RULES.find(Document("d", text))
    assert ("Quarrymane", "rule:place.cue") in [(text[span.start : span.end], span.source) for span in found]
