"""Options of the commands that put traces before LLM judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tracejury.collector.evaluation.judges_options import JudgesOptions
    from tracejury.collector.evaluation.judges_run import Progress

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Temperature(click.ParamType["float | None"]):
    """A number from 0 to 2, or none for models that refuse any."""

    name = "number|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """None for "none"."""
        if str(value).lower() == "none":
            return None
        number: float = click.FloatRange(0, 2).convert(value, param, ctx)
        return number


class LabelsFrom(click.ParamType["Path | str"]):
    """A file, or the address of a running collector."""

    name = "file|url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """An address as it is; a file must be there."""
        if str(value).startswith(("http://", "https://")):
            return str(value)
        path: Path = FILE.convert(value, param, ctx)
        return path


class Instruction(click.ParamType["tuple[str, str]"]):
    """A judge's name and words to it."""

    name = "judge=text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The two sides of the first equals sign."""
        judge, mark, text = str(value).partition("=")
        if not mark or not judge:
            self.fail("write JUDGE=TEXT", param, ctx)
        return judge, text


labels_option: Decorator = click.option(
    "--labels",
    type=LabelsFrom(),
    metavar="FILE|URL",
    help="Labels by people, of `labels export` or of a collector, instead of annotations; or a list of scores.",
)


OPTIONS: tuple[Decorator, ...] = (
    click.option("--model", default="", help="A litellm model string (provider/name)."),
    click.option("--api-base", default="", metavar="URL", help="An OpenAI-compatible server."),
    click.option("--api-key-env", default="", metavar="NAME", help="The environment variable that holds the key."),
    click.option(
        "--judge", "judges", multiple=True, metavar="NAME", help="Only this judge; may be given several times."
    ),
    click.option("--mode", type=click.Choice(["panel", "separate"]), default="panel", show_default=True),
    click.option(
        "--transcript",
        type=click.Choice(["compact", "paper"]),
        default="compact",
        show_default=True,
        help="paper: the preprocessing of the paper, uncut.",
    ),
    click.option(
        "--instruct", "instructions", type=Instruction(), multiple=True, metavar="JUDGE=TEXT", help="Words to a judge."
    ),
    click.option("--examples", default="", metavar="FILE", help="One or two few-shot examples for judges (YAML)."),
    click.option(
        "--reasoning-effort",
        type=click.Choice(["none", "minimal", "low", "medium", "high"]),
        default=None,
        help="How long the model may think.",
    ),
    click.option("--streaming/--no-streaming", default=False, help="Judge windows of turns, too, as of live runs."),
    click.option(
        "--architecture",
        default="derived",
        show_default=True,
        metavar="none|derived|FILE",
        help="What judges are told.",
    ),
    click.option(
        "--lookup",
        type=click.Choice(["off", "once", "1", "2", "3"]),
        default="once",
        show_default=True,
        help="How often a judge may ask to see cut text in full.",
    ),
    click.option("--hints/--no-hints", default=True, help="Ask the judges which of the detectors' errors are right."),
    click.option(
        "--verify",
        type=click.Choice(["off", "high", "all"]),
        default="high",
        show_default=True,
        help="Findings that the model is asked to refute.",
    ),
    click.option(
        "--decisive/--no-decisive",
        default=True,
        help="Ask which error decided the outcome of the traces whose annotations say it.",
    ),
    click.option("--verifier", default="", metavar="MODEL", help="Another model for that."),
    click.option(
        "--runs", type=click.IntRange(1, 100), default=1, show_default=True, help="Judge each trace so often."
    ),
    click.option("--adjudicate", is_flag=True, help="Have an LLM say which findings describe which errors."),
    click.option("--adjudicator", default="", metavar="MODEL", help="Another model for that."),
    click.option(
        "--cassette", type=click.Path(dir_okay=False, path_type=Path), help="Keep all prompts and replies here."
    ),
    click.option(
        "--cassette-mode",
        type=click.Choice(["auto", "record", "replay", "ask"]),
        default="auto",
        show_default=True,
        help="auto: answer from it and record the rest; record: a new one; replay: ask nobody; ask: see --prompts.",
    ),
    click.option(
        "--prompts",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="With --cassette-mode ask: write prompts without a reply to DIR/KEY.md, read replies from DIR/KEY.json.",
    ),
    click.option("--concurrency", type=click.IntRange(1, 1000), default=8, show_default=True, help="Calls in flight."),
    click.option("--limit", type=click.IntRange(min=0), default=0, help="Only the first so many traces."),
    click.option("--temperature", type=Temperature(), default="0", show_default=True, help="none: send none."),
    click.option(
        "--timeout",
        "timeout_seconds",
        type=click.FloatRange(min=1),
        default=600.0,
        show_default=True,
        help="Seconds a call.",
    ),
    click.option("--retries", type=click.IntRange(0, 10), default=2, show_default=True),
    click.option("--max-answer-tokens", type=click.IntRange(min=256), default=8192, show_default=True),
    click.option("--max-input-tokens", type=click.IntRange(min=0), default=0, help="The default is the model's limit."),
)


def judges_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which passes their values to `options_from`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def options_from(folder: Path, criteria: str, asked: dict[str, Any], **more: Any) -> JudgesOptions:
    """The options as one object; `more`: further fields.

    Raises:
        ConfigError: the model's address or another value cannot be.
    """
    from pydantic import ValidationError

    from tracejury.collector.evaluation.judges_options import JudgesOptions
    from tracejury.collector.judging.model.config import LlmConfig
    from tracejury.judges.llm.problems import told
    from tracejury.schemas.errors import ConfigError

    own = {field.name for field in fields(JudgesOptions)}
    asked = asked | {"instructions": dict(asked["instructions"]), "reasoning_effort": asked["reasoning_effort"] or ""}
    try:
        llm = LlmConfig(criteria=criteria, **{name: asked[name] for name in asked.keys() - own})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ConfigError(f"{problem['loc'][0]}: {told(problem)}") from None
    return JudgesOptions(folder, llm, **{name: asked[name] for name in asked.keys() & own}, **more)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on stderr that the work reports to; where that is no terminal, a line now and then."""
    from . import output

    with output.progress() as bar:
        task = bar.add_task("starting", total=None)

        def told(stage: str, done: int, of: int) -> None:
            bar.update(task, description=stage, completed=done, total=of or None)
            if bar.disable and done and done * LINES // of > (done - 1) * LINES // of:
                output.note(f"{stage}: {done} of {of}")

        yield told


LINES = 10
"""Lines that a long stage writes to a log."""
