"""What commands share that write something: the run's manifest, from what the summary and the options say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deid.cli.common import Summary

if TYPE_CHECKING:
    from deid.base.keys import Key
    from deid.detection import Recognizer
    from deid.io import Source
    from deid.manifest import ManifestRun
    from deid.replacement.policy import Policy


def begin(context: typer.Context, out: Path, key: Key | None = None, first: Path | None = None) -> ManifestRun:
    """Begin the run of a command, before it does anything; see `deid.manifest.begin_run`."""
    from deid import __version__
    from deid.manifest import begin_run
    from deid.manifest.options import OptionRecord

    names = []
    at: Any = context
    while at.parent is not None:
        names.append(at.info_name or "")
        at = at.parent
    options = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "option" and parameter.name:
            paths = parameter.type.name == "path"
            if paths and value is not None and str(value) == str(out):
                continue  # where the output is put decides nothing about it
            options.append(OptionRecord(parameter.name, _paths(value) if paths else value))
    return begin_run(" ".join(reversed(names)), out, version=__version__, key=key, options=options, first=first)


def _paths(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_paths(one) for one in value]
    return None if value is None else Path(value)


def inputs_of(source: Source) -> list[tuple[str, Path]]:
    """Return the files of a source by relative path, companions included."""
    from deid.base.errors import DeidError

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
        ],
    }


def finish_paid(run: ManifestRun, summary: Summary, out: Path, notes: list[str]) -> None:
    """Write the manifest of a release with differential privacy: nothing in it comes from the table but by the release.

    Parameters
    ----------
    run, summary, out
        See `finish`; notes and counts of the summary are for the user alone.
    notes : list of str
        Notes of the release itself.
    """
    parts = (".json",) if out.suffix == ".csv" else ()
    finish(run, summary, out, inputs=None, parts=parts, notes=notes, results=summary.extra, documents=0, categories={})


def finish(
    run: ManifestRun,
    summary: Summary,
    out: Path | None,
    *,
    inputs: Iterable[tuple[str, Path]] | Mapping[str, str] | None = (),
    parts: Iterable[str] = (),
    beside: Mapping[str, Path | None] | None = None,
    private: bool = False,
    looked: bool = False,
    root: Path | None = None,
    **facts: Any,
) -> None:
    """Write the manifest of a run that ended, and say where it lies; see `deid.manifest.Run.finish`."""
    place = run.finish(
        out,
        inputs=inputs,
        parts=parts,
        beside={what: path for what, path in (beside or {}).items() if path is not None},
        private=private,
        looked=looked,
        failures=summary.failures,
        root=root,
        **{
            "documents": summary.documents,
            "failed": len(summary.failures) + summary.left_out,
            "categories": dict(sorted(summary.categories.items())),
            "notes": list(summary.notes),
            **facts,
            "results": _without_times(facts.get("results", {})),
        },
    )
    summary.places += [*run.created, f"manifest: {place}"]


def _without_times(value: Any) -> Any:
    """Return results without how long something took: two equal runs have the same."""
    if isinstance(value, dict):
        return {name: _without_times(one) for name, one in value.items() if not str(name).endswith("seconds")}
    return value
