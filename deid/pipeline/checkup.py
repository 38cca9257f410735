"""Checks an installation: can everything that a user may ask for be loaded, and if not, what is to be done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from deid.base.errors import DeidError

_DISTRIBUTION = "clinical-deid"
_SAMPLE = "Mr. John Smith, 45, of Boston was seen by Dr. Mary Jones on 01/02/2003. Phone (617) 555-0123.\n"


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """One thing that was checked."""

    subject: str
    state: Literal["ok", "note", "broken"]
    """``broken`` only for what is essential."""
    what: str
    remedy: str = ""


def checkup(key_file: Path | None = None) -> Iterator[SetupCheck]:
    """Check the installation, one subject after the other.

    Parameters
    ----------
    key_file : Path, optional
        Key file to check instead of the default one.

    Yields
    ------
    SetupCheck
    """
    for subject, check in (
        ("python", _python),
        ("packages", _packages),
        ("dictionaries", _dictionaries),
        ("policies", _policies),
        ("rules", _rules),
        ("models", _models),
        ("key", lambda: _key(key_file)),
    ):
        yield from _guarded(subject, check)


def _guarded(subject: str, check: Callable[[], Iterator[SetupCheck]]) -> Iterator[SetupCheck]:
    """Run one check; whatever it raises is a finding, so that the others are still made."""
    try:
        yield from check()
    except DeidError as error:
        yield SetupCheck(subject, "broken", str(error), error.hint or "install the package again")
    except Exception as error:
        yield SetupCheck(subject, "broken", f"{type(error).__name__} while checking", "install the package again")


def _python() -> Iterator[SetupCheck]:
    yield SetupCheck("python", "ok", f"Python {'.'.join(map(str, sys.version_info[:3]))}")


def _packages() -> Iterator[SetupCheck]:
    try:
        required, version = metadata.requires(_DISTRIBUTION) or [], metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        yield SetupCheck(
            "packages", "note", "runs from a checkout that is not installed", "run: pip install -e . (or scripts/setup)"
        )
        return
    needed, optional = (_missing(required, extra=extra) for extra in (False, True))
    remedy = f"run: pip install {' '.join(needed)}" if needed else ""
    told = f"missing: {', '.join(needed)}" if needed else f"{_DISTRIBUTION} {version} and all that it needs"
    yield SetupCheck("packages", "broken" if needed else "ok", told, remedy)
    told = f"that are not installed: {', '.join(optional)}" if optional else "are all installed"
    yield SetupCheck("extras", "note" if optional else "ok", f"optional packages {told}", "install them if needed")


def _missing(required: list[str], *, extra: bool) -> list[str]:
    """Return the distributions in requirements, of extras or of none, that are not installed."""
    chosen = [r for r in required if ("extra ==" in r) == extra]
    names = {"".join(c if c.isalnum() or c in "-_." else " " for c in r).split()[0] for r in chosen} - {_DISTRIBUTION}
    return sorted(name for name in names if not any(metadata.distributions(name=name)))


def _dictionaries() -> Iterator[SetupCheck]:
    from deid.reading.dictionaries import available, load_dictionary

    names = available()
    if not names:
        yield SetupCheck("dictionaries", "broken", "there are no word lists", "install the package again")
        return
    phrases = sum(len(load_dictionary(name).phrases) for name in names)
    yield SetupCheck("dictionaries", "ok", f"{len(names)} word lists with {phrases} items")


def _policies() -> Iterator[SetupCheck]:
    from deid.replacement.policy import load_policy, shipped_policies
    from deid.replacement.replacer import Replacer

    names = shipped_policies()
    for name in names:
        try:
            Replacer(load_policy(name))
        except DeidError as error:
            yield SetupCheck("policies", "broken", str(error), error.hint)
    what, remedy = f"shipped policies: {', '.join(names) or 'none'}", "" if names else "install the package again"
    yield SetupCheck("policies", "ok" if names else "broken", what, remedy)


def _rules() -> Iterator[SetupCheck]:
    from deid.detection.options import RULES_ALONE, RecognizerOptions
    from deid.detection.recognizers import build_recognizer
    from deid.document import Document

    found = build_recognizer(RecognizerOptions(model=RULES_ALONE)).find(Document("sample", _SAMPLE))
    state: Literal["ok", "broken"] = "ok" if found else "broken"
    yield SetupCheck(
        "rules", state, f"English rules find {len(found)} spans in a sample", "" if found else "install again"
    )


def _models() -> Iterator[SetupCheck]:
    from deid.document import Document
    from deid.labeling.tagger import available_models, load_model

    names = available_models()
    if not names:
        yield SetupCheck(
            "models", "broken", "no model is shipped", "run: scripts/train_default_model, or scrub with --model none"
        )
    for name in names:
        try:
            tagger = load_model(name)
            found = tagger.find(Document("sample", _SAMPLE))
        except DeidError as error:
            yield SetupCheck("models", "broken", str(error), error.hint)
            continue
        yield SetupCheck("models", "ok", f"{name}: {len(tagger.categories)} categories, {len(found)} spans in a sample")


def _key(path: Path | None) -> Iterator[SetupCheck]:
    from deid.base.keys import KEY_VARIABLE, default_key_path, load_key

    if path is None and os.environ.get(KEY_VARIABLE):
        load_key()
        yield SetupCheck("key", "ok", f"the variable {KEY_VARIABLE} holds a key")
        return
    file = path or default_key_path()
    if not file.exists():
        yield SetupCheck("key", "note", f"there is no key in {file}", "the first run that needs one makes it")
        return
    load_key(file, create=False)
    yield SetupCheck("key", "ok", f"{file} holds a key that only you can read")
