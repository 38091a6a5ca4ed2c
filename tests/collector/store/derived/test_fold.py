"""Facts of one trace: what the fold makes of each part of it."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.collector.store.derived.base import BaseCall, BaseFinding, BaseRun, BaseTrace, BaseWord
from tracejury.collector.store.derived.facts import HOUR, NAME, ErrorScope, Fact
from tracejury.collector.store.derived.fold import derived
from tracejury.schemas.agent_errors import NEVER
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.rates import Population
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome

TS, LC = Dimension.TOOL_SELECTION, Dimension.LOGICAL_CONSISTENCY
RUNS = (BaseRun("r1", "boss", "manager", "", 3, "large"), BaseRun("r2", "hand", "sub-agent", "r1", 1, "small"))


def finding(**changes: Any) -> BaseFinding:
    fields: dict[str, Any] = {
        "agent_run_id": "r1", "turn": 0, "judge": "loops", "dimensions": (LC,), "taxonomy": "trail",
        "category": "Goal Deviation", "severity": Severity.HIGH, "confidence": 0.9, "span_id": "s", "tool_span_id": "",
        "tenant": "", "trace_id": "t", "evidence": "e", "explanation": "", "fingerprint": "",
    } | changes  # fmt: skip
    llm = bool(fields.pop("llm", False))
    return BaseFinding(Finding(id=f"{fields['span_id']} {fields['judge']} {fields['agent_run_id']}", **fields), llm)


def facts(**changes: Any) -> dict[str, Fact]:
    """By run id, that of the trace under ""."""
    fields: dict[str, Any] = {
        "tenant": "", "trace_id": "t", "at": 5 * HOUR + 1, "service": "shop", "version": "1", "session": "c",
        "state": TraceState.SETTLED, "recognised": True, "runs": RUNS, "parts": ("t",),
        "detectors": BaseWord("t", "detectors", Outcome.DONE, 1.0),
    }  # fmt: skip
    return {fact.key.run_id: fact for fact in derived(BaseTrace(**fields | changes)).facts}


def test_one_fact_a_run_and_one_of_the_trace() -> None:
    """The trace's is told apart by its first manager, and stands in the hour of its latest arrival."""
    found = facts()
    assert [(f.key.unit, f.key.hour, f.agent, f.turns) for f in found.values()] == [
        ("run", 5, "boss", 3), ("run", 5, "hand", 1), ("trace", 5, "boss", 3),
    ]  # fmt: skip


def test_calls_beside_the_agents_are_in_no_rate_of_runs() -> None:
    """They name no trace either, whenever they began; their errors are the trace's."""
    beside = BaseRun("r0", "shop", "manager", "", 1, "tiny", beside=True)
    found = facts(runs=(beside, *RUNS), findings=[finding(agent_run_id="r0")])
    assert list(found) == ["r1", "r2", ""]
    assert (found[""].agent, found[""].model, found[""].turns) == ("boss", "large", 3)
    assert [len(fact.errors) for fact in found.values()] == [0, 0, 1]


def test_errors_belong_to_their_run_and_all_to_the_trace() -> None:
    """Also those outside any run, and those of a run that late spans made part of another."""
    found = facts(findings=[finding(agent_run_id=run_id, span_id=f"s{run_id}") for run_id in ("r1", "r2", "", "gone")])
    assert [len(fact.errors) for fact in found.values()] == [1, 1, 4]


def test_the_mark_of_the_decisive_error_is_of_its_judge_alone_and_of_the_trace() -> None:
    """It changes no population, and its judge counts where it gave an answer: in traces, not in runs."""
    lead = finding()
    mark = finding(judge=DECISIVE, linked=(lead.finding.id,), evidence="other words", llm=True)
    words = {"whole_words": [BaseWord("t", DECISIVE, Outcome.DONE, 0.5)], "scored": frozenset({("t", DECISIVE)})}
    found = facts(findings=[lead, mark], **words)
    assert sorted((e.judge, e.scopes) for e in found[""].errors) == [
        (DECISIVE, ErrorScope.ITS_JUDGE),
        ("loops", ErrorScope.DETECTORS | ErrorScope.BOTH | ErrorScope.ITS_JUDGE),
    ]
    assert (found[""].scored, found["r1"].scored) == (((DECISIVE, 2.0),), ())
    assert found[""].standings == facts(findings=[lead])[""].standings


@pytest.mark.parametrize(
    ("changes", "weight", "why"),
    [
        ({}, 1.0, ""),
        ({"detectors": BaseWord("t", "detectors", Outcome.DONE, 0.125)}, 8.0, ""),
        ({"detectors": None}, 0.0, "pending"),
        ({"state": TraceState.OPEN}, 0.0, "open"),
        ({"state": TraceState.INCOMPLETE}, 1.0, ""),
        ({"detectors": BaseWord("t", "detectors", Outcome.FAILED, 1.0)}, 0.0, "failed"),
        ({"detectors": BaseWord("t", "detectors", Outcome.FILTERED, 1.0)}, 0.0, "filtered"),
        ({"detectors": BaseWord("t", "detectors", Outcome.DONE, 0.0)}, 0.0, "sampled-out"),
        ({"not_judged": "no-content"}, 0.0, "no-content"),
    ],
)
def test_what_detectors_judged(changes: dict[str, Any], weight: float, why: str) -> None:
    """Their weight is the upstream sampler's; an open trace, or one they failed at, is in no rate."""
    for fact in facts(**changes).values():
        standing = fact.standings[Population.DETECTORS]
        assert (standing.weight, standing.why) == (weight, why)


def test_both_need_both() -> None:
    """The judges' weight where detectors judged it, too; else the detectors' reason."""
    said = {"words": [BaseWord("r1", "goal", Outcome.DONE, 0.5)], "scored": frozenset({("r1", "goal")})}
    assert facts(**said)["r1"].standings[Population.BOTH].weight == 2.0
    assert facts(**said)["r2"].standings[Population.BOTH].why == "not-asked"
    failed = facts(**said, detectors=BaseWord("t", "detectors", Outcome.FAILED, 1.0))["r1"].standings
    assert (failed[Population.BOTH].why, failed[Population.JUDGES].weight) == ("failed", 2.0)


def test_an_open_trace_is_in_no_rate_of_judges_either() -> None:
    """What they said of a run that is over may still change with late spans."""
    said = {"words": [BaseWord("r1", "goal", Outcome.DONE, 0.5)], "scored": frozenset({("r1", "goal")})}
    fact = facts(**said, state=TraceState.OPEN)["r1"]
    assert (fact.standings[Population.JUDGES].why, fact.scored) == ("open", ())


@pytest.mark.parametrize(
    ("given", "tool"),
    [
        (finding(span_id="ran"), "search"),
        (finding(span_id="asked"), ""),
        (finding(span_id="asked", dimensions=(LC, TS)), "sum"),
        (finding(span_id="s", tool_span_id="ran"), "search"),
        (finding(span_id="asked", tool_span_id="ran", dimensions=(TS,)), "search"),
        (finding(span_id="ran", tool_span_id="elsewhere"), "search"),
        (finding(span_id="both", dimensions=(TS,)), "real"),
    ],
)
def test_the_tool_of_an_error(given: BaseFinding, tool: str) -> None:
    """The call's; of a call that only asked, where it is about tools."""
    calls = {
        "ran": [BaseCall("search", asked=False)],
        "asked": [BaseCall("sum", asked=True)],
        "both": [BaseCall("sum", asked=True), BaseCall("real", asked=False)],
    }
    assert facts(findings=[given], calls=calls)["r1"].errors[0].tool == tool


def test_endless_names_are_cut() -> None:
    """Sums are told apart by them: a megabyte each would be a megabyte a row."""
    found = facts(
        service="s" * 2**20, version="v" * 2**20, runs=[BaseRun("r", "a" * 2**20, "manager", "", 1, "m" * 2**20)]
    )
    fact = found["r"]
    assert {len(name) for name in (fact.service, fact.version, fact.agent, fact.model)} == {NAME}


def test_detectors_that_raised_are_kept() -> None:
    """Their rates do without this trace."""
    word = BaseWord("t", "detectors", Outcome.DONE, 1.0, failed=("loops",))
    assert facts(detectors=word)["r1"].missed == ("loops",)


def test_an_error_counts_once_at_the_run_of_its_primary_span() -> None:
    """The run that relays it is not hit; each population and each judge sees it by its own findings."""
    made = finding(judge="logical-consistency", llm=True, agent_run_id="r2", span_id="made", also_at=("told",))
    told = finding(judge="logical-consistency", llm=True, span_id="told", turn=2)
    rule = finding(judge="unobserved-answer", agent_run_id="r2", span_id="made", confidence=0.5, severity=Severity.LOW)
    found = facts(findings=[told, rule, made])
    assert found["r1"].errors == ()
    assert [(e.judge, e.llm, e.scopes, e.confidences) for e in found["r2"].errors] == [
        ("unobserved-answer", False, ErrorScope.DETECTORS | ErrorScope.ITS_JUDGE, (0.5, NEVER, NEVER)),
        ("logical-consistency", True, ErrorScope.JUDGES | ErrorScope.ITS_JUDGE, (0.9, 0.9, 0.9)),
        ("logical-consistency", True, ErrorScope.BOTH, (0.9, 0.9, 0.9)),
    ]


def test_what_is_provisional_counts_nowhere_but_stands_as_an_error() -> None:
    open_trace = BaseTrace(
        "",
        "t",
        1,
        "shop",
        "",
        "",
        TraceState.OPEN,
        recognised=True,
        runs=RUNS,
        findings=[finding(state=FindingState.PROVISIONAL)],
    )
    found = derived(open_trace)
    assert [fact.errors for fact in found.facts] == [(), (), ()]
    assert [(e.state, e.title) for e in found.errors] == [(FindingState.PROVISIONAL, "Tasks: goal deviation")]


def checked(exchange: str, outcome: Outcome = Outcome.DONE, check: str = "club-state", p: float = 0.5) -> BaseWord:
    return BaseWord(exchange, check, outcome, p)


def of_pack(check: str = "club-state", **changes: Any) -> BaseFinding:
    return finding(judge=check, taxonomy="club", category=f"bad {check}", llm=True, **changes)


def test_errors_of_packs_are_of_their_judge_and_their_pack_alone() -> None:
    """A pack's finding that shares a cause with a detector's is part of that error, and one of its own judge."""
    found = facts(findings=[finding(), of_pack(), of_pack("club-tools", span_id="s2", turn=1)])["r1"].errors
    assert sorted((e.judge, e.scopes) for e in found) == [
        ("club-state", ErrorScope.ITS_JUDGE | ErrorScope.ITS_PACK),
        ("club-tools", ErrorScope.ITS_JUDGE | ErrorScope.ITS_PACK),
        ("loops", ErrorScope.DETECTORS | ErrorScope.BOTH | ErrorScope.ITS_JUDGE),
    ]


@pytest.mark.parametrize(
    ("words", "scored", "missed"),
    [
        ([checked("r1:0-0"), checked("r1:1-2", p=0.25)], (("club-state", 4.0),), ()),
        ([checked("r1:0-0"), checked("r1:1-2", Outcome.NOT_APPLICABLE)], (("club-state", 2.0),), ()),
        ([checked("r1:0-0"), checked("r1:1-2", Outcome.PENDING)], (), ("club-state",)),
        ([checked("r1:0-0"), checked("r1:1-2", Outcome.FAILED, "club-tools")], (("club-state", 2.0),), ("club-tools",)),
        ([checked("r1:0-0", p=0.0)], (), ("club-state",)),
        ([checked("r1:0-0", Outcome.SUPERSEDED), checked("gone:0-0")], (), ()),
    ],
)
def test_a_run_is_judged_by_a_check_that_judged_its_exchanges(
    words: list[BaseWord], scored: tuple[tuple[str, float], ...], missed: tuple[str, ...]
) -> None:
    """Whatever it says of exchanges, the run counts for no population by that."""
    found = facts(exchange_words=words, scored=frozenset((w.subject_id, w.judge) for w in words))
    assert [(f.scored, f.missed) for f in found.values()] == [(scored, missed), ((), ()), (scored, missed)]
    assert {f.standings[Population.JUDGES].weight for f in found.values()} == {0.0}
    assert {f.standings[Population.DETECTORS].weight for f in found.values()} == {1.0}
