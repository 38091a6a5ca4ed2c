"""The step of a case with an answer in its place, as a trace; what was recorded of the called tools is their result.

No tool runs. A call that the recording has, by name and arguments, has its result; one that breaks its tool's schema,
as the recorded step did, is turned down as that was; another one has none. After an answer that calls tools the run is
shown to go on, so that no rule takes its end for the agent's; after any other it is over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from tracejury.collector.judging.detect.direct import normalized, stored
from tracejury.collector.otlp.codec.encode import pairs
from tracejury.collector.otlp.files.chat import ChatCall, ChatMessage, exchanges_of
from tracejury.collector.otlp.files.session import Reply, Session, request_of
from tracejury.judges.causes import cause_of
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.judges.tool_schema import reason_of_refusal
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace, TraceState

from .case import Case, MustNotAppear

BEGAN: Final = 1_700_000_000_000_000_000
"""When all steps begin, unix nanos: the same answer gives the same trace, and an LLM judge the same prompt."""


@dataclass(frozen=True, slots=True)
class Step:
    """The trace up to and with the step, of the step's agent run alone; `span_ids`: of the step.

    `unknown`: tools that it calls in a way that the recording has not.
    """

    trace: Trace
    span_ids: frozenset[str]
    unknown: tuple[str, ...] = ()

    def findings(self, found: Iterable[Finding]) -> list[Finding]:
        """Those at the step."""
        return [finding for finding in found if finding.span_id in self.span_ids]


def step_of(case: Case, messages: Sequence[ChatMessage], answer: ChatMessage, *, assume: bool = False) -> Step:
    """The step of a case with these messages and this answer.

    `assume`: calls that the recording has not return what those of the recorded step did.

    Raises:
        PermanentError: the messages make no step.
    """
    results, unknown = _results(case, answer, assume=assume)
    exchanges, received = exchanges_of([*messages, answer, *results])
    exchanges[0].time = BEGAN
    last, own = exchanges[-1], len(exchanges[-1].replies) - 1
    if answer.tool_calls:
        last.replies.append(Reply(0, received=received))
    tools = [tool.definition for tool in case.tools]
    session = Session(case.id, case.agent or case.service, exchanges=exchanges, tools=tools)
    ids = [session.ids(len(exchanges) - 1, *below)[1] for below in ((own,), (), (own + 1,))]
    request = request_of(session)
    if answer.tool_calls:
        for span in request.resource_spans[0].scope_spans[0].spans:
            if span.span_id.hex() in ids[1:]:
                span.attributes.extend(pairs({"tracejury.pending": True}))
    decoded = stored([request])
    state = TraceState.OPEN if answer.tool_calls else TraceState.SETTLED
    trace = rebuild(normalized(decoded.spans, decoded.logs), state=state)
    turns = ((run, t) for run in trace.runs for t in run.turns if t.llm is not None and t.llm.span_id == ids[0])
    if (found := next(turns, None)) is None:
        raise PermanentError("no step of an agent can be made of its messages")
    run, turn = found
    return Step(replace(trace, runs=(run,)), frozenset(span.span_id for span in turn.spans), unknown)


def detected(step: Step) -> list[Finding]:
    """The detectors' findings at the step."""
    return step.findings(_suite().judge(step.trace).findings)


def is_wrong(wanted: MustNotAppear, found: Iterable[Finding]) -> bool:
    """Whether what must not appear is among the findings."""
    return any(one.judge == wanted.judge and cause_of(one) == wanted.cause for one in found)


def detectors() -> frozenset[str]:
    """The names of the detectors."""
    return frozenset(detector.name for detector in _suite().detectors)


def _results(case: Case, answer: ChatMessage, *, assume: bool) -> tuple[list[ChatMessage], tuple[str, ...]]:
    """What the answer's calls return, and the names of those that the recording has not."""
    step = _returned((case.answer, *case.results))
    recorded = [*step, *reversed(_returned(case.messages))]
    results: list[ChatMessage] = []
    unknown: list[str] = []
    for call in answer.tool_calls or ():
        known = [result for asked, result in recorded if _same(asked, call)]
        if not known:
            unknown.append(call.function.name)
            broken = _is_broken(case, call)
            if broken or assume:
                known = [result for asked, result in step if _is_broken(case, asked) == broken]
        results += [one.model_copy(update={"tool_call_id": call.id}) for one in known[:1] if one is not None]
    return results, tuple(unknown)


def _returned(messages: Iterable[ChatMessage]) -> list[tuple[ChatCall, ChatMessage | None]]:
    """The calls of messages with their results."""
    found: list[tuple[ChatCall, ChatMessage | None]] = []
    for one in messages:
        found += [(call, None) for call in one.tool_calls or ()]
        if one.role == "tool":
            at = next(
                (n for n, (call, given) in enumerate(found) if call.id == one.tool_call_id and given is None), None
            )
            if at is not None:
                found[at] = (found[at][0], one)
    return found


def _is_broken(case: Case, call: ChatCall) -> bool:
    """Whether no tool takes the call: there is none of that name, or its schema has not such arguments."""
    schema = next((tool.parameters for tool in case.tools if tool.name == call.function.name), None)
    arguments = json_or_text(call.text) if call.text.strip() else {}
    return schema is None or not isinstance(arguments, dict) or bool(reason_of_refusal(arguments, schema))


def _same(a: ChatCall, b: ChatCall) -> bool:
    return a.function.name == b.function.name and json_or_text(a.text) == json_or_text(b.text)


def json_or_text(text: str) -> Any:
    """The JSON that a text is, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@cache
def _suite() -> Suite:
    return default_suite()
