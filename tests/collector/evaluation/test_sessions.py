"""Sessions of a folder judged by packs, from a cassette."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml
from llm_server import LlmServer, llm_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_parts import json_body
from pack_bench import exchange
from pack_service import CONVERSATION, ORDERS, judges, otlp, script
from processes import tracejury


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sessions, one of them with two traces, and a configuration."""
    (tmp_path / "traces").mkdir()
    other = exchange("c", "Where is my lamp?", [ORDERS], "On its way.", session="chat-2", at=60)
    for number, spans in enumerate([*CONVERSATION, other]):
        request = ExportTraceServiceRequest.FromString(otlp(spans))
        (tmp_path / "traces" / f"{number}.json").write_bytes(json_body(request))
    return tmp_path


def command(folder: Path, *words: str) -> CompletedProcess[str]:
    """In a process of its own: it opens a store."""
    return tracejury("evaluate", "sessions", ".", "--config", "c.yaml", "--format", "json", *words, folder=folder)


def configure(folder: Path, server: LlmServer, **more: Any) -> None:
    section = judges(server.base) | {"api_key_env": ""} | more
    (folder / "c.yaml").write_text(yaml.safe_dump({"judges": section}))


def test_a_replay_gives_the_measures_of_the_recording(folder: Path) -> None:
    """Of packs alone, whose calls are all that is on the cassette; the server is gone."""
    cassette = str(folder / "c.jsonl")
    with llm_server(script) as server:
        configure(folder, server, agent_runs=False)
        recorded = command(folder, "--cassette", cassette)
        assert recorded.returncode == 0, recorded.stderr
        calls = server.counts.calls
    replayed = command(folder, "--cassette", cassette, "--cassette-mode", "replay")
    assert replayed.returncode == 0, replayed.stderr
    first, second = (
        [pack["total"]["measures"] for pack in json.loads(r.stdout)["items"] if pack["pack"] == "pipa"]
        for r in (recorded, replayed)
    )
    assert first == second
    assert calls == len(Path(cassette).read_text().splitlines()) - 1
    measures = first[0]
    assert {row["letter"]: row["n"] for row in measures} == {"S": 2, "A": 2, "O": 0, "P": 2, "R": 0}
    assert next(row["estimate"]["value"] for row in measures if row["letter"] == "S") == 0.5


def test_what_cannot_be_judged_is_said_at_once(folder: Path) -> None:
    """One line each, before anything is asked."""
    with llm_server(script) as server:
        for more, words, told in (
            ({"packs": []}, (), "name the packs to judge by: judges.packs"),
            ({}, ("--cassette", str(folder / "no.jsonl"), "--cassette-mode", "replay"), "there is no cassette"),
            ({}, ("--by", "colour"), "colour"),
        ):
            configure(folder, server, **more)
            found = command(folder, *words)
            assert (found.returncode, told in found.stderr, found.stderr.count("\n")) == (2, True, 1), found.stderr
        assert server.counts.calls == 0
