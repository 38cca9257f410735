"""What the grammars find in a text, each for itself and however sure, as the lines of candidates.toml."""

from __future__ import annotations

from scenes import RULES, scene_in

from deid.reading.view import view_of
from deid.rules.institutions import find_institutions
from deid.rules.names import find_names
from deid.rules.places import find_places
from deid.rules.professions import find_professions


def found(text: str) -> list[str]:
    """Return the candidates in the order of their places: ``words | CATEGORY source certainty``."""
    scene = scene_in(text)
    spans = find_names(scene, RULES.labels.find(view_of(text)).labels)
    spans += find_institutions(scene) + find_places(scene) + find_professions(scene, RULES.lexicon)
    ordered = sorted(spans, key=lambda s: (s.start, s.end, s.source, s.category, s.score))
    return [f"{text[s.start : s.end]} | {s.category} {s.source.removeprefix('rule:')} {s.score}" for s in ordered]
