"""Checking the manifests that lie beside an output: signatures, the chain, and every file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, DeidError, FormatError, InputError, require
from deid.base.keys import Key
from deid.base.nearest import nearest
from deid.base.safe_names import safe_name
from deid.manifest.content import (
    Manifest,
    listed_files,
    listing_manifest,
    log_of,
    manifest_path,
    read_manifest,
    written_beside,
)
from deid.manifest.digests import (
    TABLE,
    Digest,
    digest_file,
    digest_table,
    files_below,
    keyed_digest,
    public_name,
    tree_digest,
)
from deid.manifest.faults import Fault
from deid.manifest.inputs import input_digest
from deid.manifest.run import OUT, manifest_key, path_pseudonym
from deid.manifest.signing import fingerprint_of, is_signed, load_signing_key, signed_by_this_site
from deid.manifest.stretches import check_stream, gaps, stretches

_OPTION = re.compile("[a-z]+(?:[- ][a-z]+){0,2}")
"""What further files are called: mostly by the options that name them."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found."""

    manifests: tuple[Manifest, ...]
    faults: tuple[Fault, ...]
    files: int
    """Files of the output that were compared."""
    signed_with: tuple[str, ...] = field(default=())
    """Fingerprints of the keys that signed."""
    head: str = ""
    """SHA-256 of the last manifest."""
    goes_on: bool = False
    """Whether the last manifest is one of a feed that went on behind it: it does still, or was killed."""
    left: tuple[str, ...] = ()
    """Further files that runs wrote (a report, an edit log) and that were not compared, since nobody named them."""

    @property
    def verdict(self) -> str:
        """Whether all holds, in words."""
        return f"{len(self.faults)} things do not hold" if self.faults else "all holds"

    def sentences(self) -> list[str]:
        """Return what was found, in words."""
        commands = ", ".join(str(m.run.get("command")) for m in self.manifests)
        return [
            f"{len(self.manifests)} manifests ({commands}), {self.files} files compared",
            *(["the feed went on behind the last manifest: it does still, or was killed"] if self.goes_on else []),
            *(f"signed with {fingerprint}" for fingerprint in self.signed_with),
            f"last manifest: {self.head}",
            *([f"not compared, name them with --beside: {', '.join(self.left)}"] if self.left else []),
            *(f"{fault.what}: {fault.where}: {fault.told}" for fault in self.faults),
            self.verdict,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return what was found as JSON values."""
        return {
            "holds": not self.faults,
            "manifests": len(self.manifests),
            "compared": self.manifests[-1].compared() if self.manifests else "",
            "files": self.files,
            "last": self.head,
            "not_compared": list(self.left),
            "faults": [asdict(fault) for fault in self.faults],
        }


def check_manifests(
    out: Path | str | None,
    *,
    trusted: Iterable[str] = (),
    key: Key | None = None,
    first: Path | None = None,
    head: str = "",
    inputs: Mapping[str, Path] | None = None,
    beside: Mapping[str, Path] | None = None,
) -> Check:
    """Check an output against its manifests.

    Parameters
    ----------
    out : Path, str or None
        File or folder; URL of a table of a database; None for what went nowhere that could be looked at, as the answers
        of a service: the manifests alone are checked then.
    trusted : iterable of str
        Public keys (hex) that may have signed; by default this site's own.
    key : Key, optional
        The site's key, without which private files and inputs cannot be checked.
    first : Path, optional
        Place of the first manifest; by default beside ``out``, and needed without it.
    head : str
        SHA-256 of the last manifest, as an earlier page tells it: a chain that was cut behind it is told.
    inputs : mapping of str to Path, optional
        The originals by relative path, to be compared too; needs the key.
    beside : mapping of str to Path, optional
        Further files that the runs wrote, by what the manifests call them (``report``, ``edit log``), to be compared
        too; needs the key. Those that lie beside ``out`` under its name and an ending need not be named.

    Returns
    -------
    Check
        The manifests that were read and every fault; without faults the output is what its manifests say.

    Raises
    ------
    ConfigError
        When there is no manifest, or no public key to check with, or neither ``out`` nor ``first``; when no manifest
        names such a further file.
    FormatError
        When a manifest is none, or was changed.
    """
    table = out if isinstance(out, str) else None
    if isinstance(out, str):
        from deid.table.table_writing import shown_place

        out = shown_place(out)
    if out is None and first is None:
        raise ConfigError("there is nothing to check", "name the output; of a service, its first manifest (--first)")
    log = log_of(first or manifest_path(out or Path()))
    if not log:
        raise ConfigError(
            "no manifest lies beside the output" if first is None else "there is no such manifest",
            "the run that made it did not end, or the manifest was taken away; of a feed, name its first (--first)"
            if first or os.path.lexists(out or "")
            else "there is no such output: check the path",
        )
    keys = frozenset(trusted) or frozenset(_own())
    require(keys, "there is no public key to check with", "name the one that the site gave you: --public-key FILE")
    manifests = []
    faults: list[Fault] = []
    for number, path in log:
        try:
            manifests.append(read_manifest(path))
        except FormatError as error:
            faults.append(Fault("chain", f"manifest {number}", error.what))
    faults += _chain(log, manifests, keys, head) if not faults else []
    compared = 0
    left: list[str] = []
    if manifests:
        listing = listing_manifest(manifests) or manifests[-1]
        site = manifest_key(key) if key is not None and listing.run.get("key") == key.fingerprint() else None
        faults += gaps(manifests) if not faults else []  # of a chain that was cut, nobody can tell
        said, compared = _output(out, manifests, listing, site, table)
        faults += said
        said, left = _beside(out, written_beside(manifests), beside or {}, site)
        faults += said
        if inputs is not None:
            faults += _inputs(inputs, listing, site)
    used = dict.fromkeys(fingerprint_of(m.public_key) for m in manifests if m.public_key in keys)
    told = stretches(manifests)
    return Check(
        tuple(manifests),
        tuple(faults),
        compared,
        tuple(used),
        manifests[-1].digest() if manifests else "",
        bool(told) and told[-1][1].goes_on,
        tuple(left),
    )


def _own() -> list[str]:
    try:
        return [load_signing_key(create=False)[0].public]
    except ConfigError:
        return []


def _chain(log: list[tuple[int, Path]], manifests: list[Manifest], keys: frozenset[str], head: str) -> Iterable[Fault]:
    before = ""
    for place, (number, _) in enumerate(log, 1):
        manifest, where = manifests[place - 1], f"manifest {number}"
        if manifest.public_key not in keys:
            yield Fault("signature", where, "it was signed with a key that is not trusted (--public-key)")
        elif not is_signed(manifest.public_key, manifest.unsigned(), manifest.signature):
            yield Fault("signature", where, "the signature does not fit: it was changed after it was signed")
        if number != place or manifest.number != number or manifest.previous != before:
            yield Fault("chain", where, "the manifest before it is not the one that it names: the chain was cut")
        before = manifest.digest()
    there = {manifest.digest() for manifest in manifests}
    for entry in signed_by_this_site(manifests[0].digest()):
        if entry.digest not in there:
            yield Fault(
                "chain",
                f"manifest {entry.number}",
                "this site signed one for this output that is not here: it was taken away, or lies beside a copy",
            )
    if head and head not in there:
        yield Fault("chain", "last manifest", "none of them is the one that was named: the chain was cut")


def _output(
    out: Path | None, manifests: list[Manifest], listing: Manifest, key: Key | None, table: str | None
) -> tuple[list[Fault], int]:
    left = listed_files(manifests)
    if out is None:
        return [Fault("unchecked", "OUT", "the manifests list files: name the output")] if left else [], 0
    if not left and stretches(manifests) and not out.is_dir():
        return list(check_stream(out, manifests)), 1
    private = bool(listing.run.get("private"))
    faults: list[Fault] = []
    if table is None and left.pop(TABLE, ""):
        faults.append(Fault("unchecked", TABLE, "name the table by its URL, such as sqlite:///FILE.db/NAME"))
    elif table is None and not left and listing.run.get("documents") and not os.path.lexists(out):
        faults.append(Fault("unchecked", "OUT", "the manifest lists no file: a database is not compared"))
    found: dict[str, Digest] = {}
    for name, read in _there(out, left, key, table, grows=bool(listing.run.get("grows"))):
        where = name if public_name(name) else safe_name(name)
        try:
            digest = found[name] = read()
        except DeidError as error:
            faults.append(Fault("changed" if name in left or table is None else "unchecked", where, error.what))
            left.pop(name, None)
            continue
        told = _known_as(name, digest, left, key)
        if told is None:
            faults.append(Fault("added", where, "the manifest does not name this file"))
        else:
            faults += _compared(where, left.pop(told), digest, key)
    faults += [Fault("missing", name, "the manifest names this file, and it is not there") for name in left]
    if not faults:
        now = tree_digest(key, found.items(), private=private) if key is not None or not private else ""
        for manifest in manifests:
            if now and manifest.run.get("tree") and manifest.number > listing.number and manifest.run["tree"] != now:
                faults.append(
                    Fault("changed", f"manifest {manifest.number}", "it speaks of another state of the output")
                )
    return faults, len(found)


def _there(
    out: Path, left: Mapping[str, str], key: Key | None, table: str | None, *, grows: bool
) -> Iterable[tuple[str, Callable[[], Digest]]]:
    """Yield what there is of an output under the names of listings, each with what takes its checksums."""
    if table is not None:
        yield TABLE, partial(digest_table, key, table)
    elif out.is_dir():
        for name in files_below(out):
            if not (grows and name.startswith(".")):  # of an output that grows, that is being written
                yield name, partial(_own_file, key, name, out / name)
    else:
        for name in (OUT, *(n for n in left if n.startswith(f"{OUT}.") and "/" not in n)):
            path = out.with_name(f"{out.name}{name.removeprefix(OUT)}")
            if os.path.lexists(path):
                yield name, partial(_own_file, key, name, path)


def _own_file(key: Key | None, name: str, path: Path) -> Digest:
    if path.is_symlink():
        raise InputError("it is a link, not a file", "put the file itself there", safe_name(name))
    return digest_file(key, name, path)


def _compared(where: str, expected: str, digest: Digest, key: Key | None) -> Iterable[Fault]:
    if expected.startswith("keyed:") and key is None:
        yield Fault("unchecked", where, "only the site's key can check it (--key-file)")
    elif expected not in (digest.sha256, digest.named, *([digest.keyed] if key is not None else [])):
        yield Fault("changed", where, "its content is not what the manifest says")


def _beside(
    out: Path | None, written: Mapping[str, str], named: Mapping[str, Path], key: Key | None
) -> tuple[list[Fault], list[str]]:
    """Return what is wrong with further files, and which of them nobody named.

    What lies beside the output under its name and an ending, as a table of rejects does, need not be named.
    """
    for what in named:
        if what not in written:
            raise ConfigError("the manifests name no such file beside the output", nearest(what, written, "there are"))
    faults: list[Fault] = []
    left = []
    for what, told in written.items():
        path = named.get(what)
        if path is None and what.startswith(".") and "/" not in what and out is not None and key is not None:
            path = out.with_name(f"{out.name}{what}")
        where = (
            f"OUT{safe_name(what)}" if what.startswith(".") else what if _OPTION.fullmatch(what) else safe_name(what)
        )
        if path is None:
            left.append(where)
        elif key is None:
            faults.append(Fault("unchecked", where, "only the site's key can check it (--key-file)"))
        elif not path.exists():
            faults.append(Fault("missing", where, "the run wrote it, and it is not there"))
        elif told != keyed_digest(key, path):
            faults.append(Fault("changed", where, "its content is not what the manifest says"))
    return faults, left


def _known_as(name: str, digest: Digest, left: Mapping[str, str], key: Key | None) -> str | None:
    """Return under which name a file stands in a listing."""
    if public_name(name):
        return name if name in left else None
    if key is not None:
        own = path_pseudonym(key, name)
        return own if own in left else None
    # without the key: by name and content together; a private file by its being the only kind left
    return next(
        (other for other, told in left.items() if told == digest.named),
        next((other for other, told in left.items() if told.startswith("keyed:") and other.startswith("file-")), None),
    )


def _inputs(inputs: Mapping[str, Path], listing: Manifest, key: Key | None) -> Iterable[Fault]:
    if key is None:
        yield Fault("unchecked", "inputs", "only the site's key of the run can check them (--key-file)")
        return
    told = listing.run.get("inputs")
    if not isinstance(told, Mapping) or not told:
        yield Fault("unchecked", "inputs", "the manifest holds no checksums of inputs")
        return
    left = dict(told)
    for name, path in inputs.items():
        expected = left.pop(path_pseudonym(key, name), None)
        if expected is None:
            yield Fault("added", safe_name(name), "the run did not read this input")
        elif expected.partition(" ")[0] != input_digest(key, name, path):
            yield Fault("changed", safe_name(name), "this input is not what the run read")
    for name in left:
        yield Fault("missing", name, "the run read an input that is not there")
