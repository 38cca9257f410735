"""Genotype and phenotype: what a mutation says about its bearer, who the bearer can be, and what a study still shows.

Malin and Sweeney, Determining the identifiability of DNA database entries (2000): a mutation tells a disease, a disease
its code, and code, sex and age lead to the rows of an identified register. The length of a repeat tells the age at
onset.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError
from deid.base.late import pd
from deid.base.resources import resource_folder
from deid.table.microdata import check_columns


@dataclass(frozen=True, slots=True)
class Disease:
    """A disease that a mutation tells."""

    name: str
    genes: tuple[str, ...]
    codes: tuple[str, ...]
    """Codes of ICD-9-CM and ICD-10-CM."""


@functools.cache
def _diseases() -> tuple[Disease, ...]:
    path = resource_folder("dictionaries") / "genetics" / "gene-disease" / "diseases.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(
            Disease(row["disease"], tuple(row["genes"].split()), tuple(row["codes"].split()))
            for row in csv.DictReader(stream, delimiter=";")
        )


def diseases_of(gene: str) -> tuple[Disease, ...]:
    """Return the diseases that a mutation of a gene tells, none for a gene that the table does not have."""
    return tuple(d for d in _diseases() if gene.upper() in d.genes)


def link_register(released: pd.DataFrame, register: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Return for each released DNA record the number of rows of an identified register that it can be.

    Parameters
    ----------
    released : pandas.DataFrame
        One DNA record a row; a column ``gene`` is turned into the codes of its diseases where it has no ``code``.
    register : pandas.DataFrame
        One identified person a row, with ``code`` (one disease code) if that is a key.
    keys : sequence of str
        Columns of both that must be equal.

    Raises
    ------
    ConfigError
        When a side lacks a key.
    """
    frame = released
    if "code" in keys and "code" not in frame.columns and "gene" in frame.columns:
        codes = [sorted({c for d in diseases_of(str(g)) for c in d.codes}) or [""] for g in frame["gene"]]
        frame = frame.assign(code=pd.Series(codes, index=frame.index)).explode("code")
    check_columns(frame, keys)
    check_columns(register, keys)
    left = frame[list(keys)].astype(str).assign(record=frame.index)
    counts = register[list(keys)].astype(str).value_counts().rename("rows").reset_index()
    linked = left.merge(counts, how="left", on=list(keys)).groupby("record")["rows"].sum()
    return pd.Series(linked.reindex(released.index, fill_value=0).astype(int), name="candidates")


@dataclass(frozen=True, slots=True)
class OnsetModel:
    """A straight line from the length of a repeat to the logarithm of the age at onset."""

    intercept: float
    slope: float
    spread: float
    """Standard deviation of the residuals."""
    count: int
    mean: float
    """Mean length."""
    square: float
    """Sum of squared deviations of the lengths."""

    def predict(self, repeats: float, level: float = 0.95) -> tuple[float, float, float]:
        """Return the age at onset and the bounds of its prediction interval, in years."""
        from scipy.stats import t

        middle = self.intercept + self.slope * repeats
        width = self.spread * np.sqrt(1 + 1 / self.count + (repeats - self.mean) ** 2 / self.square)
        width *= t.ppf((1 + level) / 2, self.count - 2)
        return tuple(float(np.exp(v)) for v in (middle, middle - width, middle + width))  # type: ignore[return-value]


def fit_onset(repeats: np.ndarray, ages: np.ndarray) -> OnsetModel:
    """Fit the age at onset of a repeat disorder to the length of the repeat (least squares on its logarithm).

    Parameters
    ----------
    repeats, ages : float array, shape (persons,)
        At least three persons with different lengths.

    Returns
    -------
    OnsetModel
        Intercept and slope of the logarithm of the age in years.

    Raises
    ------
    InputError
        When there are fewer, or an age is not positive.
    """
    x, y = np.asarray(repeats, dtype=float), np.asarray(ages, dtype=float)
    if len(x) < 3 or len(x) != len(y) or np.ptp(x) == 0 or (y <= 0).any():
        raise InputError("too little to fit an age at onset", "give at least three persons with different lengths")
    square = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * np.log(y)).sum() / square)
    intercept = float(np.log(y).mean() - slope * x.mean())
    residuals = np.log(y) - intercept - slope * x
    return OnsetModel(
        intercept, slope, float(np.sqrt((residuals**2).sum() / (len(x) - 2))), len(x), float(x.mean()), square
    )


def allelic_chi_square(genotypes: np.ndarray, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Test each SNP for association with the cases: chi-square of the 2 x 2 table of alleles, without correction.

    Parameters
    ----------
    genotypes : float array, shape (persons, sites)
        Number of alternative alleles; NaN where it is not published.
    cases : bool array, shape (persons,)

    Returns
    -------
    statistic, p : float array, shape (sites,)
        0 and 1 where a site does not vary.
    """
    from scipy.stats import chi2

    genotypes, cases = np.asarray(genotypes, dtype=float), np.asarray(cases, dtype=bool)
    known = ~np.isnan(genotypes)
    alternative = np.stack([np.where(known, genotypes, 0)[group].sum(axis=0) for group in (cases, ~cases)])
    alleles = np.stack([2.0 * known[group].sum(axis=0) for group in (cases, ~cases)])
    reference = alleles - alternative
    total = alleles.sum(axis=0)
    product = alleles.prod(axis=0) * alternative.sum(axis=0) * reference.sum(axis=0)
    determinant = alternative[0] * reference[1] - alternative[1] * reference[0]
    statistic = np.divide(total * determinant**2, product, out=np.zeros_like(total), where=product > 0)
    return statistic, np.where(statistic > 0, chi2.sf(statistic, 1), 1.0)
