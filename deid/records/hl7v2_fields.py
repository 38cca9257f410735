"""The fields of a message of HL7 v2, taken apart: what of them is a place, by the rules of a table."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from deid.phi import CATEGORIES
from deid.records.embedded import unpacked
from deid.records.hl7v2_codec import CHECKS, HINT, Codec, Following, codec_of, wrong
from deid.records.hl7v2_lists import (
    DAY,
    HL7_TABLE,
    LONGEST_CODE,
    NUMBER_OF_PERSON,
    all_listed_as,
    is_beside_lists,
    is_person,
    is_stray,
    listed_as,
    stray,
)
from deid.records.new_ids import OID
from deid.records.readings import read_as
from deid.records.record import BLOCKED, INSTANT, NAMES, TEXT, Place, iso
from deid.records.sweeping import known_of
from deid.records.tables import (
    CODE,
    DATA,
    DISPLAY,
    KEEP,
    LISTED,
    NUMBER,
    RANGE,
    By,
    Parts,
    Rule,
    Table,
    display_as,
    kept_as,
    kept_words,
    titles,
    words_of,
)

ENDS = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What may end a segment, as it ends a line of a note: else all behind the first one would be fields of MSH."""
_is_broken = re.compile(f"[{ENDS}]").search
"""Tells whether a kept code goes over the end of a line: what stands behind it is no code."""
NULL: Final = '""'
_NOBODY: Final = ("", 0, 0)
_DAY: Final = len("20240312")
_KIND_OF_NUMBER: Final = 5
"""The component of a number that says of what kind it is."""
_LONGEST_KIND: Final = 2
"""Letters of a code that says of what kind a name is."""
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|['. -])*\Z")
_LONGEST_LOGIN: Final = 3
"""Letters of a word before a name that may be somebody's number, or a place's."""
_LAST_NAMED: Final = 3
"""The last component in which a given name may stand behind an organization's, or a family's in place of a number."""
_CALLED: Final = frozenset(("ORGANIZATION", "HOSPITAL", "DEPARTMENT", *NAMES))
_CHECK: Final = "check"
_SHAPE: Final = "shape"
_AMOUNT: Final = "amount"
_OID: Final = "oid"
LINK: Final = "link"
"""Kind of a place that gets the same new id in all records of a key, whatever the policy writes."""
_REMEMBERED: Final = 1 << 12
_LONGEST_REMEMBERED: Final = 128
"""How many fields are remembered, and of how many characters: a sender, a doctor, a code come again and again."""

Found = tuple[tuple[Place, ...], dict[tuple[str, str], None]]
"""Places of a field, counted from where it begins, and the identifiers in them that may stand elsewhere as well."""


class FieldPlan:
    """What is done with a field of one number in the segments of a name, or with one of a data type there.

    Parameters
    ----------
    rule : Rule or None
        None for a field that no line names.
    path : str
        Of the field in the first such segment.
    dated : bool
        Whether a day in it is looked for elsewhere.
    asked : bool
        Whether it tells of whom the message is, or of which day.
    closed : re.Pattern, optional
        What of it says how the message is read, and is neither examined nor searched.
    answers : int
        The field with the question that it answers, 0 for none.
    """

    def __init__(
        self,
        rule: Rule | None,
        path: str = "",
        *,
        dated: bool = False,
        asked: bool = False,
        closed: re.Pattern[str] | None = None,
        answers: int = 0,
    ) -> None:
        self.rule = rule
        self.path = path
        self.dated = dated
        self.asked = asked
        self.closed = closed
        self.coded = rule in (KEEP, LISTED)
        """Whether a short code in it stays."""
        self.by = rule.field if isinstance(rule, By) else 0
        """The field that says its data type, 0 for none."""
        self.answers = answers
        self.by_shape = rule == _SHAPE
        self.measured = rule == NUMBER
        self.seen: dict[str, Found] = {}
        """What was found in fields that it met, as long as they are remembered."""
        self.typed: dict[str, FieldPlan] = {}
        """Data type -> what is done with a field of that type."""
        self.shaped: dict[str, FieldPlan] = {}
        """Kind -> what is done with a field of no type that looks like one."""


class FieldReader:
    """What the fields of all messages are that have the same separators and character set.

    Parameters
    ----------
    table : Table
        What stands where.
    codec : Codec
        How the messages write text.
    """

    def __init__(self, table: Table, codec: Codec) -> None:
        self.table = table
        self.codec = codec
        self.component, self.repetition, self.sub = codec.component, codec.repetition, codec.sub
        self._encode = codec.encode
        self._standards = tuple(table.facts["oids"])
        self._systems = table.facts["coding_systems"]
        self._places = frozenset(table.facts.get("place_systems", ()))
        self._number_kinds: Mapping[str, str] = table.facts["number_kinds"]
        self.wanted: frozenset[str] = frozenset(table.facts.get("known", ()))
        self._plans: dict[str, list[FieldPlan]] = {}
        self.unnamed = FieldPlan(None)
        """What is done with a field that no line names."""
        self._remembered: list[FieldPlan] = []

    def plans(self, name: str, *, first: bool) -> list[FieldPlan]:
        """Return field -> what is done with it: of a segment's first occurrence, or a further one."""
        key = name if first else f"{name}+"
        found = self._plans.get(key)
        if found is None:
            rules, facts = self.table.rules(name), self.table.facts
            dates, asked = facts.get("known_dates", ()), {*facts.get("sexes", ())}
            if first:
                asked.update(facts.get("patient", ()), facts.get("date", ()))
            found = [self.unnamed] * (max(rules, default=-1) + 1)
            for number, rule in rules.items():
                path = f"{name}-{number}"
                form = facts.get("closed", {}).get(path)
                closed = None if form is None else re.compile(form)
                found[number] = FieldPlan(
                    rule,
                    path,
                    dated=first and path in dates,
                    asked=path in asked,
                    closed=closed,
                    answers=int(facts.get("answers", {}).get(path, 0)),
                )
            if rules:  # other names come from records, and would fill the memory
                self._plans[key] = found
        return found

    def typed(self, plan: FieldPlan, kind: str, raw: str) -> FieldPlan:
        """Return what is done with a field whose data type another one says."""
        found = plan.typed.get(kind)
        if found is None:
            rule = self.table.of_type(kind)
            if rule is None:
                return self.unnamed
            found = plan.typed[kind] = FieldPlan(rule, dated=plan.dated)
        return self._by_shape(plan, raw) if found.by_shape else found

    def question(self, raw: str) -> str:
        """Return what a coded question says: its words, else those of another system, else its code."""
        pieces = raw.partition(self.repetition)[0].split(self.component)
        said = next((pieces[n] for n in (1, 4, 0) if len(pieces) > n and pieces[n]), "")
        return self.codec.decode(said, "")[0]

    def read(self, plan: FieldPlan, raw: str) -> Found:
        """Return the places of a field that is not empty, and what is known by them.

        Parameters
        ----------
        plan : FieldPlan
        raw : str
            The field as it stands.

        Raises
        ------
        InputError
            When it cannot be read; its position is the place inside of the field.
        """
        found = plan.seen.get(raw)
        if found is None:
            found = self._read(plan.rule, raw, plan.dated)
            if len(raw) <= _LONGEST_REMEMBERED:
                if len(self._remembered) >= _REMEMBERED:
                    for full in self._remembered:
                        full.seen.clear()
                    self._remembered.clear()
                self._remembered.append(plan)
                plan.seen[raw] = found
        return found

    def _read(self, rule: Rule | None, raw: str, dated: bool) -> Found:
        places: list[Place] = []
        if rule is None:
            places.append(Place("", 0, len(raw), BLOCKED))
        elif rule == LISTED and len(raw) <= LONGEST_CODE and raw.isalnum():
            pass
        elif rule != KEEP or _is_broken(raw):
            self._field(places, rule, raw)
        elif len(raw) > LONGEST_CODE and is_stray(raw, self.component, self.sub, self.table):
            self._kept(places, raw, 0, "")
        known: dict[tuple[str, str], None] = {}
        for place in places:
            kind = place.kind
            if kind == "DATE":
                if dated and not field_of(place.path):
                    known["DATE", place.text] = None
            elif kind in self.wanted:
                for said in known_of(kind, place.text):
                    known[said] = None
        return tuple(places), known

    def _field(self, places: list[Place], rule: Rule, raw: str) -> None:
        if rule in (TEXT, NUMBER, RANGE, _AMOUNT):
            assert isinstance(rule, str)
            self._leaf(places, rule, raw, 0, "")  # a repetition in a text is a line of it
            return
        if rule == LISTED and not is_beside_lists(raw, self.component, self.repetition, self.table):
            return
        at = 0
        for number, part in enumerate(raw.split(self.repetition), 1):
            here = f"({number})" if number > 1 else ""
            if part and part != NULL:
                if isinstance(rule, Parts):
                    if rule.unnamed and self._is_misplaced(part, rule):
                        coded = rule.parts.get(2, _NOBODY)[0] == CODE  # no words belong there
                        self._misplaced(places, part, at, here, coded=coded)
                    else:
                        self._parts(places, rule, part, at, here, self.component)
                elif rule == LISTED:
                    self._of_list(places, part, at, here)
                else:
                    assert isinstance(rule, str)
                    self._leaf(places, rule, part, at, here)
            at += len(part) + 1

    def _by_shape(self, plan: FieldPlan, raw: str) -> FieldPlan:
        """Return what is done with a value whose type nobody says."""
        if self.component in raw:
            return self.typed(plan, "CWE", raw)
        rule = "DATE" if DAY.match(raw) else NUMBER  # what is no number is text
        found = plan.shaped.get(rule)
        if found is None:
            found = plan.shaped[rule] = FieldPlan(rule, dated=plan.dated)
        return found

    def _parts(self, places: list[Place], rule: Parts, raw: str, at: int, path: str, sep: str) -> None:
        """Take a repetition, or a component, apart."""
        pieces = raw.split(sep)
        done = 0
        for number, piece in enumerate(pieces, 1):
            if number > done and piece and piece != NULL:
                inner, first, last = rule.parts.get(number, _NOBODY)
                here = f"{path}.{first or number}"
                if inner == LISTED and (sep == self.sub or self.sub not in piece):
                    inner = listed_as(piece, self.table.facts["list_words"])
                    if inner in (KEEP, TEXT) and 1 < number <= _LAST_NAMED:
                        inner = self._as_name(pieces, number, rule) or inner
                elif inner == NUMBER and piece.isalpha() and len(piece) > _LONGEST_KIND:
                    inner = "IDNUM"  # no sentence stands in an amount: a lone word there is somebody's
                elif inner == DISPLAY:
                    system = pieces[number] if len(pieces) > number else ""
                    inner = "LOCATION-OTHER" if system in self._places else self._said(piece, system)
                elif (
                    inner in CATEGORIES
                    and inner not in NAMES
                    and number == 1
                    and rule.parts.get(2, _NOBODY)[0] == _CHECK
                ):
                    said = pieces[_KIND_OF_NUMBER - 1] if len(pieces) >= _KIND_OF_NUMBER else ""
                    inner = self._number_kinds.get(said, inner)
                if inner == "IDNUM" and number == 1 and self._is_named(pieces, rule):
                    inner, first, last = rule.parts[2][0], 1, rule.parts[2][2]
                    here = f"{path}.1"
                if inner == CODE and len(pieces) > number + 1 and pieces[number + 1] in self._places:
                    inner = "IDNUM"  # of a county or town
                if inner == KEEP and not _is_broken(piece):
                    if len(piece) > LONGEST_CODE and (shape := kept_as(CODE, piece)) in CATEGORIES:
                        self._leaf(places, shape, piece, at, here)
                    at += len(piece) + 1
                    continue
                if (inner == CODE and _is_day(pieces, number)) or (inner == TEXT and _is_instant(piece)):
                    inner = "DATE"
                elif inner in (CODE, LISTED) and self.sub in piece and sep != self.sub:
                    self._inside(places, inner, piece, at, here)
                    at += len(piece) + 1
                    continue
                if isinstance(inner, Parts):
                    self._parts(places, inner, piece, at, here, self.sub)
                elif inner == DATA:
                    self._data(places, pieces, piece, at, here)
                elif inner == _CHECK:
                    self._check(places, pieces, number, at, path)
                elif first < last:
                    # those before it, if any, are empty
                    begin, done = at - (number - first), last
                    self._leaf(places, str(inner), sep.join(pieces[first - 1 : last]).rstrip(sep), begin, here, sep)
                else:
                    self._leaf(places, str(inner), piece, at, here)
            at += len(piece) + 1

    def _is_named(self, pieces: Sequence[str], rule: Parts) -> bool:
        """Tell whether a person's name stands where the number belongs: alone, or with a given name and initials."""
        family, given, further = (*pieces[:3], "", "")[:3]
        words = all(_WORDS.match(piece.replace(",", " ")) for piece in (family, given or family))
        named = words and rule.parts.get(2, _NOBODY)[0] in NAMES and len(further.strip(". ")) < _LONGEST_KIND
        usual = words_of(self.table.facts["list_words"])
        return named and (len(pieces) == 1 or (len(family) > _LONGEST_LOGIN and family.lower() not in usual))

    def _as_name(self, pieces: Sequence[str], number: int, rule: Parts) -> str:
        """Return the category of a given name where a code belongs, behind the name of an organization or of a person
        in a number's place; empty for what is none.
        """
        piece, before = pieces[number - 1], rule.parts.get(number - 1, _NOBODY)[0]
        facts = self.table.facts
        if not piece.isalpha() or len(piece) <= _LONGEST_KIND or piece.lower() in words_of(facts["list_words"]):
            return ""
        if piece.upper() in facts["no_given_names"]:
            return ""
        if before == _CHECK:  # no digit: a family name
            return "PATIENT" if pieces[number - 2].isalpha() and len(pieces[number - 2]) > _LONGEST_KIND else ""
        return str(before) if before in _CALLED else ""

    def _kept(self, places: list[Place], raw: str, at: int, path: str) -> None:
        """Make places of what is no code in a field that is kept."""
        pieces = raw.split(self.component)
        if len(pieces) > 1 and self._is_misplaced(raw):
            self._misplaced(places, raw, at, path)
            return
        for number, piece in enumerate(pieces, 1):
            here = f"{path}.{number}" if len(pieces) > 1 else path
            if self.sub in piece:
                self._inside(places, KEEP, piece, at, here)
            elif _is_day(pieces, number):
                self._leaf(places, "DATE", piece, at, here)
            elif (kind := kept_words(piece)) != KEEP:
                self._leaf(places, kind, piece, at, here)
            at += len(piece) + 1

    def _inside(self, places: list[Place], kind: str, raw: str, at: int, path: str) -> None:
        """Make places of what is no code in the parts of a component that is one, of a list, or kept."""
        pieces = raw.split(self.sub)
        found = stray(self.sub).search(raw)
        if found and (said := found[1] or found[2]) and said.upper() not in self.table.facts["no_given_names"]:
            self._misplaced(places, raw, at, path, self.sub)
            return
        for number, piece in enumerate(pieces, 1):
            here = f"{path}.{number}"
            if _is_day(pieces, number):
                self._leaf(places, "DATE", piece, at, here)
            elif piece and (said := self._kind_of(kind, piece)) != KEEP:
                self._leaf(places, said, piece, at, here)
            at += len(piece) + 1

    def _kind_of(self, kind: str, piece: str) -> str:
        """Return what a part is of what is a code, of a list, or kept."""
        if kind == LISTED:
            return listed_as(piece, self.table.facts["list_words"])
        return kept_words(piece) if kind == KEEP else kind

    def _of_list(self, places: list[Place], raw: str, at: int, path: str) -> None:
        """Make places of what no list has in a field of a list: a person, else each component for itself."""
        kinds = all_listed_as(raw.split(self.component), self.table)
        if self._is_misplaced(raw) or kinds[:2] == [TEXT, TEXT]:
            self._misplaced(places, raw, at, path)
            return
        for number, (piece, kind) in enumerate(zip(raw.split(self.component), kinds, strict=True), 1):
            if self.sub in piece:
                self._inside(places, LISTED, piece, at, f"{path}.{number}")
            elif kind != KEEP:
                self._leaf(places, kind, piece, at, f"{path}.{number}")
            at += len(piece) + 1

    def _said(self, words: str, system: str) -> str:
        """Return what the words of a code are, by the coding system behind them."""
        return display_as(words, of_standard=system in self._systems or HL7_TABLE.match(system) is not None)

    def _is_misplaced(self, raw: str, rule: Parts | None = None) -> bool:
        """Tell whether a person, or an identifier by its shape, stands where a code should: many messages are a field
        off. The second and third component of a code are its words and its coding system; of a data type (``rule``)
        that begins with a number, only persons tell, and its components of free text tell nothing.
        """
        for found in stray(self.component).finditer(raw):
            said = found[1] or found[2]
            if said is not None:
                if said.upper() not in self.table.facts["no_given_names"]:
                    return True
            elif rule is None or not (rule.numbered or raw.count(self.component, 0, found.start()) + 1 in rule.texts):
                return True
        return False

    def _misplaced(
        self, places: list[Place], raw: str, at: int, path: str, sep: str = "", *, coded: bool = False
    ) -> None:
        """Make places of what stands in a wrong field: names are text as notes write them, family name first; with
        a degree or title behind them, or a usual given name, they are a person's without a doubt.
        """
        pieces = raw.split(sep or self.component)
        if is_person(pieces, coded=coded) or any(
            piece.strip(". ").lower() in titles(behind=True) for piece in pieces[5:7]
        ):
            person = self.table.of_type("XCN", "DOCTOR")
            assert isinstance(person, Parts)
            self._parts(places, person, raw, at, path, sep or self.component)
            return
        named, begun = True, 0
        for number, piece in enumerate(pieces, 1):
            if piece and piece != NULL:
                here = f"{path}.{number}"
                is_word = bool(_WORDS.match(piece))
                named = named and (number == 1 or is_word)
                if named and is_word:
                    self._leaf(places, TEXT, piece, at, here)
                    if begun:
                        between = ", " if begun == 1 else " "
                        places[-2] = places[-2].varied(behind=between, joins=True)
                    begun += 1
                elif sum(map(str.isdigit, piece)) >= NUMBER_OF_PERSON:
                    self._leaf(places, "IDNUM", piece, at, here)
                else:
                    self._leaf(places, CODE, piece, at, here)
            at += len(piece) + 1

    def _leaf(self, places: list[Place], kind: str, raw: str, at: int, path: str, sep: str = "^") -> None:
        end = at + len(raw)
        if kind == _OID:
            if OID.match(raw):
                if not raw.startswith(self._standards):
                    places.append(Place(path, at, end, LINK, raw))
                return
            kind = "IDNUM"
        if kind == _AMOUNT:
            kind = "DATE" if DAY.match(raw) else NUMBER
        if kind in (CODE, NUMBER, RANGE):
            if self.component in raw and self._is_misplaced(raw):
                self._misplaced(places, raw, at, path)
                return
            kind = kept_as(kind, raw)
            if kind == KEEP:
                return
        if kind in ("", BLOCKED):
            places.append(Place(path, at, end, BLOCKED, examined=kind == BLOCKED))
        elif kind == KEEP:
            raise wrong("a line begins no segment", path)
        elif kind == "DATE" and (found := INSTANT.match(raw)) and read_as(kind, raw) == kind:
            places.append(Place(path, at + found.start(1), end, kind, iso(found[1]), self.codec.encode_date))
        else:
            text, starts = self.codec.decode(raw, path)
            if sep != "^":  # what replaces names knows the usual separators
                text = text.replace(sep, "^") if sep == self.sub else text.replace(sep, "^").replace(self.sub, "&")
            if text and not text.isspace():
                places.append(Place(path, at, end, read_as(kind, text), text, self._encode, starts))

    def _data(self, places: list[Place], pieces: Sequence[str], raw: str, at: int, path: str) -> None:
        """Read a document inside a message."""
        kind, subtype, encoding = (pieces[n].strip() if len(pieces) > n else "" for n in (1, 2, 3))
        plain = self.table.facts.get("plain_text", ())
        if not kind or not {kind.upper(), subtype.upper()} <= {*plain} or encoding not in ("A", "Base64", "Hex", ""):
            places.append(Place(path, at, at + len(raw), BLOCKED))
            return
        if encoding in ("A", ""):
            self._leaf(places, TEXT, raw, at, path)
            return
        text = unpacked(raw, self.codec.charset, path, HINT, hexadecimal=encoding == "Hex")
        if text.strip():
            encode = self.codec.encode_hex if encoding == "Hex" else self.codec.encode_base64
            places.append(Place(path, at, at + len(raw), TEXT, text, encode))

    def _check(self, places: list[Place], pieces: Sequence[str], number: int, at: int, path: str) -> None:
        """Let a check digit follow the number that it belongs to: the first component of those before it."""
        place = next((p for p in reversed(places) if p.path.startswith(f"{path}.")), None)
        scheme = CHECKS.get(pieces[number] if len(pieces) > number else "")
        digit, end = pieces[number - 1], at + len(pieces[number - 1])
        if place is not None and place.end == at - 1 and scheme is not None and place.text.isdecimal():
            inside = digit == place.text[-1] == scheme(place.text[:-1])
            if inside or digit == scheme(place.text):
                follow = Following(self.codec, None if inside else scheme)
                stretches = (place.start, place.end), (at, end)
                places[places.index(place)] = place.varied(encode=follow, stretches=stretches)
                return
        places.append(Place(f"{path}.{number}", at, end, BLOCKED, examined=True))


def _is_day(pieces: Sequence[str], number: int) -> bool:
    """Tell whether a component is a day: a code of eight digits has words behind it, or its system."""
    said = pieces[number - 1]
    return bool(DAY.match(said)) and (_is_instant(said) or not any(pieces[number : number + 2]))


def _is_instant(text: str) -> bool:
    """Tell whether words are a day with its time of day."""
    return len(text) > _DAY and bool(DAY.match(text))


@functools.lru_cache(maxsize=64)
def fields_of(table: Table, sep: str, signs: str, charset: str) -> FieldReader:
    """Return how fields are read: by the table, the separator of fields and the four signs inside of them."""
    return FieldReader(table, codec_of(sep, signs, charset))


def field_of(path: str) -> str:
    """Return the field of a path whose place is a first component of it: PID-3 of PID-3(2).1; else the path."""
    return path.removesuffix(".1").partition("(")[0]
