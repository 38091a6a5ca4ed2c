"""The end of an address as one text, whatever it holds: ids of sessions and names of services are the clients' own."""

from __future__ import annotations

from typing import Final

from starlette.convertors import PathConvertor, register_url_convertor

REST: Final = "rest"
"""`{name:rest}`: as starlette's `path`, which ends at a line feed; may be empty, as a service's name may."""
SOME: Final = "some"
"""The same, never empty."""


class _Rest(PathConvertor):
    regex = r"[\s\S]*"


class _Some(PathConvertor):
    regex = r"[\s\S]+"


SCORES: Final = frozenset(
    {
        "/api/scores",
        "/api/public/scores",
        "/api/public/ingestion",
        *(f"/v1/{kind}_annotations" for kind in ("span", "trace", "session")),
    }
)
"""Addresses that take scores of others, ours and those of other backends: JSON, with a key that may send spans."""

register_url_convertor(REST, _Rest())
register_url_convertor(SOME, _Some())
