"""`tracejury replay PATH...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.failures import EXIT_ERROR
from tracejury.collector.cli.options import tls_options
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

if TYPE_CHECKING:
    from tracejury.collector.otlp.client import ReplayResult


@click.command("replay")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option(
    "--endpoint", default="", metavar="URL", envvar="OTEL_EXPORTER_OTLP_ENDPOINT", show_envvar=True,
    help="Default: port 4317 (gRPC) or 4318 of this machine.",
)  # fmt: skip
@click.option("--fresh-ids", is_flag=True, help="Send under new trace and span ids, as if it had happened anew.")
@click.option(
    "--protocol",
    type=click.Choice(["grpc", "http", "json"]),
    default="grpc",
    show_default=True,
    help="OTLP over gRPC, as protobuf over HTTP, or as JSON over HTTP.",
)
@tls_options
@click.option(
    "--format", "formats", type=click.Choice(["table", "json", "chat"]), multiple=True, default=("table",),
    help="chat: PATHs are conversations {task, messages}, and nothing else. json: print the counts as JSON.",
)  # fmt: skip
@click.pass_context
def replay_command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[Path, ...],
    endpoint: str,
    fresh_ids: bool,
    protocol: str,
    formats: tuple[str, ...],
) -> None:
    """Send stored traces over OTLP: files and folders of OTLP protobuf, OTLP JSON or TRAIL's JSON, also gzipped.

    Sessions of coding agents are sent as traces: Claude Code's stream-json output and its own session files, and ATIF;
    and so are conversations with simulated users, JSON lines with messages as of OpenAI's chat API (--format chat).
    """
    from tracejury.collector.cli import output
    from tracejury.collector.otlp.client import replay_files

    with output.progress() as bar:
        task = bar.add_task("sending files", total=None)

        def moved(done: int, total: int, counts: ReplayResult) -> None:
            bar.update(task, completed=done, total=total, description=f"{counts.spans} spans")

        counts = replay_files(paths, endpoint, protocol, fresh_ids=fresh_ids, chat="chat" in formats, progress=moved)
    for message in counts.messages:
        output.note(f"tracejury: refused: {one_line(message, 300)}")
    for message in counts.warnings:
        output.note(f"tracejury: {one_line(message, 300)}")
    for message in counts.broken:
        output.note(f"tracejury: passed over: {one_line(message, 300)}")
    if "json" in formats:
        output.show_json(as_json(counts))
    else:
        rate = counts.sent / counts.seconds if counts.seconds else 0
        click.echo(
            f"sent {counted(counts.spans, 'span')} and {counted(counts.logs, 'log record')} in "
            f"{counted(counts.requests, 'request')}, "
            f"{counts.seconds:.1f} s ({rate:.0f} items/s); {counts.rejected} refused, {counts.retried} retries"
        )
    if counts.rejected or counts.broken:
        ctx.exit(EXIT_ERROR)


def as_json(counts: ReplayResult) -> dict[str, object]:
    """The counts for programs."""
    return {
        "requests": counts.requests,
        "spans": counts.spans,
        "logs": counts.logs,
        "rejected": counts.rejected,
        "retried": counts.retried,
        "seconds": round(counts.seconds, 3),
        "messages": list(counts.messages),
        "broken": list(counts.broken),
        "warnings": list(counts.warnings),
    }
