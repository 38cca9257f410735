"""Replace spans: policies, operators, surrogates, dates."""
