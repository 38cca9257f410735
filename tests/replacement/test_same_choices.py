"""What policies, replacers and searches decided yesterday, they decide tomorrow (`pinned`)."""

from __future__ import annotations

import datetime
import itertools
import random
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import CATEGORIES, GROUPS
from deid.replacement.articles import agree, article_for
from deid.replacement.concept_match import Concept, ConceptMatcher
from deid.replacement.containment import held, holds, is_whole
from deid.replacement.deid_tags import parse_tags
from deid.replacement.k_safety import METHODS, Knowledge, erase, k_safe, violations
from deid.replacement.ontology import find_terms, plural, starts_sentence
from deid.replacement.ontology_files import load_ontology
from deid.replacement.operators import OPERATORS
from deid.replacement.plausibility_search import OBJECTIVES, SEARCHES, Chain, Problem, choose
from deid.replacement.policy import load_policy, parse_policy, shipped_policies
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope
from deid.replacement.t_plausibility import generalize, make_generalizer
from tests.pinned import Pinned, left_unsaid

KEY = Key(b"a key of the tests")
LABELS = [*CATEGORIES, *(g for g in GROUPS if g not in CATEGORIES), "PERSON", "date", "LOC", "nothing"]


def tried(question: Callable[[], object]) -> object:
    """Return an answer, or what error it is and where, not its words."""
    try:
        return question()
    except DeidError as error:
        return f"{type(error).__name__} {error.where} {error.position}"


def policy_of(name: str) -> object:
    """Return what a policy does with everything that a span may be, and what it needs."""
    policy = load_policy(name)
    draw = random.Random(name)
    pairs = [(label, draw.sample(LABELS, draw.choice([0, 1, 2]))) for label in LABELS for _ in range(4)]
    return [
        [policy.applied(label, also, {"note_type": "x"}) for label, also in pairs],
        [policy.rule(c, {}) for c in CATEGORIES],
        [policy.may_repeat(c) for c in CATEGORIES],
        [policy.per_person, policy.readable(), policy.summary(), policy.allow, sorted(policy.named)],
        [len(policy.notes()), policy.requires_dua, policy.requires_expert],
        [tried(lambda: len(policy.check_detectable(CATEGORIES[n::3]))) for n in range(3)],  # noqa: B023
        sorted(load_policy(name, ["LOCATION", "AGE"]).allow),
    ]


RULES: dict[str, Any] = {"default": {"operator": "redact"}}
DATA: tuple[Any, ...] = (
    {},
    RULES,
    {"default": {"operator": "keep"}},
    {"default": {"operator": "keep"}, "allow": [*GROUPS]},
    {"default": {"operator": "year-only"}},
    {"default": {"operator": "redact", "style": "mask", "width": 3}},
    {"default": {"operator": "redact", "style": 3}},
    {"default": {"operator": "redact", "width": True}},
    {"default": {"operator": "redact", "size": 3}},
    {"default": {"operator": "blot"}},
    {"default": "redact"},
    {"defaults": {}},
    RULES | {"description": 3},
    RULES | {"requires_dua": 1},
    RULES | {"allow": "CITY"},
    RULES | {"allow": ["TOWN"]},
    RULES | {"allow": ["CITY"], "categories": {"CITY": {"operator": "keep"}, "DATE": {"operator": "year-only"}}},
    RULES | {"categories": {"CITY": {"operator": "keep"}}},
    RULES | {"categories": {"AGE": {"operator": "age90"}, "LOCATION": {"operator": "tag"}}, "requires_expert": True},
    RULES | {"categories": {"LOCATION": {"operator": "tag"}, "STATE": {"operator": "keep"}}, "allow": ["STATE"]},
    RULES | {"categories": {name: {"operator": "tag"} for name in ("NAME", "PATIENT", "DOCTOR", "USERNAME")}},
    RULES | {"categories": []},
    RULES | {"if_accepted": ["IDNUM"], "categories": {"IDNUM": {"operator": "keep"}}},
    RULES | {"when": {"field": "x"}},
    RULES | {"when": [{"field": "x", "values": []}]},
    RULES | {"when": [{"field": "x", "values": ["A", 3]}]},
    RULES | {"when": [{"field": "x", "values": ["A", 3], "categories": {"DATE": {"operator": "year-only"}}}]},
    RULES
    | {
        "allow": ["CITY"],
        "when": [
            {"field": "x", "values": ["a"], "categories": {"CITY": {"operator": "keep"}}},
            {"field": "y", "values": ["b"], "categories": {"NAME": {"operator": "tag"}, "CITY": {"operator": "mask"}}},
        ],
    },
)  # fmt: skip


def parsed(data: Mapping[str, Any], accepted: tuple[str, ...]) -> object:
    """Return what a policy's file comes to."""
    policy = parse_policy(data, "p", Path("folder"), accepted)
    metadata: list[dict[str, object]] = [{}, {"x": "A"}, {"x": 3, "y": "B"}, {"y": "b", "x": "c"}]
    return [
        [policy.rule(c, m) for m in metadata for c in ("CITY", "DATE", "PATIENT", "IDNUM", "OTHER")],
        [policy.applied(label, ("CITY",), m) for m in metadata for label in ("DATE", "ID", "AGE", "strange")],
        [policy.readable(), policy.allow, policy.named, policy.per_person, len(policy.notes()), policy.requires_expert],
        [policy.may_repeat(c) for c in ("CITY", "DATE", "PATIENT")],
        tried(lambda: policy.check_detectable(["PATIENT", "DATE"])),
    ]


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "redact": [{"style": style} for style in ("mask", "removed", "x")] + [{"width": width} for width in (0, 100, 101)],
    "mask": [{"character": character} for character in ("#", "a", "", " ")],
    "hash": [{"length": n} for n in (15, 16, 64, 65)] + [{"within": scope} for scope in ("person", "document", "x")],
    "t-plausible": [{"t": 4, "ontologies": ["professions"]}, {"t": 0}, {}],
}
TEXT = "Zoë Cafe\u0301 of Boston, lung cancer, an accountant. 93; NAME 3/4/1950; 02139 Patient. A Boston nurse."


def replaced(operator: str, parameters: Mapping[str, Any], number: int) -> object:
    """Replace spans that overlap by an operator, where it is made for them."""
    draw = random.Random(f"{operator} {number}")
    spans = []
    for _ in range(7):
        start = draw.randrange(len(TEXT) - 12)
        spans.append(
            Span(start, start + draw.randint(1, 12), draw.choice(CATEGORIES), also=tuple(draw.sample(CATEGORIES, 1)))
        )
    rules = {c: {"operator": operator, **parameters} for c in OPERATORS[operator].only or CATEGORIES if c not in GROUPS}
    policy = parse_policy({"allow": [*GROUPS], **RULES, "categories": rules}, "p", Path())
    scope = Scope(KEY, "d", "7" if number % 2 else None, datetime.date(2001, 2, 3))
    found = Replacer(policy)(Document("d", TEXT), spans, scope)
    return [found.document, found.spans, found.edits, found.collisions, found.people]


def hidden(seed: int) -> object:
    """Return which terms may stay beside what the public knows, by every method."""
    draw = random.Random(seed)
    contexts = {f"e{n}": frozenset(draw.sample("abcdefg", draw.randint(1, 5))) for n in range(draw.randint(3, 9))}
    knowledge = Knowledge(contexts, frozenset(draw.sample(sorted(contexts), draw.randint(1, 3))))
    terms, k = frozenset("abcdefgz"[: draw.randint(3, 8)]), draw.randint(1, 3)
    text = Document("d", "A b c, d e; F\r\ng z c. D")
    return [
        [tried(lambda: sorted(k_safe(terms, knowledge, k, m, limit))) for m in METHODS for limit in (9, 500)],  # noqa: B023
        violations(terms, knowledge, k),
        tried(lambda: erase(text, knowledge, k)),
        [knowledge.rarity(t) for t in "az"],
    ]


def chosen(seed: int) -> object:
    """Return the levels that every search takes, for both objectives."""
    draw = random.Random(seed)
    chains = []
    for _ in range(draw.randint(1, 6)):
        counts = list(
            itertools.accumulate((draw.choice([1, 1, 2, 3, 5]) for _ in range(draw.randint(1, 5))), int.__mul__)
        )
        chains.append(Chain(tuple(f"g{n}" for n in range(len(counts))), tuple(counts)))
    t, alpha = draw.choice([1, 2, 7, 30, 400]), draw.choice([0.0, 0.3, 1.0])
    return [
        tried(lambda: choose(Problem(chains, t, objective, alpha), search, limit))  # noqa: B023
        for objective in OBJECTIVES for search in ("auto", *SEARCHES) for limit in (3, 5000)
    ]  # fmt: skip


TREE = (
    "lung cancer;cancer;disease;*\nliver cancer;cancer;disease;*\nasthma;chest disease;disease;*\n"
    "MI;heart attack;disease;*\n"
    "Springfield#IL;Illinois;USA;*\nSpringfield#MA;Massachusetts;USA;*\nBoston;Massachusetts;USA;*\nReading;England;Europe;*\n"
)
SENTENCES = (
    "Boston and boston: Springfield, MI and mi, Lung Cancers. ASTHMA; Asthma came in Reading.",
    "An asthma, a liver cancer of Illinois, an MI. HEART ATTACK",
    "Mr. Boston saw no lung cancer in Massachusetts\nSpringfield has tumour and tumours",
)


def termed(settings: str, t: int, more: Mapping[str, str]) -> object:
    """Make an ontology of files, find its terms in texts and generalize them."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "own")
        own.mkdir()
        for name, text in {"hierarchy.csv": TREE, "ontology.toml": settings, **more}.items():
            (own / name).write_text(text)
        try:
            ontology = load_ontology(own)
        except DeidError as error:
            return f"{type(error).__name__} {error.where} {error.position}".replace(folder, "")
        found = []
        for objective, every in (("minimal", False), ("uniform", True)):
            maker = make_generalizer(t, objective=objective, ontologies=[own], every_word=every)
            for text in SENTENCES:
                note = Document("n", text)
                given = [Span(0, 6, "CITY"), Span(4, 10, "DATE"), Span(len(text) - 7, len(text), "AGE")]
                found += [
                    find_terms(note, [ontology]),
                    generalize(note, maker),
                    tried(partial(generalize, note, maker, given)),
                ]
        return [found, ontology.codes, ontology.searched, ontology.capitals]


FILES = {
    "synonyms.csv": "tumour;cancer\nMass;Massachusetts\n",
    "lookup_only.txt": "# not searched for\nReading\n",
    "exceptions.txt": "no lung cancer\n",
    "codes.csv": "C1;cancer\n",
}


def blocked(seed: int) -> object:
    """Return what is left of texts by Concept-Match."""
    draw = random.Random(seed)
    words = [
        "lung",
        "cancer",
        "Lung",
        "cancer,",
        "(Jones)",
        "with",
        "With",
        "a",
        "head",
        "Head",
        "x-ray",
        "\n",
        "  ",
        "of.",
        "12",
        "1/2",
    ]
    text = " ".join(draw.choice(words) for _ in range(30))
    terms = {
        "lung cancer": Concept("C1", "cancer of lung"),
        "head": Concept("C2", "head"),
        "x-ray": Concept("C3", "film"),
    }
    matchers = [ConceptMatcher(terms, {"with", "a", "of"}, {"head"}, merge=merge) for merge in (False, True)]
    return [text, [m.scrub(Document("d", text))[0].text for m in matchers]]


def contained(seed: int) -> object:
    """Return which words stand in texts, and where words begin and end."""
    draw = random.Random(seed)
    text = "".join(draw.choice(["a", "b", "A", " ", "-", "\u0130", "1", "\u00df", "_", "."]) for _ in range(14))
    words = [text[i:j] for i, j in itertools.combinations(range(15), 2) if j - i < 5]
    folded = {w.casefold().strip() for w in words} - {""}
    return [
        [holds(text, w) for w in words],
        sorted(held(text, folded)),
        [is_whole(text, i, text[i : i + 2]) for i in range(13)],
    ]


def worded() -> object:
    """Return plurals, and where sentences begin."""
    words = "cancer of lung,itis,disease,city,boy,box,diagnosis,fireman,church,teeth,gas,bus,pain in chest,[X],wish"
    texts = ("a b", ". b", "Dr. b", "J. b", "x. b", "1) b", "- b", "\t b", '." b', "? (b", "\nb", "b", "no: b", "a, b")
    return [[plural(w) for w in words.split(",")], [starts_sentence(t, t.index("b")) for t in texts]]


def agreed() -> object:
    """Return articles before words of all kinds, in front of what is replaced, and the tags in a text."""
    news = [
        "nurse",
        "engineer",
        "hour",
        "urologist",
        "MRI",
        "88-year-old",
        "8",
        "18",
        "1",
        "[AGE]",
        "[NAME]",
        "***",
        "",
        "one-armed man",
        "X-ray",
        "élan",
        "an",
        "FBI",
        "UK",
    ]
    answers: list[object] = [article_for(new) for new in news]
    for article, gap in itertools.product(
        ("a", "an", "A", "AN", "An", "ana", "the a", ""), (" ", "\n", "  ", " " * 21, "-")
    ):
        text = f"saw {article}{gap}xxx {article}{gap}yyy"
        spans = [Span(m, m + 3, "AGE") for m in (text.index("xxx"), text.index("yyy"))]
        answers.append([agree(Document("d", text), [(span, new) for span in spans]) for new in news])
    tags = "**NAME[AAA, BBB M] **DATE **AGE[over 89]] **a **ID-NUM[] **ID-[x] ** **ZIP-CODE[1[2]]"
    return [answers, [[start, end, str(found)] for start, end, found in parse_tags(tags)]]


QUESTIONS: dict[str, Callable[[], object]] = {f"policy {p}": partial(policy_of, p) for p in shipped_policies()}
QUESTIONS |= {
    f"parsed {n} {len(a)}": partial(tried, partial(parsed, data, a))
    for n, data in enumerate(DATA)
    for a in ((), ("IDNUM", "CITY"))
}
QUESTIONS |= {
    f"{operator} {n} {number}": partial(tried, partial(replaced, operator, parameters, number))
    for operator in OPERATORS
    if operator not in ("generalize", "published-value", "encrypt")
    for n, parameters in enumerate(OPTIONS.get(operator, [{}]))
    for number in range(3)
}
QUESTIONS |= {f"hidden {seed}": partial(hidden, seed) for seed in range(60)}
QUESTIONS |= {f"chosen {seed}": partial(chosen, seed) for seed in range(80)}
QUESTIONS |= {
    f"terms {n} {t}": partial(termed, settings, t, more)
    for n, (settings, more) in enumerate(
        [
            ("", {}),
            ('title = "illness"\ncategory = "CITY"\ncategories = ["CITY"]\nplurals = true\n', FILES),
            ("surnames = true\nplurals = false\n", FILES),
            ("plurals = 3\n", {}),
            ("sort = 3\n", {}),
            ("sort = \n", {}),
            ("", {"synonyms.csv": "tumour;growth\n"}),
            ("", {"codes.csv": "\nC1;cancer\nC1\n"}),
        ]
    )
    for t in (2, 9, 900)
}
QUESTIONS |= {f"blocked {seed}": partial(blocked, seed) for seed in range(40)}
QUESTIONS |= {f"contained {seed}": partial(contained, seed) for seed in range(40)} | {
    "worded": worded,
    "agreed": agreed,
}
PINNED = Pinned(__file__, QUESTIONS | dict(left_unsaid("deid.replacement")), parts=60)
test_what_is_decided_is_what_was_decided = PINNED.test(__name__)
