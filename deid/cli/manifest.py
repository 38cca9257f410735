"""The commands manifest key, manifest verify, manifest page: proof of what was done, for those who were not there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.files import write_bytes
from deid.base.options import named_file, place_of
from deid.cli import EXIT_FAILED, KeyOptions, Summary, argument, command, option

if TYPE_CHECKING:
    from deid.manifest import Check

_OUT = argument(
    "File or folder that a run wrote, or table: sqlite:///FILE.db/NAME; of a service none: --first.",
    metavar="OUT",
    default=None,
    read=place_of,
)


@dataclass(frozen=True)
class CheckingOptions(KeyOptions):
    """What manifests are checked against."""

    public_key: tuple[Path, ...] = option((), "Public key of the site (repeatable); by default your own signing key's.")
    first: Path | None = option(None, "First manifest; by default OUT.manifest.json. Of a feed: its --manifest.")
    beside: tuple[tuple[str, Path], ...] = option(
        (), "File that a run wrote beside: --beside report=r.html (repeatable; needs the key).", metavar="WHAT=F",
        read=named_file,
    )  # fmt: skip
    last: str = option("", "Checksum of the last manifest, as an earlier page tells it.", metavar="SHA256")

    def check(self, out: Path | str | None, inputs: dict[str, Path] | None = None) -> Check:
        """Check what lies beside an output."""
        from deid.manifest import check_manifests, read_public_key

        trusted = [read_public_key(path) for path in self.public_key]
        return check_manifests(
            out,
            trusted=trusted,
            key=self.existing(),
            first=self.first,
            head=self.last,
            inputs=inputs,
            beside=dict(self.beside),
        )


@command
def key(
    told: Summary,
    *,
    output: Path | None = option(None, "Write the public key to F (PEM).", "--output", "-o"),
    new: bool = option(False, "Replace the key by a new one; the old one stays beside it."),
) -> None:
    """Show the key that signs manifests, and make it where there is none.

    The public key goes to those who check; compare fingerprints by telephone or on paper. After --new, give them the
    new one too: what was signed before is checked with the old one.

    Example: deid manifest key -o site.pem
    """
    from deid.manifest.signing import fingerprint_of, load_signing_key, public_pem, replace_signing_key

    if new:
        own, aside = replace_signing_key()
        told.places.append(f"the key before is kept in {aside}")
    else:
        own, created = load_signing_key()
        told.places += [created] if created else []
    if output is not None:
        write_bytes(output, public_pem(own.public), private=False)
        told.places.append(f"wrote the public key to {output}")
    sys.stdout.write(f"fingerprint {fingerprint_of(own.public)}\npublic key  {own.public}\n")
    told.extra = {"fingerprint": fingerprint_of(own.public), "public_key": own.public}


@command
def verify(
    told: Summary,
    *,
    out: Path | str | None = _OUT,
    originals: Path | None = option(None, "Check too that these are the originals (needs the key).", metavar="IN"),
    format: str | None = option(None, "Format of the originals, as the run had it.", "--from", metavar="F"),
    checking: CheckingOptions,
) -> int | None:
    """Check an output against its manifests: every file, every signature, and the chain.

    Needs the public key alone, and for files that hold PHI the site's key. Of a feed OUT is what it wrote, in a file or
    folder; without it the manifests alone are checked. Exit status 1 when something was changed, taken away or added.

    Example: deid manifest verify scrubbed/ --public-key site.pem
    """
    inputs = None
    if originals is not None:
        from deid.io import scan
        from deid.pipeline.facts import inputs_of

        inputs = dict(inputs_of(scan(originals, format)))
    check = checking.check(out, inputs)
    told.notes, told.extra = check.sentences(), check.as_dict()
    return EXIT_FAILED if check.faults else 0


@command
def page(
    told: Summary,
    *,
    out: Path | str | None = _OUT,
    output: Path | None = option(None, "Page; by default OUT.manifest.html.", "--output", "-o"),
    checking: CheckingOptions,
) -> int | None:
    """Join all manifests of an output on one page to print: what was done, what was checked, and whether it holds.

    Exit status 1 when something does not hold; the page says what.

    Example: deid manifest page scrubbed/
    """
    from deid.manifest import manifest_path
    from deid.manifest.page import write_manifest_page
    from deid.table.table_writing import shown_place

    check = checking.check(out)
    shown = None if out is None else shown_place(out)
    first = checking.first or manifest_path(shown or Path())  # one of the two is there
    place = output or (shown.with_name(f"{shown.name}.manifest.html") if shown else first.with_suffix(".html"))
    write_manifest_page(place, check)
    told.notes.append(check.verdict)
    told.places.append(f"wrote {place}")
    told.extra = {"holds": not check.faults}
    return EXIT_FAILED if check.faults else 0
