"""Session files of coding agents, written here: prompts, sub-agents, failures, refusals, and what is cut or hostile."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import BrokenFileError, read
from tracejury.schemas.trajectory import Trace

Entry = dict[str, Any]
USAGE = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}


def entry(kind: str, second: int, **more: Any) -> Entry:
    """An entry of a session file."""
    return {"type": kind, "sessionId": "s1", "version": "2.1.0", "timestamp": f"2026-05-01T10:00:{second:02}Z", **more}


def said(second: int, reply: str, *blocks: Entry, **more: Any) -> Entry:
    """An entry of a reply."""
    told = {"id": reply, "role": "assistant", "model": "m", "content": list(blocks), "usage": USAGE}
    return entry("assistant", second, message=told | more.pop("told", {}), **more)


def text(words: str) -> Entry:
    return {"type": "text", "text": words}


def use(call: str, name: str, **arguments: Any) -> Entry:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def prompt(second: int, words: Any, **more: Any) -> Entry:
    return entry("user", second, message={"role": "user", "content": words}, **more)


def result(second: int, call: str, words: Any, *, failed: bool = False, **more: Any) -> Entry:
    return prompt(second, [{"type": "tool_result", "tool_use_id": call, "content": words, "is_error": failed}], **more)


def read_lines(folder: Path, lines: list[Entry], end: str = "\n") -> tuple[Trace, list[str]]:
    """The trace of a session file with these lines, and what was warned of."""
    path = folder / "session.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + end)
    sources = list(read([path]))
    received = stored(source.request for source in sources)
    (trace,) = received.traces()
    return trace, [source.warning for source in sources if source.warning]


SESSION = [
    {"type": "summary", "summary": "tests", "leafUuid": "x"},
    prompt(0, "Caveat: the messages below were written by local commands", isMeta=True),
    prompt(1, "<command-name>/clear</command-name>"),
    prompt(2, "fix the test"),
    said(4, "r1", {"type": "thinking", "thinking": "look first"}),
    said(4, "r1", text("I run it.")),
    said(5, "r1", use("c1", "Bash", command="pytest -q")),
    result(9, "c1", [text("1 failed")], failed=True),
    said(11, "r2", use("c2", "Edit", file_path="a.py")),
    result(12, "c2", "The user doesn't want to proceed with this tool use.", failed=True),
    prompt(13, [text("[Request interrupted by user for tool use]")]),
    prompt(20, "then explain it"),
    said(22, "r3", text("It divides by zero.")),
]


def test_a_session_file_is_a_trace_of_its_prompts(tmp_path: Path) -> None:
    """Each prompt is a goal; entries of one reply are one turn; a user's refusal is no failure."""
    trace, warnings = read_lines(tmp_path, SESSION)
    assert [(run.goal, len(run.turns), run.answer) for run in trace.runs] == [
        ("fix the test", 2, ""),
        ("then explain it", 1, "It divides by zero."),
    ]
    first, second = (turn for turn in trace.runs[0].turns)
    (ran,), (refused,) = first.tool_calls, second.tool_calls
    assert (ran.name, ran.arguments, ran.result, ran.error) == (
        "Bash",
        {"command": "pytest -q"},
        "1 failed",
        "1 failed",
    )
    assert refused.error is None
    assert first.llm is not None
    assert (first.llm.output, first.llm.input_tokens, first.llm.output_tokens) == ("I run it.", 125, 7)
    assert round((first.llm.raw.end - first.llm.raw.start) / 1e9, 6) == 3  # from the prompt to its last block
    assert (trace.session_id, trace.service, warnings) == ("s1", "claude-code", [])


@pytest.mark.parametrize("format_", ["file", "stream"])
def test_a_sub_agent_is_a_run_below_its_call(tmp_path: Path, format_: str) -> None:
    """Files mark its entries as a side chain and give its prompt; the stream names the call."""
    side = {"isSidechain": True, "agentId": "a7"} if format_ == "file" else {"parent_tool_use_id": "c1"}
    lines = [
        prompt(0, "find it"),
        said(1, "r1", use("c1", "Agent", subagent_type="Explore", prompt="look at b.py")),
        prompt(2, "look at b.py", **side),
        said(3, "r2", use("c2", "Read", file_path="b.py"), **side),
        result(4, "c2", "1/0", **side),
        said(5, "r3", text("1/0 in b.py"), **side),
        result(6, "c1", "1/0 in b.py"),
        said(7, "r4", text("It divides by zero.")),
    ]
    trace, _ = read_lines(tmp_path, lines)
    manager, explorer = trace.runs
    assert (len(manager.turns), manager.answer, [c.name for t in manager.turns for c in t.tool_calls]) == (
        2,
        "It divides by zero.",
        ["Agent"],
    )
    assert (explorer.name, explorer.parent_id, explorer.goal, len(explorer.turns)) == (
        "Explore",
        manager.id,
        "look at b.py",
        2,
    )
    assert not trace.remainder


def test_a_reply_that_was_given_up_asks_for_nothing(tmp_path: Path) -> None:
    """When a stream breaks, the program asks again, and call ids come again: what ran is the later reply's."""
    nothing = dict.fromkeys(USAGE, 0)
    lines = [
        prompt(0, "go"),
        said(1, "r1", text("I list."), use("c1", "Bash", command="ls"), told={"usage": nothing}),
        said(2, "r2", use("c1", "Bash", command="ls -a")),
        result(3, "c1", "a b"),
    ]
    trace, _ = read_lines(tmp_path, lines)
    calls = [(t.index, c.arguments, c.result) for run in trace.runs for t in run.turns for c in t.tool_calls]
    assert calls == [(1, {"command": "ls -a"}, "a b")]


def test_an_api_error_is_the_failure_of_a_request(tmp_path: Path) -> None:
    """The program writes it as if the model had said it."""
    lines = [
        prompt(0, "go"),
        said(1, "e1", text("API Error: 529 overloaded"), told={"model": "<synthetic>"}, isApiErrorMessage=True),
        said(2, "n1", text("No response requested."), told={"model": "<synthetic>"}),
        said(3, "r1", text("Done.")),
    ]
    trace, _ = read_lines(tmp_path, lines)
    assert [turn.llm.error_text if turn.llm else None for turn in trace.runs[0].turns] == [
        "API Error: 529 overloaded",
        "",
    ]
    assert trace.runs[0].answer == "Done."


def test_a_file_cut_in_a_line_is_sent_as_far_as_it_goes(tmp_path: Path) -> None:
    """One warning, and the rest of the session as it stands."""
    whole, _ = read_lines(tmp_path, SESSION)
    cut, warnings = read_lines(tmp_path, SESSION, end='\n{"type": "assistant", "sessionId": "s1", "mess')
    assert [run.turns for run in cut.runs] == [run.turns for run in whole.runs]
    assert len(warnings) == 1
    assert "ends in the middle of a line" in warnings[0]


def test_a_line_broken_within_a_session_is_an_error(tmp_path: Path) -> None:
    """Only the last line may be unfinished."""
    path = tmp_path / "s.jsonl"
    path.write_text(f'{json.dumps(SESSION[3])}\n{{"type"\n{json.dumps(SESSION[4])}\n')
    with pytest.raises(BrokenFileError, match="broken JSON"):
        list(read([path]))


def test_a_longer_session_keeps_its_spans(tmp_path: Path) -> None:
    """A session that went on is sent again under the same ids, gzipped or not."""
    path = tmp_path / "s.jsonl.gz"
    sent = []
    for lines in (SESSION[:8], SESSION):
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
        sent.append({s.span_id: s.name for source in read([path]) for s in stored([source.request]).spans})
    assert sent[0].items() <= sent[1].items()


@pytest.mark.parametrize(
    "lines",
    [
        [prompt(0, None)],
        [prompt(0, [None, 3, {"type": "tool_result"}]), said(1, "r", {"type": "tool_use"})],
        [said(0, "r", text("x"), told={"usage": {"input_tokens": -1, "output_tokens": 10**30}})],
        [said(0, "r", told={"content": None})],
        [said(0, "r\ud800", text("lone \ud800 surrogate"))],
        [entry("result", 0, modelUsage={"m": None}, is_error=True)],
        [said(0, "r", use("c", "T")), *[result(1, "c", [{"type": "image"}])] * 2],
    ],
)
def test_hostile_entries_break_nothing(tmp_path: Path, lines: list[Entry]) -> None:
    """Each gives spans, or one clear error that names the file."""
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, [*lines, SESSION[3]])))
    received = stored(source.request for source in read([path]))
    assert received.refused == 0
    assert received.spans
