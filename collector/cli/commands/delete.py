"""`tracejury delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from tracejury.collector.cli.options import Moment, api_options

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient

SECONDS: Final = 600.0
"""How long a deletion may take."""
ID_DIGITS: Final = 32
"""Hexadecimal digits of a whole trace id."""


@click.command("delete")
@click.option("--trace", "trace_id", default="", metavar="ID", help="This trace, and those that are one run with it.")
@click.option("--user", default="", metavar="ID", help="All that names this user, labels included.")
@click.option("--session", default="", metavar="ID", help="All traces of this session.")
@click.option("--service", default="", help="With --before: of this service.")
@click.option("--before", type=Moment(), default="", help="What arrived before: a length back from now, or ISO 8601.")
@click.option("--labels", is_flag=True, help="Also what people said of them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@api_options
def delete_command(
    *, trace_id: str, user: str, session: str, service: str, before: str, labels: bool, yes: bool, style: str, url: str
) -> None:
    """Delete traces with all that was found in them, for good, and show the receipt. Rates no longer count them.

    The beginning of an ID is enough if no other one begins so; the whole one is shown.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.receipts import receipt_lines
    from tracejury.schemas.text.counting import counted
    from tracejury.schemas.text.terminal import one_line

    if sum(map(bool, (trace_id, user, session, service))) != 1 or bool(service) != bool(before):
        raise click.UsageError("name one of --trace ID, --user ID, --session ID, or --service NAME with --before TIME")
    with ApiClient(url, timeout=SECONDS) as client:
        given = trace_id or session
        trace_id, session = _whole_trace_id(client, trace_id), _whole_session_id(client, session)
        whose = {"trace": trace_id, "user": user, "session": session}
        named = [f"{kind} {an_id}" for kind, an_id in whose.items() if an_id]
        what = named[0] if named else f"{service} before {before}"
        if (trace_id or session) != given:
            output.note(f"{one_line(given, 200)} is the beginning of {one_line(what, 200)}")
        if not yes:
            click.confirm(f"Delete {one_line(what, 200)}?", abort=True, err=True)
        if trace_id:
            deleted = client.delete_trace(trace_id, labels=labels)
        else:
            deleted = client.delete_traces(user=user, session=session, service=service, before=before, labels=labels)
    if style == "json":
        output.show_json(deleted.model_dump())
    else:
        output.plain(f"{counted(deleted.deleted, 'trace')} deleted")
        for line in receipt_lines(deleted.receipt):
            output.note(line)


def _whole_trace_id(client: ApiClient, given: str) -> str:
    """Raises ConfigError where several ids begin so."""
    from tracejury.schemas.errors import NotFoundError
    from tracejury.schemas.filters import an_id

    if not given or len(an_id(given)) == ID_DIGITS:
        return given
    try:
        return client.whole_trace_id(given)
    except NotFoundError:  # its labels may be stored
        return given


def _whole_session_id(client: ApiClient, given: str) -> str:
    """Raises ConfigError where several ids begin so."""
    from tracejury.schemas.errors import NotFoundError

    try:
        return client.session(given).session_id if given else ""
    except NotFoundError:
        return given
