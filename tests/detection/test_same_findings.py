"""What was found in a text yesterday, and why, is found tomorrow (`pinned`): invented lines of many kinds.

Each line is read by the rules alone and, once more in capitals, misread by a scanner or with other line ends, by the
rules beside a model that is often mistaken, a table of known people and a site's lists. Notes of other languages are
read in the same ways.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest
from synthetic.marked import notes, unmark

from deid.detection import Ensemble, RuleRecognizer
from deid.detection.explanation import explain
from deid.detection.known import Known, KnownRecognizer
from deid.detection.site_lists import SiteLists, load_site_lists
from deid.document import Document, Span
from deid.reading import passages
from tests.pinned import Pinned
from tests.rules.marked import NOTES

HERE = Path(__file__).parent
CATEGORIES = ["PATIENT", "DOCTOR", "DATE", "HOSPITAL", "CITY", "STATE", "PHONE", "MEDICALRECORD", "IDNUM", "PROFESSION"]
OF_OTHER_LANGUAGES = [*CATEGORIES, "ORGANIZATION", "STREET", "AGE", "ZIP", "LOCATION_OTHER", "COUNTRY"]
LANGUAGES = ("de", "es", "fr", "nl")
FOLDERS = ("fresh", "genres", "kinds", "letters", "unread")
CHANGES = [
    str,
    str.upper,
    str.lower,
    lambda text: text.replace("\n", "\r\n").replace(", ", ",\t").replace(". ", ".\r"),
    lambda text: re.sub(r"(?<=[a-z])l(?=[a-z])", "1", re.sub(r"0(?=\d)", "O", text)),
    lambda text: text.replace("a", "\u0430").replace("e", "e\u200b"),
]
"""The same text as others write it; the last in look-alike letters, with characters of no width."""
WINDOW = 700
OTHERS = (
    ",",
    ".",
    ":",
    "-",
    "/",
    "'",
    "Dr.",
    "and",
    "the",
    "Jr.",
    "12",
    "2019",
    "M.",
    "Quill",
    "IN",
    "Street",
    "(",
    "x",
)


@cache
def rules(language: str) -> RuleRecognizer:
    return RuleRecognizer.load(language)


@cache
def rules_alone(language: str) -> Ensemble:
    return Ensemble((rules(language),))


@dataclass(frozen=True)
class Mistaken:
    """A model that finds words of its own, and some of those that are marked, with borders and kinds of its own."""

    marks: tuple[str, ...]
    name: str = "en"
    categories: frozenset[str] = frozenset(OF_OTHER_LANGUAGES)

    def find(self, document: Document) -> list[Span]:
        draw, found = random.Random(document.text), []
        words = [m.span() for m in re.finditer(r"[^\W_]+", document.text)]
        for first, (start, end) in enumerate(words):
            marked = document.text[start:end].lower() in self.marks
            if draw.random() < (0.6 if marked else 0.08):
                last = words[min(len(words) - 1, first + draw.choice([0, 0, 1, 1, 2]))][1]
                score = draw.choice([None, 0.15, 0.3, 0.45, 0.55, 0.75, 0.9, 0.99])
                kind = draw.choice(CATEGORIES if self.name == "en" else OF_OTHER_LANGUAGES)
                found.append(Span(start, last, kind, source=f"model:{self.name}", score=score))
        return sorted(found)


def known(document: Document) -> KnownRecognizer:
    """Return a table that holds every other of the marked values."""
    people = [Known(s.category, document.text[s.start : s.end]) for s in document.spans[::2]]
    return KnownRecognizer({"n": [k for k in people if k.category != "AGE" or k.value.isdigit()]})


def site(document: Document) -> SiteLists:
    """Return lists of which one has a word of the text, and the other some that are marked."""
    words = re.findall(r"[^\W\d_]{4,}", document.text)
    texts = {"deny": "\n".join(f"{w}\tHOSPITAL" for w in words[3::29]), "allow": "\n".join(words[1::11])}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text or "quorl", encoding="utf-8")
        return load_site_lists([Path(folder, "deny")], [Path(folder, "allow")])


def texts() -> Iterator[tuple[str, Document]]:
    for file in sorted(HERE.glob("*.txt")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith(("#", "=")):
                yield f"{file.stem} {number}", unmark(line, "n")
    for note in notes(NOTES):
        yield f"notes {note.id}", Document("n", note.text, note.spans)


def of_other_languages() -> Iterator[tuple[str, str, int, Document]]:
    for file in sorted(HERE / folder / f"{language}.txt" for folder in FOLDERS for language in LANGUAGES):
        for number, note in enumerate(notes(file) if file.exists() else ()):
            yield file.stem, f"{file.stem} {file.parent.name} {note.id}", number, Document("n", note.text, note.spans)


def answer(document: Document, number: int, language: str = "en") -> object:
    """Return all that the rules propose, and what becomes of it beside others, with every word's part in it."""
    ruled = rules_alone(language).trace(Document("n", document.text))
    text = CHANGES[number % len(CHANGES)](document.text)
    marks = tuple(re.findall(r"[^\W_]+", " ".join(document.text[s.start : s.end] for s in document.spans).lower()))
    joined = Ensemble((known(document), Mistaken(marks, language), rules(language)), to_canonical=bool(number % 2))
    lists = site(document) if number % 4 == 0 else load_site_lists()
    place = (len(text) // 3, len(text) // 2)
    told = explain(Document("n", text), None, joined, site=lists, places=[place])
    return [[[c.fate, c.certainty, c.span] for c in ruled.candidates], ruled.spans, told.as_dict()]


def varied(document: Document, number: int, language: str = "en", times: int = 2) -> object:
    """Return what the rules propose for a text that lacks a word or a sign, has one twice, or goes on in another line.

    Which one it is differs from text to text; what is a name, a place or a number hangs on its neighbours.
    """
    draw = random.Random(number)
    parts = re.findall(r"\s*(?:\w+|[^\w\s])", document.text)
    found: list[object] = []
    for change in ("", "\n", " ", "again", "other") * times:
        at = draw.randrange(len(parts))
        new = {"": "", "again": parts[at] * 2, "other": f" {draw.choice(OTHERS)}"}.get(
            change, change + parts[at].strip()
        )
        text = "".join((*parts[:at], new, *parts[at + 1 :]))
        found.append(
            [[c.fate, c.certainty, c.span] for c in rules_alone(language).trace(Document("n", text)).candidates]
        )
    return found


def windowed(stem: str) -> object:
    """Return what is found in all lines of a file together, some hundred characters at a time."""
    together = "\n\n".join(d.text for name, d in texts() if name.startswith(stem))[:12_000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passages, "WINDOW", WINDOW)
        patch.setattr(passages, "MARGIN", WINDOW // 5)
        return answer(Document("n", together), 0)


QUESTIONS = {name: partial(answer, document, number) for number, (name, document) in enumerate(texts())}
QUESTIONS |= {f"{name} varied": partial(varied, document, number) for number, (name, document) in enumerate(texts())}
for language, name, number, document in of_other_languages():
    QUESTIONS[name] = partial(answer, document, number, language)
    if number % 3 == 0:
        QUESTIONS[f"{name} varied"] = partial(varied, document, number, language, 1)
QUESTIONS |= {f"{file.stem} in windows": partial(windowed, file.stem) for file in sorted(HERE.glob("*.txt"))}
PINNED = Pinned(__file__, QUESTIONS, parts=180)
test_what_is_found_is_what_was_found = PINNED.test(__name__)
