"""Ontologies: trees of terms with the phrases that mean them; what a phrase may be replaced by, and where phrases
stand in a text.

Terms are those of a hierarchy. What follows ``#`` in a term tells namesakes apart and is not shown: ``Springfield#IL``.
The root ``*`` is shown as the title in brackets, ``[PLACE]``. A phrase that can mean several terms is generalized to
what covers all of them, which is true whichever was meant.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import regex

from deid.document import Document, Span
from deid.reading.dictionaries import Dictionary, fold_phrase
from deid.reading.line_ends import LINE_ENDS, unified
from deid.reading.phrases import PhraseMatcher
from deid.reading.tokenization import tokenize
from deid.replacement.plausibility_search import Chain
from deid.table.hierarchy import Hierarchy

_SENTENCE_END = regex.compile(
    rf"(?:^|[:!?{LINE_ENDS}\t-]|\d\)|(?<!\b(?:Dr|Mr|Mrs|Ms|Miss|Prof|Rev|Hon|Sr|St|[A-Z]))\.)[\s\"'(\[]*$"
)


@dataclass(frozen=True, eq=False)  # two ontologies are the same only when they are one object
class Ontology:
    """A tree of terms and the phrases that mean them."""

    name: str
    title: str
    """What any of its terms is: the word in brackets that stands for the root."""
    hierarchy: Hierarchy = field(repr=False)
    senses: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Phrase in the form of `fold_phrase` -> the terms that it can mean."""
    category: str = "OTHER"
    categories: frozenset[str] = frozenset()
    plurals: frozenset[str] = field(default=frozenset(), repr=False)
    """Phrases that are plurals."""
    capitals: Mapping[str, bool] = field(default_factory=dict, repr=False)
    """Phrases that are written with a capital: whether all their letters are capitals."""
    searched: tuple[str, ...] = field(default=(), repr=False)
    """Phrases that are searched for in texts, sorted."""
    exceptions: tuple[str, ...] = field(default=(), repr=False)
    surnames: bool = False
    codes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Term -> code."""
    language: str = ""
    """Language of the phrases; empty where nobody says it."""


def shown(ontology: Ontology, term: str) -> str:
    """Return a term as it stands in a text."""
    return f"[{ontology.title.upper()}]" if term == "*" else term.partition("#")[0]


def terms_of(ontology: Ontology, phrase: str) -> tuple[str, ...]:
    """Return the terms that a phrase can mean, none when the ontology does not know it."""
    return ontology.senses.get(fold_phrase(phrase), ())


def chain(ontology: Ontology, phrase: str, *, may_stay: bool = True) -> Chain | None:
    """Return what a phrase may be replaced by.

    Parameters
    ----------
    ontology : Ontology
    phrase : str
    may_stay : bool
        Whether the first label is the phrase itself, with count 1; otherwise the chain starts above it.

    Returns
    -------
    Chain or None
        None when the ontology does not know the phrase. Terms that stand for no more leaves than the one below them
        are left out, and terms whose name contains the phrase.
    """
    terms = terms_of(ontology, phrase)
    if not terms:
        return None
    hierarchy, own = ontology.hierarchy, f" {fold_phrase(phrase)} "
    above = hierarchy.chain(hierarchy.lowest_common_ancestor(terms))
    several = fold_phrase(phrase) in ontology.plurals
    labels, counts = [phrase], [1]
    for term in above[len(terms) == 1 :]:
        label, count = shown(ontology, term), hierarchy.leaf_count(term)
        label = plural(label) if several else label
        if count > counts[-1] and own not in f" {fold_phrase(label)} ":
            labels.append(label)
            counts.append(count)
    if len(labels) == 1:  # nothing above it says less: only "anything" is left
        labels.append(f"[{ontology.title.upper()}]")
        counts.append(hierarchy.leaf_count(hierarchy.root))
    start = 0 if may_stay else 1
    return Chain(tuple(labels[start:]), tuple(counts[start:]))


def find_terms(document: Document, ontologies: Sequence[Ontology]) -> list[Span]:
    """Find phrases of the ontologies in a document.

    Parameters
    ----------
    document : Document
        Its annotations are ignored.
    ontologies : sequence of Ontology
        Of phrases that overlap the longest counts, of equal ones the earlier ontology's.

    Returns
    -------
    list of Span
        Sorted, without overlaps; the category is the ontology's, the source ``ontology:<name>``.
    """
    normal = unified(document.text)
    text = normal.text
    tokens = tokenize(text)
    by_name = {ontology.name: (rank, ontology) for rank, ontology in enumerate(ontologies)}
    found: list[tuple[int, int, int, Ontology]] = []  # minus length, rank, start, ontology
    for first, last, name in _matcher(tuple(ontologies)).match(tokens.strings):
        start, end = int(tokens.starts[first]), int(tokens.ends[last - 1])
        rank, ontology = by_name[name]
        if _written_as_term(text, start, end, ontology):
            found.append((start - end, rank, start, ontology))
    spans: list[Span] = []
    covered = bytearray(len(text))
    for minus_length, _, start, ontology in sorted(found, key=lambda f: f[:3]):
        end = start - minus_length
        if not any(covered[start:end]):
            covered[start:end] = b"\1" * (end - start)
            spans.append(Span(start, end, ontology.category, source=f"ontology:{ontology.name}"))
    return sorted(normal.back(span) for span in spans)


def _written_as_term(text: str, start: int, end: int, ontology: Ontology) -> bool:
    """Tell whether the case of a match fits."""
    written = text[start:end]
    key = fold_phrase(written)
    if key in ontology.capitals and " " not in key:
        return written.isupper() if ontology.capitals[key] else written[:1].isupper()
    if ontology.surnames and " " not in key and written[:1].isupper() and not written.isupper():
        return starts_sentence(text, start)
    return True


def starts_sentence(text: str, start: int) -> bool:
    """Tell whether a word at ``start`` has its capital from its place: first in a sentence, a line or a heading."""
    return _SENTENCE_END.search(text, max(0, start - 20), start) is not None


@functools.lru_cache(maxsize=8)
def _matcher(ontologies: tuple[Ontology, ...]) -> PhraseMatcher:
    lists = [Dictionary(o.name, o.searched, o.exceptions) for o in ontologies]
    return PhraseMatcher(lists, lambda phrase: tokenize(phrase).strings)


def plural(label: str) -> str:
    """Return the regular plural of a term: its last word's, or that of the word before *of*, *in* and the like."""
    head = regex.match(r"(.*?)(?= (?:of|in|to|due|with|for|from|after|under)\b|$)", label)
    end = head.end() if head else len(label)
    noun, rest = label[:end], label[end:]
    if not noun[-1:].isalpha() or regex.search(r"(?:(?<![isu])s|itis|teeth)$", noun):
        return label  # no word, a plural already, or without one
    if noun.endswith("man"):
        return noun[:-2] + "en" + rest
    if regex.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies" + rest
    if noun.endswith("sis"):
        return noun[:-2] + "es" + rest
    return noun + ("es" if regex.search(r"(?:s|x|z|ch|sh)$", noun) else "s") + rest
