"""The configuration section `webhooks`: who is told of which findings."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field

from tracejury.collector.auth.key_file import Project
from tracejury.schemas.config_base import VARIABLE, FilePath, Profile, Seconds, Section

from .urls import checked_url


def a_variable(value: str) -> str:
    """The form `${NAME}`, or "".

    Raises:
        ValueError: another form; the text does not repeat the value, which may be a secret.
    """
    if value and not VARIABLE.fullmatch(value):
        raise ValueError("a secret stands in the environment, not in a file: write ${NAME}")
    return value


def an_url(value: str) -> str:
    """An http(s) URL, or `${NAME}` of one.

    Raises:
        ValueError: neither; the text does not repeat the value, which may hold a token.
    """
    return value if VARIABLE.fullmatch(value) else checked_url(value)


Variable = Annotated[str, AfterValidator(a_variable)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class EndpointConfig(Section):
    """What all endpoints have that we post to."""

    name: Name
    """A name of your own."""
    url: Annotated[str, AfterValidator(an_url)]
    """Where to: an http:// or https:// URL, or `${NAME}` for one in the environment."""
    timeout_seconds: Seconds = 10.0
    """How long one attempt may take in all."""
    ca_file: Annotated[str, FilePath()] = ""
    """PEM file with the authorities that its certificate is checked against; "" is the usual ones."""
    cert_file: Annotated[str, FilePath()] = ""
    """PEM file with a certificate of our own, for receivers that ask for one."""
    key_file: Annotated[str, FilePath()] = ""
    """PEM file with its key."""
    allow_link_local: bool = False
    """Also send to link-local and other addresses at which clouds keep their credentials."""


class WebhookConfig(EndpointConfig):
    """An endpoint that is told of findings, each once, by a signed POST (docs/webhooks.md)."""

    name: Name
    """Its name in metrics, logs and the store; a new name is a new webhook, to which nothing was sent yet."""
    secret: Annotated[str, Field(min_length=1), AfterValidator(a_variable)]
    """`${NAME}`: the variable with the signing secret, `whsec_` and base64 of 24 to 64 bytes."""
    old_secret: Variable = ""
    """The variable with the secret before, while receivers change over: both sign."""
    project: Project = ""
    """The project that it is told of; "" is the default one."""
    severity: Literal["LOW", "MEDIUM", "HIGH"] = "LOW"
    """The least severity."""
    profile: Profile = ""
    """strict, balanced, recall or the least confidence; "" is that of each trace, as in `tracejury errors`."""
    categories: tuple[str, ...] = ()
    """Only these; none named: all."""
    judges: tuple[str, ...] = ()
    """Only findings of these detectors and judges; none named: of all but the checks of packs."""
    services: tuple[str, ...] = ()
    """Only of these services, exactly; none named: of all."""
    agents: tuple[str, ...] = ()
    """Only in runs of these agents; none named: of all."""
    states: Annotated[tuple[Literal["provisional", "current"], ...], Field(min_length=1)] = ("provisional", "current")
    """provisional: at once, while the run goes on; only current: once its trace has settled."""
    only_verified: bool = False
    """Only verified findings, which another judge could not refute (docs/llm-judges.md), as soon as they are."""
    retractions: bool = False
    """Announce, once, that a finding which was sent no longer holds."""
    max_trace_age_seconds: Seconds | None = None
    """Only of traces that ended no longer than this before they arrived, so that backfills are silent; null: of all."""
    max_age_seconds: Seconds = 86_400.0
    """How long a finding is tried; then it is given up, and counted."""
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Requests in flight, at most."""


_Endpoint = TypeVar("_Endpoint", bound=EndpointConfig)


def distinct(endpoints: tuple[_Endpoint, ...]) -> tuple[_Endpoint, ...]:
    """Endpoints of which no two have one name: what they were told is kept by it.

    Raises:
        ValueError: two have.
    """
    names = [endpoint.name for endpoint in endpoints]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two are called {twice[0]}")
    return endpoints


WebhookConfigs = Annotated[tuple[WebhookConfig, ...], AfterValidator(distinct)]
