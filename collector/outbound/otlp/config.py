"""The configuration section `export`: backends, their annotations, and sampling."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from tracejury.collector.auth.key_file import Project
from tracejury.schemas.config_base import MIB, FilePath, Profile, Seconds, Section

Rate = Annotated[float, Field(ge=0, le=1)]
Annotations = Literal["attributes", "events", "carriers", "phoenix"]


def backend_url(value: str) -> str:
    """An http(s) URL with a host, and without credentials.

    Raises:
        ValueError: it is none; the text does not repeat the value, which may hold a password.
    """
    try:
        parts = urlsplit(value)
        secret, host, port = parts.username or parts.password, parts.hostname, parts.port
    except ValueError:
        raise ValueError("this is no URL") from None
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise ValueError("http://HOST:PORT or https://HOST:PORT is expected")
    if secret or parts.query or parts.fragment:
        raise ValueError("a URL here must hold no user, password, query or fragment: use headers")
    return value.rstrip("/")


class SamplingConfig(Section):
    """Which traces go out. Failing ones always do; what stays of the healthy says so in its tracestate (`ot=th:…`)."""

    healthy: Rate = 1.0
    """Share of the healthy traces that goes out; 0 sends none, and then no rate can be estimated downstream."""
    severity: Literal["LOW", "MEDIUM", "HIGH"] = "LOW"
    """Least severity of a finding that makes a trace a failing one."""
    profile: Profile = ""
    """Profile in which such a finding must show; "" is the default of each trace, as everywhere."""
    errors: bool = False
    """Count a trace with a span of error status as failing, too."""


class BackendConfig(Section):
    """A backend that traces are passed on to over OTLP."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    """A name of your own, in metrics and log lines; another name is another backend, which starts anew."""
    endpoint: Annotated[str, AfterValidator(backend_url)]
    """http://HOST:PORT or, with TLS, https://HOST:PORT; for `http` perhaps a path, below which `/v1/traces` stands."""
    protocol: Literal["grpc", "http"] = "http"
    """OTLP over gRPC, or as protobuf over HTTP."""
    headers: dict[str, SecretStr] = Field(default={})
    """Headers (metadata of gRPC) of every request; `${NAME}` in a value is the environment variable NAME."""
    compression: Literal["gzip", "none"] = "gzip"
    """How requests are compressed."""
    timeout_seconds: Seconds = 10.0
    """How long one request may take."""
    ca_file: Annotated[str, FilePath()] = ""
    """PEM file with the authorities that the backend's certificate is checked against; "" is the system's."""
    cert_file: Annotated[str, FilePath()] = ""
    """PEM file with a certificate of our own, for backends that ask for one."""
    key_file: Annotated[str, FilePath()] = ""
    """PEM file with its key."""
    annotations: tuple[Annotations, ...] = ("attributes", "events", "carriers")
    """The form of annotations: `attributes` on spans with findings, `events` (`gen_ai.evaluation.result` log
    records), `carriers` (OpenInference EVALUATOR spans with a link), `phoenix` (annotations over Phoenix's own API)."""
    project: Project = ""
    """The project whose traces it gets; "" is the default one."""
    logs: bool = True
    """Pass on the log records of a trace, too: GenAI content may stand in them."""
    own_judges: bool = False
    """Pass on spans of our own judges' calls, too, where they come in here."""
    sampling: SamplingConfig | None = None
    """Sampling for this backend; null is that of the section."""
    max_request_bytes: Annotated[int, Field(ge=1024)] = 4 * MIB
    """Bytes of one request, before compression; a span that is larger goes alone."""

    @property
    def is_local(self) -> bool:
        """Whether its endpoint is this machine's own loopback."""
        host = urlsplit(self.endpoint).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def port(self) -> int:
        """The endpoint's port: of gRPC 4317 where none is named, else that of the scheme."""
        parts = urlsplit(self.endpoint)
        usual = 4317 if self.protocol == "grpc" else 443 if parts.scheme == "https" else 80
        return parts.port or usual

    @model_validator(mode="after")
    def _fits(self) -> BackendConfig:
        if "phoenix" in self.annotations and self.protocol != "http":
            raise ValueError("annotations: phoenix needs protocol: http")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        return self


class ExportConfig(Section):
    """Passing traces on, annotated, once they are settled and judged. Without backends nothing is."""

    otlp: tuple[BackendConfig, ...] = ()
    """The backends."""
    sampling: SamplingConfig = SamplingConfig()
    """Which traces go out."""
    profile: Profile = ""
    """Profile of the findings that are told; "" is the default of each trace, as everywhere."""
    judges_wait_seconds: Annotated[float, Field(ge=0)] = 600.0
    """How long a settled trace waits for LLM judges; what they say later is sent after it."""
    max_age_seconds: Seconds = 24 * 3600.0
    """How long a judged trace waits for a backend that is away; then it is given up, and counted."""
    queue_traces: Annotated[int, Field(ge=1)] = 10_000
    """Traces whose ids wait in memory for one backend; the others wait in the store alone."""
    retry_first_seconds: Seconds = 1.0
    """The first pause after a failure; it doubles each time."""
    retry_longest_seconds: Seconds = 60.0
    """The longest pause; also of those that a backend asks for (five times as much at most)."""

    @model_validator(mode="after")
    def _distinct(self) -> ExportConfig:
        names = [backend.name for backend in self.otlp]
        if len(set(names)) != len(names):
            raise ValueError("two backends have the same name")
        return self
