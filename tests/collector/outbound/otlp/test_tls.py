"""Backends over TLS: their certificate is checked, and ours is shown where they ask for one."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from otlp_backend import Backend, grpc_backend, http_backend
from otlp_parts import spans, traces

from tracejury.collector.otlp.client.backend_connection import BackendConnection
from tracejury.collector.otlp.client.connect import client_of
from tracejury.collector.otlp.client.export_request import ExportRequest, ExportSignal
from tracejury.schemas.errors import RetryableError

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificates, and is not here")

REQUEST = ExportRequest(ExportSignal.TRACES, traces(*spans(1)).SerializeToString(), 1)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key and a certificate of 127.0.0.1 that vouches for itself."""
    folder = tmp_path_factory.mktemp("papers")
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *options, *files, *names], check=True, capture_output=True)  # noqa: S603, S607  a tool
    return folder


@asynccontextmanager
async def serving(protocol: str, papers: Path) -> AsyncIterator[Backend]:
    """A backend that asks for a certificate and takes the one of the folder."""
    cert, key = papers / "cert.pem", papers / "key.pem"
    if protocol == "http":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=cert)
        context.load_cert_chain(cert, key)
        context.verify_mode = ssl.CERT_REQUIRED
        async with http_backend(context) as backend:
            yield backend
        return
    pair = (key.read_bytes(), cert.read_bytes())
    credentials = grpc.ssl_server_credentials([pair], pair[1], require_client_auth=True)
    async with grpc_backend(credentials) as backend:
        yield backend


async def send(protocol: str, connection: BackendConnection) -> None:
    """One request."""
    client = client_of(connection, grpc=protocol == "grpc")
    try:
        await client.send(REQUEST)
    finally:
        await client.close()


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_both_sides_show_their_papers(protocol: str, papers: Path) -> None:
    """With the right authority and a certificate of our own the request arrives."""
    cert, key = papers / "cert.pem", papers / "key.pem"
    async with serving(protocol, papers) as backend:
        await send(protocol, BackendConnection(backend.url, ca=cert.read_bytes(), certificate=(str(cert), str(key))))
        assert len(backend.spans) == 1


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_backend_that_nobody_vouches_for_gets_nothing(protocol: str, papers: Path) -> None:
    """The system's authorities do not know it: the spans wait until somebody mends that."""
    async with serving(protocol, papers) as backend:
        with pytest.raises(RetryableError):
            await send(protocol, BackendConnection(backend.url, timeout=5.0))
        assert not backend.asked
