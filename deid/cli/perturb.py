"""The command perturb: columns of a table are changed rather than generalized."""

from __future__ import annotations

from deid.cli import KeyOptions, Summary, TableOutputOptions, command, print_sections, working
from deid.disclosure.options import RoleOptions
from deid.disclosure.perturbing import PerturbOptions
from deid.table.options import TableOptions


@command
def perturb(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    roles: RoleOptions,
    asked: PerturbOptions,
    keys: KeyOptions,
) -> None:
    """Perturb columns of a table: swap, add noise, round, average or randomize, and measure what that costs and leaves.

    What is published need not be true of a row, and no verifier speaks for it, but where --microaggregate names all
    quasi-identifiers: then each row has k equals. Draws come from the site's key and the table: equal runs are equal,
    and nobody without the key can take them back. OUT.manifest.json lies beside the table.

    Example: deid perturb patients.csv --qi age,zip --sensitive cost --drop mrn --round age=5 --swap zip=0.2
    --noise cost=0.1 -o perturbed.csv
    """
    from deid.disclosure.perturbing import perturb

    out = place.check(source.table)
    key = told.key(keys.key_file)
    told.begin(out, key, inputs=source.files())
    with working("perturbing"):
        data = roles.open(source.table, source)
        found = perturb(data, asked, key)
    place.write(found.frame)
    print_sections(found.sections())
    told.notes += found.sentences()
    told.extra = found.as_dict()
    told.sign(out, columns=found.fates)
