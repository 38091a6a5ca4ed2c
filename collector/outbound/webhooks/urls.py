"""URLs that a webhook may have: http(s), and never an address where a cloud keeps its credentials."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        ("169.254.169.254", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "100.100.100.200",
         "168.63.129.16", "192.0.0.192"),
    )
)  # fmt: skip
"""Instance metadata of AWS (both families), its pods' identities, GCP, Scaleway, Alibaba; Azure's host; Oracle.

What else clouds have of the kind is link-local, as 169.254.170.2 is, and names lead to one of these.
"""

_IPV4_LAST: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96")))
"""Networks whose addresses end in an IPv4 address: NAT64 (RFC 6052, 8215), SIIT (RFC 2765), IPv4-compatible."""

_ISATAP: Final = 0x5EFE
"""The bits before the IPv4 address, bit 57 aside (RFC 5214)."""


def checked_url(value: str) -> str:
    """An http(s) URL with a host and without credentials.

    Raises:
        ValueError: anything else; the text does not repeat the value, which may hold a token.
    """
    try:
        parts = urlsplit(value)
        host, _port, user = parts.hostname, parts.port, parts.username or parts.password
    except ValueError:
        raise ValueError("this is no URL") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("an http:// or https:// URL is expected")
    if user:
        raise ValueError("a URL here must hold no user or password: requests are signed")
    if not value.isascii() or any(c <= " " or c == "\x7f" for c in value):
        raise ValueError("a URL is plain ASCII: write other characters as %XX")
    return value


def is_refused(address: str) -> bool:
    """Whether nothing is sent to an IP address: link-local, cloud metadata, unspecified, multicast or reserved.

    Loopback and private networks are where receivers usually stand, and the operator names them.
    """
    bare = ipaddress.ip_address(address.partition("%")[0])
    return any(
        one in METADATA or one.is_link_local or one.is_unspecified or one.is_multicast or _reserved(one)
        for one in _meant(bare)
    )


def _reserved(address: _Address) -> bool:
    return isinstance(address, ipaddress.IPv4Address) and address.is_reserved


def _meant(address: _Address) -> Iterator[_Address]:
    """The address, and the IPv4 address inside it that it leads to."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from _embedded(address)


def _embedded(address: ipaddress.IPv6Address) -> Iterator[_Address]:
    yield from filter(None, (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())))
    is_isatap = int(address) >> 32 & 0xFDFFFFFF == _ISATAP
    if is_isatap or any(address in network for network in _IPV4_LAST):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
