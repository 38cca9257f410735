"""What is written like an identifier and is nobody's, beside what is written alike and is somebody's."""

from __future__ import annotations

import pytest

from deid import Document, Span
from deid.detection.edges import called_apart, joined
from deid.detection.kinds import kind_of, origin_of
from deid.detection.things import is_nobodys
from deid.reading.vocabulary import load_vocabulary
from deid.rules.rules import RuleRecognizer

RULES = RuleRecognizer.load("en")


def nobodys(text: str, part: str, category: str, source: str = "model:en") -> bool:
    start = text.index(part)
    scene, span = RULES.scene(text), Span(start, start + len(part), category, source=source)
    return is_nobodys(scene, span, scene.inside(span.start, span.end), kind_of(category), origin_of(source))


@pytest.mark.parametrize(
    ("category", "part", "text"),
    [
        ("DATE", "5/15", "Mood low. GDS 5/15. Clock fair."),
        ("DATE", "11/27", "PHQ-9: 11/27, GAD-7 9/21."),
        ("DATE", "3/5", "Waddell's 3/5 today."),
        ("DATE", "14/7", "Doxycycline 100 mg for 14/7."),
        ("DATE", "28/7", "Enoxaparin 40 mg od for 28/7 in total."),
        ("DATE", "2/52", "Review in 2/52."),
        ("DATE", "3/12", "Off work 2/52, then light duties for 3/12."),
        ("DATE", "2017", "Lesions fulfil the 2017 McDonald criteria for it."),
        ("DATE", "2019", "Scored by 2019 EULAR/ACR at 12."),
        ("DATE", "2012", "Stage by KDIGO 2012 is G3."),
        ("AGE", "80", "Reduced dose (age over 80, weight 57 kg)."),
        ("AGE", "50", "Women aged 50-70 are screened."),
        ("AGE", "65", "Two points for age >= 65."),
        ("IDNUM", "50242-0061-01", "Prefilled syringe NDC# 50242-0061-01, qty 30."),
        ("MEDICALRECORD", "31535829", "See PMID: 31535829 for the trial."),
        ("PATIENT", "Will", "Plan as above. Will discuss with family."),
        ("DOCTOR", "May", "May shower in 2 days."),
        ("DATE", "May", "May we repeat the ferritin?"),
        ("PATIENT", "Tank", 'Big dog "Tank" in the yard.'),
        ("DEPARTMENT", "7P", "NURSING NOTE 7P-7A"),
        ("ROOM", "85/F", "AGE/SX: 85/F   ROOM: 214"),
        ("DEPARTMENT", "7y/m", "Age/Sex 7y/m   LOC: PED"),
        ("PATIENT", "Winston", "Says her dog Winston needs feeding."),
        ("PATIENT", "Kiki", "Sold a parrot, Kiki, in spring."),
        ("PATIENT", "Duke", "Fell off a horse named Duke."),
        ("PATIENT", "Ronald", "Moved to a Ronald-type house."),
        ("PATIENT", "Email", "Email . . . . . . t@x.example"),
        ("DOCTOR", "Lang", "Race / Lang ...... B / English"),
        ("DOCTOR", "English", "Race / Lang: B / English"),
        ("ORGANIZATION", "Baptist", "Religion: Baptist"),
        ("ORGANIZATION", "Dawson's fingers", "Typical (Dawson's fingers) on FLAIR"),
        ("HOSPITAL", "Addenbrooke's", "Cognition: Addenbrooke's 61/100."),
        ("HOSPITAL", "Mass", "Got lost coming home from Mass."),
        ("HOSPITAL", "MMC Reg", "MD Path, MMC Reg 2009/04/1183"),
        ("PATIENT", "Bill", "Sunil        Bill no. B-30881"),
        ("PATIENT", "Childs B", "Childs B, MELD 14."),
        ("PATIENT", "SHO", "Nights. SHO poorly, reg on."),
    ],
)
def test_it_is_nobodys(category: str, part: str, text: str) -> None:
    assert nobodys(text, part, category)


@pytest.mark.parametrize(
    ("category", "part", "text"),
    [
        ("DATE", "5/15", "Mood low. Seen 5/15. Clock fair."),
        ("DATE", "12/3", "PHQ-9 12/3 by phone."),
        ("DATE", "3/12", "Scheduled for 3/12."),
        ("DATE", "2/52", "Born 2/52."),
        ("DATE", "2017", "Since 2017 criteria were met."),
        ("DATE", "2017", "Operated 2017, well since."),
        ("DATE", "2017", "MS relapse 2017 Orme\ncriteria met."),
        ("DATE", "2012", "Fell in 2012 and again."),
        ("AGE", "80", "Mr. Orme, age 80, weight 57 kg."),
        ("AGE", "93", "Reduced dose (age over 93)."),
        ("AGE", "5", "Children aged 5 and 7."),
        ("DEPARTMENT", "7P", "Moved to 7P today."),
        ("ROOM", "85/A", "AGE/SX: 85/F   ROOM: 85/A"),
        ("PATIENT", "Winston", "Says her dad Winston needs feeding."),
        ("PATIENT", "Ronald", "Moved in with Ronald."),
        ("PATIENT", "Quendrith", "Quendrith ...... 555-0144"),
        ("DOCTOR", "English", "Seen by Dr. English today."),
        ("PATIENT", "Faith", "The patient and his wife, Faith, came."),
        ("PATIENT", "Christian", "Race: W\nChristian came along."),
        ("CITY", "Mass", "She moved here from Mass last year."),
        ("PATIENT", "Will", "Plan as above. Will denies pain."),
        ("DATE", "May", "Seen in 2019. May was worse."),
        ("IDNUM", "50242-0061-01", "Claim 50242-0061-01, NDC attached."),
        ("LICENSE", "4711203", "Taped by J. Orme, ATC 4711203."),
        ("IDNUM", "4711203", "DOI 4711203 on the claim."),
        ("PATIENT", "Bill", "Bill comes at noon."),
        ("PATIENT", "Childs", "Mrs. Childs is well."),
        ("DOCTOR", "NP", "Checked. NP"),
    ],
)
def test_it_is_somebodys(category: str, part: str, text: str) -> None:
    assert not nobodys(text, part, category)


@pytest.mark.parametrize(("before", "alone"), [("(", True), ("", False), ("( then ", False), ("(by ", False)])
@pytest.mark.parametrize(("category", "word"), [("DOCTOR", "Gastro"), ("PATIENT", "SHO")])
def test_what_a_rule_takes_for_a_name_is_a_specialty_or_a_role_where_it_begins_a_bracket(
    category: str, word: str, before: str, *, alone: bool
) -> None:
    """A rule knows of a word that stands elsewhere why it is a name; a model guesses."""
    text = f"Seen {before}{word}) today."
    assert nobodys(text, word, category, "rule:name.field") is alone
    assert nobodys(text, word, category, "consistency:rule:name.field") is alone
    assert nobodys(text, word, category)


def test_two_telephone_numbers_are_two() -> None:
    text = "Home 541-555-0110 / 541-555-0192 or 555-0110 x 12"
    start, end = text.index("541"), text.index(" or")
    parts = called_apart(text, Span(start, end, "PHONE"))
    assert [text[s.start : s.end] for s in parts] == ["541-555-0110", "541-555-0192"]
    whole = Span(text.index("555-0110 x"), len(text), "PHONE")
    assert called_apart(text, whole) == [whole]


def test_a_dash_at_the_end_belongs_to_no_town() -> None:
    assert joined("Salem - 636007", [Span(0, 7, "CITY")], load_vocabulary("en")) == [Span(0, 5, "CITY")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MRN ......... 00881274", {"00881274": "MEDICALRECORD"}),
        ("MRN . . . . . 00881274", {"00881274": "MEDICALRECORD"}),
        ("MRN _________ 00881274", {"00881274": "MEDICALRECORD"}),
        ("Occupation . . . . . Warehouse clerk\n", {"Warehouse clerk": "PROFESSION"}),
        ("From: Ida Quendrith\nTo: Dr. Orme care team\n", {"Ida Quendrith": "PATIENT", "Orme": "DOCTOR"}),
        ("From: Ida Quendrith, MD\nTo: Dale Orme\n", {"Ida Quendrith": "DOCTOR", "Dale Orme": "PATIENT"}),
        ("From: Ida Quendrith\nTo: Dale Orme\n", {"Ida Quendrith": "DOCTOR", "Dale Orme": "DOCTOR"}),
        ("Consultant Miss F. Drinkwater", {"F. Drinkwater": "DOCTOR"}),
        ("Report from Brenda V. Intubated at noon.", {"Brenda V": "DOCTOR"}),
    ],
)
def test_rules_read_forms_and_messages(text: str, found: dict[str, str]) -> None:
    best: dict[tuple[int, int], Span] = {}
    for span in RULES.find(Document("d", text)):
        held = best.get((span.start, span.end))
        if held is None or (span.score or 0) > (held.score or 0):
            best[span.start, span.end] = span
    got = {text[a:b].rstrip("."): span.category for (a, b), span in best.items()}
    assert {part: got.get(part) for part in found} == found
