"""PHI taxonomies and the maps between them.

Six label sets are known: HIPAA's 18 identifiers (45 CFR 164.514(b)(2)), i2b2-2006, i2b2-2014 with sub-types, the
PhysioNet nursing notes, MEDDOCAN's 29 and HIDE's. The sub-types of i2b2-2014 are the hub: every label of every set has
one *canonical* category there, and a map between two sets goes through it. A map says where it loses something:
several labels that become one, or a label that becomes a wider one.

Sources: ALGORITHMS section 1.3; Stubbs and Uzuner 2015 (i2b2-2014); Marimon et al. 2019 (MEDDOCAN); Neamatullah et
al. 2008 (PhysioNet); Gardner and Xiong 2009 (HIDE).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

from deid.errors import ConfigError

__all__ = ["HIPAA", "LABEL_SETS", "Label", "LabelSet", "Mapping", "canonical", "group", "hipaa", "label_set_of", "map_labels"]


@dataclass(frozen=True, slots=True)
class Label:
    """One label of a label set."""

    name: str
    """As written in files of the set."""
    group: str
    """Coarse group: NAME, PROFESSION, LOCATION, AGE, DATE, CONTACT, ID or OTHER (the element of i2b2-2014 XML)."""
    canonical: str
    """The canonical category (a sub-type of i2b2-2014) that comes nearest."""
    exact: bool = True
    """Whether the label means the same as its canonical category; False when it is wider or different."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A named set of labels."""

    name: str
    labels: tuple[Label, ...]

    def __contains__(self, name: str) -> bool:
        return any(label.name == name for label in self.labels)

    def names(self) -> tuple[str, ...]:
        """Return the labels' names in the set's order."""
        return tuple(label.name for label in self.labels)


HIPAA = MappingProxyType(
    {
        "A": "names",
        "B": "geographic subdivisions smaller than a state",
        "C": "dates except year, and ages over 89",
        "D": "telephone numbers",
        "E": "fax numbers",
        "F": "e-mail addresses",
        "G": "social security numbers",
        "H": "medical record numbers",
        "I": "health plan beneficiary numbers",
        "J": "account numbers",
        "K": "certificate and licence numbers",
        "L": "vehicle identifiers, serial numbers and licence plates",
        "M": "device identifiers and serial numbers",
        "N": "web URLs",
        "O": "IP addresses",
        "P": "biometric identifiers",
        "Q": "full-face photographs",
        "R": "any other unique identifying number, characteristic or code",
    }
)
"""HIPAA's 18 identifiers by letter. Q is not in text."""

# canonical category -> (group, HIPAA letter or "" where Safe Harbor does not list it)
_CANONICAL = {
    "PATIENT": ("NAME", "A"),
    "DOCTOR": ("NAME", ""),
    "USERNAME": ("NAME", "R"),
    "PROFESSION": ("PROFESSION", ""),
    "HOSPITAL": ("LOCATION", "B"),
    "DEPARTMENT": ("LOCATION", ""),
    "ROOM": ("LOCATION", "B"),
    "ORGANIZATION": ("LOCATION", "B"),
    "STREET": ("LOCATION", "B"),
    "CITY": ("LOCATION", "B"),
    "STATE": ("LOCATION", ""),
    "COUNTRY": ("LOCATION", ""),
    "ZIP": ("LOCATION", "B"),
    "LOCATION-OTHER": ("LOCATION", "B"),
    "AGE": ("AGE", "C"),
    "DATE": ("DATE", "C"),
    "PHONE": ("CONTACT", "D"),
    "FAX": ("CONTACT", "E"),
    "EMAIL": ("CONTACT", "F"),
    "URL": ("CONTACT", "N"),
    "IPADDR": ("CONTACT", "O"),
    "SSN": ("ID", "G"),
    "MEDICALRECORD": ("ID", "H"),
    "HEALTHPLAN": ("ID", "I"),
    "ACCOUNT": ("ID", "J"),
    "LICENSE": ("ID", "K"),
    "VEHICLE": ("ID", "L"),
    "DEVICE": ("ID", "M"),
    "BIOID": ("ID", "P"),
    "IDNUM": ("ID", "R"),
    "OTHER": ("OTHER", "R"),
}


def _set(name: str, rows: str) -> LabelSet:
    """Parse rows ``LABEL CANONICAL`` with ``~`` before a canonical category that is only the nearest one."""
    labels = []
    for row in rows.strip().splitlines():
        label, hub = row.rsplit(maxsplit=1)
        nearest = hub.lstrip("~")
        labels.append(Label(label.strip(), _CANONICAL[nearest][0], nearest, exact=nearest == hub))
    return LabelSet(name, tuple(labels))


LABEL_SETS: MappingProxyType[str, LabelSet] = MappingProxyType(
    {
        s.name: s
        for s in (
            LabelSet("i2b2-2014", tuple(Label(c, g, c) for c, (g, _) in _CANONICAL.items())),
            _set(
                "i2b2-2006",
                """
                PATIENT PATIENT
                DOCTOR DOCTOR
                HOSPITAL HOSPITAL
                ID ~IDNUM
                DATE DATE
                LOCATION ~LOCATION-OTHER
                PHONE PHONE
                AGE ~AGE
                """,
            ),
            _set(
                "physionet",
                """
                HCPName DOCTOR
                PTName PATIENT
                PTNameInitial ~PATIENT
                RelativeProxyName ~PATIENT
                Location ~LOCATION-OTHER
                Date DATE
                DateYear ~DATE
                Phone PHONE
                Age AGE
                Other OTHER
                """,
            ),
            _set(
                "meddocan",
                """
                NOMBRE_SUJETO_ASISTENCIA PATIENT
                EDAD_SUJETO_ASISTENCIA AGE
                SEXO_SUJETO_ASISTENCIA ~OTHER
                FAMILIARES_SUJETO_ASISTENCIA ~OTHER
                NOMBRE_PERSONAL_SANITARIO DOCTOR
                FECHAS DATE
                PROFESION PROFESSION
                HOSPITAL HOSPITAL
                CENTRO_SALUD ~HOSPITAL
                INSTITUCION ORGANIZATION
                CALLE STREET
                TERRITORIO ~CITY
                PAIS COUNTRY
                NUMERO_TELEFONO PHONE
                NUMERO_FAX FAX
                CORREO_ELECTRONICO EMAIL
                ID_SUJETO_ASISTENCIA MEDICALRECORD
                ID_CONTACTO_ASISTENCIAL ~IDNUM
                ID_ASEGURAMIENTO HEALTHPLAN
                ID_TITULACION_PERSONAL_SANITARIO LICENSE
                ID_EMPLEO_PERSONAL_SANITARIO ~IDNUM
                IDENTIF_VEHICULOS_NRSERIE_PLACAS VEHICLE
                IDENTIF_DISPOSITIVOS_NRSERIE DEVICE
                DIREC_PROT_INTERNET IPADDR
                URL_WEB URL
                IDENTIF_BIOMETRICOS BIOID
                NUMERO_BENEF_PLAN_SALUD ~HEALTHPLAN
                OTRO_NUMERO_IDENTIF IDNUM
                OTROS_SUJETO_ASISTENCIA OTHER
                """,
            ),
            _set(
                "hide",
                """
                name ~PATIENT
                date DATE
                age AGE
                mrn MEDICALRECORD
                accountnum ACCOUNT
                id IDNUM
                location ~LOCATION-OTHER
                hospital HOSPITAL
                organization ORGANIZATION
                phone PHONE
                email EMAIL
                url URL
                ip IPADDR
                profession PROFESSION
                other OTHER
                """,
            ),
            _set(
                "hipaa",
                """
                A ~PATIENT
                B ~LOCATION-OTHER
                C ~DATE
                D PHONE
                E FAX
                F EMAIL
                G SSN
                H MEDICALRECORD
                I HEALTHPLAN
                J ACCOUNT
                K LICENSE
                L VEHICLE
                M DEVICE
                N URL
                O IPADDR
                P BIOID
                Q ~OTHER
                R OTHER
                """,
            ),
        )
    }
)
"""The label sets by name."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map from one label set to another, and what it loses."""

    source: str
    target: str
    to: MappingProxyType[str, str]
    """Label of the source -> label of the target."""
    losses: tuple[str, ...]
    """One sentence for each label whose meaning becomes wider, or that shares its target with others."""


# Where a target set has no label with the same canonical category: the nearest wider canonical categories, in order.
_WIDER = {
    "DEPARTMENT": ("HOSPITAL", "LOCATION-OTHER", "OTHER"),
    "ROOM": ("LOCATION-OTHER", "OTHER"),
    "ORGANIZATION": ("LOCATION-OTHER", "OTHER"),
    "HOSPITAL": ("ORGANIZATION", "LOCATION-OTHER", "OTHER"),
    "FAX": ("PHONE", "OTHER"),
    "DOCTOR": ("PATIENT",),
    "USERNAME": ("IDNUM", "OTHER", "PATIENT"),
    "PROFESSION": ("OTHER",),
}
_GROUP_FALLBACK = {
    "LOCATION": ("LOCATION-OTHER", "CITY", "OTHER"),
    "ID": ("IDNUM", "OTHER"),
    "CONTACT": ("PHONE", "OTHER"),
    "NAME": ("PATIENT",),
}


def _find(label: str) -> Label | None:
    for label_set in LABEL_SETS.values():
        for known in label_set.labels:
            if known.name == label:
                return known
    return None


def canonical(label: str) -> str:
    """Return the canonical category of a label of any known set; an unknown label is its own category, upper case."""
    known = _find(label)
    return known.canonical if known else label.upper()


def group(label: str) -> str:
    """Return the coarse group of a label of any known set, ``OTHER`` for an unknown one."""
    known = _find(label)
    return known.group if known else "OTHER"


def hipaa(label: str) -> str:
    """Return the letter of the HIPAA identifier that a label belongs to, empty where Safe Harbor lists none."""
    return _CANONICAL.get(canonical(label), ("", ""))[1]


def label_set_of(labels: Iterable[str]) -> LabelSet | None:
    """Return the first known label set that holds all ``labels``, else None."""
    wanted = set(labels)
    return next((s for s in LABEL_SETS.values() if wanted <= set(s.names())), None)


def map_labels(source: str, target: str) -> Mapping:
    """Map the labels of one set to those of another through their canonical categories.

    Raises
    ------
    ConfigError
        When a set is unknown or a label has no place in the target.
    """
    for name in (source, target):
        if name not in LABEL_SETS:
            raise ConfigError(f"unknown label set {name!r}", "known sets: " + ", ".join(LABEL_SETS))
    by_canonical: dict[str, Label] = {}
    for label in LABEL_SETS[target].labels:
        held = by_canonical.get(label.canonical)
        if held is None or (label.exact and not held.exact):
            by_canonical[label.canonical] = label
    to: dict[str, str] = {}
    losses: list[str] = []
    for label in LABEL_SETS[source].labels:
        if label in LABEL_SETS[target].labels:
            to[label.name] = label.name
            continue
        fallbacks = (label.canonical, *_WIDER.get(label.canonical, ()), *_GROUP_FALLBACK.get(label.group, ("OTHER",)))
        found = next((by_canonical[c] for c in fallbacks if c in by_canonical), None)
        if found is None:
            raise ConfigError(
                f"label {label.name} of {source} has no place in {target}", "choose a target set with that category"
            )
        to[label.name] = found.name
        if found.canonical != label.canonical or not (found.exact and label.exact):
            losses.append(f"{label.name} becomes {found.name}, which does not mean exactly the same")
    for name in dict.fromkeys(to.values()):
        sharers = [label for label, mapped in to.items() if mapped == name]
        if len(sharers) > 1:
            losses.append(f"{', '.join(sharers)} all become {name}")
    return Mapping(source, target, MappingProxyType(to), tuple(losses))
