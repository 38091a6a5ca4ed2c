"""Loads the stored traces that errors and facts are made of. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.findings import read_finding
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.lists.findings import HOLDS
from tracejury.collector.store.pending_traces import JUDGED
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.judges.packs.loader import user_labels
from tracejury.judges.titles import titled
from tracejury.schemas.columns import Row
from tracejury.schemas.judged_rows import FINDING_SELECT, TRACE_COLUMNS, VERDICT_SELECT, verdict_from_row
from tracejury.schemas.llm_rows import LATEST
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, JudgedTrace, Judgement, Outcome

from .base import BaseCall, BaseFinding, BaseRun, BaseTrace, BaseWord
from .facts import FACT_COLUMNS, FactKey

_THESE: Final = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"

_COLUMNS: Final = (
    "ServiceName", "Version", "SessionId", "Conventions", "JoinedTo", "Simulated", "Behaviour", "NotJudged", "Runs.Id",
    "Runs.Name", "Runs.Role", "Runs.ParentId", "Runs.Turns", "Runs.Model", "Runs.Beside", "Runs.NotJudged",
    "Calls.SpanId", "Calls.Tool", "Calls.Asked",
)  # fmt: skip
_TRACES: Final = f"""
SELECT TraceId, toUnixTimestamp64Nano(ReceivedAt), {", ".join(_COLUMNS)} FROM traces FINAL WHERE {_THESE} AND {JUDGED}
"""

_JOINED: Final = f"SELECT DISTINCT TraceId FROM traces WHERE {TENANT} AND JoinedTo IN {{trace_ids:Array(String)}}"

_KINDS: Final = ("trace", "agent-run", "exchange")

_WORDS: Final = f"""
SELECT TraceId, SubjectKind, SubjectId, Judge, Outcome, Probability, Failures.Judge, TraceState, JudgedAt
FROM judgements FINAL WHERE {_THESE} AND SubjectKind IN {_KINDS} {LATEST}
"""

_SCORED: Final = (
    f"SELECT TraceId, SubjectId, Judge FROM verdicts FINAL WHERE {_THESE} "
    "AND (SubjectKind = 'agent-run' AND isNotNull(Score) OR SubjectKind IN ('exchange', 'trace') AND isNotNull(Value))"
)

_FINDINGS: Final = f"SELECT {FINDING_SELECT}, JudgedBy FROM findings FINAL WHERE {_THESE} AND {HOLDS} ORDER BY Id"

_OF_FACTS: Final = f"FROM run_facts FINAL WHERE {TENANT} AND hasAny(Parts, {{trace_ids:Array(String)}})"
_FACTS: Final = f"SELECT Unit, Hour, TraceId, RunId, Parts {_OF_FACTS}"
_WHOLE_FACTS: Final = f"""
SELECT {", ".join(f"`{name}`" for name in FACT_COLUMNS[:-1])}, toUnixTimestamp64Nano(ReceivedAt) {_OF_FACTS}
"""

_Words = defaultdict[str, list[BaseWord]]

_LABELS: Final = (
    f"SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} "
    "AND SubjectKind = 'exchange' AND Judge IN {judges:Array(String)} AND isNotNull(Value)"
)
_BEGAN: Final = f"""
SELECT TraceId, Runs, format('{{}}:{{}}-{{}}', Run, toString(First), toString(Last)) FROM
(
    SELECT TraceId, Exchanges.Run, Exchanges.First, Exchanges.Last, Exchanges.Runs FROM traces FINAL
    WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}}
)
ARRAY JOIN Exchanges.Run AS Run, Exchanges.First AS First, Exchanges.Last AS Last, Exchanges.Runs AS Runs
"""

_NAMES: Final = f"SELECT ErrorId, Name FROM cluster_names FINAL WHERE {_THESE}"


class Loading:
    """One tenant's traces as they are stored, each row of `traces` read once.

    `said`: judgements, each with the state of its trace, that count as if they were stored.
    """

    def __init__(self, store: Store, tenant: str, said: Iterable[tuple[Judgement, TraceState]] = ()) -> None:
        self._scope, self._tenant = Scope(store, tenant), tenant
        self._joins = StoredJoins(store, tenant)
        self._said = list(said)
        self._rows: dict[str, Sequence[Any]] = {}
        self._asked: set[str] = set()

    def facts(self, trace_ids: Collection[str]) -> dict[FactKey, Sequence[str]]:
        """The facts that stand of these traces, or of what they were joined to, with their parts."""
        return {FactKey(*row[:4]): row[4] for row in self._scope.select(_FACTS, trace_ids=sorted(trace_ids))}

    def fact_rows(self, trace_ids: Collection[str]) -> list[dict[str, Any]]:
        """The same facts with all their columns, for comparing them with what is derived."""
        rows = self._scope.select(_WHOLE_FACTS, trace_ids=sorted(trace_ids))
        return [dict(zip(FACT_COLUMNS, row, strict=True)) for row in rows]

    def heads(self, trace_ids: Collection[str]) -> set[str]:
        """The traces under whose ids these show, their own where they stand for themselves."""
        self._read(trace_ids)
        return {self._rows[i][6] or i for i in trace_ids if i in self._rows}

    def traces(self, trace_ids: Collection[str]) -> list[BaseTrace]:
        """The traces among these that are joined to no other, with those joined to them."""
        self._read(trace_ids)
        heads = {i: self._rows[i] for i in trace_ids if i in self._rows and not self._rows[i][6]}
        if not heads:
            return []
        if self._joins.any():
            self._read([row[0] for row in self._scope.select(_JOINED, trace_ids=sorted(heads))])
        parts: dict[str, list[str]] = {trace_id: [trace_id] for trace_id in heads}
        for trace_id, row in sorted(self._rows.items()):
            if row[6] in parts:
                parts[row[6]].append(trace_id)
        return self._built(heads, parts)

    def _read(self, trace_ids: Collection[str]) -> None:
        missing = [i for i in trace_ids if i not in self._asked]
        if missing:
            self._asked.update(missing)
            self._rows |= {row[0]: row for row in self._scope.select(_TRACES, trace_ids=sorted(missing))}

    def _built(self, heads: Mapping[str, Sequence[Any]], parts: Mapping[str, Sequence[str]]) -> list[BaseTrace]:
        ids, everything = sorted(heads), sorted({i for own in parts.values() for i in own})
        spoken, exchanges, wholes, states = self._words(ids)
        scored: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for trace_id, run_id, judge in self._scope.select(_SCORED, trace_ids=ids):
            scored[trace_id].add((run_id, judge))
        findings: dict[str, list[BaseFinding]] = defaultdict(list)
        for row in self._scope.select(_FINDINGS, trace_ids=everything):
            finding = read_finding(row)
            findings[finding.trace_id].append(BaseFinding(finding, row[-1] != DETECTORS))
        found = [
            _trace(
                self._tenant,
                row,
                tuple(parts[trace_id]),
                spoken[trace_id],
                exchanges[trace_id],
                wholes[trace_id],
                states.get(trace_id, TraceState.OPEN),
                frozenset(scored[trace_id]),
                [f for part in parts[trace_id] for f in findings[part]],
            )
            for trace_id, row in heads.items()
        ]
        return labelled(self._scope, [self._named(trace) for trace in found])

    def _named(self, trace: BaseTrace) -> BaseTrace:
        """The trace with the names of its errors' clusters; the store is asked only where words vary freely."""
        if all(one.finding.template for one in trace.findings):
            return trace
        rows = self._scope.select(_NAMES, trace_ids=list(trace.parts))
        return replace(trace, names=dict(rows)) if rows else trace  # type: ignore[arg-type]  # rows of two texts

    def _words(self, trace_ids: Sequence[str]) -> tuple[_Words, _Words, _Words, dict[str, TraceState]]:
        """The last words by trace: on its runs with the detectors', on its exchanges, and LLM judges' on it as a whole.

        And the trace's state when detectors last spoke.
        """
        latest = {(row[0], row[1], row[2], row[3]): row for row in self._scope.select(_WORDS, trace_ids=trace_ids)}
        for row in (_word(judgement, state) for judgement, state in self._said):
            stored = latest.get((row[0], row[1], row[2], row[3]))
            if row[0] in trace_ids and row[1] in _KINDS and (stored is None or row[-1] >= stored[-1]):
                latest[row[0], row[1], row[2], row[3]] = row
        words: _Words = defaultdict(list)
        exchanges: _Words = defaultdict(list)
        wholes: _Words = defaultdict(list)
        states: dict[str, TraceState] = {}
        for trace_id, kind, subject_id, judge, outcome, probability, failed, state, _ in latest.values():
            detectors = judge == DETECTORS
            if detectors and kind != "trace":
                continue
            own = words if detectors else {"exchange": exchanges, "trace": wholes}.get(kind, words)
            own[trace_id].append(BaseWord(subject_id, judge, Outcome(outcome), probability, tuple(failed)))
            if detectors:
                states[trace_id] = TraceState(state)
        return words, exchanges, wholes, states


def _word(judgement: Judgement, state: TraceState) -> tuple[Any, ...]:
    """The row of `_WORDS` that a judgement will be."""
    subject, failed = judgement.subject, tuple(judge for judge, _ in judgement.failures)
    named = (subject.trace_id, subject.kind.value, subject.id, judgement.judge)
    return *named, judgement.outcome, judgement.probability, failed, state, judgement.judged_at


def trace_in_memory(judged: JudgedTrace, row: Row) -> BaseTrace:
    """A trace of which nobody but the detectors has said anything, as it is stored; `row`: of `traces`."""
    of = dict(zip(TRACE_COLUMNS, row, strict=True))
    word = _word(judged.judgement, judged.trace.state)
    return _trace(
        judged.trace.tenant,
        [of["TraceId"], of["ReceivedAt"], *(of[name] for name in _COLUMNS)],
        (judged.trace.trace_id,),
        [BaseWord(judged.trace.trace_id, DETECTORS, judged.judgement.outcome, judged.judgement.probability, word[6])],
        (),
        (),
        judged.trace.state,
        frozenset(),
        [BaseFinding(titled(finding), llm=False) for finding in judged.judgement.findings],
    )


def _trace(
    tenant: str,
    row: Sequence[Any],
    parts: tuple[str, ...],
    words: Iterable[BaseWord],
    exchange_words: Sequence[BaseWord],
    whole_words: Sequence[BaseWord],
    state: TraceState,
    scored: frozenset[tuple[str, str]],
    findings: Sequence[BaseFinding],
) -> BaseTrace:
    trace_id, at, service, version, session, conventions, _, simulated, behaviour, not_judged, *lists = row
    runs, calls = list(zip(*lists[:8], strict=True)), defaultdict[str, list[BaseCall]](list)
    for span_id, tool, asked in zip(*lists[8:], strict=True):
        calls[span_id].append(BaseCall(tool, asked))
    return BaseTrace(
        tenant=tenant,
        trace_id=trace_id,
        at=at,
        service=service,
        version=version,
        session=session,
        state=state,
        recognised=any(conventions),
        runs=[BaseRun(*run) for run in runs],
        calls=calls,
        parts=parts,
        detectors=next((w for w in words if w.judge == DETECTORS), None),
        words=[w for w in words if w.judge != DETECTORS],
        exchange_words=exchange_words,
        whole_words=whole_words,
        scored=scored,
        findings=findings,
        simulated=simulated,
        behaviour=behaviour,
        not_judged=not_judged,
    )


def labelled(scope: Scope, traces: Sequence[BaseTrace]) -> list[BaseTrace]:
    """The traces with `behaviours` and `began`; the store is asked only where users were labelled.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    labels = user_labels()
    ids = sorted(trace.trace_id for trace in traces if any(judge in labels for _, judge in trace.scored))
    if not ids:
        return list(traces)
    stands = {
        (trace.trace_id, word.subject_id, word.judge)
        for trace in traces for word in trace.exchange_words if word.outcome in (Outcome.DONE, Outcome.CACHED)
    }  # fmt: skip
    said: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in scope.select(_LABELS, trace_ids=ids, judges=sorted(labels)):
        verdict = verdict_from_row(row)
        trace_id, exchange_id = verdict.subject.trace_id, verdict.subject.id
        if (trace_id, exchange_id, verdict.judge) in stands:
            said[trace_id][exchange_id] += labels[verdict.judge](verdict.items)
    began: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for trace_id, runs, exchange_id in scope.select(_BEGAN, trace_ids=ids):
        began[trace_id] |= dict.fromkeys(runs, exchange_id)
    return [replace(one, behaviours=said[one.trace_id], began=began[one.trace_id]) for one in traces]
