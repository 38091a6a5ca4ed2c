"""Prometheus metrics of error rates, findings, spend and disk."""
