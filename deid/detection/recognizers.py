"""What finds the spans: a model, and the rules that it works with.

A model's folder names the languages of the rules that it was made to work with; a user's own model may want none. The
recognizer that `build_recognizer` returns is loaded where it is used, once in each process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError
from deid.detection import Ensemble, Recognizer, RuleRecognizer
from deid.detection.dial import Dial, dial_of_folder, fingerprint, parse_dial
from deid.detection.explanation import Explanation, explain
from deid.detection.known import KnownRecognizer
from deid.detection.site_lists import NO_EFFECT, Effect, SiteLists
from deid.detection.transformer import TransformerRecognizer
from deid.document import Document, Span, resolve_overlaps
from deid.labeling.tagger import DEFAULT_MODEL, Tagger, load_model
from deid.phi import LABEL_SETS, label_set_of, map_labels
from deid.reading.casing import recase, silent
from deid.reading.lexicon import load_lexicon
from deid.reading.normalize import normalize
from deid.reading.vocabulary import languages, load_vocabulary

__all__ = [
    "DEFAULT_LANGUAGE",
    "RULES_ALONE",
    "LazyRecognizer",
    "build_recognizer",
    "find_with_effect",
    "language_of_labels",
]

RULES_ALONE = "none"
"""In place of a model's name: rules, and no model."""
_RULE_LABELS = "i2b2-2014"
DEFAULT_LANGUAGE = "en"
"""Where nothing says the language."""


def build_recognizer(
    model: str | None = None,
    *,
    rules: bool | None = None,
    bias: Dial | float | str | None = None,
    threshold: float | None = None,
    language: str | None = None,
    known: KnownRecognizer | None = None,
    site: SiteLists | None = None,
    transformer: Path | None = None,
    doubt: float = 0.0,
    span_probability: float = 0.0,
) -> LazyRecognizer:
    """Return the recognizer for what a user asks for.

    Parameters
    ----------
    model : str, optional
        Name of a shipped model, or a folder; by default the default model; ``none`` for rules alone.
    rules : bool, optional
        Whether rules work beside the model; by default as the model's folder says.
    bias : Dial, float or str, optional
        Recall dial of the model: taken off the score of "no PHI" at every token; a text is a number or names a file
        of settings. By default that of the model's folder, if there is one.
    threshold : float, optional
        Leave out spans of the model whose probability is below; 0 to 1.
    language : str, optional
        Language of the rules, and of surrogates; by default as the model's folder says, else English.
    known : KnownRecognizer, optional
        Finds the identifiers that are known of a document's person, beside model and rules.
    site : SiteLists, optional
        Terms that are always PHI, and terms that never are.
    transformer : Path, optional
        Folder of a token-classification model (`deid.detection.transformer`) that works beside the others.
    doubt : float
        Flag a word too where the model's probability that it is no PHI is at most this (`Tagger.doubt`); 0 to 1.
    span_probability : float
        Choose the model's spans by their own probability, above this (`Tagger.span_probability`); 0 to below 1, 0 takes
        the best path of labels.

    Raises
    ------
    ConfigError
        When the options contradict each other, or there is no such language; a model that cannot be loaded is an error
        when it is first used.
    """
    if not 0 <= doubt <= 1:
        raise ConfigError("the doubt must be 0 to 1", "it is a probability")
    if not 0 <= span_probability < 1:
        raise ConfigError("the probability of a span must be 0 to below 1", "0.4 finds most spans exactly")
    if doubt and span_probability:
        raise ConfigError("doubt and the probability of spans exclude each other", "give one of them")
    dials = (rules is False, bias is not None, threshold is not None, doubt, span_probability)
    if model == RULES_ALONE and any(dials):
        raise ConfigError("without a model there are no dials, and rules are needed", "name a model")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError("the threshold must be 0 to 1", "it is a probability")
    if language is not None and language not in languages():
        raise ConfigError(f"there are no rules for the language {language!r}", f"languages: {', '.join(languages())}")
    dial = bias if bias is None or isinstance(bias, Dial) else parse_dial(str(bias))
    return LazyRecognizer(
        _Wish(model, rules, dial, threshold, language, known, site or SiteLists(), transformer, doubt, span_probability)
    )


@dataclass(frozen=True, slots=True)
class _Wish:
    """The options of `build_recognizer`."""

    model: str | None
    rules: bool | None
    dial: Dial | None
    threshold: float | None
    language: str | None
    known: KnownRecognizer | None
    site: SiteLists
    transformer: Path | None
    doubt: float
    span_probability: float

    def languages(self, tagger: Tagger | None) -> tuple[str, ...]:
        """Return the languages of the rules to use."""
        if self.rules is False:
            return ()
        own = tagger.rules if tagger is not None else ()
        if self.rules is None and tagger is not None and not own:
            return ()
        return (self.language,) if self.language else own or (DEFAULT_LANGUAGE,)


class LazyRecognizer:
    """Loads model and rules on first use; another process gets the options, and loads them itself."""

    def __init__(self, wish: _Wish) -> None:
        self._wish = wish

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyRecognizer, (self._wish,)

    @cached_property
    def _tagger(self) -> Tagger | None:
        wish = self._wish
        if wish.model == RULES_ALONE:
            return None
        tagger = load_model(wish.model)
        dial = wish.dial or dial_of_folder(wish.model or DEFAULT_MODEL)
        return dataclasses.replace(
            tagger,
            bias=tagger.bias if dial is None else dial.for_model(tagger),
            scores=tagger.scores or wish.threshold is not None,
            doubt=wish.doubt,
            span_probability=wish.span_probability,
        )

    @cached_property
    def _members(self) -> tuple[Recognizer, ...]:
        """Model, known identifiers, transformer and rules, in order of precedence."""
        wish, tagger = self._wish, self._tagger
        members: list[Recognizer] = []
        if tagger is not None:
            members.append(tagger if wish.threshold is None else _Sure(tagger, wish.threshold))
        if wish.known is not None:
            members.append(wish.known)
        if wish.transformer is not None:
            members.append(TransformerRecognizer.load(wish.transformer))
        return (*members, *map(RuleRecognizer.load, wish.languages(tagger)))

    @cached_property
    def _ensemble(self) -> Ensemble | None:
        """All members as one, in the labels of the rules; None where a model works alone."""
        if len(self._members) == 1 and self._tagger is not None:
            return None
        language = (*self._wish.languages(self._tagger), self._wish.language or DEFAULT_LANGUAGE)[0]
        return Ensemble(self._members, language)

    @cached_property
    def _loaded(self) -> Recognizer:
        together = self._ensemble
        if together is None:
            return _Recased(self._members[0], self.language)
        return together if self._labels.label_set == _RULE_LABELS else _Relabelled(together, self._labels)

    @property
    def name(self) -> str:
        """Name of the model, or ``rules``."""
        return self._tagger.name if self._tagger is not None else "rules"

    @property
    def categories(self) -> frozenset[str]:
        """The categories that it can find."""
        return self._loaded.categories | frozenset(map(self._labels.of, self._wish.site.categories))

    @cached_property
    def _labels(self) -> _Labels:
        tagger = self._tagger
        # rules alone speak the labels of their language: MEDDOCAN's know what i2b2's do not
        own = load_vocabulary(self._wish.language or DEFAULT_LANGUAGE).labels
        return _Labels(own if tagger is None else _label_set(tagger))

    @property
    def language(self) -> str:
        """Language of the notes: the user's word, else that of the model's rules, else that of its label set."""
        if self._wish.language:
            return self._wish.language
        if self._tagger is not None and self._tagger.rules:
            return self._tagger.rules[0]
        return DEFAULT_LANGUAGE if self._tagger is None else language_of_labels(_label_set(self._tagger))

    def find(self, document: Document) -> list[Span]:
        """Return the spans found in the document's text."""
        return self.find_with_effect(document)[0]

    def find_with_effect(self, document: Document) -> tuple[list[Span], Effect]:
        """Return the spans found in the document's text, and what the site's lists changed in them."""
        normal = normalize(document.text)
        seen = document.with_text(normal.text)
        spans, effect = self._loaded.find(seen), NO_EFFECT
        if self._wish.site:
            spans, effect, _ = self._wish.site.apply(seen.text, spans, self._labels.of)
        return [normal.back(span) for span in spans] if normal.removed else spans, effect

    def dialled(self, value: float) -> LazyRecognizer:
        """Return the same recognizer with another position of the dial; what is loaded is shared.

        Raises
        ------
        ConfigError
            When there is no model.
        """
        tagger = self._tagger
        if tagger is None:
            raise ConfigError("without a model there is no dial", "name a model")
        other = LazyRecognizer(dataclasses.replace(self._wish, dial=Dial(value)))
        turned = tagger.dial(value)
        first: Recognizer = turned if self._wish.threshold is None else _Sure(turned, self._wish.threshold)
        other.__dict__.update(_tagger=turned, _members=(first, *self._members[1:]))
        return other

    def fingerprint(self) -> str:
        """Return the checksum of the model, empty without one."""
        return "" if self._tagger is None else fingerprint(self._tagger)

    def explain(self, document: Document, places: Iterable[tuple[int, int]] = ()) -> Explanation:
        """Return why each span was found, and why nothing was found at ``places`` (offsets in the document's text)."""
        return explain(
            document,
            self._tagger,
            self._ensemble or self._loaded,
            site=self._wish.site,
            label_of=self._labels.of,
            places=places,
        )


def language_of_labels(label_set: str) -> str:
    """Return the language whose rules speak the labels of a set; English for all others."""
    return next((name for name in languages() if load_vocabulary(name).labels == label_set), DEFAULT_LANGUAGE)


def find_with_effect(recognizer: Recognizer, document: Document) -> tuple[list[Span], Effect]:
    """Return what a recognizer finds, and what a site's lists changed in it where it has such lists."""
    if isinstance(recognizer, LazyRecognizer):
        return recognizer.find_with_effect(document)
    return recognizer.find(document), NO_EFFECT


@dataclass(frozen=True, slots=True)
class _Recased:
    """A model that works alone; documents in capitals or in small letters it reads in ordinary case too."""

    recognizer: Recognizer
    language: str

    @property
    def name(self) -> str:
        return self.recognizer.name

    @property
    def categories(self) -> frozenset[str]:
        return self.recognizer.categories

    def find(self, document: Document) -> list[Span]:
        found = self.recognizer.find(document)
        if not silent(document.text):
            return found
        text = recase(document.text, load_lexicon(self.language))
        again = self.recognizer.find(document.with_text(text))
        return list(resolve_overlaps([*found, *again]))


@dataclass(frozen=True, slots=True)
class _Sure:
    """A tagger without the spans that it is not sure of."""

    tagger: Tagger
    threshold: float

    @property
    def name(self) -> str:
        return self.tagger.name

    @property
    def categories(self) -> frozenset[str]:
        return self.tagger.categories

    def find(self, document: Document) -> list[Span]:
        return [s for s in self.tagger.find(document) if s.score is None or s.score >= self.threshold]


@dataclass(frozen=True)
class _Labels:
    """The labels of one set for canonical categories; a category without a place there stays as it is."""

    label_set: str

    @cached_property
    def _to(self) -> Mapping[str, str | None]:
        own = LABEL_SETS[self.label_set]
        return {c: None if c in own else label for c, label in map_labels(_RULE_LABELS, self.label_set).to.items()}

    def of(self, category: str) -> str:
        return self._to.get(category) or category


@dataclass(frozen=True)
class _Relabelled:
    """A recognizer that speaks the labels of one set alone."""

    recognizer: Recognizer
    labels: _Labels

    @property
    def name(self) -> str:
        return self.recognizer.name

    @property
    def categories(self) -> frozenset[str]:
        return frozenset(map(self.labels.of, self.recognizer.categories))

    def find(self, document: Document) -> list[Span]:
        found = self.recognizer.find(document)
        return [s.named(self.labels.of(s.category)) for s in found]


def _label_set(tagger: Tagger) -> str:
    known = label_set_of(tagger.categories)
    return known.name if known else _RULE_LABELS
