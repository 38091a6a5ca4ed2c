"""The library for Kafka: loaded here alone, and only where Kafka is configured; its options and errors."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from tracejury.schemas.config_base import VARIABLE
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.terminal import one_line

from .config import KafkaConfig

log = logging.getLogger(__name__)

CLIENT_ID: Final = "client.id"
Options = dict[str, Any]


def library() -> ModuleType:
    """confluent_kafka. Raises ConfigError where it is not installed."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError:
        raise ConfigError("kafka: needs confluent-kafka: pip install 'tracejury[kafka]'") from None
    return confluent_kafka


def options_of(config: KafkaConfig, environ: Mapping[str, str] = os.environ) -> Options:
    """The options of every client. Raises ConfigError where an environment variable is not set."""
    options: Options = {CLIENT_ID: "tracejury"}
    for name, value in config.options.items():
        options[name] = filled(value.get_secret_value(), f"kafka.options.{name}", environ)
    own = log.getChild("library")
    # It repeats "connection refused" for each broker every few seconds; `OutageLog` says it once.
    own.setLevel(logging.DEBUG if log.isEnabledFor(logging.DEBUG) else logging.CRITICAL)
    return options | {"bootstrap.servers": ",".join(config.brokers), "logger": own}


def filled(value: str, place: str, environ: Mapping[str, str] = os.environ) -> str:
    """A value with its environment variables. Raises ConfigError where one is not set."""
    for name in VARIABLE.findall(value):
        if name not in environ:
            raise ConfigError(f"{place}: the environment variable {name} is not set")
    return VARIABLE.sub(lambda found: environ[found[1]], value)


def check_kafka(config: KafkaConfig, environ: Mapping[str, str] = os.environ) -> None:
    """Make a client as the receivers and workers do; it connects to nobody yet.

    Raises:
        ConfigError: the library is missing or refuses an option, or an environment variable is not set.
    """
    filled(config.header_secret, "kafka.header_secret", environ)
    make("Producer", options_of(config, environ))


def make(kind: str, options: Options) -> Any:
    """A `Producer`, `Consumer` or `AdminClient`. Raises ConfigError where the library refuses an option."""
    module = library()
    try:
        return getattr(module.admin if kind == "AdminClient" else module, kind)(options)
    except (module.KafkaException, TypeError, ValueError) as error:
        raise ConfigError(f"kafka.options: {told(error)}") from None


def told(error: BaseException | Any) -> str:
    """One line of an error of the library, by its text where it has one."""
    inner = error.args[0] if isinstance(error, BaseException) and error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return one_line(str(text), 300)
