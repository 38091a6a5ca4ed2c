"""A whole collector with PIPA: its model on loopback, its configuration, and a conversation over OTLP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm_scripts import Call, Play
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from pack_bench import SERVICE, Called, FairChecker, Fault, exchange

from tracejury.collector.otlp.codec.encode import resource_of, span_message
from tracejury.schemas.spans import Span

ORDERS = Called("look_up_order", '{"order": "latest"}', "order 17: a lamp", thought="I look at the latest order.")
CONVERSATION = (
    exchange("a", "What do you sell?", [ORDERS], "Lamps."),
    exchange("b", "Thanks.", [], "You are welcome.", at=30),
)
VALUES = {"S": 0.5, "A": 1, "O": None, "P": 1, "R": 0}
"""The conversation's measures."""
_CHECKER = FairChecker(faults=(Fault("pipa-state", "look_up_order", "look_up_order", "Nobody asked for an order."),))


def script(call: Call) -> Play:
    """Checks are answered by a fair checker, other judges by what fits the schema."""
    last = call.prompt.rpartition("user\n")[2]
    return Play(text=_CHECKER.reply(last)) if "# pipa-" in last else Play(findings=0)


def judges(api_base: str) -> dict[str, Any]:
    """The section `judges`: one model, with its key in SCRIPTED_KEY, and one judge beside the pack."""
    terms = {"policies": ["Ask for the user id before anything else."]}
    return {
        "model": "openai/scripted", "api_base": api_base, "api_key_env": "SCRIPTED_KEY", "packs": ["pipa"],
        "judges": ["goal-fulfilment"], "pack_settings": {"pipa": {"services": {SERVICE: terms}}},
    }  # fmt: skip


def otlp(spans: Sequence[Span], version: str = "") -> bytes:
    """A trace of a version of the service as an OTLP request in protobuf."""
    scopes = [ScopeSpans(spans=[span_message(span, "") for span in spans])]
    stated = {"service.name": SERVICE, "service.version": version}
    resource = resource_of({key: value for key, value in stated.items() if value}, {})
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=scopes)])
    return request.SerializeToString()
