"""What is said of small tables by chance (`chance`) is said tomorrow (`pinned`): releases, verdicts, risks, losses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from chance import asked, population, published, table
from pinned import Pinned

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.disclosure.assessment import Requirements, assess, reached
from deid.disclosure.cells import Domain, cover_table, overlap_table
from deid.disclosure.composition import composition_attack
from deid.disclosure.consistency import consistent_records, k1_anonymity, match_population, one_k_anonymity
from deid.disclosure.exclusion import exclusion_attack, mine_exclusions
from deid.disclosure.expert_report import assumptions
from deid.disclosure.guards import check_before_release, check_published, fates_of, look_alikes, told_of
from deid.disclosure.measured_risk import measure_risk
from deid.disclosure.methods import METHODS, MethodOptions
from deid.disclosure.perturbing import PerturbOptions, nearest_links, perturb
from deid.disclosure.proposal import propose_schema
from deid.disclosure.queries import average_relative_error, query_precision, random_queries
from deid.disclosure.recoding_scheme import classify_recoding
from deid.disclosure.release import anonymize
from deid.disclosure.risk import population_risk, sample_risk
from deid.disclosure.same_disease import recode_same_disease
from deid.disclosure.schema import apply_schema, format_schema
from deid.disclosure.scheme import apply_scheme, scheme_of
from deid.disclosure.utility import classification_metric, information_loss
from deid.table.microdata import Microdata

METHOD_NAMES = ["auto", *METHODS]


def tried(question: Callable[[], object]) -> object:
    """Return an answer, or the error that is told instead."""
    try:
        return question()
    except (DeidError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def alone(data: Microdata) -> Microdata:
    """Return a table whose rows are persons."""
    return replace(data, frame=data.frame.drop(columns=data.person or []), person=None, each_row_a_person=True)


def released(number: int) -> object:
    """Return a release with what is said of it, and of later rows that go by its scheme."""
    draw = random.Random(number)
    data = table(number)
    wanted, method = asked(number, data), METHOD_NAMES[number % len(METHOD_NAMES)]
    beside, target, prefixes, rules = None, None, (), None
    if method in ("bottom-up", "top-down", "hybrid", "mdav", "kk", "r-gather") and draw.random() < 0.9:
        data = alone(data)
    if method in ("mdav", "kk", "r-gather") and draw.random() < 0.9:
        data, wanted = alone(data), Requirements(k=draw.choice([1, 2, 3, 4]))
    if method in ("mondrian", "local", "optimal", "greedy") and draw.random() < 0.3:
        beside, data = population(data, number + 5000), alone(data)
        wanted = replace(wanted, k_map=draw.choice([1, 2, 3]))
    elif method in ("relaxed", "mondrian") and draw.random() < 0.4:
        target = data.sensitive[0]
    elif method != "kk" and data.person is None and draw.random() < 0.2:
        rules = draw.choice([1, 2])
    if "zip" in data.quasi_identifiers and method == "same-disease":
        prefixes = ("zip",)
    options = MethodOptions(draw.choice([0.0, 0.1, 0.34, 0.5, 1.0]), seed=number % 3, hierarchical=draw.random() < 0.8)
    made = anonymize(
        data, wanted, method, options, target=target, population=beside, prefixes=prefixes, rules_left=rules
    )
    later = table(number + 9000, rows=10, columns=[*data.quasi_identifiers, *data.sensitive], plain=True)
    return [
        made.published, made.lines(), made.sentences(), made.as_dict(), made.fates, made.aligned(),
        reached(made.findings),
        tried(lambda: (scheme := scheme_of(made)) and [scheme, apply_scheme(scheme, later, wanted, options).published]),
        tried(lambda: classify_recoding(data, made.recoded, made.rows.tolist())),
        tried(lambda: information_loss(data, made.published, 2)),
        [tried(partial(classification_metric, made.published, data.sensitive[0], rows)) for rows in (None, 30)],
    ]  # fmt: skip


def verified(number: int) -> object:
    """Return what verifiers say of a published table."""
    data, public = published(number)
    everybody = population(data, number + 5000)
    wanted = asked(number, data, guard=True)
    return [
        tried(lambda: [
            (f.cells, f.failed, f.as_dict()) for f in assess(public, wanted, population=everybody, originals=data)
        ]),
        tried(lambda: check_published(replace(public, each_row_a_person=False), None)),
        tried(lambda: [k1_anonymity(public, data, 2), one_k_anonymity(public, data, 2)]),
    ]  # fmt: skip


def measured(number: int) -> object:
    """Return risks and measures of a published table."""
    data, public = published(number)
    everybody = population(data, number + 5000)
    _, other = published(number, 1)
    column = data.sensitive[0]
    texts = {name: [t for t in public.texts(name) if t is not None] for name in public.quasi_identifiers}
    return [
        tried(lambda: [sample_risk(public, threshold=t, population_size=s) for t, s in ((0.2, None), (0.5, 500))]),
        tried(lambda: population_risk(public, everybody, threshold=1 / 3)),
        tried(lambda: [consistent_records(public, data), match_population(public, everybody)]),
        tried(lambda: measure_risk(public, population=everybody, earlier=data, known=data, mined=data, expected=1.0)),
        tried(lambda: composition_attack(public, everybody, column, data)),
        tried(lambda: composition_attack(public, other, column)),
        tried(lambda: [mine_exclusions(everybody, column, expected=e) for e in (0.2, 0.5, 1.0)]),
        tried(lambda: [exclusion_attack(public, data, column, expected=e) for e in (0.3, 1.0)]),
        tried(lambda: information_loss(data, public, 2)),
        tried(lambda: classification_metric(public, column)),
        tried(lambda: average_relative_error(data, public, random_queries(data, 30, seed=number))),
        [tried(lambda n=n: query_precision(data, public, n, queries=40)) for n in data.quasi_identifiers],
        tried(lambda: [assumptions(public, flag) for flag in (True, False)]),
        tried(lambda: classify_recoding(data, public)),
        [
            tried(lambda n=n: [
                own := Domain.of(data, n), own.penalty(texts[n]), own.loss(texts[n]), [*map(own.interval, texts[n])],
                cover_table(texts[n], own.values, data.hierarchies.get(n)),
                overlap_table(texts[n], texts[n][::-1], data.hierarchies.get(n)),
            ])
            for n in public.quasi_identifiers
        ],
    ]  # fmt: skip


def described(number: int) -> object:
    """Return what is proposed for a table of which less is said, and whether it may be released so."""
    data, draw = table(number), random.Random(number)
    roles = {name: role for name, role in data.roles.items() if draw.random() < 0.6}
    kinds = {name: data.kind(name) for name in data.frame.columns if draw.random() < 0.2}
    less = replace(data, roles=roles, kinds=kinds, each_row_a_person=draw.random() < 0.5)
    schema = propose_schema(less)
    return [
        format_schema(schema), tried(lambda: apply_schema(data.frame, schema).roles), fates_of(less), look_alikes(less),
        told_of(less), tried(lambda: check_before_release(less)),
        tried(lambda: check_published(less, {"quasi_identifiers": ["age", "sex"]})),
    ]  # fmt: skip


def disturbed(number: int) -> object:
    """Return a table of which columns are perturbed, and patients whose disease is all that is told."""
    data, draw = table(number, rows=random.Random(number).choice([8, 12, 20])), random.Random(number)
    steps: dict[str, tuple[str, ...]] = {"swap": (), "noise": (), "round": (), "microaggregate": (), "randomize": ()}
    shares = {"swap": ["=0.2", "=1", "=0.5"], "noise": ["=0.1", "=1"], "round": ["=5", "=2", "=0.5"]}
    shares |= {"microaggregate": [""], "randomize": ["=3,2", "=2,3"]}
    for name in draw.sample([*data.quasi_identifiers], draw.randint(1, len(data.quasi_identifiers))):
        numbers = data.kind(name) == "numeric" and draw.random() < 0.8
        step = draw.choice(["noise", "round", "microaggregate"] if numbers else ["swap", "randomize"])
        steps[step] = (*steps[step], name + draw.choice(shares[step]))
    k = draw.choice([2, 3, 5, 1]) if steps["microaggregate"] else draw.choice([None] * 9 + [2])
    window = draw.choice([0.1, 0.5]) if steps["swap"] and draw.random() < 0.5 else None
    if steps["microaggregate"]:
        data = alone(data)
    own = PerturbOptions(**steps, k=k, window=window, by_chance=draw.random() < 0.3)
    everybody = population(data, number + 5000)

    def changed() -> object:
        made = perturb(data, own, Key(b"k" * 32))
        return [made, made.sentences(), made.as_dict(), made.sections()]

    other = replace(data, frame=data.frame.sample(frac=1, random_state=number, ignore_index=True))
    prefixes = tuple(set(data.quasi_identifiers) & {"zip"}) if draw.random() < 0.5 else ()
    classes = draw.choice([None, 1, 2])
    return [
        tried(changed), tried(lambda: nearest_links(data, other, seed=number)),
        tried(lambda: nearest_links(data, data)),
        tried(lambda: recode_same_disease(data, everybody, draw.choice([2, 3]), prefixes=prefixes, classes=classes)),
    ]  # fmt: skip


KINDS = {"release": (released, 200), "verdict": (verified, 200), "measure": (measured, 100), "schema": (described, 60)}
KINDS |= {"disturbed": (disturbed, 80)}


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    for kind, (question, count) in KINDS.items():
        for number in range(count):
            yield f"{kind} {number}", partial(question, number)


PINNED = Pinned(__file__, dict(questions()), parts=60)
test_the_answer_is_that_of_yesterday = PINNED.test(__name__)
