"""Differentially private releases and answers: noise, budgets, data cubes, sequences, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.dp.session import QuerySession

__getattr__ = lazily(__name__)  # a part can be imported without the database that a session needs
