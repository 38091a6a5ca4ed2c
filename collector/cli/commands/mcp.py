"""`tracejury mcp`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import url_option


@click.command("mcp")
@url_option
def mcp_command(*, url: str) -> None:
    """Answer a coding agent's questions over MCP on stdin and stdout (docs/mcp.md), from a running collector.

    The collector itself answers them at /mcp of its API, too.
    """
    import asyncio

    from tracejury.collector.mcp.stdio import answer_stdio

    asyncio.run(answer_stdio(url))
