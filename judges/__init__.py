"""Judges of traces: deterministic detectors, and the metrics that compare judges with people."""
