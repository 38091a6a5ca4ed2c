"""Webhooks, built from the configuration, and the listener that notes changed traces for them."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import urlsplit

from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import JudgedByOthers
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.config_base import VARIABLE
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

from .config import WebhookConfig
from .metrics import WebhookMetrics
from .posting import Poster
from .rules import WebhookRules
from .signing import key_of
from .urls import checked_url
from .webhook import Webhook
from .webhook_spec import WebhookSpec

NANOS = 1e9


class Webhooks:
    """All webhooks: a listener to judging; started once the API's address is known.

    `store_of`: the deliveries of a project; each webhook belongs to one.
    """

    def __init__(
        self,
        configs: Sequence[WebhookConfig],
        store_of: Callable[[str], StoredDeliveries],
        metrics: WebhookMetrics,
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._wanted = [(config, spec_of(config, environ), url_of(config, environ)) for config in configs]
        self._tls = tls_for((config, url) for config, _spec, url in self._wanted)
        self._store_of, self._metrics, self._clock = store_of, metrics, clock
        self._webhooks: dict[str, Webhook] = {}
        self._projects = {config.name: config.project for config in configs}
        self._posters = AsyncExitStack()
        for config in configs:
            metrics.declare(config.name)
        if configs:
            metrics.watch(
                lambda: {name: webhook.waiting for name, webhook in self._webhooks.items()},
                lambda: {name: webhook.is_disabled for name, webhook in self._webhooks.items()},
            )

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        self._hint([(t.trace.tenant, t.trace.trace_id) for t in traces if t.changed or t.retracted])

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        self._hint([(f.tenant, f.trace_id) for s in subjects for f in (*s.changed, *s.retracted)])

    def judged_by_others(self, traces: Sequence[JudgedByOthers]) -> None:
        """Take up, later, what whoever judged these traces left untold."""
        for name, webhook in self._webhooks.items():
            of_project = (one for one in traces if one.key[0] == self._projects[name])
            webhook.take_up([one.key[1] for one in of_project if one.has_findings])

    def drop(self, keys: Collection[TraceKey]) -> None:
        """These traces are being deleted; from any thread, returns at once."""
        for name, webhook in self._webhooks.items():
            webhook.drop(frozenset(trace_id for tenant, trace_id in keys if tenant == self._projects[name]))

    async def start(self, base: str) -> None:
        """Begin to send; `base`: the address of API and pages, for links. First what an earlier process left."""
        made: dict[str, Webhook] = {}
        for config, spec, url in self._wanted:
            poster = Poster(
                url,
                timeout=config.timeout_seconds,
                connections=config.concurrency,
                any_address=config.allow_link_local,
                tls=self._tls[config.name],
            )
            await self._posters.enter_async_context(poster)
            made[config.name] = Webhook(
                spec(base), self._store_of(config.project), poster, self._metrics, clock=self._clock
            )
        self._webhooks = made
        for webhook in made.values():
            webhook.start()

    async def stop(self, deadline: float) -> None:
        """Give up what is being sent: the next process finds it unmarked. Idempotent."""
        webhooks, self._webhooks = self._webhooks, {}
        await asyncio.gather(*(webhook.stop(deadline) for webhook in webhooks.values()))
        await self._posters.aclose()

    def _hint(self, keys: Sequence[TraceKey]) -> None:
        for name, webhook in self._webhooks.items():
            if trace_ids := [trace_id for tenant, trace_id in keys if tenant == self._projects[name]]:
                webhook.hint(trace_ids)


def build_webhooks(
    store: SharedStore,
    configs: Sequence[WebhookConfig],
    telemetry: Telemetry,
    clock: Callable[[], int] = time.time_ns,
) -> Webhooks:
    """All webhooks of the configuration over an open store.

    Raises:
        ConfigError: a variable is missing, or holds no secret, URL or certificates.
    """
    deliveries = partial(StoredDeliveries, store, clock=clock)
    projects = {config.name: config.project for config in configs}
    return Webhooks(configs, deliveries, WebhookMetrics(telemetry, projects), clock=clock)


def check_webhooks(configs: Sequence[WebhookConfig], environ: Mapping[str, str] = os.environ) -> None:
    """Check all that `build_webhooks` would refuse, without a store.

    Raises:
        ConfigError: a variable is missing, or holds no secret, URL or certificates.
    """
    for config in configs:
        spec_of(config, environ)
    tls_for((config, url_of(config, environ)) for config in configs)


def spec_of(config: WebhookConfig, environ: Mapping[str, str]) -> Callable[[str], WebhookSpec]:
    """A webhook's spec, but for the address of the pages.

    Raises:
        ConfigError: a variable of a secret is missing or holds none.
    """
    rules = WebhookRules.of(config)
    keys = []
    for variable in filter(None, (config.secret, config.old_secret)):
        try:
            keys.append(key_of(_value(variable, environ)))
        except ConfigError as error:
            raise ConfigError(f"webhook {config.name}: {variable}: {error}") from None
    max_age = round(config.max_age_seconds * NANOS)
    return lambda base: WebhookSpec(config.name, rules, tuple(keys), base, max_age, config.concurrency)


def url_of(config: WebhookConfig, environ: Mapping[str, str]) -> str:
    """The URL of a webhook. Raises ConfigError: a variable is missing or holds no URL."""
    if not VARIABLE.fullmatch(config.url):
        return config.url
    try:
        return checked_url(_value(config.url, environ))
    except (ValueError, ConfigError) as error:
        raise ConfigError(f"webhook {config.name}: {config.url}: {error}") from None


def tls_for(webhooks: Iterable[tuple[WebhookConfig, str]]) -> dict[str, ssl.SSLContext]:
    """The certificates of each webhook with its URL, by its name: its own files, else those that are usually trusted.

    Raises:
        ConfigError: a file cannot be used.
    """
    found: dict[str, ssl.SSLContext] = {}
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # of http://: reading certificates takes a tenth of a second
    usual: ssl.SSLContext | None = None
    for config, url in webhooks:
        place = f"webhook {config.name}"
        paths = config.ca_file, config.cert_file, config.key_file
        if any(paths):
            tls = ClientTls.named(paths, (f"{place}: ca_file", f"{place}: cert_file", f"{place}: key_file"))
            found[config.name] = tls.context()
        elif urlsplit(url).scheme == "https":
            found[config.name] = usual = usual or _usual()
        else:
            found[config.name] = unused
    return found


def _usual() -> ssl.SSLContext:
    """With the certificates of SSL_CERT_FILE or SSL_CERT_DIR, else certifi's."""
    import httpx  # takes as long as reading them

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise ConfigError(f"webhooks: no certificates in SSL_CERT_FILE: {error.strerror or error}") from None


def _value(variable: str, environ: Mapping[str, str]) -> str:
    found = VARIABLE.fullmatch(variable)
    value = environ.get(found[1], "").strip() if found else ""
    if not value:
        raise ConfigError("this variable of the environment is not set")
    return value
