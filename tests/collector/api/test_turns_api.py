"""The turns around a span."""

from __future__ import annotations

from served_api import Api
from trace_pages import TRACE_ID, failing_run


def test_turns_around_a_span_are_those_of_the_part_around_it(api: Api) -> None:
    """By the trace's id or its beginning, of every span that an agent run is made of."""
    api.put_spans(*failing_run())
    for span in failing_run():
        part = api.get(f"/api/traces/{TRACE_ID}", span=span.span_id)
        assert part["agent_runs"]
        for trace in (TRACE_ID, TRACE_ID[:8]):
            turns = api.get(f"/api/traces/{trace}/spans/{span.span_id}/turns")
            assert turns == {"agent_runs": part["agent_runs"]}


def test_a_span_that_is_not_of_the_trace_has_none(api: Api) -> None:
    """Nor has one of a trace that is not stored."""
    api.put_spans(*failing_run())
    for trace, span, told in ((TRACE_ID, "f" * 16, "in this trace"), ("f" * 32, failing_run()[0].span_id, "stored")):
        answer = api.client.get(f"/api/traces/{trace}/spans/{span}/turns")
        assert answer.status_code == 404
        assert told in answer.json()["detail"]
