"""Notes made here with the labels of MEDDOCAN, which marks sexes, relatives and the units of ages, too."""

from __future__ import annotations

import re

from deid.document import Document, Span

_LABELS = {
    "PATIENT": "NOMBRE_SUJETO_ASISTENCIA", "DOCTOR": "NOMBRE_PERSONAL_SANITARIO", "DATE": "FECHAS",
    "AGE": "EDAD_SUJETO_ASISTENCIA", "HOSPITAL": "HOSPITAL", "ORGANIZATION": "INSTITUCION", "STREET": "CALLE",
    "CITY": "TERRITORIO", "STATE": "TERRITORIO", "ZIP": "TERRITORIO", "COUNTRY": "PAIS", "PROFESSION": "PROFESION",
    "PHONE": "NUMERO_TELEFONO", "FAX": "NUMERO_FAX", "EMAIL": "CORREO_ELECTRONICO", "URL": "URL_WEB",
    "MEDICALRECORD": "ID_SUJETO_ASISTENCIA", "IDNUM": "ID_SUJETO_ASISTENCIA", "HEALTHPLAN": "ID_ASEGURAMIENTO",
    "LICENSE": "ID_TITULACION_PERSONAL_SANITARIO", "DEVICE": "IDENTIF_DISPOSITIVOS_NRSERIE",
    "ACCOUNT": "OTRO_NUMERO_IDENTIF",
}  # fmt: skip
_UNIT = re.compile(r"[ -]?(?:años?|meses|mes|días|semanas)\b", re.IGNORECASE)
_SEX = re.compile(r"\b(?:var[oó]n|mujer|hombre|niñ[oa]|masculino|femenin[oa])\b|(?<=Sexo: )[HMVF]\b", re.IGNORECASE)
_KIN = re.compile(
    r"\b(?:padres?|madre|hij[oa]s?|herman[oa]s?|espos[oa]|marido|abuel[oa]s?|t[íi][oa]s?|prim[oa]s?|sobrin[oa]s?"
    r"|niet[oa]s?|nuera|yerno|familia)\b",
    re.IGNORECASE,
)


def labelled(document: Document) -> Document:
    """Return a note with MEDDOCAN's labels, and with what only MEDDOCAN marks."""
    text = document.text
    spans = []
    for span in document.spans:
        unit = _UNIT.match(text, span.end) if span.category == "AGE" else None
        spans.append(Span(span.start, unit.end() if unit else span.end, _LABELS[span.category]))
    taken = {at for span in spans for at in range(span.start, span.end)}
    for form, label in ((_SEX, "SEXO_SUJETO_ASISTENCIA"), (_KIN, "FAMILIARES_SUJETO_ASISTENCIA")):
        spans += [
            Span(found.start(), found.end(), label)
            for found in form.finditer(text)
            if taken.isdisjoint(range(found.start(), found.end()))
        ]
    return document.with_spans(sorted(spans, key=lambda span: span.start))
