"""Checks scrubbed documents against their originals: what was not replaced is identical, what was is gone.

The check needs no trust in the run that it checks: it reads both sides again. What was replaced is told by the edit
log, else by the annotations of the scrubbed side, else by what a recognizer finds in the original, else by comparing
the texts. In the last case every difference counts as replaced, so what the recognizer found must lie in these.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import OutputError
from deid.base.keys import Key
from deid.base.safe_names import safe_name
from deid.detection import Recognizer
from deid.detection.recognizers import LazyRecognizer
from deid.document import Document, Failure, Span, Tally, failure_of
from deid.io import CollectionFormat, Source
from deid.io.database import TableSource
from deid.io.encoding import looks_misread
from deid.phi import CATEGORIES, group, known_category
from deid.pipeline.alignment import AlignedSegment, align_by_annotations, align_by_detection, align_by_text
from deid.pipeline.edit_log import LoggedEdits, read_edit_log
from deid.pipeline.files import keyed_documents
from deid.pipeline.naming import mapped_id, pseudonym_of_id
from deid.reading.dictionaries import load_dictionary
from deid.reading.languages import other_language
from deid.replacement.containment import holds
from deid.replacement.deid_tags import title_words
from deid.replacement.places import is_home
from deid.replacement.policy import Policy

_AGAIN = "do not pass it on; scrub it again"
_POLICY = "do not pass it on; if the policy lets it stay, name the policy with --policy"
_WHOLE = re.compile(r"(?:0|-?[1-9][0-9]{0,18})\Z")


@dataclass(slots=True)
class Verification(Tally):
    """What was checked, and what does not hold. Holds no text; categories are those of replaced stretches, and
    ``(not known)``.
    """

    aligned: Counter[str] = field(default_factory=Counter)
    """Documents by how their replaced stretches were told: edit log, annotations, detection, comparison."""
    other_languages: Counter[str] = field(default_factory=Counter)
    """Language -> documents that are surely written in it, and were looked through in another one."""


def verify_document(
    original: Document,
    scrubbed: Document,
    *,
    log: LoggedEdits | None = None,
    policy: Policy | None = None,
    recognizer: Recognizer | None = None,
) -> tuple[list[AlignedSegment], str]:
    """Check one pair.

    Parameters
    ----------
    original, scrubbed : Document
    log : LoggedEdits, optional
        The edits of the pair.
    policy : Policy, optional
        What may stay: without it no annotated stretch may be what it was.
    recognizer : Recognizer, optional
        Tells what should have been replaced, where neither log nor annotations do.

    Returns
    -------
    (list of AlignedSegment, str)
        What was replaced, and how that was told.

    Raises
    ------
    OutputError
        When the pair does not hold; says at which offset of the original.
    """
    if original.record is not None:
        _check_record(original, scrubbed, policy)
    # of a record some places may be gone, and offsets with them
    if log is not None and (original.record is None or log.new_length == len(scrubbed.text)):
        stretches, how = _by_log(original, scrubbed, log), "edit log"
    else:
        if scrubbed.spans:
            found = align_by_annotations(original.text, scrubbed.text, scrubbed.spans, original.spans)
            if found is None:
                raise _fault(
                    original,
                    "the text outside the annotated stretches differs",
                    "do not pass it on; a policy that removes text leaves no annotation: give the edit log then",
                    0,
                )
            stretches, how = found, "annotations"
        else:
            detected = recognizer.find(original) if recognizer is not None else []
            aligned = align_by_detection(original.text, scrubbed.text, detected)
            how = "comparison" if aligned is None else "detection"
            stretches = align_by_text(original.text, scrubbed.text) if aligned is None else aligned
            _look_again(original, stretches, detected, policy)
    for stretch in stretches:
        _check_stretch(original, scrubbed, stretch, policy)
    if looks_misread(scrubbed.text):
        raise OutputError(
            "it holds UTF-8 that was read as another encoding, in which names are not found",
            "do not pass it on; scrub the original in its encoding: --encoding utf-8,cp1252 tells file by file",
            original.name,
        )
    return stretches, how


def _check_record(original: Document, scrubbed: Document, policy: Policy | None) -> None:
    """Raise where a record differs from its original outside of its places, or still has an id of it."""
    assert original.record is not None
    kept = policy is not None and policy.rule("IDNUM", {}).operator == "keep"
    if scrubbed.record is None or not original.record.frames(scrubbed.record.source):
        raise _fault(original, "the record differs outside of what was replaced", _AGAIN, 0)
    if not kept and not {*original.record.ids}.isdisjoint(scrubbed.record.ids):
        raise _fault(original, "the record still has an id of the original", _AGAIN, 0)


def _fault(document: Document, what: str, hint: str, offset: int) -> OutputError:
    return OutputError(what, hint, document.name, f"offset {offset}")


def _by_log(original: Document, scrubbed: Document, log: LoggedEdits) -> list[AlignedSegment]:
    if len(original.text) != log.length:
        raise _fault(original, "the edit log belongs to another version of the original", "scrub it again", 0)
    read = written = 0
    for edit in (*log.edits, None):
        end, new_end = (len(original.text), len(scrubbed.text)) if edit is None else (edit.start, edit.new_start)
        if original.text[read:end] != scrubbed.text[written:new_end]:
            raise _fault(original, "the text outside the replaced stretches differs", _AGAIN, read)
        if edit is not None:
            read, written = edit.end, edit.new_end
    return [AlignedSegment(e.start, e.end, e.new_start, e.new_end, e.category) for e in log.edits]


def _check_stretch(original: Document, scrubbed: Document, stretch: AlignedSegment, policy: Policy | None) -> None:
    old = original.text[stretch.start : stretch.end]
    new = scrubbed.text[stretch.new_start : stretch.new_end]
    if not old and new.strip():
        raise _fault(
            original,
            "the scrubbed text has something that the original has not",
            "if the run replaced other spans than are found here, give its edit log (--edits)",
            stretch.start,
        )
    category = known_category(stretch.category) if stretch.category else ""
    if category in CATEGORIES and _may_stay(policy, category, old):
        return
    words = _name_words(old) if group(category) == "NAME" else []
    if not holds(new, old) and not any(holds(new, word) for word in words):
        return
    shown = f" of category {category}" if category else ""
    raise _fault(
        original,
        f"a replaced stretch{shown} still holds its original, or a word of it",
        _POLICY,
        stretch.start,
    )


def _look_again(
    original: Document, stretches: Sequence[AlignedSegment], found: Sequence[Span], policy: Policy | None
) -> None:
    """Raise for a span of the original that lies outside of what was replaced: as a whole, or a word of a name."""
    changed = sorted((s.start, s.end) for s in stretches)
    at = 0
    for span in sorted(found):
        while at < len(changed) and changed[at][1] <= span.start:
            at += 1
        category = known_category(span.category)
        if _may_stay(policy, category, original.text[span.start : span.end]):
            continue
        inside = list(takewhile(lambda pair, end=span.end: pair[0] < end, changed[at:]))  # type: ignore[misc]
        rest = _outside(original.text, span, inside)
        # of a date or a place parts may stay by right, as in another Main Street; not so of a person's name
        if not inside or (group(category) == "NAME" and _name_words(rest)):
            raise _fault(
                original,
                f"a span of category {category} was found that is still there, or a part of it",
                _POLICY,
                span.start,
            )


def _may_stay(policy: Policy | None, category: str, text: str) -> bool:
    """Tell whether a policy leaves a text of a category: the United States stay beside surrogates of their states."""
    if policy is None:
        return False
    at_home = category == "COUNTRY" and policy.rule(category, {}).operator == "surrogate" and is_home(text)
    return at_home or policy.may_repeat(category)


def _name_words(text: str) -> list[str]:
    """Return the words of a name that tell who it is: no initials, titles, particles and roles (Nurse Hope)."""
    others = [load_dictionary(name) for name in ("names/particles", "names/roles")]
    return [
        word
        for word in re.findall(r"[^\W\d_]{3,}", text)
        if word.casefold() not in title_words() and not any(word in other for other in others)
    ]


def _outside(text: str, span: Span, inside: Sequence[tuple[int, int]]) -> str:
    """Return what of a span lies outside of stretches."""
    pieces = []
    read = span.start
    for start, end in inside:
        pieces.append(text[read:start])
        read = max(read, end)
    return " ".join([*pieces, text[read : span.end]])


def verify_files(
    source: Source,
    scrubbed: Source,
    *,
    key: Key | None = None,
    edit_log: Path | None = None,
    policy: Policy | None = None,
    recognizer: Recognizer | None = None,
    watch: Callable[[Iterator[Any]], Iterable[Any]] = iter,
) -> Verification:
    """Check a scrubbed file or folder against its original.

    Parameters
    ----------
    source, scrubbed : Source
        Both sides (`deid.io.scan`).
    key : Key, optional
        The key of the run, which tells how documents are called; without it only documents that kept their names are
        found.
    edit_log : Path, optional
        What ``deid scrub --edits`` wrote.
    policy, recognizer
        See `verify_document`.
    watch : callable, optional
        Wraps the stream of originals.

    Returns
    -------
    Verification

    Raises
    ------
    FormatError
        When the edit log is none.
    ModelError
        When the recognizer's model cannot be loaded.
    """
    result = Verification()
    logs = {log.document: log for log in read_edit_log(edit_log)} if edit_log is not None else {}
    others = _Others(scrubbed)
    alone = source.single and scrubbed.single and not isinstance(source.format, CollectionFormat)

    def verify(pair: tuple[str, Document]) -> Iterator[str]:
        name, item = pair
        names = [*others.left] if alone else list(_names(name, item.id, key))
        other = others.take(names)
        log = next((logs[n] for n in _names(name, item.id, key) if n in logs), None)
        if edit_log is not None and log is None:
            raise OutputError("the edit log does not have it", "name the log of the same run")
        if log is None and not other.spans and isinstance(recognizer, LazyRecognizer):  # it will be asked
            spoken = other_language(item.text, recognizer.language_of(item))
            result.other_languages.update(filter(None, [spoken]))
        stretches, how = verify_document(item, other, log=log, policy=policy, recognizer=recognizer)
        result.aligned[how] += 1
        return (known_category(s.category) if s.category else "(not known)" for s in stretches)

    items = ((name, item) if isinstance(item, Document) else item for name, item in keyed_documents(source))
    result.each(watch(items), verify, lambda pair, error: failure_of(pair[1], error))
    for left in others.left:
        shown = safe_name(left)
        extra = OutputError("it has no original", "it may come from another run; remove it, or check the key", shown)
        result.failures.append(Failure(shown, extra, None, left))
    return result


def _names(name: str, document_id: str, key: Key | None) -> Iterator[str]:
    """Yield what a document may be called on the scrubbed side."""
    yield name
    if key is None:
        return
    new_id = pseudonym_of_id(key, document_id)
    group = name[: len(name) - len(document_id)].rstrip("/")
    if not group:
        yield new_id
        yield str(mapped_id(key, "doc", document_id))  # of a row
        if document_id.removeprefix("-").isdecimal():
            yield str(mapped_id(key, "doc", int(document_id)))
        return
    for shown in (pseudonym_of_id(key, group), group):
        yield f"{shown}/{new_id}"
    yield f"{pseudonym_of_id(key, group)}/{document_id}"
    if (row := document_id.removeprefix(f"{group}/")) != document_id:  # a record is known by its file and its place
        yield f"{pseudonym_of_id(key, group)}/{pseudonym_of_id(key, group)}/{row}"


class _Others:
    """The documents of the scrubbed side by name; files and rows of databases are read when they are asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.left: dict[str, Document | Failure | Callable[[], Document | Failure]] | _Rows = {}
        if isinstance(source, TableSource):
            self.left = _Rows(source)
        elif isinstance(source.format, CollectionFormat):
            self.left.update((name or item.name, item) for name, item in keyed_documents(source))
        else:
            self.left.update(
                (_stem(name, source.format.suffixes), partial(_alone, source, name)) for name in source.names
            )

    def take(self, names: Iterable[str]) -> Document:
        name = next((n for n in names if n in self.left), None)
        if name is None:
            raise OutputError(
                "it has no scrubbed counterpart", "it may have failed; otherwise check the key (--key-file)"
            )
        item = self.left.pop(name)
        if callable(item):
            item = item()
        if isinstance(item, Failure):
            raise item.error
        return item


class _Rows:
    """Rows of a table that no original has been found for, nine bytes each: their ids stay in the database."""

    def __init__(self, source: TableSource) -> None:
        self.source = source
        digests = np.fromiter((_digest(key) for key in source.all_keys()), np.uint64)
        self._digests = np.sort(digests)
        self._left = np.ones(len(digests), dtype=bool)

    def _place(self, key: int | str) -> int | None:
        """Return where a row is noted, None where it is none or no longer left."""
        at = int(np.searchsorted(self._digests, np.uint64(_digest(key))))
        there = at < len(self._digests) and int(self._digests[at]) == _digest(key)
        return at if there and self._left[at] else None

    def _key(self, name: str) -> int | str | None:
        """Return the key that is written so, if such a row is left."""
        keys: tuple[int | str, ...] = (int(name), name) if _WHOLE.match(name) else (name,)
        return next((key for key in keys if self._place(key) is not None), None)

    def __contains__(self, name: str) -> bool:
        return self._key(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Yield the rows that are left; the ids are read once more, unless none is."""
        if self._left.any():
            yield from (str(key) for key in self.source.all_keys() if self._place(key) is not None)

    def pop(self, name: str) -> Document | Failure:
        """Read a row, which is then left no longer."""
        key = self._key(name)
        assert key is not None
        self._left[self._place(key)] = False
        return self.source.row(key)


def _digest(key: int | str) -> int:
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def _alone(source: Source, name: str) -> Document | Failure:
    """Read the document of one file."""
    return next(replace(source, names=(name,), unreadable=()).documents())


def _stem(name: str, suffixes: Sequence[str]) -> str:
    return next((name[: -len(s)] for s in suffixes if name.lower().endswith(s)), name)
