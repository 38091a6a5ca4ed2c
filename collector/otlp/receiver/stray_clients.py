"""Log lines about clients that speak TLS where a listener does not, or not as it asks; one of a kind a minute."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Mapping
from typing import Any, Final

from tracejury.collector.worker.log_throttle import LogThrottle

log = logging.getLogger(__name__)

TLS_OPENING: Final = b"\x16\x03"
"""The first bytes of every TLS connection: a handshake record of version 3.x (RFC 8446, section 5.1)."""

_PLAIN: Final = "without TLS: this port takes https:// only"
_DISTRUSTS: Final = "and refused our certificate: it trusts another authority, or the certificate names another host"
_OLD: Final = "without TLS 1.2, and without anything newer"
_REASONS: Final[Mapping[str, str]] = {
    "HTTP_REQUEST": _PLAIN,
    "HTTPS_PROXY_REQUEST": _PLAIN,
    "WRONG_VERSION_NUMBER": _PLAIN,
    "UNKNOWN_PROTOCOL": _PLAIN,
    "RECORD_LAYER_FAILURE": _PLAIN,  # OpenSSL 3.2 and later, on top of WRONG_VERSION_NUMBER
    "PACKET_LENGTH_TOO_LONG": _PLAIN,
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "without a certificate of its own, which `client_ca` asks for",
    "TLSV1_ALERT_UNKNOWN_CA": _DISTRUSTS,
    "SSLV3_ALERT_BAD_CERTIFICATE": _DISTRUSTS,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _DISTRUSTS,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "and refused our certificate: it has expired",
    "UNSUPPORTED_PROTOCOL": _OLD,
    "VERSION_TOO_LOW": _OLD,
    "NO_SHARED_CIPHER": "with no cipher that is safe enough",
}


class StrayClients:
    """Tells of the strays of one listener."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._throttle = LogThrottle(time.monotonic_ns)

    @staticmethod
    def is_plain(error: BaseException | None) -> bool:
        """Whether the handshake failed because the client does not speak TLS."""
        return isinstance(error, ssl.SSLError) and _REASONS.get(error.reason or "") is _PLAIN

    def with_tls(self, peer: Any) -> None:
        """One came with TLS to a plain port."""
        self._tell(peer, "with TLS: this port takes http:// only, unless its section `tls` names a certificate")

    def with_error(self, peer: Any, error: BaseException | None) -> None:
        """The handshake of one failed; one that took too long or hung up is not worth a line."""
        if isinstance(error, ssl.SSLCertVerificationError):
            self._tell(peer, f"with a certificate that is refused: {error.verify_message}")
        elif isinstance(error, ssl.SSLError) and not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
            self._tell(peer, _REASONS.get(error.reason or "", "and its TLS handshake failed"))

    def _tell(self, peer: Any, how: str) -> None:
        if self._throttle.due(how):
            host = peer[0] if isinstance(peer, tuple) else "an unknown address"
            log.warning("%s: a client at %s came %s; it is closed", self._name, host, how)
