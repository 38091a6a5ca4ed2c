"""Two lines give a program without tracing all it needs; one that has tracing keeps it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SAY = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from tracejury.sdk import LiveProcessor, set_up
"""


def said(program: str, **env: str) -> object:
    """What a program prints as JSON; each has a global provider of its own."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", SAY + program], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PROCESSORS = "[type(p).__name__ for p in provider._active_span_processor._span_processors]"
EXPORTER = "provider._active_span_processor._span_processors[0]._outbox._exporter"


def test_a_provider_is_made_once() -> None:
    """The second call adds nothing, from wherever it comes."""
    program = f"""
provider = set_up("shop")
assert set_up("other") is provider is trace.get_tracer_provider()
print(json.dumps([provider.resource.attributes["service.name"], {PROCESSORS}]))
"""
    assert said(program) == ["shop", ["LiveProcessor"]]


def test_a_provider_that_is_there_is_used() -> None:
    """What the program set up stays, and the processor comes to it."""
    program = f"""
own = TracerProvider()
trace.set_tracer_provider(own)
provider = set_up("shop")
print(json.dumps([provider is own, {PROCESSORS}]))
"""
    assert said(program) == [True, ["LiveProcessor"]]


@pytest.mark.parametrize(
    ("env", "endpoint", "expected"),
    [
        ({}, "", ["OTLPSpanExporter", "http://localhost:4318/v1/traces"]),
        ({}, "http://box:1/", ["OTLPSpanExporter", "http://box:1/v1/traces"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://box:2"}, "", ["OTLPSpanExporter", "http://box:2/v1/traces"]),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://box:3", ["OTLPSpanExporter", "box:3"]),
    ],
)
def test_spans_go_where_the_environment_or_the_call_says(
    env: dict[str, str], endpoint: str, expected: list[str]
) -> None:
    """The usual variables of OpenTelemetry hold; an endpoint in the call is the collector's base address."""
    program = f"""
provider = set_up("shop", endpoint={endpoint!r})
exporter = {EXPORTER}
print(json.dumps([type(exporter).__name__, exporter._endpoint]))
"""
    assert said(program, **env) == expected


@pytest.mark.parametrize(("env", "limit"), [({}, 4096), ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "300"}, 300)])
def test_long_conversations_keep_their_first_messages(env: dict[str, str], limit: int) -> None:
    """The SDK's limit of 128 attributes drops the oldest first; a limit that was chosen holds."""
    program = f"""
provider = set_up("shop")
span = provider.get_tracer("t").start_span("chat")
for number in range({limit + 1}):
    span.set_attribute(f"llm.input_messages.{{number}}", "x")
print(json.dumps(len(span.attributes)))
"""
    assert said(program, **env) == limit


def test_without_an_exporter_one_line_says_what_to_install() -> None:
    """The processor needs none of its own; `set_up` says which to add."""
    program = """
for name in ("http", "grpc"):
    sys.modules[f"opentelemetry.exporter.otlp.proto.{name}.trace_exporter"] = None
try:
    set_up("shop")
except ImportError as error:
    print(json.dumps(str(error)))
"""
    assert said(program) == "no OTLP exporter is installed: pip install opentelemetry-exporter-otlp-proto-http"
