"""Which studies a release still supports (Loukides, Gkoulalas-Divanis and Malin, PNAS 2010).

A study of a disease compares its cases, the records with one of its codes, with controls. A release supports it when
the published records are divided as the original ones were: no published item mixes codes of the disease with others,
and no case lost them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deid.transactions.transactions import Transactions


@dataclass(frozen=True)
class Study:
    """What a release means for the study of a disease.

    Parameters
    ----------
    disease : str
        Its name.
    cases : int
        Cases in the original.
    certain : int
        Published records that are certainly cases.
    possible : int
        Published records that may be cases.
    supported : bool
        Whether cases and controls are the same records before and after.
    """

    disease: str
    cases: int
    certain: int
    possible: int
    supported: bool


def supported_studies(
    original: Transactions, published: Transactions, phenotypes: Mapping[str, frozenset[str]]
) -> list[Study]:
    """Return the table of support.

    Parameters
    ----------
    original, published : Transactions
        The same records in the same order.
    phenotypes : mapping of str to frozenset of str
        Codes that define each disease.
    """
    known = frozenset(original.labels)
    found = []
    for disease, codes in phenotypes.items():
        cases = certain = possible = 0
        for label, bits in zip(original.labels, original.bits, strict=True):
            cases |= bits if label in codes else 0
        for members, bits in zip(published.members, published.bits, strict=True):
            certain |= bits if members & known <= codes else 0
            possible |= bits if members & codes else 0
        same = cases == certain == possible
        found.append(Study(disease, cases.bit_count(), certain.bit_count(), possible.bit_count(), same))
    return found
