"""Risks of sharing records of patients with one disease: as they are, by Safe Harbor, by generalization.

The experiment of Liu et al. 2015, tables 3 and 4. A population says who could be meant; q = 1/N is the chance to tell
which of its N members a record is, r = n/N that a member is among the n records. Safe Harbor leaves of dates the year
and of ZIP codes the first three digits. Generalization cuts until it has as many classes as Safe Harbor, so that it
loses no more detail by that count. The paper looks at the cells of its cuts (``R_cut``); readers see what the cells
publish, which is narrower: a cell of one record publishes this record's own values (``R``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.options import column_names
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_section
from deid.disclosure.risk import PopulationRisk, population_risk
from deid.disclosure.same_disease import recode_same_disease
from deid.experiments.asking import SafeHarborCuts
from deid.experiments.outcome import Form, Outcome
from deid.table.microdata import Microdata, check_columns


def _row(release: str, risk: PopulationRisk, cut: float | None = None) -> dict[str, object]:
    return {
        "release": release,
        "classes": len(risk.q),
        "max_q": risk.journalist.highest,
        "max_r": risk.instance.highest,
        "Q": risk.journalist.average,
        "R": risk.instance.average,
        "R_cut": risk.instance.average if cut is None else cut,
    }


def safe_harbor(table: Microdata, dates: Sequence[str], zips: Sequence[str]) -> Microdata:
    """Return a table with the years of its dates and the first three digits of its ZIP codes."""
    frame = table.frame
    years = {name: [f"[{text[:4]}-01-01/{text[:4]}-12-31]" for text in frame[name].astype(str)] for name in dates}
    areas = {name: [text[:3] + "*" * (len(text) - 3) for text in frame[name].astype(str)] for name in zips}
    kinds = dict.fromkeys(table.quasi_identifiers, "nominal")
    return replace(table, frame=frame.assign(**years, **areas), kinds={**table.kinds, **kinds})


def plot_same_disease(frame: pd.DataFrame) -> Figure:
    """Return the plot of `same_disease_outcome`: average risks, a group a release."""
    figure, axes = new_figure(7, 3.8)
    places = range(len(frame))
    for shift, name, colour in ((-0.2, "Q", COLOURS[6]), (0.2, "R", COLOURS[2])):
        axes.bar([place + shift for place in places], frame[name].to_numpy(), 0.38, color=colour, label=name)
    axes.set_xticks(list(places), [f"{row.release}\n{row.classes} classes" for row in frame.itertuples()])
    axes.set(yscale="log", ylabel="average risk")
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    return figure


def same_disease_section(frame: pd.DataFrame) -> Section:
    """Return the table of `same_disease_outcome`."""
    note = (
        "q: chance to tell who a record is; r: chance that a member of the population is in the table; R cut: R of the "
        "algorithm's cells, not of what they publish."
    )
    return frame_section("Risks by release", frame, note)


def same_disease_outcome(patients: Microdata, population: Microdata, cuts: SafeHarborCuts) -> Outcome:
    """Measure the risks of three releases of the same patients.

    Parameters
    ----------
    patients, population : Microdata
        With the same quasi-identifiers; the patients are members of the population.
    cuts : SafeHarborCuts
        Quasi-identifiers.

    Returns
    -------
    Outcome
        Rows with ``release`` (limited data set, Safe Harbor, generalized), ``classes``, ``max_q``, ``max_r``, ``Q``,
        ``R``, ``R_cut``.

    Raises
    ------
    ConfigError
        When a column is missing, or none is a date or ZIP code.
    InputError
        When patients are no members of the population.
    """
    dates, zips = column_names(cuts.dates), column_names(cuts.zips)
    nominal = dict.fromkeys(zips, "nominal")
    patients, population = (replace(t, kinds={**t.kinds, **nominal}) for t in (patients, population))
    check_columns(patients.frame, [*dates, *zips])
    if not {*dates, *zips} <= set(patients.quasi_identifiers) or not (dates or zips):
        raise ConfigError("Safe Harbor has nothing to cut", "name quasi-identifiers: --dates birth --zips zip")
    coarse = population_risk(safe_harbor(patients, dates, zips), population)
    fine = recode_same_disease(patients, population, 1, prefixes=zips, classes=len(coarse.q))
    rows = [
        _row("limited data set", population_risk(patients, population)),
        _row("Safe Harbor", coarse),
        _row("generalized", fine.risk, fine.cut_risk),
    ]
    return ONE_DISEASE.outcome(pd.DataFrame(rows))


ONE_DISEASE = Form(
    "One disease",
    lambda frame, _: [same_disease_section(frame)],
    lambda frame, _: plot_same_disease(frame),
    "Average risks Q and R by release",
)
