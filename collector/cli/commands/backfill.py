"""`tracejury backfill --from SOURCE`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.failures import EXIT_ERROR
from tracejury.collector.cli.options import format_option, tls_options
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import LAST, iso_time, parse_since
from tracejury.schemas.text.terminal import one_line

if TYPE_CHECKING:
    from rich.table import Table

    from tracejury.collector.backfill.backfill import BackfillResult


@click.command("backfill")
@click.option(
    "--from", "source", required=True, metavar="SOURCE", envvar="TRACEJURY_BACKFILL_FROM", show_envvar=True,
    help="clickhouse://user:password@host:8123/otel.otel_traces, or a file, folder or pattern of Parquet or JSON.",
)  # fmt: skip
@click.option(
    "--since", default="", metavar="1h|30m|2d|ISO", help="Traces that begin from then on; files: default all."
)
@click.option("--until", default="", metavar="1h|30m|2d|ISO", help="Traces that begin before then (default: now).")
@click.option("--service", "services", multiple=True, metavar="NAME", help="Whole traces in which it has spans.")
@click.option(
    "--logs", default="", metavar="TABLE|FILE",
    help="Log records of these traces; none: without (default: otel_logs beside the table, if any).",
)  # fmt: skip
@click.option(
    "--endpoint", default="", metavar="URL", envvar="OTEL_EXPORTER_OTLP_ENDPOINT", show_envvar=True,
    help="Default: port 4317 (gRPC) or 4318 of this machine.",
)  # fmt: skip
@click.option(
    "--protocol", type=click.Choice(["grpc", "http"]), default="grpc", show_default=True, help="OTLP over gRPC or HTTP."
)
@click.option("--rate", type=click.IntRange(min=0), default=0, metavar="N", help="Spans a second at most.")
@click.option("--url", default="", help="The API of the collector that judges: nothing is sent while judging lags.")
@click.option("--state", type=click.Path(path_type=Path, dir_okay=False), help="Default: in .tracejury/backfill.")
@click.option("--restart", is_flag=True, help="Send all again, also what an earlier run has sent.")
@click.option("--dry-run", is_flag=True, help="Count traces and spans by service, and send nothing.")
@format_option
@tls_options
@click.pass_context
def backfill_command(
    ctx: click.Context,
    /,
    *,
    source: str,
    since: str,
    until: str,
    services: tuple[str, ...],
    logs: str,
    endpoint: str,
    protocol: str,
    rate: int,
    url: str,
    state: Path | None,
    restart: bool,
    dry_run: bool,
    style: str,
) -> None:
    """Send traces that the OpenTelemetry Collector's ClickHouse exporter has stored, to be judged.

    The table is only read. What was stopped goes on where it was.
    """
    from tracejury.collector.api.client_connection import environment_key
    from tracejury.collector.backfill.backfill import BackfillEndpoint, backfill
    from tracejury.collector.backfill.judging_lag import lagging
    from tracejury.collector.backfill.progress_file import BackfillProgress, ProgressFile
    from tracejury.collector.backfill.source import identity, is_server, opened
    from tracejury.collector.backfill.window import Window
    from tracejury.collector.cli import output

    if not since and is_server(source):
        raise click.UsageError("a table may hold years: name --since")
    begun = BackfillProgress(_moment(since, "--since", 0), _moment(until, "--until", time.time_ns()))
    if begun.since >= begun.until:
        raise ConfigError(f"--since ({iso_time(begun.since)}) is not before --until ({iso_time(begun.until)})")
    file = ProgressFile(state, identity(source), since, until, sorted(services), logs, endpoint, protocol)
    if restart and not dry_run:
        file.remove()
    if not dry_run and (saved := file.load()):
        if saved.finished and (saved.since, saved.until) == (begun.since, begun.until):
            output.note(f"tracejury: all of it was sent before ({file.path}): --restart sends it again")
            return
        begun = begun if saved.finished else saved
    with ExitStack() as stack:
        behind = stack.enter_context(lagging(url))
        behind()
        read, bar = stack.enter_context(opened(source, logs)), stack.enter_context(output.progress())
        window = Window(read, begun.since, begun.until, services)
        slices = window.slices()
        window.check(slices)
        if dry_run:
            output.show_report(style, window.by_service(), _as_json, _table)
            return
        if begun.trace_id:
            at = iso_time(begun.start)
            output.note(f"tracejury: going on at {at}, after {counted(begun.traces, 'trace')} ({file.path})")
        task = bar.add_task("reading", total=None)

        def notify(result: BackfillResult) -> None:
            bar.update(task, completed=result.done, total=result.planned, description=_line(result))

        to = BackfillEndpoint(endpoint, protocol, environment_key())
        result = backfill(window, slices, file, begun, to, rate=rate, behind=behind, notify=notify)
    _report(result, style)
    if result.progress.rejected:
        ctx.exit(EXIT_ERROR)


def _report(result: BackfillResult, style: str) -> None:
    from tracejury.collector.cli import output

    done = result.progress
    for message in result.messages:
        output.note(f"tracejury: refused: {one_line(message, 300)}")
    if result.bad.count:
        named = one_line(", ".join(result.bad.named), 500)
        output.note(f"tracejury: left out {result.bad.count:,} ids or rows that are none: {named}")
    if style == "json":
        more = {"retried": result.retried, "messages": result.messages, "bad": asdict(result.bad)}
        output.show_json(asdict(done) | more)
        return
    click.echo(
        f"sent {counted(done.traces, 'trace')}, {counted(done.spans, 'span')} and {counted(done.logs, 'log record')}; "
        f"{done.rejected} refused, {result.retried} retries, {result.seconds:.1f} s"
    )


def _table(found: Sequence[tuple[str, int, int]]) -> Table:
    from rich.table import Table

    table = Table("service", "traces", "spans")
    for name, traces, spans in found:
        table.add_row(one_line(name, 100) or "-", f"{traces:,}", f"{spans:,}")
    return table


def _as_json(found: Sequence[tuple[str, int, int]]) -> list[dict[str, object]]:
    return [{"service": name, "traces": traces, "spans": spans} for name, traces, spans in found]


def _moment(text: str, option: str, default: int) -> int:
    """Unix nanos. Raises ConfigError where the text is no point in time."""
    if not text:
        return default
    try:
        return min(parse_since(text, time.time_ns()), LAST)
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from error


def _line(result: BackfillResult) -> str:
    """Traces, spans, spans a second and the time left."""
    done = result.progress
    rate = result.sent / result.seconds if result.seconds else 0.0
    left = f"{(result.planned - result.done) / rate / 60:.0f} min left" if rate else ""
    share = result.done / result.planned
    return f"{counted(done.traces, 'trace')}, {counted(done.spans, 'span')} ({share:.0%}), {rate:,.0f}/s, {left}"
