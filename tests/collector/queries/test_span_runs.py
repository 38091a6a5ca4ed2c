"""Which agent run each span of a rebuilt trace is part of."""

from __future__ import annotations

from doctor_traces import AGENT, CALL, TOOL, built, span

from tracejury.collector.queries.span_runs import span_runs

WORK = {"some.work": "done"}


def test_spans_belong_to_the_run_that_they_stand_under() -> None:
    """Its own span, its calls, and plain spans below them; a sub-agent's are its own; what is outside is in none."""
    inner = AGENT | {"gen_ai.agent.name": "helper"}
    spans = [
        span(1, 0, WORK), span(2, 1, AGENT), span(3, 2, CALL), span(4, 2, TOOL), span(5, 4, WORK), span(6, 5, WORK),
        span(7, 4, inner), span(8, 7, CALL), span(9, 1, WORK),
    ]  # fmt: skip
    trace = built(spans)
    runs = {run.name: run.id for run in trace.runs}
    found = {int(i, 16): run for i, run in span_runs(trace).items()}
    assert {n: found.get(n) for n in (2, 3, 4, 5, 6)} == dict.fromkeys((2, 3, 4, 5, 6), runs["manager"])
    assert (found[7], found[8]) == (runs["helper"], runs["helper"])
    assert not {1, 9} & found.keys()


def test_a_trace_without_runs_has_none() -> None:
    """Everything is outside."""
    assert span_runs(built([span(1, 0, WORK)])) == {}
