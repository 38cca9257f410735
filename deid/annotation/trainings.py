"""What trainings gave: figures of each, and the last model of a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sql

from deid.annotation.tables import MODELS, ROUNDS
from deid.base.store import Store


class Trainings:
    """The trainings of a project (`deid.annotation.project.Project.trainings`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(self, layer: str, figures: Mapping[str, Any], model: bytes) -> None:
        """Write down what a training gave (`figures`), and the layer's model in the place of the one before."""
        with self._store.writing() as connection:
            connection.execute(ROUNDS.insert(), {"layer": layer, "figures": dict(figures)})
            connection.execute(MODELS.delete().where(MODELS.c.layer == layer))
            connection.execute(MODELS.insert(), {"layer": layer, "folder": model})

    def figures(self, layer: str) -> tuple[Mapping[str, Any], ...]:
        """Return the figures of a layer's trainings, in order."""
        query = sql.select(ROUNDS.c.figures).where(ROUNDS.c.layer == layer).order_by(ROUNDS.c.id)
        with self._store.reading() as connection:
            return tuple(connection.execute(query).scalars())

    def model(self, layer: str) -> bytes | None:
        """Return the model of a layer's last training, None where there was none."""
        with self._store.reading() as connection:
            held = connection.execute(sql.select(MODELS.c.folder).where(MODELS.c.layer == layer)).scalar()
            return None if held is None else bytes(held)
