"""Releases of codes: made by a method, verified on what is published, with loss and attacks before and after."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from deid.base.errors import ConfigError, method_fault
from deid.base.late import pd
from deid.table.hierarchy import Hierarchy
from deid.transactions.attacks import Attack, attack_codes
from deid.transactions.disassociation import Disassociated
from deid.transactions.measures import CodeLoss, code_loss
from deid.transactions.methods import Asked, MethodInput, ReleaseFinding, find_method
from deid.transactions.reading import CodedRecords
from deid.transactions.relational import Cells
from deid.transactions.studies import Study, supported_studies
from deid.transactions.transactions import Transactions

_EMPTY = 0.9
"""Certainty penalty above which a release says next to nothing."""


@dataclass(frozen=True, eq=False)
class CodesRelease:
    """A release that every verifier passed.

    Parameters
    ----------
    original : CodedRecords
        What it was made from, in the order of what the records hold.
    published : Transactions, optional
        The records, in the order of ``original``; None for chunks.
    chunks : Disassociated, optional
        For disassociation.
    cells : sequence of tuples of str
        Columns beside the codes, named ``columns``.
    method : str
        Name of the method.
    attacker : str
        Whom it stops.
    asked : Asked
        What was asked for.
    findings : tuple of ReleaseFinding
        What the verifiers say.
    told : mapping of str to int
        Counts that the method tells.
    phenotypes : mapping of str to frozenset of str
        Diseases whose studies are judged.
    seconds : float
        CPU seconds of the search.
    attacked : int or None
        Persons that are attacked before and after, drawn at random; None for all.
    fates : mapping of str to str
        What became of each column of the table, where one was read.
    remarks : tuple of str
        What must be said beside it.
    """

    original: CodedRecords
    published: Transactions | None
    chunks: Disassociated | None
    columns: tuple[str, ...]
    cells: Sequence[Cells]
    method: str
    attacker: str
    asked: Asked
    findings: tuple[ReleaseFinding, ...]
    told: Mapping[str, int] = field(default_factory=dict)
    phenotypes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    seconds: float = 0.0
    attacked: int | None = None
    fates: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @cached_property
    def loss(self) -> CodeLoss | None:
        """What was lost; None for chunks, which keep every code."""
        return None if self.published is None else code_loss(self.original.transactions, self.published)

    @property
    def warnings(self) -> list[str]:
        """What whoever releases must know: one rare pair can take all codes to the root of their hierarchy."""
        if self.loss is None or self.loss.ncp <= _EMPTY:
            return []
        others = " and ".join(name for name in ("local-suppression", "km-local") if name != self.method)
        return [f"{self.loss.ncp:.0%} of what the codes said is gone: where few pairs are rare, {others} keep more"]

    @cached_property
    def studies(self) -> list[Study]:
        """Which studies the release supports."""
        if self.published is None:
            return []
        return supported_studies(self.original.transactions, self.published, self.phenotypes)

    @cached_property
    def attacks(self) -> tuple[list[Attack], list[Attack]]:
        """Attacks on the original and on the release; none on chunks, and none where nobody is to be attacked."""
        if self.attacked == 0:
            return [], []
        before, after = (
            []
            if found is None
            else attack_codes(
                self.original, found, m=self.asked.m, most=max(self.asked.k - 1, 1), targets=self.attacked
            )
            for found in (self.original.transactions, self.published)
        )
        return before, after

    def table(self, column: str) -> pd.DataFrame:
        """Return what may leave, in an order that tells nothing: the codes, and the columns published with them."""
        if self.chunks is not None:
            return pd.DataFrame(self.chunks.as_rows(), columns=["joint", "cluster", "part", column])
        assert self.published is not None
        texts = self.published.texts()
        joined = {row: "; ".join(row) for row in texts}
        if not self.columns:
            return pd.DataFrame({column: sorted(map(joined.__getitem__, texts))})
        rows = sorted((*row, joined[text]) for row, text in zip(self.cells, texts, strict=True))
        return pd.DataFrame(rows, columns=[*self.columns, column])

    def sentences(self) -> list[str]:
        """Return what must be said beside it: columns that are left out, what it loses, who was taken for a person."""
        left = [name for name, fate in self.fates.items() if fate == "left out"]
        return [*([f"left out: {', '.join(left)}"] if left else []), *self.warnings, *self.remarks]

    def lines(self) -> list[tuple[str, str]]:
        """Return what was done and reached in a dozen lines, for a terminal."""
        loss = self.loss
        rows = [
            ("method", self.method),
            ("stops an attacker who", self.attacker),
            ("records", f"{len(self.original.transactions):,}"),
            *((name.replace("_", " "), f"{count:,}") for name, count in self.told.items()),
            *((f.model, f"{f.verdict.level:.4g} (asked: {f.asked})") for f in self.findings),
        ]
        if loss is not None:
            rows += [
                ("loss: UL, AvgRE", f"{loss.ul:.4g}, {loss.avg_re:.4f}"),
                ("loss: NCP, occurrences suppressed", f"{loss.ncp:.4f}, {loss.suppressed:.2%}"),
            ]
        return rows + [(f"study of {s.disease}", "supported" if s.supported else "lost") for s in self.studies]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: counts and parameters, no record."""
        asked = self.asked
        before, after = self.attacks
        return {
            "method": self.method,
            "stops": self.attacker,
            "k": asked.k,
            "m": asked.m,
            "confidence": asked.confidence,
            "privacy_constraints": len(asked.privacy),
            "utility_constraints": len(asked.utility),
            "sensitive_codes": len(asked.sensitive),
            "rules": len(asked.rules),
            "columns": list(self.columns),
            "records": len(self.original.transactions),
            "codes": len(self.original.transactions.labels),
            "published_items": None if self.published is None else int((self.published.supports > 0).sum()),
            **self.told,
            "findings": [finding.as_dict() for finding in self.findings],
            "loss": None if self.loss is None else asdict(self.loss),
            "studies": [asdict(study) for study in self.studies],
            "attacks_before": [asdict(attack) for attack in before],
            "attacks_after": [asdict(attack) for attack in after],
            "cpu_seconds": round(self.seconds, 3),
        }


def anonymize_codes(
    original: CodedRecords,
    asked: Asked,
    method: str,
    *,
    hierarchy: Hierarchy | None = None,
    columns: Sequence[str] = (),
    cells: Sequence[Cells] = (),
    phenotypes: Mapping[str, frozenset[str]] | None = None,
    attacked: int | None = None,
) -> CodesRelease:
    """Make codes publishable.

    Parameters
    ----------
    original : CodedRecords
        The records; their order changes nothing.
    asked : Asked
        What the release must keep.
    method : str
        One of `deid.transactions.methods.METHODS`.
    hierarchy : Hierarchy, optional
        For methods that generalize by a hierarchy; without one all codes lie below ``*``.
    columns : sequence of str
        Names of columns to be published beside the codes; the method ``relational`` protects both together.
    cells : sequence of tuples of str
        Their cells, a tuple a record.
    phenotypes : mapping of str to frozenset of str, optional
        Diseases whose studies are judged.
    attacked : int, optional
        Persons that are attacked before and after, drawn at random; all by default, 0 for none.

    Returns
    -------
    CodesRelease
        What every verifier of the method passed.

    Raises
    ------
    ConfigError
        When something is missing, or cannot be met.
    OutputError
        When a verifier rejects what the method found: then there is no release.
    """
    chosen = find_method(method, asked)
    if columns and method != "relational":
        raise ConfigError(
            f"the method {method} protects codes alone, not columns beside them", "use the method relational"
        )
    order = original.order(cells)
    original = original.take(order)
    source = MethodInput(original.transactions, hierarchy, [cells[record] for record in order] if cells else ())
    start = time.process_time()
    found = chosen.run(source, asked)
    seconds = time.process_time() - start
    if found.published is not None:
        _check_true(original.transactions, found.published, method)
    findings = chosen.check(source, found, asked)
    failed = [finding.model for finding in findings if not finding.verdict.holds]
    if failed:
        raise method_fault(f"the verifier rejects what the method {method} found: {', '.join(failed)} not reached")
    return CodesRelease(
        original,
        found.published,
        found.chunks,
        tuple(columns),
        found.cells,
        method,
        chosen.attacker,
        asked,
        tuple(findings),
        found.told,
        phenotypes or {},
        seconds,
        attacked,
    )


def _check_true(original: Transactions, published: Transactions, method: str) -> None:
    """Refuse published items that are not true of their records."""
    untrue = len(original) != len(published)
    place = original.place
    for members, bits in zip(published.members, published.bits, strict=True):
        held = 0
        for code in members:
            held |= original.bits[place[code]] if code in place else 0
        untrue |= bool(bits & ~held)
    if untrue:
        raise method_fault(f"the method {method} published items that are not true of their records")
