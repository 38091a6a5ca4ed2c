"""The configuration section `keys`."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field

from tracejury.schemas.config_base import Section

from .key import KeyScope
from .key_file import Project


def a_network(value: str) -> str:
    """An IP address or network.

    Raises:
        ValueError: it is none.
    """
    try:
        return str(ipaddress.ip_network(value, strict=False))
    except ValueError:
        raise ValueError("is no IP address or network such as 10.0.0.0/8") from None


class ProxyConfig(Section):
    """A reverse proxy in front of the pages that signs people in (OIDC, SAML) and names them in a header."""

    header: Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9-]{0,63})?$")] = ""
    """The header with the person's name, such as X-Forwarded-User; "" trusts no proxy."""
    addresses: tuple[Annotated[str, AfterValidator(a_network)], ...] = ("127.0.0.1/32", "::1/128")
    """Where the proxy's requests come from; the header of anybody else is ignored."""
    project: Project = ""
    """The project that its people see."""
    scopes: tuple[KeyScope, ...] = (KeyScope.READ, KeyScope.LABEL)
    """Their permissions: read, label, admin."""


class KeysConfig(Section):
    """Who may send, read, label and administer (docs/keys.md)."""

    file: str = ""
    """The file of hashed keys; by default `tracejury-keys.json` beside this file, else in the working directory."""
    proxy: ProxyConfig = ProxyConfig()
    """People whom a proxy has signed in."""
