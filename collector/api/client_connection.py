"""The connection of the API client to a collector."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from typing import Any, Final

import httpx

from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.schemas.errors import ConfigError, NotFoundError, PermanentError, RetryableError
from tracejury.schemas.text.terminal import one_line

DEFAULT_URL: Final = "http://127.0.0.1:8321"
_MAX_PORT: Final = 65_535
_NOT_FOUND: Final = 404
_BUSY, _BAD, _REFUSED = frozenset({429, 503}), frozenset({400, 422}), frozenset({401, 403})
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"})


KEY_VARIABLE: Final = "TRACEJURY_KEY"
"""The environment variable with the key for a collector that asks for one; `_` and a project behind it: its key."""
PROJECT_VARIABLE: Final = "TRACEJURY_PROJECT"


class UnreachableError(RetryableError):
    """No collector answers at the address."""


def opened(url: str, timeout: float, transport: httpx.BaseTransport | None) -> httpx.Client:
    """A client for the API at `url`, with the key of the environment; `timeout` in seconds, for each read.

    For https:// the environment may name certificates, too (see `ClientTls`).

    Raises:
        ConfigError: it is no address of a collector, or a certificate cannot be used.
    """
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigError(f"{url!r} is no address: {error}") from error
    if base.scheme not in {"http", "https"} or not base.host or (base.port or 0) > _MAX_PORT:
        raise ConfigError(f"{url!r} is no address of a collector: write it as {DEFAULT_URL}")
    # A proxy that the environment names is for the outside world, not for a collector on this machine.
    local = _is_loopback(base.host)
    # Reading the certificates that are trusted takes longer than most answers.
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local and base.scheme == "http" else _verified()
    key = environment_key()
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(
        base_url=base, timeout=timeout, transport=transport, trust_env=not local, verify=verify, headers=headers
    )


def content_of(answer: httpx.Response, url: str) -> Any:
    """The JSON object of an answer of the API at `url`. Raises what its status stands for, with the line it tells."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    if answer.is_success and isinstance(body, dict):
        return body
    detail = body.get("detail") if isinstance(body, dict) else None
    if not isinstance(detail, str):
        raise PermanentError(no_api(url, f" (HTTP {answer.status_code})", "HTTP"))
    if answer.status_code == _NOT_FOUND:
        raise NotFoundError(detail)
    if answer.status_code in _REFUSED:
        raise ConfigError(f"{detail} (the command line takes its key from {KEY_VARIABLE})")
    if answer.status_code in _BAD:
        raise ConfigError(detail)
    if answer.status_code in _BUSY:
        raise RetryableError(detail)
    raise PermanentError(detail)


def no_api(url: str, said: str, protocol: str) -> str:
    """That something else answers at `url`; `said` and `protocol` tell what."""
    other = f"the port of OTLP/{protocol} (by default the API is at {DEFAULT_URL})"
    return f"what answers at {url} is not tracejury's API{said}: it may be {other}"


def tls_problem(error: BaseException, url: str) -> str:
    """The failure of a TLS handshake at `url` in one line, with what to do; "" where it is another error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of the collector at {url} is not trusted ({cause.verify_message}): "
            "name the file of its authority with --tls-ca, and a host that stands in the certificate with --url"
        )
    if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
        return f"what answers at {url} does not speak TLS: use http://"
    if isinstance(cause, ssl.SSLError) and "CERTIFICATE" in (cause.reason or ""):
        return f"the collector at {url} refuses us without a certificate that it knows: use --tls-cert and --tls-key"
    return f"TLS with the collector at {url} failed: {one_line(str(cause))}" if cause is not None else ""


def _verified() -> ssl.SSLContext | bool:
    tls = ClientTls.of_environment()
    return tls.context() if tls.ca or tls.cert else True


def environment_key() -> str:
    """The key of the environment, "" for none. Raises ConfigError: none for the project asked for, or it is no key."""
    project = os.environ.get(PROJECT_VARIABLE, "").strip()
    variable = f"{KEY_VARIABLE}_{re.sub(r'[^A-Z0-9]', '_', project.upper())}" if project else KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if project and not key:
        raise ConfigError(f"there is no key for the project {project[:64]!r}: set {variable}")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"what {variable} holds is no key: keys are printable ASCII")
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
