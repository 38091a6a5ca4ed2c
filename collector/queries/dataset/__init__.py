"""Findings and agent runs with all that was around them, as rows of a data set."""
