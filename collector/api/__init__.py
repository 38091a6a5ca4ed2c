"""The HTTP API: lists and traces as JSON, health, metrics; and its client."""
