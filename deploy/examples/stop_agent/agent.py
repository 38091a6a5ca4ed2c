"""An agent that has run away: its tool fails, and it asks for the same again and again, up to STEPS times.

Instrumented with the OpenTelemetry SDK alone, by the GenAI conventions. Before each step it looks whether it was told
to stop: a file named after its task, which receiver.py makes. The model is scripted and takes a moment, as models do.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode, Tracer

STEPS = int(os.environ.get("STEPS", "200"))
THINKS = 0.1  # seconds that the model takes
TASK = os.environ.get("TASK_ID", "ticket-4711")
STOP = Path(os.environ.get("STOP_FOLDER", "stop")) / TASK
AGENT = {"gen_ai.agent.name": "booker", "tracejury.task.id": TASK}
GOAL = "Book a table for two at Maaemo tonight."
ARGUMENTS = {"restaurant": "Maaemo", "guests": 2}
ERROR = "ConnectionError: booking.example.com refused the connection"


def main() -> int:
    """Run until done, or until told to stop; 0 when stopped, 1 when nobody did."""
    provider = TracerProvider(resource=Resource.create({"service.name": "booking-agents"}))
    # Each span at once: a batch would keep the collector, and the receiver, waiting.
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("stop_agent")
    goal = [{"role": "user", "parts": [{"type": "text", "content": GOAL}]}]
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps(goal), **AGENT}
    with tracer.start_as_current_span("invoke_agent booker", attributes=said):
        done = run(tracer, goal)
    provider.shutdown()
    sys.stdout.write(f"stopped before step {done + 1} of {STEPS}\n" if done < STEPS else f"all {STEPS} steps\n")
    return 0 if done < STEPS else 1


def run(tracer: Tracer, messages: list[dict[str, object]]) -> int:
    """The loop; how many steps were made."""
    for step in range(STEPS):
        if STOP.exists():
            return step
        call = {"type": "tool_call", "id": f"call-{step}", "name": "book_table", "arguments": ARGUMENTS}
        asked = [{"role": "assistant", "parts": [call]}]
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "scripted",
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.output.messages": json.dumps(asked),
            **AGENT,
        }
        with tracer.start_as_current_span("chat scripted", attributes=attributes):
            time.sleep(THINKS)
        book_table(tracer, str(call["id"]))
        failed = {"type": "tool_call_response", "id": call["id"], "response": ERROR}
        messages = [*messages, *asked, {"role": "tool", "parts": [failed]}]
    return STEPS


def book_table(tracer: Tracer, call_id: str) -> None:
    """The tool, which fails."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "book_table",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS),
        "error.type": "ConnectionError",
        **AGENT,
    }
    with tracer.start_as_current_span("execute_tool book_table", attributes=attributes) as span:
        span.set_status(Status(StatusCode.ERROR, ERROR))


if __name__ == "__main__":
    sys.exit(main())
