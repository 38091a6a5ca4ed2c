"""The settings of TLS on a listener."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tracejury.schemas.config_base import FilePath, Section


class TlsConfig(Section):
    """A listener's certificate. TLS 1.2 is the least; ciphers are the library's defaults (docs/tls.md).

    Files are PEM. New connections use what stands in them at that moment: renewing a certificate needs no restart.
    """

    cert: Annotated[str, Field(min_length=1), FilePath()]
    """File with the certificate, followed by those between it and its authority."""
    key: Annotated[str, Field(min_length=1), FilePath()]
    """File with its key, not encrypted; only the collector's user should be able to read it."""
    client_ca: Annotated[str, FilePath()] = ""
    """File with the authorities of clients: each client must then show a certificate of theirs (mTLS)."""
