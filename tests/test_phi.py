"""The taxonomies agree with the table in docs/labels.md, and no map fails or loses anything silently."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.phi import (
    CATEGORIES,
    GROUPS,
    HIPAA,
    I2B2_2014_HIPAA,
    I2B2_2014_HIPAA_OFFICIAL,
    LABEL_SETS,
    canonical,
    group,
    hipaa,
    label_set_of,
    map_labels,
    map_used_labels,
)

# Rows of the table: i2b2-2014 sub-types, their label in i2b2-2006, PhysioNet's labels, HIDE's labels.
IDS = ("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM")
ROWS = [
    (("PATIENT",), "PATIENT", {"PTName", "PTNameInitial", "RelativeProxyName"}, {"name"}),
    (("DOCTOR", "USERNAME"), "DOCTOR", {"HCPName"}, {"name"}),
    (("STREET",), "LOCATION", {"Location"}, {"location"}),
    (("CITY", "ZIP", "LOCATION-OTHER"), "LOCATION", {"Location"}, {"location"}),
    (("STATE", "COUNTRY"), "LOCATION", {"Location"}, {"location"}),
    (
        ("HOSPITAL", "ORGANIZATION", "DEPARTMENT", "ROOM"),
        "HOSPITAL",
        {"Location"},
        {"hospital", "organization"},
    ),
    (("DATE",), "DATE", {"Date", "DateYear"}, {"date"}),
    (("AGE",), "AGE", {"Age"}, {"age"}),
    (("PHONE", "FAX"), "PHONE", {"Phone"}, {"phone"}),
    (("EMAIL", "URL", "IPADDR"), None, {"Other"}, {"email", "url", "ip"}),
    (IDS, "ID", {"Other"}, {"mrn", "accountnum", "id"}),
    (("PROFESSION",), None, {None}, {"profession"}),
]


@pytest.mark.parametrize(("subtypes", "i2b2_2006", "physionet", "hide"), ROWS)
def test_each_row_of_the_table_maps_to_the_other_sets(subtypes, i2b2_2006, physionet, hide) -> None:
    for subtype in subtypes:
        assert map_labels("i2b2-2014", "i2b2-2006").to[subtype] == i2b2_2006
        assert map_labels("i2b2-2014", "physionet").to[subtype] in physionet
        assert map_labels("i2b2-2014", "hide").to[subtype] in hide


@pytest.mark.parametrize(("subtypes", "i2b2_2006", "physionet", "hide"), ROWS)
def test_each_row_of_the_table_maps_back_into_the_row(subtypes, i2b2_2006, physionet, hide) -> None:
    """Mapping there and back ends in the row again, except where a set has one label for several rows."""
    one_for_many = {"LOCATION", "Location", "location", "Other", "name", "hospital"}
    for set_name, labels in (("i2b2-2006", {i2b2_2006}), ("physionet", physionet), ("hide", hide)):
        back = map_labels(set_name, "i2b2-2014").to
        for label in labels - one_for_many - {None}:
            assert back[label] in subtypes


@pytest.mark.parametrize(
    ("letter", "labels"),
    [
        (
            "A",
            [
                "PATIENT",
                "PTName",
                "PTNameInitial",
                "RelativeProxyName",
                "name",
                "NOMBRE_SUJETO_ASISTENCIA",
                "NAME",
            ],
        ),
        ("", ["DOCTOR", "HCPName", "NOMBRE_PERSONAL_SANITARIO"]),
        (
            "B",
            ["STREET", "CITY", "ZIP", "LOCATION-OTHER", "LOCATION", "Location", "CALLE", "TERRITORIO", "GEO"],
        ),
        ("", ["STATE", "COUNTRY", "PAIS", "HOSPITAL", "DEPARTMENT", "ROOM", "CENTRO_SALUD", "PROFESSION"]),
        ("C", ["DATE", "Date", "DateYear", "FECHAS", "AGE", "Age", "age", "EDAD_SUJETO_ASISTENCIA"]),
        ("D", ["PHONE", "Phone", "NUMERO_TELEFONO"]),
        ("E", ["FAX", "NUMERO_FAX"]),
        ("F", ["EMAIL", "email", "CORREO_ELECTRONICO"]),
        ("G", ["SSN"]),
        ("H", ["MEDICALRECORD", "mrn", "MRN", "Medical Record Number"]),
        ("I", ["HEALTHPLAN", "ID_ASEGURAMIENTO", "NUMERO_BENEF_PLAN_SALUD"]),
        ("J", ["ACCOUNT", "accountnum", "Account Number"]),
        ("K", ["LICENSE"]),
        ("L", ["VEHICLE"]),
        ("M", ["DEVICE"]),
        ("N", ["URL", "URL_WEB"]),
        ("O", ["IPADDR", "DIREC_PROT_INTERNET"]),
        ("P", ["BIOID", "IDENTIF_BIOMETRICOS"]),
        ("R", ["IDNUM", "ID", "OTHER", "Other", "USERNAME"]),
        ("", ["SEXO_SUJETO_ASISTENCIA", "FAMILIARES_SUJETO_ASISTENCIA", "no such label"]),
    ],
)
def test_hipaa_gives_the_letter_of_the_law(letter, labels) -> None:
    assert {label: hipaa(label) for label in labels} == dict.fromkeys(labels, letter)


def test_sets_have_the_sizes_of_their_sources() -> None:
    sizes = {name: len(label_set.names()) for name, label_set in LABEL_SETS.items()}
    assert sizes["i2b2-2014"] == 31
    assert sizes["i2b2-2006"] == 8
    assert sizes["physionet"] == 10
    assert sizes["meddocan"] == 29
    assert sizes["hipaa"] == len(HIPAA) == 18


def test_every_label_has_a_known_category_and_group() -> None:
    for label_set in LABEL_SETS.values():
        for label in label_set.labels.values():
            assert label.canonical in CATEGORIES
            assert label.group in GROUPS


@pytest.mark.parametrize(("source", "target"), list(itertools.product(LABEL_SETS, repeat=2)))
def test_no_map_fails_and_every_change_is_told(source, target) -> None:
    """A label keeps its name, or has a loss that names it, or means exactly the same in both sets."""
    mapping = map_labels(source, target)
    assert set(mapping.to) == set(LABEL_SETS[source].names())
    for label, mapped in mapping.to.items():
        told = [loss for loss in mapping.losses if re.search(rf"(?<![\w-]){label}(?![\w-])", loss)]
        if mapped is None:
            assert told == [f"{label} has no place in {target} and is dropped"]
        else:
            assert mapped in LABEL_SETS[target]
            one, other = LABEL_SETS[source].labels[label], LABEL_SETS[target].labels[mapped]
            same = one.exact and other.exact and one.canonical == other.canonical
            assert same or told or source == target
    assert mapping.dropped == tuple(label for label, mapped in mapping.to.items() if mapped is None)


def test_map_tells_what_becomes_one() -> None:
    losses = map_labels("i2b2-2014", "i2b2-2006").losses
    assert "PHONE, FAX all become PHONE" in losses
    assert "PROFESSION has no place in i2b2-2006 and is dropped" in losses
    assert "OTHER has no place in i2b2-2006 and is dropped" in losses


def test_same_name_in_both_sets_is_still_told_when_it_means_less() -> None:
    """AGE of i2b2-2006 holds only ages over 90, so it is not the AGE of i2b2-2014."""
    assert "AGE becomes AGE, which does not mean exactly the same" in map_labels("i2b2-2006", "i2b2-2014").losses


def test_a_set_maps_to_itself_without_loss() -> None:
    for name in LABEL_SETS:
        mapping = map_labels(name, name)
        assert all(label == mapped for label, mapped in mapping.to.items())
        assert mapping.losses == ()


def test_unknown_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="meddocan"):
        map_labels("i2b2-2014", "i2b2-2015")


def test_canonical_and_group_of_labels_of_any_set() -> None:
    assert canonical("NOMBRE_SUJETO_ASISTENCIA") == "PATIENT"
    assert canonical("mrn") == canonical("Medical Record Number") == "MEDICALRECORD"
    assert canonical("age") == canonical("Age") == "AGE"
    assert canonical("Hospital") == "HOSPITAL"  # a spelling that no set has: letter case does not matter
    assert canonical("ward") == "WARD"
    assert group("FECHAS") == "DATE"
    assert group("NUMERO_FAX") == "CONTACT"
    assert group("ward") == "OTHER"
    assert [group(name) for name in GROUPS] == list(GROUPS)


def test_label_set_of_finds_the_first_set_that_holds_all() -> None:
    assert label_set_of(["PATIENT", "AGE"]) is LABEL_SETS["i2b2-2014"]
    assert label_set_of(["PATIENT", "ID", "LOCATION"]) is LABEL_SETS["i2b2-2006"]
    assert label_set_of(["FECHAS"]) is LABEL_SETS["meddocan"]
    assert label_set_of(["PTName", "Other"]) is LABEL_SETS["physionet"]
    assert label_set_of(["Medical Record Number", "name"]) is LABEL_SETS["hide"]
    assert label_set_of(["GEO", "MRN"]) is LABEL_SETS["hipaa"]
    assert label_set_of(["FECHAS", "PATIENT"]) is None


def test_hipaa_subset_of_i2b2_2014_in_both_readings() -> None:
    """The official list leaves out URL and IPADDR, which the law names."""
    assert {
        *("PATIENT", "CITY", "STREET", "ZIP", "ORGANIZATION", "AGE", "DATE", "PHONE", "FAX", "EMAIL"),
        *IDS,
    } == I2B2_2014_HIPAA_OFFICIAL
    assert {"URL", "IPADDR"} == I2B2_2014_HIPAA - I2B2_2014_HIPAA_OFFICIAL
    assert all(hipaa(category) for category in I2B2_2014_HIPAA)


def test_labels_that_were_met_are_mapped_from_the_set_that_holds_them_all() -> None:
    mapping = map_used_labels({"PHONE", "ID", "DOCTOR"}, "i2b2-2014")
    assert mapping.source == "i2b2-2006"
    assert mapping.to == {"PHONE": "PHONE", "ID": "IDNUM", "DOCTOR": "DOCTOR"}
    assert "all become" not in "".join(mapping.losses)


def test_labels_of_several_sets_and_unknown_ones_are_mapped_one_by_one() -> None:
    mapping = map_used_labels({"PATIENT", "FECHAS", "ward"}, "i2b2-2014")
    assert mapping.source == "mixed"
    assert mapping.to == {"PATIENT": "PATIENT", "FECHAS": "DATE", "ward": None}
    assert mapping.losses == ("ward has no place in i2b2-2014 and is dropped",)


def test_the_tables_of_the_documentation_agree_with_the_code() -> None:
    page = Path(__file__).parent.parent / "docs" / "labels.md"
    tables: dict[str, list[list[str]]] = {"category": [], "label": []}
    rows: list[list[str]] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("–", "") for cell in line.strip("|").split("|")]
        if cells[0] in tables:
            rows = tables[cells[0]]
        elif len(cells) > 3 and not line.startswith("| ---"):
            rows.append(cells)
    to = [map_labels("i2b2-2014", name).to for name in ("i2b2-2006", "physionet", "meddocan", "hide", "hipaa")]
    expected = [[c, group(c), hipaa(c), *(mapped[c] or "" for mapped in to)] for c in CATEGORIES]
    assert tables["category"] == expected
    others = [(s, label) for s in LABEL_SETS.values() if s.name != "i2b2-2014" for label in s.labels.values()]
    assert tables["label"] == [
        [label.name, s.name, label.canonical + ("" if label.exact else " ~"), label.hipaa] for s, label in others
    ]
