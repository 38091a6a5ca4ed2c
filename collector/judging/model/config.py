"""The configuration section `judges`: which model judges what, how, and for how much."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from tracejury.judges.llm.criteria import BUILT_IN
from tracejury.judges.packs.loader import settings_model
from tracejury.schemas.config_base import FilePath, Seconds, Section, paths_beside

Count = Annotated[int, Field(ge=0)]
Usd = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, le=1)]
NonEmpty = Annotated[str, Field(min_length=1)]

DAY: Final = 24 * 3600.0


def plain_url(value: str) -> str:
    """An http(s) URL without credentials, or "".

    Raises:
        ValueError: neither; the text does not repeat the value, which may hold a password.
    """
    try:
        parts = urlsplit(value)
        secret = parts.username or parts.password
    except ValueError:
        raise ValueError("this is no URL") from None
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError("an http:// or https:// URL is expected")
    if secret or parts.query:
        raise ValueError("a URL here must hold no user, password or query; name the key's variable in api_key_env")
    return value


Url = Annotated[str, AfterValidator(plain_url)]


def switched(value: Any) -> Any:
    """A setting that may be `off`, which YAML reads as false."""
    return "off" if value is False else value


def rounds(value: Any) -> Any:
    """A number of second looks as it is kept; options of commands are text.

    Raises:
        ValueError: it is no such number.
    """
    text = switched(value)
    known: dict[str, Any] = {"off": "off", "once": "once", "1": 1, "2": 2, "3": 3}
    if isinstance(text, bool | float) or str(text) not in known:
        raise ValueError("must be off, once, or a number of rounds from 1 to 3")
    return known[str(text)]


class PackPaths(FilePath):
    """Marks the settings of packs: those of one may hold paths."""

    def beside(self, value: Any, folder: PurePath) -> Any:
        """The settings with the paths that each pack's own model marks."""
        if not isinstance(value, dict):
            return value
        return {name: paths_beside(given, settings_model(name), folder) for name, given in value.items()}


class ModelConfig(Section):
    """A model and where it is reached; in a file a plain string is its `model`."""

    model: Annotated[str, Field(min_length=1)]
    """A litellm model string: `provider/name`."""
    api_base: Url = ""
    """URL of an OpenAI-compatible (or the provider's) server; "" is the provider's own."""
    api_key_env: str = ""
    """Name of the environment variable that holds the key; "" is the provider's usual one."""


def named(value: Any) -> Any:
    """A plain string is a model's name."""
    return {"model": value} if isinstance(value, str) else value


def maybe_named(value: Any) -> Any:
    """`named`, where "" is no model."""
    return None if value == "" else named(value)


class WindowConfig(Section):
    """When newly closed turns of a live run are judged: at whichever comes first."""

    turns: Annotated[int, Field(ge=1)] = 5
    """After this many new turns."""
    seconds: Seconds = 60.0
    """After this time, where there is a new turn."""
    tokens: Annotated[int, Field(ge=1)] = 8000
    """After about this many new tokens of transcript."""


class PolicyConfig(Section):
    """Which agent runs are judged by LLMs; the first policy that fits a run decides."""

    service: str = "*"
    """The `service.name`, exactly; `*` is any."""
    agent: str = "*"
    """The agent's name, exactly; `*` is any."""
    attributes: dict[str, str] = Field(default={})
    """Attributes that the run's span or resource must have, with these values."""
    rate: Rate = 1.0
    """Share of the traces that is judged, by a hash of the trace id: the same in every process."""
    judges: tuple[str, ...] = ()
    """Names of the judges asked; none named: those of the section."""


class ServiceCaps(Section):
    """Caps on spend; null is no cap. Hours and days are those of UTC."""

    usd_per_hour: Usd | None = None
    """US dollars an hour."""
    usd_per_day: Usd | None = None
    """US dollars a day."""
    tokens_per_hour: Count | None = None
    """Tokens an hour, read and written."""
    tokens_per_day: Count | None = None
    """Tokens a day, read and written."""


class BudgetConfig(ServiceCaps):
    """Caps in all, and of single services. At a cap LLM judging stops until the hour or day ends; detectors go on."""

    usd_per_day: Usd | None = 10.0
    """US dollars a day, in all services together; with this default it is safe to leave the judges on."""
    unpriced_tokens_per_day: Count | None = 100_000_000
    """The `tokens_per_day` of a model whose price is unknown, as dollars cannot be counted for it."""
    per_service: dict[str, ServiceCaps] = Field(default={})
    """Caps by `service.name`, within each project; `*` is each service that is not named."""
    per_project: dict[str, ServiceCaps] = Field(default={})
    """Caps by project (docs/keys.md); `*` is each project that is not named."""

    @property
    def caps(self) -> dict[str, float]:
        """The caps of all services together, by name."""
        return {name: cap for name, cap in self.model_dump().items() if isinstance(cap, int | float)}


class LlmConfig(Section):
    """The LLM judges. Without a model only the detectors judge."""

    model: str = ""
    """A litellm model string (`provider/name`); "" switches the LLM judges off, but for checks that ask no model."""
    api_base: Url = ""
    """URL of an OpenAI-compatible (or the provider's) server; "" is the provider's own."""
    api_key_env: str = ""
    """Name of the environment variable that holds the key (no key stands in a file); "" is the provider's usual one."""
    fallbacks: tuple[Annotated[ModelConfig, BeforeValidator(named)], ...] = ()
    """Models that are asked, in this order, when `model` does not answer: model strings, or mappings
    with `model`, `api_base` and `api_key_env`."""
    agent_runs: bool = True
    """Whether the judges of the criteria are asked about agent runs; off: packs alone."""
    criteria: Annotated[str, FilePath(BUILT_IN)] = "production"
    """The criteria set: `production`, `paper`, or a folder with one of your own."""
    mode: Literal["panel", "separate"] = "panel"
    """`panel` asks all judges of a run in one call, `separate` each in its own."""
    judges: tuple[str, ...] = ()
    """Names of the judges asked; none named: all of the set."""
    judge_files: Annotated[tuple[str, ...], FilePath()] = ()
    """YAML files with judges of your own."""
    instructions: dict[str, str] = Field(default={})
    """Your own words to single judges, by name: a text of at most 8,000 characters, whose lines stay apart."""
    examples: Annotated[str, FilePath()] = ""
    """A YAML file with one to five few-shot examples for single judges, by name: lists of `step` and `finding`."""
    transcript: Literal["compact", "paper"] = "compact"
    """How a run is put before the judges: `compact`, each text once and long ones cut, or `paper`, the preprocessing of
    "What is your agent's GPA?": system instructions, tools and new messages, uncut."""
    images: bool = False
    """Send the judges of agent runs the pictures of what they judge, where litellm knows that the model, its fallbacks
    and the verifier take pictures; else they read type, size and hash. Nothing that a picture shows is redacted."""
    structured: Literal["auto", "schema", "json", "none"] = "auto"
    """How the model is held to JSON: by the schema, as any JSON, by the prompt alone, or as it turns out to support."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    """Sampling temperature; null sends none, and no top_p of a question either, for models that refuse them."""
    reasoning_effort: Literal["", "none", "minimal", "low", "medium", "high"] = ""
    """How long the model may think before it answers; "" sends none. Models that take none are asked without."""
    max_answer_tokens: Annotated[int, Field(ge=256)] = 8192
    """Tokens that one answer may have at most."""
    max_input_tokens: Count = 0
    """Tokens that one prompt may have; 0 is the model's own limit, or 128,000 where litellm does not know it."""
    timeout_seconds: Seconds = 600.0
    """How long one call may take."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a call that failed for a passing reason is repeated at once; later the run is tried as a whole."""
    requests_per_minute: Count = 0
    """Calls a minute, at most; 0 is no limit."""
    tokens_per_minute: Count = 0
    """Tokens a minute, at most; 0 is no limit."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Calls in flight, at most."""
    streaming: bool = True
    """Judge windows of a live run, too; otherwise only finished runs."""
    window: WindowConfig = WindowConfig()
    """When a window is judged."""
    group: bool = True
    """Judge short runs of one trace in one call (exchanges of a conversation, agents of a group chat), each with its
    own verdicts. Where judges are asked separately, or read the paper's transcript, each run has its own call."""
    lookup: Annotated[Literal["off", "once", 1, 2, 3], BeforeValidator(rounds)] = "once"
    """How often a judge may ask to see cut text in full before its answer counts: `off`, `once`, or up to 3 rounds."""
    hints: bool = True
    """Ask the judges, once they have answered, which of the errors that the detectors found are right."""
    verify: Annotated[Literal["off", "high", "all"], BeforeValidator(switched)] = "high"
    """Findings of LLM judges that a model is asked to refute before they are stored: `high` are those of HIGH severity,
    `all` also those of packs (docs/llm-judges.md)."""
    verifier: Annotated[ModelConfig | None, BeforeValidator(maybe_named)] = None
    """Another model that is asked to refute them: a model string, or a mapping with `model`, `api_base` and
    `api_key_env`; null: the judges' own."""
    decisive: bool = True
    """Ask, of a trace whose outcome is wrong, which error decided it: one more call a failed trace."""
    architecture: Literal["derived", "none"] = "derived"
    """Show the judges a description of the service: as data one that is derived from its trajectories, in the system
    message one that you wrote (`tracejury architecture --set`)."""
    policies: tuple[PolicyConfig, ...] = ()
    """Which runs are judged; a run that none fits is not. Without policies every run is."""
    always_severity: Literal["LOW", "MEDIUM", "HIGH", "none"] = "HIGH"
    """Whatever the rate, judge a run with a detector finding of at least this severity."""
    always_on_error: bool = True
    """Whatever the rate, judge a run with an error status."""
    budget: BudgetConfig = BudgetConfig()
    """Caps on spend."""
    catch_up: bool = True
    """Judge what a cap left out once there is room again: the newest first, and only with what fresh runs leave."""
    answer_cache_days: Annotated[float, Field(ge=0)] = 30.0
    """Days for which an answer is kept and not asked for again; 0 keeps none."""
    input_usd_per_million: Usd | None = None
    """Price of a million tokens read, where litellm does not know it."""
    output_usd_per_million: Usd | None = None
    """Price of a million tokens written, where litellm does not know it."""
    packs: tuple[str, ...] = ()
    """Names of the packs that judge exchanges and sessions, such as `pipa` (docs/packs.md)."""
    pack_settings: Annotated[dict[str, dict[str, Any]], PackPaths()] = Field(default={})
    """Settings by the name of the pack: `mode`, `policies_at`, `services` and what the pack adds (docs/packs.md)."""
    tasks: Annotated[tuple[str, ...], FilePath()] = ()
    """YAML or JSON files with task cards, or folders of them."""
    task_key: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = ("tracejury.task.id", "task_id")
    """Attributes that may name a session's task, also in metadata; the first that the session has counts."""
    session_quiet_seconds: Seconds = 1800.0
    """A session closes when its traces have settled and nothing came for this long."""
    telemetry_endpoint: Url = ""
    """OTLP/gRPC endpoint (http://host:port) for spans of the judges' own calls; "" sends none."""

    @property
    def looks(self) -> int:
        """The most second looks of one question."""
        return self.lookup if isinstance(self.lookup, int) else int(self.lookup == "once")

    @property
    def on(self) -> bool:
        """Whether there is a model."""
        return bool(self.model)

    @property
    def judging(self) -> bool:
        """Whether anything judges beside the detectors: LLM judges, or checks of packs that need no model."""
        return self.on or bool(self.packs)

    @property
    def of_verifier(self) -> LlmConfig | None:
        """The same for the model of the verifier, without prices, which it has by litellm; None: the judges' own."""
        if self.verifier is None or self.verify == "off":
            return None
        named = self.verifier.model_dump()
        own = {"fallbacks": (), "max_input_tokens": 0, "input_usd_per_million": None, "output_usd_per_million": None}
        return self.model_copy(update=named | own | {"verifier": None})

    @property
    def chain(self) -> tuple[ModelConfig, ...]:
        """The model and its fallbacks, in the order in which they are asked; none without a model."""
        if not self.model:
            return ()
        return (ModelConfig(model=self.model, api_base=self.api_base, api_key_env=self.api_key_env), *self.fallbacks)
