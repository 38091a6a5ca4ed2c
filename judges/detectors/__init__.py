"""Deterministic detectors, one rule family a file."""
