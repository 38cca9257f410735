"""Concept-Match: a scrubber that knows what may stay, not what must go.

A text is read from left to right. The longest phrase of a nomenclature becomes its code and a fixed name of its
concept; words of high frequency stay; everything else, known or not, becomes ``***``. No name can be missed, and much
that is harmless is lost: high recall, low precision.

Blocks are cut at white space: ``555-1234``, ``Smith,John`` and ``j.doe@x.org`` are one block each, so that no
punctuation betrays what was inside. A single word that is a name too (*head*, *colon*, *long*) counts in lower case
only.

Source: Berman, "Concept-match medical data scrubbing", Archives of Pathology & Laboratory Medicine 127, 2003.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deid.base.resources import shipped_table
from deid.document import Document, Edit, Span, apply_edits
from deid.reading.dictionaries import Dictionary, fold, fold_phrase, load_dictionary
from deid.reading.line_ends import unified
from deid.reading.phrases import PhraseMatcher
from deid.reading.tokenization import tokenize
from deid.replacement.ontology import shown
from deid.replacement.ontology_files import load_ontology

BLOCK = "***"
CATEGORY = "OTHER"
_PUNCTUATION = frozenset(".,;:!?()[]\"'/-+=<>%&")
_SEPARATORS = frozenset(',;()[]"')  # between words that are not joined


@dataclass(frozen=True, slots=True)
class Concept:
    """What a phrase of a nomenclature is replaced by."""

    code: str
    name: str

    def __str__(self) -> str:
        return f"{self.code} {self.name}"


class ConceptMatcher:
    """A nomenclature and words that may stay.

    Parameters
    ----------
    nomenclature : mapping of str to Concept
        Phrases, in any case.
    stop_words : iterable of str
        Words that stay as they are.
    lower_case_only : iterable of str
        Words of the two that count in lower case only, because they are names too.
    merge : bool
        Write one block for a run of words on a line, instead of one a word: their number is hidden too.

    Examples
    --------
    >>> matcher = ConceptMatcher(
    ...     {"b-cell lymphoma": Concept("C0079731", "lymphoma, b-cell")}, {"with", "a", "of"}
    ... )
    >>> matcher.scrub(Document("1", "Jones with a history of B-cell lymphoma"))[0].text
    '*** with a *** of C0079731 lymphoma, b-cell'
    """

    def __init__(
        self,
        nomenclature: Mapping[str, Concept],
        stop_words: Iterable[str],
        lower_case_only: Iterable[str] = (),
        *,
        merge: bool = False,
    ) -> None:
        terms = {fold_phrase(phrase): concept for phrase, concept in nomenclature.items()}
        self._concepts = {_token_key(_tokens(phrase)): concept for phrase, concept in terms.items()}
        self._lower = frozenset(map(fold_phrase, lower_case_only))
        self._merge = merge
        self._matcher = PhraseMatcher(
            [
                Dictionary("term", tuple(sorted(terms))),
                Dictionary("stop", tuple(sorted(set(map(fold_phrase, stop_words))))),
            ],
            _tokens,
        )

    def replacements(self, document: Document) -> list[tuple[Span, str]]:
        """Return what to replace by what, for `deid.document.apply_edits`: concepts and blocks, in order."""
        normal = unified(document.text)
        text = normal.text
        tokens = tokenize(text)
        starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
        found: list[tuple[Span, str]] = []
        block = _Blocks(text, found, self._merge)
        place = 0
        for first, last, name in _free(self._matches(tokens.strings, starts, ends, text), tokens.strings):
            for number in range(place, first):
                block.add(starts[number], ends[number])
            block.close()
            if name == "term":
                concept = self._concepts[_token_key(tokens.strings[first:last])]
                found.append((Span(starts[first], ends[last - 1], CATEGORY, source="concept-match:term"), str(concept)))
            place = last
        for number in range(place, len(starts)):
            block.add(starts[number], ends[number])
        block.close()
        return [(normal.back(span), new) for span, new in found]

    def scrub(self, document: Document) -> tuple[Document, tuple[Edit, ...]]:
        """Return the scrubbed document and its edits; ids and metadata are not touched."""
        return apply_edits(document, self.replacements(document))

    def _matches(
        self, strings: Sequence[str], starts: list[int], ends: list[int], text: str
    ) -> list[tuple[int, int, str]]:
        """Return whole-word matches by position; of those that start together the longest first, terms before words."""
        matches = []
        for first, last, name in self._matcher.match(strings):
            start, end = starts[first], ends[last - 1]
            inside_a_word = (start and text[start - 1].isalnum()) or text[end : end + 1].isalnum()
            written = text[start:end]
            if not inside_a_word and (written.islower() or fold_phrase(written) not in self._lower):
                matches.append((first, last, name))
        return sorted(matches, key=lambda match: (match[0], -match[1], match[2] != "term"))


def _free(matches: Iterable[tuple[int, int, str]], strings: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the matches that are not inside an earlier one, nor a word joined to an unknown word."""
    chosen: list[tuple[int, int, str]] = []
    for match in matches:
        if not chosen or match[0] >= chosen[-1][1]:
            chosen.append(match)
    known = {number for first, last, _ in chosen for number in range(first, last)}
    joined: set[int] = set()
    run: list[int] = []
    for number, token in enumerate([*strings, " "]):
        if not token.isspace() and token not in _SEPARATORS:
            run.append(number)
            continue
        if any(n not in known and strings[n] not in _PUNCTUATION for n in run):
            joined.update(run)
        run = []
    return [match for match in chosen if match[1] - match[0] > 1 or match[0] not in joined]


class _Blocks:
    """Collects what is not known into blocks."""

    def __init__(self, text: str, found: list[tuple[Span, str]], merge: bool) -> None:
        self._text = text
        self._found = found
        self._merge = merge
        self._start = self._end = -1  # of the open block; -1: none

    def add(self, start: int, end: int) -> None:
        """Take a token that is not part of a match."""
        token = self._text[start:end]
        if token.isspace():
            if not self._merge or "\n" in token:
                self.close()
        elif token not in _PUNCTUATION:
            # between the words of one block there is only punctuation, and blanks when they are merged
            if self._start < 0:
                self._start = start
            self._end = end

    def close(self) -> None:
        """End the open block; punctuation behind its last word stays."""
        if self._start >= 0:
            self._found.append((Span(self._start, self._end, CATEGORY, source="concept-match:block"), BLOCK))
        self._start = self._end = -1


def _tokens(phrase: str) -> list[str]:
    return tokenize(phrase).strings


def _token_key(tokens: Iterable[str]) -> str:
    return " ".join(fold(token) for token in tokens if not token.isspace())


@functools.cache
def default_matcher() -> ConceptMatcher:
    """Return the matcher of the shipped nomenclature: ICD-10-CM, drugs, and the clinical word lists.

    Conditions carry their ICD-10-CM codes, other concepts codes of our own that depend on their name alone.
    """
    lists = shipped_table("labels/nomenclature.toml")
    given, surnames, others = (_words(lists["names"][kind]) for kind in ("given", "surnames", "others"))
    popular = given | surnames
    names = popular | others
    terms: dict[str, Concept] = {}
    for list_name, prefix in lists["concepts"].items():
        for phrase in load_dictionary(list_name).phrases:
            terms[phrase] = Concept(_code(prefix, phrase), phrase)
    for ontology, prefix in ((load_ontology("drugs"), "DRG"), (load_ontology("diseases"), "CON")):
        for phrase, meant in ontology.senses.items():
            name = shown(ontology, meant[0])
            terms[phrase] = Concept(ontology.codes.get(meant[0]) or _code(prefix, name), name)
    terms = {phrase: concept for phrase, concept in terms.items() if phrase not in given}
    abbreviations = load_dictionary("clinical/abbreviations").words - names
    stop = load_dictionary("ontologies/stop_words").words
    guarded = (terms.keys() & names) | (stop & popular)
    return ConceptMatcher(terms, stop | abbreviations, guarded)


def _words(lists: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(load_dictionary(name).words for name in lists))


def _code(prefix: str, name: str) -> str:
    return f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:6].upper()}"


def concept_match(document: Document) -> list[tuple[Span, str]]:
    """Return the replacements of the default matcher, for `deid.document.apply_edits`."""
    return default_matcher().replacements(document)
