"""Judges: deterministic detectors, the evidence gate, and agreement with human labels. No I/O."""
