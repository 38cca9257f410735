"""Texts as recognizers see them: what is read otherwise than it is written."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import deid
from deid.reading import comma_rows
from deid.reading.normalize import normalize


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Name,MRN,Seen,Well\nOrme,4411203,2024-03-14,True", "Name\tMRN\tSeen\tWell\nOrme\t4411203\t2024-03-14\tTrue"),
        ("Name,MRN,Seen\nOrme,4411203,2024-03-14", "Name\tMRN\tSeen\nOrme\t4411203\t2024-03-14"),
        ("name,ward,bed\nOrme,4W,1\nDale,5E,2", "name\tward\tbed\nOrme\t4W\t1\nDale\t5E\t2"),
        ('name;ward;bed\nOrme;4W;1\n"a;b";5E;2', 'name\tward\tbed\nOrme\t4W\t1\n"a;b"\t5E\t2'),
        (
            "lungs clear;heart regular;no edema\nno pain;no rash;well",
            "lungs clear;heart regular;no edema\nno pain;no rash;well",
        ),
        ("seen; well; home\nBP 120; HR 80; RR 12", "seen; well; home\nBP 120; HR 80; RR 12"),
        ("id, age, name\n1, 45, Orme\n2, 7, Dale", "id\t age\t name\n1\t 45\t Orme\n2\t 7\t Dale"),
        ("id -- name\n1 -- Orme\n2 -- Dale", "id -- name\n1 -- Orme\n2 -- Dale"),
        (
            "id -- age -- name\n1 -- 4 -- Orme\n2 -- 7 -- Dale",
            "id \t  age \t  name\n1 \t  4 \t  Orme\n2 \t  7 \t  Dale",
        ),
        (
            "skin warm, dry, whole\nBP 120, up, well\nno pain 2, calm",
            "skin warm, dry, whole\nBP 120, up, well\nno pain 2, calm",
        ),
        (
            "lungs, heart, skin\nclear 1, whole, dry\nclear, 2, dry",
            "lungs, heart, skin\nclear 1, whole, dry\nclear, 2, dry",
        ),
        ("Orme/Dale/Vann\n3/4/2019\n5/6/2019", "Orme/Dale/Vann\n3/4/2019\n5/6/2019"),
        ("id,age,name\n1,45,Orme\n2,7,Dale", "id\tage\tname\n1\t45\tOrme\n2\t7\tDale"),
        ("a,b,c\nOrme,x,y\nDale,x,7\nVann,4411203,z", "a\tb\tc\nOrme\tx\ty\nDale\tx\t7\nVann\t4411203\tz"),
        ("no fever,chills,cough\nno pain,edema,rash", "no fever,chills,cough\nno pain,edema,rash"),
        ("Hb 10,4 Krea 1,2\nHb 10,2 Krea 1,1", "Hb 10,4 Krea 1,2\nHb 10,2 Krea 1,1"),
        ("Orme,4411203,2024-03-14", "Orme\t4411203\t2024-03-14"),
        ('Orme,4411203,"Dale, RN",1', 'Orme\t4411203\t"Dale, RN"\t1'),
        ('ab,,4411203,"b ""c"", d",1\nab,,4411204,e,1', 'ab\t\t4411203\t"b ""c"", d"\t1\nab\t\t4411204\te\t1'),
        (
            'a,b,c,d,e\nOrme,4411203,True,"said: ""well"";\nhome, then",4.2\nDale,4411204,no,x,1',
            'a\tb\tc\td\te\nOrme\t4411203\tTrue\t"said: ""well"";\nhome, then",4.2\nDale\t4411204\tno\tx\t1',
        ),
        ("seen by Orme,RN on 2024-03-14,well", "seen by Orme,RN on 2024-03-14\twell"),
        ("Na 138, K 4.1, Cl 102, CO2 24", "Na 138, K 4.1, Cl 102, CO2 24"),
        ("1,250,000 copies", "1,250,000 copies"),
        ("1,250,000 copies, then 2,300,000 and 12,500", "1,250,000 copies, then 2,300,000 and 12,500"),
        ("Hb 10,4 g/dl Leuko 7,25/nl Krea 1,2mg/dl Kalium 4,1", "Hb 10,4 g/dl Leuko 7,25/nl Krea 1,2mg/dl Kalium 4,1"),
        ("BORN FEB 3,1941 SEEN MAY 12,1999 AND JUN 3,2001", "BORN FEB 3,1941 SEEN MAY 12,1999 AND JUN 3,2001"),
        ("T,P,R,BP taken, then rest", "T,P,R,BP taken, then rest"),
        ("teeth 1,2,3,4,5 present", "teeth 1,2,3,4,5 present"),
        ("A,B,C,D  99213  04/05/2019", "A,B,C,D  99213  04/05/2019"),
    ],
)
def test_values_between_commas_are_columns(text: str, read: str) -> None:
    assert normalize(text).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Age ...58...   Sex ...F...\n", "Age :  58      Sex :  F   \n"),
        ("Surname......Orme", "Surname:     Orme"),
        ("She said ... and left... then v1...2", "She said ... and left... then v1...2"),
    ],
)
def test_dots_of_a_form_say_where_values_begin_and_end(text: str, read: str) -> None:
    assert normalize(text).text == read


def test_numbers_and_days_of_a_row_between_commas_are_found() -> None:
    text = "Name,MRN,Seen,Well\nEleanor Thornbury,48291735,2024-03-14,True\n"
    out = deid.scrub(text, model="none", policy="redact")
    assert "48291735" not in out
    assert "2024-03-14" not in out
    assert out.endswith(",True\n")


_PARTING = regex.compile(r'(?<![\s,]),(?=\S)|(?<=,),|,(?=,)|(?<="),$')


@given(
    st.lists(st.sampled_from(["1", "250", "1941", "10,4", "FEB", "x", '"', " ", ",", "."]), max_size=14).map("".join)
)
def test_commas_between_values_are_what_whole_lines_say(line: str) -> None:
    """The oracle asks one expression about all of a line, which takes long in a paragraph."""
    every = [comma.start() for comma in _PARTING.finditer(line)]
    assert comma_rows._tight(line) == every
    figures = [at for at in every if line[at - 1 : at].isdecimal() and line[at + 1 : at + 2].isdecimal()]
    whole = comma_rows._OF_NUMBER.sub(lambda number: number[0].replace(",", "_"), line)
    closed = comma_rows._numbers_closed(line, figures)
    assert [c.start() for c in _PARTING.finditer(closed)] == [c.start() for c in _PARTING.finditer(whole)]
