"""`tracejury alerts test`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.failures import Failure
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.errors import NotFoundError, TracejuryError
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import iso_time

if TYPE_CHECKING:
    from tracejury.collector.config import CollectorConfig
    from tracejury.collector.outbound.channels.channel import Channel
    from tracejury.collector.outbound.channels.config import ChannelConfig


@click.command("test")
@click.argument("name")
@click.option(
    "--config", "file", type=click.Path(path_type=Path), required=True, help="The collector's configuration file."
)
def test_command(*, name: str, file: Path) -> None:
    """Send a test alert to the channel NAME, or to all channels of the rule NAME; exits with 1 if one fails.

    No collector needs to run. A pager is told at once that it is resolved, too.
    """
    from tracejury.collector.config import load_config
    from tracejury.collector.outbound.channels.build import build_channels

    config = load_config(file)
    wanted = channels_of(config, name)
    built = build_channels(wanted)
    alert = test_alert(config.api.public_url, time.time_ns())
    problems = asyncio.run(_send_all([(each, built[each.name]) for each in wanted], alert))
    if problems:
        raise Failure(*problems)


def channels_of(config: CollectorConfig, name: str) -> Sequence[ChannelConfig]:
    """The channel of a name, or those of the rule of that name.

    Raises:
        NotFoundError: there is neither.
    """
    rules = {rule.name: rule.channels for rule in config.alerts.rules}
    names = [name] if name in {channel.name for channel in config.channels} else rules.get(name, ())
    found = [channel for channel in config.channels if channel.name in names]
    if not found:
        known = ", ".join([*(channel.name for channel in config.channels), *rules]) or "none in the file"
        raise NotFoundError(f"no channel or rule {name[:100]!r}: there are {known}")
    return found


def test_alert(link: str, now: int) -> Alert:
    """An alert that says that it is none; `link`: of the pages, "" where that is not known; `now` in unix nanos."""
    return Alert(
        id=f"test-{now}",
        project="",
        rule="test",
        key=f"test-{now}",
        state=AlertState.FIRING,
        severity=Severity.LOW,
        title="Test alert of tracejury",
        text="Sent by `tracejury alerts test`: the channel works, and nothing is wrong.",
        facts=(("sent", iso_time(now) or ""),),
        link=link,
        at=now,
    )


async def _send_all(channels: Sequence[tuple[ChannelConfig, Channel]], alert: Alert) -> list[str]:
    """Tell of each channel that works; returns why the others do not."""
    sent = [_send(config, channel, alert) for config, channel in channels]
    return [problem for problem in await asyncio.gather(*sent) if problem]


async def _send(config: ChannelConfig, channel: Channel, alert: Alert) -> str:
    try:
        await channel.send(alert)
        if config.kind.is_pager:
            await channel.send(replace(alert, id=f"{alert.id}-resolved", state=AlertState.RESOLVED))
    except TracejuryError as error:
        return str(error)
    done = "opened and closed a test incident" if config.kind.is_pager else "took the test alert"
    click.echo(f"channel {config.name} ({config.kind}) {done}")
    return ""
