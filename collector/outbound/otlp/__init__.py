"""Passing traces on over OTLP, annotated: which, what of them, and how it arrives."""
