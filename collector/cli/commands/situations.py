"""`tracejury situations`: simulated sessions in which a known thing goes wrong, or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.interrupts import heed_ctrl_c
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracejury.collector.judging.model.cassette import CassetteOptions
    from tracejury.collector.simulation.situation_traces import LabelledTraces
    from tracejury.judges.situations.session_prompts import SessionPlan
    from tracejury.judges.writing.units import WrittenUnit

CURATOR = "curator"
"""The annotator of sessions that people wrote by hand."""

INTERRUPTED = "interrupted"
FILTERED = "filter.cassette"

GOES_ON = "the same command goes on"

config_option = click.option(
    "--config", "config_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A configuration file, for its section judges: model, key and budget; options go before it.",
)  # fmt: skip


@click.group("situations")
def situations_command() -> None:
    """Simulated sessions of 26 situations between user, tools and agent, for tests of judges."""


@situations_command.command("generate")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="A new folder for traces/ and labels.jsonl.")  # fmt: skip
@click.option("--tools", "tools_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Groups of tools of your own (YAML or JSON; docs/scope.md).")  # fmt: skip
@click.option("--each", type=click.IntRange(1, 100), default=1, show_default=True,
              help="Sessions of each situation and tool group.")  # fmt: skip
@click.option("--partial", is_flag=True, help="Do without the sessions for which the model gave no answer.")
@click.option("--examples", is_flag=True, help="Write the 34 sessions written by hand; no model is asked.")
@config_option
@model_options
def generate_situations(
    *, out: Path, tools_file: Path | None, each: int, partial: bool, examples: bool, config_file: Path | None,
    **asked: Any,
) -> None:  # fmt: skip
    """Write labelled sessions: by a model, or --examples.

    A model writes one per situation and group of tools, as data that become traces. labels.jsonl says of each whether
    it is good, whether its user is satisfied and which situation it is, and of bad ones at which span they go wrong; no
    span does. Stopped, the same command goes on where it was.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.failures import Failure
    from tracejury.collector.simulation.situation_folder import unfinished, write_sessions

    if examples and (tools_file or each > 1):
        raise ConfigError("--examples has sessions of its own: leave --tools and --each out")
    cassette, left_out = unfinished(out), list[str]()
    if examples:
        made = _curated()
    else:
        made, unanswered = _written(tools_file, each, config_file, cassette, asked, left_out)
        if unanswered and (not partial or unanswered == INTERRUPTED):
            raise Failure(f"{unanswered}: {counted(len(made), 'session')} written; {GOES_ON}")
    for problem in left_out:
        output.note(one_line(f"left out: {problem}", 300))
    if not made:
        raise Failure("no session is left: nothing written")
    output.note(f"{counted(write_sessions(out, made), 'session')} in {out}")


def _curated() -> list[LabelledTraces]:
    from tracejury.collector.simulation.situation_traces import labelled_traces
    from tracejury.judges.situations.situation_session import curated_sessions
    from tracejury.judges.situations.tool_groups import tool_groups

    groups = {group.name: group for group in tool_groups()}
    return [labelled_traces(one, groups[one.group].offered(one.situation), CURATOR) for one in curated_sessions()]


def _written(
    tools_file: Path | None, each: int, config_file: Path | None, path: Path, asked: Any, left_out: list[str]
) -> tuple[list[LabelledTraces], str]:
    """Sessions by a model, and why some have to be asked for later; tells which are `left_out`."""
    from tracejury.collector.cli import output
    from tracejury.collector.simulation.situation_traces import labelled_traces
    from tracejury.collector.simulation.writing.write_units import write_units
    from tracejury.judges.situations.session_prompts import PromptSettings
    from tracejury.judges.situations.session_writing import session_plans, write_session
    from tracejury.judges.situations.tool_groups import read_tool_groups, tool_groups
    from tracejury.schemas.annotations import GENERATOR

    config = judges_section(asked, config_file)
    plans = session_plans(read_tool_groups(tools_file) if tools_file else tool_groups(), each)
    cassette = _cassette(asked, path)
    made: list[LabelledTraces] = []
    unanswered: list[str] = []
    with output.progress() as bar:
        task = bar.add_task("sessions", total=len(plans))

        def finished(done: WrittenUnit[SessionPlan]) -> None:
            plan = done.unit
            if plan.written:
                made.append(labelled_traces(plan.written, plan.group.offered(plan.situation.name), GENERATOR))
            else:
                unanswered.extend([done.failure] if done.failure else [])
                told = [done.failure] if done.failure else [one.failure for one in done.written]
                left_out.extend(f"{plan.situation.name}, {plan.group.name}: {why}" for why in told)
            bar.advance(task)

        heed_ctrl_c()
        try:
            settings = PromptSettings(config.max_answer_tokens, config.temperature is not None)
            asyncio.run(write_units(plans, lambda plan: write_session(plan, settings), config, cassette, finished))
        except KeyboardInterrupt:
            unanswered = [INTERRUPTED]
    return made, unanswered[0] if unanswered else ""


def _cassette(asked: Mapping[str, Any], path: Path) -> CassetteOptions:
    """The cassette that is asked for, else one at `path`, so that a stopped command goes on."""
    options = cassette_options(asked)
    return options if options.path else replace(options, path=path)


@situations_command.command("filter")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@config_option
@model_options
def filter_situations(*, folder: Path, config_file: Path | None, **asked: Any) -> None:
    """Ask a model whether sessions fit what they were written for.

    Best another model than the one that wrote them. The generator's label of a session that does not, in
    DIR/labels.jsonl, is withdrawn, and so is the error planted in it. Where people labelled a session, only their
    labels count, and tell how far the model can be trusted.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.failures import Failure
    from tracejury.collector.cli.judges_options import progress_bar
    from tracejury.collector.evaluation.labelled_sessions import LABELS
    from tracejury.collector.evaluation.session_model import open_session_model
    from tracejury.collector.evaluation.situation_filter import FilteredSession, filtered, precision, withdraw
    from tracejury.judges.situations.session_prompts import PromptSettings
    from tracejury.schemas.errors import OverBudgetError, RetryableError

    config = judges_section(asked, config_file)

    async def looked_at() -> list[FilteredSession]:
        async with open_session_model(config, _cassette(asked, folder / FILTERED)) as model:
            settings = PromptSettings(config.max_answer_tokens, config.temperature is not None)
            return await filtered(folder, model, settings, progress)

    heed_ctrl_c()
    with progress_bar() as progress:
        try:
            sessions = asyncio.run(looked_at())
        except KeyboardInterrupt:
            raise Failure(f"{INTERRUPTED}; {GOES_ON}") from None
        except (OverBudgetError, RetryableError) as error:
            raise Failure(f"{error}; {GOES_ON}") from None
    gone = [one for one in sessions if not one.stands]
    withdraw(folder / LABELS, gone)
    for one in gone:
        why = one.mismatch if one.accepted is None else "people say otherwise"
        click.echo(one_line(f"withdrawn: {one.session.key[1]}, {one.situation}: {why}", 300))
    right, of = precision(sessions)
    held = f"; precision {right / of:.2f}: people accept {right} of {of} that fit" if of else ""
    output.note(f"{len(sessions) - len(gone)} of {counted(len(sessions), 'label')} stand{held}")
