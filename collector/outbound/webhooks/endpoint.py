"""An endpoint's URL and certificates, as configuration and environment name them."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.schemas.config_base import VARIABLE
from tracejury.schemas.errors import ConfigError

from .config import EndpointConfig
from .urls import checked_url


def is_https(url: str) -> bool:
    """Whether a checked URL is reached over TLS."""
    return urlsplit(url).scheme == "https"


def url_of(what: str, config: EndpointConfig, environ: Mapping[str, str]) -> str:
    """The URL of a configuration; `what` it is of stands in errors.

    Raises:
        ConfigError: a variable is missing or holds no URL; the text does not repeat it.
    """
    if not VARIABLE.fullmatch(config.url):
        return config.url
    try:
        return checked_url(value_of(config.url, environ))
    except (ValueError, ConfigError) as error:
        raise ConfigError(f"{what} {config.name}: {config.url}: {error}") from None


def tls_for(what: str, endpoints: Iterable[tuple[EndpointConfig, bool]]) -> dict[str, ssl.SSLContext]:
    """The certificates of endpoints, by name: of its own files, else those that are usually trusted.

    `what` they are of stands in errors; each comes with whether it is reached over TLS.

    Raises:
        ConfigError: a file cannot be used.
    """
    found: dict[str, ssl.SSLContext] = {}
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without TLS: reading certificates takes a tenth of a second
    usual: ssl.SSLContext | None = None
    for config, is_secure in endpoints:
        place = f"{what} {config.name}"
        paths = config.ca_file, config.cert_file, config.key_file
        if any(paths):
            tls = ClientTls.named(paths, (f"{place}: ca_file", f"{place}: cert_file", f"{place}: key_file"))
            found[config.name] = tls.context()
        elif is_secure:
            found[config.name] = usual = usual or _usual(what)
        else:
            found[config.name] = unused
    return found


def value_of(variable: str, environ: Mapping[str, str]) -> str:
    """The value of the variable `${NAME}`. Raises ConfigError: it is not set."""
    found = VARIABLE.fullmatch(variable)
    value = environ.get(found[1], "").strip() if found else ""
    if not value:
        raise ConfigError("this variable of the environment is not set")
    return value


def _usual(what: str) -> ssl.SSLContext:
    """With the certificates of SSL_CERT_FILE or SSL_CERT_DIR, else certifi's."""
    import httpx  # takes as long as reading them

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise ConfigError(f"{what}s: no certificates in SSL_CERT_FILE: {error.strerror or error}") from None
