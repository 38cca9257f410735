"""Which words of the training notes a model stores, and leave to pass it on.

A CRF keeps its features by name, and features that spell words keep words of patients' notes: a surname that stood in
one training note would be readable in the weights. Training therefore drops lexical attributes seen in fewer than
``min_documents`` documents, or patients where training was told of them; the audit lists what is left below that
number, and export asks for the audit.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import ModelError, OutputError
from deid.labeling.tagger import Tagger

_RECORD = "audit.json"


@dataclass(frozen=True)
class ModelAudit:
    """What an audit found."""

    lexical: int
    """Lexical attributes in the model."""
    rare: tuple[tuple[str, int], ...] = field(repr=False)
    """Those seen in fewer documents than asked for, and in how many; rarest first. PHI for all we know."""
    min_documents: int
    accepted: bool
    """Whether the model may be exported: nothing rare is left, or the user took it upon himself."""
    patients: int | None = None
    """How many patients the training notes are of, where training was told; then patients were counted."""

    def told(self) -> list[str]:
        """Return the outcome in sentences."""
        counted = "documents" if self.patients is None else "patients"
        outcome = (
            f"{self.lexical} strings are stored, {len(self.rare)} of them from fewer than {self.min_documents} "
            f"{counted}; the model {'may' if self.accepted else 'may not'} be exported"
        )
        untold = "several notes of a patient count as several: to count patients, say --group-field in training"
        return [outcome, untold] if self.patients is None else [outcome]


def audit_model(folder: Path, min_documents: int = 3, *, accept: bool = False) -> ModelAudit:
    """Find the rare strings that a model holds and record the outcome in its folder.

    Parameters
    ----------
    folder : Path
    min_documents : int
        Strings seen in fewer training documents are rare.
    accept : bool
        Accept the rare strings (for models trained on public or synthetic notes).

    Returns
    -------
    ModelAudit
        The rare strings, and whether the model may be passed on.
    """
    tagger = Tagger.load(folder)
    stored = {**tagger.lexicon, **(tagger.rescorer.lexicon() if tagger.rescorer else {})}
    rare = sorted(((name, n) for name, n in stored.items() if n < min_documents), key=lambda x: (x[1], x[0]))
    patients = tagger.description["corpus"].get("groups")
    audit = ModelAudit(len(stored), tuple(rare), min_documents, accept or not rare, patients)
    record = {
        "digest": tagger.description["digest"],
        "min_documents": min_documents,
        "lexical": audit.lexical,
        "rare": len(rare),
        "accepted": audit.accepted,
    }
    (folder / _RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return audit


def export_model(folder: Path, out: Path) -> None:
    """Copy a model that was audited to a new folder, to be passed on.

    Raises
    ------
    ModelError
        When the model was not audited since it was trained, or rare strings are left that nobody accepted.
    OutputError
        When ``out`` exists.
    """
    tagger = Tagger.load(folder)
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        audited, accepted, rare = record["digest"], record["accepted"], int(record["rare"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        audited, accepted, rare = None, False, 0
    if audited != tagger.description["digest"]:
        raise ModelError("the model was not audited since it was trained", "run: deid model audit MODEL", str(folder))
    if not accepted:
        raise ModelError(
            f"the model holds {rare} strings that stood in few training documents",
            "train with a higher --min-documents, or run: deid model audit MODEL --accept",
            str(folder),
        )
    tagger.save(out)
    for name in (_RECORD, "scores.json", "README.md"):
        if (folder / name).is_file():
            try:
                shutil.copyfile(folder / name, out / name)
            except OSError as error:
                raise OutputError(f"{name} cannot be copied ({error.strerror})", "free space", str(out)) from None
