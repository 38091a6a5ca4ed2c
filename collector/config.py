"""The collector's configuration: one YAML file, usable defaults, unknown keys refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from tracejury.judges.llm.problems import UNKNOWN_KEY, place_of, told
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.config_base import MIB, Seconds, Section, nested, paths_beside
from tracejury.schemas.errors import ConfigError

from .alerting.config import AlertsConfig
from .auth.config import KeysConfig
from .auth.key_file import NAME
from .judging.detect.config import DetectorsConfig
from .judging.model.config import LlmConfig
from .judging.prices.config import ModelPrice
from .otlp.codec.limits import Limits
from .otlp.kafka.config import KafkaConfig
from .otlp.receiver.grpc_server import GrpcConfig
from .otlp.receiver.http_config import ConnectionLimits, HttpConfig
from .otlp.receiver.intake import IntakeConfig
from .otlp.receiver.ports import split_endpoint
from .otlp.receiver.tls_config import TlsConfig
from .otlp.redaction.config import RedactionConfig
from .outbound.channels.config import ChannelConfigs
from .outbound.otlp.config import ExportConfig
from .outbound.webhooks.config import WebhookConfigs
from .store.config import StoreConfig, WriterConfig
from .store.dsn import parse_dsn
from .worker.spill_files import MOST_BYTES


class Role(StrEnum):
    """The parts of the collector that a process runs; several processes share one ClickHouse server."""

    ALL = "all"
    RECEIVE = "receive"
    WORK = "work"
    WEB = "web"

    @property
    def receives(self) -> bool:
        """Whether it takes spans over OTLP."""
        return self in (Role.ALL, Role.RECEIVE)

    @property
    def works(self) -> bool:
        """Whether it judges, derives and sends."""
        return self in (Role.ALL, Role.WORK)

    @property
    def ignores(self) -> frozenset[str]:
        """The sections of the configuration that are of no use to it."""
        return _IGNORED.get(self, frozenset())

    @property
    def shows(self) -> bool:
        """Whether it serves pages and the whole API."""
        return self in (Role.ALL, Role.WEB)


_RECEIVERS = ("grpc", "http", "intake", "limits")
_SENDERS = ("prices", "export", "webhooks", "channels", "alerts")
_IGNORED = {
    Role.RECEIVE: frozenset({*_SENDERS, "judging", "detectors", "judges"}),
    Role.WORK: frozenset(_RECEIVERS),
    Role.WEB: frozenset({*_RECEIVERS, *_SENDERS, "kafka", "writer"}),
}


class ApiConfig(ConnectionLimits):
    """The HTTP API."""

    endpoint: str = "127.0.0.1:8321"
    """HOST:PORT; port 0 picks a free one."""
    tls: TlsConfig | None = None
    """The certificate to serve https:// with; null serves http://."""
    public_url: Annotated[str, Field(pattern=r"^(https?://[^\s?#]+)?$")] = ""
    """Where people reach pages and API, for links that leave the collector; "" is the endpoint."""


class ShareConfig(Section):
    """A part of the traces, by a hash of the trace id."""

    index: Annotated[int, Field(ge=0)] = 0
    """Which part, from 0 on; each of these processes has another one."""
    of: Annotated[int, Field(ge=1)] = 1
    """How many parts there are."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.index >= self.of:
            raise ValueError(f"the last part is index {self.of - 1}, since they are counted from 0")
        return self


class JudgingConfig(Section):
    """When traces are judged, and how much of them is held in memory."""

    quiet_seconds: Seconds = 5.0
    """A trace whose root has ended settles when nothing came for this long; sooner where memory fills."""
    rootless_seconds: Seconds = 600.0
    """A trace without a root settles, as incomplete, when nothing came for this long."""
    max_age_seconds: Seconds = 24 * 3600.0
    """A trace settles at the latest after this time; later spans re-open it."""
    debounce_seconds: Seconds = 0.1
    """The least time between two judgings of an open trace; one that costs much is judged less often."""
    max_memory_bytes: Annotated[int, Field(ge=MIB)] = 192 * MIB
    """Bytes of open traces held; beyond it the least recent wait in temporary files beside the store."""
    max_inbox_bytes: Annotated[int, Field(ge=MIB)] = 128 * MIB
    """Bytes of committed requests that wait for judging; beyond it they wait in temporary files beside the store."""
    max_file_bytes: Annotated[int, Field(ge=0)] = MOST_BYTES
    """Bytes of the temporary files of open traces, and of those of committed requests; what is beyond it is read from
    the store when it is judged."""
    max_open_traces: Annotated[int, Field(ge=1)] = 100_000
    """Open traces; beyond it the oldest is left to the next sweep of the store."""
    max_spans_per_trace: Annotated[int, Field(ge=1)] = 50_000
    """Spans of one trace that are rebuilt and judged; the rest are stored only, and counted."""

    takeover_seconds: Seconds = 60.0
    """With several processes on one ClickHouse server: how long a trace may wait for the one that received it before
    another judges it."""
    share: ShareConfig = ShareConfig()
    """With several processes that judge what others only receive: the part of the traces that this one begins with."""

    def assembler(self) -> AssemblerConfig:
        """The same as the assembler takes it."""
        return AssemblerConfig(
            quiet=round(self.quiet_seconds * SECOND),
            rootless=round(self.rootless_seconds * SECOND),
            max_age=round(self.max_age_seconds * SECOND),
            debounce=round(self.debounce_seconds * SECOND),
            max_bytes=self.max_memory_bytes,
            max_traces=self.max_open_traces,
            max_spans_per_trace=self.max_spans_per_trace,
        )


class CollectorConfig(Section):
    """Everything that `tracejury serve` can be told."""

    role: Role = Role.ALL
    """What this process does: receive (take spans), work (judge and send), web (pages and API), or all of it. Any
    other role than all needs a ClickHouse server (docs/processes.md)."""
    store: StoreConfig = StoreConfig()
    """Where spans and findings are kept."""
    writer: WriterConfig = WriterConfig()
    """The group commit in front of the store."""
    grpc: GrpcConfig = GrpcConfig()
    """The OTLP/gRPC receiver."""
    http: HttpConfig = HttpConfig()
    """The OTLP/HTTP receiver."""
    kafka: KafkaConfig | None = None
    """Kafka: receivers of role receive write to it instead of the store, workers read it (docs/kafka.md)."""
    intake: IntakeConfig = IntakeConfig()
    """Bounds on the memory of all receivers together."""
    limits: Limits = Limits()
    """Bounds on one request and one span."""
    redaction: RedactionConfig = RedactionConfig()
    """What is masked, hashed or dropped before it is stored, forwarded or judged; nothing by default."""
    judging: JudgingConfig = JudgingConfig()
    """When traces are judged."""
    detectors: DetectorsConfig = DetectorsConfig()
    """The detectors."""
    judges: LlmConfig = LlmConfig()
    """The LLM judges."""
    prices: dict[str, ModelPrice] = Field(default={})
    """Prices of the agents' models, by name; they go before the prices that litellm ships."""
    export: ExportConfig = ExportConfig()
    """Where traces are passed on to."""
    api: ApiConfig = ApiConfig()
    """The HTTP API."""
    webhooks: WebhookConfigs = ()
    """Endpoints that are told of findings, each once, by a signed POST (docs/webhooks.md)."""
    channels: ChannelConfigs = ()
    """Chat, mail and pagers that people are told of alerts through (docs/chat.md)."""
    alerts: AlertsConfig = AlertsConfig()
    """Rules on errors, rates, latency, cost and judging, and when people are told (docs/alerts.md)."""
    keys: KeysConfig = KeysConfig()
    """Who may send, read, label and administer."""
    insecure: bool = False
    """Allow endpoints beyond loopback although there are no keys."""
    shutdown_seconds: Seconds = 10.0
    """How long a shutdown may take to drain."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least level of our own log lines: DEBUG, INFO, WARNING or ERROR."""

    @property
    def relays(self) -> bool:
        """Whether what this process receives goes to Kafka: it opens no store."""
        return self.role is Role.RECEIVE and self.kafka is not None

    @property
    def ignored(self) -> Sequence[str]:
        """The sections that say something and that the role ignores."""
        fields, ignored = CollectorConfig.model_fields, self.role.ignores
        if self.relays:
            ignored |= {"store", "writer"}
        elif self.role is Role.WORK and self.kafka is not None:
            ignored -= {"intake", "limits"}
        return [
            name
            for name in sorted(ignored)
            if getattr(self, name) != fields[name].get_default(call_default_factory=True)
        ]


def load_config(path: Path | None, overrides: dict[str, Any] | None = None) -> CollectorConfig:
    """The configuration of a YAML file (None: the defaults), with `overrides` (nested, as in the file) on top.

    Paths in the file are relative to it, those of `overrides` to the working directory.

    Raises:
        ConfigError: one line a problem, each with its place in the file.
    """
    # A section whose keys are all commented out reads as null; `kafka: null` is none.
    data = {key: {} if value is None else value for key, value in read_yaml(path).items()} if path else {}
    if data.get("kafka") == {}:
        del data["kafka"]
    if path:
        data = paths_beside(data, CollectorConfig, path.parent.absolute())
    try:
        config = CollectorConfig.model_validate(merge(data, overrides or {}))
    except ValidationError as error:
        raise ConfigError("\n".join(problems(error, path))) from None
    found = [f"{path}: {problem}" if path else problem for problem in misfits(config)]
    if found:
        raise ConfigError("\n".join(found))
    beside = path.parent if path else Path()
    keys = config.keys.model_copy(update={"file": str(beside / (config.keys.file or NAME))})
    return config.model_copy(update={"keys": keys})


def misfits(config: CollectorConfig) -> Iterator[str]:
    """Malformed addresses, unknown rules, and backends that are this collector itself; a line each."""
    for place, value, read in (
        ("store.dsn", config.store.dsn, parse_dsn),
        ("grpc.endpoint", config.grpc.endpoint, split_endpoint),
        ("http.endpoint", config.http.endpoint, split_endpoint),
        ("api.endpoint", config.api.endpoint, split_endpoint),
    ):
        try:
            read(value)
        except ConfigError as error:
            yield f"{place}: {error}"
    if config.role is not Role.ALL and not config.relays and config.store.dsn.startswith("chdb:"):
        yield (
            f"role: one process alone owns an embedded store, and {config.role} is a part of it: use role all, or name "
            "a ClickHouse server (--store clickhouse://…)"
        )
    if config.role is Role.WORK and (config.webhooks or config.alerts.rules) and not config.api.public_url:
        yield (
            "api.public_url: a process of role work serves no pages, and webhooks and alerts link to them: give the "
            "address of the web process"
        )
    if config.role is Role.ALL and config.alerts.rules and not config.api.public_url and _is_everywhere(config.api):
        yield f"api.public_url: alerts link to pages, and nobody reaches {config.api.endpoint}: give their address"
    yield from config.alerts.misfits([one.name for one in config.channels], config.judges.budget.caps)
    yield from (f"{place}: {why}" for place, why in config.detectors.misfits())
    if not config.role.receives:
        return
    receivers = {endpoint.rpartition(":")[2] for endpoint in (config.grpc.endpoint, config.http.endpoint)}
    for number, backend in enumerate(config.export.otlp):
        if str(backend.port) in receivers and backend.is_local:
            yield f"export.otlp.{number}.endpoint: {backend.endpoint} is this collector itself"


def _is_everywhere(api: ApiConfig) -> bool:
    """Whether it listens at all addresses of its machine, and so names none."""
    return api.endpoint.rpartition(":")[0] in {"", "0.0.0.0", "[::]"}  # noqa: S104  compared, not bound


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        ConfigError: unreadable, not YAML, or not a mapping.
    """
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {_yaml_problem(error)}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: the top level must be a mapping of sections")
    return data


def _yaml_problem(error: yaml.YAMLError) -> str:
    """Place and problem, without an excerpt of the file, which may be long."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return where + " ".join(str(problem or error).split())


def merge(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `top`, section by section."""
    out = dict(base)
    for key, value in top.items():
        below = out.get(key)
        out[key] = merge(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return out


def problems(error: ValidationError, path: Path | None) -> list[str]:
    """One line a problem: where in the file, what is wrong, and which key was probably meant."""
    where = f"{path}: " if path else ""
    found, errors = [], error.errors()
    for each in errors:
        # pydantic counts the items of a list without those that are wrong.
        is_within = (other["loc"][: len(each["loc"])] == each["loc"] for other in errors if other is not each)
        if each["type"] == "too_short" and any(is_within):
            continue
        meant = _meant(each["loc"]) if each["type"] == UNKNOWN_KEY else ""
        hint = f"; did you mean {meant}?" if meant else ""
        found.append(f"{where}{place_of(each) or 'top level'}: {told(each)}{hint}")
    return found


def _meant(place: Sequence[str | int]) -> str:
    """The key of the same section that is most like an unknown one, "" for none."""
    section: type[BaseModel] | None = CollectorConfig
    for name in place[:-1]:
        field = section.model_fields.get(str(name)) if section else None
        section = nested(field) if field else section  # else the name is one of a mapping, or a place in a list
    key, known = str(place[-1]), list(section.model_fields) if section else []
    longer = [name for name in known if name.startswith(f"{key}_")]
    return next(iter(longer or difflib.get_close_matches(key, known, 1)), "")
