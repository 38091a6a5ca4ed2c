"""`tracejury hook` at the end of sessions of coding agents, against a real collector."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from coding_sessions import CHECKED, UNCHECKED, send_session
from processes import COMMAND, Serving, serving, tracejury

STOPPED = {"session_id": "unchecked", "hook_event_name": "Stop", "stop_hook_active": False, "cwd": "/"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector that knows two sessions, neither of which has settled."""
    with serving(tmp_path_factory.mktemp("hook")) as ready:
        for session, events in (("unchecked", UNCHECKED), ("checked", CHECKED)):
            send_session(ready.ports["http"], session, events)
            known(ready.url, session)
        yield ready


def known(url: str, session: str) -> dict[str, Any]:
    """What can be mended of a session, once it is known."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = httpx.get(f"{url}/api/mendable", params={"session": session}, timeout=30, trust_env=False)
        if answer.is_success:
            found: dict[str, Any] = answer.json()
            return found
        time.sleep(0.2)
    raise AssertionError(answer.text)


def command_of(url: str, *options: str, patience: str) -> list[str]:
    """The hook, with so many seconds."""
    code = COMMAND[2].replace(
        "main()", f"import tracejury.collector.cli.commands.hook as h; h.PATIENCE = {patience}; main()"
    )
    return [COMMAND[0], "-c", code, "hook", "--url", url, *options]


def hooked(url: str, event: object, *options: str, patience: str = "60") -> str:
    """What the hook prints; it always ends well. Tests wait for a slow machine, agents do not."""
    said = event if isinstance(event, str) else json.dumps(event)
    command = command_of(url, *options, patience=patience)
    done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603  ours
    assert done.stderr == ""
    return done.stdout


def told(served: Serving, *options: str, **changes: object) -> Mapping[str, Any]:
    """The answer about the session whose edit nothing checked."""
    found: Mapping[str, Any] = json.loads(hooked(served.url, STOPPED | changes, *options))
    return found


def test_what_can_be_mended_is_told_with_its_span(served: Serving) -> None:
    """To the person; nothing is blocked."""
    answer = told(served)
    (error,) = known(served.url, "unchecked")["items"]
    assert set(answer) == {"systemMessage"}
    assert "1 error of this session can still be mended" in answer["systemMessage"]
    assert "Last edit was never checked (MEDIUM)" in answer["systemMessage"]
    assert error["span_id"] in answer["systemMessage"]


def test_an_agent_goes_on_where_it_is_asked_to(served: Serving) -> None:
    """Claude Code and Codex by block, Gemini CLI by deny; an event that cannot block is told only."""
    assert told(served, "--block")["decision"] == "block"
    assert "Last edit was never checked" in told(served, "--block")["reason"]
    assert told(served, "--block", hook_event_name="AfterAgent")["decision"] == "deny"
    assert set(told(served, "--block", hook_event_name="SessionEnd")) == {"systemMessage"}


@pytest.mark.parametrize(
    "event",
    [
        STOPPED | {"session_id": "checked"},
        STOPPED | {"session_id": "never seen"},
        STOPPED | {"stop_hook_active": True},
        STOPPED | {"session_id": 7},
        {"hook_event_name": "Stop"},
        [],
        "",
        "no JSON",
        "[" * 100_000,
    ],
)
def test_it_is_silent_where_there_is_nothing_to_tell(served: Serving, event: object) -> None:
    """A session without errors or unknown, the second round, and what is no event."""
    assert hooked(served.url, event, "--block") == ""


def test_it_is_silent_where_the_collector_is_away_or_slow() -> None:
    """Nobody listens; it is no address; somebody listens and never answers."""
    assert hooked("http://127.0.0.1:9", STOPPED, "--block") == ""
    assert hooked("no address", STOPPED, "--block") == ""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert hooked(f"http://127.0.0.1:{silent.getsockname()[1]}", STOPPED, "--block", patience="0.5") == ""


def test_it_does_not_wait_for_an_agent_that_leaves_its_input_open() -> None:
    """It ends by itself, whether or not anything was written to it."""
    for said in ("", json.dumps(STOPPED)):
        command = command_of("http://127.0.0.1:9", patience="0.5")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hook:  # noqa: S603
            assert hook.stdin is not None
            hook.stdin.write(said)
            hook.stdin.flush()
            assert hook.wait(timeout=60) == 0
            assert hook.stdout is not None
            assert hook.stdout.read() == ""


def test_a_wrong_option_holds_no_agent(tmp_path: Path) -> None:
    """The exit code 2 would: each time that it wants to stop."""
    done = tracejury("hook", "--bloc", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No such option" in done.stderr


def test_it_gives_up_in_time() -> None:
    """As it stands: less than two seconds from the start of its process."""
    from tracejury.collector.cli.commands import hook

    assert hook.PATIENCE < 2
    assert 0 < hook._since_start() < 86_400
