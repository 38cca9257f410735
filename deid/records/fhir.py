"""Resources of FHIR R4 and R5 in JSON, read as places: strings where they stand, nothing serialized again.

A record is a resource, a Bundle, or a line of a bulk export. What its elements are stands in
``dictionaries/records/fhir-r4.toml``. White space, order, numbers and escapes stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from deid.base.errors import EncodingError, FormatError
from deid.records.ages import is_old, write_age
from deid.records.answers import answer
from deid.records.embedded import unpacked
from deid.records.fhir_addresses import (
    ADDRESS,
    OBJECT_NUMBER,
    OID_BEGIN,
    SEARCH,
    SEGMENT,
    TYPED,
    USUAL,
    contained_key,
    is_usual,
    may_name,
    numbers_of,
    of_standard,
    reference_of,
)
from deid.records.fhir_writing import (
    DATE,
    DocumentWriter,
    EncodedDocument,
    write,
    write_date,
    write_markup,
    write_number,
)
from deid.records.json_positions import (
    ARRAY,
    OBJECT,
    OTHER,
    STRING,
    JsonValue,
    Scanner,
    all_down,
    down,
    each,
    member,
    objects,
    offsets,
    outer_end,
    outer_start,
    string_of,
    strings,
)
from deid.records.markup import visible
from deid.records.new_ids import OID, UUID
from deid.records.readings import read_as
from deid.records.record import BLOCKED, LEAST_NUMBER, NAMES, TEXT, ChangeMark, Place, Record, assemble, day_of
from deid.records.sweeping import SEXES, known_of, sexes_of, sweep
from deid.records.tables import CODE, DATA, DISPLAY, KEEP, NUMBER, ByName, Inner, Rule, Table, display_as, kept_as

STANDARD = "fhir-r4"
_HINT = "repair the resource at its source, or leave it out"
_PARAMETER = re.compile(r"([^&=?]+)=([^&]*)")
_LEAST_DIGITS = 6  # of a word that is a number of somebody's, where an address of a system belongs
_NUMBERS = frozenset(("IDNUM", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "DEVICE"))
_ADDRESS_OF_CODE = re.compile(r"(?!.*[0-9]{5})https?://[A-Za-z0-9./_#-]+")
_VALUE = re.compile(r"(?:\[[0-9]+\])?(?:\.value[A-Za-z]+)?(?:\.text|\.coding\[[0-9]+\]\.display)?")
"""Behind the path of an element with an answer, the words of its value."""
_CODED = frozenset(("valueBoolean", "valueCode", "valueCoding", "valueCodeableConcept"))
"""Values of an extension of a standard that are of a closed list, where no person and no place is described."""
_DESCRIBED = frozenset(
    (
        "Patient",
        "RelatedPerson",
        "Practitioner",
        "PractitionerRole",
        "Person",
        "Location",
        "Organization",
        "Coverage",
        "Group",
    )
)
_SEVERAL = ("Bundle", "Parameters")  # they hold others, of which each says whose it is
_PERSONS = frozenset(("Patient", "RelatedPerson", "Practitioner", "Person"))
_REDACTED = (
    '{"system":"http://terminology.hl7.org/CodeSystem/v3-ObservationValue","code":"REDACTED","display":"redacted"}'
)


def read(data: bytes, table: Table, known: Mapping[str, tuple[tuple[str, str], ...]] | None = None) -> Record:
    """Read one record.

    Parameters
    ----------
    data : bytes
        A resource.
    table : Table
        What stands where.
    known : mapping, optional
        Patient's id -> identifiers that other records say.

    Raises
    ------
    InputError
        When it cannot be read; names the element, and no text.
    """
    try:
        source = data.decode("utf-8")
    except UnicodeError:
        raise EncodingError("the resource is not in UTF-8", "convert it to UTF-8", position="resource") from None
    root = Scanner(source, table.names).root()
    if root.kind != OBJECT or "resourceType" not in root.value:
        raise FormatError("this is no resource: it has no resourceType", _HINT, "", "resource")
    resource = _Resource(data, source, table)
    return resource.record(root, known or {})


class _Resource:
    """A record while its places are found."""

    def __init__(self, data: bytes, source: str, table: Table) -> None:
        self.data, self.source, self.table = data, source, table
        self.places: list[Place] = []
        self.links: list[Place] = []
        self.marks: list[ChangeMark] = []
        self.kept: list[tuple[JsonValue, str]] = []
        self.numbers: list[tuple[JsonValue, str]] = []
        """Long numbers without quotes."""
        self.known: dict[tuple[str, str], None] = {}
        self.data_at: dict[int, bool] = {}
        """Where an object with a document begins -> whether it is read."""
        self.types: dict[str, str] = {}
        """Address of a resource of the Bundle -> its type."""
        self.patients: list[str] = []
        self.subjects: list[str] = []
        self.called: dict[str, str] = {}
        """What a patient of a Bundle is called beside the id: the end of an address, a number -> the key."""
        self.whose: list[tuple[int, str | None]] = []
        self.keys: dict[int, str] = {}
        """Where a patient of a Bundle begins -> the key."""
        self.sexes: dict[str, str] = {}
        self.codes: set[str] = set()
        """Codes of standards' systems, and addresses of such systems."""
        self.owner: str | None = None
        self.inside = ""
        """Type of the resource that is read."""
        self.dates: dict[str, str] = {}
        self.facts: Mapping[str, Any] = table.facts
        self.answers = tuple(self.facts["answers"])
        """How elements with an answer begin."""

    # -- what stands where

    def record(self, root: JsonValue, known: Mapping[str, tuple[tuple[str, str], ...]]) -> Record:
        """Return the record of a resource."""
        for entry in objects(root.value.get("entry")):
            url, inner = string_of(entry, "fullUrl"), member(entry, "resource")
            if inner is not None and url:
                self.types[url] = string_of(inner, "resourceType")
            if inner is not None and string_of(inner, "resourceType") == "Patient":
                self.keys[inner.start] = key = string_of(inner, "id") or url.rpartition(":")[2]
                for name in (url.rpartition(":")[2], *numbers_of(inner)):
                    self.called.setdefault(name, key)
        self._resource(root, "", None)
        self.subjects = [self.called.get(name, name) for name in self.subjects]
        patient = next(iter([*self.patients, *self.subjects]), None)
        whose = [(at, owner and self.called.get(owner, owner)) for at, owner in sorted(self.whose, key=itemgetter(0))]
        facts = self.facts
        parts: list[str] = []
        for place in self.places:
            parts.append(place.text)
            if place.joins:
                continue
            if place.kind in facts.get("known", ()):
                self.known |= dict.fromkeys(known_of(place.kind, "^".join(parts)))
            elif place.kind == "DATE" and place.path.rpartition(".")[2] in facts.get("known_dates", ()):
                self.known["DATE", place.text] = None
            parts.clear()
        for one in dict.fromkeys((patient, *(owner for _, owner in whose))) if known else ():
            for pair in known.get(one or "", ()):
                if pair[0] in SEXES:
                    self.sexes.setdefault(pair[1], pair[0])
                else:
                    self.known[pair] = None
        self._sweep()
        days = (self.dates[name] for name in facts.get("date", ()) if name in self.dates)
        return assemble(
            self.data,
            self.source,
            "utf-8",
            self.places,
            known=self.known,
            patient=patient,
            date=next((day for said in days if (day := day_of(said))), None),
            links=self.links,
            marks=self.marks,
            whose=whose,
            sexes=self.sexes,
            codes=self.codes,
        )

    def _resource(self, node: JsonValue, path: str, around: JsonValue | None) -> int:
        """Find the places of a resource, of one that is contained in another with that around it."""
        name = string_of(node, "resourceType")
        rules = self.table.rules(name)
        if not rules and path:  # one of many: what is inside goes, and the others stay
            rules = self.table.rules("*")
        if not rules:
            raise FormatError(
                "the table of places has no such resource",
                "leave it out, or give it lines with --places",
                "",
                path or "resourceType",
            )
        here = f"{path}.{name}" if path else name
        above, self.inside = self.inside, name
        own = self._person(node, name, contained=around is not None) if name in _PERSONS else ""
        for said in self.facts.get("patient", ()) if name not in _SEVERAL else ():
            if target := reference_of(down(node, said), around or node):
                self.subjects.append(target)
                own = own or target
        if not own and name not in _SEVERAL:
            own = next(self._among(node, around or node), "")
            self.subjects += [own] if own else []
        for said in self.facts.get("date", ()):
            day = down(node, said)
            if day is not None and day.kind == STRING:
                self.dates.setdefault(said, day.value[:10])
        if around is not None:
            state = self._object(node, rules, here)
            self.inside = above
            return state
        self._mark(node)
        outer, self.owner = self.owner, own or None
        self.whose.append((node.start, self.owner))
        state = self._object(node, rules, here)
        self.owner, self.inside = outer, above
        self.whose.append((node.end, outer))
        return state

    def _among(self, node: JsonValue, resource: JsonValue) -> Iterator[str]:
        """Yield the keys of patients among those that take part in something."""
        for said in self.facts.get("patient_among", ()):
            for one in all_down(node, said):
                if one.kind == OBJECT and string_of(one, "reference") and (key := reference_of(one, resource)):
                    yield key

    def _person(self, node: JsonValue, name: str, *, contained: bool) -> str:
        """Take note of a person's numbers; return the key of a patient."""
        own = string_of(node, "id")
        for said in (node, *objects(node.value.get("contact"))):
            for held in objects(said.value.get("name")):
                given = " ".join(strings(held.value["given"][1])) if "given" in held.value else ""
                self.sexes.update(sexes_of(given, string_of(said, "gender")))
        key = "" if name != "Patient" else contained_key(node) if contained else self.keys.get(node.start, own)
        if key:
            self.patients.append(key)
        for found in (own, *(string_of(item, "value") for item in objects(node.value.get("identifier")))):
            if (matched := UUID.match(found)) or (found == own and len(own) >= LEAST_NUMBER and not own.isalpha()):
                self.known["IDNUM", matched[1] if matched else own] = None
        return key

    def _object(self, node: JsonValue, rules: Mapping[str, Rule], path: str) -> int:
        """Find the places of an object; return 1 when nothing of it stays as the table says, 2 when nobody says so."""
        members: dict[str, tuple[int, JsonValue]] = node.value
        states: dict[str, int] = {}
        joined = self._joined(node, rules, path)
        for name in sorted(members, key=lambda name: rules.get(name) != DATA):  # size and hash follow the data
            if name in joined:
                states[name] = 0
                continue
            rule = rules.get(name)
            if rule is None and name.startswith("_") and name[1:] in rules:
                rule = Inner("*", "")  # what is said beside a value
            begin = len(self.places)
            states[name] = self._take(members[name][1], rule, f"{path}.{name}", node)
            if name.startswith(self.answers) and len(self.places) > begin:
                self._answer(node, f"{path}.{name}", begin)
        if members and all(states.values()):
            return max(states.values())
        self._remove([(members[n][0], outer_end(members[n][1]), states[n], f"{path}.{n}") for n in members])
        return 0

    def _answer(self, node: JsonValue, path: str, begin: int) -> None:
        """Put what the element says that it tells before the texts of its value: those of it or of its answers."""
        asked = (down(node, name) for name in self.facts["questions"])
        words = next((found.value for found in asked if found is not None and found.kind == STRING), "")
        answer(self.places, begin, words, lambda place: _VALUE.fullmatch(place.path, len(path)))

    def _remove(self, members: Sequence[tuple[int, int, int, str]]) -> None:
        """Block members or items, with the commas that part them from what stays."""
        kept_before = False
        for number, (start, end, state, path) in enumerate(members):
            if not state:
                kept_before = True
            elif kept_before:
                self._block(members[number - 1][1], end, path, state)
            else:
                self._block(start, members[number + 1][0], path, state)

    def _block(self, start: int, end: int, path: str, state: int) -> None:
        self.places.append(Place(path, start, end, BLOCKED, examined=state == 1))

    def _take(self, node: JsonValue, rule: Rule | None, path: str, owner: JsonValue) -> int:
        if node.kind == ARRAY:
            states = [self._take(item, rule, f"{path}[{n}]", owner) for n, item in enumerate(node.value)]
            if states and all(states):
                return max(states)
            if any(states):
                items = zip(node.value, states, strict=True)
                self._remove(
                    [(outer_start(i), outer_end(i), state, f"{path}[{n}]") for n, (i, state) in enumerate(items)]
                )
            return 0
        if isinstance(rule, ByName):
            rule = self._by_name(rule, node if node.kind == OBJECT else owner)
        if rule is None:
            return 2
        if isinstance(rule, Inner):
            if node.kind == OBJECT:
                return self._object(node, self.table.parts(rule), path)
            rule = TEXT if node.kind == STRING else NUMBER  # R4 and R5 differ in what is a plain value
        assert isinstance(rule, str)
        if rule == BLOCKED:
            return 1
        if node.kind == OBJECT:
            if rule == KEEP:
                self._keep(node, path)
                return 0
            if rule == "resource":
                return self._resource(node, path, owner if path.rpartition(".")[2].startswith("contained") else None)
            return self._object(node, self.table.parts(Inner("CodeableReference", TEXT)), path)
        if node.kind == OTHER:
            if len(node.value) >= LEAST_NUMBER and node.value.isdecimal():
                self.numbers.append((node, path))
            unit = string_of(owner, "code") or string_of(owner, "unit") if rule == "age" and is_old(node.value) else ""
            if unit.lower() in self.facts["years"]:
                self._add(path, node, "AGE", node.value, write_age)
            return 0 if node.value in ("true", "false", "null") or rule in (KEEP, CODE, NUMBER, "age", "size") else 2
        return self._string(node, rule, path, owner)

    def _string(self, node: JsonValue, rule: str, path: str, owner: JsonValue) -> int:
        if rule in (CODE, DISPLAY) and string_of(owner, "system") in self.facts["place_systems"]:
            rule = "IDNUM" if rule == CODE else "LOCATION-OTHER"  # of a county or town
        elif rule == DISPLAY:
            rule = display_as(node.value, of_standard=self._is_standard(owner))
        elif rule == TEXT and "coding" in owner.value and path.endswith(".text"):
            rule = self._beside_codes(node.value, owner)
        elif rule == KEEP and (shape := kept_as(CODE, node.value)) != KEEP and (shape != TEXT or " " in node.value):
            rule = KEEP if USUAL.match(node.value) else shape  # no code of a closed list
        elif rule == "name" and sum(map(str.isdigit, node.value)) < LEAST_NUMBER:
            rule = CODE
        elif rule == CODE and _ADDRESS_OF_CODE.fullmatch(node.value) and of_standard(node.value, self.facts):
            rule = KEEP
        rule = kept_as(rule, node.value)
        if rule == DATA:
            return self._data(node, path, owner)
        if rule in ("size", "hash"):
            if owner.start in self.data_at:
                return 0 if self.data_at[owner.start] else 1
            return 0 if rule == "size" else 1
        if rule == KEEP:
            if path.endswith(".code") and self._is_standard(owner):
                self.codes.add(node.value)
            if path.rpartition(".")[2].partition("[")[0] not in self.facts.get("titles", ()):
                self.kept.append((node, path))
        elif rule == "xhtml":
            text, starts = visible(node.value, self.facts.get("attributes", ()))
            raw = offsets(self.source[node.start : node.end])
            if raw is not None:
                starts = [
                    (raw[a][0] if a < len(raw) else node.end - node.start, raw[b - 1][1] if b > a else raw[a][0])
                    for a, b in starts
                ]
            self._add(path, node, TEXT, text, write_markup, starts)
        elif rule == "id" or rule == "name":
            self.links.append(Place(path, node.start, node.end, "IDNUM", node.value))
        elif rule == "system":
            self._system(node, path)
        elif rule == "reference":
            self._reference(node, path)
        elif rule == "DATE" and (found := DATE.match(node.value)) and read_as(rule, node.value) == rule:
            self._add(path, node, "DATE", found[1], write_date)
        elif rule in _NUMBERS and (matched := UUID.match(node.value)):
            self._link(node, matched.start(1), matched.end(1), path)
        elif rule in _NUMBERS and (matched := OBJECT_NUMBER.match(node.value)):
            self._object_number(node, *matched.span(1), path)
        else:
            self._leaf(node, rule, path)
        return 0

    def _is_standard(self, coding: JsonValue) -> bool:
        """Tell whether a code is of a standard's system, and of no place."""
        system = string_of(coding, "system")
        return bool(system) and of_standard(system, self.facts) and system not in self.facts["place_systems"]

    def _beside_codes(self, text: str, concept: JsonValue) -> str:
        """Return what the text beside codes is: what a code says, or free text."""
        said = (code for code in objects(concept.value["coding"]) if self._is_standard(code))
        same = any(string_of(code, "display").lower() == text.lower() for code in said)
        return display_as(text, of_standard=same)

    def _leaf(self, node: JsonValue, kind: str, path: str, start: int = 0, end: int | None = None) -> None:
        """Make a place of a string, or of a part of it."""
        starts = offsets(self.source[node.start : node.end])
        end = len(node.value) if end is None else end
        first, last = node.start, node.end
        if (start, end) != (0, len(node.value)):
            first, last = self._at(node, start), self._at(node, end)
            starts = (
                None
                if starts is None
                else [(a - first + node.start, b - first + node.start) for a, b in starts[start:end]]
            )
        text = node.value[start:end]
        if text and not text.isspace():
            self.places.append(Place(path, first, last, read_as(kind, text), text, write, starts))

    def _add(self, path: str, node: JsonValue, kind: str, text: str, write: Any, starts: Any = None) -> None:
        if text and not text.isspace():
            self.places.append(Place(path, node.start, node.end, kind, text, write, starts))

    def _at(self, node: JsonValue, offset: int) -> int:
        """Return where a character of a string stands in the record."""
        starts = offsets(self.source[node.start : node.end])
        if starts is None:
            return node.start + offset
        return node.start + starts[offset][0] if offset < len(starts) else node.end

    def _link(self, node: JsonValue, start: int, end: int, path: str) -> None:
        if start < end:
            at = self._at(node, start), self._at(node, end)
            self.links.append(Place(path, *at, "IDNUM", node.value[start:end]))

    def _object_number(self, node: JsonValue, start: int, end: int, path: str) -> None:
        """Make a link of the object identifier of one thing; notes may say it too."""
        self.known["IDNUM", node.value[start:end]] = None
        self._link(node, start, end, path)

    def _joined(self, node: JsonValue, rules: Mapping[str, Rule], path: str) -> frozenset[str]:
        """Make one place of the parts of a name."""
        names = [n for n in self.facts.get("joined", ()) if n in node.value and rules.get(n) in NAMES]
        found = [part for name in names for part in each(node.value[name][1]) if part.kind == STRING and part.value]
        if len(found) > 1 and not any("^" in part.value for part in found):
            begin = len(self.places)
            for part in found:
                self._leaf(part, str(rules[names[0]]), f"{path}.{names[0]}")
            parts = self.places[begin:]
            self.places[begin:] = [*(p.varied(behind="^", joins=True) for p in parts[:-1]), parts[-1]]
            return frozenset(names)
        return frozenset()

    def _by_name(self, rule: ByName, owner: JsonValue) -> Rule | None:
        for name in rule.names:
            node = owner.value.get(name)
            for said in strings(node[1]) if node else ():
                found = self.table.of_type(said)
                if found is None and name == "reference" and (target := self._type_of(said)):
                    found = self.table.of_type(target) or TEXT
                if found is not None:
                    return found
        if "url" in rule.names and self._is_coded(owner):
            return self.table.of_type("CodedExtension")
        return None if rule.otherwise == BLOCKED else rule.otherwise

    def _is_coded(self, extension: JsonValue) -> bool:
        """Tell whether an extension that no line names is a standard's, and says a code, yes or no."""
        if self.inside in _DESCRIBED or not of_standard(string_of(extension, "url"), self.facts):
            return False
        said = [name for name in extension.value if name not in ("url", "id")]
        if len(said) != 1 or said[0] not in _CODED:
            return False
        value = extension.value[said[0]][1]
        if said[0] == "valueCoding":
            return value.kind == OBJECT and self._is_standard(value)
        codes = (
            list(objects(value.value.get("coding")))
            if said[0] == "valueCodeableConcept" and value.kind == OBJECT
            else []
        )
        return said[0] != "valueCodeableConcept" or (bool(codes) and all(map(self._is_standard, codes)))

    def _type_of(self, reference: str) -> str:
        found = TYPED.search(reference) or SEARCH.search(reference)
        return (found[1] or "") if found else self.types.get(reference, "")

    def _keep(self, node: JsonValue, path: str) -> None:
        if node.kind == STRING:
            self.kept.append((node, path))
        elif node.kind == OBJECT:
            for name, (_, inner) in node.value.items():
                self._keep(inner, f"{path}.{name}")
        elif node.kind == ARRAY:
            for item in node.value:
                self._keep(item, path)

    def _system(self, node: JsonValue, path: str, start: int = 0, end: int | None = None) -> None:
        """Find what names an institution in the address of a system, or in that part of a string."""
        said: str = node.value[start:end]
        if said in self.table.types or of_standard(said, self.facts):
            if "://" in said:
                self.codes.add(said)
            return
        if matched := UUID.match(said):
            self._link(node, start + matched.start(1), start + matched.end(1), path)
        elif OID.match(said.removeprefix(OID_BEGIN)):
            self._link(node, start + len(OID_BEGIN) * said.startswith(OID_BEGIN), start + len(said), path)
        elif found := ADDRESS.match(said):
            if found[1]:
                self._link(node, start + found.start(1), start + found.end(1), path)
            self._segments(node, start + found.end(), start + len(said), path)
        elif said.startswith("#"):
            self._link(node, start + 1, start + len(said), path)
        elif end is None and (TYPED.match(said) or SEARCH.search(said)):
            self._reference(node, path)
        elif end is None and len(re.findall("[0-9]", said)) < _LEAST_DIGITS:
            self._string(node, CODE, path, node)
        else:
            self._leaf(node, "IDNUM", path, start, end)

    def _segments(self, node: JsonValue, start: int, end: int, path: str) -> None:
        """Make links of what may name an institution or somebody in an address; behind a resource stands its id."""
        named = False
        for part in SEGMENT.finditer(node.value, start, end):
            is_id, named = named and any(map(str.isdigit, part[0])), part[0] in self.table.heads
            if not named and (is_id or not is_usual(part[0].lower(), self.facts["path_words"])):
                self._link(node, *part.span(), path)

    def _reference(self, node: JsonValue, path: str) -> None:
        """Find the ids in an address of a resource, or in a search."""
        said: str = node.value
        if said.startswith("#"):
            self._link(node, 1, len(said), path)
        elif matched := UUID.match(said):
            self._link(node, matched.start(1), matched.end(1), path)
        elif said.startswith("urn:uuid:"):
            self._link(node, len("urn:uuid:"), len(said), path)
        elif matched := OBJECT_NUMBER.match(said):
            self._object_number(node, *matched.span(1), path)
        elif said.startswith(OID_BEGIN):
            self._leaf(node, "IDNUM", path, len(OID_BEGIN))
        else:
            typed = TYPED.search(said)
            search = SEARCH.search(said)
            named = said.rstrip("/").rpartition("/")[2] in self.table.heads
            if "://" in said and (typed or search or named):
                self._system(node, path, 0, min(found.start() if found else len(said) for found in (typed, search)))
            if typed:
                self._link(node, *typed.span(2), path)
                if typed[3]:
                    self._link(node, *typed.span(3), path)
                if "://" not in said:
                    self._segments(node, 0, typed.start(), path)
                rest = typed.end() + 1
                if said[rest - 1 : rest] == "#":
                    self._link(node, rest, len(said), path)
                elif said[rest - 1 : rest] == "|":
                    self._segments(node, rest, len(said), path)
            if begun := search or (typed and "?" in said[typed.end() :] and typed):
                for pair in _PARAMETER.finditer(said, begun.end()):
                    self._parameter(node, pair, path)
            elif not typed and not named:
                self._leaf(node, "URL" if "://" in said else "IDNUM", path)

    def _parameter(self, node: JsonValue, pair: re.Match[str], path: str) -> None:
        name, value = pair[1].partition(":")[0], pair[2]
        start, end = pair.span(2)
        system = re.match(r"(.*)(?:\||%7[cC])", value)
        if name in self.facts.get("parameters", ()) or not value:
            return
        if name == "identifier":
            kind = self.table.of_type(system[1]) if system else None
            if system and system[1]:
                self._system(node, path, start, start + system.end(1))
            start += system.end() if system else 0
            if matched := UUID.match(value, system.end() if system else 0):
                self._link(node, pair.start(2) + matched.start(1), pair.start(2) + matched.end(1), path)
            else:
                self._leaf(node, kind if isinstance(kind, str) else "IDNUM", path, start, end)
        elif typed := TYPED.search(value):
            self._link(node, start + typed.start(2), start + typed.end(2), path)
        elif name == "_id" or name in self.facts.get("patient", ()) or name == "encounter":
            self._link(node, start, end, path)
        else:
            kind = self.facts.get("search", {}).get(name, "IDNUM")
            if kind == "DATE":  # ge2024-03-01
                start += re.match(r"[a-z]{0,2}", value).end()  # type: ignore[union-attr]
            self._leaf(node, kind, path, start, end)

    def _data(self, node: JsonValue, path: str, owner: JsonValue) -> int:
        """Read a document inside a resource."""
        said = string_of(owner, "contentType").lower()
        mime, _, rest = said.partition(";")
        plain = mime.strip() in self.facts.get("plain_text", ())
        self.data_at[owner.start] = plain
        if not plain:
            return 2
        charset = re.search(r"charset\s*=\s*[\"']?([^\s;\"']+)", rest)
        name = charset[1] if charset else "utf-8"
        text = unpacked(node.value, name, path, _HINT)
        others = [own for key in ("size", "hash") if (own := member(owner, key)) is not None and own.kind != ARRAY]
        kinds = [key for key in ("size", "hash") if key in owner.value]
        document = EncodedDocument(name, text, tuple(kinds), mime.strip() in self.facts.get("marked_up", ()))
        seen, starts = visible(text, self.facts.get("attributes", ())) if document.markup else (text, None)
        if seen.strip():
            stretches = ((node.start, node.end), *((other.start, other.end) for other in others))
            write = DocumentWriter(document, starts)
            begin, end = min(s for s, _ in stretches), max(e for _, e in stretches)
            self.places.append(Place(path, begin, end, TEXT, seen, write, stretches=stretches))
        return 0

    def _mark(self, node: JsonValue) -> None:
        """Say where the label goes that tells that the resource was changed."""
        meta, security = member(node, "meta"), None
        if meta is not None:
            security = member(meta, "security")
        if security is not None and any(string_of(item, "code") == "REDACTED" for item in each(security)):
            return
        if security is not None and security.kind == ARRAY:
            at, text = security.end - 1, f"{',' if security.value else ''}{_REDACTED}"
        elif meta is not None and meta.kind == OBJECT:
            at, text = meta.start + 1, f'"security":[{_REDACTED}]{"," if meta.value else ""}'
        else:
            at = outer_end(node.value["resourceType"][1])
            text = f',"meta":{{"security":[{_REDACTED}]}}'
        self.marks.append(ChangeMark(node.start, node.end, at, text))

    def _sweep(self) -> None:
        """Make places of known identifiers in strings that would be kept; addresses and closed lists have none."""
        swept = [(node, path) for node, path in self.kept if may_name(node.value, path)]
        plain = sorted((n.start, n.end, path) for n, path in swept if n.end - n.start == len(n.value))
        stretches = [(start, end) for start, end, _ in plain]
        for start, end, category in sweep(self.source, stretches, self.known):
            path = plain[bisect_right(stretches, (start, len(self.source))) - 1][2]
            self.places.append(Place(path, start, end, category, self.source[start:end], write))
        for node, path in swept:
            if node.end - node.start != len(node.value):  # escapes may stand in a name
                for start, end, category in sweep(node.value, [(0, len(node.value))], self.known):
                    self._leaf(node, category, path, start, end)
        for node, path in self.numbers:
            for start, end, category in sweep(node.value, [(0, len(node.value))], self.known):
                if (start, end) == (0, len(node.value)):
                    self._add(path, node, category, node.value, write_number)
