"""The MCP SDK, which is optional and heavy: `server.py` imports it, and is loaded here alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from tracejury.schemas.errors import ConfigError

ABSENT: Final = "MCP needs its SDK: pip install 'tracejury[mcp]'"


def loaded() -> Any:
    """The module `server`. Raises ConfigError where the SDK is not installed."""
    try:
        return import_module(".server", __package__)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise ConfigError(ABSENT) from None
