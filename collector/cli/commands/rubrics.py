"""`tracejury rubrics`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from tracejury.collector.cli.interrupts import going_on, run_resumable
from tracejury.collector.cli.judges_options import config_option, progress_bar, session_labels_option
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.collector.cli.options import format_option

if TYPE_CHECKING:
    from tracejury.judges.rubrics.rubric_set import RubricSet


@click.group("rubrics")
def rubrics_command() -> None:
    """Learn rubrics from sessions that people labelled good or bad."""


@rubrics_command.command("learn")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="SET.yaml",
    help="A new file for the set, which a person reads and accepts.",
)
@session_labels_option
@click.option(
    "--method",
    type=click.Choice(["scope", "spur"]),
    default="scope",
    show_default=True,
    help="scope: areas, reasons, weights; spur: the baseline, three reasons a session.",
)
@click.option("--no-areas", is_flag=True, help="SCOPE without areas: all reasons of a label are one group.")
@click.option(
    "--learn-from",
    type=click.Choice(["good", "satisfied"]),
    default=None,
    help="The label that is learned (default: good for scope, satisfied for spur).",
)
@config_option
@model_options
@format_option
def learn_command(
    *,
    folder: Path,
    out: Path,
    labels: Path | str | None,
    method: Literal["scope", "spur"],
    no_areas: bool,
    learn_from: Literal["good", "satisfied"] | None,
    config_file: Path | None,
    style: str,
    **asked: Any,
) -> None:
    """Learn a set of rubrics: what makes sessions good or bad.

    DIR has traces/, and labels.jsonl unless --labels is given: `labels export DIR/labels.jsonl --traces DIR` writes
    both, `situations generate` simulated ones. A person then reads the set and accepts it, and the pack scope judges by
    it.

    With --cassette, a command that was stopped goes on where it was.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.rubrics import learning_remarks, rubric_set_json, rubric_set_table
    from tracejury.collector.evaluation.labelled_sessions import labelled_sessions
    from tracejury.collector.evaluation.learn_rubrics import learn_rubrics
    from tracejury.collector.evaluation.rubrics_file import check_new, write_rubric_set
    from tracejury.collector.evaluation.session_model import open_session_model
    from tracejury.judges.rubrics.learning.training import Learning, training

    check_new(out)
    config = judges_section(asked, config_file)
    label = learn_from or ("satisfied" if method == "spur" else "good")
    how = Learning(method, not no_areas, label, config.max_answer_tokens)

    async def learned() -> RubricSet:
        read = labelled_sessions(folder, labels)
        training(read.sessions, how)  # what is wrong with them should not cost a look at the model
        async with open_session_model(config, cassette_options(asked)) as model:
            return await learn_rubrics(read.sessions, how, model, read.left_out, progress)

    with progress_bar() as progress:
        rubrics = run_resumable(learned(), going_on(asked["cassette"]))
    write_rubric_set(out, rubrics)
    output.show_report(style, rubrics, rubric_set_json, rubric_set_table)
    for remark in learning_remarks(rubrics):
        output.note(remark)
    output.note(f"{len(rubrics.rubrics)} rubrics in {out}: read them there, then write your name behind accepted_by")
