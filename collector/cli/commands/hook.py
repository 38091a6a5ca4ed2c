"""`tracejury hook`."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from tracejury.collector.cli.failures import Failure
from tracejury.collector.cli.options import profile_option, url_option

PATIENCE: Final = 1.8
"""Seconds from the start of the process on; the agent waits for less than 2."""
MOST_INPUT: Final = 1_000_000
STDIN: Final = 0
MOST_TOLD: Final = 5

BLOCKING: Final = {"Stop": "block", "SubagentStop": "block", "AfterAgent": "deny"}
"""By event the decision that has the agent go on."""


class _Hook(click.Command):
    """Options that there are not end it with 1: 2 would have an agent go on, each time that it wants to stop."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise Failure(error.format_message()) from None


@click.command("hook", cls=_Hook)
@click.option("--block", is_flag=True, help="Have the agent go on until this is mended, once; else it is only told.")
@profile_option
@url_option
def hook_command(*, block: bool, profile: str, url: str) -> None:
    """Tell a coding agent that is about to stop what its session got wrong and can still mend.

    For the stop hooks of Claude Code, Codex and Gemini CLI (docs/coding-agents.md): it reads their JSON and answers in
    theirs. Silent where all is well, where the collector knows no such session, is away or slow; the exit code is 0.
    """
    answers: list[str] = []
    asking = threading.Thread(target=_answer, args=(answers, url, profile), kwargs={"block": block}, daemon=True)
    asking.start()
    asking.join(max(0.0, PATIENCE - _since_start()))
    if answers:
        click.echo(answers[0])


def _answer(answers: list[str], url: str, profile: str, *, block: bool) -> None:
    """Put in `answers` what the agent is to read, if anything."""
    event = _event()
    session = event.get("session_id")
    if not isinstance(session, str) or not session or event.get("stop_hook_active"):
        return  # one round is enough: an agent that cannot mend it must be able to end
    if text := _ask(url, session, profile):
        decision = BLOCKING.get(str(event.get("hook_event_name")))
        answer = {"decision": decision, "reason": text} if block and decision else {"systemMessage": text}
        answers.append(json.dumps(answer))


def _since_start() -> float:
    """Seconds since this process was started, 0 where the system does not tell: a busy machine starts it slowly."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def _event() -> Mapping[str, Any]:
    said = bytearray()
    try:
        # Not by `sys.stdin`: at its end the interpreter fails on a thread that still reads from it.
        while len(said) < MOST_INPUT and (more := os.read(STDIN, MOST_INPUT)):
            said += more
        event = json.loads(said)
    except (OSError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _ask(url: str, session: str, profile: str) -> str:
    """What is to be told, "" for nothing: whatever goes wrong, a hook must not be in anybody's way."""
    import httpx

    from tracejury.collector.api.client_connection import content_of, opened
    from tracejury.schemas.errors import TracejuryError

    try:
        with opened(url, PATIENCE, None) as http:
            answer = http.get("/api/mendable", params={"session": session, "profile": profile})
            items = content_of(answer, url)["items"]
            return _told(items) if items else ""
    except (TracejuryError, httpx.HTTPError, KeyError, TypeError, ValueError):
        return ""


def _told(items: list[dict[str, Any]]) -> str:
    from tracejury.collector.mcp.quoted import between_marks, cut
    from tracejury.schemas.text.counting import counted

    told = [
        {
            "error": cut(f"{item['title']} ({item['severity']}): {item['explanation']}", 400),
            "span": item["span_id"],
            "trace": item["trace_id"],
        }
        for item in items[:MOST_TOLD]
    ]
    more = f" The first {MOST_TOLD}:" if len(items) > MOST_TOLD else ""
    head = f"tracejury: {counted(len(items), 'error')} of this session can still be mended.{more}"
    return f"{head}\n{between_marks(told)}"
