"""Anonymization in the manner of scikit-learn: parameters at construction, `fit`, `transform`, `fit_transform`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from deid.base.errors import ConfigError, require
from deid.base.nearest import nearest
from deid.disclosure.assessment import Requirements
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import Release, anonymize
from deid.disclosure.scheme import Scheme, apply_scheme, scheme_of
from deid.table.microdata import Microdata


@dataclass(kw_only=True, eq=False, repr=False)
class Anonymizer:
    """Make tables publishable, and recode new rows as the table that was fitted.

    Parameters
    ----------
    k, l, entropy_l, c, alpha, t, distance, beta
        Levels that every release must reach; see `deid.disclosure.assessment.Requirements`.
    method : str
        One of `deid.disclosure.methods.METHODS`, or ``auto``.
    suppression : float
        Share of rows that full-domain methods, and `transform`, may suppress.
    rounds, seed : int
        Effort and seed of local recoding.
    target : str, optional
        Column of class labels for Mondrian's cuts.

    Attributes
    ----------
    release_ : Release
        What `fit` made of its table.
    scheme_ : Scheme
        How it was recoded.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 23, 25, 27, 28, 29], "sex": list("MFMFFF")})
    >>> data = Microdata(frame, {"age": "quasi-identifier", "sex": "quasi-identifier"})
    >>> Anonymizer(k=2, method="bottom-up").fit_transform(data).aligned()["age"].tolist()
    ['[20-25]', '[23-27]', '[20-25]', '[23-27]', '[28-29]', '[28-29]']
    """

    k: int | None = None
    l: int | None = None  # noqa: E741
    entropy_l: float | None = None
    c: float | None = None
    alpha: float | None = None
    t: float | None = None
    distance: str = "equal"
    beta: float | None = None
    method: str = "auto"
    suppression: float = 0.0
    rounds: int | None = None
    seed: int = 0
    target: str | None = None
    release_: Release = field(init=False)
    scheme_: Scheme = field(init=False)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Anonymizer:
        """Set parameters by name.

        Returns
        -------
        Anonymizer
            This object.

        Raises
        ------
        ConfigError
            When there is no such parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ConfigError(f"there is no parameter {name!r}", nearest(name, known))
            setattr(self, name, value)
        return self

    def _asked(self) -> Requirements:
        return Requirements(self.k, self.l, self.entropy_l, self.c, self.alpha, self.t, self.distance, self.beta)

    def fit(self, data: Microdata, y: object = None) -> Anonymizer:
        """Find a release of a table, and keep it and its scheme.

        Parameters
        ----------
        data : Microdata
            The original table.
        y : object
            Ignored; scikit-learn passes it.

        Returns
        -------
        Anonymizer
            This object, with ``release_`` and ``scheme_``.

        Raises
        ------
        ConfigError
            When the levels cannot be reached, or the table cannot be released as described; see `anonymize`.
        """
        options = MethodOptions(self.suppression, self.rounds, self.seed)
        self.release_ = anonymize(data, self._asked(), self.method, options, target=self.target)
        self.scheme_ = scheme_of(self.release_)
        return self

    def transform(self, data: Microdata) -> Release:
        """Recode new rows by the scheme that was fitted; classes that are too small are suppressed.

        Returns
        -------
        Release
            The release of the new rows, verified like any other.

        Raises
        ------
        ConfigError
            When nothing was fitted yet, or too many rows would be suppressed.
        """
        require(hasattr(self, "scheme_"), "nothing was fitted yet", "call fit first")
        return apply_scheme(self.scheme_, data, self._asked(), MethodOptions(self.suppression or 1.0))

    def fit_transform(self, data: Microdata, y: object = None) -> Release:
        """Return the release of the table that is fitted; arguments and errors as those of `fit`."""
        return self.fit(data, y).release_
