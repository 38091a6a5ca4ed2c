"""Bad input over each protocol: the answer that the specification asks for, the good spans stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_clients import Answer, Client
from otlp_parts import (
    START,
    RecordingSink,
    json_tree,
    nest_arrays,
    nest_kvlists,
    nested_json_array,
    nested_json_kvlist,
    span,
    spans,
    text,
    traces,
)
from sizes import sized

from tracejury.collector.otlp.codec.build import LATEST
from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.schemas.config_base import MIB

# One server for all: starting and stopping it would take longer than the tests.
pytestmark = pytest.mark.asyncio(loop_scope="module")
module_fixture = partial(pytest_asyncio.fixture, scope="module", loop_scope="module")
NOW = START + 60 * 10**9

PERMANENT = {"grpc": "INVALID_ARGUMENT", "http": "400", "json": "400"}
TOO_LARGE = {"grpc": "RESOURCE_EXHAUSTED", "http": "413", "json": "413"}
DAY = 86_400 * 10**9


@module_fixture
async def kept() -> RecordingSink:
    return RecordingSink()


@module_fixture
async def shared_intake(kept: RecordingSink) -> Intake:
    return Intake(kept, clock=lambda: NOW)


@module_fixture
async def grpc_port(shared_intake: Intake) -> AsyncIterator[int]:
    receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0"), shared_intake)
    yield await receiver.start()
    await receiver.stop(1)


@module_fixture
async def http_port(shared_intake: Intake) -> AsyncIterator[int]:
    receiver = HttpReceiver(HttpConfig(endpoint="127.0.0.1:0"), shared_intake)
    yield await receiver.start()
    await receiver.stop(1)


@pytest.fixture
def sink(kept: RecordingSink) -> RecordingSink:
    kept.batches.clear()
    return kept


def refused_for_good(answer: Answer, codes: dict[str, str], client: Client) -> bool:
    """Whether a client would drop the request instead of sending it again."""
    return answer.code == codes[client.protocol] and answer.retry is None


async def alive(client: Client, sink: RecordingSink) -> bool:
    """Whether the server still takes a good span."""
    before = len(sink.spans)
    answer = await client.send(traces(span()))
    return answer.ok and len(sink.spans) == before + 1


async def test_garbage_is_refused_for_good(client: Client, sink: RecordingSink) -> None:
    """Bytes that are no request at all cannot become one by trying again."""
    answer = await client.send_bytes(b"\xde\xad\xbe\xef" * 10)
    assert refused_for_good(answer, PERMANENT, client)
    assert sink.batches == []
    assert await alive(client, sink)


@settings(max_examples=sized(13, 40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=300))
async def test_any_bytes_are_answered(client: Client, body: bytes) -> None:
    """Whatever comes, it is accepted or refused for good: never INTERNAL, UNKNOWN or a retry without an end."""
    answer = await client.send_bytes(body)
    assert answer.ok or refused_for_good(answer, PERMANENT, client)


@settings(max_examples=sized(13, 40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(min_value=0, max_value=10**6), byte=st.integers(min_value=0, max_value=255))
async def test_a_flipped_byte_is_answered(client: Client, at: int, byte: int) -> None:
    """A good request with one wrong byte is accepted, in part or whole, or refused for good."""
    body = bytearray(client.body(traces(*spans(1, 2, 3))))
    body[at % len(body)] = byte
    answer = await client.send_bytes(bytes(body))
    assert answer.ok or refused_for_good(answer, PERMANENT, client)


async def test_an_empty_request_is_a_success(client: Client, sink: RecordingSink) -> None:
    """Nothing to do is done; the sink hears nothing of it, and there is no partial success."""
    for body in (b"", client.body(ExportTraceServiceRequest()), client.body(traces())):
        answer = await client.send_bytes(body)
        assert answer.ok
        assert not answer.partial
    assert sink.batches == []


async def test_a_good_request_has_no_partial_success(client: Client, sink: RecordingSink) -> None:
    """On full success the partial success is unset."""
    answer = await client.send(traces(*spans(1, 2)))
    assert answer.ok
    assert not answer.partial
    assert len(sink.spans) == 2


async def test_gzip_is_taken(client: Client, sink: RecordingSink) -> None:
    """A gzipped request is the same request."""
    await client.send(traces(*spans(1, 2)), gzipped=True)
    await client.send(traces(*spans(1, 2)))
    assert sink.batches[0] == sink.batches[1]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trace_id": b""}, "trace id is not 16 bytes"),
        ({"trace_id": b"\1" * 15}, "trace id is not 16 bytes"),
        ({"trace_id": b"\1" * 17}, "trace id is not 16 bytes"),
        ({"trace_id": bytes(16)}, "trace id is all zero"),
        ({"span_id": b""}, "span id is not 8 bytes"),
        ({"span_id": b"\1" * 7}, "span id is not 8 bytes"),
        ({"span_id": b"\1" * 9}, "span id is not 8 bytes"),
        ({"span_id": bytes(8)}, "span id is all zero"),
        ({"parent_span_id": b"\1" * 7}, "parent span id is not 8 bytes"),
        ({"parent_span_id": b"\1" * 16}, "parent span id is not 8 bytes"),
    ],
)
async def test_a_span_with_a_wrong_id_is_rejected_alone(
    client: Client, sink: RecordingSink, fields: dict[str, bytes], reason: str
) -> None:
    """The span is counted with its reason; its neighbours are stored."""
    good = spans(1, 2)
    answer = await client.send(traces(good[0], span(**fields), good[1]))
    assert answer == Answer(
        answer.code, f"1 spans rejected: {reason} (1)", rejected=1, partial=True, media=answer.media
    )
    assert answer.ok
    assert [stored.span_id for stored in sink.spans] == ["0000000000000001", "0000000000000002"]


async def test_half_a_batch_may_be_bad(client: Client, sink: RecordingSink) -> None:
    """The good half is stored, the bad half counted by reason, the commonest first."""
    bad = [*(span(trace_id=b"x") for _ in range(30)), *(span(span_id=bytes(8)) for _ in range(20))]
    answer = await client.send(traces(*spans(*range(1, 51)), *bad))
    assert answer.rejected == 50
    assert answer.message == "50 spans rejected: trace id is not 16 bytes (30), span id is all zero (20)"
    assert len(sink.spans) == 50


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ((START, START + 5), (START, START + 5)),
        ((0, START), (START, START)),
        ((START, 0), (START, START)),
        ((0, 0), (NOW, NOW)),
        ((START + 5, START), (START + 5, START)),
        ((1, 2), (1, 2)),
        ((LATEST - 1, LATEST), (LATEST - 1, LATEST)),
        ((LATEST + 1, 2**64 - 1), (LATEST, LATEST)),
    ],
    ids=["usual", "no start", "no end", "neither", "end before start", "1970", "2262", "beyond int64"],
)
async def test_odd_times_are_stored(
    client: Client, sink: RecordingSink, sent: tuple[int, int], stored: tuple[int, int]
) -> None:
    """No time loses a span: missing ones are mended, those beyond int64 clamped and marked."""
    answer = await client.send(traces(span(start_time_unix_nano=sent[0], end_time_unix_nano=sent[1])))
    assert answer.ok
    assert not answer.partial
    (kept,) = sink.spans
    assert (kept.start, kept.end) == stored
    assert kept.cut == sum(time > LATEST for time in sent)


async def test_many_days_in_one_request_are_taken(client: Client, sink: RecordingSink) -> None:
    """150 different days are no reason to refuse anything."""
    days = [span(span_id=(n + 1).to_bytes(8), start_time_unix_nano=START - n * DAY) for n in range(150)]
    assert (await client.send(traces(*days))).ok
    assert len({stored.start for stored in sink.spans}) == 150


async def test_a_trace_of_ten_thousand_spans_is_taken(client: Client, sink: RecordingSink) -> None:
    """One request may hold a whole long trace."""
    assert (await client.send(traces(*spans(*range(1, 10_001))))).ok
    assert len(sink.spans) == 10_000


async def test_a_value_of_20_mb_is_kept_whole(client: Client, sink: RecordingSink) -> None:
    """The default limits stand above what agents really send."""
    value = "ä" * (10 * MIB)
    assert (await client.send(traces(span(attributes=[text("input.value", value)])))).ok
    (kept,) = sink.spans
    assert kept.attributes["input.value"] == value
    assert kept.cut == 0


async def test_ten_thousand_attributes_are_kept(client: Client, sink: RecordingSink) -> None:
    """The default limits stand above what agents really send."""
    assert (await client.send(traces(span(attributes=[text(f"k{n}", "v") for n in range(10_000)])))).ok
    (kept,) = sink.spans
    assert len(kept.attributes) == 10_000
    assert kept.cut == 0


async def test_attributes_beyond_the_limit_are_cut_and_marked(client: Client, sink: RecordingSink) -> None:
    """One more than the limit costs one attribute, never the span."""
    assert (await client.send(traces(span(attributes=[text(f"k{n}", "v") for n in range(16_385)])))).ok
    (kept,) = sink.spans
    assert len(kept.attributes) == 16_384
    assert kept.cut == 1


async def test_a_value_beyond_the_limit_is_cut_and_marked(client: Client, sink: RecordingSink) -> None:
    """A value over 32 MiB keeps its head and says that it was cut."""
    assert (await client.send(traces(span(attributes=[text("input.value", "x" * (33 * MIB))])))).ok
    (kept,) = sink.spans
    assert len(kept.attributes["input.value"].encode()) == 32 * MIB
    assert kept.attributes["input.value"].endswith("x… [cut]")
    assert kept.cut == 1


async def test_a_request_over_the_size_limit_is_refused_for_good(client: Client, sink: RecordingSink) -> None:
    """65 MiB never fit: the client must not try again."""
    answer = await client.send_bytes(bytes(65 * MIB))
    assert refused_for_good(answer, TOO_LARGE, client)
    assert sink.batches == []
    assert await alive(client, sink)


async def test_a_gzip_bomb_is_refused_for_good(client: Client, sink: RecordingSink) -> None:
    """The size limit holds after decompression."""
    answer = await client.send_bytes(bytes(200 * MIB), gzipped=True)
    assert refused_for_good(answer, TOO_LARGE, client)
    assert await alive(client, sink)


async def test_more_items_than_the_limit_are_refused_for_good(client: Client, sink: RecordingSink) -> None:
    """Tiny spans cost far more memory than bytes, so their number is bounded apart."""
    request = traces()
    request.resource_spans[0].scope_spans[0].spans.extend([Span()] * 131_072)
    answer = await client.send(request)
    assert refused_for_good(answer, TOO_LARGE, client)
    assert sink.batches == []


async def test_values_nested_40_deep_are_kept(client: Client, sink: RecordingSink) -> None:
    """Deep, but within every limit."""
    request = traces(span(attributes=[KeyValue(key="deep")]))
    nest_arrays(request.resource_spans[0].scope_spans[0].spans[0].attributes[0].value, 40)
    assert (await client.send(request)).ok
    (kept,) = sink.spans
    assert kept.attributes["deep"] == "[" * 40 + "]" * 40
    assert kept.attribute_types["deep"] == "array"


@pytest.mark.parametrize("nest", [nest_arrays, nest_kvlists])
async def test_values_nested_100_deep_over_protobuf_cost_the_request(
    grpc_port: int, http_port: int, sink: RecordingSink, nest: Callable[[AnyValue, int], None]
) -> None:
    """Protobuf's own parser gives up, so nothing of the request can be read; it is refused for good."""
    request = traces(*spans(1), span(attributes=[KeyValue(key="deep")]))
    nest(request.resource_spans[0].scope_spans[0].spans[1].attributes[0].value, 100)
    for client in (Client("grpc", grpc_port), Client("http", http_port)):
        assert refused_for_good(await client.send(request), PERMANENT, client)
        assert sink.batches == []
        assert await alive(client, sink)
        sink.batches.clear()


@pytest.mark.parametrize("value", [nested_json_array(100), nested_json_kvlist(100)], ids=["arrays", "kvlists"])
async def test_values_nested_100_deep_over_json_cost_their_span(
    http_port: int, sink: RecordingSink, value: dict[str, Any]
) -> None:
    """JSON is read span by span, so the neighbours are stored."""
    answer = await _post(http_port, _with_attribute(value))
    assert answer.message == "1 spans rejected: a value is nested deeper than 64 (1)"
    assert [stored.span_id for stored in sink.spans] == ["0000000000000001", "0000000000000002"]


async def test_absurd_nesting_over_json_is_refused_for_good(http_port: int, sink: RecordingSink) -> None:
    """Deeper than the JSON parser follows: the request is lost, the server is not."""
    depth = 100_000
    for body in (b"[" * depth, b'{"resourceSpans":' * depth, b"[" * depth + b"]" * depth, b"[" * depth + b"\xff"):
        answer = await Client("json", http_port).send_bytes(body)
        assert (answer.code, answer.retry) == ("400", None)
    assert await alive(Client("json", http_port), sink)


async def test_invalid_utf8_over_protobuf_costs_the_request(
    grpc_port: int, http_port: int, sink: RecordingSink
) -> None:
    """Protobuf's own parser refuses the whole request; it will be no better next time."""
    body = traces(*spans(1), span(name="NAME")).SerializeToString().replace(b"NAME", b"N\xff\xfeE")
    for client in (Client("grpc", grpc_port), Client("http", http_port)):
        assert refused_for_good(await client.send_bytes(body), PERMANENT, client)
    assert sink.batches == []


async def test_invalid_utf8_over_json_costs_its_span(http_port: int, sink: RecordingSink) -> None:
    """The span with the broken text is rejected, its neighbours are stored."""
    body = json.dumps(_with_attribute({"stringValue": "BROKEN"})).encode().replace(b"BROKEN", b"\xff\xfe \xed\xa0\x80")
    answer = await Client("json", http_port).send_bytes(body)
    assert answer.message == "1 spans rejected: stringValue is not UTF-8 text (1)"
    assert [stored.span_id for stored in sink.spans] == ["0000000000000001", "0000000000000002"]


async def test_lone_surrogates_over_json_are_replaced(http_port: int, sink: RecordingSink) -> None:
    r"""JavaScript writes half an emoji as \ud83d: the span is stored with U+FFFD in its place."""
    body = (
        json.dumps(_with_attribute({"stringValue": "BROKEN"}))
        .encode()
        .replace(b"BROKEN", rb"\ud83d a \\ud83d b \ud83d\ude00 c \uDE00")
    )
    answer = await Client("json", http_port).send_bytes(body)
    assert not answer.partial
    assert sink.spans[1].attributes["odd"] == "\ufffd a \\ud83d b \U0001f600 c \ufffd"


async def test_nul_bytes_are_kept(client: Client, sink: RecordingSink) -> None:
    """NUL is a character like any other."""
    assert (await client.send(traces(span(name="a\0b", attributes=[text("k\0", "\0")])))).ok
    assert sink.spans[0].name == "a\0b"
    assert sink.spans[0].attributes == {"k\0": "\0"}


async def test_a_cycle_of_parents_is_stored(client: Client, sink: RecordingSink) -> None:
    """Who is whose child is not the receiver's business; a span may even name itself."""
    ids = [n.to_bytes(8) for n in (1, 2, 3)]
    cycle = [span(span_id=own, parent_span_id=parent) for own, parent in zip(ids, [*ids[1:], ids[0]], strict=True)]
    assert (await client.send(traces(*cycle, span(parent_span_id=span().span_id)))).ok
    assert len(sink.spans) == 4


def _with_attribute(value: dict[str, Any]) -> dict[str, Any]:
    """Three spans as OTLP JSON, the middle one with an odd attribute."""
    tree = json_tree(traces(*spans(1), span(), *spans(2)))
    tree["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"] = [{"key": "odd", "value": value}]
    return tree


async def _post(port: int, tree: dict[str, Any]) -> Answer:
    return await Client("json", port).send_bytes(json.dumps(tree).encode())
