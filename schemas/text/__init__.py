"""Texts for people: counts, times, names, terminals."""
