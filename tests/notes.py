"""Small annotated notes for tests that train: two notes of each patient, some names without any cue around them."""

from __future__ import annotations

from deid.document import Document, Span

GIVEN = ("Ana", "Bea", "Carl", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jan", "Kim", "Lou")
FAMILY = ("Ruiz", "Shah", "Lee", "Novak", "Okoro", "Berg", "Costa", "Diaz", "Egan", "Fox", "Gray", "Hill")
OPENINGS = ("Patient: ", "Seen today: ", "")
CLOSINGS = (". Chest pain for 3 days.\n", ". Old MI, on Aspirin 100 mg.\n", " with Fox sign and fever 39.\n")


def composed(*pieces: str | tuple[str, str]) -> tuple[str, tuple[Span, ...]]:
    """Return a text of pieces, and the spans of those that come with a category: (category, text)."""
    text, spans = "", []
    for piece in pieces:
        if isinstance(piece, tuple):
            spans.append(Span(len(text), len(text) + len(piece[1]), piece[0]))
            piece = piece[1]
        text += piece
    return text, tuple(spans)


def clinic_note(number: int) -> Document:
    """Return a note with a patient, a doctor and a date; its id and metadata name the patient."""
    person = number // 2
    patient = f"{GIVEN[person % 12]} {FAMILY[5 * person % 12]}"
    text, spans = composed(
        OPENINGS[number % 3],
        ("PATIENT", patient),
        " came on ",
        ("DATE", f"{number % 28 + 1}/{number % 12 + 1}/20{number % 80 + 10}"),
        " to " if number % 4 else " to Dr. ",
        ("DOCTOR", FAMILY[(7 * number + 1) % 12]),
        CLOSINGS[number % 3],
    )
    return Document(f"{person:02d}-{number % 2}", text, spans, {"person": person}, number + 1)


def clinic_notes(count: int, first: int = 0) -> list[Document]:
    """Return ``count`` notes from note ``first`` on."""
    return [clinic_note(number) for number in range(first, first + count)]
