"""Generalize sensitive words until at least t original texts are plausible.

"A Sacramento resident ... liver cancer" may become "a California resident ... cancer": whoever knows the ontologies
counts the originals that could have been written, and finds at least t. Sensitive words are the spans that are given,
or the phrases that the ontologies find. A word that occurs twice is one word and gets one replacement.

What is certified is the product over the distinct words of the leaves below each published term, assuming that the
words are independent. Words that no ontology knows are replaced by their title or category in brackets and count as
one: they add nothing to what is certified. Where even the most general terms stand for fewer than t texts all words are
written so.

Source: see `deid.replacement.plausibility_search`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid.document import Document, Edit, Span, apply_edits, check_spans, resolve_overlaps
from deid.phi import canonical
from deid.reading.dictionaries import fold_phrase
from deid.replacement.articles import agree
from deid.replacement.ontology import Ontology, chain, find_terms, starts_sentence, terms_of
from deid.replacement.ontology_files import SHIPPED, load_ontologies
from deid.replacement.operators import label_for
from deid.replacement.plausibility_search import Chain, Problem, choose
from deid.replacement.scope import Operator, Scope


@dataclass(frozen=True, slots=True)
class Generalizer:
    """Ontologies and parameters of t-plausible generalization; made by `make_generalizer`."""

    t: int
    ontologies: tuple[Ontology, ...] = field(repr=False)
    objective: str = "minimal"
    alpha: float = 0.5
    search: str = "auto"
    every_word: bool = False
    """Whether no sensitive word may stay as it is."""


@dataclass(frozen=True, slots=True)
class Generalized:
    """A generalized document, and what is certified about it."""

    document: Document
    edits: tuple[Edit, ...]
    words: int
    """Distinct sensitive words."""
    plausible: int
    """Number of plausible texts; 1 when there is no sensitive word."""
    reached: bool
    """Whether ``plausible`` is at least t."""
    optimal: bool
    """Whether no choice would lose less, by the objective."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A distinct sensitive word."""

    tag: str
    """What is written where nothing else can be."""
    chain: Chain | None
    """None when no ontology knows it."""


def make_generalizer(
    t: int,
    *,
    objective: str = "minimal",
    alpha: float = 0.5,
    search: str = "auto",
    ontologies: Iterable[str | Path] = SHIPPED,
    every_word: bool = False,
) -> Generalizer:
    """Load the ontologies and check the parameters.

    Parameters
    ----------
    t : int
        At least so many texts must be plausible.
    objective : str
        ``minimal`` or ``uniform``.
    alpha : float
        For ``uniform``: weight in 0..1 of the whole text against the single words.
    search : str
        ``auto``, ``best-first``, ``branch-and-bound``, ``greedy`` or ``exhaustive``.
    ontologies : iterable of str or Path
        Names of shipped ontologies, ``wordnet``, CSV files in ARX's form, or folders.
    every_word : bool
        Generalize every sensitive word by at least one step.

    Returns
    -------
    Generalizer
        For `generalize`.

    Raises
    ------
    ConfigError
        When a parameter or an ontology cannot be used.
    """
    choose(Problem((), t, objective, alpha), search)  # refuses wrong parameters before the first document
    return Generalizer(t, load_ontologies(ontologies), objective, alpha, search, every_word)


def generalize(document: Document, generalizer: Generalizer, spans: Sequence[Span] | None = None) -> Generalized:
    """Generalize the sensitive words of a document.

    Parameters
    ----------
    document : Document
    generalizer : Generalizer
    spans : sequence of Span, optional
        The sensitive words; without them the ontologies' phrases are searched for.

    Returns
    -------
    Generalized
        Its document's annotations are the words that were changed.

    Raises
    ------
    OffsetError
        When a span lies outside the text.
    """
    if spans is None:
        spans = find_terms(document, generalizer.ontologies)
    else:
        check_spans(len(document.text), spans, document.name)
        spans = resolve_overlaps(spans)
    new, words, plausible, optimal = _replacements(document, spans, generalizer)
    changed = [(span, text) for span, text in zip(spans, new, strict=True) if text is not None]
    published, edits = apply_edits(document, agree(document, changed))
    return Generalized(published, edits, words, plausible, plausible >= generalizer.t, optimal)


def t_plausible_operator(
    t: int, objective: str = "minimal", alpha: float = 0.5, search: str = "auto", ontologies: Sequence = SHIPPED
) -> Operator:
    """Return an operator that generalizes the spans of a document together, each by at least one step.

    Parameters are those of `make_generalizer`; a policy may give them (``ontologies`` as a list). The operator sees
    only its spans: articles before them are made to agree by `deid.replacement.articles.agree`.
    """
    generalizer = make_generalizer(
        t, objective=objective, alpha=alpha, search=search, ontologies=ontologies, every_word=True
    )

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> Sequence[str]:
        new, *_ = _replacements(document, spans, generalizer)
        return [text for text in new if text is not None]

    return operate


def _replacements(
    document: Document, spans: Sequence[Span], generalizer: Generalizer
) -> tuple[list[str | None], int, int, bool]:
    """Return a text for each span (None: unchanged), the distinct words, the plausible texts, and optimality."""
    words: dict[tuple[str, ...], _Word] = {}
    keys: list[tuple[str, ...]] = []
    for span in spans:
        key, word = _understand(document.text[span.start : span.end], span, generalizer)
        words.setdefault(key, word)
        keys.append(key)
    known = [(key, word.chain) for key, word in words.items() if word.chain is not None]
    problem = Problem([c for _, c in known], generalizer.t, generalizer.objective, generalizer.alpha)
    choice = choose(problem, generalizer.search)
    labels: dict[tuple[str, ...], str | None] = {}
    if choice is not None:
        stays = -1 if generalizer.every_word else 0
        for (key, terms), level in zip(known, choice.levels, strict=True):
            labels[key] = None if level == stays else terms.labels[level]
    new: list[str | None] = []
    for key, span in zip(keys, spans, strict=True):
        label = labels.get(key, words[key].tag)
        new.append(None if label is None else _in_case(label, document.text, span, generalizer))
    if choice is None:
        return new, len(words), problem.highest[0], True
    return new, len(words), choice.plausible, choice.optimal


def _understand(text: str, span: Span, generalizer: Generalizer) -> tuple[tuple[str, ...], _Word]:
    """Return what makes a span's word the same as another one, and the word."""
    category = canonical(span.category)
    own = [o for o in generalizer.ontologies if span.source == f"ontology:{o.name}" or category in o.categories]
    for ontology in dict.fromkeys((*own, *generalizer.ontologies)):
        terms = terms_of(ontology, text)
        if terms:
            tag = f"[{ontology.title.upper()}]"
            return (ontology.name, *terms), _Word(tag, chain(ontology, text, may_stay=not generalizer.every_word))
    tag = f"[{own[0].title.upper()}]" if own else label_for(category, text)
    return ("", tag, text), _Word("[***]" if fold_phrase(text) in tag.lower() else tag, None)


def _in_case(label: str, text: str, span: Span, generalizer: Generalizer) -> str:
    """Return a label with the capitals of the word that it replaces; names in labels keep theirs."""
    original = text[span.start : span.end]
    if label.startswith("["):
        return label
    if original.isupper() and (len(original) > 5 or " " in original):  # shorter ones are abbreviations
        return label.upper()
    if original[:1].isupper():
        of_its_own = any(fold_phrase(original) in o.capitals for o in generalizer.ontologies) or original.isupper()
        if not of_its_own or starts_sentence(text, span.start):
            return label[0].upper() + label[1:]
    return label
