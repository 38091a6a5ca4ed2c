"""Options of the commands that ask a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from .options import Decorator, combined

if TYPE_CHECKING:
    from tracejury.collector.judging.model.cassette import CassetteOptions
    from tracejury.collector.judging.model.config import LlmConfig


class Temperature(click.ParamType["float | None"]):
    """A number from 0 to 2, or none for models that refuse any."""

    name = "number|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """None for "none"."""
        if str(value).lower() == "none":
            return None
        number: float = click.FloatRange(0, 2).convert(value, param, ctx)
        return number


recording_options: Final[Decorator] = combined(
    click.option("--cassette", type=click.Path(dir_okay=False, path_type=Path),
                 help="Keep all prompts and replies here."),
    click.option("--cassette-mode", type=click.Choice(["auto", "record", "replay", "ask"]), default="auto",
                 show_default=True, help="auto: answer from it and record the rest; record: a new one; "
                 "replay: ask nobody; ask: see --prompts."),
    click.option("--prompts", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                 help="With --cassette-mode ask: write prompts without a reply to DIR/KEY.md, "
                 "read replies from DIR/KEY.json."),
)  # fmt: skip
"""Options of a cassette: `cassette_options` reads their values."""

calling_options: Final[Decorator] = combined(
    click.option("--model", default="", help="A litellm model string (provider/name)."),
    click.option("--api-base", default="", metavar="URL", help="An OpenAI-compatible server."),
    click.option("--api-key-env", default="", metavar="NAME", help="The environment variable that holds the key."),
    click.option("--reasoning-effort", type=click.Choice(["none", "minimal", "low", "medium", "high"]), default=None,
                 help="How long the model may think."),
    click.option("--concurrency", type=click.IntRange(1, 1000), default=8, show_default=True, help="Calls in flight."),
    click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=1), default=600.0, show_default=True,
                 help="Seconds a call."),
    click.option("--retries", type=click.IntRange(0, 10), default=2, show_default=True),
    click.option("--max-answer-tokens", type=click.IntRange(min=256), default=8192, show_default=True),
    click.option("--max-input-tokens", type=click.IntRange(min=0), default=0, help="The default is the model's limit."),
    click.option("--budget", type=click.FloatRange(min=0), metavar="USD", help="Most US dollars of calls a day."),
    recording_options,
)  # fmt: skip
"""Options of a model and its cassette but its temperature."""

model_options: Final[Decorator] = combined(
    calling_options,
    click.option("--temperature", type=Temperature(), default="0", show_default=True, help="none: send none."),
)
"""Options of the model and its cassette: `judges_section` and `cassette_options` read their values."""


def judges_section(asked: Mapping[str, Any], file: Path | None = None, **defaults: Any) -> LlmConfig:
    """Section `judges` of a configuration file: above it `defaults`, above all what the command line gives.

    Raises:
        ConfigError: the file cannot be read, or a value cannot be; one line a problem.
    """
    from tracejury.collector.config import load_config
    from tracejury.collector.judging.model.config import LlmConfig

    source = click.get_current_context().get_parameter_source
    named = asked.keys() & LlmConfig.model_fields.keys()
    given = {name: asked[name] for name in named if source(name) is ParameterSource.COMMANDLINE}
    if "budget" in given:
        given["budget"] = {"usd_per_day": given["budget"]}
    return load_config(file, {"judges": defaults | given}).judges


def cassette_options(asked: Mapping[str, Any]) -> CassetteOptions:
    """The cassette of the command."""
    from tracejury.collector.judging.model.cassette import CassetteOptions

    return CassetteOptions(asked["cassette"], asked["cassette_mode"], asked["prompts"])
