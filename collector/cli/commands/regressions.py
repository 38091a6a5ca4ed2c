"""`tracejury regressions`: whether the step that went wrong still does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from tracejury.collector.cli.failures import EXIT_ERROR, Failure
from tracejury.collector.cli.judges_options import FILE, config_option
from tracejury.collector.cli.model_options import Temperature, calling_options, cassette_options, judges_section
from tracejury.collector.cli.options import format_option, profile_option, since_option, url_option
from tracejury.schemas.errors import ConfigError, NotFoundError, PermanentError
from tracejury.schemas.text.terminal import one_line

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.evaluation.regressions.case import Case

MOST_PROMPT: Final = 4 * 1024 * 1024
"""Bytes of a system prompt."""


@click.group("regressions")
def regressions_command() -> None:
    """Cases made from errors: issue a step's LLM call again, many times, and judge the answers."""


@regressions_command.command("add")
@click.argument("found", metavar="ERROR|PATTERN")
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="FOLDER",
              help="Where the cases go, a JSON file each.")  # fmt: skip
@since_option
@profile_option
@url_option
def add_regression(*, found: str, folder: Path, since: str, profile: str, url: str) -> None:
    """Write a case of an error, or one of each example of a pattern.

    A case holds the LLM call of the step with all that it was sent, what was wrong, and what must not appear. Where
    what was sent is not recorded whole, there is none, and it is said why.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output

    written, refused = 0, []
    with ApiClient(url) as client:
        for error_id in _errors(client, found, since, profile):
            try:
                case = _case(client, error_id, profile)
            except PermanentError as error:
                refused.append(f"no case of error {error_id}: {error}")
                continue
            folder.mkdir(parents=True, exist_ok=True)
            file, text = folder / f"{case.id}.json", case.to_json()
            if file.exists() and file.read_bytes() != text.encode():
                refused.append(f"{file} is kept as it was edited: remove it to write it anew")
                continue
            file.write_text(text)
            output.plain(one_line(f"{file}: {case.error.title}", 300))
            written += 1
    if not written:
        raise Failure(*refused)
    for line in refused:
        output.note(one_line(line, 300))


def _errors(client: ApiClient, found: str, since: str, profile: str) -> list[str]:
    """The error of that id, else the examples of the pattern of that id. Raises NotFoundError."""
    try:
        return [client.error(found, profile=profile).id]
    except NotFoundError:
        try:
            pattern = client.pattern(found, {"since": since, "profile": profile})
        except NotFoundError:
            raise NotFoundError(f"there is no error and, in this time, no pattern {found[:60]!r}") from None
    return [example.error_id for example in pattern.examples]


def _case(client: ApiClient, error_id: str, profile: str) -> Case:
    """Raises PermanentError: why there can be none."""
    from tracejury.collector.cli.received import received
    from tracejury.collector.evaluation.regressions.add import case_of
    from tracejury.collector.judging.detect.direct import DecodedSpans

    error = client.error(error_id, profile=profile)
    batches = list(received(client, error.shown_trace_id))
    decoded = DecodedSpans([s for b in batches for s in b.spans], [log for b in batches for log in b.logs], 0)
    traces = [trace for trace in decoded.traces() if error.span_id in trace.spans and not trace.joined_to]
    if not traces:
        raise PermanentError("its span is stored no more")
    return case_of(error, traces[0])


@regressions_command.command("run")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER")
@click.option("--times", type=click.IntRange(1, 1000), default=10, show_default=True, help="Answers of each step.")
@click.option("--system", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="A system prompt in the place of the recorded one.")  # fmt: skip
@click.option("--append", default="", metavar="TEXT", help="What the system prompt says further.")
@click.option("--instead", is_flag=True, help="Append what the error says that the agent should have done.")
@click.option("--before", type=FILE, help="JSON of an earlier run to compare with, instead of asking as recorded.")
@click.option("--fail-over", type=click.FloatRange(0, 1), metavar="SHARE",
              help="End with 1 if a larger share of the answers of a case is wrong.")  # fmt: skip
@click.option("--judge-model", default="", metavar="M", help="The LLM judges' model, for errors that they found.")
@config_option
@click.option("--temperature", type=Temperature(), default=None, help="Instead of the recorded one; none: send none.")
@calling_options
@format_option
@click.pass_context
def run_regressions(
    ctx: click.Context, /, *, folder: Path, before: Path | None, fail_over: float | None, style: str, **asked: Any
) -> None:
    """Issue the LLM call of each case of FOLDER again, and say how often its answer is wrong.

    Nothing but that call is made, no tool runs: a call that was recorded returns what it returned then. With --system,
    --append or --instead the call is also made as it was recorded, and both are compared. --model is the model that is
    asked, by default the recorded one; --config and --judge-model are for the LLM judges.

    Ends with 1 if of a case no answer could be judged, or more than --fail-over are wrong.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.interrupts import heed_ctrl_c
    from tracejury.collector.evaluation.regressions.case import PromptChange
    from tracejury.collector.evaluation.regressions.result import read_results
    from tracejury.collector.evaluation.regressions.run import RunOptions, run_folder

    named = {"model": asked["judge_model"]} if asked["judge_model"] else {}
    judges = judges_section({}, asked["config_file"], **named)
    options = RunOptions(
        model=judges_section(asked, budget=judges.budget.model_dump()),
        judges=judges,
        times=asked["times"],
        change=PromptChange(_text(asked["system"]), asked["append"], asked["instead"]),
        cassette=cassette_options(asked),
        sampling=ctx.get_parameter_source("temperature") is ParameterSource.COMMANDLINE,
        before=read_results(before) if before else None,
    )
    heed_ctrl_c()
    with output.progress() as bar:
        task = bar.add_task("answers", total=None)
        results = run_folder(folder, options, lambda done, of: bar.update(task, completed=done, total=of))
    if style == "json":
        output.show_json(results.to_json())
    else:
        for case in (*results.cases, *([results.all] if len(results.cases) > 1 else [])):
            output.plain("\n".join(case.lines))
    if results.failing(fail_over):
        ctx.exit(EXIT_ERROR)


def _text(file: Path | None) -> str | None:
    if file is None:
        return None
    with file.open("rb") as opened:
        read = opened.read(MOST_PROMPT + 1)
    if len(read) > MOST_PROMPT:
        raise ConfigError(f"--system {file} is larger than {MOST_PROMPT} bytes")
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"--system {file} is not text in UTF-8") from None
