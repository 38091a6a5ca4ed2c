"""The Agent Trajectory Interchange Format (ATIF, `schema_version` "ATIF-v1.x"): one JSON document a run.

Source: the format's specification in Harbor's documentation (harborframework.com/docs/agents/trajectory-format). A step
of source "agent" is a reply with its calls and their results (`observation`). Converters that give each call a step of
its own write the reply's `metrics` once: a step without them goes on with the reply that was the last at its time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

from .session import Call, Exchange, Reply, Session, message, number, result_message, time_of

Json = Mapping[str, Any]

_NOTIFICATION: Final = "<task-notification>"  # the program's own words in the user's place: the exchange goes on


def is_trajectory(document: object) -> bool:
    """Whether decoded JSON is an ATIF document."""
    return isinstance(document, dict) and str(document.get("schema_version", "")).startswith("ATIF")


def parse(document: Json) -> Session:
    """The run as a session.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the document does not have the format's form.
    """
    agent = document["agent"]
    session = Session(str(document["session_id"]), str(agent["name"]), str(agent.get("version") or ""))
    steps: list[Json] = document["steps"]
    has_metrics = any(s.get("metrics") for s in steps)
    replies: list[Reply] = []
    received: list[Json] = []
    late: list[tuple[int, Reply, Json]] = []
    for step in steps:
        time, source = time_of(step), step.get("source")
        text = _said(step)
        if source == "user" and not text.startswith(_NOTIFICATION):
            session.exchanges.append(Exchange(text, time))
            received.append(message("user", text))
        elif source == "system":
            received.append(message("system", text))
        elif source == "agent":
            if replies and has_metrics and not step.get("metrics"):
                at = bisect_right(replies, time, key=lambda r: r.time) if time else len(replies)
                late.append((at, replies[max(at, 1) - 1], step))
                continue
            if not session.exchanges:
                session.exchanges.append(Exchange("", time))
            reply = _reply(step, str(step.get("model_name") or agent.get("model_name") or ""), time)
            reply.received, received = received, []
            replies.append(reply)
            session.exchanges[-1].replies.append(reply)
            reply.calls += _calls(step)
    for _, reply, step in late:
        reply.calls += _calls(step)
    for exchange in session.exchanges:
        _hand_on(exchange)
    return session


def _hand_on(exchange: Exchange) -> None:
    """Each reply is sent the results of the calls before it; a result was there when the next reply was written."""
    for before, reply in zip(exchange.replies, exchange.replies[1:], strict=False):
        reply.received = [*(result_message(c) for c in before.calls if c.result is not None), *reply.received]
        for call in before.calls:
            call.time = min(call.time or reply.time, reply.time)


def _reply(step: Json, model: str, time: int) -> Reply:
    metrics = step.get("metrics") or {}
    told = metrics.get("extra") or {}
    reply = Reply(time, model, _said(step).strip(), str(step.get("reasoning_content") or "").strip())
    reply.stop_reason = str((step.get("extra") or {}).get("stop_reason") or "")
    sent, written = number(metrics, "prompt_tokens"), number(metrics, "completion_tokens")
    if sent or written:
        reply.input_tokens, reply.output_tokens = sent, written
        reply.cache_read = number(metrics, "cached_tokens")
        reply.cache_write = number(told, "cache_creation_input_tokens")
    return reply


def _said(step: Json) -> str:
    """The step's message; not what a converter wrote in place of one that only calls tools."""
    text = step.get("message")
    if isinstance(text, list):
        text = "\n".join(str(p.get("text") or f"[{p.get('type')}]") for p in text)
    text = str(text or "")
    called = [f"Executed {c.get('function_name')} {c.get('tool_call_id')}" for c in step.get("tool_calls") or ()]
    return "" if text in called else text


def _calls(step: Json) -> list[Call]:
    extra = step.get("extra") or {}
    told = extra.get("tool_result_metadata") or {}
    results = {r.get("source_call_id"): r for r in (step.get("observation") or {}).get("results") or ()}
    calls = []
    for asked in step.get("tool_calls") or ():
        call = Call(str(asked.get("tool_call_id") or ""), str(asked["function_name"]), asked.get("arguments"))
        if (result := results.get(asked.get("tool_call_id"))) is not None:
            raw = told.get("raw_tool_result") or {}
            content = raw.get("content") if isinstance(raw.get("content"), str) else result.get("content")
            if isinstance(content, list):
                content = "\n".join(str(p.get("text") or f"[{p.get('type')}]") for p in content)
            call.result = str(content or "")
            call.failed = extra.get("tool_result_is_error") is True
        calls.append(call)
    return calls
