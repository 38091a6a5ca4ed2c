"""Receivers with TLS: who gets in, what a stray is told, and that nobody waits in a handshake for ever."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from otlp_clients import MEDIA, METHODS
from otlp_parts import RecordingSink, spans, traces
from papers import Pair, Papers, replace

from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.tls_config import TlsConfig
from tracejury.schemas.errors import ConfigError

BODY = traces(*spans(1)).SerializeToString()
PATIENCE = 60.0
Send = Callable[..., Awaitable[None]]


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path)


class Served:
    """A receiver with TLS, and requests to it."""

    def __init__(self, protocol: str, port: int, papers: Papers) -> None:
        self.protocol, self.port, self._papers = protocol, port, papers

    async def send(self, pair: Pair | None = None, papers: Papers | None = None) -> None:
        """One request over a connection of its own; raises SSLError, ConnectError or AioRpcError."""
        trusted = papers or self._papers
        if self.protocol == "http":
            async with httpx.AsyncClient(verify=trusted.client(pair), timeout=PATIENCE, trust_env=False) as client:
                url = f"https://localhost:{self.port}/v1/traces"
                (await client.post(url, content=BODY, headers={"content-type": MEDIA["http"]})).raise_for_status()
            return
        files = (pair.key.read_bytes(), pair.cert.read_bytes()) if pair else (None, None)
        credentials = grpc.ssl_channel_credentials(trusted.ca.read_bytes(), *files)
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.secure_channel(f"localhost:{self.port}", credentials, options) as channel:
            await channel.unary_unary(METHODS["traces"], None, None)(BODY, timeout=PATIENCE)


@asynccontextmanager
async def served(
    protocol: str, intake: Intake, papers: Papers, tls: TlsConfig, **limits: float
) -> AsyncIterator[Served]:
    """A receiver with these limits."""
    receiver: GrpcReceiver | HttpReceiver
    if protocol == "http":
        settings = HttpConfig(endpoint="127.0.0.1:0", tls=tls)
        receiver = HttpReceiver(settings.model_copy(update=limits), intake)
    else:
        receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0", tls=tls).model_copy(update=limits), intake)
    port = await receiver.start()
    try:
        yield Served(protocol, port, papers)
    finally:
        await receiver.stop(5)


def mutual(papers: Papers) -> TlsConfig:
    """Clients need a certificate of the same authority."""
    return TlsConfig(**papers.issue().paths, client_ca=str(papers.ca))


REFUSED = (httpx.TransportError, grpc.aio.AioRpcError)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_spans_come_in_over_tls(protocol: str, intake: Intake, sink: RecordingSink, papers: Papers) -> None:
    """From a client that trusts the authority; one that does not sends nothing."""
    async with served(protocol, intake, papers, TlsConfig(**papers.issue().paths)) as receiver:
        await receiver.send()
        with pytest.raises(REFUSED):
            await receiver.send(papers=Papers(papers.ca.parent, "other"))
    assert len(sink.spans) == 1


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("shown", ["none", "of another authority", "expired"])
async def test_only_clients_with_a_good_certificate_get_in(
    protocol: str, shown: str, intake: Intake, sink: RecordingSink, papers: Papers
) -> None:
    """With `client_ca` every other one is refused before a request is read."""
    pairs = {
        "none": None,
        "of another authority": Papers(papers.ca.parent, "other").issue("stranger"),
        "expired": papers.issue("expired", expired=True),
    }
    async with served(protocol, intake, papers, mutual(papers)) as receiver:
        with pytest.raises(REFUSED):
            await receiver.send(pairs[shown])
        assert not sink.spans
        await receiver.send(papers.issue("client"))
    assert len(sink.spans) == 1


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_renewing_under_load_fails_no_request(
    protocol: str, intake: Intake, sink: RecordingSink, papers: Papers
) -> None:
    """Requests over new connections all the while; after each renewal the new certificate is shown."""
    pair = papers.issue()
    async with served(protocol, intake, papers, TlsConfig(**pair.paths)) as receiver:
        sent = 0

        async def load() -> None:
            nonlocal sent
            while sent < 30:
                await receiver.send()
                sent += 1

        senders = asyncio.gather(*(load() for _ in range(3)))
        while not senders.done():
            papers.issue()
            await receiver.send()
            shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", receiver.port))
            assert ssl.PEM_cert_to_DER_cert(shown) == ssl.PEM_cert_to_DER_cert(first_of(pair.cert))
        await senders
    assert len(sink.spans) > sent >= 30


def first_of(cert: Path) -> str:
    """The certificate itself, without those between it and its authority."""
    end = "-----END CERTIFICATE-----\n"
    return cert.read_text().partition(end)[0] + end


async def test_an_open_connection_outlives_its_certificate(intake: Intake, sink: RecordingSink, papers: Papers) -> None:
    """What was agreed holds for as long as the connection does."""
    async with served("http", intake, papers, TlsConfig(**papers.issue().paths)) as receiver:
        reader, writer = await asyncio.open_connection("localhost", receiver.port, ssl=papers.client())
        papers.issue()
        for _ in range(2):
            head = f"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: {MEDIA['http']}\r\n"
            writer.write(f"{head}content-length: {len(BODY)}\r\n\r\n".encode() + BODY)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert len(sink.spans) == 2


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_a_handshake_that_never_comes_is_closed(protocol: str, intake: Intake, papers: Papers) -> None:
    """After the time that a connection has; a first byte of TLS does not change that."""
    limit = {"head_seconds": 0.2} if protocol == "http" else {"handshake_seconds": 0.2}
    async with served(protocol, intake, papers, TlsConfig(**papers.issue().paths), **limit) as receiver:
        for opening in (b"", b"\x16\x03\x01\x02\x00\x01"):
            reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
            writer.write(opening)
            async with asyncio.timeout(PATIENCE):
                await reader.read()
            writer.close()


async def test_unfinished_handshakes_keep_no_one_else_out(intake: Intake, sink: RecordingSink, papers: Papers) -> None:
    """They count as open connections: where there is no room, the one that waits longest gives way."""
    tls = TlsConfig(**papers.issue().paths)
    async with served("http", intake, papers, tls, connections=3, head_seconds=PATIENCE) as receiver:
        silent = [await asyncio.open_connection("127.0.0.1", receiver.port) for _ in range(8)]
        await receiver.send()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await silent[0][0].readexactly(1)
        for _reader, writer in silent:
            writer.close()
    assert len(sink.spans) == 1


@pytest.mark.parametrize("opening", [b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00" * 64])
async def test_a_client_without_tls_is_closed_with_a_line(
    intake: Intake, papers: Papers, caplog: pytest.LogCaptureFixture, opening: bytes
) -> None:
    """One line, however many come."""
    async with served("http", intake, papers, TlsConfig(**papers.issue().paths)) as receiver:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
            writer.write(opening)
            await closed(reader)
            writer.close()
    assert [record.getMessage() for record in caplog.records] == [
        "otlp-http: a client at 127.0.0.1 came without TLS: this port takes https:// only; it is closed"
    ]


async def test_a_client_with_tls_at_a_plain_port_is_closed_with_a_line(
    http_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """One line, however many come."""
    for _ in range(3):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", http_port, ssl=ssl.create_default_context())
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("otlp-http: a client at 127.0.0.1 came with TLS: this port takes http:// only")


@pytest.mark.parametrize("secure", [False, True])
async def test_a_body_may_begin_as_a_handshake_does(intake: Intake, papers: Papers, *, secure: bool) -> None:
    """It is a body: a bad one is answered."""
    tls = TlsConfig(**papers.issue().paths) if secure else None
    receiver = HttpReceiver(HttpConfig(endpoint="127.0.0.1:0", tls=tls), intake)
    port = await receiver.start()
    reader, writer = await asyncio.open_connection("localhost", port, ssl=papers.client() if secure else None)
    head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n"
    writer.write(f"{head}content-length: 4\r\n\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")  # so the body comes by itself
    writer.write(b"\x16\x03\x01\x02")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 400")
    writer.close()
    await receiver.stop(5)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_clients_of_a_removed_authority_do_not_get_in(
    protocol: str, intake: Intake, sink: RecordingSink, papers: Papers, tmp_path: Path
) -> None:
    """From the next connection on."""
    other = Papers(tmp_path, "other")
    trusted = tmp_path / "clients.pem"
    replace(trusted, papers.ca.read_bytes() + other.ca.read_bytes())
    client = other.issue("client")
    tls = TlsConfig(**papers.issue().paths, client_ca=str(trusted))
    async with served(protocol, intake, papers, tls) as receiver:
        await receiver.send(client)
        replace(trusted, papers.ca.read_bytes())
        with pytest.raises(REFUSED):
            await receiver.send(client)
    assert len(sink.spans) == 1


@pytest.mark.parametrize(
    ("protocol", "version"),
    [("grpc", ssl.TLSVersion.TLSv1_2), ("grpc", ssl.TLSVersion.TLSv1_3), ("http", ssl.TLSVersion.TLSv1_3)],
)
async def test_a_session_is_not_resumed_without_a_certificate(
    protocol: str, version: ssl.TLSVersion, intake: Intake, papers: Papers
) -> None:
    """Who resumes one shows no certificate, so an expired one would get in; docs/tls.md has the exception."""
    context = papers.client(papers.issue("client"))
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2" if protocol == "grpc" else "http/1.1"])
    http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # with empty SETTINGS
    opening = http2 if protocol == "grpc" else b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"

    def reused(port: int, session: ssl.SSLSession | None) -> tuple[bool | None, ssl.SSLSession | None]:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost", session=session) as secured,
        ):
            secured.sendall(opening)
            assert secured.recv(1)  # by now a ticket would have come
            return secured.session_reused, secured.session

    async with served(protocol, intake, papers, mutual(papers)) as receiver:
        _, session = await asyncio.to_thread(reused, receiver.port, None)
        again, _ = await asyncio.to_thread(reused, receiver.port, session)
    assert again is False


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (None, "came without a certificate of its own, which `client_ca` asks for"),
        ("expired", "came with a certificate that is refused: certificate has expired"),
    ],
)
async def test_a_refused_certificate_is_told(
    intake: Intake, papers: Papers, caplog: pytest.LogCaptureFixture, shown: str | None, line: str
) -> None:
    """The log says why, since the client often does not."""
    async with served("http", intake, papers, mutual(papers)) as receiver:
        with pytest.raises(REFUSED):
            await receiver.send(papers.issue(shown, expired=True) if shown else None)
    assert line in caplog.text


async def test_old_versions_of_tls_are_refused(intake: Intake, papers: Papers) -> None:
    """TLS 1.2 is the least, whatever the client can do."""
    old = papers.client()
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    for protocol in ("http", "grpc"):
        async with served(protocol, intake, papers, TlsConfig(**papers.issue().paths)) as receiver:
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.open_connection("localhost", receiver.port, ssl=old)


async def test_stopping_does_not_wait_for_idle_connections(intake: Intake, papers: Papers) -> None:
    """A client that keeps its connection does not answer the goodbye of TLS, and is not waited for."""
    config = HttpConfig(endpoint="127.0.0.1:0", tls=TlsConfig(**papers.issue().paths), head_seconds=PATIENCE)
    receiver = HttpReceiver(config, intake)
    port = await receiver.start()
    _, writer = await asyncio.open_connection("localhost", port, ssl=papers.client())
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with asyncio.timeout(PATIENCE / 2):
        await receiver.stop(PATIENCE)
    writer.transport.abort()


async def closed(reader: asyncio.StreamReader) -> None:
    """Until the other side closes."""
    async with asyncio.timeout(PATIENCE):
        try:
            await reader.read()
        except ConnectionError:
            return


async def test_a_key_that_grpc_does_not_know_is_told(intake: Intake, tmp_path: Path) -> None:
    """OpenSSL takes it, BoringSSL does not: the line says which kinds both take."""
    key, name = Ed448PrivateKey.generate(), x509.Name([])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(days=1))
    (tmp_path / "cert.pem").write_bytes(builder.sign(key, None).public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    replace(tmp_path / "key.pem", private)
    tls = TlsConfig(cert=str(tmp_path / "cert.pem"), key=str(tmp_path / "key.pem"))
    receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0", tls=tls), intake)
    with pytest.raises(ConfigError, match="key that gRPC does not know: use RSA, or ECDSA on P-256 or P-384"):
        await receiver.start()
