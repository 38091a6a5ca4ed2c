"""The Python client of the HTTP API."""
