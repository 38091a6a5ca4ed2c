"""`tracejury demo`, as a newcomer runs it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from processes import COMMAND, PATIENCE, until
from served_api import Api

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.demo.session import free_config, next_steps
from tracejury.collector.cli.demo.watching import agent_environment, watch_program
from tracejury.schemas.errors import PermanentError


def test_the_demo_shows_localised_errors_and_goes_on_serving(tmp_path: Path) -> None:
    """Findings with span id and quote, the trees, how to point an agent at it; Ctrl-C ends it with 0."""
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603  ours
        [*COMMAND, "demo"], cwd=tmp_path, env=os.environ | {"COLUMNS": "200"}, stdout=pipe, stderr=pipe, text=True
    ) as demo:
        try:
            text = until(demo, re.compile("Serving until Ctrl-C"))
            assert (tmp_path / ".tracejury" / "db").is_dir()
            demo.send_signal(2)
            _, errors = demo.communicate(timeout=PATIENCE)
        finally:
            demo.kill()
    assert (demo.returncode, errors) == (0, "")
    assert [file for file in (tmp_path / ".tracejury").rglob("*") if file.stat().st_mode & 0o077] == []
    assert re.search(r"\+ *\d+\.\d s  (LOW|MEDIUM|HIGH) .* span [0-9a-f]{16}  “.+”", text)
    assert "errors in 4 of 4 traces with a fault, in 0 of 1 healthy ones" in text
    assert re.findall(r"(?<!agent )\bruns?\b", text) == [], "a run is an agent run"
    assert re.search(r"✗ (LOW|MEDIUM|HIGH) .* span [0-9a-f]{16}", text)
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:" in text


def test_a_demo_that_is_stopped_early_says_so(tmp_path: Path) -> None:
    """Ctrl-C while the program runs ends it as it ends other commands, with one line and no traceback."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "demo"], cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as demo:  # noqa: S603  ours
        try:
            until(demo, re.compile("Errors, as they come"))
            demo.send_signal(2)
            _, errors = demo.communicate(timeout=PATIENCE)
        finally:
            demo.kill()
    assert (demo.returncode, errors) == (130, "tracejury: the demo was stopped before its traces were judged\n")


def test_a_taken_port_is_replaced_by_a_free_one() -> None:
    """Each default that someone else holds becomes port 0; the others stay."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", 4318))
            holder.listen()
        except OSError:
            pass  # someone else holds it: as good
        assert free_config().http.endpoint == "127.0.0.1:0"


def test_the_programs_environment_has_one_variable_of_telemetry() -> None:
    """The user's own settings do not send our demo's spans elsewhere."""
    given = {"PATH": "/bin", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://elsewhere", "OTEL_SDK_DISABLED": "true"}
    environment = agent_environment(given, 1234)
    assert {k: v for k, v in environment.items() if k.startswith("OTEL_")} == {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1234"
    }
    assert environment["PATH"] == "/bin"


def test_next_steps_name_the_ports_that_are_bound() -> None:
    """The default API port needs no --url; another one does."""
    assert "--url" not in next_steps(1, 2, 8321)
    text = next_steps(14317, 14318, 9999)
    assert all(part in text for part in ("127.0.0.1:14317", "127.0.0.1:14318", "--url http://127.0.0.1:9999"))


def test_a_program_that_fails_is_told_with_its_last_words(api: Api) -> None:
    """One error that says what the program said, and no waiting."""
    environment = {**os.environ, "PYTHONHOME": "/nowhere"}
    with ApiClient(api.url) as client, pytest.raises(PermanentError, match="No module named 'encodings'"):
        watch_program(client, environment, threading.Event(), lambda _row, _seconds: None)


def test_stopping_ends_the_watch(api: Api) -> None:
    """Ctrl-C while the program runs: nothing is waited for, nothing is told."""
    stopping = threading.Event()
    stopping.set()
    told: list[object] = []
    with ApiClient(api.url) as client:
        assert watch_program(client, os.environ, stopping, lambda row, _seconds: told.append(row)) == []
    assert told == []
