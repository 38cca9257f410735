"""Differentially private releases and answers: noise, budgets, data cubes, sequences, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deid.dp.session import Session

__all__ = ["Session"]


def __getattr__(name: str) -> object:
    # late, so that a part of this package can be imported without the database that a session needs
    if name == "Session":
        from deid.dp.session import Session

        return Session
    raise AttributeError(name)
