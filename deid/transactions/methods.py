"""The methods by name: what each needs, which attacker it stops, and the verifiers that must pass its release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, require
from deid.table.hierarchy import Hierarchy
from deid.transactions.coherence import coherence
from deid.transactions.constrained import Constrained, aclip, cba, coat, pcta, ugaclip
from deid.transactions.disassociation import Disassociated, disassociate, verify_disassociated
from deid.transactions.km import apriori_cut, local_recoding, vertical_cut
from deid.transactions.measures import Weight, semantic_weight
from deid.transactions.partition import partition_records, publish_groups
from deid.transactions.policies import maximal_sets
from deid.transactions.relational import Cells, anonymize_both, verify_both
from deid.transactions.rules import Rule, rbat
from deid.transactions.suppression import suppress_globally, suppress_locally
from deid.transactions.transactions import Transactions
from deid.transactions.tree import CodeTree, code_tree
from deid.transactions.uncertainty import Uncertain, suppress_control, top_down_control
from deid.transactions.verifiers import (
    TransactionVerdict,
    verify_coherence,
    verify_complete,
    verify_full_sets,
    verify_km,
    verify_privacy_policy,
    verify_rules,
    verify_uncertainty,
    verify_utility_policy,
)

_POLICY = "knows one of the privacy policy's sets of codes"
_ALL, _SOME = "knows all codes of a person", "knows up to m codes of a person"
_INFERS = "knows any codes of a person and infers a sensitive one"
_NEEDS = {
    "privacy": ("a privacy policy", "give --privacy FILE, or --visit COLUMN"),
    "utility": ("a utility policy", "give --utility FILE, or --phenotypes FILE"),
    "sensitive": ("sensitive codes", "give --sensitive-codes"),
    "rules": ("rules", "give --ps-rules FILE"),
}


@dataclass(frozen=True)
class Asked:
    """The levels asked for of a release of codes; each method and verifier reads those that concern it.

    Parameters
    ----------
    k : int
        Records that must fit what the attacker knows.
    m : int
        Codes that the attacker knows: k^m-anonymity, disassociation; and p of (h,k,p)-coherence.
    privacy : sequence of frozenset of str
        Sets of codes that the attacker knows.
    utility : sequence of frozenset of str
        Disjoint sets of codes that may be combined.
    sensitive : frozenset of str
        Codes that must not be inferred.
    rules : sequence of Rule
        For rbat.
    confidence : float
        Greatest probability of a sensitive code: max_prob, c, or rho.
    known : int, optional
        For rho-uncertainty: most codes that the attacker knows; any number by default.
    most_suppressed : float
        For methods under policies: greatest share of codes that may be suppressed.
    free : bool
        Codes in no utility constraint may be combined with each other.
    """

    k: int = 5
    m: int = 2
    privacy: Sequence[frozenset[str]] = ()
    utility: Sequence[frozenset[str]] = ()
    sensitive: frozenset[str] = frozenset()
    rules: Sequence[Rule] = ()
    confidence: float = 0.5
    known: int | None = None
    most_suppressed: float = 1.0
    free: bool = False


@dataclass(frozen=True)
class ReleaseFinding:
    """What a verifier says of a release."""

    model: str
    asked: str
    verdict: TransactionVerdict

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "model": self.model,
            "asked": self.asked,
            "holds": self.verdict.holds,
            "level": self.verdict.level,
            "witness": list(self.verdict.witness),
        }


@dataclass(frozen=True, eq=False)
class Found:
    """What a method found: published transactions, or chunks; cells where columns are published too."""

    published: Transactions | None
    chunks: Disassociated | None = None
    cells: Sequence[Cells] = ()
    told: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MethodInput:
    """What a method works on."""

    data: Transactions
    hierarchy: Hierarchy | None
    cells: Sequence[Cells] = ()

    @property
    def tree(self) -> CodeTree:
        """Tree over the codes."""
        return code_tree(self.data, self.hierarchy)

    @property
    def weight(self) -> Weight | None:
        """Semantic distance by the hierarchy, if there is one."""
        return None if self.hierarchy is None else semantic_weight(self.hierarchy)


@dataclass(frozen=True)
class TransactionMethod:
    """A method.

    Parameters
    ----------
    attacker : str
        Whom it stops.
    needs : tuple of str
        Parts of `Asked` that must be given.
    run : callable
        Finds a release.
    check : callable
        Verifies it; sees the original only for utility constraints.
    """

    attacker: str
    needs: tuple[str, ...]
    run: Callable[[MethodInput, Asked], Found]
    check: Callable[[MethodInput, Found, Asked], list[ReleaseFinding]]


def _shown(found: Found) -> Transactions:
    assert found.published is not None
    return found.published


def _judged(
    model: str, asked: str, judge: Callable[[Found, Asked], TransactionVerdict]
) -> Callable[[MethodInput, Found, Asked], list[ReleaseFinding]]:
    """Return the check by one verifier that looks at nothing but the release."""
    return lambda _, found, levels: [ReleaseFinding(model, asked.format(levels), judge(found, levels))]


_KM = "k = {0.k}, m = {0.m}"
_check_km = _judged("k^m-anonymity", _KM, lambda f, a: verify_km(_shown(f), a.k, a.m))
_check_both = _judged("(k, k^m)-anonymity", _KM, lambda f, a: verify_both(f.cells, _shown(f), a.k, a.m))
_check_full = _judged("support of every full set of codes", "{0.k}", lambda f, a: verify_full_sets(_shown(f), a.k))
_check_complete = _judged("complete k-anonymity", "k = {0.k}", lambda f, a: verify_complete(_shown(f), a.k))
_check_coherence = _judged(
    "(h,k,p)-coherence",
    "h = {0.confidence:g}, k = {0.k}, p = {0.m}",
    lambda f, a: verify_coherence(_shown(f), a.sensitive, max_prob=a.confidence, k=a.k, p=a.m),
)


def _check_policies(
    source: MethodInput, found: Found, asked: Asked, utility: Sequence[frozenset[str]]
) -> list[ReleaseFinding]:
    privacy = verify_privacy_policy(_shown(found), asked.privacy, asked.k)
    kept = verify_utility_policy(
        source.data, _shown(found), utility, most_suppressed=asked.most_suppressed, free=asked.free
    )
    return [
        ReleaseFinding(f"{len(asked.privacy)} privacy constraints", f"0 or at least {asked.k} records", privacy),
        ReleaseFinding(f"{len(utility)} utility constraints", f"suppressed at most {asked.most_suppressed:.0%}", kept),
    ]


def _under_policy(source: MethodInput, found: Found, asked: Asked) -> list[ReleaseFinding]:
    return _check_policies(source, found, asked, asked.utility)


def _without_policy(source: MethodInput, found: Found, asked: Asked) -> list[ReleaseFinding]:
    return _check_policies(source, found, asked, [frozenset(source.data.labels)])


def _check_rules(source: MethodInput, found: Found, asked: Asked) -> list[ReleaseFinding]:
    verdict = verify_rules(_shown(found), asked.rules, asked.k, asked.confidence)
    return [ReleaseFinding(f"{len(asked.rules)} PS-rules", f"k = {asked.k}, confidence {asked.confidence:g}", verdict)]


def _check_uncertainty(source: MethodInput, found: Found, asked: Asked) -> list[ReleaseFinding]:
    verdict = verify_uncertainty(_shown(found), asked.sensitive, asked.confidence, size=asked.known)
    known = "any codes" if asked.known is None else f"up to {asked.known} codes"
    return [ReleaseFinding("rho-uncertainty", f"rho = {asked.confidence:g}, {known} known", verdict)]


def _check_chunks(source: MethodInput, found: Found, asked: Asked) -> list[ReleaseFinding]:
    assert found.chunks is not None
    verdict = verify_disassociated(found.chunks, asked.k, asked.m)
    return [ReleaseFinding("k^m-anonymity of chunks", f"k = {asked.k}, m = {asked.m}", verdict)]


def _suppressed(found: tuple[Transactions, Any], name: str) -> Found:
    return Found(found[0], told={name: found[1] if isinstance(found[1], int) else len(found[1])})


def _constrained(run: Callable[[Sequence[frozenset[str]]], Constrained], asked: Asked) -> Found:
    """Run on the largest constraints; on all of them when smaller ones are left unprotected."""
    found = run(maximal_sets(asked.privacy))
    if not verify_privacy_policy(found.published, asked.privacy, asked.k).holds:
        found = run(asked.privacy)
    return Found(found.published, told={"merges": found.merges, "suppressed_codes": len(found.suppressed)})


def _under(method: Callable[..., Constrained], *, utility: bool = True) -> Callable[[MethodInput, Asked], Found]:
    """Return how a method under both policies, or under the privacy policy alone, is run."""

    def run(source: MethodInput, asked: Asked) -> Found:
        groups = (asked.utility,) if utility else ()
        more = {"most_suppressed": asked.most_suppressed, "free": asked.free, "weight": source.weight}
        return _constrained(lambda p: method(source.data, p, *groups, asked.k, **more), asked)

    return run


def _partition(source: MethodInput, asked: Asked) -> Found:
    tree = source.tree
    groups = partition_records(source.data, tree, asked.k)
    return Found(publish_groups(source.data, tree, groups), told={"groups": len(groups)})


def _cut(search: Callable[[Transactions, CodeTree, int, int], IntArray]) -> Callable[[MethodInput, Asked], Found]:
    """Return what publishes the cut that a search finds."""

    def run(source: MethodInput, asked: Asked) -> Found:
        tree = source.tree
        return Found(tree.publish(source.data, search(source.data, tree, asked.k, asked.m)))

    return run


def _both(source: MethodInput, asked: Asked) -> Found:
    require(source.cells, "no column is to be published beside the codes", "name the generalized ones with --qi")
    found = anonymize_both(source.cells, source.data, source.tree, asked.k, asked.m)
    return Found(found.published, cells=found.cells, told={"classes": found.classes, "merged": found.merged})


def _controlled(found: Uncertain) -> Found:
    return Found(found.published, told={"suppressed_items": len(found.suppressed)})


METHODS: dict[str, TransactionMethod] = {
    "global-suppression": TransactionMethod(
        _ALL, (), lambda s, a: _suppressed(suppress_globally(s.data, a.k), "threshold"), _check_full
    ),
    "local-suppression": TransactionMethod(_ALL, (), lambda s, a: Found(suppress_locally(s.data, a.k)), _check_full),
    "complete": TransactionMethod(f"{_ALL}, and that there are no others", (), _partition, _check_complete),
    "km": TransactionMethod(_SOME, (), _cut(apriori_cut), _check_km),
    "km-local": TransactionMethod(_SOME, (), lambda s, a: Found(local_recoding(s.data, s.tree, a.k, a.m)), _check_km),
    "km-vertical": TransactionMethod(_SOME, (), _cut(vertical_cut), _check_km),
    "ugaclip": TransactionMethod(_POLICY, ("privacy", "utility"), _under(ugaclip), _under_policy),
    "cba": TransactionMethod(_POLICY, ("privacy", "utility"), _under(cba), _under_policy),
    "coat": TransactionMethod(_POLICY, ("privacy", "utility"), _under(coat), _under_policy),
    "pcta": TransactionMethod(_POLICY, ("privacy",), _under(pcta, utility=False), _without_policy),
    "aclip": TransactionMethod(_POLICY, ("privacy",), _under(aclip, utility=False), _without_policy),
    "coherence": TransactionMethod(
        "knows up to m public codes of a person and infers a sensitive one",
        ("sensitive",),
        lambda s, a: _suppressed(
            coherence(s.data, a.sensitive, max_prob=a.confidence, k=a.k, p=a.m), "suppressed_codes"
        ),
        _check_coherence,
    ),
    "rbat": TransactionMethod(
        "knows the public codes of a rule and infers its sensitive ones",
        ("rules",),
        lambda s, a: Found(rbat(s.data, a.rules, a.k, a.confidence, weight=s.weight)),
        _check_rules,
    ),
    "suppress-control": TransactionMethod(
        _INFERS,
        ("sensitive",),
        lambda s, a: _controlled(suppress_control(s.data, a.sensitive, a.confidence, size=a.known)),
        _check_uncertainty,
    ),
    "top-down-control": TransactionMethod(
        _INFERS,
        ("sensitive",),
        lambda s, a: _controlled(top_down_control(s.data, s.tree, a.sensitive, a.confidence, size=a.known)),
        _check_uncertainty,
    ),
    "disassociation": TransactionMethod(
        _SOME, (), lambda s, a: Found(None, disassociate(s.data, a.k, a.m)), _check_chunks
    ),
    "relational": TransactionMethod("knows the columns and up to m codes of a person", (), _both, _check_both),
}
"""Methods by name."""


def find_method(name: str, asked: Asked) -> TransactionMethod:
    """Return a method, when it has what it needs.

    Raises
    ------
    ConfigError
        When there is none of that name, a policy, rules or sensitive codes are missing, or it has no bound on
        suppression.
    """
    require(name in METHODS, f"there is no method {name!r}", f"choose one of {', '.join(METHODS)}")
    missing = [need for need in METHODS[name].needs if not getattr(asked, need)]
    if missing:
        what, hint = _NEEDS[missing[0]]
        raise ConfigError(f"the method {name} needs {what}", hint)
    if asked.most_suppressed < 1 and "privacy" not in METHODS[name].needs:
        bounded = ", ".join(other for other, method in METHODS.items() if "privacy" in method.needs)
        raise ConfigError(f"the method {name} has no bound on suppression", f"only these have one: {bounded}")
    require(asked.k >= 1 and asked.m >= 1, "k and m are at least 1", "for example k = 5, m = 2")
    return METHODS[name]
