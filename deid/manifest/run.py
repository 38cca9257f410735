"""Writing a manifest: begun before the work, so that a run that cannot be proved does not start, finished after it."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from deid.base.errors import DeidError, OutputError, told_as
from deid.base.files import write_bytes
from deid.base.keys import Key, load_key
from deid.base.list_lines import read_list_line
from deid.base.resources import resource_folder
from deid.document import Failure
from deid.manifest.content import Manifest, listing_manifest, log_of, manifest_path, numbered, plain, read_manifest
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
from deid.manifest.inputs import InputFiles
from deid.manifest.options import OptionRecord, told_options
from deid.manifest.signing import Signed, SigningKey, load_signing_key, note_signed

OUT = "OUT"
"""Name of an output that is one file, in listings."""
WITHHELD = "withheld"
"""In place of inputs whose very change must not be told."""
_LOST = "manifests that this run follows were taken away while it went on: deid manifest verify tells which are missing"

Log: TypeAlias = list[tuple[int, Path]]
"""Manifests of an output by number (`log_of`)."""


def manifest_key(key: Key) -> Key:
    """Return the key of keyed checksums and pseudonyms, from the site's."""
    return key.derive("manifest")


def path_pseudonym(key: Key, name: str) -> str:
    """Return the keyed pseudonym of a file, by its relative path; ``key`` is that of manifests."""
    return key.pseudonym("file", name)


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """Where the chain of an output ends, as a process knows it."""

    number: int = 0
    """Of the last manifest; 0 where there is none."""
    digest: str = ""
    """Its SHA-256."""
    begin: str = ""
    """SHA-256 of the first."""


@dataclass(slots=True)
class ManifestRun:
    """A run that has begun."""

    command: str
    version: str
    first: Path
    """Place of the output's first manifest."""
    key: Key = field(repr=False)
    """Key of manifests."""
    fingerprint: str
    """Of the site's key."""
    signing_key: SigningKey = field(repr=False)
    options: Mapping[str, Any]
    created: list[str]
    """Sentences about keys that were made."""
    began: datetime.datetime
    end: ChainEnd
    """Of the chain when the run began; behind `finish`, its own manifest."""
    inputs: InputFiles = field(init=False, repr=False)
    """The files that it reads; they are noted before they are read."""
    lost: str = ""
    """What to tell where manifests were taken away since: the chain goes on behind the one that was known."""

    def __post_init__(self) -> None:
        self.inputs = InputFiles(self.key)

    def name(self, path: str) -> str:
        """Return how a file is called here: its relative path where that tells nothing, else its pseudonym."""
        return path if public_name(path) else path_pseudonym(self.key, path)

    def digest(self, path: Path) -> str:
        """Return the keyed checksum of a file; of a folder that of all its files."""
        return keyed_digest(self.key, path)

    def finish(
        self,
        out: Path | None = None,
        *,
        inputs: Mapping[str, str] | None = None,
        withheld: bool = False,
        parts: Iterable[str] = (),
        beside: Mapping[str, Path] | None = None,
        grown: Mapping[str, Digest] | None = None,
        private: bool = False,
        looked: bool = False,
        table: str | None = None,
        failures: Iterable[Failure] = (),
        root: Path | None = None,
        **facts: Any,
    ) -> Path:
        """Write the manifest.

        Parameters
        ----------
        out : Path, optional
            File or folder that the run wrote; None when it wrote none, or a stream.
        inputs : mapping of str to str, optional
            What is told of what was read, in place of the files that `inputs` noted.
        withheld : bool
            Whether nothing is told of it: a checksum that changes with the data would tell too much (differential
            privacy).
        parts : iterable of str
            Suffixes behind the name of an output that is one file, of further files that belong to it (``.json``).
        beside : mapping of str to Path, optional
            Further files that were written, by what they are. What begins with a dot (``.rejects``) is the ending of a
            name: that file or folder lies beside ``out``, and is checked with it where the key is.
        grown : mapping of str to Digest, optional
            In place of ``out``: files that this run added to an output which other runs add to as well, by relative
            path; what the manifests before list goes on to count.
        private : bool
            Whether the output holds PHI: its checksums are keyed then.
        looked : bool
            Whether the run only looked at the output, as a check does: then the list of files of the run that wrote it
            goes on to count.
        table : str, optional
            URL of the table of a database that the run wrote; ``out`` then says where its manifests lie.
        failures : iterable of Failure
            What could not be done.
        root : Path, optional
            Folder of the inputs, for the pseudonyms of failures.
        **facts
            What else is to be told: ``documents``, ``categories``, ``policy``, ``model``, ``kept``, ``notes``,
            ``results``, ...; JSON values.

        Returns
        -------
        Path
            Where it lies.

        Raises
        ------
        OutputError
            When it cannot be written.

        Where manifests that were there when the run began are gone, it is written all the same, as the one that follows
        them, and `lost` says so: a chain that began anew would look whole.
        """
        log = log_of(self.first)
        earlier = listing_manifest([read_manifest(path) for _, path in log]) if looked else None
        private = bool(earlier.run["private"]) if earlier is not None else private
        entries = dict(grown or {}) if out is None else listing_of(self.key, out, parts)
        entries |= {} if table is None else {TABLE: digest_table(self.key, table)}
        told = {} if earlier is not None else entries
        run = {
            "command": self.command,
            "version": self.version,
            "dictionaries": _dictionaries(),
            "options": self.options,
            "key": self.fingerprint,
            "inputs": WITHHELD if withheld else self.inputs.told() if inputs is None else dict(inputs),
            "outputs": {self.name(name): _shown(name, digest, private) for name, digest in told.items()},
            "tree": tree_digest(self.key, entries.items(), private=private) if out is not None else "",
            "private": private,
            **({"grows": True} if grown is not None else {}),
            "beside": {what: self.digest(path) for what, path in sorted((beside or {}).items())},
            "failures": sorted((self._failure(f, root) for f in failures), key=lambda told: told["file"]),
            **facts,
        }
        ended = datetime.datetime.now(datetime.UTC)
        # two equal runs in one second have manifests, and chains, of their own
        made = {"began": _moment(self.began), "ended": _moment(ended), "run": secrets.token_hex(8)}
        while True:
            before, lost = _followed(self.end, log)
            unsigned = Manifest(plain(run), made, before.number + 1, before.digest, self.signing_key.public)
            signed = replace(unsigned, signature=self.signing_key.sign(unsigned.unsigned()))
            place = numbered(self.first, signed.number)
            try:
                write_bytes(place, signed.to_bytes(), private=False)
                break
            except OutputError:  # another run wrote its own meanwhile: this one follows that
                known, log = log, log_of(self.first)
                if len(log) <= len(known):
                    raise
        note_signed(Signed(before.begin, signed.number, signed.digest()))
        self.end = ChainEnd(signed.number, signed.digest(), before.begin or signed.digest())
        self.lost = _LOST if lost else ""
        return place

    def _failure(self, failure: Failure, root: Path | None) -> dict[str, str]:
        path, record = read_list_line(failure.path)
        if root is not None and Path(path).is_relative_to(root):
            path = Path(path).relative_to(root).as_posix()
        file = path_pseudonym(self.key, path) if path else failure.name
        if record:
            file = f"{file}/{path_pseudonym(self.key, record)}"
        error = failure.error
        what = error.what if isinstance(error, DeidError) else ""
        return {"file": file, "error": type(error).__name__, "what": what}


def begin_run(
    command: str,
    out: Path,
    *,
    version: str,
    key: Key | None = None,
    options: Iterable[OptionRecord] = (),
    first: Path | None = None,
) -> ManifestRun:
    """Begin a run whose manifest is to lie beside its output; a later run on the same output goes on with the chain.

    Parameters
    ----------
    command : str
        What is done, such as ``scrub``.
    out : Path
        The output.
    version : str
        Of this program (``deid.__version__``).
    key : Key, optional
        The site's key; by default the user's, which is made where there is none.
    options : iterable of OptionRecord
        What the user asked for; `told_options` chooses what can be told of it.
    first : Path, optional
        Place of the first manifest; by default beside the output.

    Returns
    -------
    ManifestRun
        The run, whose `Run.finish` writes the manifest.

    Raises
    ------
    ConfigError
        When a key cannot be used.
    OutputError
        When something lies at the place of the manifest that is none.
    """
    place = first or manifest_path(out)
    log = log_of(place)
    for _, path in log[-1:]:
        try:
            read_manifest(path)
        except DeidError as error:
            raise OutputError(
                "what lies at the place of the manifest is none of deid's, or was changed",
                "move it away, or name another OUT",
                error.where,
            ) from None
    created = []
    if key is None:
        key, said = load_key()
        created += [said] if said else []
    signing_key, said = load_signing_key()
    created += [said] if said else []
    own = manifest_key(key)
    return ManifestRun(
        command,
        version,
        place,
        own,
        key.fingerprint(),
        signing_key,
        told_options(options, own),
        created,
        datetime.datetime.now(datetime.UTC),
        _end_of(log),
    )


def listing_of(key: Key | None, out: Path, parts: Iterable[str] = ()) -> dict[str, Digest]:
    """Return the files of an output with their checksums, by relative path.

    Parameters
    ----------
    key : Key or None
        Key of manifests; without it there is no keyed checksum.
    out : Path
        File or folder.
    parts : iterable of str
        Endings of the files that lie beside ``out`` and belong to it; see `Run.finish`.

    Raises
    ------
    InputError
        When one cannot be read, or is no regular file.
    """
    if out.is_dir():
        return {name: digest_file(key, name, out / name) for name in files_below(out)}
    files = {f"{OUT}{part}": out.with_name(f"{out.name}{part}") for part in ("", *parts)}
    return {name: digest_file(key, name, path) for name, path in files.items() if path.exists()}


def results_of(out: Path) -> Mapping[str, Any] | None:
    """Return what the manifest of a file says was found; None without one, or where it is another file's.

    Checksums of files that hold PHI are keyed: they are compared where the user's key is there.
    """
    try:
        listing = listing_manifest([read_manifest(path) for _, path in log_of(manifest_path(out))])
        if listing is None:
            return None
        told = listing.run["outputs"].get(OUT)
        key = manifest_key(load_key(create=False)[0]) if str(told).startswith("keyed:") else None
        digest = digest_file(key, OUT, out)
        if told != (digest.sha256 if key is None else digest.keyed):
            return None
    except (DeidError, OSError, ValueError):
        return None
    results = listing.run.get("results")
    return results if isinstance(results, Mapping) else None


def persons_linked(place: str, person: str | None) -> bool:
    """Tell whether a column of a table's file is that of the persons that ``deid link`` found by a model.

    Names, dates and numbers of these were compared: who still looks like another one was kept apart for a reason.
    """
    found = results_of(Path(place)) if person == "person" else None
    return found is not None and found.get("linked") is True and bool(found.get("model"))


def _end_of(log: Log) -> ChainEnd:
    if not log:
        return ChainEnd()
    with told_as(OutputError("the manifest before cannot be read", "check the rights"), OSError):
        first, last = (hashlib.sha256(path.read_bytes()).hexdigest() for _, path in (log[0], log[-1]))
    return ChainEnd(log[-1][0], last, first)


def _followed(known: ChainEnd, log: Log) -> tuple[ChainEnd, bool]:
    """Return what the next manifest follows, and whether manifests are gone.

    That is the last that is there, for others may have come behind the one that was known; where that one is gone, it
    is that one nevertheless.
    """
    there = _end_of(log)
    if not known.number:
        return there, False
    if any(_end_of([one]).digest == known.digest for one in log if one[0] == known.number):
        return replace(there, begin=known.begin), False
    return replace(known, number=max(known.number, there.number)), True


def _shown(name: str, digest: Digest, private: bool) -> str:
    if private:
        return digest.keyed
    return digest.sha256 if public_name(name) else digest.named


def _moment(when: datetime.datetime) -> str:
    return when.isoformat(timespec="seconds")


@cache
def _dictionaries() -> str:
    """Return one checksum of all dictionaries that ship with the program."""
    root = resource_folder("dictionaries")
    entries = [(name, digest_file(None, name, root / name)) for name in files_below(root)]
    return tree_digest(None, entries, private=False)
