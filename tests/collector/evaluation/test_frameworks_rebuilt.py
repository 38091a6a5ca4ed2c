"""What goes wrong between a request and a rebuilt trace is counted, not raised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from framework_folder import run_spans
from otlp_parts import span, traces

from tracejury.collector.evaluation.frameworks.rebuilt import misplaced, through_collector
from tracejury.judges.base import Context
from tracejury.judges.suite import Suite
from tracejury.schemas.findings import Draft
from tracejury.schemas.trajectory import Trace


class Broken:
    """A detector that raises."""

    name = "broken"
    version = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:
        """Raise."""
        raise RuntimeError(f"no idea of {len(trace.spans)} spans, {ctx.trace is trace}")


def test_spans_in_any_number_of_requests_are_one_trace() -> None:
    """Sent twice they count once."""
    requests = [traces(item) for item in run_spans()]
    whole = through_collector([*requests, *requests], Suite([]))
    assert (len(whole.traces), whole.spans, whole.llm_calls, whole.faults) == (1, 8, 4, ())


def test_a_detector_that_raises_is_a_crash() -> None:
    """The trace is rebuilt all the same."""
    whole = through_collector([traces(*run_spans())], Suite([Broken()]))
    assert len(whole.traces) == 1
    assert whole.faults == (("crash", "broken: RuntimeError: no idea of 8 spans, True"),)


def test_what_a_receiver_refuses_is_lost() -> None:
    """A span without a valid id."""
    whole = through_collector([traces(*run_spans(), span(span_id=b""))], Suite([]))
    assert [what for what, _ in whole.faults] == ["lost"]


def test_spans_in_two_places_or_none_are_misplaced() -> None:
    """Those that act, and any that stand twice."""
    (trace,) = through_collector([traces(*run_spans())], Suite([])).traces
    assert misplaced(trace) == {}
    twice = next(iter(trace.spans.values()))
    assert misplaced(replace(trace, remainder=(twice, twice))) == {twice.span_id: "stands twice"}
    acts = {(n).to_bytes(8).hex() for n in (2, 3, 5, 6, 7, 8)}
    assert misplaced(replace(trace, runs=(), remainder=())) == dict.fromkeys(acts, "stands nowhere")
