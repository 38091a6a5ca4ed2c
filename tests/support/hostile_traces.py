"""A collector full of hostile texts: in every field of spans that pages show, and in what people say."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
from house import House, open_house
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_parts import text

CONTROLS = frozenset("\x1b\x00\x08\u202e\u2066\u200b")
PROBE = "main img, main iframe, main script, main style, main link, main h1 h1, main [onerror], main [hx-get='/stolen']"
MILLISECOND = 1_000_000
TRACE, AGENT, CALL, TOOL, ANSWER = "c" * 32, *(f"{n:016x}" for n in range(1, 5))


def attack(field: str) -> str:
    """What tries to be markup, script, template, terminal code and a reversed text at once, and names its field."""
    return (
        f"<img src=x onerror=window.hit=1>\"'><script>window.hit=1</script></textarea>{field}"
        "{{7*191}}<b hx-get=/stolen hx-trigger=load>\u202egnp\u2066\x1b[2J\u200b"
    )


@dataclass(frozen=True, slots=True)
class Hostile:
    """`paths`: pages that show it; `stands`: words that one reads on one of them, by word."""

    house: House
    paths: Sequence[str]
    stands: Mapping[str, str]


def hostile_request() -> ExportTraceServiceRequest:
    """An agent that calls a tool which fails, and answers; every text is an attack."""
    now = time.time_ns()

    def span(number: int, span_id: str, parent: str, kind: str, **attributes: str) -> Span:
        given = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in attributes.items()}
        start = now + number * MILLISECOND
        return Span(
            trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(span_id), parent_span_id=bytes.fromhex(parent),
            name=attack(f"name-{kind}"), start_time_unix_nano=start, end_time_unix_nano=start + MILLISECOND,
            attributes=[text(key, value) for key, value in given.items()],
        )  # fmt: skip

    said = "llm__output_messages__0__message__"
    asked = {
        "llm__model_name": attack("model"),
        "llm__input_messages__0__message__role": "user",
        "llm__input_messages__0__message__content": attack("question"),
        f"{said}role": "assistant",
    }
    call = f"{said}tool_calls__0__tool_call__function__"
    request = {f"{call}name": attack("tool"), f"{call}arguments": '{"q": "argument<script>window.hit=1</script>"}'}
    tool = span(2, TOOL, AGENT, "TOOL", tool__name=attack("tool"), input__value='{"q": "argument<script>"}')
    tool.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=f"TimeoutError: timed out {attack('status')}"))
    made = ExportTraceServiceRequest()
    group = made.resource_spans.add()
    for key, value in (("service.name", attack("service")), ("service.version", attack("version"))):
        group.resource.attributes.append(text(key, value))
    group.scope_spans.add().spans.extend([
        span(1, CALL, AGENT, "LLM", **asked, **request),
        tool,
        span(3, ANSWER, AGENT, "LLM", **asked, **{f"{said}content": attack("answer")}),
        span(0, AGENT, "", "AGENT", agent__name=attack("agent"), session__id=attack("session"),
             input__value=attack("goal"), output__value=attack("answer"), **{attack("key"): attack("value")}),
    ])  # fmt: skip
    return made


@contextmanager
def hostile_house(folder: Path) -> Iterator[Hostile]:
    """All judged and labelled."""
    with open_house(folder) as house:
        house.put(hostile_request())
        house.wait_until_settled(1)
        with httpx.Client(base_url=house.url, trust_env=False) as client:
            say(client)
        service, session = quote(attack("service"), safe=""), quote(attack("session"), safe="")
        trace = f"/traces/{TRACE}"
        pages = [
            "/", "/traces", "/sessions", f"/sessions/{session}?service={service}",
            f"/compare?service={service}&first={session}", "/errors", "/labels",
            "/labels?purpose=learning", "/judges", trace, f"{trace}?span={AGENT}", f"{trace}?span={CALL}",
            f"{trace}?span={TOOL}", f"/spans/{TOOL}", f"{trace}/spans/{AGENT}/raw", f"/traces?service={service}",
            f"/traces?agent={quote(attack('agent'), safe='')}&tool={quote(attack('tool'), safe='')}",
            f"/?service={service}", f"/traces?q={quote(attack('goal'), safe='')}",
        ]  # fmt: skip
        raw = f"{trace}/spans/{AGENT}/raw"
        yield Hostile(house, pages, {
            "service": "/traces", "goal": "/traces", "version": "/traces", "agent": "/traces", "session": "/sessions",
            "answer": f"{trace}?span={AGENT}", "model": f"{trace}?span={CALL}", "tool": f"{trace}?span={TOOL}",
            "question": f"{trace}?span={CALL}", "status": f"{trace}?span={TOOL}", "key": raw, "value": raw,
            "Eve<script>": trace, "note": trace, "tool{{7*191}}": "/errors",
        })  # fmt: skip


def say(client: httpx.Client) -> None:
    """What people say is hostile, too; no name holds what does not print."""
    found = client.get("/api/findings", params={"trace": TRACE}).json()["items"]
    assert found
    who = "Eve<script>window.hit=1</script>"
    opinion = {"annotator": who, "opinion": "disagree", "explanation": attack("note")}
    opinions = [opinion | {"finding_id": one["id"]} for one in found]
    client.post("/api/annotations", json={"items": opinions}).raise_for_status()
