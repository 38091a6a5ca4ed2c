"""Who sends a request, by its headers: a program, or a page of another site in the user's browser.

A page reaches a server of this machine under its own origin, which the browser states, or under a name of its own
that it points to 127.0.0.1 (DNS rebinding). Programs that are no browsers send neither header of an origin.
Source: https://www.w3.org/TR/fetch-metadata/ (Sec-Fetch-Site).
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers


def is_local(host: str) -> bool:
    """Whether a Host header names this machine's loopback: localhost, 127.0.0.0/8 or [::1], with any port."""
    name = _name(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def is_public_name(host: str) -> bool:
    """Whether a Host header has a name that a stranger can have: no address, and in the public DNS.

    Names of one label and those below `localhost` and `internal` (host.docker.internal) are not.
    """
    name = _name(host).rstrip(".")
    return _address(name) is None and "." in name and not name.endswith((".localhost", ".internal"))


def is_foreign(headers: Headers) -> bool:
    """Whether a browser says that another origin makes it send this request."""
    if headers.get("sec-fetch-site", "same-origin").lower() not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return "not.a.name"


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
