"""Which system document answers which gold document.

Documents are matched by id. Nothing is ignored: a gold document without an answer is scored as if nothing
had been found in it, answers without a gold document are reported, and an answer whose text differs is an
error and no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from deid.base.errors import DeidError, DuplicateError, InputError
from deid.document import Document, Failure, check_spans, kept
from deid.reading.line_ends import unified


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold document and the system's answer, None where there is none that can be scored."""

    gold: Document
    system: Document | None
    status: str = "scored"
    """``scored``, ``missing`` (no answer) or ``text differs`` (an answer to another text, not scored)."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """All gold documents with their answers, and what could not be matched or read."""

    pairs: tuple[Pair, ...]
    extra: tuple[str, ...]
    """Safe names of system documents that answer no gold document."""
    failures: tuple[Failure, ...]
    """Documents of either side that could not be read or scored."""
    matched_by: str
    """``id``, ``last part of the id`` or ``position`` (one document on each side)."""
    system_documents: int
    """Readable documents on the system's side."""

    def names(self, status: str) -> tuple[str, ...]:
        """Return the safe names of the gold documents with that status."""
        return tuple(pair.gold.name for pair in self.pairs if pair.status == status)


def pair_documents(gold: Iterable[Document | Failure], system: Iterable[Document | Failure]) -> Pairing:
    """Match system documents to gold documents.

    Ids must be equal. When no id is, the last parts of the ids (``b`` of ``a/b``) are compared, provided that
    they are unique on both sides; when even then nothing matches and each side has one document, those two
    are a pair.

    Parameters
    ----------
    gold, system : iterable of Document or Failure

    Returns
    -------
    Pairing
        With every readable gold document, in the order given.

    Raises
    ------
    InputError
        When no gold document can be read, or the system has documents, and none of them is in gold.
    """
    failures: list[Failure] = []
    gold_by_id = _by_id(gold, "GOLD", failures)
    system_by_id = _by_id(system, "SYSTEM", failures)
    if not gold_by_id:
        reason = f": {failures[0].error}" if failures else ""
        raise InputError(f"GOLD holds no document that can be read{reason}", "name a file or folder of annotated notes")
    answers, matched_by = _match(gold_by_id, system_by_id)
    if system_by_id and not answers:
        raise InputError(
            "no document of SYSTEM has the id of one of GOLD, so nothing can be scored",
            "compare annotations of the same notes; ids are names of files without suffix, or the records' own",
        )
    pairs = []
    for name, document in gold_by_id.items():
        answer = system_by_id[answers[name]] if name in answers else None
        if answer is None:
            pairs.append(Pair(document, None, "missing"))
        elif answer.text != document.text:
            failures.append(Failure(document.name, _difference(document, answer), document.index))
            pairs.append(Pair(document, None, "text differs"))
        else:
            pairs.append(Pair(document, answer))
    answered = set(answers.values())
    extra = tuple(document.name for name, document in system_by_id.items() if name not in answered)
    return Pairing(tuple(pairs), extra, tuple(failures), matched_by, len(system_by_id))


def _by_id(documents: Iterable[Document | Failure], side: str, failures: list[Failure]) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for item in kept(documents, failures):
        try:
            if item.id in found:
                raise DuplicateError(
                    f"{side} has another document with this id, which was scored", "give every document its own id"
                )
            check_spans(len(item.text), item.spans, f"{side} {item.name}")
        except DeidError as error:
            failures.append(Failure(item.name, error, item.index))
            continue
        found[item.id] = item
    return found


def _match(gold: dict[str, Document], system: dict[str, Document]) -> tuple[dict[str, str], str]:
    """Return the system's id for each gold id that has one, and how they were found."""
    exact = {name: name for name in gold if name in system}
    if exact:
        return exact, "id"
    gold_parts, system_parts = _last_parts(gold), _last_parts(system)
    by_part = {name: system_parts[part] for part, name in gold_parts.items() if part in system_parts}
    if by_part:
        return by_part, "last part of the id"
    if len(gold) == len(system) == 1:
        return dict(zip(gold, system, strict=True)), "position"
    return {}, "id"


def _last_parts(ids: Iterable[str]) -> dict[str, str]:
    """Return last part -> id for the parts that are unique."""
    parts = {name: name.rpartition("/")[2] for name in ids}
    uses = Counter(parts.values())
    return {part: name for name, part in parts.items() if uses[part] == 1}


def _difference(gold: Document, system: Document) -> InputError:
    offset = next(
        (i for i, (a, b) in enumerate(zip(gold.text, system.text, strict=False)) if a != b),
        min(len(gold.text), len(system.text)),
    )
    if unified(gold.text).text == unified(system.text).text:
        what = "the texts of GOLD and SYSTEM differ in their line ends"
        hint = "XML readers turn CRLF into LF: make SYSTEM from the files that are given as GOLD"
    else:
        what = f"the texts of GOLD ({len(gold.text)} characters) and SYSTEM ({len(system.text)} characters) differ"
        hint = "evaluate annotated documents with unchanged text (deid tag writes them), not scrubbed ones"
    return InputError(what, hint, gold.name, f"offset {offset}")
