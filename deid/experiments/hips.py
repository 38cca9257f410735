"""Hiding in plain sight: what surrogates cost in training, and how well missed identifiers hide among them.

Re-tagging (Yeniterzi, Aberdeen, Bayer, Wellner, Hirschman and Malin 2010, the table of MIST):
taggers trained on original and on surrogate text are each scored on original and on surrogate text.

Attacks (the setting of Carrell et al. 2013 and 2019): in a release some identifiers are left, because the recognizer
missed them, among many surrogates. The attacker is given more than a reader has: all identifiers of the release, real
and surrogate, without knowing which are which. Then

- by *rarity*: the rarer its words in the release, the more suspicious (pools of surrogates are finite, reality is not);
- by *program*: whoever knows this program knows which numbers and addresses it never writes, because those of its
  surrogates come from ranges set aside for fiction and documentation;
- by a *parrot*: a tagger trained on the released notes and their identifiers learns what the recognizer finds; what it
  does not find in notes that it was not trained on, the recognizer may have missed as well.

Where identifiers are redacted instead, every one that is left is plain to see.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from deid.base.keys import Key
from deid.base.late import pd
from deid.base.reports import frame_records
from deid.detection import Recognizer
from deid.document import Document, Span
from deid.experiments.trials import Trial, TrialSetup, figures, score
from deid.pipeline import Pipeline, Settings
from deid.pipeline.patients import Patients
from deid.replacement.policy import DEFAULT_POLICY, load_policy

ATTACKS: dict[str, str] = {
    "redaction": "none needed: identifiers are redacted",
    "chance": "chance",
    "rarity": "rarity",
    "program": "knowing the program",
    "parrot": "parrot",
    "parrot-rarity": "parrot, then rarity",
}
"""Values of the column ``attack``, and what they are called."""
_TEXTS = ("original", "surrogate")
_US_PHONE = re.compile(
    r"(?<![\d)])(?<!\d[-. ])(?:\+?1[-. ]?)?(?:\(?[2-9]\d\d\)?[-. ]{0,2})?"
    r"(?P<exchange>[2-9]\d\d)[-. ]?(?P<line>\d{4})(?!\d)"
)
_RESERVED: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("EMAIL", "URL"), re.compile(r".*\bexample\.(?:com|net|org)\b", re.DOTALL | re.IGNORECASE)),
    "IPADDR": re.compile(r"192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|2001:0?db8:", re.IGNORECASE),
}
"""What surrogates of these categories look like. (Those of social security numbers look like any of them.)"""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_GRID = 50


@dataclass(frozen=True, slots=True)
class ReleasedIdentifier:
    """An identifier of a release."""

    span: Span
    """Where it stands in the released text, with its canonical category."""
    leak: bool
    """Whether it is an original that was missed."""


@dataclass(frozen=True)
class Hips:
    """The outcome of the experiment."""

    retagging: pd.DataFrame = field(repr=False)
    """One row a pair: ``train`` and ``test`` (``original``, ``surrogate``), figures of `deid.experiments.trials`."""
    attacks: pd.DataFrame = field(repr=False)
    """One row an attack (`ATTACKS`): how many identifiers it flags, how many of them are leaks, the ``share`` of all
    leaks that is, ``precision``, ``lift`` (precision over that of chance), ``auc`` of its ranking."""
    curve: pd.DataFrame = field(repr=False)
    """Column ``examined`` (share of identifiers, most suspicious first) and a column an attack: share of leaks met."""
    documents: int
    """Documents in the release."""
    identifiers: int
    """Identifiers in the release, real and surrogate."""
    leaks: int

    def table(self) -> pd.DataFrame:
        """Return both tables as one; the column ``table`` tells their rows apart."""
        return pd.concat(
            [self.retagging.assign(table="retagging"), self.attacks.assign(table="attack")], ignore_index=True
        )

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON values."""
        return {
            "documents": self.documents,
            "identifiers": self.identifiers,
            "leaks": self.leaks,
            "retagging": frame_records(self.retagging),
            "attacks": frame_records(self.attacks),
            "curve": frame_records(self.curve),
        }


def hips(
    setup: TrialSetup,
    *,
    recognizer: Recognizer | None = None,
    policy: str = DEFAULT_POLICY,
    key: Key | None = None,
) -> Hips:
    """Measure what surrogates cost in training, and how well missed identifiers hide among them.

    Parameters
    ----------
    setup : TrialSetup
        Documents to train on, and what is scored and released: without a test set a fold is held out. As many parrots
        are trained as there are folds, each on all of the release but one part, which it tags. Groups are patients.
    recognizer : Recognizer, optional
        What finds identifiers for the release; by default the tagger that was trained on original text.
    policy : str
        What replaces identifiers: a shipped policy or a file.
    key : Key, optional
        Of the surrogates; by default one that anybody knows, so that figures can be repeated.

    Returns
    -------
    Hips
        Figures of re-tagging, and of the attacks on the release.

    Raises
    ------
    ConfigError
        When folds cannot be made, or there is nothing to learn from.
    """
    named = setup.groups if setup.groups is not None else ()
    patients = {d.id: patient for d, patient in zip(setup.documents, named, strict=False)}
    if setup.test is None:
        train, held = setup.parts()[0]
        setup = replace(setup, documents=[setup.documents[i] for i in train], test=[setup.documents[i] for i in held])
    test = setup.test or ()
    pipeline = Pipeline(
        None,
        load_policy(policy),
        key or Key(b"hiding in plain sight"),
        Settings(gold=True, keep_id=True, patients=Patients(patients)),
    )
    retagging, answers = _retag(setup, pipeline)
    if recognizer is None:
        released = [release(pipeline, d, found.spans) for d, found in zip(test, answers, strict=True)]
    else:
        released = [release(pipeline, d, recognizer.find(d)) for d in test]
    notes = [document for document, _ in released]
    candidates = [c for _, own in released for c in own]
    again = replace(setup, documents=notes, test=None, groups=None)
    trials = [Trial(train, scored, setup.features, setup.options) for train, scored in again.parts()]
    found: dict[str, Sequence[Span]] = {}
    for outcome in again.run(trials):
        found.update((d.id, d.spans) for d in outcome.answers[0.0])
    missed = np.array(
        [not any(s.overlaps(c.span) for s in found[d.id]) for d, own in released for c in own], dtype=np.float64
    )
    plain = np.array([b for note in notes for b in betrayed(note)], dtype=np.float64)
    attacks, curve = _attack(candidates, rarity(notes), plain, missed)
    return Hips(retagging, attacks, curve, len(notes), len(candidates), sum(c.leak for c in candidates))


def _retag(setup: TrialSetup, pipeline: Pipeline) -> tuple[pd.DataFrame, tuple[Document, ...]]:
    """Return the table, and what the tagger that was trained on original text found in the original test set."""
    documents, test, features = setup.documents, setup.test or (), setup.features
    both = [[*documents], [pipeline(d).document for d in documents]]
    tests = [[*test], [pipeline(d).document for d in test]]
    pool = [*both[0], *both[1], *tests[0], *tests[1]]
    size, first = len(documents), 2 * len(documents)
    scored = tuple(range(first, len(pool)))
    trials = [Trial(tuple(range(i * size, (i + 1) * size)), scored, features, setup.options) for i in range(2)]
    rows = []
    answers = []
    for name, outcome in zip(_TEXTS, setup.run(trials, pool), strict=True):
        tagged = outcome.answers[0.0]
        answers.append(tagged[: len(test)])
        for i, on in enumerate(_TEXTS):
            part = tagged[i * len(test) : (i + 1) * len(test)]
            numbers = figures(score(tests[i], part, features))
            rows.append({"train": name, "test": on, "train_cpu_seconds": outcome.seconds, **numbers})
    return pd.DataFrame(rows), answers[0]


def release(pipeline: Pipeline, document: Document, found: Sequence[Span]) -> tuple[Document, list[ReleasedIdentifier]]:
    """Replace what a recognizer found in an annotated document.

    Parameters
    ----------
    pipeline : Pipeline
    document : Document
        With its true annotations.
    found : sequence of Span

    Returns
    -------
    (Document, list of Candidate)
        The released note, annotated with all its identifiers, and these. A leak is an annotation that the policy would
        have changed and that no found span touches.
    """
    scrubbed = pipeline.replace(document, found)
    candidates = [ReleasedIdentifier(Span(e.new_start, e.new_end, e.category), False) for e in scrubbed.edits]
    for real in pipeline.replace(document, document.spans).edits:
        if not any(s.start < real.end and real.start < s.end for s in scrubbed.spans):
            moved = sum((e.new_end - e.new_start) - (e.end - e.start) for e in scrubbed.edits if e.end <= real.start)
            candidates.append(ReleasedIdentifier(Span(real.start + moved, real.end + moved, real.category), True))
    candidates = sorted((c for c in candidates if len(c.span)), key=lambda c: c.span)
    return scrubbed.document.with_spans(c.span for c in candidates), candidates


def rarity(notes: Sequence[Document]) -> np.ndarray:
    """Return how rare each identifier of a release is.

    Parameters
    ----------
    notes : sequence of Document
        Released notes, annotated with their identifiers.

    Returns
    -------
    float64 array, shape (identifiers,)
        Minus the frequency, in all identifiers of the release, of the rarest word in it; case does not count, and of
        numbers only the length, because no number comes twice.
    """
    keys = [
        ["9" * len(w) if w.isdigit() else w.casefold() for w in _WORD.findall(d.text[s.start : s.end])] or [""]
        for d in notes
        for s in d.spans
    ]
    counts = Counter(key for own in keys for key in own)
    return np.array([-min(counts[key] for key in own) for own in keys], dtype=np.float64)


def betrayed(note: Document) -> list[bool]:
    """Tell of each annotation of a released note whether it is something that is never written as a surrogate.

    Telephone numbers of the United States and Canada are told from 555-0100 to 555-0199, others are not told.
    """
    found = []
    for span in note.spans:
        text = note.text[span.start : span.end]
        if span.category in ("PHONE", "FAX"):
            number = _US_PHONE.search(text)
            found.append(number is not None and number["exchange"] + number["line"][:2] != "55501")
        else:
            found.append(span.category in _RESERVED and not _RESERVED[span.category].match(text))
    return found


def expected_found(scores: np.ndarray, leaks: np.ndarray) -> np.ndarray:
    """Return how many leaks are expected among the k highest scores, ties in random order.

    Parameters
    ----------
    scores : float array, shape (n,)
    leaks : bool array, shape (n,)

    Returns
    -------
    float64 array, shape (n + 1,)
        For k = 0 .. n.

    Examples
    --------
    >>> expected_found(np.array([2.0, 1.0, 1.0]), np.array([False, True, False])).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    steps: list[float] = []
    order = np.argsort(-scores, kind="stable")
    for _, tied in groupby(order, key=lambda i: scores[i]):
        members = list(tied)
        steps += [float(leaks[members].mean())] * len(members)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _attack(
    candidates: Sequence[ReleasedIdentifier], rare: np.ndarray, plain: np.ndarray, missed: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    leaks = np.array([c.leak for c in candidates], dtype=bool)
    total, size = int(leaks.sum()), len(leaks)
    span = float(np.ptp(rare)) + 1.0 if size else 1.0
    rankings = {
        "chance": np.zeros(size),
        "rarity": rare,
        "program": plain,
        "parrot": missed,
        "parrot-rarity": missed * span + rare,  # rarity decides among those alike
    }
    rows = [("redaction", total, float(total), float("nan"))]
    grid = np.linspace(0, 1, _GRID + 1)
    curve: dict[str, np.ndarray] = {"examined": grid}
    for name, scores in rankings.items():
        met = expected_found(scores, leaks)
        # as many as there are leaks, but where an attack says of each whether it is one
        flagged = int(scores.sum()) if name in ("program", "parrot") else total
        rows.append((name, flagged, float(met[flagged]), _auc(met, total, size)))
        curve[name] = np.interp(grid * size, np.arange(size + 1), met) / max(total, 1)
    frame = pd.DataFrame(
        {
            "attack": name,
            "flagged": flagged,
            "found": found,
            "share": _ratio(found, total),
            "precision": _ratio(found, flagged),
            "auc": auc,
        }
        for name, flagged, found, auc in rows
    )
    frame["lift"] = frame["precision"] / _ratio(total, size)
    return frame, pd.DataFrame(curve)


def _auc(met: np.ndarray, total: int, size: int) -> float:
    """Return the area under the receiver operating characteristic, ties counting half."""
    others = np.arange(size + 1) - met
    return _ratio(((met[1:] + met[:-1]) / 2 * np.diff(others)).sum(), total * (size - total))


def _ratio(part: float, whole: float) -> float:
    return float(part) / whole if whole else float("nan")
