"""`tracejury demo`."""

from __future__ import annotations

import click


@click.command("demo")
@click.option("--exit", "leave", is_flag=True, help="End after the errors instead of going on serving.")
def demo_command(*, leave: bool) -> None:
    """See it at work: starts a collector (store under ./.tracejury, free ports) and runs a small agent program of ours.

    The program is a manager with a sub-agent, and some of its traces have a fault put in. It exports spans as any agent
    does; what you see is what the collector found in them.
    """
    import asyncio

    from tracejury.collector.cli.demo.session import demo

    asyncio.run(demo(go_on=not leave))
