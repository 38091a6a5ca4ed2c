"""Patterns: errors that keep happening, how often, since when, and whether they are gone."""
