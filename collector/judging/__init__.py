"""Judges at work: detectors, LLM judges, models and prices."""
