"""Certificates of a test's own authority, as files."""

from __future__ import annotations

import datetime as dt
import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme

PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Pair:
    """Files of a certificate and its key."""

    cert: Path
    key: Path

    @property
    def paths(self) -> dict[str, str]:
        """As the section `tls` takes them."""
        return {"cert": str(self.cert), "key": str(self.key)}


class Papers:
    """An authority, and what it issues; everything is in `folder`."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.ca = folder / f"{name}.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))

    def issue(self, name: str = "server", *, expired: bool = False) -> Pair:
        """A pair for this machine; of the same name again it replaces the one before, as a renewal does."""
        until = PAST if expired else None
        leaf = self._authority.issue_cert("localhost", "127.0.0.1", common_name=name, not_after=until)
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}-key.pem")
        replace(pair.key, leaf.private_key_pem.bytes())
        replace(pair.cert, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        return pair

    def server(self, pair: Pair, *, asks: bool = False) -> ssl.SSLContext:
        """A server with this certificate, which asks clients for one of the authority's where `asks`."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        context.load_cert_chain(pair.cert, pair.key)
        context.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE
        return context

    def client(self, pair: Pair | None = None) -> ssl.SSLContext:
        """A client that trusts the authority and shows `pair`."""
        context = ssl.create_default_context(cafile=self.ca)
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context


def replace(path: Path, data: bytes) -> None:
    """Put a file in the place of another at once."""
    new = path.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_bytes(data)
    new.replace(path)
