"""The options that are the same as keys of the configuration file, and win over it."""

from __future__ import annotations

from typing import Any


def overrides(
    *, store: str | None, grpc: str, http: str, api: str, insecure: bool, model: str = "", api_base: str = ""
) -> dict[str, Any]:
    """The given options as a configuration file would have them."""
    found: dict[str, Any] = {}
    if store is not None:
        found["store"] = {"dsn": store}
    for name, endpoint in (("grpc", grpc), ("http", http), ("api", api)):
        if endpoint:
            found[name] = {"endpoint": endpoint}
    if model or api_base:
        found["judges"] = {key: value for key, value in (("model", model), ("api_base", api_base)) if value}
    if insecure:
        found["insecure"] = True
    return found
