"""What the checks of a pack are asked of: items of an exchange, and of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracejury.judges.checks.call_items import attempted_calls
from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check, ItemSource
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.packs.completion import completion
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.session_states import states
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.findings import LIVE, Finding
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import RecordedExchange, SessionRecord
from tracejury.schemas.verdicts import Verdict

from .pack_panel import SessionTerms


@dataclass(frozen=True, slots=True)
class RecordedSubject:
    """An exchange (`number` in the record, from 0) or (None) a session, whose record ends with it.

    `traces`: by the id of each trace that a span of theirs is of.
    """

    record: SessionRecord
    traces: Mapping[str, Trace]
    number: int | None = None

    @property
    def last(self) -> RecordedExchange:
        """The exchange, or the session's last."""
        return self.record.exchanges[-1 if self.number is None else self.number]

    @property
    def answer(self) -> CheckItem:
        """The last answer, at its step."""
        last = self.last
        spans = {step.label: step for step in self.record.transcript.steps[last.first : last.last]}
        step = spans.get(last.answered)
        text = " ".join(last.exchange.answer.split())[:200]
        return CheckItem(text, last.answered, step.trace_id, step.span_id) if step else CheckItem(text)


def by_trace_id(traces: Sequence[Trace]) -> dict[str, Trace]:
    """Traces by each id that spans of theirs have."""
    return {trace_id: trace for trace in traces for trace_id in trace.trace_ids}


def asked_of(pack: Pack, check: Check, subject: RecordedSubject, policies: Sequence[str], note: str = "") -> AskedCheck:
    """A check with its items in the subject.

    `policies`: those that it is still to be asked about; `note`: ends each criterion.
    """
    last = subject.last
    trace = subject.traces[last.trace_id]
    items: tuple[CheckItem, ...] = ()
    answers: tuple[ItemAnswer, ...] = ()
    match check.items:
        case ItemSource.STATES:
            items = states(subject.record, len(subject.record.exchanges) - 1, trace)
        case ItemSource.ANSWERS:
            items = (subject.answer,) if last.exchange.answer else ()
        case ItemSource.POLICIES:
            items = tuple(map(CheckItem, policies))
        case ItemSource.CALLS:
            answers = tuple(_calls(check, subject, trace))
        case ItemSource.CRITERIA:
            items = tuple(CheckItem(f"{name}: {text}{note}") for name, text in check.criteria.items())
        case _:
            pass  # the judge lists observations; the others are asked elsewhere
    return AskedCheck(check, items, pack.name, answers)


def completed(
    pack: Pack,
    check: Check,
    subject: RecordedSubject,
    terms: SessionTerms,
    goal: Verdict | None,
    oracle: ItemAnswer | None = None,
) -> AskedCheck:
    """The check whether the task of a session is done; `goal`: the verdict on its last exchange's goal."""
    traces = {trace.trace_id: trace for trace in subject.traces.values()}
    spans = [span.raw for trace in traces.values() for span in trace.spans.values()]
    service = pack.settings.terms(terms.service)
    said = {"card": terms.match.card, "service": service}
    found = completion(subject.answer, spans, **said, fulfilment=goal, oracle=oracle)
    return AskedCheck(check, (), pack.name, (replace(found.answer, reason=found.reason),) if found else ())


def without_detected(said: Deliberation, detected: Iterable[Finding], packs: Iterable[Pack]) -> Deliberation:
    """Without failed calls at whose span a detector reports an error: they count in the measure only."""
    calls = {check.name for pack in packs for check in pack.checks if check.items is ItemSource.CALLS}
    spans = {i for f in detected if f.state in LIVE for i in (f.span_id, f.tool_span_id) if i}
    return replace(said, findings=tuple(f for f in said.findings if f.judge not in calls or f.span_id not in spans))


def _calls(check: Check, subject: RecordedSubject, trace: Trace) -> Iterator[ItemAnswer]:
    """Each attempted call of the exchange, on the scale of the check."""
    last = subject.last
    steps = subject.record.transcript.steps[last.first : last.last]
    return (call.answered(check) for call in attempted_calls(trace, last.exchange, steps))
