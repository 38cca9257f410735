"""Longitudinal records: sequences of (diagnosis code, age) pairs released so that each occurs at least k times."""

from deid.trajectories.clustering import TrajectoryRelease, anonymize_trajectories
from deid.trajectories.measures import check_trajectories
from deid.trajectories.records import Trajectories, make_trajectories
