"""The certificate of a listener, read again when its files change."""

from __future__ import annotations

import logging
import os
import ssl
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracejury.collector.otlp.pem import PemFile, expiry_or_complaint, show, trust
from tracejury.schemas.errors import ConfigError

from .tls_config import TlsConfig

if TYPE_CHECKING:
    import grpc

log = logging.getLogger(__name__)

_Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class LoadedCertificate:
    """What stood in the files. `complaint`: why clients refuse it, else ""; `expires`: when they will."""

    context: ssl.SSLContext
    cert: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None
    expires: str
    complaint: str


class ListenerTls:
    """TLS of one listener. `setting`: its section, such as `grpc.tls`. Safe to use from several threads.

    A certificate that is renewed in the files is used from the next connection on; where the new one cannot be used,
    the one before it stays, and one line is logged.
    """

    def __init__(self, config: TlsConfig, setting: str) -> None:
        """Read the files.

        Raises:
            ConfigError: one of them cannot be used; the line names the file and the setting.
        """
        self._setting = setting
        self._cert = PemFile(config.cert, f"{setting}.cert")
        self._key = PemFile(config.key, f"{setting}.key")
        self._client_ca = PemFile(config.client_ca, f"{setting}.client_ca") if config.client_ca else None
        self._lock = threading.Lock()
        self._stamp = self._stamp_now()
        self._loaded = loaded = self._load()
        if loaded.complaint:
            log.warning("%s: %s: clients will refuse it: %s", self._cert.setting, config.cert, loaded.complaint)
        if os.stat(config.key).st_mode & stat.S_IROTH:  # noqa: PTH116
            log.warning("%s: %s can be read by every user: chmod 600 it", self._key.setting, config.key)

    def current(self) -> LoadedCertificate:
        """What stands in the files now, or did when they could last be used."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._renew(stamp)
            return self._loaded

    def context(self) -> ssl.SSLContext:
        """A context for HTTP/1.1 servers; each connection gets the certificate of that moment."""
        return _RenewedContext.of(self.current)

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Credentials for gRPC servers; each connection gets the certificate of that moment."""
        import grpc

        given = self.current()

        def configuration(loaded: LoadedCertificate) -> Any:
            return grpc.ssl_server_certificate_configuration([(loaded.key, loaded.cert)], loaded.client_ca)

        def renewed() -> Any:
            nonlocal given
            loaded = self.current()
            if loaded is given and self._client_ca is None:
                return None  # with client certificates each is given anew: else sessions could be resumed, as above
            given = loaded
            return configuration(loaded)

        return grpc.dynamic_ssl_server_credentials(configuration(given), renewed, self._client_ca is not None)

    def unusable_for_grpc(self) -> ConfigError:
        """The error of a certificate that OpenSSL knows, and gRPC's own library (BoringSSL) does not."""
        return self._cert.problem("has a key that gRPC does not know: use RSA, or ECDSA on P-256 or P-384")

    def _renew(self, stamp: _Stamp) -> None:
        try:
            loaded = self._load()
            if loaded.complaint:
                raise self._cert.problem(f"is one that clients refuse: {loaded.complaint}")
        except ConfigError as error:
            self._stamp = stamp
            log.error("%s; the certificate before it stays in use", error)  # noqa: TRY400  the line says it all
            return
        if self._stamp_now() != stamp:
            return  # the files are being replaced: the next connection finds all of them new
        self._stamp, self._loaded = stamp, loaded
        log.info("%s: a new certificate is in use, valid until %s", self._setting, loaded.expires)

    def _load(self) -> LoadedCertificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        show(context, self._cert, self._key)
        expires, complaint = expiry_or_complaint(context, self._cert)
        if self._client_ca is not None:
            trust(context, self._client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
            # Who resumes a session shows no certificate: one that has expired since would still get in. The cache of
            # TLS 1.2 has no switch in the standard library.
            context.options |= ssl.OP_NO_TICKET
            context.num_tickets = 0
        authorities = self._client_ca.read() if self._client_ca else None
        return LoadedCertificate(context, self._cert.read(), self._key.read(), authorities, expires, complaint)

    def _stamp_now(self) -> _Stamp:
        return tuple(_stamp_of(pem.path) for pem in (self._cert, self._key, self._client_ca) if pem)


class _RenewedContext(ssl.SSLContext):
    """Hands each connection to the context that is current: one that is in use cannot forget what it trusts."""

    _current: Callable[[], LoadedCertificate]

    @classmethod
    def of(cls, current: Callable[[], LoadedCertificate]) -> _RenewedContext:
        made = cls(ssl.PROTOCOL_TLS_SERVER)
        made._current = current
        return made

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        return self._current().context.wrap_bio(*args, **options)


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  a link is followed: Kubernetes renews secrets by pointing it elsewhere
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
