"""`tracejury errors`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.failures import EXIT_FOUND, Failure
from tracejury.collector.cli.interrupts import heed_ctrl_c
from tracejury.collector.cli.lists_options import columns_option
from tracejury.collector.cli.options import (
    api_options,
    filter_options,
    limit_option,
    profile_option,
    show_rows,
    since_option,
)
from tracejury.collector.cli.saved_view import view_option, with_view
from tracejury.schemas.filters import ERROR_FILTERS, SPAN_FILTER
from tracejury.schemas.list_columns import COLUMNS_OF_ERRORS
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient
    from tracejury.schemas.wire.errors import ErrorJson

SEVERITIES = click.Choice([severity.value for severity in Severity], case_sensitive=False)


@click.command("errors")
@view_option
@filter_options(SPAN_FILTER, *ERROR_FILTERS)
@profile_option
@since_option
@click.option("--decisive", is_flag=True, help="Only those that decided the wrong outcome of their trace.")
@click.option("--follow", is_flag=True, help="Go on and show new errors as they come, each once, until Ctrl-C.")
@columns_option(COLUMNS_OF_ERRORS)
@limit_option
@click.option(
    "--fail-on",
    type=SEVERITIES,
    metavar="LOW|MEDIUM|HIGH",
    help=f"Exit with {EXIT_FOUND} if one is this severe or more.",
)
@api_options
@click.pass_context
def errors_command(
    ctx: click.Context,
    /,
    *,
    view: str,
    decisive: bool,
    follow: bool,
    limit: int,
    fail_on: str | None,
    style: str,
    url: str,
    **given: Any,
) -> None:
    """List errors, latest first: what went wrong, at which span, with the quote that shows it.

    An error is one mistake, however many rules and judges saw it. With --span: those that were decided, shown, read or
    repeated at that span.

    With --fail-on: first waits, up to 15 s, until the traces in question are judged to their end, and fails where one
    was not judged at all.

    With --columns: a line an error.

    With --follow: those from --since on (without it: from now on), earliest first, as JSON lines with --format json;
    --limit then ends it after that many.
    """
    from tracejury.collector.api.client import ApiClient

    if decisive and given["span"]:
        raise click.UsageError("--decisive looks at all spans of a trace: leave --span out")
    limited = ctx.get_parameter_source("limit") is not click.core.ParameterSource.DEFAULT
    with ApiClient(url) as client:
        saved, options = with_view(client, view, "/errors", given)
        columns = options.pop("columns", ()) or saved.pop("columns", ())
        filters = {**saved, **{name: value for name, value in options.items() if value}}
        filters |= {"decisive": "true"} if decisive else {}
        if follow:
            bad = _follow(client, filters, limit if limited else 0, fail_on, style)
        else:
            bad = _list(client, filters, limit, fail_on, style, columns)
    if bad:
        ctx.exit(EXIT_FOUND)


def _list(
    client: ApiClient, filters: dict[str, Any], limit: int, fail_on: str | None, style: str, columns: Sequence[str]
) -> bool:
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.lists import chosen_errors
    from tracejury.collector.cli.render.tables import errors_table
    from tracejury.collector.cli.render.unproven import unproven_remark
    from tracejury.collector.cli.waiting import wait_until_judged

    waited = wait_until_judged(client, filters) if fail_on else None
    if waited and waited.open:
        output.note("some of these traces are still open: more may be found in them")
    rows, more = client.errors(filters, limit)
    table = (lambda found: chosen_errors(found, columns)) if columns else errors_table
    show_rows(rows, table, style, more_than=limit if more else None)
    if style != "json" and (remark := unproven_remark(rows)):
        output.note(remark)
    if not fail_on or waited is None:
        return False
    if more and not _any_at(rows, fail_on):
        # What decides a pipeline must not depend on how many lines are shown.
        worse = max(Severity(fail_on), Severity(filters.get("severity", fail_on)), key=lambda s: s.rank)
        rows, _ = client.errors({**filters, "severity": worse.value}, 1)
    bad = _any_at(rows, fail_on)
    if not bad and not waited.traces:
        raise Failure("nothing was judged: no trace that these filters concern has arrived")
    if not bad and waited.unjudged:
        were = "was" if waited.unjudged == 1 else "were"
        of = f"{waited.unjudged} of {counted(waited.traces, 'trace')}"
        raise Failure(f"{of} {were} not judged yet: ask again later")
    return bad


def _follow(client: ApiClient, filters: dict[str, Any], limit: int, fail_on: str | None, style: str) -> bool:
    from tracejury.collector.api.client_requests import UnknownNameError
    from tracejury.collector.cli import output
    from tracejury.collector.cli.follow import Follower, follow
    from tracejury.collector.cli.render.tables import error_block

    try:
        client.errors(filters, 1)
    except UnknownNameError as error:  # it may come
        output.note(f"{error}")
    bad = False
    shown = 0
    heed_ctrl_c()
    try:
        for row in follow(Follower(client, filters, filters.pop("since", "")), on_gap=output.note):
            if style == "json":
                output.show_json_line(row)
            else:
                output.show(error_block(row))
            shown += 1
            bad = bad or (fail_on is not None and _any_at([row], fail_on))
            if shown == limit:
                break
    except KeyboardInterrupt:
        pass  # how a follower ends
    return bad


def _any_at(rows: Iterable[ErrorJson], severity: str) -> bool:
    least = Severity(severity).rank
    return any(Severity(row.severity).rank >= least for row in rows)
