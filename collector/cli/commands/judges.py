"""`tracejury judges`: which LLM judges there are, what they look for, and how two versions differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.judges_options import judges_options, labels_option, options_from, progress_bar
from tracejury.collector.cli.options import format_option

if TYPE_CHECKING:
    from tracejury.judges.llm.members import LlmJudges

SET = click.option(
    "--set", "criteria", default="production", show_default=True, metavar="production|paper|DIR", help="Which criteria."
)


@click.group("judges")
def judges_command() -> None:
    """LLM judges: what they look for, and how two versions differ."""


@judges_command.command("list")
@SET
@click.option("--model", default="", help="The model whose judges they are: part of a judge's version.")
@format_option
def list_judges(*, criteria: str, model: str, style: str) -> None:
    """List the judges of a criteria set."""
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.criteria_tables import criteria_json, criteria_table

    output.show_report(style, _panel(criteria, model), criteria_json, criteria_table)


@judges_command.command("show")
@click.argument("name")
@SET
@click.option("--rules", is_flag=True, help="All that stands before a transcript, with the rules for all judges.")
def show_judge(*, name: str, criteria: str, rules: bool) -> None:
    """Show what a judge is told: NAME as `judges list` has it, or its code."""
    from tracejury.collector.cli import output
    from tracejury.judges.llm.case import Stage
    from tracejury.judges.llm.prompt_rules import criteria_text, system_text
    from tracejury.schemas.text.terminal import safe

    (judge,) = _panel(criteria, "", name).judges
    stage = Stage.PLAN if Stage.PLAN in judge.stages else Stage.CLOSING
    text = (
        system_text(_panel(criteria, "").criteria.rules, [judge], stage, lookup=True) if rules else criteria_text(judge)
    )
    output.plain(safe(text))


@judges_command.command("diff")
@click.argument("a")
@click.argument("b")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--profile", default="balanced", show_default=True, metavar="NAME|NUMBER", help="Which findings count.")
@labels_option
@judges_options
@format_option
def diff_judges(*, a: str, b: str, folder: Path, profile: str, style: str, **asked: Any) -> None:
    """Compare versions A and B on the labelled traces of DIR: with --labels those that people reviewed.

    A and B are criteria sets (a name or a folder), which are put before the model, or reports of
    `tracejury evaluate trail --judges … --format json`.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.evaluation.diff import judges_diff
    from tracejury.collector.evaluation.diff_tables import diff_json, diff_tables

    with progress_bar() as progress:
        difference = judges_diff(a, b, options_from(folder, "production", asked, profile=profile), progress)
    output.show_report(style, difference, diff_json, diff_tables)


def _panel(criteria: str, model: str, *judges: str) -> LlmJudges:
    from tracejury.collector.judging.llm.build import panel_from
    from tracejury.collector.judging.model.config import LlmConfig

    panel, _ = panel_from(LlmConfig(criteria=criteria, model=model, judges=judges))
    return panel
