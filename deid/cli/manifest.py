"""The commands manifest key, manifest verify, manifest page: proof of what was done, for those who were not there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import EXIT_FAILED, Summary, SummaryJson
from deid.cli.source_options import KeyFile, existing_key

if TYPE_CHECKING:
    from deid.manifest import Check

Out = Annotated[Path, typer.Argument(metavar="OUT", help="File or folder that a run wrote.")]
PublicKeys = Annotated[
    list[Path] | None,
    typer.Option(
        "--public-key", metavar="F", help="Public key of the site (repeatable); by default your own signing key's."
    ),
]
First = Annotated[
    Path | None, typer.Option("--manifest", metavar="F", help="First manifest; by default OUT.manifest.json.")
]
Head = Annotated[
    str, typer.Option("--last", metavar="SHA256", help="Checksum of the last manifest, as an earlier page tells it.")
]


def _key(
    public: Annotated[
        Path | None, typer.Option("--public", metavar="F", help="Write the public key to F (PEM).")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Replace the key by a new one; the old one stays beside it.")
    ] = False,
    summary_json: SummaryJson = None,
) -> None:
    """Show the key that signs manifests, and make it where there is none.

    The public key goes to those who check; compare fingerprints by telephone or on paper. After --new, give them the
    new one too: what was signed before is checked with the old one.

    Example: deid manifest key --public site.pem
    """
    from deid.base.files import write_bytes
    from deid.manifest.signing import fingerprint_of, load_signing_key, public_pem, replace_signing_key

    summary = Summary("manifest key")
    if new:
        key, aside = replace_signing_key()
        summary.places.append(f"the key before is kept in {aside}")
    else:
        key, created = load_signing_key()
        summary.places += [created] if created else []
    if public is not None:
        write_bytes(public, public_pem(key.public), private=False)
        summary.places.append(f"wrote the public key to {public}")
    sys.stdout.write(f"fingerprint {fingerprint_of(key.public)}\npublic key  {key.public}\n")
    summary.extra = {"fingerprint": fingerprint_of(key.public), "public_key": key.public}
    summary.finish(summary_json)


def _checked(
    out: Path,
    public_key: list[Path] | None,
    manifest: Path | None,
    last: str,
    key_file: Path | None,
    originals: Path | None = None,
    format: str | None = None,
) -> Check:
    from deid.manifest import check_manifests, read_public_key

    inputs = None
    if originals is not None:
        from deid.cli.run_manifest import inputs_of
        from deid.io import scan

        inputs = dict(inputs_of(scan(originals, format)))
    return check_manifests(
        out,
        trusted=[read_public_key(path) for path in public_key or ()],
        key=existing_key(key_file),
        first=manifest,
        head=last,
        inputs=inputs,
    )


def _verify(
    out: Out,
    public_key: PublicKeys = None,
    originals: Annotated[
        Path | None,
        typer.Option("--input", metavar="IN", help="Check too that these are the originals (needs the key)."),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="Format of IN, as the run had it.")
    ] = None,
    manifest: First = None,
    last: Head = "",
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Check an output against its manifests: every file, every signature, and the chain.

    Needs the public key alone, and for files that hold PHI the site's key. Exit status 1 when something was changed,
    taken away or added.

    Example: deid manifest verify scrubbed/ --public-key site.pem
    """
    check = _checked(out, public_key, manifest, last, key_file, originals, format)
    summary = Summary("manifest verify")
    commands = ", ".join(str(m.run.get("command")) for m in check.manifests)
    summary.notes.append(f"{len(check.manifests)} manifests ({commands}), {check.files} files compared")
    summary.notes += [f"signed with {fingerprint}" for fingerprint in check.signed_with]
    summary.notes.append(f"last manifest: {check.head}")
    summary.notes += [f"{fault.what}: {fault.where}: {fault.told}" for fault in check.faults]
    summary.notes.append("all holds" if not check.faults else f"{len(check.faults)} things do not hold")
    summary.extra = {
        "holds": not check.faults,
        "manifests": len(check.manifests),
        "compared": check.manifests[-1].compared() if check.manifests else "",
        "files": check.files,
        "last": check.head,
        "faults": [{"what": f.what, "where": f.where, "told": f.told} for f in check.faults],
    }
    summary.finish(summary_json)
    raise typer.Exit(EXIT_FAILED if check.faults else 0)


def _page(
    out: Out,
    page: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="F", help="Page; by default OUT.manifest.html.")
    ] = None,
    public_key: PublicKeys = None,
    manifest: First = None,
    last: Head = "",
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Join all manifests of an output on one page to print: what was done, what was checked, and whether it holds.

    Exit status 1 when something does not hold; the page says what.

    Example: deid manifest page scrubbed/
    """
    from deid.manifest.page import write_manifest_page

    check = _checked(out, public_key, manifest, last, key_file)
    place = page or out.with_name(f"{out.name}.manifest.html")
    write_manifest_page(place, check)
    summary = Summary("manifest page")
    summary.notes.append("all holds" if not check.faults else f"{len(check.faults)} things do not hold")
    summary.places.append(f"wrote {place}")
    summary.extra = {"holds": not check.faults}
    summary.finish(summary_json)
    raise typer.Exit(EXIT_FAILED if check.faults else 0)
