"""OTLP requests to stored spans and log records."""
