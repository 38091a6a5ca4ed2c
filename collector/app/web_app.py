"""API, pages and MCP as one application."""

from __future__ import annotations

from fastapi import FastAPI

from tracejury.collector.api.app import create_app
from tracejury.collector.api.services import Services
from tracejury.collector.mcp.route import add_mcp
from tracejury.collector.web.build import add_pages


def create_web_app(services: Services) -> FastAPI:
    """The API with the pages and MCP."""
    app = create_app(services)
    add_pages(app, services)
    add_mcp(app)
    return app
