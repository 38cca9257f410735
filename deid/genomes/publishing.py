"""Genomic records as the file that may leave: read, released by a method, verified, written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from deid.base.errors import ConfigError, method_fault, require
from deid.base.nearest import nearest
from deid.base.options import column_names, option
from deid.base.resources import resource_folder
from deid.genomes.binning import bin_genotypes, check_bins
from deid.genomes.dnala import check_release, generalize_sequences
from deid.genomes.genotypes import Genotypes, read_genotypes, write_genotypes
from deid.genomes.sequences import Sequences, read_fasta, write_fasta
from deid.table.hierarchy import Hierarchy, read_hierarchy

_BINNING = "Binning"


@dataclass(frozen=True)
class GenomeLevels:
    """What a release of genomic records keeps.

    Raises
    ------
    ConfigError
        When there is no such method.
    """

    PANEL: ClassVar[str] = _BINNING
    method: str = option("dnala", "dnala for sequences, binning for genotypes.", metavar="dnala|binning", panel="")
    within: int = option(2, "Least number of sites of a value.", metavar="B")
    across: int = option(2, "Least number of records of a combination.", metavar="B")
    protect: str | None = option(None, "Sites whose combinations are protected; all by default.", metavar="S1,S2")
    size: int = option(2, "Largest combination.")
    hierarchy: Path | None = option(None, "Hierarchy of genotypes, as CSV.", "--genotype-hierarchy", metavar="FILE")

    def __post_init__(self) -> None:
        require(self.method in ("dnala", "binning"), f"there is no method {self.method!r}", "dnala or binning")

    def tree(self) -> Hierarchy:
        """Return the hierarchy of genotypes."""
        shipped = resource_folder("dictionaries") / "hierarchies" / "genotypes" / "hierarchy.csv"
        return read_hierarchy(self.hierarchy or shipped)

    def bins(self, sites: tuple[str, ...]) -> dict[str, Any]:
        """Return the bin sizes, by the places of the protected sites.

        Raises
        ------
        ConfigError
            When there is no such site.
        """
        protected = column_names(self.protect)
        for site in protected:
            if site not in sites:
                raise ConfigError(f"there is no site {site!r}", nearest(site, sites))
        chosen = [at for at, site in enumerate(sites) if site in protected] or None
        return {"within": self.within, "across": self.across, "protected": chosen, "size": self.size}


@dataclass(frozen=True)
class GenomeOptions(GenomeLevels):
    """How genomic records are released."""

    matching: str | None = option(
        None, "dnala: how pairs are found; exact up to 500 sequences.", metavar="exact|greedy"
    )
    keep_names: bool = option(False, "Keep the names of the records.")

    def names(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names that records leave with: their own, or numbers."""
        return tuple(n if n and self.keep_names else f"record {i}" for i, n in enumerate(given, 1))


@dataclass(frozen=True)
class PublishedGenomes:
    """What was released: figures, and a sentence of them."""

    figures: dict[str, Any]
    said: str


def release_genomes(source: Path, target: Path, asked: GenomeOptions) -> PublishedGenomes:
    """Release the records of a file; what is written is verified before.

    Parameters
    ----------
    source, target : Path
        FASTA, or VCF or CSV of genotypes; and the new file: FASTA, or CSV of genotypes.
    asked : GenomeOptions

    Returns
    -------
    PublishedGenomes
        Figures of what was written, and a sentence of them.

    Raises
    ------
    InputError, ConfigError
        When the records cannot be read, or cannot be released as asked.
    OutputError
        When the verifier rejects the release, or it cannot be written.
    """
    return _sequences(source, target, asked) if asked.method == "dnala" else _genotypes(source, target, asked)


def verify_genomes(source: Path, asked: GenomeLevels) -> tuple[bool, str]:
    """Verify a released file on its own.

    Parameters
    ----------
    source : Path
        What `release_genomes` wrote.
    asked : GenomeLevels
        As of the release.

    Returns
    -------
    bool
        Whether it holds.
    str
        What holds, or what does not, by place.

    Raises
    ------
    InputError, ConfigError
        When it cannot be read, or lacks a protected site.
    """
    if asked.method == "dnala":
        good, level, place = check_release(read_fasta(source))
        return good, f"{'' if good else f'record {(place or 0) + 1}: '}the rarest sequence occurs {level} times"
    tree = asked.tree()
    table = read_genotypes(source, tree)
    good, what = check_bins(table.rows, tree.root, **asked.bins(table.sites))
    return good, what or f"bins of {asked.within} sites and {asked.across} records hold"


def _sequences(source: Path, target: Path, asked: GenomeOptions) -> PublishedGenomes:
    originals = read_fasta(source)
    result = generalize_sequences(originals, matching=asked.matching)
    released = result.sequences
    good, level, place = check_release(released, originals.at(result.order))
    if not good:
        raise method_fault(f"the release does not hold: record {(place or 0) + 1}")
    write_fasta(Sequences(asked.names(released.names), released.codes), target)
    figures = {
        "sequences": len(released),
        "variable": result.variable,
        "cost": result.cost,
        "level": level,
        "matching": result.matching,
    }
    return PublishedGenomes(
        figures,
        f"{len(released)} sequences, {result.variable} variable sites, cost {result.cost} ({result.matching} matching)"
        f", every released one occurs at least {level} times",
    )


def _genotypes(source: Path, target: Path, asked: GenomeOptions) -> PublishedGenomes:
    tree = asked.tree()
    table = read_genotypes(source)
    bins = asked.bins(table.sites)
    result = bin_genotypes(table.rows, tree, **bins)
    good, what = check_bins(result.rows, tree.root, **bins)
    if not good:
        raise method_fault(f"the release does not hold: {what}")
    released = Genotypes(tuple(table.records[i] for i in result.order), table.sites, result.rows).ordered()
    write_genotypes(Genotypes(asked.names(released.records), table.sites, released.rows), target)
    figures = {
        "records": len(released.records),
        "sites": len(table.sites),
        "within": asked.within,
        "across": asked.across,
        "largest_combination": asked.size,
        "protected": column_names(asked.protect) or "all",
        "raised": result.raised,
        "loss": result.loss,
    }
    return PublishedGenomes(
        figures,
        f"{len(released.records)} records, {len(table.sites)} sites, {result.raised} cells generalized, loss "
        f"{result.loss:.3f}",
    )
