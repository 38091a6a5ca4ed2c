"""The oracle of a task card over the real store: while an agent works, at the close, and after a restart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pack_bench import CHAT, Called, PackBench, exchange

from tracejury.collector.store import session_traces
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.rut.figures import task_result
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.spans import STATUS_ERROR, Span
from tracejury.schemas.verdicts import SubjectKind

ORACLE: dict[str, Any] = {
    "steps": [
        {"id": "look", "tool": "get_order", "arguments": {"id": 7}},
        {"id": "pay", "tool": "refund", "arguments": {"id": 7, "eur": 20}, "write": True},
    ],
    "order": [["look", "pay"]],
    "exclusive": [["refund", "exchange_item"]],
    "forbidden": [{"tool": "delete_account"}],
}
LOOK = Called("get_order", '{"id": 7}', '{"status": "open"}')
REFUND = Called("refund", '{"id": 7, "eur": 20}', "refunded")
DELETE = Called("delete_account", '{"user": 1}', "deleted")
EXCHANGE = Called("exchange_item", '{"id": 7}', "exchanged")
TASK = {"task_id": "t1"}


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    """RUT with a card."""
    file = tmp_path / "card.json"
    file.write_text(json.dumps({"id": "t1", "oracle": ORACLE}))
    return {"packs": ("rut",), "tasks": (str(file),), "pack_settings": {"rut": {"checks": ("rut-oracle",)}}}


def turn(name: str, *calls: Called, at: int = 0, answer: str = "Done.", **more: Any) -> list[Span]:
    return exchange(name, "Refund order 7.", calls, answer, at=at, **{"extra": TASK} | more)


def running(spans: list[Span], turns: int) -> list[Span]:
    """What has arrived once so many turns are closed: the root was announced, and the next LLM call began."""
    root, *others = spans
    return [replace(root, end=root.start, pending=True), *others[: 2 * turns + 1]]


def told(findings: list[Finding]) -> set[tuple[str, str, str]]:
    """Category, span and quote of what holds."""
    states = {FindingState.PROVISIONAL, FindingState.CURRENT}
    return {(f.category, f.span_id.lstrip("0"), f.evidence) for f in findings if f.state in states}


MODES = [
    ([LOOK, REFUND], "success", set()),
    ([LOOK, REFUND, DELETE], "unauthorised-tool", {("unauthorised tool", "ac2")}),
    ([LOOK], "premature-termination", {("premature termination", "ab1")}),
    ([], "premature-termination", {("premature termination", "ab0")}),
    ([REFUND, LOOK], "incorrect-sequence", {("incorrect sequence", "ac0")}),
    ([LOOK, REFUND, EXCHANGE], "incorrect-sequence", {("incorrect sequence", "ac2")}),
    (
        [LOOK, replace(REFUND, arguments='{"id": 7, "eur": 29}')],
        "erroneous-parameter",
        {("erroneous parameter", "ac1")},
    ),
    (
        [LOOK, replace(REFUND, arguments="{oops", failed="no JSON")],
        "erroneous-parameter",
        {("erroneous parameter", "ac1")},
    ),
    ([LOOK, replace(REFUND, failed="the bank is down"), REFUND], "success", set()),
    ([DELETE, REFUND], "unauthorised-tool", {("unauthorised tool", "ac0"), ("incorrect sequence", "ac1")}),
    ([REFUND, DELETE, LOOK], "unauthorised-tool", {("unauthorised tool", "ac1"), ("incorrect sequence", "ac0")}),
]


@pytest.mark.parametrize(("calls", "mode", "found"), MODES)
def test_a_session_has_its_success_and_mode_without_a_prompt(
    store: SharedStore, config: dict[str, Any], calls: list[Called], mode: str, found: set[tuple[str, str]]
) -> None:
    bench = PackBench(store, config=config)
    bench.hold_session(turn("a", *calls))
    verdict = bench.session()["rut-oracle"]
    assert verdict.value == (0.0 if found else 1.0)
    assert verdict.items[0].answer == mode
    result = task_result(verdict.items)
    assert (result.calls, result.budget) == (len(calls), len(ORACLE["steps"]))
    assert {(category, span) for category, span, _ in told(bench.findings("a"))} == found
    assert bench.checker.prompts == []


def test_an_answer_of_many_lines_is_quoted_as_it_stands(store: SharedStore, config: dict[str, Any]) -> None:
    answer = "I cannot  do\n\n\tthat: " + "the order is **not** mine, and so on. " * 20
    bench = PackBench(store, config=config)
    bench.hold_session(turn("a", LOOK, answer=answer))
    ((category, _, quote),) = told(bench.findings("a"))
    assert category == "premature termination"
    assert quote in answer


def test_an_agent_that_dies_without_an_answer_stops_where_its_run_ends(
    store: SharedStore, config: dict[str, Any]
) -> None:
    root, *others = turn("a", LOOK, answer="")
    root = replace(root, status_code=2, status_message="killed", attributes={**root.attributes, "output.value": ""})
    bench = PackBench(store, config=config)
    bench.hold_session([root, *others[:2]])
    assert {(category, span) for category, span, _ in told(bench.findings("a"))} == {("premature termination", "aa")}


def test_the_value_that_differs_is_quoted(store: SharedStore, config: dict[str, Any]) -> None:
    bench = PackBench(store, config=config)
    bench.hold_session(turn("a", LOOK, replace(REFUND, arguments='{"id": 7, "eur":29}')))
    ((_, _, quote),) = told(bench.findings("a"))
    assert quote == '"eur":29'


@pytest.mark.parametrize(
    ("calls", "turns", "found"),
    [
        ([LOOK, DELETE, REFUND], 2, ("unauthorised tool", "ac1")),
        ([REFUND, LOOK], 1, ("incorrect sequence", "ac0")),
        ([LOOK, EXCHANGE, REFUND], 3, ("incorrect sequence", "ac2")),
    ],
)
def test_a_rule_that_a_call_breaks_is_an_error_as_soon_as_its_turn_closes(
    store: SharedStore, config: dict[str, Any], calls: list[Called], turns: int, found: tuple[str, str]
) -> None:
    """It is provisional then, and what is missing is no error yet. In the end it is the same as from the store."""
    bench, spans = PackBench(store, config=config), turn("a", *calls)
    with bench.running():
        bench.hear(*running(spans, turns - 1), seconds=1)
        assert bench.findings("a") == []
        bench.hear(*running(spans, turns)[-2:], seconds=1)
        (live,) = bench.findings("a")
        assert ((live.category, live.span_id.lstrip("0")), live.state) == (found, FindingState.PROVISIONAL)
        assert bench.session() == {}
        bench.say(spans)
        bench.close()
    whole = told(bench.findings("a"))
    assert found in {(category, span) for category, span, _ in whole}
    later = PackBench(store, config=config)
    later.detecting.now = bench.detecting.now
    with later.running():
        later.packs.selector.request([("", "a" * 32)], by_hand=True)
        later.detecting.judging.ask([("", "a" * 32)])
        later.detecting.wait(1)
        later.settle()
        later.close()
    assert told(later.findings("a")) == whole


def test_a_call_of_an_earlier_trace_of_the_session_comes_first(store: SharedStore, config: dict[str, Any]) -> None:
    """Nothing is wrong with the later exchange, live or at the close; the card is named in each trace."""
    bench, later = PackBench(store, config=config), turn("b", REFUND, at=30)
    with bench.running():
        bench.say(turn("a", LOOK))
        bench.hear(*running(later, 1), seconds=1)
        assert bench.findings("a", "b") == []
        live = {row.subject_id for row in bench.rows("b") if row.kind is SubjectKind.EXCHANGE}
        assert live
        bench.say(later)
        bench.close()
    assert bench.findings("a", "b") == []
    assert bench.session()["rut-oracle"].value == 1


def test_an_edge_that_a_later_call_mends_is_retracted(store: SharedStore, config: dict[str, Any]) -> None:
    """The first refund was not the one that the task is about."""
    bench = PackBench(store, config=config)
    with bench.running():
        bench.say(turn("a", replace(REFUND, arguments='{"id": 7, "eur": 1}')))
        assert {category for category, _, _ in told(bench.findings("a"))} == {"incorrect sequence"}
        bench.say(turn("b", LOOK, REFUND, at=30))
        bench.close()
    assert told(bench.findings("a", "b")) == set()
    assert bench.session()["rut-oracle"].value == 1


def test_the_oracle_tells_pipa_whether_the_task_was_completed(store: SharedStore, config: dict[str, Any]) -> None:
    """Before all other sources."""
    bench = PackBench(store, config=config | {"packs": ("pipa", "rut")})
    bench.hold_session(turn("a", LOOK, REFUND, DELETE))
    session = bench.session()
    assert (session["rut-oracle"].value, session["pipa-completion"].value) == (0, 0)
    (answer,) = session["pipa-completion"].items
    assert answer.reason.startswith("oracle of the task card: ")
    assert answer.span_id == session["rut-oracle"].items[0].span_id


@pytest.mark.parametrize("strict", [False, True])
def test_a_payment_before_its_approval_is_an_error_whatever_is_read_around_it(
    store: SharedStore,
    config: dict[str, Any],
    strict: bool,  # noqa: FBT001  a parameter
) -> None:
    """Two reads are not one between approval and payment: live, at the close, and for PIPA."""
    approve = Called("approve", '{"id": 7}', "approved")
    steps = [{"id": "approve", "tool": "approve", "arguments": {"id": 7}, "write": True}, *ORACLE["steps"]]
    chain = {"steps": steps, "order": [["approve", "look"], ["look", "pay"]], "strict_edges": strict}
    Path(config["tasks"][0]).write_text(json.dumps({"id": "t1", "oracle": chain}))
    bench, spans = PackBench(store, config=config | {"packs": ("pipa", "rut")}), turn("a", LOOK, REFUND, approve, LOOK)
    with bench.running():
        bench.hear(*running(spans, 2), seconds=1)
        (live,) = bench.findings("a")
        assert (live.category, live.span_id.lstrip("0"), live.state) == (
            "incorrect sequence",
            "ac1",
            FindingState.PROVISIONAL,
        )
        bench.say(spans)
        bench.close()
    assert {(category, span) for category, span, _ in told(bench.findings("a"))} >= {("incorrect sequence", "ac1")}
    session = bench.session()
    assert (session["rut-oracle"].value, session["pipa-completion"].value) == (0, 0)
    assert "refund (pay) comes before approve (approve)." in session["rut-oracle"].items[0].reason


@pytest.mark.parametrize(
    ("extra", "why"), [({}, "the task has no oracle"), ({"task_id": "t2"}, "the task has no oracle")]
)
def test_a_session_without_an_oracle_is_not_applicable(
    store: SharedStore, config: dict[str, Any], extra: dict[str, str], why: str
) -> None:
    bench = PackBench(store, config=config)
    bench.hold_session(turn("a", DELETE, extra=extra))
    verdict = bench.session()["rut-oracle"]
    assert (verdict.not_applicable, verdict.reasons) == (True, why)
    assert bench.findings("a") == []


def test_without_spans_of_tools_nothing_applies_and_doctors_line_says_why(
    store: SharedStore, config: dict[str, Any]
) -> None:
    spans = [span for span in turn("a", LOOK, REFUND) if span.attributes["openinference.span.kind"] != "TOOL"]
    bench = PackBench(store, config=config)
    bench.hold_session(spans)
    verdict = bench.session()["rut-oracle"]
    assert verdict.not_applicable
    assert verdict.reasons == "MEDIUM no tool spans: results of tools in 2 LLM calls, and no span of a tool"


def test_where_no_content_was_captured_nobody_stopped_too_early(store: SharedStore, config: dict[str, Any]) -> None:
    """Names and times of model calls alone do not tell what was called."""
    kept = ("openinference.span.kind", "agent.name", "session.id", "task_id", "llm.model_name", "input.value")
    bare = [
        replace(span, attributes={key: value for key, value in span.attributes.items() if key in kept})
        for span in turn("a", LOOK)
        if span.attributes["openinference.span.kind"] != "TOOL"
    ]
    bench = PackBench(store, config=config)
    bench.hold_session(bare)
    verdict = bench.session()["rut-oracle"]
    assert (verdict.not_applicable, bench.findings("a")) == (True, [])
    assert verdict.reasons == "neither calls of tools nor answers of models were recorded"


def test_an_agent_that_only_fails_fails_its_task(store: SharedStore, config: dict[str, Any]) -> None:
    """Nothing of it is recorded but its error: with an answer that would be missing instrumentation."""
    (root, *_) = turn("a", answer="")
    bench = PackBench(store, config=config)
    bench.hold_session([replace(root, status_code=STATUS_ERROR, status_message="no answer within 60 s")])
    verdict = bench.session()["rut-oracle"]
    assert (verdict.value, verdict.items[0].answer) == (0, "premature-termination")


def test_a_sub_agents_call_is_found_at_its_span(store: SharedStore, config: dict[str, Any]) -> None:
    """The session's record shows the managers' steps only."""
    root, *others = turn("a", LOOK, REFUND)
    below = [
        replace(root, span_id="d1".rjust(16, "0"), parent_span_id=others[1].span_id, name="helper",
                attributes={"openinference.span.kind": "AGENT", "agent.name": "helper", "session.id": CHAT}),
    ]  # fmt: skip
    tool = next(s for s in turn("a", DELETE) if s.name == "delete_account")
    below.append(replace(tool, span_id="d2".rjust(16, "0"), parent_span_id=below[0].span_id))
    bench = PackBench(store, config=config)
    bench.hold_session([root, *others, *below])
    ((category, span, _),) = told(bench.findings("a"))
    assert (category, span) == ("unauthorised tool", "d2")


def test_where_earlier_traces_are_left_out_nothing_applies(
    store: SharedStore, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the task requires may have been called there."""
    monkeypatch.setattr(session_traces, "MOST_TRACES", 1)
    bench = PackBench(store, config=config)
    bench.hold_session(turn("a", LOOK), turn("b", REFUND, at=30))
    verdict = bench.session()["rut-oracle"]
    assert (verdict.not_applicable, verdict.reasons) == (True, "1 earlier traces left out")
