"""The HTTP API: lists and traces as JSON, health, metrics. Reads go through the one `Reader` that it is given."""

from __future__ import annotations

from .app import create_app

__all__ = ["create_app"]
