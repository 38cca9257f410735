"""Manifests: what a run did, in a file that can be shown to others, signed, each naming the one before.

`begin_run` and `Run.finish` write one, `check_manifests` checks all that lie beside an output, `deid.manifest.page`
joins them on one page. A manifest holds counts, checksums, names of columns and words that the program itself says;
names of files and texts that a user wrote stand in it as keyed pseudonyms.
"""

from __future__ import annotations

from deid.manifest.checking import Check, Fault, check_manifests
from deid.manifest.content import Manifest, log_of, manifest_path
from deid.manifest.digests import public_name
from deid.manifest.run import ManifestRun, begin_run, persons_linked, results_of
from deid.manifest.signing import SigningKey, load_signing_key, read_public_key
