"""The demo's agent program: `python -m tracejury.collector.cli.demo.program`.

A manager and its researcher answer questions out of an almanac. Deterministic, no model, no network but the spans,
which go where OTEL_EXPORTER_OTLP_ENDPOINT says (OTLP/gRPC). Prints a line of JSON a run: title, fault, trace id.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TextIO

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer, format_trace_id

from .agents import Agent, ScriptedModel, ScriptedReply
from .almanac import almanac, calculator, delegate
from .runs import RESEARCHER, RUNS, DemoRun

SERVICE = "almanac-agents"
EXPORT_EVERY_MS = 200  # the SDK's own 5 s would make one wait for the first finding
MANAGER_PROMPT = (
    "You are the almanac's manager. You answer questions about bridges and tunnels. You have a researcher, who can "
    "look articles up, and a calculator. Only report what your researcher and your tools have told you."
)
RESEARCHER_PROMPT = (
    "You are the almanac's researcher. Find what you are asked for with search and read_article. "
    "If you cannot find it, say so."
)


def main(out: TextIO = sys.stdout) -> None:
    """Run all, flush, end."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=EXPORT_EVERY_MS))
    tracer = provider.get_tracer("tracejury.demo")
    for run in RUNS:
        trace_id = perform(run, tracer)
        print(json.dumps({"title": run.title, "fault": run.fault, "trace_id": trace_id}), file=out, flush=True)
    provider.shutdown()


def perform(run: DemoRun, tracer: Tracer) -> str:
    """Let the manager work on the run's task, under a root span of its own; returns the trace id."""
    researcher = Agent(
        RESEARCHER, RESEARCHER_PROMPT, almanac(down=run.search_is_down), _model(run.researcher, "research"), tracer
    )
    helper = delegate(RESEARCHER, "Looks things up in the almanac.", researcher.run)
    manager = Agent("manager", MANAGER_PROMPT, (helper, calculator()), _model(run.manager, "manage"), tracer)
    with tracer.start_as_current_span("answer_question") as root:
        manager.run(run.task)
    return format_trace_id(root.get_span_context().trace_id)


def _model(replies: Iterable[ScriptedReply], prefix: str) -> ScriptedModel:
    return ScriptedModel(iter(replies), prefix)


if __name__ == "__main__":
    main()
