"""Notes of a language from sentences, headers and pools of that language alone.

A folder ``corpora/synthetic-<language>`` holds ``*.txt`` (parts of notes) and ``pools.toml``. A part begins with a
line ``== kind``; kinds are ``head`` (what a note begins with), ``said`` (sentences in which somebody or something is
identified), ``clinical`` (sentences in which nobody is), ``foot``, and ``whole`` (notes as they are). Parts of the
kinds said and clinical are one sentence a line. What is said in them is of the slot language of `synthetic.template`:
``{{patient.full}}``, ``{one|other}``. A note is a head, sentences at random, and a foot.

Slots that identify nobody are ``{{noun}}``, ``{{number:60-90}}`` and the lists of the table ``plain`` of ``pools.toml``
(``{{drug}}``). ``{{kin.full}}`` is a relative with the patient's family name, ``{{doctor.code}}`` are the letters that
somebody signs with, ``{{date.week}}`` is a week of the calendar, ``{{age:0-17}}`` is an age within bounds,
``{{age.word}}`` is of the pool ``age_word``, ``{{hospital.bare}}`` is of the pool ``hospital_bare``. The table
``shapes`` says how many notes are in capitals (``upper``), without them (``lower``), without the signs of the
language (``ascii``), or misread by a scanner (``scanned``); ``people.second`` how many people have two family names,
of which ``{{doctor.first}}`` is the first; ``{{doctor.short}}`` has that one alone; ``!`` and ``~`` write a name in
capitals or without. ``people.unlisted`` says how many names and towns no list has, ``notes.whole`` how many notes are
whole ones. Of an item of a pool what stands before ``^`` is outside the span.
"""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from deid.document import Document, Span
from synthetic.draw import Draw
from synthetic.noise import scanned
from synthetic.template import Choice, Node, Slot, parse

_WIDE = frozenset(("address", "associations", "endings", "greetings", "homonyms", "hospitals", "kin", "medical_titles"))
_WIDE |= {"heads", "heads_weak", "hospital_heads", "namesakes", "nouns", "patients", "products", "staff", "streets"}
_WIDE |= {"street_words", "towns", "trades", "trades_sure", "vocabulary", "ward_words", "feasts", "compound_ends"}
_WIDE |= {"ranks", "authorities", "clinic_heads", "clinic_owners", "clinics", "firms_ambig", "firms", "houses", "kinds"}
_WIDE |= {"kinds_weak", "practice_heads", "sites", "work_leads", "rooms", "callings", "crafts", "qualifiers", "workers"}
_WIDE |= {"given_low", "last_low", "tails", "place_heads", "states_america", "holidays_es", "insurers"}
"""Lists that the rules alone read, of all languages or of one."""
_TODAY = date(2024, 6, 30)
_DAYS = 365 * 6
_LIFE = 365 * 50
_UNLISTED = 0.12
"""How many names and towns no list has, where pools.toml does not say: a model that sees only listed ones learns that
others are none."""
_WHOLE = 0.4
"""How many notes are as somebody wrote them, where pools.toml does not say."""


def learnt_from(names: Iterable[str]) -> Iterator[str]:
    """Yield the lists that a model may see: of one that knows most occupations and roles it learns to find no other."""
    tails = ((name, name.split("/")[1]) for name in names)
    return (name for name, tail in tails if tail[:-3] not in _WIDE and tail not in _WIDE)


@dataclass
class Language:
    """What notes of a language are made of."""

    code: str
    parts: dict[str, list[tuple[Node, ...]]]
    pools: dict[str, list[str]]
    forms: dict[str, list[str]]
    plain: dict[str, list[str]] = field(default_factory=dict)
    shapes: dict[str, float] = field(default_factory=dict)
    second: float = 0.0
    unlisted: float = _UNLISTED
    whole: float = _WHOLE
    eponyms: list[str] = field(repr=False, default_factory=list)
    given: list[str] = field(repr=False, default_factory=list)
    last: list[str] = field(repr=False, default_factory=list)
    cities: list[str] = field(repr=False, default_factory=list)
    words: list[str] = field(repr=False, default_factory=list)
    foreign: list[list[str]] = field(repr=False, default_factory=list)
    """Given and family names of elsewhere."""


def load(code: str, root: Path) -> Language:
    """Read a language's parts and pools; names, towns and words are those of its lists, as they are written."""
    folder = root / "corpora" / f"synthetic-{code}"
    parts: dict[str, list[tuple[Node, ...]]] = {}
    told = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt")))
    for number, part in enumerate(re.split(r"(?m)^== ", told)[1:]):
        kind, _, body = part.partition("\n")
        where = f"{code}/{number}"
        texts = body.strip("\n").split("\n") if kind in ("said", "clinical") else [body.strip("\n")]
        parts.setdefault(kind, []).extend(parse(text, where) for text in texts if text.strip())
    filling = tomllib.loads((folder / "pools.toml").read_text(encoding="utf-8"))
    own = ("clinical/eponyms", "names/given", "names/last", "places/cities", "common/words")
    lists = (*(f"{name}_{code}" for name in own), "names/given_recent", "names/last_origins")
    eponyms, given, last, cities, words, *foreign = (
        (root / "dictionaries" / name / "items.txt").read_text(encoding="utf-8").splitlines() for name in lists
    )
    doubtful = root / "dictionaries" / f"places/cities_ambig_{code}" / "items.txt"
    if doubtful.is_file():
        cities += doubtful.read_text(encoding="utf-8").splitlines()
    plain, shapes = filling.get("plain", {}), filling.get("shapes", {})
    people = filling.get("people", {})
    second, unlisted = people.get("second", 0.0), people.get("unlisted", _UNLISTED)
    whole = filling.get("notes", {}).get("whole", _WHOLE)
    long = [word for word in words if len(word) > 6]
    return Language(
        code,
        parts,
        filling["pools"],
        filling["forms"],
        plain,
        shapes,
        second,
        unlisted,
        whole,
        eponyms,
        given,
        last,
        cities,
        long,
        foreign,
    )


class _Note:
    """One note while it is written."""

    def __init__(self, language: Language, draw: random.Random) -> None:
        self.language, self.draw = language, draw
        self.text = ""
        self.spans: list[Span] = []
        self.people: dict[str, tuple[str, str]] = {}
        self.first: dict[str, str] = {}
        self.day = _TODAY - timedelta(draw.randrange(_DAYS))
        names = list(language.shapes)
        shares = [*language.shapes.values(), 1 - sum(language.shapes.values())]
        shape = draw.choices([*names, ""], shares)[0] if names else ""
        self.shape = _SHAPES[shape] if shape != "scanned" else self._scanner()

    def say(self, text: str) -> None:
        """Write words that identify nobody."""
        self.text += self.shape(text)

    def _scanner(self) -> Callable[[str], str]:
        """Return what reads text as a scanner does, one worse than another."""
        draw, rate = Draw("scanned", self.draw.random()), self.draw.uniform(0.004, 0.03)
        return lambda text: scanned(text, draw, rate)

    def write(self, nodes: tuple[Node, ...]) -> None:
        """Write a part."""
        for node in nodes:
            if isinstance(node, str):
                self.say(node)
            elif isinstance(node, Choice):
                self.write(self.draw.choice(node.options))
            else:
                self._slot(node)

    def _pool(self, name: str) -> str:
        return self.draw.choice(self.language.pools[name])

    def _person(self, entity: str) -> tuple[str, str]:
        if entity not in self.people:
            if entity.startswith("kin"):
                last = self._person("patient")[1]
                self.people[entity] = (_capital(self._given()), last)
                return self.people[entity]
            draw, own = self.draw, self.language.pools
            given = self._given()
            last = draw.choice(own["last"] if draw.random() < 0.5 else self.language.last)
            if draw.random() < self.language.unlisted:
                last = draw.choice(self.language.foreign[1])
            elif draw.random() < 0.2:
                last = self._made_up(self.language.last)
            elif draw.random() < 0.07:
                last = f"{last}-{draw.choice(own['last'])}"
            if draw.random() < 0.04:
                last = f"{draw.choice(own['particle'])} {_capital(last)}"
                self.people[entity] = (_capital(given), last)
                return self.people[entity]
            if draw.random() < 0.04:
                given = f"{given}-{draw.choice(own['given'])}"
            if second := self.language.second:
                self.first[entity] = _capital(last)
                if draw.random() < second:
                    last = f"{last} {draw.choice(self.language.last if draw.random() < 0.5 else own['last'])}"
            self.people[entity] = (_capital(given), _capital(last))
        return self.people[entity]

    def _given(self) -> str:
        """Return a given name: of the pool, the lists, of elsewhere, or one that nobody has."""
        draw, own = self.draw, self.language
        if draw.random() < self.language.unlisted:
            return draw.choice(own.foreign[0]) if draw.random() < 0.5 else self._made_up(own.given)
        return draw.choice(own.pools["given"] if draw.random() < 0.4 else own.given)

    def _made_up(self, names: list[str]) -> str:
        """Return a name that nobody has: the beginning of one, the end of another."""
        first, second = self.draw.choice(names), self.draw.choice(names)
        return first[: max(2, len(first) // 2)] + second[len(second) // 2 :]

    def _town(self) -> str:
        """Return a town as it is written, or one that is nowhere."""
        draw, own = self.draw, self.language
        if draw.random() < self.language.unlisted:
            return _capital(self._made_up(own.cities))
        return _capital(draw.choice(own.pools["city"] if draw.random() < 0.4 else own.cities))

    def _surname(self) -> str:
        """Return the name of somebody after whom a house, a street or a firm is called."""
        draw, own = self.draw, self.language
        if draw.random() < self.language.unlisted:
            return _capital(self._made_up(own.last))
        return _capital(draw.choice(own.pools["last"] + own.last))

    def _slot(self, slot: Slot) -> None:
        if slot.literal:
            self._add(slot.entity, slot.literal)
            return
        kind = slot.entity.rstrip("0123456789")
        if kind in ("patient", "doctor", "relative", "kin"):
            text = self._name(slot)
            self._add("DOCTOR" if kind == "doctor" else "PATIENT", text)
        elif kind == "noun":
            self.say(self._noun())
        elif kind == "number":
            self.say(str(self._within(slot, 1, 200)))
        elif kind in self.language.plain:
            self.say(self._filled(self.draw.choice(self.language.plain[kind])))
        elif kind in _NUMBERS:
            before, _, text = self._digits(self._pool_or_form(kind, slot.form)).rpartition("^")
            self.say(before)
            self._add(_NUMBERS[kind], text)
        elif kind == "date":
            self._add("DATE", self._date(slot.form))
        elif kind == "age":
            self._add("AGE", self._pool(f"age_{slot.form}") if slot.form else str(self._within(slot, 1, 98)))
        elif kind == "city":
            self._add("CITY", self._town())
        elif kind == "email":
            given, last = self.people.get("patient", (self._pool("given"), self._pool("last")))
            user = self.draw.choice(
                [f"{given}.{last}", f"{given[0]}.{last}", last, f"{last}{self.draw.randint(1, 99)}"]
            )
            self._add("EMAIL", f"{_plain(user)}@{self._pool('domain')}")
        elif kind == "url":
            self._add("URL", f"www.{self._pool('domain')}")
        else:
            before, _, text = self._digits(self._filled(self._pool_or_form(kind, slot.form))).rpartition("^")
            self.say(before)
            self._add(_WORDS[kind], text)

    def _within(self, slot: Slot, low: int, high: int) -> int:
        """Return a number within the bounds that a slot names, or these."""
        if slot.arg:
            low, high = map(int, slot.arg.split("-"))
        return self.draw.randint(low, high)

    def _filled(self, text: str) -> str:
        """Return an item of a pool, with town, family name, eponym and number where it says so."""
        own, draw = self.language, self.draw
        if "%E" in text:
            text = text.replace("%E", _capital(draw.choice(own.eponyms)))
        text = text.replace("%C", self._town()).replace("%L", self._surname())
        text = text.replace("%G", _capital(draw.choice(own.pools["given"])))
        return text.replace("%N", str(draw.randint(1, 180)))

    def _pool_or_form(self, kind: str, form: str) -> str:
        return self._pool(f"{kind}_{form}" if form else kind)

    def _digits(self, form: str) -> str:
        """Return a form with a digit for each 0, a zero for each ~, and a capital for each @."""
        made = {"0": "0123456789", "~": "0", "@": "ABCDEFGHKLMNPRSTVWXYZ"}
        return "".join(self.draw.choice(made.get(c, c)) for c in form)

    def _noun(self) -> str:
        """Return ordinary words, or words that no list has, written as ordinary words are."""
        first = self.draw.choice(self.language.words)
        if self.language.code in ("de", "nl") and self.draw.random() < 0.5:
            first += self.draw.choice(self.language.words)
        return _capital(first) if self.language.code == "de" else first

    def _name(self, slot: Slot) -> str:
        given, last = self._person(slot.entity)
        form = slot.form or "full"
        if form == "signed":
            form = self.draw.choice(["full", "full", "initial", "last"])
        code = self._code(given, last)
        initials, inverted = f"{given[0]}.", f"{last}, {given}"
        if self.language.code == "nl":
            last, initials, inverted = self._dutch(form, given, last)
        text = {
            "full": f"{given} {last}",
            "last": last,
            "first": self.first.get(slot.entity, last),
            "given": given,
            "short": f"{given} {self.first.get(slot.entity, last)}",
            "inverted": inverted,
            "reversed": f"{last} {given}",
            "initial": f"{initials} {last}",
            "initials": f"{given[0]}. {last[0]}.",
            "masked": f"{given} {last[0].upper()}.",
            "code": code,
        }[form]
        return text.upper() if slot.case == "!" else text.lower() if slot.case == "~" else text

    def _dutch(self, form: str, given: str, last: str) -> tuple[str, str, str]:
        """Return family name, initials and both behind a comma as in Dutch: *de Vries*, *M.P.*, *Vries, Jan de*."""
        draw, initials = self.draw, f"{given[0]}."
        if draw.random() < 0.4:
            more = draw.choices("ABCEGHJMPTW", k=draw.choice([1, 1, 2]))
            initials = draw.choice([".", ".", ". ", ""]).join([given[0], *more])
            initials += "" if initials.isalpha() else "."
        particle = _PARTICLE.match(last)
        if particle and draw.random() < (0.3 if form == "last" else 0.7):
            last = particle[0].lower() + last[particle.end() :]
        inverted = f"{last}, {given}"
        if particle and draw.random() < 0.6:
            inverted = f"{last[particle.end() :]}, {given} {particle[0].lower().strip()}"
        return last, initials, inverted

    def _code(self, given: str, last: str) -> str:
        """Return letters that somebody signs with."""
        particle = _PARTICLE.match(last) if self.language.code == "nl" else None
        if particle:
            return given[0] + "".join(re.findall(r"\b\w", particle[0].lower())) + last[particle.end()]
        code = self.draw.choice([given[0] + last[0], last[:3], given[0] + last[:2], last[:2] + given[:2]])
        code = re.sub(r"\W", "", code)
        return self.draw.choice([code, code.lower(), code.lower(), code.upper()])

    def _date(self, form: str) -> str:
        draw, own = self.draw, self.language.forms
        day = (
            date(1925, 1, 1) + timedelta(draw.randrange(36000))
            if form == "born"
            else self.day + timedelta(draw.randint(-90, 60))
        )
        if form == "history":
            day -= timedelta(draw.randrange(_LIFE))
        forms = own["born"] if form == "born" else own[f"date_{form}"] if form else own["date"]
        return _dated(draw.choice(forms), day, own)

    def _add(self, category: str, text: str) -> None:
        text = self.shape(text)
        self.spans.append(Span(len(self.text), len(self.text) + len(text), category))
        self.text += text


_PARTICLE = re.compile(r"(?i)(?:(?:van|de|den|der|ter|ten|te|het|'t|in|op|aan|uit|el) )+")
_NUMBERS = {
    "phone": "PHONE", "fax": "FAX", "record": "MEDICALRECORD", "plan": "HEALTHPLAN", "id": "IDNUM", "zip": "ZIP",
    "device": "DEVICE", "account": "ACCOUNT", "licence": "LICENSE", "room": "ROOM",
}  # fmt: skip
_WORDS = {
    "hospital": "HOSPITAL", "organization": "ORGANIZATION", "street": "STREET", "country": "COUNTRY",
    "job": "PROFESSION", "insurer": "ORGANIZATION", "state": "STATE", "holiday": "DATE",
}  # fmt: skip


def _ascii(text: str) -> str:
    for sign, letters in _LETTERS.items():
        text = text.replace(sign, letters)
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


_LETTERS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
_SHAPES: dict[str, Callable[[str], str]] = {"": str, "upper": str.upper, "lower": str.lower, "ascii": _ascii}


def _capital(name: str) -> str:
    """Write a folded name with capitals; small words in it stay small."""
    small = {
        "am",
        "an",
        "der",
        "im",
        "ob",
        "bei",
        "in",
        "de",
        "la",
        "le",
        "les",
        "sur",
        "sous",
        "en",
        "aan",
        "den",
        "op",
    }
    words = re.split(r"((?<!\S)'[st](?=[ -])|[ '-])", name)
    return "".join(w if at and w in small else w[:1].upper() + w[1:] for at, w in enumerate(words))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())


def _dated(form: str, day: date, words: dict[str, list[str]]) -> str:
    """Return a date.

    d, dd, m, mm, yy, yyyy, w (week) and q (quarter) are numbers, M is a month, A one in short, W a weekday, D the first
    two letters of one.
    """
    told = {
        "yyyy": f"{day.year}", "yy": f"{day.year % 100:02d}", "dd": f"{day.day:02d}", "mm": f"{day.month:02d}",
        "d": str(day.day), "m": str(day.month), "M": words["months"][day.month - 1],
        "W": words["weekdays"][day.weekday()], "w": str(day.isocalendar().week), "q": str((day.month + 2) // 3),
        "A": words.get("short", words["months"])[day.month - 1], "D": words["weekdays"][day.weekday()][:2],
    }  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda mark: told[mark[1]], form)


def documents(code: str, count: int, root: Path, seed: int = 1, half: int | None = None) -> Iterator[Document]:
    """Write notes of a language, or of each second of its parts; the same seed gives the same notes."""
    language = load(code, root)
    if half is not None:
        language.parts = {kind: parts[half::2] for kind, parts in language.parts.items()}
    for number in range(count):
        draw = random.Random(f"{seed} {code} {number}")
        note = _Note(language, draw)
        if draw.random() < language.whole and "whole" in language.parts:
            note.write(draw.choice(language.parts["whole"]))
        else:
            if draw.random() < 0.75:
                note.write(draw.choice(language.parts["head"]))
                note.text += draw.choice(["\n", "\n\n"])
            for _ in range(draw.randint(3, 12)):
                kind = "said" if draw.random() < 0.5 else "clinical"
                note.write(draw.choice(language.parts[kind]))
                note.text += draw.choice([" ", " ", " ", "\n", "\n\n"])
            if draw.random() < 0.7:
                note.text += "\n"
                note.write(draw.choice(language.parts["foot"]))
        yield Document(f"{code}-{number:05d}", note.text + "\n", tuple(note.spans))
