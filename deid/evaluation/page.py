"""The page that shows an evaluation with every mistake in its context."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from deid.base.reports import write_html
from deid.evaluation.evaluation import Evaluation
from deid.evaluation.mistakes import context
from deid.evaluation.sections import evaluation_sections


def write_page(evaluation: Evaluation, path: Path) -> None:
    """Write one self-contained HTML page with all tables and mistakes; it contains PHI and gets mode 0600.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    mistakes = evaluation.mistakes()
    strict = evaluation.tables["strict"].documents()
    documents = []
    for pair, (found, gold, _, system), left in zip(
        evaluation.pairing.pairs, strict, evaluation.leaks.words_left, strict=True
    ):
        if found < gold or found < system or pair.status != "scored":
            row = {"gold": gold, "found": found, "system": system, "left": left}
            documents.append({"id": pair.gold.id, "status": pair.status, **row})
    write_html(
        path,
        "evaluation.html",
        title="Evaluation",
        sections=evaluation_sections(evaluation.as_dict()),
        documents=documents,
        mistakes=mistakes,
        kinds=sorted(Counter(mistake.kind for mistake in mistakes).items()),
        categories=sorted(Counter(mistake.category for mistake in mistakes).items()),
        context=context,
    )
