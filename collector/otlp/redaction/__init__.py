"""Redaction in the collector: its section of the configuration, and what applies it to requests."""
