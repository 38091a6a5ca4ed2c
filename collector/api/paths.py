"""The end of an address as one text, whatever it holds: ids of sessions and names of services are the clients' own."""

from __future__ import annotations

from typing import Final

from starlette.convertors import PathConvertor, register_url_convertor

REST: Final = "rest"
"""`{name:rest}`: as starlette's `path`, which ends at a line feed and may be empty."""


class _Rest(PathConvertor):
    regex = r"[\s\S]+"


register_url_convertor(REST, _Rest())
