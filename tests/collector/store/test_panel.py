"""What LLM judging reads and writes: saves can be repeated, pending runs are found again, one ledger for all."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_span

from tracejury.collector.store.install import mark_key
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind

OTHER = "f" * 32
RUN = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE_ID)
WINDOW = Subject(SubjectKind.TURN_WINDOW, "run-1:0-4", TRACE_ID)
GOAL, LOGIC = "goal-fulfilment", "logical-consistency"
LIVE = (FindingState.CURRENT, FindingState.PROVISIONAL)


def word(judge: str, outcome: Outcome, *, subject: Subject = RUN, at: int = 1, **changes: object) -> Judgement:
    """A word of the ledger without a verdict."""
    return replace(Judgement(subject, judge, "v1", "content", at, 1, outcome), **changes)  # type: ignore[arg-type]


def visible(store: SharedStore) -> dict[str, list[str]]:
    """All rows that can be seen in the tables of LLM judging."""
    return {t: sorted(map(str, store.rows(f"SELECT * FROM {t} FINAL"))) for t in ("findings", "verdicts", "judgements")}


def test_what_was_said_comes_back(store: SharedStore) -> None:
    """Verdicts, findings with their judge and version, and the ledger with model, reason and probability."""
    found = a_finding(judge=GOAL, evidence="it gave up")
    said = a_judged_subject(GOAL, found, judged_at=7, received=5, reason="why", model="m", probability=0.25, dropped=3)
    panel = StoredLlmJudging(store)
    panel.save([said])
    assert panel.run_findings([TRACE_ID, OTHER]) == {TRACE_ID: [found]}
    assert StoredReading(store).load_verdicts([TRACE_ID])[TRACE_ID] == list(said.judgements[0].verdicts)
    assert store.rows("SELECT JudgedBy, JudgeVersion, JudgedAt FROM findings") == [(GOAL, "v1", 7)]
    row = LedgerRow(
        "", TRACE_ID, SubjectKind.AGENT_RUN, "run-1", GOAL, "v1", "content", Outcome.DONE, "why", "m", 0.25, 1, 3, 7, 5
    )
    assert panel.outcomes([TRACE_ID, OTHER]) == {TRACE_ID: {(SubjectKind.AGENT_RUN, "run-1", GOAL): row}}


def test_findings_belong_to_their_own_judges(store: SharedStore) -> None:
    """Several judges of one run in one save: each finding carries the version of its judge."""
    first = a_judged_subject(GOAL, a_finding(judge=GOAL), version="g")
    second = a_judged_subject(LOGIC, a_finding(judge=LOGIC), version="l")
    both = replace(first, judgements=first.judgements + second.judgements, changed=first.changed + second.changed)
    StoredLlmJudging(store).save([both])
    assert store.rows("SELECT JudgedBy, JudgeVersion FROM findings ORDER BY JudgedBy") == [(GOAL, "g"), (LOGIC, "l")]


def test_a_finding_of_a_judge_that_was_not_asked_is_taken_back(store: SharedStore) -> None:
    """A run may become part of another one, with other judges: what stood at it goes, at the time of the judging."""
    panel, stray = StoredLlmJudging(store), a_finding(judge=LOGIC)
    panel.save([a_judged_subject(LOGIC, stray, judged_at=1)])
    gone = replace(stray, state=FindingState.RETRACTED)
    panel.save([a_judged_subject(GOAL, judged_at=2, retracted=(gone,))])
    assert panel.run_findings([TRACE_ID]) == {TRACE_ID: [gone]}
    assert store.rows("SELECT JudgedBy, JudgedAt FROM findings FINAL") == [(LOGIC, 2)]


def test_a_save_that_broke_off_is_repeated(store: SharedStore) -> None:
    """Judgements come last: when the store fails before them, the run is pending still, and is saved again."""
    panel = StoredLlmJudging(store)
    panel.save([a_judged_subject(GOAL, outcome=Outcome.PENDING)])
    said = a_judged_subject(GOAL, a_finding(judge=GOAL), judged_at=2)
    store.command("RENAME TABLE judgements TO away")
    with pytest.raises(RetryableError):
        panel.save([said])
    store.command("RENAME TABLE away TO judgements")
    assert [row.judge for row in panel.pending(10)] == [GOAL]
    panel.save([said])
    assert panel.pending(10) == []
    assert len(panel.run_findings([TRACE_ID])[TRACE_ID]) == 1


def test_text_that_no_engine_takes_is_a_store_error(store: SharedStore) -> None:
    """A lone surrogate in a model's answer is not retried forever."""
    with pytest.raises(StoreError):
        StoredLlmJudging(store).save([a_judged_subject(GOAL, reason="\ud800")])


def test_detectors_and_llm_judges_do_not_meet(store: SharedStore) -> None:
    """Detectors compare with their own findings only, else each would retract what the other found."""
    mine, theirs = a_finding(judge="loops"), a_finding(judge=GOAL, agent_run_id="run-1")
    StoredJudging(store).save([a_judged_trace(mine)])
    StoredLlmJudging(store).save([a_judged_subject(GOAL, theirs)])
    assert StoredJudging(store).load_findings([TRACE_ID]) == {TRACE_ID: [mine]}
    assert StoredLlmJudging(store).run_findings([TRACE_ID]) == {TRACE_ID: [theirs]}


def test_a_later_word_of_an_llm_judge_is_no_judging_of_the_trace(store: SharedStore) -> None:
    """What LLM judges say of a trace does not hide that the detectors have not seen its newest spans."""
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], 9))
    StoredJudging(store).save([a_judged_trace(received=5)])
    whole = Subject(SubjectKind.TRACE, TRACE_ID, TRACE_ID)
    StoredLlmJudging(store).save([a_judged_subject(GOAL, judged_at=99, received=9, subject=whole)])
    assert StoredJudging(store).unjudged("v1", 10) == [("", TRACE_ID)]


def test_the_ledger_of_a_trace_is_stored_with_it(store: SharedStore) -> None:
    """What LLM judges are to do stands before the trace's own judgement: no run is forgotten between the two."""
    judged = replace(a_judged_trace(), ledger=(word(GOAL, Outcome.PENDING), word(LOGIC, Outcome.SAMPLED_OUT)))
    StoredJudging(store).save([judged])
    assert [(row.judge, row.subject_id) for row in StoredLlmJudging(store).pending(10)] == [(GOAL, "run-1")]
    said = StoredJudging(store).load_ledger([TRACE_ID, OTHER])
    assert {key: row.outcome for key, row in said[TRACE_ID].items()} == {
        (SubjectKind.AGENT_RUN, "run-1", GOAL): Outcome.PENDING,
        (SubjectKind.AGENT_RUN, "run-1", LOGIC): Outcome.SAMPLED_OUT,
    }
    assert set(said) == {TRACE_ID}


def test_a_ledger_that_broke_off_leaves_the_trace_unjudged(store: SharedStore) -> None:
    """Each insert on its own may fail: whatever the point, the trace is found again."""
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], 5))
    judged = replace(a_judged_trace(received=5), ledger=(word(GOAL, Outcome.PENDING),))
    failing = FailingStore.open(store.target.shown, store.config)
    with pytest.raises(RetryableError):
        StoredJudging(failing).save([judged])
    failing.close()
    assert StoredJudging(store).unjudged("v1", 10) == [("", TRACE_ID)]
    assert len(StoredLlmJudging(store).pending(10)) == 1


class FailingStore(SharedStore):
    """Has no space left from the second insert of judgements on: the trace's own."""

    def insert(self, table: str, names: Sequence[str], columns: Sequence[Sequence[object]], **options: Any) -> None:
        self.seen = [*getattr(self, "seen", []), table]
        if self.seen.count("judgements") > 1:
            raise OSError(28, "No space left on device")
        super().insert(table, names, columns, **options)


def test_pending_is_the_oldest_first_and_whole_subjects(store: SharedStore) -> None:
    """The judges of one run were written together and come together, whatever the limit; of all tenants."""
    runs = [replace(RUN, id=f"run-{n}", tenant="x" if n == 1 else "") for n in range(3)]
    for at, run in ((3, runs[0]), (1, runs[1]), (2, runs[2])):
        judgements = tuple(word(judge, Outcome.PENDING, subject=run, at=at) for judge in (LOGIC, GOAL))
        StoredLlmJudging(store).save([replace(a_judged_subject(), judgements=judgements)])
    found = StoredLlmJudging(store).pending(3)
    assert [(r.tenant, r.subject_id, r.judge) for r in found] == [
        ("x", "run-1", GOAL), ("x", "run-1", LOGIC), ("", "run-2", GOAL), ("", "run-2", LOGIC),
    ]  # fmt: skip
    assert len(StoredLlmJudging(store).pending(100)) == 6


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.PENDING])
def test_any_other_word_ends_pending(store: SharedStore, outcome: Outcome) -> None:
    """Whatever became of it; in whatever order the two rows were stored."""
    for order in (1, -1):
        subject = replace(RUN, id=f"run-{order}")
        words = [word(GOAL, Outcome.PENDING, subject=subject, at=1), word(GOAL, outcome, subject=subject, at=2)]
        for one in words[::order]:
            StoredLlmJudging(store).save([replace(a_judged_subject(), judgements=(one,))])
    assert StoredLlmJudging(store).pending(10) == []


def test_an_answer_to_older_content_leaves_the_newer_pending(store: SharedStore) -> None:
    """A run that changed while it was judged is judged again; what saw less than another word waits for nothing."""
    save = StoredLlmJudging(store).save
    newer = word(GOAL, Outcome.PENDING, input_hash="new", judged_at=5, received_through=9)
    save([replace(a_judged_subject(), judgements=(newer,))])
    save([a_judged_subject(GOAL, content="old", judged_at=6, received=8)])
    assert [r.input_hash for r in StoredLlmJudging(store).pending(10)] == ["new"]
    save([replace(a_judged_subject(), judgements=(word(GOAL, Outcome.PENDING, input_hash="older", judged_at=7),))])
    assert [r.input_hash for r in StoredLlmJudging(store).pending(10)] == ["new"]


def test_what_replaces_is_the_last_word(store: SharedStore) -> None:
    """Content that was given up and the content in its place are written at one time; the latter counts."""
    old = word(GOAL, Outcome.SUPERSEDED, input_hash="old", at=4)
    new = word(GOAL, Outcome.PENDING, input_hash="new", at=4)
    for pair in ((old, new), (new, old)):
        StoredLlmJudging(store).save([replace(a_judged_subject(), judgements=pair)])
        (said,) = StoredLlmJudging(store).outcomes([TRACE_ID])[TRACE_ID].values()
        assert (said.input_hash, said.outcome) == ("new", Outcome.PENDING)
        assert store.rows("SELECT InputHash FROM ledger") == [("new",)]


def test_one_tenant_sees_nothing_of_another(store: SharedStore) -> None:
    """The same trace id of two tenants."""
    subject = replace(RUN, tenant="a")
    StoredLlmJudging(store, "a").save([a_judged_subject(GOAL, a_finding(judge=GOAL, tenant="a"), subject=subject)])
    assert StoredLlmJudging(store).outcomes([TRACE_ID]) == {}
    assert StoredLlmJudging(store).run_findings([TRACE_ID]) == {}
    assert set(StoredLlmJudging(store, "a").outcomes([TRACE_ID])) == {TRACE_ID}
    assert set(StoredLlmJudging(store, "a").run_findings([TRACE_ID])) == {TRACE_ID}


def test_the_mark_is_the_same_for_all(store: SharedStore) -> None:
    """Eight that ask at once for the first time, and everybody later, get the same 32 bytes."""
    start, keys = threading.Barrier(8), list[bytes]()

    def ask() -> None:
        start.wait()
        keys.append(mark_key(store))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.command("OPTIMIZE TABLE install FINAL")
    assert {len(key) for key in keys} == {32}
    assert set(keys) == {mark_key(store)}
    assert mark_key(store, "x") not in keys


@dataclass(frozen=True)
class Said:
    """What a judge said of a subject at one time: the quotes of its findings that hold, None for no verdict."""

    judge: str
    subject: Subject
    at: int
    quotes: frozenset[str]
    score: int | None

    def judged(self, before: Mapping[str, Finding]) -> JudgedSubject:
        """As judging hands it over, given the findings of this judge and subject that held before."""
        holding = {f.id: f for f in map(self._finding, self.quotes)}
        gone = [replace(f, state=FindingState.RETRACTED) for f in before.values() if f.id not in holding]
        outcome = Outcome.PENDING if self.score is None else Outcome.DONE
        return a_judged_subject(
            self.judge, *holding.values(), judged_at=self.at, content=f"content-{self.at % 3}", outcome=outcome,
            score=self.score, retracted=tuple(gone), subject=self.subject,
        )  # fmt: skip

    def _finding(self, quote: str) -> Finding:
        state = FindingState.PROVISIONAL if self.subject.kind is SubjectKind.TURN_WINDOW else FindingState.CURRENT
        return a_finding(judge=self.judge, evidence=f"{self.subject.id} {quote}", state=state, confidence=self.at / 100)


@st.composite
def histories(draw: st.DrawFn) -> list[Said]:
    """What judges said one after another."""
    said = st.tuples(
        st.sampled_from([GOAL, LOGIC]), st.sampled_from([RUN, WINDOW]), st.frozensets(st.sampled_from("abc")),
        st.none() | st.integers(0, 3),
    )  # fmt: skip
    return [
        Said(judge, subject, at, quotes, score)
        for at, (judge, subject, quotes, score) in enumerate(draw(st.lists(said, max_size=8)), start=1)
    ]


def as_handed_over(history: Iterable[Said]) -> list[JudgedSubject]:
    """Each saying with what it changes of the one before it by the same judge on the same subject."""
    holding: dict[tuple[str, str], dict[str, Finding]] = {}
    judged = []
    for said in history:
        key = (said.judge, said.subject.id)
        if said.score is None:  # not judged yet: what was found before stands
            judged.append(replace(said, quotes=frozenset()).judged({}))
            continue
        judged.append(said.judged(holding.get(key, {})))
        holding[key] = {f.id: f for f in judged[-1].changed}
    return judged


@settings(max_examples=sized(8, 25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(), data=st.data())
def test_whatever_the_order_the_latest_word_stands(
    store: SharedStore, history: list[Said], data: st.DataObject
) -> None:
    """Saves repeated and out of order leave the findings, the verdicts and the ledger of the latest judgements."""
    for table in ("findings", "verdicts", "judgements"):
        store.command(f"TRUNCATE TABLE {table}")
    judged = as_handed_over(history)
    again = data.draw(st.lists(st.sampled_from(judged), max_size=4)) if judged else []
    for one in data.draw(st.permutations([*judged, *again])):
        StoredLlmJudging(store).save([one])
    latest = {(s.judge, s.subject.id): s for s in history}
    scored = {(s.judge, s.subject.id): s for s in history if s.score is not None}
    words = StoredLlmJudging(store).outcomes([TRACE_ID]).get(TRACE_ID, {})
    assert {(r.judge, r.subject_id): r.judged_at for r in words.values()} == {k: s.at for k, s in latest.items()}
    verdicts = StoredReading(store).load_verdicts([TRACE_ID]).get(TRACE_ID, [])
    assert {(v.judge, v.subject.id): v.score for v in verdicts} == {k: s.score for k, s in scored.items()}
    live = [f for f in StoredLlmJudging(store).run_findings([TRACE_ID]).get(TRACE_ID, []) if f.state in LIVE]
    assert {(f.judge, f.evidence, f.confidence) for f in live} == {
        (judge, f"{s.subject.id} {quote}", s.at / 100) for (judge, _), s in scored.items() for quote in s.quotes
    }
