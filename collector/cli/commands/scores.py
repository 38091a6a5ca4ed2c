"""`tracejury scores`: what end users and evaluators say of traces, spans and sessions."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.options import api_options, filter_options, limit_option, show_rows, since_option
from tracejury.schemas.filters import SCORE_FILTERS


@click.group("scores")
def scores_command() -> None:
    """Scores that others give: thumbs of end users, results of evaluators. They change no figure by themselves."""


@scores_command.command("list")
@filter_options(*SCORE_FILTERS)
@click.option("--waiting", is_flag=True, help="Only those of what has not arrived yet.")
@since_option
@limit_option
@api_options
def list_scores(*, waiting: bool, limit: int, style: str, url: str, **given: str) -> None:
    """List scores, latest arrival first."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.scores import scores_table

    with ApiClient(url) as client:
        rows, more = client.scores(given | {"waiting": "true" if waiting else ""}, limit)
    show_rows(rows, scores_table, style, more_than=limit if more else None)


@scores_command.command("add")
@click.argument("name", metavar="NAME")
@click.argument("value", default="", metavar="[VALUE]")
@click.option("--trace", "trace_id", default="", metavar="ID", help="Of this trace, stored or not.")
@click.option("--span", "span_id", default="", metavar="ID", help="Of this span.")
@click.option("--session", "session_id", default="", metavar="ID", help="Of this session as a whole.")
@click.option("--id", "score_id", default="", metavar="ID", help="Another score of this id replaces it.")
@click.option("--label", default="", metavar="TEXT", help="In words.")
@click.option("--source", default="", metavar="NAME", help="Who says so.")
@click.option("--why", default="", metavar="TEXT", help="An explanation.")
@api_options
def add(*, name: str, value: str, score_id: str, why: str, style: str, url: str, **given: str) -> None:
    """Give the score VALUE (a number) or --label of the name NAME to a trace, a span or a session.

    With --id and neither of them the score of that id is withdrawn.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.schemas.text.scores import finite_number

    item: dict[str, Any] = {**given, "name": name, "id": score_id, "explanation": why}
    if value:
        if (number := finite_number(value)) is None:
            raise click.UsageError(f"{value!r} is no number: use --label for words")
        item["value"] = number
    with ApiClient(url) as client:
        taken = client.add_scores([item])
    if style == "json":
        output.show_json(taken.model_dump())
    else:
        output.plain(
            f"score {taken.ids[0]} " + ("is of a deleted trace, and not stored" if taken.left_out else "stored")
        )
