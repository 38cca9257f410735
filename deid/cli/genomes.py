"""``deid genomes``: release sequences and genotypes, and try the attacks that a release must stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.run_manifest import begin, finish, tables_of


def _anonymize(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="IN", help="FASTA, or genotypes as VCF or CSV.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New file: FASTA, or CSV for genotypes.")],
    method: Annotated[
        str, typer.Option(metavar="dnala|binning", help="dnala for sequences, binning for genotypes.")
    ] = "dnala",
    matching: Annotated[
        str | None, typer.Option(metavar="exact|greedy", help="dnala: how pairs are found; exact up to 500 sequences.")
    ] = None,
    within: Annotated[int, typer.Option(metavar="B", help="binning: least number of sites of a value.")] = 2,
    across: Annotated[int, typer.Option(metavar="B", help="binning: least number of records of a combination.")] = 2,
    protect: Annotated[
        str | None, typer.Option(metavar="S1,S2", help="binning: sites whose combinations are protected; all.")
    ] = None,
    size: Annotated[int, typer.Option(metavar="N", help="binning: largest combination.")] = 2,
    hierarchy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="binning: hierarchy of genotypes, as CSV.")
    ] = None,
    keep_names: Annotated[bool, typer.Option("--keep-names", help="Keep the names of the records.")] = False,
    summary_json: SummaryJson = None,
) -> None:
    """Release genomic records so that none stands alone.

    dnala: every released sequence occurs at least twice (Malin 2005). binning: rare genotypes and rare combinations are
    generalized (Lin and others 2002). The result is verified before it is written; names become numbers, which do not
    depend on the order of IN. OUT.manifest.json lies beside it.

    Example: deid genomes anonymize patients.fasta released.fasta
    """
    from deid.base.errors import ConfigError
    from deid.base.files import check_new_file

    check_new_file(target)
    if method not in ("dnala", "binning"):
        raise ConfigError(f"there is no method {method!r}", "dnala or binning")
    run = begin(context, target)
    summary = Summary("genomes anonymize")
    if method == "dnala":
        _release_sequences(source, target, matching, keep_names, summary)
    else:
        sites = [s.strip() for s in protect.split(",")] if protect else None
        _release_genotypes(source, target, (within, across, size), sites, hierarchy, keep_names, summary)
    told = {**summary.extra, "names": "kept" if keep_names else "replaced by numbers"}
    finish(run, summary, target, inputs=tables_of(source), results=told)
    summary.finish(summary_json)


def _release_sequences(source: Path, target: Path, matching: str | None, keep_names: bool, summary: Summary) -> None:
    from deid.base.errors import InputError
    from deid.genomes import Sequences, generalize_sequences, read_fasta, write_fasta
    from deid.genomes.dnala import check_release

    originals = read_fasta(source).ordered()
    result = generalize_sequences(originals, matching=matching)
    good, level, place = check_release(result.sequences, originals)
    if not good:
        raise InputError(
            "the release does not hold", "nothing was written; please report this", "", f"record {(place or 0) + 1}"
        )
    released = result.sequences.ordered()
    names = tuple(n if n and keep_names else f"record {i}" for i, n in enumerate(released.names, 1))
    write_fasta(Sequences(names, released.codes), target)
    summary.notes.append(
        f"{len(released)} sequences, {result.variable} variable sites, cost {result.cost} ({result.matching} matching)"
        f", every released one occurs at least {level} times"
    )
    summary.extra = {
        "sequences": len(released),
        "variable": result.variable,
        "cost": result.cost,
        "level": level,
        "matching": result.matching,
    }


def _release_genotypes(
    source: Path,
    target: Path,
    sizes: tuple[int, int, int],
    protect: list[str] | None,
    hierarchy: Path | None,
    keep_names: bool,
    summary: Summary,
) -> None:
    from deid.base.errors import ConfigError, InputError
    from deid.base.resources import resource_folder
    from deid.genomes.binning import bin_genotypes, check_bins
    from deid.genomes.genotypes import Genotypes, read_genotypes, write_genotypes
    from deid.table.hierarchy import read_hierarchy
    from deid.table.microdata import nearest

    tree = read_hierarchy(hierarchy or resource_folder("dictionaries") / "hierarchies" / "genotypes" / "hierarchy.csv")
    table = read_genotypes(source)
    for site in protect or ():
        if site not in table.sites:
            raise ConfigError(f"there is no site {site!r}", nearest(site, table.sites))
    chosen = [table.sites.index(site) for site in protect] if protect else None
    within, across, size = sizes
    result = bin_genotypes(table.rows, tree, within=within, across=across, protected=chosen, size=size)
    good, what = check_bins(result.rows, tree.root, within=within, across=across, protected=chosen, size=size)
    if not good:
        raise InputError(f"the release does not hold ({what})", "nothing was written; please report this")
    released = Genotypes(table.records, table.sites, result.rows).ordered()
    names = tuple(n if n and keep_names else f"record {i}" for i, n in enumerate(released.records, 1))
    write_genotypes(Genotypes(names, table.sites, released.rows), target)
    summary.notes.append(
        f"{len(names)} records, {len(table.sites)} sites, {result.raised} cells generalized, loss {result.loss:.3f}"
    )
    summary.extra = {
        "records": len(names),
        "sites": len(table.sites),
        "within": within,
        "across": across,
        "largest_combination": size,
        "protected": [table.sites[i] for i in chosen] if chosen else "all",
        "raised": result.raised,
        "loss": result.loss,
    }


def _membership(
    targets: Annotated[Path, typer.Argument(metavar="PERSONS", help="Genotypes of the persons in question.")],
    mixture: Annotated[Path, typer.Argument(metavar="MIXTURE", help="Genotypes whose frequencies were published.")],
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Genotypes of a reference population.")],
    non_members: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Genotypes of persons known not to be in the mixture.")
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="P", help="Share of non-members taken for members.")] = 0.05,
    summary_json: SummaryJson = None,
) -> None:
    """Tell who is in a mixture from its allele frequencies alone (Homer and others 2008).

    Prints one line a person: place, statistic, decision. Exit status 1 when somebody is found, so that a release can be
    tested in a script.

    Example: deid genomes attack membership persons.vcf cases.vcf reference.vcf --non-members others.vcf
    """
    import numpy as np

    from deid.base.errors import InputError
    from deid.genomes.genotypes import Genotypes, read_genotypes
    from deid.genomes.membership import allele_frequencies, homer_statistic, membership_test

    def frequencies(table: Genotypes) -> np.ndarray:
        return allele_frequencies(np.nan_to_num(table.dosage(), nan=1.0))

    people, cases, controls = (read_genotypes(p) for p in (targets, mixture, reference))
    outside = read_genotypes(non_members) if non_members else None
    for other in (cases, controls, *([outside] if outside else [])):
        if other.sites != people.sites:
            raise InputError("other sites than the persons'", "give all files the same sites in the same order")
    m, p = frequencies(cases), frequencies(controls)

    def statistics(table: Genotypes) -> list[float]:
        return [homer_statistic(row / 2, p, m) for row in np.nan_to_num(table.dosage(), nan=1.0)]

    known = np.array(statistics(outside)) if outside else None
    results = [membership_test(t, known, alpha=alpha) for t in statistics(people)]
    for place, result in enumerate(results, 1):
        typer.echo(f"{place}\t{result.statistic:.3f}\t{result.decision}")
    found = sum(r.decision == "in the mixture" for r in results)
    summary = Summary("genomes attack membership")
    summary.notes.append(f"{found} of {len(results)} persons are found in the mixture")
    summary.extra = {"persons": len(results), "found": found, "threshold": results[0].threshold}
    summary.finish(summary_json)
    raise typer.Exit(int(found > 0))


def _linkage(
    released: Annotated[str, typer.Argument(metavar="RELEASED", help="DNA records: columns gene or code, sex, age.")],
    register: Annotated[str, typer.Argument(metavar="REGISTER", help="Identified persons with the same columns.")],
    on: Annotated[str, typer.Option(metavar="A,B", help="Columns that both know.")] = "sex,age,code",
    summary_json: SummaryJson = None,
) -> None:
    """Count, for each released DNA record, the persons of a register that it can be (Malin and Sweeney 2000).

    A mutated gene tells the disease and its code; code, sex and age are joined with the register. Exit status 1 when a
    record can be one person only.

    Example: deid genomes attack linkage dna.csv discharges.csv --on sex,age,code
    """
    from deid.genomes.phenotypes import link_register
    from deid.table.table_files import read_table

    candidates = link_register(read_table(released), read_table(register), [c.strip() for c in on.split(",")])
    for place, count in enumerate(candidates.tolist(), 1):
        typer.echo(f"{place}\t{count}")
    unique = int((candidates == 1).sum())
    summary = Summary("genomes attack linkage")
    summary.notes.append(f"{unique} of {len(candidates)} records can be one person only")
    summary.extra = {"records": len(candidates), "unique": unique, "without": int((candidates == 0).sum())}
    summary.finish(summary_json)
    raise typer.Exit(int(unique > 0))
