"""Redaction of decoded spans and log records: rules, ready-made sets, marks. Pure but for a clock that is given."""
