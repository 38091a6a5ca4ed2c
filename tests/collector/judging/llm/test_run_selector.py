"""What is to be judged stands in the ledger, once, and again when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from small_traces import Said, run, trace
from store_parts import a_finding

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.ledger_entries import AGAIN
from tracejury.collector.judging.llm.run_selector import MAX_RUNS, RunSelector
from tracejury.collector.judging.llm.traces_to_judge import TracesToJudge
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import LlmJudges, llm_judges_of
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.judges.llm.subjects import UNDECIDED
from tracejury.schemas.trajectory import Trace, TraceState, TurnKind
from tracejury.schemas.verdicts import Judgement, LedgerEntries, Outcome, SubjectKind

NAMES = ("plan-quality", "goal-fulfilment", "tool-calling")
NOBODY = Policy((Rule(rate=1e-12),), always_severity=None, always_on_error=False)


def panel(model: str = "test", *, group: bool = False) -> LlmJudges:
    """Three of the production judges."""
    return llm_judges_of(load_set("production"), model, NAMES, group=group)


def selector(policy: Policy | None = None, model: str = "test", *, group: bool = False) -> RunSelector:
    """A selector for these judges."""
    return RunSelector(panel(model, group=group), policy or Policy(), JudgeQueue(), TracesToJudge(), None)


def a_trace(state: TraceState = TraceState.SETTLED, answer: str = "") -> Trace:
    """A manager and a sub-agent that has ended."""
    below = run("s", Said("l2", "found"), parent_id="m", role="sub-agent", answer="42")
    return trace(run("m", Said("l1", "hello"), answer=answer), below, state=state)


def words(rows: Sequence[Judgement]) -> set[tuple[str, str, Outcome]]:
    """Subject, judge and outcome of each row."""
    return {(row.subject.id, row.judge, row.outcome) for row in rows}


def test_while_a_trace_is_open_its_ended_sub_agents_are_pending_and_at_the_end_its_manager() -> None:
    """By the same judges: of a sub-agent, too, it is asked whether its task was done."""
    ledger: LedgerEntries = {}
    one = selector()
    open_rows = one.select(a_trace(TraceState.OPEN), (), ledger, 1).rows
    assert words(open_rows) == {("s", n, Outcome.PENDING) for n in NAMES}
    assert {row.subject.kind for row in open_rows} == {SubjectKind.AGENT_RUN}
    settled = one.select(a_trace(), (), ledger, 2)
    assert words(settled.rows) == {("m", n, Outcome.PENDING) for n in NAMES}
    assert settled.known_runs == {"s"}
    assert one.select(a_trace(), (), ledger, 3).rows == ()


def test_a_run_that_changed_is_pending_anew_and_its_old_state_superseded() -> None:
    """Only what a late span changes is judged again."""
    ledger: LedgerEntries = {}
    one = selector()
    first = one.select(a_trace(), (), ledger, 1).rows
    changed = one.select(a_trace(answer="42"), (), ledger, 2).rows
    assert words(changed) == {("m", n, o) for n in NAMES for o in (Outcome.SUPERSEDED, Outcome.PENDING)}
    superseded = {row.input_hash for row in changed if row.outcome is Outcome.SUPERSEDED}
    assert superseded == {row.input_hash for row in first if row.subject.id == "m"}


def test_what_was_judged_is_not_superseded_by_a_change() -> None:
    """Findings of the last judgement stand until the next one is there."""
    ledger: LedgerEntries = {}
    one = selector()
    for row in one.select(a_trace(), (), ledger, 1).rows:
        ledger[row.subject.kind, row.subject.id, row.judge] = replace(row, outcome=Outcome.DONE)
    changed = one.select(a_trace(answer="42"), (), ledger, 2).rows
    assert words(changed) == {("m", n, Outcome.PENDING) for n in NAMES}


def test_a_run_that_became_part_of_another_is_pending_no_longer() -> None:
    """Late spans may show that what seemed a run of its own is none."""
    ledger: LedgerEntries = {}
    one = selector()
    one.select(a_trace(), (), ledger, 1)
    joined = trace(run("m", Said("l1", "hello")))
    assert words(one.select(joined, (), ledger, 2).rows) == {("s", n, Outcome.SUPERSEDED) for n in NAMES}
    assert one.select(joined, (), ledger, 3).rows == ()


def a_terminal(state: TraceState = TraceState.SETTLED) -> Trace:
    """The same, and below the sub-agent a terminal that runs its code; a model's call of its tool is not its own."""
    inner = Said("l3", "a summary", kind=TurnKind.INNER)
    terminal = run("t", inner, parent_id="m", role="sub-agent", goal="print(42)", answer="exitcode: 0")
    return trace(*a_trace(state).runs, terminal, run("empty"), state=state)


def test_a_run_without_a_step_of_a_model_has_no_entry() -> None:
    """A terminal made none of what it did, an agent's span without calls did nothing."""
    ledger: LedgerEntries = {}
    one = selector()
    assert words(one.select(a_terminal(TraceState.OPEN), (), ledger, 1).rows) == {
        ("s", n, Outcome.PENDING) for n in NAMES
    }
    assert {row.subject.id for row in one.select(a_terminal(), (), ledger, 2).rows} == {"m"}


def test_a_manager_that_only_hands_on_is_judged_by_what_came_of_it() -> None:
    """Its sub-agents' models decided, and nobody else answers for the task."""
    below = run("s", Said("l2", "found"), parent_id="m", role="sub-agent")
    rows = selector().select(trace(run("m", answer="42"), below), (), {}, 1).rows
    assert {row.subject.id for row in rows} == {"m", "s"}


def test_short_runs_that_share_a_call_wait_for_their_group() -> None:
    """The last group of an open trace may grow; a long run is judged when it ends."""
    ledger: LedgerEntries = {}
    one = selector(group=True)
    assert one.select(a_trace(TraceState.OPEN), (), ledger, 1).rows == ()
    assert {row.subject.id for row in one.select(a_trace(), (), ledger, 2).rows} == {"m", "s"}
    long = run("s", Said("l2", "found " * 5000), parent_id="m", role="sub-agent")
    still = trace(a_trace().runs[0], long, state=TraceState.OPEN)
    assert {row.subject.id for row in selector(group=True).select(still, (), {}, 1).rows} == {"s"}


def test_entries_of_a_run_in_which_no_model_decided_are_withdrawn() -> None:
    """Older versions judged such runs; their scores go."""
    ledger: LedgerEntries = {}
    one = selector()
    for row in one.select(a_trace(), (), ledger, 1).rows:
        key = (row.subject.kind, "t" if row.subject.id == "s" else row.subject.id, row.judge)
        ledger[key] = replace(row, outcome=Outcome.DONE)
    withdrawn = [row for row in one.select(a_terminal(), (), ledger, 2).rows if row.subject.id == "t"]
    assert words(withdrawn) == {("t", n, Outcome.SUPERSEDED) for n in NAMES}
    assert {row.reason for row in withdrawn} == {UNDECIDED}
    assert all(verdict.score is None for row in withdrawn for verdict in row.verdicts)
    assert one.select(a_terminal(), (), ledger, 3).rows == ()


def test_judges_that_the_policy_does_not_name_are_filtered() -> None:
    """The ledger says so of each judge."""
    policy = Policy((Rule(judges=("tool-calling",)),))
    rows = selector(policy).select(trace(run("m", Said("l1", "x"))), (), {}, 1).rows
    assert words(rows) == {
        ("m", "plan-quality", Outcome.FILTERED),
        ("m", "goal-fulfilment", Outcome.FILTERED),
        ("m", "tool-calling", Outcome.PENDING),
    }
    assert all(row.reason for row in rows if row.outcome is Outcome.FILTERED)


@pytest.mark.parametrize(
    ("stood", "by_hand", "catching_up"),
    [
        (Outcome.DONE, True, False),
        (Outcome.CACHED, True, False),
        (Outcome.FAILED, True, True),
        (Outcome.OVER_BUDGET, True, True),
        (Outcome.SAMPLED_OUT, True, False),
        (Outcome.FILTERED, True, False),
        (Outcome.PENDING, False, False),
    ],
)
def test_asking_judges_again_what_was_left_or_everything(stood: Outcome, by_hand: bool, catching_up: bool) -> None:  # noqa: FBT001  a table
    """`--since` catches up with what failed or was over budget; `--trace` judges that trace whatever was said of it."""
    whole = trace(run("m", Said("l1", "x")))
    for asked, again in ((True, by_hand), (False, catching_up)):
        ledger: LedgerEntries = {}
        one = selector()
        for row in one.select(whole, (), ledger, 1).rows:
            ledger[row.subject.kind, row.subject.id, row.judge] = replace(row, outcome=stood)
        one.request([("", whole.trace_id)], by_hand=asked)
        assert bool(one.select(whole, (), ledger, 2).rows) is again
        assert one.select(whole, (), ledger, 3).rows == (), "asking holds for one judging"


def test_what_is_asked_for_by_hand_is_judged_against_the_sample_and_counts_in_no_rate() -> None:
    """Its probability is 0: somebody chose it."""
    whole = trace(run("m", Said("l1", "x")))
    one = selector(NOBODY)
    assert {row.outcome for row in one.select(whole, (), {}, 1).rows} == {Outcome.SAMPLED_OUT}
    one.request([("", whole.trace_id)], by_hand=True)
    rows = one.select(whole, (), {}, 2).rows
    assert {(row.outcome, row.probability) for row in rows} == {(Outcome.PENDING, 0.0)}


def test_another_version_judges_again_only_when_asked() -> None:
    """New criteria do not set off a re-judging of everything that is opened again."""
    whole = trace(run("m", Said("l1", "x")))
    ledger: LedgerEntries = {}
    for row in selector().select(whole, (), ledger, 1).rows:
        ledger[row.subject.kind, row.subject.id, row.judge] = replace(row, outcome=Outcome.DONE)
    newer = selector(model="another")
    assert newer.select(whole, (), ledger, 2).rows == ()
    newer.request([("", whole.trace_id)], by_hand=False)
    rows = newer.select(whole, (), ledger, 3).rows
    assert words(rows) == {("m", n, Outcome.PENDING) for n in NAMES}


def test_a_run_whose_windows_were_judged_gets_its_closing_pass() -> None:
    """Its provisional findings need an answer, even where what had it chosen was taken back."""
    whole = trace(run("m", Said("l1", "x")))
    row = selector().select(whole, (), {}, 1).rows[0]
    ledger: LedgerEntries = {(SubjectKind.TURN_WINDOW, "m:0-4", "tool-calling"): replace(row, outcome=Outcome.DONE)}
    assert {r.outcome for r in selector(NOBODY).select(whole, (), ledger, 2).rows} == {Outcome.PENDING}


def test_a_run_that_an_error_had_judged_while_it_ran_stands_for_itself() -> None:
    """It was certain to be judged then, so it has not the weight of a run that chance took from many."""
    hardly_any = Policy((Rule(rate=1e-9),), always_severity=a_finding().severity, always_on_error=False)
    whole = trace(run("m", Said("l1", "x")))
    sampled_out = selector(hardly_any).select(whole, (), {}, 1).rows[0]
    assert (sampled_out.outcome, sampled_out.probability) == (Outcome.SAMPLED_OUT, 1e-9)
    window = replace(sampled_out, outcome=Outcome.DONE, probability=1.0)
    ledger: LedgerEntries = {(SubjectKind.TURN_WINDOW, "m:0-4", "tool-calling"): window}
    here = selector(hardly_any).select(whole, (), dict(ledger), 2).rows
    there = selector(hardly_any).select(whole, (), {}, 2, elsewhere=ledger).rows
    for rows in (here, there):
        assert {(row.outcome, row.probability) for row in rows} == {(Outcome.PENDING, 1.0)}


def test_a_detector_finding_is_what_the_policy_looks_at() -> None:
    """The selector hands the detectors' findings on."""
    whole = trace(run("m", Said("l1", "x")))
    policy = replace(NOBODY, always_severity=a_finding().severity)
    found = a_finding(agent_run_id="m", confidence=1.0)
    assert {r.outcome for r in selector(policy).select(whole, [found], {}, 1).rows} == {Outcome.PENDING}


def test_runs_beyond_the_bound_of_a_trace_are_counted() -> None:
    """They are not judged; the ledger says so, once, and they are counted once."""
    whole = trace(*(run(f"r{i}", Said(f"l{i}", "x")) for i in range(MAX_RUNS + 3)))
    one = selector()
    ledger: LedgerEntries = {}
    rows = one.select(whole, (), ledger, 1).rows
    judged = {row.subject.id for row in rows if row.outcome is Outcome.PENDING}
    assert len(judged) == MAX_RUNS
    assert {row.outcome for row in rows if row.subject.id not in judged} == {Outcome.FILTERED}
    assert one.select(whole, (), ledger, 2).rows == ()
    assert one.left_out == 3


def test_what_failed_is_asked_for_past_the_known_answers() -> None:
    """Its row says so, to people and to whoever reads it back; what was over budget needs no such thing."""
    ledger: LedgerEntries = {}
    one = selector()
    outcomes = dict(zip(NAMES, (Outcome.FAILED, Outcome.OVER_BUDGET, Outcome.DONE), strict=True))
    for row in one.select(a_trace(), (), ledger, 1).rows:
        ledger[row.subject.kind, row.subject.id, row.judge] = replace(row, outcome=outcomes[row.judge])
    one.request([("", a_trace().trace_id)], by_hand=True)
    reasons = {row.judge: row.reason for row in one.select(a_trace(), (), ledger, 2).rows if row.subject.id == "m"}
    assert {judge for judge, reason in reasons.items() if reason == AGAIN} == {"plan-quality"}
    assert set(reasons) == set(NAMES)


def test_what_was_asked_for_and_never_came_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of too many."""
    monkeypatch.setattr("tracejury.collector.judging.llm.requested.MAX_REQUESTED", 2)
    ledger: LedgerEntries = {}
    one = selector(NOBODY)
    one.request([("", a_trace().trace_id)], by_hand=True)
    one.request([("", "a"), ("", "b")], by_hand=True)
    rows = one.select(a_trace(), (), ledger, 1).rows
    assert {row.outcome for row in rows} == {Outcome.SAMPLED_OUT}
