"""`tracejury architecture`."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from tracejury.collector.cli.options import api_options, show_rows

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient


@click.command("architecture")
@click.argument("service", required=False)
@click.option("--set", "given", type=click.File("rb"), metavar="FILE", help="Use this text instead (-: stdin).")
@click.option("--clear", is_flag=True, help="Use the derived one again.")
@click.option("--history", is_flag=True, help="List all versions.")
@api_options
def architecture_command(
    *, service: str | None, given: IO[bytes] | None, clear: bool, history: bool, style: str, url: str
) -> None:
    """Show or edit what LLM judges are told about a service: who delegates to whom, tools, cadence, limits.

    It is derived from the service's trajectories; a text of your own goes before it. Without SERVICE: list all.
    """
    from tracejury.collector.api.client import ApiClient

    if sum((given is not None, clear, history)) > 1:
        raise click.UsageError("use one of --set, --clear and --history")
    if service is None and (given or clear or history):
        raise click.UsageError("name the SERVICE")
    text = _text(given) if given is not None else None
    with ApiClient(url) as client:
        if service is None:
            _list(client, None, style)
        elif history:
            _list(client, service, style)
        elif clear:
            _clear(client, service, style)
        else:
            _one(client, service, text, style)


def _text(given: IO[bytes]) -> str:
    try:
        return given.read().decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"{given.name} is not text in UTF-8") from None


def _list(client: ApiClient, service: str | None, style: str) -> None:
    from tracejury.collector.cli.render.ledger import architectures_table

    rows = client.architectures() if service is None else client.architecture_versions(service)
    show_rows(rows, architectures_table, style)


def _one(client: ApiClient, service: str, text: str | None, style: str) -> None:
    from tracejury.collector.cli.render.ledger import architecture_text, architectures_table

    row = client.architecture(service) if text is None else client.edit_architecture(service, text)
    show_rows(row, architecture_text if text is None else lambda edited: architectures_table([edited]), style)


def _clear(client: ApiClient, service: str, style: str) -> None:
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.ledger import architectures_table

    answer = client.clear_architecture(service)
    if style == "json":
        output.show_json(answer)
        return
    output.show(architectures_table([answer.current] if answer.current else []))
    if not answer.cleared:
        output.note("there was no edited one")
