"""Fills templates: keeps the persons, dates and places of one document, and says what each slot becomes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from . import dates, numbers, people, places
from .draw import Draw
from .pools import Pools
from .template import Choice, Node, Slot, Template, TemplateError, parse
from .wording import AGREEING, Piece, articles, clock, digits_in_words
from .wording import age as wording_age

_QUOTED = ("“%s”", '"%s"', '"%s"', "(%s)")
# a word of kinship that a body has in front of a relative gives the relative's sex
_FEMALE = frozenset(
    [
        "sister",
        "mother",
        "mom",
        "mum",
        "aunt",
        "daughter",
        "wife",
        "niece",
        "grandmother",
        "granddaughter",
        "gran",
        "nan",
        "girlfriend",
        "dtr",
        "sis",
    ]
)
_MALE = frozenset(
    ["brother", "father", "dad", "uncle", "son", "husband", "nephew", "grandfather", "grandson", "boyfriend"]
)
_KIN = re.compile(rf"\b({'|'.join(sorted(_FEMALE | _MALE))})(?:-in-law)?,? \(?\{{\{{([rq][0-9])[.}}]", re.IGNORECASE)
_INSTITUTIONS = {"h": "hospital", "c": "clinic", "n": "nursing"}
# forms of a date of birth, and of the date
_BIRTHS = {"dob": "", "dobc": "c", "dobd": "dm", "doby": "y"}
# numbers of a person that notes cut down to their last four digits
_CUT = frozenset(f"{number}4" for number in ("ssn", "mrn", "phone", "cell", "acct", "plan"))


class Story:
    """The entities of one document: the same reference gives the same person, date or place wherever it stands."""

    def __init__(self, key: tuple[object, ...], pools: Pools, body: Template) -> None:
        self.key = key
        self.pools = pools
        self.uk = "uk" in body.options
        self.options = {o.split("=")[0]: o.split("=")[1] for o in body.options if "=" in o}
        draw = self.draw("story")
        for relation, ref in _KIN.findall(body.text):
            self.options.setdefault(ref, "F" if relation.lower() in _FEMALE else "M")
        for spouse in re.findall(r"\{\{(r[0-9])\.(?:sp|bf)\}\}", body.text):
            self.options.setdefault(spouse, "X" if self.draw(spouse, "sex").chance(0.95) else "S")
        first, last = (int(y) for y in self.options.get("era", "1994-2026").split("-"))
        if draw.chance(0.5) and "era" not in self.options:
            first = 2012
        self.base = dt.date(draw.between(first, last), 1, 1) + dt.timedelta(days=draw.below(365))
        self.style = dates.house_style(draw, self.uk)
        low, high = (int(y) for y in self.options.get("age", "19-93").split("-"))
        self.ages = {"p": draw.between(low, high)}
        self.made: dict[str, object] = {}
        self.count = 0
        self.last = ""
        self.choices = self.draw("choices")

    def draw(self, *key: object) -> Draw:
        """Return a stream of choices of this document."""
        return Draw(*self.key, *key)

    def fill(self, template: Template) -> list[Piece]:
        """Return a template's text in pieces."""
        out: list[Piece] = []
        self._fill(parse(template.text, f"{template.kind}/{template.name}"), out, f"{template.kind}/{template.name}")
        return articles(out)

    def _fill(self, nodes: tuple[Node, ...], out: list[Piece], where: str) -> None:
        for node in nodes:
            if isinstance(node, str):
                out.append((node, None))
            elif isinstance(node, Choice):
                self._fill(self.choices.pick(node.options), out, where)
            else:
                self.count += 1
                text, label = self._slot(node, where)
                if label and (not text or text != text.strip()):
                    raise TemplateError(f"{where}: slot {node.entity}.{node.form} gives an empty or padded text")
                if label and text.startswith("the "):  # the article stands outside of the span
                    out.append(("the ", None))
                    text = text[4:]
                text = text.upper() if node.case == "!" else text.lower() if node.case == "~" else text
                self._append(out, text, label, node.entity)

    def _append(self, out: list[Piece], text: str, label: str | None, entity: str) -> None:
        """Append a slot's text; given and family name of one person that stand side by side are one span."""
        same = label in ("PATIENT", "DOCTOR") and self.last == entity and len(out) > 1
        if same and out[-1] in ((" ", None), (", ", None)) and out[-2][1] == label:
            between, _ = out.pop()
            out[-1] = (out[-1][0] + between + text, label)
        else:
            out.append((text, label))
        self.last = entity

    def _slot(self, slot: Slot, where: str) -> tuple[str, str | None]:
        if slot.literal:
            return slot.literal, slot.entity
        entity, kind = slot.entity, slot.entity.rstrip("0123456789")
        if kind.startswith("#"):
            return self._negative(kind[1:], slot), None
        if kind in ("p", "r", "q", "d", "a", "w") and entity != "acct":
            return self._person(entity, kind, slot, where)
        if kind == "t":
            date = self.base
            for amount, unit in slot.shifts:
                date = dates.shift(date, amount, unit)
            return dates.write(date, slot.form, self.draw("date", self.count), self.style, self.uk), "DATE"
        if kind in ("age", "agew", "aged", "agef"):
            low, high = (int(x) for x in slot.arg.split("-"))
            return wording_age(kind, self.draw("age", self.count).between(low, high)), "AGE"
        if kind in _INSTITUTIONS:
            draw = self.draw(entity)
            made = self._memo(entity, lambda: places.institution(draw, self.pools, self.uk, _INSTITUTIONS[kind]))
            assert isinstance(made, tuple)
            return self._institution_form(made, slot.form, entity), "HOSPITAL"
        if kind == "o":
            draw = self.draw(entity)
            kinds = slot.form or "work"
            return str(
                self._memo(entity, lambda: places.organization(draw, self.pools, self.uk, kinds))
            ), "ORGANIZATION"
        if kind == "job":
            titles = self.draw(entity).pick(self.pools.jobs)
            with_field = [j for j in self.pools.jobs if len(j) > 1]
            if slot.form == "f":
                return self.draw(entity).pick(with_field)[1], "PROFESSION"
            return (titles[0][0].upper() + titles[0][1:] if slot.form == "c" else titles[0]), "PROFESSION"
        return self._thing(entity, kind, slot, where)

    def _institution_form(self, made: tuple[str, str, str], form: str, entity: str) -> str:
        makers: dict[str, Callable[[Draw], str]] = {
            "k": lambda draw: places.by_word(made, draw),
            "nk": lambda draw: places.nickname(made[0], made[1], draw),
            "va": lambda draw: places.veterans(draw, self.pools),
            "u": lambda draw: places.teaching(draw, self.pools),
        }
        return makers[form](self.draw(entity, form)) if form in makers else made[("", "s", "a").index(form)]

    def _memo(self, key: str, make: Callable[[], object]) -> object:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def _thing(self, entity: str, kind: str, slot: Slot, where: str) -> tuple[str, str]:
        draw, pools, uk = self.draw(entity, slot.form), self.pools, self.uk
        makers: dict[str, tuple[Callable[[], str], str]] = {
            "city": (lambda: self._city(draw), "CITY"),
            "state": (
                lambda: draw.pick(pools.uk_cities)[1] if uk else draw.pick(pools.states)[slot.form == "st"],
                "STATE",
            ),
            "country": (lambda: draw.pick(pools.countries), "COUNTRY"),
            "loc": (lambda: draw.pick(pools.institutions["loc"]), "LOCATION-OTHER"),
            "street": (
                lambda: (
                    places.highway(draw, uk) if slot.form == "hw" else places.street(draw, pools, uk, slot.form == "n")
                ),
                "STREET",
            ),
            "ward": (lambda: places.ward(draw, pools, uk), "DEPARTMENT"),
            "room": (lambda: numbers.room(draw, slot.form == "bed"), "ROOM"),
            "phone": (lambda: numbers.phone(draw, uk), "PHONE"),
            "ext": (lambda: numbers.local(draw), "PHONE"),
            "xd": (lambda: draw.digits(draw.pick(("####", "%###", "%####", "%##"))), "PHONE"),
            "pager": (lambda: numbers.pager(draw, uk), "PHONE"),
            "fax": (lambda: numbers.phone(draw, uk), "FAX"),
            "mrn": (lambda: numbers.mrn(draw, uk), "MEDICALRECORD"),
            "ssn": (lambda: numbers.ssn(draw), "SSN"),
            "acct": (lambda: numbers.account(draw), "ACCOUNT"),
            "plan": (lambda: numbers.plan(draw, slot.form == "grp"), "HEALTHPLAN"),
            "id": (lambda: numbers.identifier(draw, slot.form), "IDNUM"),
            "lic": (lambda: numbers.licence(draw, slot.form), "LICENSE"),
            "veh": (lambda: numbers.vin(draw) if slot.form == "vin" else numbers.plate(draw, uk), "VEHICLE"),
            "dev": (lambda: numbers.device(draw), "DEVICE"),
            "bio": (lambda: numbers.biometric(draw), "BIOID"),
            "ip": (lambda: numbers.ip(draw), "IPADDR"),
            "url": (lambda: self._url(draw), "URL"),
            "mail": (lambda: self._shared_mail(draw), "EMAIL"),
        }
        if kind not in makers:
            raise TemplateError(f"{where}: unknown slot {entity}")
        make, label = makers[kind]
        made = str(self._memo(f"{entity}.{slot.form}", make))
        return digits_in_words(made) if slot.form == "w" else made, label

    def _city(self, draw: Draw) -> str:
        where = draw.weighted((("home", 50), ("world", 38), ("invented", 12)))
        if where == "world":
            return draw.pick(self.pools.world)[0]
        if where == "invented":
            return places.invented_town(draw, self.pools, self.uk)
        return places.make_address(draw, self.pools, self.uk).city

    def _url(self, draw: Draw) -> str:
        name = places.institution(draw, self.pools, self.uk, draw.pick(("hospital", "clinic")))[0]
        host = places.host(name, draw, "uk" if self.uk else "org")
        tail = draw.pick(
            ("", "", "/mychart", "/portal", "/patients", "/find-a-doctor", "/visit/" + draw.digits("#####"))
        )
        return (
            draw.pick(("www.", "https://www.", "https://", "http://www.", "https://mychart.", "portal.")) + host + tail
        )

    def _shared_mail(self, draw: Draw) -> str:
        name = places.institution(draw, self.pools, self.uk, "clinic")[0]
        box = draw.pick(
            (
                "records",
                "info",
                "referrals",
                "nurseline",
                "scheduling",
                "frontdesk",
                "him",
                "billing",
                "appointments",
                "ward" + draw.digits("%"),
            )
        )
        return f"{box}@{places.host(name, draw, 'uk' if self.uk else 'org')}"

    def _person(self, ref: str, kind: str, slot: Slot, where: str) -> tuple[str, str | None]:
        form = slot.form
        if kind in ("p", "r", "q", "d"):
            person = self._whoever(ref, kind)
            if form in AGREEING:
                return AGREEING[form][not person.male], None
            draw = self.draw(ref, form)
            label = "DOCTOR" if kind == "d" else "PATIENT"
            names: dict[str, Callable[[], str]] = {
                "": lambda: people.full_name(person, draw),
                "f": lambda: person.given,
                "l": lambda: person.family,
                "m": lambda: person.middle,
                "fl": lambda: f"{person.given} {person.family}",
                "fml": lambda: f"{person.given} {person.middle} {person.family}",
                "lf": lambda: people.list_name(person, draw),
                "lfc": lambda: people.column_name(person, draw, ","),
                "lb": lambda: people.column_name(person, draw, " "),
                "il": lambda: f"{person.given[0]}{draw.pick(('. ', ' ', '.', '. '))}{person.family}",
                "li": lambda: f"{person.family}{draw.pick((' ', ', ', ' '))}{person.given[0]}",
                "iil": lambda: f"{person.given[0]}.{draw.pick(('', ' '))}{person.middle[0]}. {person.family}",
                "fi": lambda: f"{person.given} {person.family[0]}{draw.pick(('', '.'))}",
                "i": lambda: people.initials(person, draw),
                "nk": lambda: person.nick,
                "let": lambda: people.spelled(person.family, draw),
                "letf": lambda: people.spelled(person.given, draw),
                "n": lambda: f"{person.given} {draw.pick(_QUOTED) % person.nick} {person.family}",
                "hl": lambda: "^".join(
                    x for x in (person.family, person.given, person.middle[: draw.pick((1, 1, 20))]) if x
                ),
            }
            if form in names:
                return names[form](), label
            more = self._details(ref, form, person)
            if more:
                return more
            if form in ("age", "agew", "aged", "agef"):
                age = self.ages.setdefault(ref, self.draw(ref, "age").between(20, 90))
                return wording_age(form, age), "AGE"
            if form in _BIRTHS:
                return self._birth(ref, _BIRTHS[form]), "DATE"
        return self._place(ref, kind, form, where)

    def _details(self, ref: str, form: str, person: people.Person) -> tuple[str, str] | None:
        if form in _CUT:
            whole, label = self._details(ref, form[:-1], person) or ("", "")
            return re.sub(r"[^0-9]", "", whole)[-4:], label
        draw = self.draw(ref, form)
        makers: dict[str, tuple[Callable[[], str], str]] = {
            "mrn": (lambda: numbers.mrn(draw, self.uk), "MEDICALRECORD"),
            "ssn": (lambda: numbers.ssn(draw), "SSN"),
            "phone": (lambda: numbers.phone(draw, self.uk), "PHONE"),
            "cell": (lambda: numbers.phone(draw, self.uk), "PHONE"),
            "ext": (lambda: numbers.local(draw), "PHONE"),
            "xd": (lambda: draw.digits(draw.pick(("####", "%###", "%####", "%##"))), "PHONE"),
            "pager": (lambda: numbers.pager(draw, self.uk), "PHONE"),
            "fax": (lambda: numbers.phone(draw, self.uk), "FAX"),
            "acct": (lambda: numbers.account(draw), "ACCOUNT"),
            "plan": (lambda: numbers.plan(draw), "HEALTHPLAN"),
            "npi": (lambda: numbers.licence(draw, "npi"), "LICENSE"),
            "dea": (lambda: numbers.licence(draw, "dea"), "LICENSE"),
            "dl": (lambda: numbers.licence(draw, "dl"), "LICENSE"),
            "gmc": (lambda: numbers.licence(draw, "gmc"), "LICENSE"),
            "login": (lambda: people.login(person, draw), "USERNAME"),
            "dict": (lambda: people.dictation(person, people.make_person(draw, self.pools), draw), "USERNAME"),
            "mail": (lambda: people.email(person, draw, self._mail_host(ref, draw)), "EMAIL"),
        }
        if form not in makers:
            return None
        make, label = makers[form]
        return str(self._memo(f"{ref}.{form}", make)), label

    def _place(self, ref: str, kind: str, form: str, where: str) -> tuple[str, str]:
        draw = self.draw(ref, "place")
        if kind == "w":
            return draw.pick(self.pools.world)[form == "country"], "COUNTRY" if form == "country" else "CITY"
        home = self._memo(f"{ref}.home", lambda: places.make_address(draw, self.pools, self.uk))
        labels = {
            "street": "STREET",
            "city": "CITY",
            "st": "STATE",
            "state": "STATE",
            "zip": "ZIP",
            "country": "COUNTRY",
        }
        if form not in labels:
            raise TemplateError(f"{where}: unknown form {ref}.{form}")
        attribute = "state" if form == "st" else "state_name" if form == "state" else form
        return str(getattr(home, attribute)), labels[form]

    def _mail_host(self, ref: str, draw: Draw) -> str:
        if not ref.startswith("d"):
            return places.private_host(draw, self.uk)
        own = self.draw("h1")
        name = places.institution(own, self.pools, self.uk, "hospital")[0]
        return places.host(name, draw, "uk" if self.uk else "org")

    def _whoever(self, ref: str, kind: str) -> people.Person:
        def make() -> people.Person:
            draw = self.draw(ref)
            sex = self.options.get(ref, "")
            if sex in ("X", "S"):  # the other sex than the patient's, or the same
                sex = "MF"[self._whoever("p", "p").male] if sex == "X" else "FM"[self._whoever("p", "p").male]
            family = self._whoever("p", "p").family if kind == "r" and draw.chance(0.45) else ""
            return people.make_person(
                draw, self.pools, sex, family, self.uk, int(self.options.get("world", people.WORLD))
            )

        made = self._memo(ref, make)
        assert isinstance(made, people.Person)
        return made

    def _birth(self, ref: str, form: str) -> str:
        age = self.ages.setdefault(ref, self.draw(ref, "age").between(20, 90))
        days = self.draw(ref, "birthday").between(1, 364)
        born = dates.shift(self.base, -age, "y") - dt.timedelta(days=days)
        return dates.write(born, form, self.draw(ref), self.style, self.uk)

    def _negative(self, kind: str, slot: Slot) -> str:
        draw = self.draw("negative", self.count)
        if kind == "n":
            low, high = (int(x) for x in slot.arg.split("-"))
            return str(draw.between(low, high))
        if kind == "f":
            low, high = (round(float(x) * 10) for x in slot.arg.split("-"))
            return f"{draw.between(low, high) / 10:.1f}"
        if kind == "bp":
            return f"{draw.between(88, 188)}/{draw.between(44, 104)}"
        if kind == "clock":
            return clock(draw)
        if kind not in self.pools.negatives:
            raise TemplateError(f"unknown slot #{kind}")
        text = draw.pick(self.pools.negatives[kind])
        if kind == "dx" and draw.chance(0.6):
            text = text[0].lower() + text[1:]
        text = re.sub(r"\{N\}", lambda _: str(draw.between(11, 98)), text)
        return re.sub(r"\{n\}", lambda _: str(draw.between(1, 9)), text)
