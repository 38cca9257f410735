"""Differentially private releases: noise, budgets, data cubes."""
