"""`tracejury redact`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.options import api_options, limit_option, since_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracejury.collector.api.client import ApiClient
    from tracejury.processors.redact.spans import Redacted, Redactor


@click.command("redact")
@click.argument("traces", nargs=-1, metavar="[TRACE]...")
@click.option("--dry-run", is_flag=True, help="Required: nothing that is stored is changed.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The file whose section `redaction` is tried; default: all ready-made sets.",
)
@since_option
@limit_option
@api_options
def redact_command(
    *, traces: tuple[str, ...], dry_run: bool, config: Path | None, since: str, limit: int, style: str, url: str
) -> None:
    """Show what rules of redaction would take out of stored traces, by rule and attribute; no value is printed.

    Without TRACE and --since: of the last day.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.options import Moment
    from tracejury.collector.cli.render.redaction import redacted_table

    if not dry_run:
        raise click.UsageError(
            "rules apply to what arrives, stored traces stay as they are: add --dry-run to see what rules would take "
            "out of them, or remove them with tracejury delete"
        )
    if traces and since:
        raise click.UsageError("name either traces or --since")
    redactor = _redactor(config)
    with ApiClient(url) as client:
        found, more = list(traces), False
        if not traces:
            since = since or Moment().convert("1d", None, None)
            rows, more = client.traces({"since": since}, limit)
            found = [row.trace_id for row in rows]
        redacted = _tried(client, redactor, found)
    if style == "json":
        output.show_json(
            {
                "traces": len(found),
                "items": [
                    {"rule": rule, "key": key, "values": count}
                    for (rule, key), count in sorted(redacted.counts.items())
                ],
            }
        )
    else:
        output.show(redacted_table(redacted.counts, len(found)))
    if more:
        output.note(f"there are more than {limit}: raise --limit to see them")


def _redactor(config: Path | None) -> Redactor:
    """Raises ConfigError: the file is wrong, or has no rules."""
    from tracejury.collector.config import load_config
    from tracejury.collector.otlp.redaction.build import rehearsal
    from tracejury.collector.otlp.redaction.config import RedactionConfig
    from tracejury.processors.redact.ready import READY
    from tracejury.schemas.errors import ConfigError

    asked = load_config(config).redaction if config else RedactionConfig.model_validate({"sets": tuple(READY)})
    if not asked.on:
        raise ConfigError(f"{config}: redaction has neither sets nor rules")
    return rehearsal(asked)


def _tried(client: ApiClient, redactor: Redactor, trace_ids: Sequence[str]) -> Redacted:
    """The counts over the traces, each read once."""
    from tracejury.collector.cli.received import received
    from tracejury.processors.redact.spans import Redacted

    total = Redacted()
    for trace_id in trace_ids:
        for batch in received(client, trace_id, events=False):
            one = Redacted()
            redactor.batch(batch, one)
            total.counts += one.counts
    return total
