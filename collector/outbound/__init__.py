"""Data that leaves the collector: forwarded traces and webhooks."""
