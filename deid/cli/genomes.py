"""``deid genomes``: release sequences and genotypes, and try the attacks that a release must stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from deid.base.files import check_new_file
from deid.cli import EXIT_FAILED, OutputOptions, Summary, argument, column_names, command, option, working
from deid.genomes.publishing import GenomeLevels, GenomeOptions, release_genomes, verify_genomes
from deid.table.options import table_of_files


@command
def anonymize(
    told: Summary,
    *,
    source: Path = argument("FASTA, or genotypes as VCF or CSV.", metavar="IN"),
    place: OutputOptions,
    asked: GenomeOptions,
) -> None:
    """Release genomic records so that none stands alone.

    dnala: every released sequence occurs at least twice (Malin 2005). binning: rare genotypes and rare combinations are
    generalized (Lin and others 2002). The result is verified before it is written; names become numbers, which do not
    depend on the order of IN. OUT.manifest.json lies beside it.

    Example: deid genomes anonymize patients.fasta -o released.fasta
    """

    check_new_file(place.output)
    told.begin(place.output, inputs=table_of_files(source))
    with working("anonymizing"):
        published = release_genomes(source, place.output, asked)
    told.notes.append(published.said)
    told.extra = published.figures
    results = {**told.extra, "names": "kept" if asked.keep_names else "replaced by numbers"}
    told.sign(place.output, results=results)


@command
def verify(
    told: Summary,
    *,
    source: Path = argument("What deid genomes anonymize wrote.", metavar="RELEASED"),
    asked: GenomeLevels,
) -> int:
    """Verify released genomic records on their own, whoever made them; exit status 1 when they do not hold.

    Example: deid genomes verify released.csv --method binning --within 3 --across 5
    """

    good, what = verify_genomes(source, asked)
    told.notes, told.extra = [what], {"holds": good}
    return 0 if good else EXIT_FAILED


@command
def membership(
    told: Summary,
    *,
    targets: Path = argument("Genotypes of the persons in question.", metavar="PERSONS"),
    mixture: Path = argument("Genotypes whose frequencies were published.", metavar="MIXTURE"),
    reference: Path = argument("Genotypes of a reference population.", metavar="REFERENCE"),
    non_members: Path | None = option(None, "Genotypes of persons known not to be in the mixture.", metavar="FILE"),
    significance: float = option(0.05, "Share of non-members taken for members.", metavar="P"),
) -> int:
    """Tell who is in a mixture from its allele frequencies alone (Homer and others 2008).

    Prints one line a person: place, statistic, decision. Exit status 1 when somebody is found, so that a release can be
    tested in a script.

    Example: deid genomes attack membership persons.vcf cases.vcf reference.vcf --non-members others.vcf
    """
    from deid.genomes.genotypes import read_genotypes
    from deid.genomes.membership import find_members

    people, cases, controls = map(read_genotypes, (targets, mixture, reference))
    outside = read_genotypes(non_members) if non_members else None
    results = find_members(people, cases, controls, outside, alpha=significance)
    found = sum(r.decision == "in the mixture" for r in results)
    return _tell(
        told,
        [(f"{r.statistic:.3f}", r.decision) for r in results],
        f"{found} of {len(results)} persons are found in the mixture",
        {"persons": len(results), "found": found, "threshold": results[0].threshold},
    )


@command
def linkage(
    told: Summary,
    *,
    released: str = argument("DNA records: columns gene or code, sex, age.", metavar="RELEASED"),
    register: str = argument("Identified persons with the same columns.", metavar="REGISTER"),
    qi: tuple[str, ...] = option(("sex,age,code",), "Columns that both know.", metavar="A,B"),
) -> int:
    """Count, for each released DNA record, the persons of a register that it can be (Malin and Sweeney 2000).

    A mutated gene tells the disease and its code; code, sex and age are joined with the register. Exit status 1 when a
    record can be one person only.

    Example: deid genomes attack linkage dna.csv discharges.csv --qi sex,age,code
    """
    from deid.genomes.phenotypes import link_register
    from deid.table.table_files import read_table

    counts = link_register(read_table(released), read_table(register), column_names(*qi)).tolist()
    found = counts.count(1)
    return _tell(
        told,
        [(str(count),) for count in counts],
        f"{found} of {len(counts)} records can be one person only",
        {"records": len(counts), "unique": found, "without": counts.count(0)},
    )


def _tell(told: Summary, lines: list[tuple[str, ...]], sentence: str, figures: dict[str, Any]) -> int:
    """Print what an attack says of each record; return status 1 when it found somebody."""
    for number, line in enumerate(lines, 1):
        typer.echo("\t".join((str(number), *line)))
    told.notes, told.extra = [sentence], figures
    return EXIT_FAILED if figures.get("found", figures.get("unique")) else 0
