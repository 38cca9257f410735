"""Checking the manifests that lie beside an output: signatures, the chain, and every file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    log = _log(out, first)
    keys = frozenset(trusted) or frozenset(_own())
    require(keys, "there is no public key to check with", "name the one that the site gave you: --public-key FILE")
    manifests, faults = [], []
    for number, path in log:
        try:
            manifests.append(read_manifest(path))
        except FormatError as error:
            faults.append(Fault("chain", f"manifest {number}", error.what))
    if not manifests:
        return Check((), tuple(faults), 0)
    faults += _chain(log, manifests, keys, head) if not faults else []
    faults += gaps(manifests) if not faults else []  # of a chain that was cut, nobody can tell
    written, told = _Written(out, table, manifests, key), stretches(manifests)
    faults += [*written.output(), *written.beside(beside or {}), *written.inputs(inputs)]
    return Check(
        tuple(manifests),
        tuple(faults),
        written.files,
        tuple(dict.fromkeys(fingerprint_of(m.public_key) for m in manifests if m.public_key in keys)),
        manifests[-1].digest(),
        bool(told) and told[-1][1].goes_on,
        tuple(written.left),
    )


def _log(out: Path | None, first: Path | None) -> list[tuple[int, Path]]:
    """Return the manifests beside an output, or from the first one on."""
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
    return log


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


def _same(where: str, same: bool | None) -> list[Fault]:
    """Return what is wrong with a file whose content is what the manifest says, is not, or cannot be compared."""
    if same is None:
        return [Fault("unchecked", where, "only the site's key can check it (--key-file)")]
    return [] if same else [Fault("changed", where, "its content is not what the manifest says")]


class _Written:
    """What runs wrote, beside what their manifests say of it.

    Parameters
    ----------
    out : Path or None
        Where it lies, or what is told of a table of a database lies beside.
    table : str or None
        URL of that table.
    manifests : list of Manifest
        Those that could be read.
    key : Key or None
        The site's; no use where another site's made what is listed.
    """

    def __init__(self, out: Path | None, table: str | None, manifests: list[Manifest], key: Key | None) -> None:
        self._out, self._table, self._manifests = out, table, manifests
        self._listing = listing_manifest(manifests) or manifests[-1]
        self._run = self._listing.run
        self._key = manifest_key(key) if key is not None and self._run.get("key") == key.fingerprint() else None
        self.files = 0
        """Files of the output that were compared."""
        self._found: dict[str, Digest] = {}
        self.left: list[str] = []
        """Further files that were not compared, since nobody named them."""

    def output(self) -> list[Fault]:
        """Compare the files of the output."""
        out, left = self._out, listed_files(self._manifests)
        if out is None:
            return [Fault("unchecked", "OUT", "the manifests list files: name the output")] if left else []
        if not left and stretches(self._manifests) and not out.is_dir():
            self.files = 1
            return list(check_stream(out, self._manifests))
        faults: list[Fault] = []
        if self._table is None and left.pop(TABLE, ""):
            faults.append(Fault("unchecked", TABLE, "name the table by its URL, such as sqlite:///FILE.db/NAME"))
        elif self._table is None and not left and self._run.get("documents") and not os.path.lexists(out):
            faults.append(Fault("unchecked", "OUT", "the manifest lists no file: a database is not compared"))
        faults += self._files(out, left)
        self.files = len(self._found)
        return faults or list(self._states())

    def _files(self, out: Path, left: dict[str, str]) -> Iterator[Fault]:
        for name, read in self._there(out, left):
            where = name if public_name(name) else safe_name(name)
            try:
                digest = self._found[name] = read()
            except DeidError as error:
                yield Fault("changed" if name in left or self._table is None else "unchecked", where, error.what)
                left.pop(name, None)
                continue
            told = _known_as(name, digest, left, self._key)
            if told is None:
                yield Fault("added", where, "the manifest does not name this file")
                continue
            expected = left.pop(told)
            keyed = [digest.keyed] if self._key is not None else []
            hidden = expected.startswith("keyed:") and not keyed
            yield from _same(where, None if hidden else expected in (digest.sha256, digest.named, *keyed))
        for name in left:
            yield Fault("missing", name, "the manifest names this file, and it is not there")

    def _states(self) -> Iterator[Fault]:
        """Yield the later manifests that speak of another state of the output."""
        private = bool(self._run.get("private"))
        if private and self._key is None:
            return
        now = tree_digest(self._key, self._found.items(), private=private)
        for manifest in self._manifests:
            if manifest.run.get("tree") and manifest.number > self._listing.number and manifest.run["tree"] != now:
                yield Fault("changed", f"manifest {manifest.number}", "it speaks of another state of the output")

    def _there(self, out: Path, left: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], Digest]]]:
        """Yield what there is of an output under the names of listings, each with what takes its checksums."""
        key, grows = self._key, bool(self._run.get("grows"))
        if self._table is not None:
            yield TABLE, partial(digest_table, key, self._table)
        elif out.is_dir():
            for name in files_below(out):
                if not (grows and name.startswith(".")):  # of an output that grows, that is being written
                    yield name, partial(_own_file, key, name, out / name)
        else:
            for name in (OUT, *(n for n in left if n.startswith(f"{OUT}.") and "/" not in n)):
                path = out.with_name(f"{out.name}{name.removeprefix(OUT)}")
                if os.path.lexists(path):
                    yield name, partial(_own_file, key, name, path)

    def beside(self, named: Mapping[str, Path]) -> Iterator[Fault]:
        """Compare further files, and note which of them nobody named.

        What lies beside the output under its name and an ending, as a table of rejects does, need not be named.
        """
        written, key = written_beside(self._manifests), self._key
        for what in named:
            if what not in written:
                hint = nearest(what, written, "there are")
                raise ConfigError("the manifests name no such file beside the output", hint)
        for what, told in written.items():
            path, ending = named.get(what), what.startswith(".")
            if path is None and ending and "/" not in what and self._out is not None and key is not None:
                path = self._out.with_name(f"{self._out.name}{what}")
            where = f"OUT{safe_name(what)}" if ending else what if _OPTION.fullmatch(what) else safe_name(what)
            if path is None:
                self.left.append(where)
            elif key is not None and not path.exists():
                yield Fault("missing", where, "the run wrote it, and it is not there")
            else:
                yield from _same(where, None if key is None else told == keyed_digest(key, path))

    def inputs(self, inputs: Mapping[str, Path] | None) -> Iterator[Fault]:
        """Compare the originals, where they are named."""
        told, key = self._run.get("inputs"), self._key
        if inputs is None:
            return
        if key is None:
            yield Fault("unchecked", "inputs", "only the site's key of the run can check them (--key-file)")
        elif not isinstance(told, Mapping) or not told:
            yield Fault("unchecked", "inputs", "the manifest holds no checksums of inputs")
        else:
            left = dict(told)
            for name, path in inputs.items():
                expected = left.pop(path_pseudonym(key, name), None)
                if expected is None:
                    yield Fault("added", safe_name(name), "the run did not read this input")
                elif expected.partition(" ")[0] != input_digest(key, name, path):
                    yield Fault("changed", safe_name(name), "this input is not what the run read")
            for name in left:
                yield Fault("missing", name, "the run read an input that is not there")


def _own_file(key: Key | None, name: str, path: Path) -> Digest:
    if path.is_symlink():
        raise InputError("it is a link, not a file", "put the file itself there", safe_name(name))
    return digest_file(key, name, path)


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
