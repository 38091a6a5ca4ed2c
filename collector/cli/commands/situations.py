"""`tracejury situations`: simulated sessions in which a known thing goes wrong, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracejury.collector.cli.interrupts import run_resumable
from tracejury.collector.cli.judges_options import config_option, progress_bar
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracejury.collector.judging.model.cassette import CassetteOptions
    from tracejury.collector.simulation.situation_traces import LabelledTraces
    from tracejury.judges.situations.situation_session import SituationSession

CURATOR: Final = "curator"
"""The annotator of sessions that people wrote by hand."""

FILTERED: Final = "filter.cassette"
GOES_ON: Final = "the same command goes on"


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
@click.option("--examples", is_flag=True, help="Write the 34 sessions written by hand; no model is asked.")
@config_option
@model_options
def generate_situations(
    *, out: Path, tools_file: Path | None, each: int, examples: bool, config_file: Path | None, **asked: Any,
) -> None:  # fmt: skip
    """Write labelled sessions: by a model, or --examples.

    A model writes one per situation and group of tools, as data that become traces. labels.jsonl says of each whether
    it is good, whether its user is satisfied and which situation it is, and of bad ones at which span they go wrong; no
    span does. Stopped, the same command goes on where it was.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.simulation.situation_folder import unfinished, write_sessions

    if examples and (tools_file or each > 1):
        raise ConfigError("--examples has sessions of its own: leave --tools and --each out")
    cassette = unfinished(out)
    made = _curated() if examples else _written(tools_file, each, config_file, _cassette(asked, cassette), asked)
    output.note(f"{counted(write_sessions(out, made), 'session')} in {out}")


def _curated() -> list[LabelledTraces]:
    from tracejury.collector.simulation.situation_traces import labelled_traces
    from tracejury.judges.situations.situation_session import curated_sessions
    from tracejury.judges.situations.tool_groups import tool_groups

    groups = {group.name: group for group in tool_groups()}
    return [labelled_traces(one, groups[one.group].offered(one.situation), CURATOR) for one in curated_sessions()]


def _written(
    tools_file: Path | None, each: int, config_file: Path | None, cassette: CassetteOptions, asked: Mapping[str, Any]
) -> list[LabelledTraces]:
    """Sessions by a model; tells which are left out, as no answer about them could be used."""
    from tracejury.collector.cli import output
    from tracejury.collector.cli.failures import Failure
    from tracejury.collector.evaluation.session_model import open_session_model
    from tracejury.collector.simulation.situation_traces import labelled_traces
    from tracejury.judges.situations.session_prompts import session_plans
    from tracejury.judges.situations.tool_groups import read_tool_groups, tool_groups
    from tracejury.schemas.annotations import GENERATOR

    config = judges_section(asked, config_file)
    plans = session_plans(read_tool_groups(tools_file) if tools_file else tool_groups(), each)

    async def written() -> list[SituationSession | str]:
        async with open_session_model(config, cassette) as model:
            return await model.each(
                "sessions", plans, lambda plan: model.run(plan.write(config.max_answer_tokens)), progress
            )

    with progress_bar() as progress:
        said = run_resumable(written(), GOES_ON)
    made: list[LabelledTraces] = []
    left_out: list[str] = []
    for plan, one in zip(plans, said, strict=True):
        if isinstance(one, str):
            left_out.append(f"{plan.situation.name}, {plan.group.name}: {one}")
        else:
            made.append(labelled_traces(one, plan.tools, GENERATOR))
    if not made:
        raise Failure(f"no session is left, nothing is written: {left_out[0]}")
    for problem in left_out:
        output.note(one_line(f"left out: {problem}", 300))
    return made


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
    from tracejury.collector.evaluation.labelled_sessions import LABELS
    from tracejury.collector.evaluation.session_model import open_session_model
    from tracejury.collector.evaluation.situation_filter import FilteredSession, filtered, precision, withdraw

    config = judges_section(asked, config_file)

    async def looked_at() -> list[FilteredSession]:
        async with open_session_model(config, _cassette(asked, folder / FILTERED)) as model:
            return await filtered(folder, model, config.max_answer_tokens, progress)

    with progress_bar() as progress:
        sessions = run_resumable(looked_at(), GOES_ON)
    gone = [one for one in sessions if not one.stands]
    withdraw(folder / LABELS, gone)
    for one in gone:
        why = one.mismatch if one.accepted is None else "people say otherwise"
        click.echo(one_line(f"withdrawn: {one.session.key[1]}, {one.situation}: {why}", 300))
    right, of = precision(sessions)
    held = f"; precision {right / of:.2f}: people accept {right} of {of} that fit" if of else ""
    output.note(f"{len(sessions) - len(gone)} of {counted(len(sessions), 'label')} stand{held}")
