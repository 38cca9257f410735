"""The tests of the vault run on a PostgreSQL server, too."""

from __future__ import annotations

from postgresql_server import postgresql

__all__ = ["postgresql"]
