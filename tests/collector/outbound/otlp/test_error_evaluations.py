"""One evaluation for each error, under one id for good: what arrives at a backend as findings come, move and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import orjson
import pytest
from measured_sessions import a_value
from otlp_backend import Backend, grpc_backend, http_backend
from store_parts import TRACE_ID, a_finding

from tracejury.collector.otlp.client.backend_connection import BackendConnection
from tracejury.collector.otlp.client.connect import client_of
from tracejury.collector.outbound.otlp.batch import ExportBatch, ExportOptions
from tracejury.collector.outbound.otlp.config import Annotations, SamplingConfig
from tracejury.collector.outbound.otlp.evaluation_formats import Installation
from tracejury.collector.outbound.otlp.evaluations import hash64, span_attributes, told_key, verdict_evaluations
from tracejury.collector.outbound.otlp.tail_sampler import TailSampler
from tracejury.collector.store.exports import StoredExports
from tracejury.judges.causes import led_by
from tracejury.judges.grouping import standing_errors
from tracejury.judges.verification import verified
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import Finding, FindingState, Verification
from tracejury.schemas.queries.export_record import JudgedOpinion, TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Subject, SubjectKind

S1, S2, S3 = "1" * 16, "2" * 16, "3" * 16
FIRST = a_finding(span_id=S1, judge="service-error", category="Service Errors", confidence=0.6, first_seen=10)
SAME = replace(FIRST, id="a" * 32, judge="tool-calling", confidence=0.5, first_seen=11)
LATE = a_finding(span_id=S2, judge="raised-error", category="Service Errors", confidence=0.9, first_seen=20)
"""Of the same turn and cause as FIRST, and surer: the error moves to its span."""
APART = a_finding(span_id=S3, judge="service-error", category="Service Errors", turn=7, confidence=0.7, first_seen=15)
JOINS = a_finding(
    span_id=S1, judge="service-error", category="Service Errors", confidence=0.95, also_at=(S3,), first_seen=30,
    evidence="and once more",
)  # fmt: skip
"""Declares APART as its repeat: the errors of FIRST and APART become one."""
GONE = FindingState.RETRACTED
RECORD = TraceRecord(
    TRACE_ID, "settled", judged_at=1, seen=1, received_at=1, rows=3, ends={(TRACE_ID, s): 5 for s in (S1, S2, S3)}
)


class Content(StoredExports):
    """A trace of these spans; without any, one of which a backend has them all."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = list(spans)

    def pages(self, _trace_ids: Sequence[str]) -> Iterator[list[Span]]:
        yield self._spans

    def logs(self, _trace_ids: Sequence[str]) -> dict[str, list[LogRecord]]:
        return {}


class Told:
    """What a backend is told of one trace, batch by batch; of a batch only its stored progress outlives it."""

    def __init__(self) -> None:
        self.sent: Mapping[int, int] = {}
        self.at = 0

    def batch(
        self,
        *findings: Finding,
        confidence: str = "balanced",
        annotations: Sequence[Annotations] = ("events", "carriers", "phoenix"),
        spans: Sequence[Span] = (),
    ) -> ExportBatch:
        self.at += 1
        options = ExportOptions(
            installation=Installation(b"s"),
            sampler=TailSampler.of(SamplingConfig()),
            sure=Confidence.of(confidence),
            annotations=frozenset(annotations),
            logs=False,
            own_judges=False,
            max_bytes=2**20,
            ours=lambda _span: False,
        )
        record = TraceRecord(
            trace_id=TRACE_ID, state="settled", judged_at=self.at, seen=self.at, received_at=1, rows=3,
            conventions=("openinference",), run_spans={"run-1": S1}, top=S1,
            opinions=tuple(JudgedOpinion(f, "detectors", self.at) for f in findings),
            found=tuple(map(summary, standing_errors(findings, ()))),
            ends={(TRACE_ID, s): 5 for s in (S1, S2, S3)}, sent=self.sent,
        )  # fmt: skip
        return ExportBatch([record], Content(spans), options)

    def tell(self, *findings: Finding, **options: Any) -> list[tuple[str, str, dict[str, Any]]]:
        """Of each evaluation its id, span and label, as Phoenix's annotations have them, and that progress is kept."""
        batch = self.batch(*findings, **options)
        phoenix = [r for r in batch.requests() if r.signal.name == "PHOENIX"]
        for progress in batch.progress(self.at):
            self.sent = progress.items
        return [
            (one["identifier"], one["span_id"], one["result"] | one["metadata"])
            for request in phoenix
            for one in orjson.loads(request.body)["data"]
        ]


def plain(record: Any) -> dict[str, Any]:
    """The attributes of a record or span."""

    def of(value: Any) -> Any:
        kind = value.WhichOneof("value")
        return [of(v) for v in value.array_value.values] if kind == "array_value" else getattr(value, str(kind))

    return {pair.key: of(pair.value) for pair in record.attributes}


@pytest.mark.parametrize("backend_of", [http_backend, grpc_backend])
async def test_an_error_of_three_findings_arrives_once(backend_of: Any) -> None:
    """With its title, category, severity, confidence, id and judges; a hostile title and quote are only text."""
    title = "\x1b[2J<img src=x onerror=alert(1)> ' OR 1=1 --\n{{7*7}}\u202e" + "x" * 3_000
    quote = '"}], "score": 3 <script>\r\n\x00'
    lead = replace(LATE, title=title, evidence=quote, severity=Severity.MEDIUM)
    backend: Backend
    async with backend_of() as backend:
        client = client_of(BackendConnection(backend.url, {}, timeout=20.0), grpc=backend_of is grpc_backend)
        for request in Told().batch(FIRST, SAME, lead).requests():
            if request.signal.name != "PHOENIX":
                await client.send(request)
        await client.close()
    (record,), (carrier,) = backend.records, backend.spans
    said = plain(record)
    (error,) = standing_errors([FIRST, SAME, lead], ())
    assert record.span_id.hex() == error.lead.span_id == S2
    assert {key: said[f"tracejury.{key}"] for key in ("error.id", "title", "category", "severity", "confidence")} == {
        "error.id": error.id,
        "title": title,
        "category": "Service Errors",
        "severity": "HIGH",
        "confidence": 0.9,
    }
    assert said["tracejury.judges"] == ["raised-error", "service-error", "tool-calling"]
    assert said["tracejury.evaluation.id"] == error.id
    assert said["gen_ai.evaluation.explanation"].endswith(f"Evidence: {quote}")
    metadata = orjson.loads(plain(carrier)["evaluations.0.evaluation.metadata"])
    assert (metadata["title"], metadata["error.id"]) == (title, error.id)


def test_what_another_judge_says_of_the_lead_goes_with_the_error_and_on_its_span() -> None:
    """Where nobody was asked there is no such attribute."""
    told = Told()
    ((_, _, before),) = told.tell(FIRST)
    assert not any("verif" in key for key in before)
    ((_, _, after),) = told.tell(verified(FIRST, Verification.VERIFIED, "some/model", "It failed."))
    assert {key: value for key, value in after.items() if "verif" in key} == {
        "error.verification": "verified",
        "error.verified_by": "some/model",
        "error.verification_reason": "It failed.",
    }
    assert "tracejury.findings.verifications" not in span_attributes([FIRST], {S1: 1})[S1]
    both = [verified(FIRST, Verification.VERIFIED), verified(SAME, Verification.REFUTED)]
    assert span_attributes(both, {S1: 1})[S1]["tracejury.findings.verifications"] == ["refuted", "verified"]


def test_verdicts_of_checks_are_told_with_their_value() -> None:
    """Of an exchange at the span of its run, of a lone trace's session at its topmost span; unscored ones with why."""
    exchange = Subject(SubjectKind.EXCHANGE, "run-1:0-4", TRACE_ID)
    lone = Subject(SubjectKind.SESSION, TRACE_ID, TRACE_ID)
    record = replace(RECORD, run_spans={"run-1": S2}, top=S1, opinions=tuple(
        JudgedOpinion(verdict, verdict.judge, 1) for verdict in (
            a_value("states", exchange, 1, 4), a_value("policy", lone, 0), a_value("tools", lone, None),
            a_value("reports", lone, None, not_applicable=False, unscored_reason="no answer"),
        )
    ))  # fmt: skip
    told = [(one.name, one.span_id, one.score, one.label) for one in verdict_evaluations(record)]
    assert told == [
        ("states", S2, 0.25, ""), ("policy", S1, 0, ""), ("tools", S1, None, "not_applicable"),
        ("reports", S1, None, "unscored"),
    ]  # fmt: skip


def test_nothing_is_told_twice() -> None:
    told = Told()
    assert len(told.tell(FIRST, SAME)) == 1
    assert told.tell(SAME, FIRST) == []


def test_an_error_that_moves_keeps_its_id_and_place() -> None:
    """A late finding that leads it now changes what is said; where it stands by now is said with it."""
    told = Told()
    ((first, span, _),) = told.tell(FIRST)
    ((again, same_span, said),) = told.tell(FIRST, LATE)
    assert (again, same_span) == (first, span) == (led_by(FIRST), S1)
    assert (said["error.id"], said["error.span_id"]) == (led_by(LATE), S2)
    assert told.tell(FIRST, LATE) == []


def test_errors_that_join_go_on_as_the_earlier_one() -> None:
    """The other one is taken back; when they part again, it is told again under its own id."""
    told = Told()
    assert {one for one, *_ in told.tell(FIRST, APART)} == {led_by(FIRST), led_by(APART)}
    joined = {one: said["label"] for one, _, said in told.tell(FIRST, APART, JOINS)}
    assert joined == {led_by(FIRST): "Service Errors", led_by(APART): "retracted"}
    assert told.tell(FIRST, APART, JOINS) == []
    parted = {one: said["label"] for one, _, said in told.tell(FIRST, APART, replace(JOINS, state=GONE))}
    assert parted == {led_by(FIRST): "Service Errors", led_by(APART): "Service Errors"}


def test_an_error_does_not_take_the_id_of_one_that_is_made_where_it_was_read() -> None:
    """The reading of a failed call stands at the span, and has the cause, of another failed call."""
    read = replace(LATE, judge="raised-error-read", id="b" * 32, tool_span_id="t1", seen_by_span_id=S2, turn=3)
    other = replace(LATE, tool_span_id="t2", turn=3)
    told = Told()
    told.tell(other)
    found = told.tell(replace(FIRST, tool_span_id="t1"), read, other)
    assert [one for one, *_ in found] == [led_by(FIRST)]


def test_retracted_findings() -> None:
    """One of several changes what is said; the last one takes the error back, once; what nobody was told is silent."""
    told = Told()
    told.tell(FIRST, SAME)
    ((_, _, said),) = told.tell(FIRST, replace(SAME, state=GONE))
    assert (said["label"], said["judges"]) == ("Service Errors", ["service-error"])
    ((one, _, said),) = told.tell(replace(FIRST, state=GONE), replace(SAME, state=GONE))
    assert (one, said["label"], said["score"]) == (led_by(FIRST), "retracted", 0.0)
    assert told.tell(replace(FIRST, state=GONE), replace(SAME, state=GONE)) == []
    assert told.tell() == []
    assert Told().tell(replace(FIRST, state=GONE)) == []


def test_an_error_that_a_stricter_profile_hides_is_taken_back() -> None:
    told = Told()
    told.tell(FIRST)
    ((_, _, said),) = told.tell(FIRST, confidence="0.8")
    assert said["label"] == "retracted"


async def test_a_span_says_how_many_errors_were_decided_at_it() -> None:
    """Beside its findings; an error counts at its primary span alone, and only where it is sure enough."""
    doubted = a_finding(span_id=S3, judge="repeated-call", category="Resource Abuse", turn=9, confidence=0.2)
    spans = [Span(TRACE_ID, span_id, "", "x", 1, 2) for span_id in (S1, S2, S3)]
    async with http_backend() as backend:
        client = client_of(BackendConnection(backend.url, {}, timeout=20.0), grpc=False)
        batch = Told().batch(FIRST, SAME, LATE, APART, doubted, annotations=["attributes"], spans=spans)
        for request in batch.requests():
            await client.send(request)
        await client.close()
    found = {span.span_id.hex(): plain(span) for span in backend.spans}
    counts = {i: (s["tracejury.findings.count"], s["tracejury.errors.count"]) for i, s in found.items()}
    assert counts == {S1: (2, 0), S2: (1, 1), S3: (1, 1)}


def test_deleted_findings_are_no_news() -> None:
    told = Told()
    told.tell(FIRST, SAME)
    ((one, _, said),) = told.tell(SAME)
    assert (one, said["judges"]) == (led_by(FIRST), ["tool-calling"])
    assert told.tell() == []


def test_what_an_earlier_version_told_by_finding_is_one_error_from_then_on() -> None:
    """The first of its findings goes on; the others are taken back."""
    told = Told()
    told.sent = {hash64(told_key(f.id).encode()): 1 for f in (FIRST, SAME)}
    found = {one: said["label"] for one, _, said in told.tell(FIRST, SAME)}
    assert found == {FIRST.id: "Service Errors", SAME.id: "retracted"}
    assert told.tell(FIRST, SAME) == []


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_a_backend_has_each_error_once(seed: int) -> None:
    """Findings come, go and come back in any order: what lives there by id is what stands, one for each error."""
    random = Random(seed)  # noqa: S311  a simulation
    pool = [FIRST, SAME, LATE, APART, JOINS]
    told, there = Told(), dict[str, str]()
    for _ in range(12):
        known = [replace(f, state=random.choice((FindingState.CURRENT, GONE))) for f in pool if random.random() < 0.8]
        known += [replace(f, state=GONE) for f in pool if f.id not in {k.id for k in known}]
        for one, _, said in told.tell(*known):
            there[one] = said.get("error.id", "") if said["label"] != "retracted" else ""
        standing = standing_errors([f for f in known if f.state is FindingState.CURRENT], ())
        assert sorted(filter(None, there.values())) == sorted(error.id for error in standing)
