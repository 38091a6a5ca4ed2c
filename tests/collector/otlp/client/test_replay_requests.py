"""What is done to requests before they are sent: cutting, shuffling, new ids; nothing is lost by any."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tracejury.collector.otlp.client import FreshIds, batches, shuffled
from tracejury.collector.otlp.codec.groups import Request, count, rows


def build(sizes: list[list[int]]) -> ExportTraceServiceRequest:
    """One resource a list, with schema addresses; one span a number, its name so long."""
    request = ExportTraceServiceRequest()
    for r, names in enumerate(sizes):
        group = request.resource_spans.add(schema_url=f"resource-{r}")
        scope = group.scope_spans.add(schema_url="scope")
        for i, size in enumerate(names):
            scope.spans.add(trace_id=bytes([r + 1] * 16), span_id=(i + 1).to_bytes(8, "big"), name="n" * size)
    return request


def flat(request: Request) -> list[tuple[bytes, bytes, bytes]]:
    return [
        (resource.SerializeToString(), scope.SerializeToString(), item.SerializeToString())
        for resource, scope, item in rows(request)
    ]


requests = st.lists(st.lists(st.integers(0, 300), max_size=8), max_size=4).map(build)


@given(requests, st.integers(1, 6), st.integers(150, 1000))
def test_batches_keep_all_rows_in_order_within_the_limits(
    request: ExportTraceServiceRequest, items: int, size: int
) -> None:
    """At most so many items and bytes each; only a single item may be larger."""
    parts = list(batches(request, items, size))
    assert [row for part in parts for row in flat(part)] == flat(request)
    for part in parts:
        assert count(part) <= items
        assert part.ByteSize() <= size or count(part) == 1


@pytest.mark.parametrize(("spans", "sizes"), [(511, [511]), (512, [512]), (513, [512, 1]), (1025, [512, 512, 1])])
def test_the_default_number_of_spans(spans: int, sizes: list[int]) -> None:
    """At, below and above what the SDKs send at most."""
    assert [count(part) for part in batches(build([[1] * spans]))] == sizes


def test_a_request_within_the_limits_is_sent_as_it_is() -> None:
    """A recorded request keeps its own grouping."""
    request = build([[1], [2]])
    (part,) = batches(request)
    assert part is request


@given(requests, st.integers(0, 5))
def test_shuffling_loses_nothing_and_can_be_repeated(request: ExportTraceServiceRequest, seed: int) -> None:
    """The same rows, at most 32 a request, in an order that the seed decides."""
    mixed = shuffled([request], seed, items=3)
    assert Counter(row for part in mixed for row in flat(part)) == Counter(flat(request))
    assert all(1 <= count(part) <= 3 for part in mixed)
    assert mixed == shuffled([request], seed, items=3)


def test_shuffling_mixes_traces() -> None:
    """Spans of different traces share requests, and another seed gives another order."""
    request = build([[1] * 40, [1] * 40])
    mixed = shuffled([request], seed=1)
    assert any(len({item.trace_id for _, _, item in rows(part)}) == 2 for part in mixed)
    assert mixed != shuffled([request], seed=2)


TRACE, PARENT, CHILD = b"t" * 16, b"p" * 8, b"c" * 8


def trace() -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    parent = scope.spans.add(trace_id=TRACE, span_id=PARENT, name=TRACE.hex())
    parent.attributes.append(KeyValue(key="parent", value=AnyValue(string_value=CHILD.hex())))
    child = scope.spans.add(trace_id=TRACE, span_id=CHILD, parent_span_id=PARENT)
    child.links.add(trace_id=TRACE, span_id=PARENT)
    return request


def test_fresh_ids_are_consistent_over_spans_links_and_logs() -> None:
    """Parents, links and log records follow; content that looks like an id stays; the input is not touched."""
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(trace_id=TRACE, span_id=CHILD)
    fresh = FreshIds()
    before = trace()
    parent, child = (item for _, _, item in rows(fresh.rewrite(before)))
    ((_, _, record),) = rows(fresh.rewrite(logs))
    assert before == trace()
    assert parent.trace_id == child.trace_id == record.trace_id == child.links[0].trace_id != TRACE
    assert parent.span_id == child.parent_span_id == child.links[0].span_id != PARENT
    assert child.span_id == record.span_id not in {CHILD, parent.span_id}
    assert (len(parent.trace_id), len(parent.span_id)) == (16, 8)
    assert parent.parent_span_id == b""
    assert parent.name == TRACE.hex()
    assert parent.attributes[0].value.string_value == CHILD.hex()


def test_fresh_ids_differ_from_replay_to_replay() -> None:
    """Each replay has a salt of its own; the same salt gives the same ids."""
    assert FreshIds().rewrite(trace()) != FreshIds().rewrite(trace())
    assert FreshIds(b"salt").rewrite(trace()) == FreshIds(b"salt").rewrite(trace())


def test_what_is_no_id_stays_so() -> None:
    """Zeros and wrong lengths are what a receiver must judge, not what a replay may mend."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=bytes(16), span_id=b"abc")
    ((_, _, span),) = rows(FreshIds().rewrite(request))
    assert span.trace_id == bytes(16)
    assert len(span.span_id) == 3
