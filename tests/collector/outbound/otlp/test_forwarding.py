"""The whole collector with backends behind it: what arrives there, and when again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest
from collecting import send, settled
from forwarding import configured, counted, figures
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_backend import Act, Backend, grpc_backend, http_backend
from otlp_parts import START, logs, span, text, traces
from weather_agent import agent, trace_id

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.mark import MARK, is_ours, mark_of
from tracejury.collector.outbound.otlp.marks import FORWARDED_BY
from tracejury.collector.store.install import mark_key
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.sampling import combined_threshold, randomness, with_threshold

MANY_ROUNDS = 6
BACKENDS: Mapping[str, Any] = {"http": http_backend, "grpc": grpc_backend}


def plain(value: AnyValue) -> Any:
    """An attribute's value."""
    kind = value.WhichOneof("value")
    return [plain(v) for v in value.array_value.values] if kind == "array_value" else getattr(value, str(kind))


def stated(item: Any) -> dict[str, Any]:
    """The attributes of a span or record."""
    return {pair.key: plain(pair.value) for pair in item.attributes}


def is_carrier(found: Span) -> bool:
    return stated(found).get("openinference.span.kind") == "EVALUATOR"


def users(backend: Backend) -> list[Span]:
    """The spans taken that are no carriers."""
    return [s for s in backend.spans if not is_carrier(s)]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_failing_trace_arrives_whole_and_annotated(served_dsn: str, protocol: str) -> None:
    """Every span as it was sent; on the faulty one what was found, an event and a carrier that point at it."""
    sent = agent(fault=True)
    async with BACKENDS[protocol]() as backend:
        config = configured(served_dsn, {"endpoint": backend.url, "protocol": protocol, "headers": {"x-Key": "sesame"}})
        async with Collector(config) as collector:
            await send(collector, sent)
            await backend.until(lambda: len(users(backend)) == 3 and bool(backend.records))
    received = {s.span_id: s for s in users(backend)}
    for original in sent.resource_spans[0].scope_spans[0].spans:
        found = received[original.span_id]
        kept = [pair for pair in found.attributes if not pair.key.startswith("tracejury.")]
        bare = Span()
        bare.CopyFrom(found)
        del bare.attributes[:]
        bare.attributes.extend(kept)
        for event in bare.events:
            event.time_unix_nano = 0  # the sender left it out; we put in the span's start
        assert bare == original
    faulty = stated(received[b"llm00001"])
    assert faulty["tracejury.findings.count"] == len(faulty["tracejury.findings.judges"]) == 1
    assert faulty["tracejury.errors.count"] == 1
    assert faulty["tracejury.severity.max"] in {"LOW", "MEDIUM", "HIGH"}
    assert faulty["tracejury.findings.categories"] == ["Formatting Errors"]
    (carrier,) = [s for s in backend.spans if is_carrier(s)]
    assert [(link.trace_id, link.span_id) for link in carrier.links] == [(trace_id(1), b"llm00001")]
    assert (carrier.trace_id, carrier.parent_span_id) == (trace_id(1), b"llm00001")
    evaluation = stated(carrier)
    assert evaluation["evaluations.0.evaluation.name"] == "tracejury.error"
    assert evaluation["evaluations.0.evaluation.label"] == "Formatting Errors"
    assert evaluation["evaluations.0.evaluation.annotator_kind"] == "CODE"
    assert "town" in evaluation["evaluations.0.evaluation.explanation"]
    (record,) = backend.records
    assert (record.event_name, record.trace_id, record.span_id) == (
        "gen_ai.evaluation.result",
        trace_id(1),
        b"llm00001",
    )
    said = stated(record)
    assert said["gen_ai.evaluation.name"] == "tracejury.error"
    assert said["gen_ai.evaluation.score.label"] == "Formatting Errors"
    assert said["gen_ai.evaluation.score.value"] == evaluation["evaluations.0.evaluation.score"]
    assert said["tracejury.evaluation.id"] == evaluation["evaluations.0.evaluation.identifier"]
    assert all(t.headers["x-key"] == "sesame" for t in backend.taken)


async def test_what_our_receiver_reads_downstream_equals_what_is_stored(served_dsn: str) -> None:
    """Without annotations nothing at all is changed: attribute types, links, flags, scope and resource."""
    typed = text("n", "")
    typed.value.int_value = 7
    sent = agent(fault=True)
    root = sent.resource_spans[0].scope_spans[0].spans[2]
    root.attributes.append(typed)
    root.links.add(trace_id=trace_id(9), span_id=b"elsewher", attributes=[typed])
    root.flags, root.trace_state = 0x101, "vendor=1,ot=rv:6e6d1a75832a2f"
    sent.resource_spans[0].resource.attributes.append(typed)
    async with (
        http_backend() as backend,
        Collector(configured(served_dsn, {"endpoint": backend.url, "annotations": []})) as collector,
    ):
        await send(collector, sent)
        await backend.until(lambda: len(backend.spans) == 3)
    (taken,) = backend.taken

    def read(request: Any) -> set[str]:
        body = request.SerializeToString()
        found = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=START).batch.spans
        return {repr(s) for s in sorted(found, key=lambda s: s.span_id)}

    assert read(taken.request) == read(sent)


async def test_late_spans_go_out_alone(served_dsn: str) -> None:
    """What the backend has is not sent again; a healthy trace carries no annotation at all."""
    async with http_backend() as backend:
        async with Collector(configured(served_dsn, {"endpoint": backend.url})) as collector:
            await send(collector, agent(fault=False))
            await backend.until(lambda: len(backend.spans) == 3)
            late = span(
                trace_id=trace_id(1), span_id=b"late0001", parent_span_id=b"agent001", attributes=[text("a", "b")]
            )
            await send(collector, traces(late, service="shop"))
            await backend.until(lambda: len(backend.spans) == 4)
            await settled(collector)
            await counted(collector, "sent_traces_total:backend-0", 2)
        async with Collector(configured(served_dsn, {"endpoint": backend.url})) as collector:
            await counted(collector, "up:backend-0", 1)
    assert [s.span_id for s in backend.spans].count(b"late0001") == 1
    assert len(backend.spans) == 4
    assert not backend.records


async def test_what_is_found_later_and_what_is_taken_back_is_told_once(served_dsn: str) -> None:
    """A late span brings a finding; a later copy of it without the fault takes that back: under the same ids."""
    faulty, sound = (agent(fault=f).resource_spans[0].scope_spans[0].spans for f in (True, False))
    for later in sound:
        later.end_time_unix_nano += 500_000_000
    async with http_backend() as backend, Collector(configured(served_dsn, {"endpoint": backend.url})) as collector:
        await send(collector, traces(faulty[2], service="shop"))
        await backend.until(lambda: len(users(backend)) == 1)
        await send(collector, traces(*faulty[:2], service="shop"))
        await backend.until(lambda: len(backend.records) == 1)
        assert [s.span_id for s in users(backend)] == [b"agent001", b"llm00001", b"tool0001"]
        await send(collector, traces(*sound, service="shop"))
        await backend.until(lambda: len(backend.records) == 2)
        await settled(collector)
    first, last = (stated(r) for r in backend.records)
    assert first["tracejury.evaluation.id"] == last["tracejury.evaluation.id"]
    assert (last["gen_ai.evaluation.score.label"], last["gen_ai.evaluation.score.value"]) == ("retracted", 0.0)
    carriers = [s for s in backend.spans if is_carrier(s)]
    assert len(carriers) == 2
    assert len({c.span_id for c in carriers}) == 1, "the later one overwrites the earlier"


async def test_one_backend_that_is_away_stops_no_other(served_dsn: str) -> None:
    """Nothing listens at one; the other gets everything. Its traces wait in the store until it is there."""
    async with http_backend() as gone:
        port = gone.url
    async with http_backend() as there:
        async with Collector(configured(served_dsn, {"endpoint": port}, {"endpoint": there.url})) as collector:
            await send(collector, *(agent(n, fault=False) for n in range(1, 6)))
            await there.until(lambda: len(there.spans) == 15)
            await counted(collector, "retried_requests_total:backend-0", 3)
            assert figures(collector)["up:backend-0"] == 0
            assert figures(collector)["lag_seconds:backend-0"] > 0
        async with http_backend() as back:
            config = configured(served_dsn, {"endpoint": back.url}, {"endpoint": there.url})
            async with Collector(config) as collector:
                await back.until(lambda: len(back.spans) == 15)
                await settled(collector)
    assert len(there.spans) == 15


async def test_a_stop_does_not_wait_for_a_backend_that_is_away(served_dsn: str) -> None:
    """It hangs, as it did before: the collector stops at once, and what was to go waits in the store."""
    async with http_backend() as backend:
        backend.always = lambda _signal, _request: Act(status=503)
        config = configured(served_dsn, {"endpoint": backend.url, "timeout_seconds": 600})
        async with Collector(config.model_copy(update={"shutdown_seconds": 600.0})) as collector:
            await send(collector, agent(1, fault=False))
            await counted(collector, "retried_requests_total:backend-0", 3)
            asked = asyncio.Event()

            def hang(_signal: str, _request: object) -> Act:
                asked.set()
                return Act(hangs=True)

            backend.always = hang
            await asked.wait()
            async with asyncio.timeout(60):
                await collector.stop()
        backend.always = lambda _signal, _request: Act()
        async with Collector(config):
            await backend.until(lambda: len(backend.spans) == 3)


async def test_what_is_given_up_is_counted_and_not_sent_later(served_dsn: str) -> None:
    """A backend that was away for more than a day lacks those traces, and gets the next ones."""
    passed = 0
    async with http_backend() as backend:
        backend.always = lambda _signal, _request: Act(status=503)
        config = configured(served_dsn, {"endpoint": backend.url})
        async with Collector(config, clock=lambda: time.time_ns() + passed) as collector:
            await send(collector, agent(1, fault=False))
            await counted(collector, "retried_requests_total:backend-0", 3)
            passed = 25 * 3600 * 10**9
            await counted(collector, "given_up_traces_total:backend-0", 1)
            backend.always = lambda _signal, _request: Act()
            await send(collector, agent(2, fault=False))
            await backend.until(lambda: len(backend.spans) >= 3)
    assert {s.trace_id for s in backend.spans} == {trace_id(2)}


async def test_log_records_of_a_trace_go_with_it(served_dsn: str) -> None:
    """GenAI content may stand in them; a backend that takes no logs gets the spans all the same."""
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

    record = LogRecord(
        trace_id=trace_id(1), span_id=b"llm00001", time_unix_nano=START, observed_time_unix_nano=START,
        body=AnyValue(string_value="said"), event_name="note",
    )  # fmt: skip
    async with http_backend() as backend, http_backend() as deaf:
        deaf.always = lambda signal, _request: Act(status=404 if signal == "logs" else 200)
        config = configured(served_dsn, {"endpoint": backend.url}, {"endpoint": deaf.url})
        async with Collector(config) as collector:
            await send(collector, logs(record), signal="logs")
            await send(collector, agent(fault=True))
            await backend.until(lambda: len(backend.records) == 2)
            await counted(collector, "sent_traces_total:backend-1", 1)
            assert figures(collector)["failed_log_records_total:backend-1"] == 2
    assert record in backend.records
    assert len(users(deaf)) == 3


async def test_spans_of_our_own_judges_are_not_the_users(served_dsn: str) -> None:
    """Nobody is sent what our judges' calls left here, unless that is asked for."""
    async with http_backend() as backend, http_backend() as curious:
        config = configured(served_dsn, {"endpoint": backend.url}, {"endpoint": curious.url, "own_judges": True})
        async with Collector(config) as collector:
            store = SharedStore.open(served_dsn)
            secret = mark_key(store)
            store.close()
            mark = mark_of(trace_id(1).hex(), b"ours0001".hex(), secret)
            ours = span(trace_id=trace_id(1), span_id=b"ours0001", attributes=[text(MARK, mark)])
            await send(collector, traces(ours), agent(fault=False))
            await backend.until(lambda: len(backend.spans) == 3)
            await curious.until(lambda: len(curious.spans) == 4)
    assert b"ours0001" not in {s.span_id for s in backend.spans}


async def test_what_comes_back_goes_round_no_more(served_dsn: str) -> None:
    """A backend that passes on to us what we passed on to it: judged no differently, and not sent again."""
    async with http_backend() as backend:
        async with Collector(configured(served_dsn, {"endpoint": backend.url})) as collector:
            await send(collector, agent(fault=True))
            await backend.until(lambda: bool(backend.records))
            await settled(collector)
            first = list(backend.taken)
            for taken in first:
                await send(collector, taken.request, signal=taken.signal)
            await settled(collector)
            await counted(collector, "sent_traces_total:backend-0", 1)
        store = SharedStore.open(served_dsn)
        secret = mark_key(store)
        store.close()
        async with Collector(configured(served_dsn, {"endpoint": backend.url})) as collector:
            await settled(collector)
    again = [s for t in backend.taken[len(first) :] for s in _spans_of(t.request)]
    assert not [s for s in again if FORWARDED_BY in stated(s)]
    assert len(backend.records) == 1
    carriers = [s for s in backend.spans if is_carrier(s)]
    body = traces(*carriers).SerializeToString()
    read = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=START).batch.spans
    assert all(is_ours(s, secret) for s in read), "and our own judging passes them over"


async def test_what_comes_back_still_goes_to_a_backend_that_was_away(served_dsn: str) -> None:
    """It is the user's span still: sent there once, without what was said elsewhere, however often it returns."""
    async with http_backend() as gone:
        away = gone.url
    async with http_backend() as there:
        async with Collector(configured(served_dsn, {"endpoint": there.url}, {"endpoint": away})) as collector:
            await send(collector, agent(fault=True))
            await there.until(lambda: bool(there.records))
            await settled(collector)
            for taken in list(there.taken):
                await send(collector, taken.request, signal=taken.signal)
            await settled(collector)
        had = len(users(there))
        async with http_backend() as back:
            plain_one = {"endpoint": back.url, "annotations": [], "own_judges": True}
            async with Collector(configured(served_dsn, {"endpoint": there.url}, plain_one)) as collector:
                await back.until(lambda: len(back.spans) == 3)
                await settled(collector)
                for _ in range(3):
                    for taken in [*there.taken, *back.taken]:
                        await send(collector, taken.request, signal=taken.signal)
                    await settled(collector)
                await send(collector, agent(2, fault=False))
                await back.until(lambda: len(back.spans) == 6)
                await there.until(lambda: len(users(there)) == had + 3)
            first = [s for s in back.spans if s.trace_id == trace_id(1)]
    assert {s.span_id for s in first} == {b"agent001", b"llm00001", b"tool0001"}, "and no carrier of ours"
    (faulty,) = (stated(s) for s in first if s.span_id == b"llm00001")
    assert FORWARDED_BY in faulty
    assert not [key for key in faulty if key.startswith(("tracejury.findings", "tracejury.severity"))]


async def test_two_that_pass_on_to_each_other_come_to_rest(served_dsn: str, second_dsn: str) -> None:
    """Each keeps what it was sent and passes on what is new to the other; then nothing goes any more."""
    async with http_backend() as to_second, http_backend() as to_first:
        first = configured(served_dsn, {"endpoint": to_second.url})
        second = configured(second_dsn, {"endpoint": to_first.url})
        sent = await passed_on(first, to_second, [agent(1, fault=True), agent(2, fault=False)])
        rounds = 0
        while sent and rounds < MANY_ROUNDS:
            rounds += 1
            sent = await passed_on(second, to_first, sent)
            sent = await passed_on(first, to_second, sent)
    assert rounds < MANY_ROUNDS
    for link in (to_second, to_first):
        copies = [(s.trace_id, s.span_id) for s in users(link)]
        assert len(set(copies)) == 6
        assert max(copies.count(copy) for copy in copies) <= 2


async def passed_on(config: CollectorConfig, link: Backend, requests: list[Any]) -> list[Any]:
    """What a collector sends behind after it was sent these, up to its stop, which leaves nothing unsent."""
    had = len(link.taken)
    async with Collector(config) as collector:
        for request in requests:
            await send(collector, request, signal="traces" if hasattr(request, "resource_spans") else "logs")
        await settled(collector)
    return [taken.request for taken in link.taken[had:]]


def _spans_of(request: Any) -> list[Span]:
    return [s for r in getattr(request, "resource_spans", ()) for c in r.scope_spans for s in c.spans]


async def test_traces_that_are_one_run_go_together(served_dsn: str) -> None:
    """One that fails keeps all of them; of healthy ones all go or none, at one threshold and one randomness."""
    runs, failing = 24, {3, 4}
    requests = []
    for run in range(1, runs + 1):
        together = ExportTraceServiceRequest()  # in one request: none of them settles before the others are there
        for part in (0, 1, 2):
            request = agent(3 * run + part, fault=run in failing and part == 1)
            for found in _spans_of(request):
                mine = bytes([part]) + found.span_id[1:]
                parent = bytes([part]) + found.parent_span_id[1:] if found.parent_span_id else b""
                found.span_id, found.parent_span_id = mine, parent
                found.start_time_unix_nano += part
                if part and not parent:
                    found.links.add(trace_id=trace_id(3 * run), span_id=b"\0gent001")
            together.MergeFrom(request)
        requests.append(together)
    async with (
        http_backend() as backend,
        Collector(configured(served_dsn, {"endpoint": backend.url}, sampling={"healthy": 0.4})) as collector,
    ):
        await send(collector, *requests)
        await settled(collector)

        def passed() -> float:
            found = figures(collector)
            return found["sent_traces_total:backend-0"] + found["sampled_out_traces_total:backend-0"]

        async with asyncio.timeout(60):
            while passed() < 3 * runs:  # noqa: ASYNC110  figures are asked for, as Prometheus does
                await asyncio.sleep(0.1)
    arrived: dict[int, list[Span]] = {}
    for found in users(backend):
        number = int.from_bytes(found.trace_id[:9])
        arrived.setdefault(number // 3, []).append(found)
    assert all(len({s.trace_id for s in spans}) == 3 for spans in arrived.values())
    assert failing < arrived.keys()
    assert len(arrived) < runs
    for run, spans in arrived.items():
        states = {s.trace_state.partition(";")[0] for s in spans}
        assert states == ({""} if run in failing else {with_threshold("", combined_threshold("", 0.4))})
        assert len({randomness(s.trace_id.hex(), s.trace_state) for s in spans}) == (3 if run in failing else 1)
