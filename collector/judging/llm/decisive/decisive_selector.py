"""Selection of traces whose decisive error is asked for, once their runs are judged. Belongs to the judging thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b

from tracejury.collector.judging.ledger import stands
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.ledger_entries import Revision, keyed, new_entries
from tracejury.collector.judging.llm.pending_tasks import pending_tasks
from tracejury.collector.judging.llm.relocated_runs import withdrawn
from tracejury.collector.judging.llm.requested import RequestedTraces
from tracejury.collector.judging.pipeline import NOTHING, Elsewhere, Selection
from tracejury.judges.llm.selection import Decision
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedTrace, Judgement, LedgerEntries, LedgerKey, LedgerRecord, Outcome, Subject
from tracejury.schemas.verdicts import SubjectKind as Kind

OURS = frozenset({Kind.TRACE})


class DecisiveSelector:
    """Notes in the ledger the settled traces of which a run is judged, and queues them. `request` from any thread.

    It comes after the selectors whose entries it reads: a trace is asked about again whenever one of its runs is.
    """

    def __init__(self, version: str, queue: JudgeQueue, clock: Callable[[], int] = time.time_ns) -> None:
        self._versions, self._queue, self._clock = {DECISIVE: version}, queue, clock
        self._requested = RequestedTraces()

    def request(self, keys: Iterable[TraceKey], *, by_hand: bool) -> None:
        """Ask about these traces again at their next pass."""
        self._requested.add(keys, by_hand=by_hand)

    def select(
        self,
        trace: Trace,
        findings: Sequence[Finding],
        ledger: LedgerEntries,
        now: int,
        elsewhere: Elsewhere = NOTHING,  # noqa: ARG002  its runs' entries say what stood elsewhere
    ) -> Selection:
        """See `Selector`."""
        by_hand = self._requested.take((trace.tenant, trace.trace_id))
        words = {key: word for key, word in ledger.items() if key[0] == Kind.AGENT_RUN and stands(word)}
        rows: list[Judgement] = []
        if words and trace.state is not TraceState.OPEN:
            again = any(word.outcome is Outcome.PENDING and word.judged_at == now for word in words.values())
            subject = Subject(Kind.TRACE, trace.trace_id, trace.trace_id, trace.tenant)
            revision = Revision(subject, _content(words, findings), trace.received_through)
            decide = partial(_decision, list(words.values()))
            rows += new_entries(revision, self._versions, ledger, now, decide, by_hand=again or by_hand)
        gone = self._take_back(trace, ledger, {trace.trace_id} if words else ())
        ledger.update(keyed((*rows, *gone)))
        return Selection((*rows, *gone))

    def withdraw(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:  # noqa: ARG002  see `Selector`
        """See `Selector`."""
        gone = self._take_back(trace, ledger, ())
        ledger.update(keyed(gone))
        return gone

    def enqueue(self, judged: Sequence[JudgedTrace]) -> None:
        """Queue what is pending in these traces, which are stored."""
        for one in judged:
            self._queue.add(*pending_tasks(one.ledger, Kind.TRACE))

    def _take_back(
        self, trace: Trace, ledger: Mapping[LedgerKey, LedgerRecord], known: Collection[str]
    ) -> tuple[Judgement, ...]:
        gone = {
            key: word
            for key, word in ledger.items()
            if key[0] == Kind.TRACE and key[2] == DECISIVE and key[1] not in known and stands(word)
        }
        if gone:
            self._queue.withdraw((trace.tenant, trace.trace_id), OURS, known)
        return withdrawn(gone, trace, self._clock())


def _content(words: Mapping[LedgerKey, LedgerRecord], findings: Iterable[Finding]) -> str:
    """Hash of what its runs show, by which judges they are judged, and of what detectors found."""
    runs = sorted((*key, word.version, word.input_hash) for key, word in words.items())
    found = sorted(finding.id for finding in findings)
    return blake2b(repr((runs, found)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _decision(words: Sequence[LedgerRecord]) -> Decision:
    """The trace's by those of its runs: asked about if one is judged, with the weight of the least likely."""
    chosen = [word for word in words if word.outcome not in (Outcome.SAMPLED_OUT, Outcome.FILTERED)]
    if chosen:
        return Decision(Outcome.PENDING, "", min(word.probability for word in chosen))
    first = next((word for word in words if word.outcome is Outcome.SAMPLED_OUT), words[0])
    return Decision(first.outcome, first.reason, min(word.probability for word in words))
