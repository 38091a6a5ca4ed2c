"""A run that shows at another trace than when LLM judges spoke of it: what they said counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hens import hens
from llm_bench import NAMES, LlmBench, agent

from tracejury.collector.judging.ledger import elsewhere
from tracejury.collector.judging.llm.relocated_runs import with_earlier_draw
from tracejury.collector.store.ledger import StoredLedger
from tracejury.collector.store.pipeline_stats import StoredPipelineStats
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient, answer
from tracejury.judges.llm.selection import Decision, Policy, Rule
from tracejury.schemas.findings import FindingState
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.ledger import LedgerQuery
from tracejury.schemas.spans import Span, SpanLink
from tracejury.schemas.verdicts import Outcome, SubjectKind

A, B = "a" * 32, "b" * 32
DONE = {Outcome.DONE, Outcome.NOT_APPLICABLE}


def earlier(*, linked: bool = True) -> list[Span]:
    """A trace that began before `later`, and names it."""
    *calls, top = agent(1, A, turns=range(2))
    return [*calls, replace(top, links=(SpanLink(B, "2a".rjust(16, "0")),) if linked else ())]


def later(*, ended: bool = True, turns: int = 2) -> list[Span]:
    """A trace that knows nothing of the other."""
    return [replace(s, start=s.start + 2000, end=s.end + 2000) for s in agent(2, B, ended=ended, turns=range(turns))]


def shown(store: SharedStore) -> dict[str, set[str]]:
    """Judged subjects by the trace at which they show; each word of the ledger and each verdict is of one run once."""
    words = [e.word for e in StoredLedger(store).entries(LedgerQuery(100))]
    assert len({(w.subject_id, w.judge) for w in words}) == len(words)
    assert {w.outcome for w in words} <= DONE
    found: dict[str, set[str]] = {}
    verdicts = [v for said in StoredReading(store).load_verdicts([A, B]).values() for v in said]
    assert len(verdicts) == len({(v.subject.id, v.judge) for v in verdicts}) == len(words)
    for v in verdicts:
        found.setdefault(v.subject.trace_id, set()).add(v.subject.id)
    sums = StoredPipelineStats(store).outcomes(0, 1 << 62)
    assert sum(sum(of.values()) for of in sums.values()) == len(words)
    scored = "SELECT count() FROM verdicts FINAL WHERE isNotNull(Score) AND SamplingProbability > 0"
    assert store.rows(scored) == [(sum(v.score is not None for v in verdicts),)]
    return found


def prompts(llm: LlmBench) -> Sequence[Prompt]:
    """What the model was asked."""
    assert isinstance(llm.client, ScriptedClient)
    return llm.client.prompts


@pytest.mark.parametrize("again", [False, True])
def test_a_judged_run_whose_trace_joins_an_earlier_one_counts_there_alone(store: SharedStore, *, again: bool) -> None:
    """Also where another process than the one that judged it sees them join."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*later())
        (run_id,) = shown(store)[B]
        if not again:
            llm.hear(*earlier())
    if again:
        now, llm = llm.detecting.now, LlmBench(store, hens)
        llm.detecting.now = now
        with llm.running():
            llm.hear(*earlier())
    found = shown(store)
    assert set(found) == {A}
    assert len(found[A]) == 2
    assert run_id in found[A]


def test_what_was_judged_stands_until_the_joined_run_settles(store: SharedStore) -> None:
    """While the whole is open nothing else is said of the run; its findings are compared once it is."""
    llm = LlmBench(store, lambda prompt: hens(prompt) if len(prompts(llm)) <= 1 else answer(prompt))
    with llm.running():
        llm.hear(*later())
        before = shown(store)
        llm.hear(*earlier(), seconds=0.1)
        assert shown(store) == before
        llm.detecting.wait(6)
        llm.settle()
    assert {t: len(runs) for t, runs in shown(store).items()} == {A: 2}
    assert [f.state for f in llm.findings(B)] == [FindingState.RETRACTED]


def test_traces_that_come_in_order_are_judged_once(store: SharedStore) -> None:
    """The first trace stays the first: nothing moves."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*earlier())
        llm.hear(*later())
    assert {t: len(runs) for t, runs in shown(store).items()} == {A: 2}


def test_what_was_stored_of_a_join_before_a_crash_is_stored_again(store: SharedStore) -> None:
    """Killed before the judgement of the joined run stood, and then again after it: nothing counts twice."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*later())
    llm.detecting.commit(*earlier(), tell=False)
    for _ in range(2):
        now, llm = llm.detecting.now, LlmBench(store, hens)
        llm.detecting.now = now
        with llm.running():
            llm.detecting.judging.ask([("", A)])
            llm.detecting.wait(6)
            llm.settle()
        assert {t: len(runs) for t, runs in shown(store).items()} == {A: 2}


def test_runs_that_part_again_are_judged_at_their_own_traces(store: SharedStore) -> None:
    """A later copy of the span names no other trace any more."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*later())
        llm.hear(*earlier())
        whole = shown(store)[A]
        llm.hear(*(replace(s, end=s.end + 1) for s in earlier(linked=False)))
        found = shown(store)
        assert {t: len(runs) for t, runs in found.items()} == {A: 1, B: 1}
        assert found[A] | found[B] == whole
        llm.hear(*(replace(s, end=s.end + 2) for s in earlier()))
    assert shown(store) == {A: whole}


def test_findings_of_the_former_hearing_are_compared_with_those_of_the_next(store: SharedStore) -> None:
    """A second answer that finds nothing takes back what the first found."""
    llm = LlmBench(store, lambda prompt: hens(prompt) if len(prompts(llm)) <= 1 else answer(prompt))
    with llm.running():
        llm.hear(*later())
        assert [f.state for f in llm.findings(B)] == [FindingState.CURRENT]
        llm.hear(*earlier())
    assert [f.state for f in llm.findings(B)] == [FindingState.RETRACTED]


def test_windows_of_a_run_that_moves_have_an_answer_there(store: SharedStore) -> None:
    """What was said of it while it ran is closed with it, and only once while both traces are open."""
    llm = LlmBench(store, hens, group=False)
    with llm.running():
        llm.hear(*later(ended=False, turns=6), seconds=0.1)
        assert [f.state for f in llm.findings(B)] == [FindingState.PROVISIONAL]
        llm.hear(*earlier(), seconds=0.1)
        assert all(stage is Stage.WINDOW for stage in llm.watch.stages)
        llm.hear(*later(turns=6))
    assert {t: len(runs) for t, runs in shown(store).items()} == {A: 2}
    assert [f.state for f in llm.findings(B)] == [FindingState.CURRENT]
    closed = {r.outcome for t in (A, B) for r in llm.words(t).values() if r.kind is SubjectKind.TURN_WINDOW}
    assert closed == {Outcome.SUPERSEDED}


def test_a_run_that_was_asked_for_by_hand_stays_judged_where_it_shows(store: SharedStore) -> None:
    """Whatever chance says of the trace that it is part of now; it still counts in no rate."""
    llm = LlmBench(store, hens, policy=Policy((Rule(rate=1e-12),), always_severity=None, always_on_error=False))
    with llm.running():
        llm.selector.request([("", B)], by_hand=True)
        llm.hear(*later())
        llm.hear(*earlier())
    words = {(w.trace_id, w.outcome, w.probability) for w in llm.words(A).values() if w.outcome in DONE}
    assert words == {(A, outcome, 0.0) for outcome in DONE}
    assert {w.outcome for w in llm.words(A).values()} == DONE | {Outcome.SAMPLED_OUT}
    assert {w.outcome for w in llm.words(B).values()} == {Outcome.SUPERSEDED}


def test_what_is_being_heard_when_its_run_moves_is_not_stored_under_the_former_trace(store: SharedStore) -> None:
    """The answer comes after the join was noted."""

    def slow(prompt: Prompt) -> str:
        if len(prompts(llm)) == 1:
            llm.detecting.commit(*earlier())
            llm.detecting.wait(6)
        return hens(prompt)

    llm = LlmBench(store, slow)
    with llm.running():
        llm.hear(*later())
    assert {t: len(runs) for t, runs in shown(store).items()} == {A: 2}
    assert {w.outcome for w in llm.words(B).values()} == {Outcome.SUPERSEDED}


def word(outcome: Outcome, at: int = 1, probability: float = 0.5) -> LedgerRow:
    """Of one judge, on run r."""
    return LedgerRow(
        "", B, SubjectKind.AGENT_RUN, "r", NAMES[0], "v", "h", outcome, "why", "", probability, 0, 0, at, 1
    )  # fmt: skip


def ledger(*words: LedgerRow) -> Mapping[tuple[str, str, str], LedgerRow]:
    """These words by their keys."""
    return {(w.kind, w.subject_id, w.judge): w for w in words}


def test_of_several_ledgers_the_latest_word_that_stands_counts() -> None:
    """What was taken back says nothing."""
    found = elsewhere(
        [
            ledger(word(Outcome.FAILED, 2)),
            ledger(word(Outcome.DONE, 3)),
            ledger(word(Outcome.PENDING, 1)),
            ledger(word(Outcome.SUPERSEDED, 4)),
        ]
    )
    assert [w.outcome for w in found.values()] == [Outcome.DONE]


DRAWN = Decision(Outcome.PENDING, "", 0.5)
CERTAIN = Decision(Outcome.PENDING, "an error", 1.0)
LEFT = Decision(Outcome.SAMPLED_OUT, "not in the sample", 0.5)
UNWANTED = Decision(Outcome.FILTERED, "the policy's rate for it is 0", 0.0)


@pytest.mark.parametrize(
    ("decision", "before", "expected"),
    [
        (LEFT, Outcome.DONE, (Outcome.PENDING, 0.5)),
        (UNWANTED, Outcome.CACHED, (Outcome.PENDING, 0.5)),
        (DRAWN, Outcome.SAMPLED_OUT, (Outcome.SAMPLED_OUT, 0.5)),
        (CERTAIN, Outcome.SAMPLED_OUT, (Outcome.PENDING, 1.0)),
        (DRAWN, Outcome.FILTERED, (Outcome.PENDING, 0.5)),
        (LEFT, Outcome.FILTERED, (Outcome.SAMPLED_OUT, 0.5)),
        (UNWANTED, Outcome.SAMPLED_OUT, (Outcome.FILTERED, 0.0)),
    ],
)
def test_a_run_is_drawn_once_wherever_it_shows(
    decision: Decision, before: Outcome, expected: tuple[Outcome, float]
) -> None:
    """So that its sampling probability is what the ledger says; errors are judged whatever was drawn."""
    made = with_earlier_draw(decision, "r", ledger(word(before)))
    assert (made.outcome, made.probability) == expected
    assert with_earlier_draw(decision, "another", ledger(word(before))) == decision
