"""Every command that asks a collector, with the key of one project and texts that mean a terminal harm."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hook_server import SECRET
from processes import COMMAND
from two_projects import TOOL, Projects, Tenant, projects

from tracejury.collector.cli.output import for_terminal
from tracejury.collector.cli.root import COMMANDS, root

WEIRD = (
    "\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;http://evil.example\x1b\\\x1b[2J\x9b2J\u202egnp\u2066\u200b\x08\r\n"
    "=cmd|' /C calc'!A0\t[bold]b[/bold]"
)
"""Window title, clipboard, link, cleared screen (7 and 8 bits), bidi, backspace, lines, a formula, rich's markup."""
HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

ALONE = {
    "serve", "demo", "keys", "judges", "evaluate", "validate", "migrate", "store",  # no collector that runs is asked
    "talk",  # speaks to an agent, or writes files
    "replay",  # sends what stands in a file
    "backfill",  # sends what stands in a table of another collector
    "fixes",  # reads a file
    "mcp", "hook",  # speak to a coding agent, in JSON: tests/collector/mcp and test_hook.py
    "rubrics", "situations",  # read and write folders
    "regressions run",  # asks a model
    "alerts test",  # speaks to channels
}  # fmt: skip


@pytest.fixture
async def odd(served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Projects]:
    """Projects whose texts are hostile."""
    monkeypatch.setenv("HOOK", SECRET)
    async with projects(served_dsn, tmp_path, WEIRD) as made:
        yield made


def asking(one: Tenant, error: str, folder: Path) -> Mapping[str, list[list[str]]]:
    """Arguments for each command that asks a collector, about what a project has."""
    trace, service = one.trace_id, one.service
    rules = folder / "rules.yaml"
    rules.write_text("redaction: {sets: [email]}")
    lines = folder / f"{one.name}.jsonl"
    lines.write_text(
        json.dumps({"kind": "score", "annotator": "mallory", "trace_id": trace, "dimension": "GF", "score": 1})
    )
    return {
        "errors": [["--trace", trace], ["--service", service, "--profile", "0"], ["--span", TOOL, "--profile", "0"]],
        "error": [[error], [error[:8]]],
        "rates": [["--by", "agent"], ["--by", "service", "--service", service], ["--by", "model", "--compare-to",
                  f"service={service}"]],
        "performance": [["--by", "service"], ["--by", "tool", "--unit", "tool_call", "--service", service]],
        "measures": [["--service", service]],
        "patterns": [[], ["--service", service, "--profile", "0", "--state", "all"]],
        "pattern": [["x"]],
        "graph": [[], ["--service", service], [trace]],
        "compare": [[trace, trace], ["--task", "x"], ["--pattern", "x"]],
        "regressions add": [[error, "--to", str(folder / "cases"), "--profile", "0"], ["x", "--to", str(folder)]],
        "labels pattern": [["0" * 16, "--ignore", "--as", "mallory"]],
        "labels outcome": [["thumbs", "--good", ">=1", "--as", "mallory"]],
        "scores list": [[], ["--trace", trace]],
        "scores add": [["thumbs", "1", "--trace", trace]],
        "clusters": [[], ["--service", service, "--profile", "0"]],
        "traces": [[], ["--service", service], ["--text", f"{one.name}-goal"]],
        "trace": [[trace], [trace[:8]]],
        "sessions": [[], ["--service", service]],
        "session": [[one.session]],
        "doctor": [[], ["--trace", trace], ["--service", service]],
        "judge": [["--trace", trace], ["--session", one.session], ["--since", "90d"]],
        "redact": [["--dry-run", "--config", str(rules), trace]],
        "ledger": [["--all"], ["--trace", trace, "--all"]],
        "labels list": [[], ["--trace", trace], ["--by", f"{one.name}-person"]],
        "labels queue": [["--service", service]],
        "labels quality": [["--service", service]],
        "labels agreement": [["--service", service]],
        "labels add": [[error, "--disagree", "--as", "mallory"]],
        "labels score": [[trace, "GF=1", "--as", "mallory"]],
        "labels review": [[trace, "--as", "mallory"]],
        "labels compare": [[one.session, one.session, "--better", "same", "--as", "mallory"]],
        "labels session": [[one.session, "--bad", "--as", "mallory"]],
        "labels withdraw": [["x", "--trace", trace]],
        "labels export": [["-"], ["-", "--trace", trace]],
        "labels import": [[str(lines)]],
        "labels delete": [["--trace", trace, "--by", "mallory", "--yes"]],
        "views list": [[]],
        "views save": [["mallory", "/traces?service=x"]],
        "views delete": [["mallory"]],
        "architecture": [[], [service], [service, "--history"]],
        "explain": [["--service", service, "TC"]],
        "export": [["-"], ["-", "--errors", "--trace", trace], ["-", "--runs", "--service", service], ["-", "--trail"]],
        "receipts": [[]],
        "alerts list": [[]],
        "delete": [["--trace", trace, "--yes"], ["--service", service, "--before", "0s", "--yes"]],
    }  # fmt: skip


def commands() -> set[str]:
    """All commands, those of groups as `group command`."""
    found = set()
    for name in set(COMMANDS) - ALONE:
        command = root.get_command(click.Context(root), name)
        inner = command.commands if isinstance(command, click.Group) else None
        found |= {f"{name} {one}" for one in inner} if inner else {name}
    return found - ALONE


def run(world: Projects, key: str, arguments: list[str]) -> str:
    """What a command prints, on both streams; `key` names the project."""
    environment = {f"TRACEJURY_KEY_{key.upper()}": world.tokens[key], "COLUMNS": "160", "TRACEJURY_PROJECT": ""}
    url = f"http://127.0.0.1:{world.collector.api_port}"
    result = CliRunner().invoke(root, ["--project", key, *arguments, "--url", url], env=environment)
    assert not result.exception or isinstance(result.exception, SystemExit), (arguments, result.exception)
    return result.output


def formats(name: str) -> list[list[str]]:
    """Ways to print: as tables and as JSON, where a command has both."""
    command: Any = root
    for part in name.split():
        command = command.get_command(click.Context(command), part)
    options = [p for p in command.params if "--format" in p.opts]
    choices = [choice for p in options for choice in p.type.choices if choice != "parquet"]
    return [["--format", choice] for choice in choices] or [[]]


async def test_every_command_tells_of_its_project_alone_and_harms_no_terminal(odd: Projects, tmp_path: Path) -> None:
    """With the ids of the other project, then with its own; a command that is not tried here fails the test."""
    own, other = odd.acme, odd.globex
    assert set(asking(own, "", tmp_path)) == commands()
    before = (await odd.get("/api/export?profile=0", other)).text
    told = ""
    for asked in (other, own):
        errors = (await odd.get("/api/errors", asked, params={"profile": "0"})).json()["items"]
        for name, calls in asking(asked, errors[0]["id"], tmp_path).items():
            for given in calls:
                for style in formats(name) if asked is own else formats(name)[-1:]:
                    arguments = [*name.split(), *given, *style]
                    said = await asyncio.to_thread(run, odd, own.name, arguments)
                    told += said
                    if name in (
                        "export",
                        "labels export",
                    ):  # data where it goes into a pipe, as here; ASCII on a terminal
                        said = b"".join(for_terminal([said.encode()])).decode()
                    assert not HARM.search(said), (arguments, said)
                    words = [word for one in (odd.globex, odd.base) for word in one.words if word in said]
                    asking_with = " ".join([*arguments, asked.trace_id])
                    assert [word for word in words if word not in asking_with] == [], arguments
    assert (await odd.get("/api/export?profile=0", other)).text == before
    shown = [word for word in own.words if word not in told]
    assert set(shown) <= {f"{own.name}-{word}" for word in ("user", "scope", "hook", "backend", "label", "described")}


TERMINAL = (
    ["errors", "--follow", "--since", "1d", "--profile", "0"],
    ["errors", "--follow", "--since", "1d", "--profile", "0", "--format", "json"],
    ["export", "-", "--trail"],
    ["labels", "export"],
)
SEEN = {"labels": b"acme-label"}


@pytest.mark.parametrize("arguments", TERMINAL, ids=" ".join)
async def test_nothing_harms_a_real_terminal(odd: Projects, arguments: list[str]) -> None:
    """Lines as they come, and data that goes to a terminal. Colours of ours are all that it is told."""
    url = f"http://127.0.0.1:{odd.collector.api_port}"
    environment = {**os.environ, "TRACEJURY_KEY": odd.acme.token, "TERM": "xterm"}
    command = [*COMMAND, *arguments, "--url", url]
    said = await asyncio.to_thread(shown, command, environment, SEEN.get(arguments[0], b"acme-tool"))
    assert not HARM.search(re.sub("\x1b\\[[0-9;]*m", "", said.replace("\r\n", "\n"))), said
    assert not [word for one in (odd.globex, odd.base) for word in one.words if word in said]


def shown(command: list[str], environment: dict[str, str], sought: bytes) -> str:
    """What a command writes to its terminal until a word has come, and the rest of its line."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:  # noqa: S603  ours
        os.close(theirs)
        said = b""
        try:
            while sought not in said or not said.endswith(b"\n"):
                said += os.read(ours, 65_536)
        except OSError as error:
            raise AssertionError(f"it ended after {said!r} with {process.wait()}") from error
        finally:
            process.kill()
            os.close(ours)
    return said.decode()
