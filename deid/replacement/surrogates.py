"""The surrogate operator: realistic, keyed, consistent replacements for the spans of a document."""

from __future__ import annotations

from collections.abc import Sequence

from deid.document import Document, Span
from deid.phi import canonical
from deid.replacement.identifiers import scramble
from deid.replacement.permutation import Keyed
from deid.replacement.scope import Operator, Scope

__all__ = ["surrogate_operator"]


def surrogate_operator() -> Operator:
    """Return an operator that replaces every span by a keyed surrogate."""

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        keyed = Keyed(scope.key, scope.person_scope)
        out = []
        for span in spans:
            category = canonical(span.category)
            out.append(scramble(keyed, document.text[span.start : span.end], category) or f"[{category}]")
        return out

    return operate
