"""Replace spans: policies, operators, surrogates, dates."""

import deid.base.compiled  # before a compiled module could stand in for an edited source
