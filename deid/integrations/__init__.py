"""Doors to other libraries: a scikit-learn estimator and a spaCy component."""
