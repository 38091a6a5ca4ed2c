"""PEM files of certificates and keys, with errors that name the file and the setting that names it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracejury.schemas.errors import ConfigError

_OF_ANOTHER: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})
"""OpenSSL's reasons for a key that is not the certificate's; the last where one is RSA and the other is not."""


@dataclass(frozen=True, slots=True)
class PemFile:
    """A file, and the setting that names it, such as `grpc.tls.cert`."""

    path: str
    setting: str

    def read(self) -> bytes:
        """Its bytes. Raises ConfigError: it cannot be read."""
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise self.problem(f"cannot be read: {error.strerror or error}") from None

    def problem(self, why: str) -> ConfigError:
        """The error to raise, in one line."""
        return ConfigError(f"{self.setting}: {self.path} {why}")


def trust(context: ssl.SSLContext, authorities: PemFile) -> None:
    """Trust the certificates of a file.

    Raises:
        ConfigError: it cannot be read, or holds none.
    """
    authorities.read()  # OpenSSL's error has no name of a file
    try:
        context.load_verify_locations(authorities.path)
    except ssl.SSLError:
        raise authorities.problem("holds no certificate (BEGIN CERTIFICATE is expected)") from None


def show(context: ssl.SSLContext, cert: PemFile, key: PemFile) -> None:
    """Use a certificate, with those between it and its authority, as our own.

    Raises:
        ConfigError: a file cannot be read, the key is encrypted, or it belongs to another certificate.
    """
    trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), cert)  # tells a bad certificate from a bad key
    key.read()
    try:
        context.load_cert_chain(cert.path, key.path, password=_refuse_password)
    except _EncryptedKeyError:
        raise key.problem(
            f"is encrypted, and nobody can type its password: decrypt it with `openssl pkey -in {key.path}`"
        ) from None
    except ssl.SSLError as error:
        if error.reason in _OF_ANOTHER:
            raise key.problem(f"is not the key of the certificate in {cert.path}") from None
        if error.reason is None:
            raise key.problem("holds no private key (BEGIN PRIVATE KEY is expected)") from None
        raise cert.problem(f"cannot be used: {error.reason.replace('_', ' ').lower()}") from None


def expiry_or_complaint(context: ssl.SSLContext, cert: PemFile) -> tuple[str, str]:
    """When the certificate of a server's context expires, else why clients refuse it; one of the two is "".

    A client that trusts this very certificate connects to the context in memory: the standard library has no other
    public way to the dates of a certificate.
    """
    checking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    checking.check_hostname = False
    checking.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    checking.load_verify_locations(cert.path)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = checking.wrap_bio(to_client, to_server)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return "", error.verify_message
        except ssl.SSLError as error:
            return "", str(error.reason or error).replace("_", " ").lower()
    return str((client.getpeercert() or {}).get("notAfter", "")), ""


class _EncryptedKeyError(Exception):
    """OpenSSL asks for the password of a key."""


def _refuse_password() -> str:
    raise _EncryptedKeyError  # without it OpenSSL would ask on the terminal, and wait
