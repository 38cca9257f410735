"""Scores of a system against gold annotations, official measures, leaks, and the comparison of two systems."""

from deid.evaluation.comparison import subset_ttest
from deid.evaluation.evaluation import Evaluation, ScoringSettings, evaluate
from deid.evaluation.systems import METRICS, Comparison, compare
