"""`tracejury labels`: what people say of findings, runs and sessions, and what to label next."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from tracejury.collector.cli.labels_options import as_option
from tracejury.collector.cli.options import (
    Decorator,
    Moment,
    api_options,
    filter_options,
    limit_option,
    show_rows,
    simulated_option,
    since_option,
    url_option,
)
from tracejury.schemas.annotations import LABELS, Annotation
from tracejury.schemas.filters import LABEL_FILTERS, SESSION_LABEL_FILTERS, named
from tracejury.schemas.queries.labels import Purpose
from tracejury.schemas.text.counting import counted

from .labels_import import import_labels
from .labels_say import (
    add,
    compare,
    delete_labels,
    label_outcome,
    label_pattern,
    label_session,
    review,
    score,
    take_back,
)

by_option: Decorator = click.option("--by", "annotator", default="", metavar="NAME", help="Only of this annotator.")
until_option: Decorator = click.option("--until", type=Moment(), default="", help="Only before this point in time.")
service_option: Decorator = filter_options(*named(LABEL_FILTERS, "service"))


@click.group("labels")
def labels_command() -> None:
    """Labels of people: opinions, missed errors, scores, reviews, sessions, preferences; and what to label next."""


@labels_command.command("queue")
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["calibration", "learning"]),
    default="calibration",
    show_default=True,
    help="A random sample that rates are corrected by, or what is disputed.",
)
@click.option("--sessions", is_flag=True, help="Sessions instead of agent runs: a random sample.")
@service_option
@since_option
@until_option
@simulated_option
@click.option("--overlap", type=click.FloatRange(0, 1), help="The share that everybody is asked for (default: 0.2).")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Show at most this many.")
@as_option
@api_options
def show_queue(
    *, purpose: str, sessions: bool, limit: int, overlap: float | None, simulated: bool, style: str, url: str,
    **given: str,
) -> None:  # fmt: skip
    """List the agent runs, or the sessions, to look at next, in this order."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.labels import queue_table

    if sessions and purpose != Purpose.CALIBRATION:
        raise click.UsageError("--sessions are a random sample: leave out --for")
    given |= {"purpose": Purpose.SESSIONS if sessions else purpose}
    filters = given | {"limit": str(limit), "overlap": "" if overlap is None else str(overlap)}
    if simulated:
        filters["simulated"] = "true"
    with ApiClient(url) as client:
        items = client.label_queue(filters)
        if sessions and not items and not simulated and client.label_queue(filters | {"simulated": "true"}):
            output.note("no session of people is left to label; simulated ones are: add --simulated")
    show_rows(items, queue_table, style)


@labels_command.command("list")
@click.option(
    "--kind",
    type=click.Choice([kind.plural for kind in LABELS]),
    default=Annotation.plural,
    show_default=True,
    help="What to list.",
)
@filter_options(*named(LABEL_FILTERS, "trace", "run"), SESSION_LABEL_FILTERS[0])
@by_option
@service_option
@since_option
@click.option("--withdrawn", is_flag=True, help="Also those that were taken back.")
@limit_option
@api_options
def list_labels(*, kind: str, withdrawn: bool, limit: int, style: str, url: str, **given: str) -> None:
    """List what people said, latest first."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.labels import labels_table

    with ApiClient(url) as client:
        rows, more = client.labels(kind, given | {"withdrawn": "true" if withdrawn else ""}, limit)
    show_rows(rows, labels_table(kind), style, more_than=limit if more else None)


@labels_command.command("quality")
@service_option
@since_option
@until_option
@api_options
def show_quality(*, style: str, url: str, **given: str) -> None:
    """Show precision and recall of each judge and detector against labels, and how much is labelled."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.labels import quality_tables

    with ApiClient(url) as client:
        page = client.label_quality(given)
    show_rows(page, quality_tables, style)


@labels_command.command("agreement")
@service_option
@since_option
@until_option
@api_options
def show_agreement(*, style: str, url: str, **given: str) -> None:
    """Show how often measures and scores go with which of two sessions people prefer (`labels compare`)."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.labels import agreement_table

    with ApiClient(url) as client:
        page = client.label_agreement(given)
    show_rows(page, agreement_table, style)


@labels_command.command("export")
@click.argument("file", type=click.File("wb"), default="-")
@filter_options(*named(LABEL_FILTERS, "trace"), SESSION_LABEL_FILTERS[0])
@by_option
@service_option
@since_option
@click.option(
    "--traces",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also the reviewed traces and those of labelled sessions, to DIR/traces: what judges are compared on.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Also what scores of others say of sessions that nobody has labelled (labels outcome).",
)
@url_option
def export_labels(*, file: IO[bytes], folder: Path | None, scores: bool, url: str, **given: str) -> None:
    """Write all labels to FILE (-: stdout) as JSON lines, withdrawn ones too; `labels import` takes them."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.reviewed_traces import Reviewed, traces_of, write_traces

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)  # FILE may be in it
    with ApiClient(url) as client:
        if given["service"]:  # the list of the same service refuses an unknown one; a stream could only be empty
            client.labels(Annotation.plural, {"service": given["service"]}, 1)
        reviewed = Reviewed()
        pieces = client.export_labels({**given, "scores": "true" if scores else ""})
        for piece in output.for_terminal(pieces) if file.isatty() else pieces:
            file.write(piece)
            reviewed.feed(piece)
        if folder is not None:
            of_sessions = (one for session in reviewed.sessions for one in traces_of(client, *session))
            written, gone = write_traces(client, sorted({*reviewed.trace_ids, *of_sessions}), folder)
            lost = f"; {gone} are not stored any more" if gone else ""
            output.note(f"{counted(written, 'labelled trace')} in {folder / 'traces'}{lost}")


for _command in (
    add,
    take_back,
    score,
    review,
    compare,
    label_session,
    label_pattern,
    label_outcome,
    delete_labels,
    import_labels,
):
    labels_command.add_command(_command)
