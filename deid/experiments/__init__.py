"""Whatever trains in order to score: cross-validation, subsets of the features, sampling curves."""
