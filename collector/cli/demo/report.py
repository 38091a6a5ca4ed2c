"""The output of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.cli.render.tables import content, headline
from tracejury.collector.cli.render.tree import trace_tree
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.traces import TraceJson

from .watching import DemoResult


def error_line(row: ErrorJson, seconds: float) -> Text:
    """An error as it came, so many seconds after the program started."""
    return Text.assemble(f"+{seconds:4.1f} s  ", *headline(row), "  “", content(row.evidence, 60, "italic"), "”")


def run_report(run: DemoResult, trace: TraceJson) -> RenderableType:
    """One trace: the fault that was put into it and what was found, as a tree where there is something to see."""
    heading = Text.assemble("\n", (run.title, "bold"), f": {run.fault or 'no fault'}")
    if not trace.errors:
        verdict = Text(f"no errors in {trace.spans} spans", style="yellow" if run.fault else "green")
        return Group(heading, verdict)
    return Group(heading, trace_tree(trace))


def summary(judged: Sequence[tuple[DemoResult, TraceJson]]) -> Text:
    """One line: in how many traces something was found."""
    faulty = [trace for run, trace in judged if run.fault]
    healthy = [trace for run, trace in judged if not run.fault]
    found = sum(1 for trace in faulty if trace.errors)
    dirty = sum(1 for trace in healthy if trace.errors)
    return Text(f"\nerrors in {found} of {len(faulty)} traces with a fault, in {dirty} of {len(healthy)} healthy ones")


AFTER_EXIT: Final = """
`tracejury serve` in this folder shows these traces and takes those of your own agents.
"""


def next_steps(grpc_port: int, http_port: int, api_port: int) -> str:
    """How to point an agent of one's own here, and how to ask."""
    url = "" if api_port == 8321 else f" --url http://127.0.0.1:{api_port}"  # noqa: PLR2004  the client's default
    return f"""
Point your own agent here (anything with OpenInference or OpenTelemetry GenAI instrumentation):
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{http_port}      # http/protobuf, the default of many SDKs
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{grpc_port}      # the gRPC exporters
and ask what went wrong:
  tracejury errors --follow{url}
  tracejury traces{url}
"""
