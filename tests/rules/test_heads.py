"""Labels in the heads of tables are no PHI, however the head is written; what is no head is left alone."""

from __future__ import annotations

import pytest

from deid.detection import RuleRecognizer
from deid.rules.layouts import head_rows

RULES = RuleRecognizer.load("en")
LONG = "Name of the physician who has signed it"


def heads(text: str) -> list[str]:
    _, scene = RULES.analyse(text)
    return [text[start:end] for start, end in head_rows(scene, RULES.labels.by_label)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Name  MRN  Provider\nQuux  4417203  Blorn\n", ["Name  MRN  Provider"]),
        ("seen\nName  MRN  Provider", ["Name  MRN  Provider"]),
        ("Name  Zorblatt  MRN  Provider\n", ["Name", "MRN  Provider"]),
        ("Name  Zorblatt  Quux  Provider\n", []),  # five of eight are labels
        ("Name  MRN\nQuux  4417203\n", []),
        ("Name:  MRN  Provider\n", []),
        ("Name  MRN 2  Provider\n", []),
        ("Name\tMRN\tProvider\nQuux\t4417203\tBlorn\n", ["Name\tMRN\tProvider"]),
        ("Name\tZorblatt\tMRN\tProvider\n", ["Name", "MRN\tProvider"]),
        ("| Name | MRN | Provider |\n", [" Name | MRN | Provider "]),
        ("Name\tMRN\tProvider 2\n", []),
        (f"Name\tMRN\tProvider\t{LONG}\n", ["Name\tMRN\tProvider"]),
        (f"Name\tMRN\tProvider\t{LONG}x\n", []),
        ("Name,MRN,Provider\nQuux,4417203,Blorn\n", ["Name,MRN,Provider"]),
        ("seen\nName,MRN,Provider", ["Name,MRN,Provider"]),
        ("Name,Zorblatt,MRN,Provider\n", []),  # between commas all are labels
        ("Name,MRN\n", []),
        ("Name\nMRN\nProvider\n\nQuux\n4417203\nBlorn\n", ["Name\nMRN\nProvider"]),
        ("seen\n\nName\nMRN\nProvider", ["Name\nMRN\nProvider"]),
        ("Name\nMRN\nProvider\n", ["Name\nMRN\nProvider"]),
        ("Name\nZorblatt\nMRN\nProvider\n\n", []),
        ("Name\nMRN:\nProvider\n\n", []),
        ("Surname\nWard\n\nseen\n", []),
        ("Name\nWard\n\nName: Quux\nWard: 3\n", ["Name\nWard"]),
        ("Name\nWard\n\nName: Quux\n", []),
        ("Name\n\nMRN\n\nProvider\n", []),
        ("The name of the patient was not told.\n", []),
    ],
)
def test_labels_beside_each_other_are_a_head(text: str, found: list[str]) -> None:
    assert heads(text) == found
