"""What a user asks of a release of codes: levels, and files of policies, phenotypes and rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import InputError
from deid.base.late import pd
from deid.base.options import column_names, option
from deid.table.cell_text import text_list
from deid.table.options import TableOptions
from deid.transactions.methods import Asked
from deid.transactions.policies import all_parts, listed_codes, phenotype_policy, read_policy, read_rules
from deid.transactions.reading import CodeColumns, CodedRecords
from deid.transactions.relational import column_cells
from deid.transactions.release import CodesRelease, anonymize_codes

if TYPE_CHECKING:
    from deid.table.hierarchy import Hierarchy

_KNOWN, _STUDIES, _HIDDEN = "What attackers know", "What studies need", "Sensitive codes"


@dataclass(frozen=True)
class CodesAsked(CodeColumns):
    """What is asked of a release of codes, and where they are."""

    PANEL: ClassVar[str] = _STUDIES
    method: str = option(
        "km",
        "global-suppression, local-suppression, complete, km, km-local, km-vertical, ugaclip, cba, coat, pcta, aclip, "
        "coherence, rbat, suppress-control, top-down-control, disassociation or relational.",
        panel="",
    )
    k: int = option(5, "Records that must fit what the attacker knows.", panel="")
    m: int = option(2, "Codes that the attacker knows (p of coherence).", panel="")
    qi: tuple[str, ...] = option(
        (), "relational: columns that are published beside the codes.", metavar="A,B", panel=_KNOWN
    )
    privacy: Path | None = option(
        None, "Privacy policy: a line a set of codes; else the sets of the visits.", panel=_KNOWN
    )
    parts: bool = option(False, "Protect parts of the privacy policy's sets as well.", panel=_KNOWN)
    persons_as_given: bool = option(
        False, "Persons who look alike are different ones; levels count them so.", panel=_KNOWN
    )
    utility: Path | None = option(None, "Utility policy: a line a set of codes that may be combined.")
    phenotypes: Path | None = option(
        None, "Diseases to study, lines NAME: CODES; they are the utility policy, if no other is."
    )
    siblings: int = option(0, "Codes near a phenotype's may be combined: up to this level of the hierarchy.", minimum=0)
    free: bool = option(False, "Codes in no utility constraint may be combined with each other.")
    most_suppressed: float = option(
        1.0, "ugaclip, cba, coat, pcta, aclip: greatest share of codes suppressed.", metavar="P"
    )
    sensitive_codes: tuple[str, ...] = option(
        (), "Codes that must not be inferred; 042.* for all below.", metavar="A,B", panel=_HIDDEN
    )
    rules: Path | None = option(None, "rbat: lines PUBLIC CODES -> SENSITIVE CODES.", "--ps-rules", panel=_HIDDEN)
    confidence: float = option(0.5, "Greatest probability of a sensitive code (h, c, rho).", metavar="P", panel=_HIDDEN)
    attacked: int = option(
        2_000, "Persons that are attacked before and after, drawn at random; 0: none.", panel=_KNOWN, minimum=0
    )
    known: int | None = option(
        None,
        "rho-uncertainty: most codes that the attacker knows; any by default.",
        "--known-codes",
        panel=_HIDDEN,
        minimum=0,
    )

    @property
    def columns(self) -> list[str]:
        """Columns that are published beside the codes."""
        return column_names(*self.qi)

    def of(self, data: CodedRecords, tree: Hierarchy | None, studies: dict[str, frozenset[str]]) -> Asked:
        """Return what is asked of the records, with the codes that the named files hold.

        Parameters
        ----------
        data : CodedRecords
            The records.
        tree : Hierarchy or None
            Hierarchy of their codes.
        studies : dict of str to frozenset of str
            Codes of each phenotype.

        Raises
        ------
        ConfigError
            When one cannot be read, or names a code that no record has.
        """
        labels = data.transactions.labels
        if self.privacy:
            sets = list(read_policy(self.privacy, labels, "privacy policy").values())
        else:
            sets = sorted(set(data.visits), key=sorted)
        if self.utility is not None:
            groups = list(read_policy(self.utility, labels, "utility policy").values())
        else:
            groups = phenotype_policy(studies, labels, tree, siblings=self.siblings)
        return Asked(
            k=self.k,
            m=self.m,
            privacy=all_parts(sets) if self.parts else sets,
            utility=groups,
            sensitive=listed_codes(" ".join(self.sensitive_codes), labels, "--sensitive-codes"),
            rules=read_rules(self.rules, labels) if self.rules else (),
            confidence=self.confidence,
            known=self.known,
            most_suppressed=self.most_suppressed,
            free=self.free,
        )


def release_codes(
    table: pd.DataFrame | Iterable[pd.DataFrame], asked: CodesAsked, *, linked: bool = False
) -> CodesRelease:
    """Return a release of the codes of a table, whose persons are ``linked``; see `anonymize_codes` for further errors.

    The table may come in batches where neither columns beside the codes nor whether persons look alike is asked.

    Raises
    ------
    InputError
        When the rows of a person differ in a column that is published.
    """
    data = asked.read(table, persons_as_given=asked.persons_as_given or linked)
    tree = asked.tree(data)
    studies = read_policy(asked.phenotypes, data.transactions.labels, "phenotypes") if asked.phenotypes else {}
    cells = _cells(table, data, asked) if isinstance(table, pd.DataFrame) and asked.columns else []
    return anonymize_codes(
        data, asked.of(data, tree, studies), asked.method, hierarchy=tree, columns=asked.columns,
        cells=cells, phenotypes=studies, attacked=asked.attacked,
    )  # fmt: skip


def release_table(source: TableOptions, asked: CodesAsked) -> CodesRelease:
    """Read a table, and release its codes; errors are those of `release_codes`.

    Whether persons look alike, all columns tell: they are read where that is to be looked at, else those that are
    asked for alone, and in batches where these are the codes.
    """
    from deid.manifest import persons_linked

    linked, names = persons_linked(source.table, asked.person), source.names()
    table: pd.DataFrame | Iterable[pd.DataFrame]
    if not (linked or asked.persons_as_given):
        table = source.read_columns(names)
    elif asked.columns:
        table = source.read_columns([*asked.read_columns, *asked.columns])
    else:
        table = source.read_batches(asked.read_columns)
    fates = dict.fromkeys(names, "left out") | {asked.codes: "anonymized"} | dict.fromkeys(asked.columns, "published")
    rows = "every row was taken for a person; when rows are visits, name the person with --person"
    return replace(
        release_codes(table, asked, linked=linked), fates=fates, remarks=() if asked.person is not None else (rows,)
    )


def _cells(frame: pd.DataFrame, data: CodedRecords, asked: CodesAsked) -> list[tuple[str, ...]]:
    """Return the columns of each record; the rows of a person must agree."""
    cells = column_cells(frame, asked.columns)
    if asked.person is not None:
        said: dict[str, tuple[str, ...]] = {}
        for row, person in enumerate(text_list(frame[asked.person], key=True)):
            if said.setdefault(person, cells[row]) != cells[row]:
                raise InputError(
                    "the rows of a person differ in a column of --qi",
                    "give every person one value",
                    position=f"row {row + 1}",
                )
    return [cells[row] for row in data.first.tolist()]
