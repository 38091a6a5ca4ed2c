"""`tracejury evaluate`: `trail`, `steps`, `sessions`, `rubrics`, `notes`, `models` and `frameworks`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from tracejury.collector.cli.failures import Failure
from tracejury.collector.cli.judges_options import (
    FILE,
    config_option,
    judges_options,
    labels_option,
    options_from,
    progress_bar,
    session_labels_option,
)
from tracejury.collector.cli.measures_options import MEASURES, measure_filters, measures_options
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.collector.cli.options import api_options, format_option, show_rows, since_option
from tracejury.schemas.text.counting import counted


@click.group("evaluate")
def evaluate_command() -> None:
    """Measure agreement with human annotations, and reconstruction."""


@evaluate_command.command("trail")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--profile", default="balanced", show_default=True, metavar="NAME|NUMBER", help="Which findings count.")
@click.option(
    "--protocol",
    type=click.Choice(["grpc", "http", "json", "direct"]),
    default="grpc",
    show_default=True,
    help="How the traces reach the collector; direct: judged in this process, without transport and store.",
)
@click.option("--shuffle", type=int, metavar="SEED", help="Send the spans in random order over all traces.")
@click.option("--judges", "criteria", default="", metavar="production|paper|DIR", help="Evaluate these LLM judges.")
@click.option("--tokens", is_flag=True, help="Only count what LLM judges would read; needs no model.")
@click.option("--human", type=FILE, help="Which findings describe which errors, by people: for kappa, or instead.")
@labels_option
@click.option("--with-detectors/--only-judges", "detectors", default=True, help="Score the detectors, too, and both.")
@click.option("--baseline", is_flag=True, help="Also one call over the raw trace, as the TRAIL benchmark does it.")
@judges_options
@format_option
def trail(
    *,
    folder: Path,
    profile: str,
    protocol: str,
    shuffle: int | None,
    criteria: str,
    tokens: bool,
    style: str,
    **asked: Any,
) -> None:
    """Judge the traces of a TRAIL folder (traces/, annotations/) and score what was found.

    Without --judges and --model the detectors are scored, over a temporary store. With them LLM judges are, in this
    process; docs/evaluate.md tells what every table says.
    """
    for_judges = tokens or bool(criteria or asked["model"] or asked["cassette"])
    _refuse_unread({"protocol", "shuffle"} if for_judges else set(asked) - {"labels"}, for_judges=for_judges)
    if tokens:
        _tokens(folder, criteria, asked, profile, style)
    elif for_judges:
        _judges(folder, criteria, asked, profile, style)
    else:
        _detectors(folder, profile, protocol, shuffle, asked["labels"], style)


@evaluate_command.command("steps")
@click.argument(
    "folders",
    metavar="DIR [DIR ...]",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--profile", default="balanced", show_default=True, metavar="NAME|NUMBER", help="Which findings count.")
@click.option("--rules", is_flag=True, help="Also the record of each rule in each data set and in the others.")
@format_option
def steps(*, folders: tuple[Path, ...], profile: str, rules: bool, style: str) -> None:
    """Judge traces with labelled steps (DIR/traces/, DIR/annotations/) with all detectors, and score what was found.

    Each DIR is one data set, named as the folder. docs/evaluate.md tells what every table says.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.steps_report import as_json, as_tables
    from tracejury.collector.evaluation.steps_run import evaluate_steps

    with progress_bar() as progress:
        report = evaluate_steps(folders, profile=profile, progress=progress)
    output.show_report(style, report, partial(as_json, rules=rules), partial(as_tables, rules=rules))


@evaluate_command.command("sessions")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--config", "config_file", type=FILE, required=True, help="A configuration, for its section judges.")
@measures_options
@model_options
@format_option
def sessions(*, folder: Path, config_file: Path, style: str, **asked: Any) -> None:
    """Judge the sessions of DIR/traces by the packs of a configuration, and show their measures.

    Over a temporary store, as a collector does it; docs/evaluate.md tells more.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.measures import measures_table
    from tracejury.collector.evaluation.sessions import measure_sessions

    filters = measure_filters(**{name: asked[name] for name in MEASURES})
    llm = judges_section(asked, config_file, concurrency=1)
    with output.progress() as bar:
        bar.add_task("judging sessions", total=None)
        found = measure_sessions(folder, llm, cassette_options(asked), filters)
    show_rows(found, measures_table, style)


@evaluate_command.command("rubrics")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@session_labels_option
@click.option(
    "--folds",
    type=click.IntRange(3, 100),
    default=5,
    show_default=True,
    help="Two of them are learned from, the others tested.",
)
@click.option(
    "--whole",
    type=click.Choice(["situation", "service"]),
    help="Keep all sessions of one value in one fold: are unseen kinds of errors caught?",
)
@click.option(
    "--set", "rubrics", type=FILE, metavar="SET.yaml", help="Test this set, on sessions that it has not seen."
)
@config_option
@model_options
@format_option
def rubrics_command(
    *,
    folder: Path,
    labels: Path | str | None,
    folds: int,
    whole: Literal["situation", "service"] | None,
    rubrics: Path | None,
    config_file: Path | None,
    style: str,
    **asked: Any,
) -> None:
    """Learn rubrics from some of the labelled sessions of DIR, and test them on the others, beside what they must beat.

    With --cassette, a command that was stopped goes on where it was. docs/scope.md tells what every table says.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.interrupts import going_on, run_resumable
    from tracejury.collector.evaluation.rubrics_report import rubrics_report, rubrics_report_json, rubrics_report_tables
    from tracejury.collector.evaluation.rubrics_run import plan_rubrics, run_splits
    from tracejury.collector.evaluation.session_model import open_session_model
    from tracejury.judges.rubrics.evaluation.arms import SplitOutcome

    if rubrics:
        _refuse({"folds", "whole"}, "is for sets that are learned: leave out --set")
    config = judges_section(asked, config_file)
    plan = plan_rubrics(folder, labels, folds, whole, rubrics)

    async def tested() -> list[SplitOutcome]:
        async with open_session_model(config, cassette_options(asked)) as model:
            return await run_splits(plan, model, config.max_answer_tokens, progress)

    with progress_bar() as progress:
        outcomes = run_resumable(tested(), going_on(asked["cassette"]))
    output.show_report(style, rubrics_report(plan, outcomes), rubrics_report_json, rubrics_report_tables)


@evaluate_command.command("notes")
@click.option("--sheet", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="A new YAML file for people, without what the judge says.")  # fmt: skip
@click.option("--human", type=FILE, help="A sheet that a person filled in: how far the judge agrees.")
@click.option("--sample", type=click.IntRange(1, 1000), default=10, show_default=True, help="Sessions on the sheet.")
@click.option(
    "--judge", default="ted-notes", show_default=True, metavar="NAME", help="The check whose items are rated."
)
@click.option("--service", default="", metavar="NAME", help="Only sessions of this service.")
@since_option
@api_options
def notes(
    *,
    sheet: Path | None,
    human: Path | None,
    sample: int,
    judge: str,
    service: str,
    since: str,
    style: str,
    url: str,
) -> None:
    """Compare what a person says of grading notes with the collector.

    A person says of each note of a task whether it was achieved, and what went wrong.

    --sheet writes sessions and notes; --human reads what was filled in. Both together write the sheet again, with our
    errors beside the person's. docs/ted.md tells more.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.notes_agreement import agreement_json, agreement_tables, compare_notes
    from tracejury.collector.evaluation.notes_sheet import draw_sheet, read_sheet, write_sheet

    if not (sheet or human):
        raise click.UsageError("--sheet FILE writes a sheet, --human FILE reads one that was filled in")
    if human:
        _refuse({"sample", "judge", "service", "since"}, "is for a new sheet: leave out --human")
    given = read_sheet(human) if human else None
    with ApiClient(url) as client:
        if given is None:
            drawn = draw_sheet(client, judge, sample, {"service": service, "since": since})
        else:
            agreement, drawn = compare_notes(client, given)
            output.show_report(style, agreement, agreement_json, agreement_tables)
    if sheet:
        write_sheet(drawn, sheet)
        count = sum(len(one.notes) for one in drawn.sessions)
        output.note(f"{counted(len(drawn.sessions), 'session')} with {counted(count, 'note')} in {sheet}")


@evaluate_command.command("models")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("cassettes", metavar="CASSETTE [CASSETTE ...]", nargs=-1, required=True, type=FILE)
@click.option("--profile", default="balanced", show_default=True, metavar="NAME|NUMBER", help="Which findings count.")
@click.option(
    "--judges",
    "criteria",
    default="production",
    show_default=True,
    metavar="production|paper|DIR",
    help="Which judges.",
)
@labels_option
@judges_options
@format_option
def models(*, folder: Path, cassettes: tuple[Path, ...], profile: str, criteria: str, style: str, **asked: Any) -> None:
    """Replay the models of several cassettes over a folder's traces, and show them beside each other.

    Give the options with which the cassettes were recorded. docs/evaluate.md tells what every table says.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.models_report import compare_models, models_json, models_tables

    _refuse(REPLAYED, "is what the cassettes hold: leave it out")
    with progress_bar() as progress:
        report = compare_models(options_from(folder, criteria, asked, profile=profile), cassettes, progress)
    output.show_report(style, report, models_json, models_tables)


REPLAYED = {"model", "api_base", "api_key_env", "budget", "cassette", "cassette_mode", "prompts"}
"""Options that say whom to ask: a replay asks nobody."""


@evaluate_command.command("frameworks")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--shuffle", type=int, metavar="SEED", help="Take spans and log records in random order.")
@click.option("--label", default="", metavar="LABEL", help="Only the captures in this folder of DIR.")
@click.option("--list", "listed", is_flag=True, help="Show what the exports cannot tell, and by which rule.")
@click.option("--damage", is_flag=True, help="Damage each capture in many ways, and score what is left.")
@format_option
def frameworks(*, folder: Path, shuffle: int | None, label: str, listed: bool, damage: bool, style: str) -> None:
    """Rebuild captures of agent frameworks (DIR/LABEL/NAME.zip, NAME.meta.json) and score what comes out.

    docs/frameworks.md tells what every line of the tables says.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.frameworks.report import as_json, as_list, as_tables
    from tracejury.collector.evaluation.frameworks.run import evaluate_frameworks

    if damage:
        _refuse({"shuffle", "listed"}, "is for undamaged captures: leave out --damage")
        _damaged(folder, label, style)
        return
    with output.progress() as bar:
        task = bar.add_task("captures", total=None)
        found = evaluate_frameworks(
            folder,
            label=label,
            shuffle=shuffle,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    output.show_report(style, found, as_json, as_list if listed else as_tables)


def _damaged(folder: Path, label: str, style: str) -> None:
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.frameworks.damage.ladder import evaluate_damage
    from tracejury.collector.evaluation.frameworks.damage.ladder_report import as_json, as_tables

    with progress_bar() as progress:
        found = evaluate_damage(folder, label=label, progress=partial(progress, "captures"))
    output.show_report(style, found, as_json, as_tables)


def _refuse_unread(unread: set[str], *, for_judges: bool) -> None:
    """Refuse options that this kind of evaluation does not read."""
    alone = "is for detectors alone: leave out --judges and --model"
    _refuse(unread, alone if for_judges else "needs --judges and --model")


def _refuse(unread: set[str], why: str) -> None:
    """Refuse these options where they are given."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in unread and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[-1]} {why}")


def _detectors(
    folder: Path, profile: str, protocol: str, shuffle: int | None, labels: Path | str | None, style: str
) -> None:
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.people import read_people
    from tracejury.collector.evaluation.report import as_json, as_tables
    from tracejury.collector.evaluation.run import evaluate_trail

    with progress_bar() as progress:
        report = evaluate_trail(
            folder,
            profile=profile,
            protocol=protocol,
            shuffle=shuffle,
            people=read_people(labels) if labels else None,
            progress=lambda stage: progress(stage, 0, 0),
        )
    output.show_report(style, report, as_json, as_tables)


def _judges(folder: Path, criteria: str, asked: dict[str, Any], profile: str, style: str) -> None:
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.judges_json import judges_json
    from tracejury.collector.evaluation.judges_report import evaluate_judges
    from tracejury.collector.evaluation.judges_tables import judges_tables

    with progress_bar() as progress:
        report = evaluate_judges(options_from(folder, criteria or "production", asked, profile=profile), progress)
    answered = report.repetitions[0].answered
    if answered.failures and not answered.scored:  # figures of no answer would all be 0
        raise Failure(f"no agent run has a score: {max(answered.failures, key=answered.failures.__getitem__)}")
    output.show_report(style, report, judges_json, judges_tables)


def _tokens(folder: Path, criteria: str, asked: dict[str, Any], profile: str, style: str) -> None:
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.token_report import report_tokens
    from tracejury.collector.evaluation.token_tables import token_json, token_tables

    with progress_bar() as progress:
        report = report_tokens(options_from(folder, criteria or "production", asked, profile=profile), progress)
    output.show_report(style, report, token_json, token_tables)
