"""What stands at a place: messages once a run, evidence in the text that holds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_traces import Did, Said, run, trace
from store_parts import a_finding
from trajectories import TRAIL, load

from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.collector.web.trace.detail import Details
from tracejury.collector.web.trace.marks import Shown
from tracejury.collector.web.trace.parts import Detail, RunDetail, SpanDetail, SpanSection, TurnDetail
from tracejury.collector.web.trace.shown_errors import ShownError
from tracejury.judges.grouping import group
from tracejury.judges.registry import default_suite
from tracejury.processors.rebuild import rebuild
from tracejury.processors.trace_outline import outline_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace


def details(rebuilt: Trace, *findings: Finding) -> Details:
    """Details of a trace with the errors that these findings make."""
    errors = group(findings, [run.id for run in rebuilt.runs])
    return Details(rebuilt, TraceIndex(outline_of(rebuilt)), [ShownError(error, error.severity()) for error in errors])


def sections(detail: Detail | None) -> list[SpanSection]:
    """All sections of a place."""
    if isinstance(detail, SpanDetail):
        return [detail.section]
    return list(detail.sections) if detail else []


def texts(detail: Detail | None) -> Iterator[tuple[str, Shown]]:
    """All texts of a place, with their headings."""
    for section in sections(detail):
        yield from ((block.title, block.shown) for block in section.blocks)
    if isinstance(detail, RunDetail):
        yield from ((block.title, block.shown) for block in detail.texts)


def marked(detail: Detail | None) -> dict[str, list[str]]:
    """The headings of the texts in which each finding is marked."""
    found: dict[str, list[str]] = {}
    for title, shown in texts(detail):
        for finding_id in {f for piece in shown.pieces for f in piece.finding_ids}:
            found.setdefault(finding_id, []).append(title)
    return found


def small() -> Trace:
    """Two turns; the second sees the result of the first's call."""
    call = Did("search", {"query": "best trains", "pages": [1, 2]}, "No trains on Sundays.", None, "t1")
    return trace(
        run("r1", Said("a1", "I will search.", [call]), Said("a2", "There are none.", sees=["No trains on Sundays."]))
    )


@pytest.mark.parametrize(
    ("span_id", "evidence", "title"),
    [
        ("a1", "I will search.", "Answer"),
        ("a1", "i  WILL\nsearch", "Answer"),
        ("a1", '{"query": "best trains", "pages": [1, 2]}', "Asks for search"),
        ("a1", "best trains", "Asks for search"),
        ("t1", "on Sundays", "Result"),
        ("t1", '"pages": [1, 2]', "Arguments"),
        ("a2", "No trains on Sundays.", "Tool result"),
        ("t1", "search", "As recorded"),
    ],
)
def test_a_quote_is_marked_in_the_one_text_that_holds_it(span_id: str, evidence: str, title: str) -> None:
    """What was written goes before what was asked, what was sent comes last; a bare name is marked as recorded."""
    finding = a_finding(span_id=span_id, evidence=evidence)
    shown = details(small(), finding)
    key = shown.trace_index.key_of_span(span_id) or ""
    assert marked(shown.at(key)) == {finding.id: [title]}


def test_places_that_are_not_there() -> None:
    """Keys of addresses that name nothing, or nonsense, give nothing."""
    shown = details(small())
    for key in (
        "",
        "run:none",
        "turn:9:r1",
        "turn:x:r1",
        "turn:-1:r1",
        "call:7:0:r1",
        "span:none",
        "turn",
        "call:0",
        ":::",
    ):
        assert shown.at(key) is None
        assert list(shown.blocks_at(key)) == []


def test_numbers_of_texts_are_those_of_the_page() -> None:
    """The whole of a text that is cut is found under the number that its link has."""
    call = Did("search", {"query": "q"}, "R" * 20_000, None, "t1")
    shown = details(trace(run("r1", Said("a1", "A" * 20_000, [call]))))
    detail = shown.at("turn:0:r1")
    assert isinstance(detail, TurnDetail)
    cut = [block for section in detail.sections for block in section.blocks if block.shown.cut]
    assert len(cut) == 2
    for block in cut:
        query = dict(part.split("=") for part in block.whole.split("&"))
        whole = shown.blocks_at(query["at"].replace("%3A", ":"))[int(query["part"])]
        assert len(whole.text) == block.shown.length == 20_000


@pytest.mark.trail
@pytest.mark.skipif(not TRAIL.exists(), reason="the shared TRAIL traces are absent")
def test_all_evidence_in_real_traces_is_marked() -> None:
    """Every finding of the detectors is marked at its place, in exactly one text."""
    suite, seen = default_suite(), 0
    for file in sorted(TRAIL.iterdir()):
        for spans in load(file).values():
            rebuilt = rebuild(spans)
            findings = suite.judge(rebuilt).findings
            shown = details(rebuilt, *findings)
            for finding in findings:
                found = marked(shown.at(shown.trace_index.key_of_span(finding.span_id) or ""))
                assert len(found.get(finding.id, ())) == 1, (finding.judge, finding.evidence)
                seen += 1
    assert seen > 400
