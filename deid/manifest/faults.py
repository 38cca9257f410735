"""What can be wrong with an output, or with the manifests that speak of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an output or of its manifests."""

    what: str
    """``changed``, ``missing``, ``added``, ``chain``, ``gap``, ``signature``, ``unchecked``."""
    where: str
    """Safe name of the file, or number of the manifest."""
    told: str
    """A sentence."""
