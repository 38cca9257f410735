"""Notes that are drawn with fixed seeds, for `build_tables.py`: pathology reports, Spanish notes, and a gold set with answers."""

# ruff: noqa: E501, SIM905 (lists of words are easier to read and to change in one line)
from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

Files = dict[str, str]
"""Path below the folder -> text."""
GIVEN = {
    "F": "Alma Beth Clara Dora Edith Fiona Greta Hilda Irma Joyce Karen Lydia Mona Nadia Olga Paula Rita Selma Thelma Vera",
    "M": "Adrian Boris Cedric Dwight Edgar Felix Gordon Harvey Ivan Julian Kevin Leland Milton Nathan Oscar Percy Ralph Simon",
}
FAMILY = (
    "Abernathy Barlow Castellan Dunmore Eastwick Farnham Galloway Hartwell Ingersoll Jessop Kettering Lockhart Marchetti "
    "Norwood Ostrander Pemberton Quigley Rutherford Stanhope Thackeray Underhill Vandermeer Whitcombe Yardley Zimmerman"
)

Note = dict[str, Any]


def note(name: str, parts: Sequence[str | tuple[str, str]]) -> Note:
    """Put a note together; a pair is PHI with its label."""
    text, spans = "", []
    for part in parts:
        if isinstance(part, tuple):
            spans.append({"start": len(text), "end": len(text) + len(part[0]), "label": part[1]})
        text += part if isinstance(part, str) else part[0]
    return {"id": name, "text": text, "spans": spans}


def lines(notes: Iterable[Note]) -> str:
    """Return notes as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in notes)


SITES = (
    "left breast;right colon;skin of the back;prostate;thyroid, left lobe;cervix;stomach, antrum;lung, right upper lobe"
)
FINDINGS = (
    "Sections show {0} with clear margins of {1} mm.;The specimen weighs {1} g and measures {0} by 3 by 2 cm.;"
    "No lymphatic or vascular invasion is identified in {1} slides.;Immunostains are positive in {1} percent of cells.;"
    "Mitoses number {1} in ten high power fields.;The margins are inked and free of tumor.;"
    "Benign tissue with mild chronic inflammation.;Grade 2 of 3; nuclear score 2, total score {1}."
)


def pathology(seed: int = 17, count: int = 100) -> Files:
    """Reports of one form: record number, account, name, age and date in the head, again here and there in the text."""
    rng, notes = random.Random(seed), []
    for number in range(count):
        sex = rng.choice("FM")
        given, family = rng.choice(GIVEN[sex].split()), rng.choice(FAMILY.split())
        mrn, account = f"{rng.randrange(10**7, 10**8)}", f"{rng.choice('HS')}{rng.randrange(10**8, 10**9)}"
        age = str(rng.randrange(19, 90))
        day = f"{rng.randrange(1, 13):02d}/{rng.randrange(1, 29):02d}/{rng.randrange(2004, 2012)}"
        mister = "Ms." if sex == "F" else "Mr."
        site = rng.choice(SITES.split(";"))
        found = [s.format(rng.randrange(2, 9), rng.randrange(1, 60)) for s in rng.sample(FINDINGS.split(";"), 4)]
        parts: list[str | tuple[str, str]] = [
            "SURGICAL PATHOLOGY REPORT\nName: ", (f"{family}, {given}", "PATIENT"), "\nMedical record: ",
            (mrn, "MEDICALRECORD"), "   Account: ", (account, "ACCOUNT"), "\nCollected: ", (day, "DATE"), "\n\nHISTORY\n",
        ]  # fmt: skip
        parts += rng.choice(
            [
                ["The patient is a ", (age, "AGE"), f" year old with a mass of the {site}."],
                [
                    f"{mister} ",
                    (family, "PATIENT"),
                    ", age ",
                    (age, "AGE"),
                    f", with an abnormal finding in the {site}.",
                ],
                ["A ", (age, "AGE"), "-year-old seen on ", (day, "DATE"), f"; rule out tumor of the {site}."],
            ]
        )
        parts.append(
            f"\n\nGROSS AND MICROSCOPIC\n{found[0]} {found[1]} {found[2]}\n\nDIAGNOSIS\n{site.capitalize()}: {found[3]}"
        )
        if rng.random() < 0.5:
            parts += [
                f"\nThe result was discussed with {mister} ",
                (f"{given} {family}", "PATIENT"),
                " on ",
                (day, "DATE"),
                ".",
            ]
        notes.append(note(f"path-{number + 1:03d}", [*parts, "\n"]))
    return {"pathology/reports.jsonl": lines(notes), "pathology/quick.jsonl": lines(notes[:48])}


NOMBRES = (
    "María Lucía Carmen Elena Rosario Javier Andrés Miguel Tomás Ignacio Pilar Beatriz Óscar Raúl Nuria Íñigo".split()
)
APELLIDOS = (
    "Berlanga Cifuentes Dávila Escudero Fajardo Galdós Herrera Ibáñez Lozano Montalvo Nogales Peñalver Quiroga".split()
)
MESES = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
CIUDADES = "Albacete Burgos Castellón Gijón Jaén Logroño Mérida Pontevedra Teruel Zamora".split()
CALLES = "de la Fuente;del Molino;Mayor;de los Olmos;San Bartolomé;de la Ribera".split(";")
CUADROS = (
    "Paciente con dolor torácico opresivo de dos horas de evolución, sin irradiación.;Refiere disnea progresiva y tos seca "
    "desde hace una semana.;Acude por fiebre de 38,5 ºC y odinofagia.;Control de diabetes tipo 2 en tratamiento con metformina.;"
    "Cefalea pulsátil con fotofobia, exploración neurológica normal.;Dolor en fosa ilíaca derecha con Blumberg positivo."
).split(";")


def spanish(seed: int = 19, count: int = 36) -> Files:
    """Reports and letters of six forms with names, dates, places, numbers and contacts; labels of i2b2-2014."""
    rng, notes = random.Random(seed), []
    for number in range(count):
        name = rng.choice(NOMBRES)
        first, second = rng.sample(APELLIDOS, 2)
        person, doctor = f"{name} {first} {second}", f"{rng.choice(NOMBRES)} {rng.choice(APELLIDOS)}"
        day, month, year = rng.randrange(1, 29), rng.randrange(12), rng.randrange(2009, 2024)
        short, long = f"{day:02d}/{month + 1:02d}/{year}", f"{day} de {MESES[month]} de {year}"
        city, street = rng.choice(CIUDADES), f"Calle {rng.choice(CALLES)}, {rng.randrange(1, 90)}"
        age = str(rng.randrange(20, 88))
        history, phone = f"{rng.randrange(10**6, 10**7)}", f"9{rng.randrange(10**7, 10**8)}"
        hospital = f"Hospital {rng.choice(['San Telmo', 'Santa Eulalia', 'Virgen del Valle', 'Provincial'])}"
        case = rng.choice(CUADROS)
        forms: list[list[str | tuple[str, str]]] = [
            ["Nombre: ", (person, "PATIENT"), "\nNHC: ", (history, "MEDICALRECORD"), "\nFecha: ", (short, "DATE"),
             f"\n\n{case}\nEdad: ", (age, "AGE"), " años.\nMédico: Dra. ", (doctor, "DOCTOR"), "\n"],
            ["INFORME DE ALTA\n", (hospital, "HOSPITAL"), ", ", (city, "CITY"), "\nPaciente de ", (age, "AGE"),
             " años, ", (person, "PATIENT"), ", ingresado el ", (long, "DATE"), f".\n{case}\nFirmado: Dr. ",
             (doctor, "DOCTOR"), "\n"],
            ["Estimado compañero:\nTe remito a ", (person, "PATIENT"), " (historia ", (history, "MEDICALRECORD"),
             f"). {case} Vive en ", (street, "STREET"), ", ", (city, "CITY"), ". Teléfono ", (phone, "PHONE"),
             ".\nUn saludo, ", (doctor, "DOCTOR"), "\n"],
            [f"Urgencias. {case} Fue visto el ", (short, "DATE"), " por el Dr. ", (doctor, "DOCTOR"), " en el ",
             (hospital, "HOSPITAL"), ". Avisar a la familia en el ", (phone, "PHONE"), ".\n"],
            ["Evolución de enfermería, ", (short, "DATE"), "\n", (name, "PATIENT"), " ha dormido bien. ", case,
             " Avisada la Dra. ", (doctor, "DOCTOR"), ".\n"],
            ["Consulta de ", (long, "DATE"), ". D./Dña. ", (f"{first} {second}, {name}", "PATIENT"), ", de ",
             (age, "AGE"), " años, natural de ", (city, "CITY"), f". {case} Próxima revisión en el ",
             (hospital, "HOSPITAL"), ".\n"],
        ]  # fmt: skip
        notes.append(note(f"es-{number + 1:02d}", forms[number % len(forms)]))
    return {"spanish/notes.jsonl": lines(notes)}


def gold(seed: int = 23, count: int = 40) -> Files:
    """Reports with gold spans, and answers: of ten spans about one is missed, one shortened, one of another category."""
    rng = random.Random(seed)
    notes = [json.loads(line) for line in pathology(seed, count)["pathology/reports.jsonl"].splitlines()]
    answers = []
    for one in notes:
        spans = []
        for span in one["spans"]:
            luck = rng.random()
            if luck < 0.1:
                continue
            if luck < 0.2 and " " in one["text"][span["start"] : span["end"]]:
                span = {**span, "end": span["start"] + one["text"][span["start"] : span["end"]].index(" ")}
            elif luck < 0.3:
                span = {**span, "label": rng.choice(["IDNUM", "DOCTOR", "DATE"])}
            spans.append(span)
        if rng.random() < 0.4:
            place = one["text"].index("REPORT")
            spans.append({"start": place, "end": place + 6, "label": "HOSPITAL"})
        answers.append({**one, "spans": sorted(spans, key=lambda span: span["start"])})
    return {"gold/gold.jsonl": lines(notes), "gold/system.jsonl": lines(answers)}
