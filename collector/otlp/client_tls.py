"""Certificates of a client: the authorities that it trusts, and its own for servers that ask for one (mTLS)."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.collector.otlp.pem import PemFile, show, trust
from tracejury.schemas.errors import ConfigError

VARIABLES: Final = ("TRACEJURY_TLS_CA", "TRACEJURY_TLS_CERT", "TRACEJURY_TLS_KEY")
"""Environment variables of the paths that the command line uses: authorities, certificate, key."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """PEM files; None: the system's authorities, and no certificate of our own. Errors name the settings."""

    ca: PemFile | None = None
    cert: PemFile | None = None
    key: PemFile | None = None

    @classmethod
    def named(cls, paths: tuple[str, str, str], settings: tuple[str, str, str]) -> ClientTls:
        """Of the paths of authorities, certificate and key, "" where there is none, and the settings that name them.

        Raises:
            ConfigError: there is a certificate without a key, or a key without a certificate.
        """
        ca, cert, key = (
            PemFile(path, setting) if path else None for path, setting in zip(paths, settings, strict=True)
        )
        if (cert is None) is not (key is None):
            raise ConfigError(f"{settings[1]} and {settings[2]} belong together: set both, or none")
        return cls(ca, cert, key)

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> ClientTls:
        """Of the files that `VARIABLES` name.

        Raises:
            ConfigError: there is a certificate without a key, or a key without a certificate.
        """
        ca, cert, key = (environ.get(name, "") for name in VARIABLES)
        return cls.named((ca, cert, key), VARIABLES)

    def context(self) -> ssl.SSLContext:
        """A context that trusts the authorities and shows the certificate.

        Raises:
            ConfigError: a file cannot be used.
        """
        if self.ca is None:
            context = ssl.create_default_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            trust(context, self.ca)
        if self.cert is not None and self.key is not None:
            show(context, self.cert, self.key)
        return context
