"""Tables of genotypes: records in rows, sites in columns, from VCF-like files and CSV."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from deid.base.errors import FormatError, InputError
from deid.base.files import csv_separator, csv_text, read_text, write_bytes

_FIXED = 9
"""Columns before the samples of a VCF file."""
_CALL = re.compile(r"(\d+|\.)(?:[/|](\d+|\.))?")

_PAIR = re.compile(r"(?:\d+|\.)[/|](?:\d+|\.)")


@dataclass(frozen=True)
class Genotypes:
    """Genotypes of records at sites."""

    records: tuple[str, ...] = field(repr=False)
    sites: tuple[str, ...] = field(repr=False)
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    """Genotype of each record at each site: ``0/0``, ``0/1``, ``1/1``; unordered, higher alleles count as 1; ``*``
    where there was no call."""

    def ordered(self) -> Genotypes:
        """Return them in the order of their rows, equal ones in that of their names; that of the file is gone."""
        order = sorted(range(len(self.rows)), key=lambda i: (self.rows[i], self.records[i]))
        return Genotypes(tuple(self.records[i] for i in order), self.sites, tuple(self.rows[i] for i in order))

    def dosage(self) -> np.ndarray:
        """Return the number of alternative alleles, float of shape (records, sites); NaN where it is not known."""
        known = {"0/0": 0.0, "0/1": 1.0, "1/1": 2.0}
        return np.array([[known.get(value, np.nan) for value in row] for row in self.rows])


def read_genotypes(path: Path, also: Container[str] = ("*",)) -> Genotypes:
    """Return the genotypes of a file: VCF (samples in columns), or CSV with a record a row and its name first.

    Parameters
    ----------
    path : Path
    also : container of str
        Values that a CSV may hold as well, such as those of a hierarchy; by default what was no call.

    Raises
    ------
    InputError
        When the file cannot be read, is empty or ragged, or holds what is no genotype; names the line.
    FormatError
        When it is no table of genotypes, or has no column of names.
    """
    where = str(path)
    text = read_text(path, where, InputError)
    lines = text.splitlines()
    if any(line.startswith("#CHROM") for line in lines):
        return _from_vcf(lines, where)
    delimiter = csv_separator(text.partition("\n")[0])
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise FormatError("no table of genotypes", "a first line of sites, then a record a line", where)
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise FormatError(f"{len(row)} cells instead of {len(rows[0])}", "mend the line", where, f"line {number}")
    if all(_PAIR.fullmatch(row[0].strip()) for row in rows[1:]):
        raise FormatError("the first column holds genotypes", "begin each line with the record's name", where)
    cells = tuple(
        tuple(v if v in also else _call(v, where, f"line {n}") for v in row[1:]) for n, row in enumerate(rows[1:], 2)
    )
    return Genotypes(tuple(row[0] for row in rows[1:]), tuple(rows[0][1:]), cells)


def _from_vcf(lines: list[str], where: str) -> Genotypes:
    names: list[str] = []
    sites: list[str] = []
    columns: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if line.startswith("#CHROM"):
            names = cells[_FIXED:]
        elif line and not line.startswith("#"):
            if len(cells) != _FIXED + len(names):
                raise FormatError("another number of samples", "mend the line", where, f"line {number}")
            sites.append(cells[2] if cells[2] != "." else f"{cells[0]}:{cells[1]}")
            columns.append([_call(v.split(":")[0], where, f"line {number}") for v in cells[_FIXED:]])
    if not names or not sites:
        raise FormatError("no sample or no site", "name a VCF file with genotypes", where)
    return Genotypes(tuple(names), tuple(sites), tuple(zip(*columns, strict=True)))


def _call(text: str, where: str, position: str) -> str:
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise InputError("not a genotype", "write 0/0, 0/1 or 1/1, and ./. where there is no call", where, position)
    alleles = [match[1], match[2] if match[2] is not None else match[1]]
    if "." in alleles:
        return "*"
    return "/".join(sorted("0" if a == "0" else "1" for a in alleles))


def write_genotypes(genotypes: Genotypes, path: Path) -> None:
    """Write genotypes as CSV, atomically and with mode 0600.

    Raises
    ------
    OutputError
        When it cannot be written.
    """
    rows = ([name, *row] for name, row in zip(genotypes.records, genotypes.rows, strict=True))
    write_bytes(path, csv_text(itertools.chain([["record", *genotypes.sites]], rows)).encode("utf-8"))
