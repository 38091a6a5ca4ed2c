"""Options of the commands that put traces before LLM judges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .model_options import cassette_options, judges_section, model_options
from .options import Decorator, combined

if TYPE_CHECKING:
    from tracejury.collector.evaluation.judges_options import JudgesOptions
    from tracejury.collector.evaluation.judges_run import Progress

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


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


session_labels_option: Decorator = click.option(
    "--labels",
    type=LabelsFrom(),
    metavar="FILE|URL",
    help="Labels of `labels export`, or of a collector, in the place of DIR/labels.jsonl.",
)

config_option: Decorator = click.option(
    "--config",
    "config_file",
    type=FILE,
    help="A configuration file, for its section judges: model, key and budget; options go before it.",
)


judges_options: Decorator = combined(
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
        "--instruct",
        "instructions",
        type=Instruction(),
        multiple=True,
        metavar="JUDGE=TEXT",
        help="Words to a judge.",
        callback=lambda _context, _option, said: dict(said),
    ),
    click.option("--examples", default="", metavar="FILE", help="One or two few-shot examples for judges (YAML)."),
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
        "--split",
        type=click.IntRange(1, 3),
        default=2,
        show_default=True,
        help="The lowest score that counts as met where scores are cut in two.",
    ),
    click.option("--limit", type=click.IntRange(min=0), default=0, help="Only the first so many traces."),
    model_options,
)
"""Options of judges and of their model: a command passes the values to `options_from`."""


def options_from(folder: Path, criteria: str, asked: dict[str, Any], **more: Any) -> JudgesOptions:
    """The options as one object; `more`: further fields.

    Raises:
        ConfigError: the model's address or another value cannot be.
    """
    from tracejury.collector.evaluation.judges_options import JudgesOptions

    own = {field.name for field in fields(JudgesOptions)}
    uncapped = dict.fromkeys(("usd_per_day", "unpriced_tokens_per_day"))
    settings = {name: asked[name] for name in asked.keys() - own}
    llm = judges_section(settings, criteria=criteria, streaming=asked["streaming"], budget=uncapped)
    more |= {name: asked[name] for name in asked.keys() & own} | {"cassette": cassette_options(asked)}
    return JudgesOptions(folder, llm, **more)


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
