"""Learns how likely spans are PHI that only a model or one rule found (`deid.detection.joining`).

A model is surer of the notes that it was trained on than of any other. So each of two models is trained on one half
of the bodies and works beside the rules on the other; logistic regression over the evidence of each word gives the
weights.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from deid.detection import Ensemble, RuleRecognizer
from deid.detection.joining import JOINING_FILE, MODEL, POSSIBLE, RULE, Evidence, JoiningWeights
from deid.document import Document
from deid.labeling.tagger import Tagger

TURNED = 1.0
"""The dial of the two models: up, so that there is something to tell apart."""
PENALTY = 0.1
"""Inverse strength of the L2 penalty."""
SEEN = 10
"""Words of which evidence must have been seen to count."""
LEAST = {MODEL: 0.2, RULE: 0.03, POSSIBLE: 0.45}
"""Probability from which a span counts, chosen on the development part of the English corpus."""
WORD = re.compile(r"[^\W_]+")
Weighed = tuple[str, Evidence, int, int]
"""Kind of a span, what is known of it, and how many of its words are PHI, and are none."""


def evidence(tagger: Tagger, language: str, documents: Sequence[Document]) -> list[Weighed]:
    """Return what is known of each span that is weighed, in notes that the model was not trained on."""
    found = list(_evidence(dataclasses.replace(tagger, bias=TURNED), language, documents))
    for kind in LEAST:
        words = [w[2:] for w in found if w[0] == kind]
        right, wrong = map(sum, zip(*words, strict=True))
        print(f"{kind}: {len(words)} spans, {right} words of PHI, {wrong} others", flush=True)
    return found


def _evidence(tagger: Tagger, language: str, documents: Sequence[Document]) -> Iterator[Weighed]:
    joining = {kind: JoiningWeights({}, 0.0) for kind in LEAST}
    ensemble = Ensemble((tagger, RuleRecognizer.load(language)), language, joining=joining)
    for document in documents:
        trace = ensemble.trace(document)
        for candidate in trace.candidates:
            if candidate.weighed is not None:
                span = trace.normal.back(candidate.span)
                words = [word.span() for word in WORD.finditer(document.text, span.start, span.end)]
                right = sum(any(s.start < end and start < s.end for s in document.spans) for start, end in words)
                yield candidate.weighed.kind, candidate.weighed.evidence, right, len(words) - right


def write_weights(folder: Path, told: Sequence[Weighed], origin: str, leasts: Mapping[str, float] = LEAST) -> None:
    """Learn the weights of each kind, and write them into the folder of a model."""
    kinds = {}
    for kind, least in leasts.items():
        own = [w for w in told if w[0] == kind]
        kinds[kind] = {"spans": len(own), "least": least, "weights": _learn(own)}
    content = {"origin": origin, "kinds": kinds}
    (folder / JOINING_FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _learn(told: Sequence[Weighed]) -> dict[str, float]:
    """Return the weight of each part of the evidence."""
    seen: Counter[str] = Counter()
    for _, parts, right, wrong in told:
        seen.update({name: right + wrong for name, value in parts.items() if value})
    rows, truth, counts = [], [], []
    for _, parts, *words in told:
        for phi, count in zip((1, 0), words, strict=True):
            if count:
                rows.append({name: value for name, value in parts.items() if seen[name] >= SEEN})
                truth.append(phi)
                counts.append(count)
    names = DictVectorizer()
    matrix = names.fit_transform(rows)
    model = LogisticRegression(C=PENALTY, max_iter=5000, tol=1e-8, fit_intercept=False)
    model.fit(matrix, truth, sample_weight=counts)
    found = zip(names.get_feature_names_out().tolist(), model.coef_[0].round(3).tolist(), strict=True)
    return {name: weight for name, weight in found if weight}
