"""Sixteen recorded sessions of a coding agent, replayed from both of their formats, against an independent count."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from trajectories import SHARED

from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import read
from tracejury.processors.cached_tokens import token_kinds
from tracejury.processors.tokens import sum_tokens, usage
from tracejury.schemas.trajectory import Trace

FOLDER = SHARED / "coding"
SESSIONS = sorted(FOLDER.glob("*/session.stream.jsonl.gz"))
pytestmark = pytest.mark.skipif(not SESSIONS, reason="the recorded sessions are not on this machine")

Outcome = tuple[str, str, str, bool]


@cache
def replayed(path: Path) -> Trace:
    """The one trace of a session file."""
    received = stored(source.request for source in read([path]))
    assert received.refused == 0
    (trace,) = received.traces()
    return trace


def outcomes(trace: Trace) -> list[Outcome]:
    """Name, arguments, result ("" for none) and failure of each call, in order."""
    calls = [call for run in trace.runs for turn in run.turns for call in turn.tool_calls]
    return sorted(
        (c.name, json.dumps(c.arguments, sort_keys=True), (c.result or "").strip(), c.error is not None) for c in calls
    )


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def counted(path: Path) -> tuple[int, list[Outcome]]:
    """Replies and calls of a stream, counted without the reader: of calls that share an id the last was made."""
    lines = written(path)
    replies = {line["message"]["id"] for line in lines if line["type"] == "assistant"}
    calls, results, order = {}, {}, []
    for line in lines:
        if line["type"] in ("assistant", "user") and isinstance(line["message"]["content"], list):
            for block in line["message"]["content"]:
                if block["type"] == "tool_use":
                    calls[block["id"]] = (block["name"], json.dumps(block["input"], sort_keys=True))
                elif block["type"] == "tool_result":
                    results[block["tool_use_id"]] = (block["content"].strip(), bool(block.get("is_error")))
        order.append(line["type"])
    ends = [at for at, kind in enumerate(order) if kind == "result"]
    silent = sum(order[at - 1] == "user" for at in ends)  # asked after a tool's result, and answered nothing
    told = [(name, asked, *results.get(key, ("", False))) for key, (name, asked) in calls.items()]
    return len(replies) + silent, sorted(told)


def tokens(trace: Trace) -> tuple[int | None, int | None, int]:
    """Sent with those of the cache, written, read from the cache."""
    sums = sum_tokens(trace.spans)
    return sums.input_tokens, sums.output_tokens, sum(token_kinds(call).cache_read for call in usage(trace.spans).calls)


def spent(path: Path) -> tuple[int, int, int]:
    """The same of the replies in a stream, and of a last request that was answered with nothing."""
    by_reply: dict[str, dict[str, int]] = {}
    before = ""
    for line in written(path):
        if line["type"] == "assistant":
            by_reply[line["message"]["id"]] = line["message"]["usage"]
        elif line["type"] == "result" and before == "user":
            by_reply["silent"] = line["usage"]
        before = line["type"]
    used = by_reply.values()
    sent, written_tokens, read = (
        sum(u.get(key, 0) for u in used) for key in ("input_tokens", "output_tokens", "cache_read_input_tokens")
    )
    return sent + read, written_tokens, read


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.parent.name)
def test_turns_calls_and_tokens_are_those_of_the_session(path: Path) -> None:
    """Every reply is a turn, every call has its arguments, result and failure, and the tokens are the program's."""
    trace = replayed(path)
    replies, calls = counted(path)
    assert sum(len(run.turns) for run in trace.runs) == replies
    assert outcomes(trace) == calls
    assert not trace.remainder
    assert tokens(trace) == spent(path)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.parent.name)
def test_tokens_of_a_trajectory_are_its_own_sums(path: Path) -> None:
    """Prompt tokens with those of the cache, written tokens, and those read from the cache."""
    document = json.loads(gzip.decompress(path.with_name("trajectory.atif.json.gz").read_bytes()))
    sums = document["final_metrics"]
    told = (sums["total_prompt_tokens"], sums["total_completion_tokens"], sums["total_cached_tokens"])
    assert tokens(replayed(path.with_name("trajectory.atif.json.gz"))) == told


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.parent.name)
def test_both_formats_tell_the_same_run(path: Path) -> None:
    """Turns, calls and ids are equal; only the printed stream does not tell the prompt."""
    stream, atif = replayed(path), replayed(path.with_name("trajectory.atif.json.gz"))
    assert stream.trace_id == atif.trace_id
    assert outcomes(stream) == outcomes(atif)
    for one, other in zip(stream.runs, atif.runs, strict=True):
        for told, turn in zip(one.turns, other.turns, strict=True):
            assert told.llm is not None
            assert turn.llm is not None
            assert told.llm.output == turn.llm.output
            # A stream prints some replies before the provider has told what they cost.
            assert told.llm.input_tokens in (None, turn.llm.input_tokens)
        assert (one.name, one.answer, one.status) == (other.name, other.answer, other.status)
    assert all(run.goal for run in atif.runs)
