"""What manifests tell of inputs, model and policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import DeidError

if TYPE_CHECKING:
    from deid.detection import Recognizer
    from deid.io import Source
    from deid.pipeline import Pipeline
    from deid.replacement.policy import Policy


def inputs_of(source: Source) -> list[tuple[str, Path]]:
    """Return the files of a source by relative path, companions included."""

    found = []
    for name in source.names:
        try:
            found += [(path.relative_to(source.root).as_posix(), path) for _, path in source.paths(name)]
        except DeidError:
            found.append((name, source.root / name))
    return found


def model_facts(recognizer: Recognizer | None) -> dict[str, str] | None:
    """Return what a manifest says of what found the spans; the name of a user's own model is not told."""
    from deid.detection.recognizers import LazyRecognizer
    from deid.labeling.tagger import available_models

    if not isinstance(recognizer, LazyRecognizer):
        return None
    checksum = recognizer.fingerprint()
    name = recognizer.name if not checksum or recognizer.name in available_models() else "own"
    return {"name": name, "fingerprint": checksum, "language": recognizer.language}


def facts_of(pipeline: Pipeline) -> dict[str, Any]:
    """Return what a manifest says of policy and model of a pipeline: of none where none decides."""
    policy = None if pipeline.applied is None else policy_facts(pipeline.applied)
    return {"policy": policy, "model": model_facts(pipeline.recognizer)}


def models_of(recognizer: Recognizer | None) -> list[dict[str, Any]]:
    """Return the shipped models by name, and which one is used; a user's own is one more."""
    from deid.labeling.tagger import available_models

    used = model_facts(recognizer) or {}
    names = dict.fromkeys([*available_models(), *([used["name"]] if used.get("fingerprint") else [])])
    told = {"used": True, **({"fingerprint": used["fingerprint"]} if used.get("fingerprint") else {})}
    return [{"name": name, **(told if name == used.get("name") else {"used": False})} for name in names]


def policy_facts(policy: Policy) -> dict[str, Any]:
    """Return what a manifest says of a policy; names and parameters of a user's own are not told."""
    from deid.replacement.policy import NOT_IN_TEXT, shipped_policies

    shipped = policy.name in shipped_policies()
    told = policy.summary()
    return {
        **told,
        "name": policy.name if shipped else "own",
        "categories": told["categories"] if shipped else {c: rule.operator for c, rule in sorted(policy.base.items())},
        "not_in_text": NOT_IN_TEXT,
        "needs": [
            *(["a data use agreement"] if policy.requires_dua else []),
            *(["an expert's determination"] if policy.requires_expert else []),
            *([policy.notice] if policy.notice and shipped else []),
        ],
    }
