"""Training of a linear-chain CRF with CRFsuite's L-BFGS, through sklearn-crfsuite: the reference trainer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from deid.base.private_folder import PrivateFolder
from deid.labeling.training import TrainingData


def train_crf(data: TrainingData, report: Callable[[int, float], None] | None = None) -> bytes:
    """Return CRFsuite's model file, trained on ``data``.

    Parameters
    ----------
    data : TrainingData
    report : callable, optional
        Gets the iteration's number and the loss after each iteration.
    """
    import pycrfsuite
    import sklearn_crfsuite

    class Trainer(pycrfsuite.BaseTrainer):
        """Follows the iterations in CRFsuite's log; the ready-made trainers do so only while they print."""

        iteration = 0
        logparser = None  # fit() keeps it as the training log

        def message(self, message: str) -> None:
            if found := re.search(r"Iteration #(\d+)", message):
                self.iteration = int(found[1])
            elif report is not None and (found := re.match(r"Loss: ([\d.]+)", message)):
                report(self.iteration, float(found[1]))

    options = data.options
    # sequences are made one by one, CRFsuite keeps its own compact copy; fit() reads both columns in step
    first, second = itertools.tee(data.sequences())
    with PrivateFolder() as folder:
        path = Path(folder) / "weights"
        crf = sklearn_crfsuite.CRF(
            algorithm="lbfgs",
            c1=options.c1,
            c2=options.c2,
            max_iterations=options.rounds,
            all_possible_states=options.all_pairs,
            all_possible_transitions=options.all_pairs,
            model_filename=str(path),
            trainer_cls=Trainer,
        )
        crf.fit((x for x, _ in first), (y for _, y in second))
        return path.read_bytes()
