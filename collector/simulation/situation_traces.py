"""Sessions of situations as OTLP traces, as `tracejury talk` would have sent them, and their labels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracejury.collector.otlp.files.session import Call, Exchange, Reply, Session, message, request_of, result_message
from tracejury.judges.packs.emitted_states import AFTER, BEFORE
from tracejury.judges.situations.situation_session import SituationSession, by_tool
from tracejury.judges.situations.situation_types import all_situations
from tracejury.judges.situations.tool_groups import OfferedTool
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.simulation import SIMULATED
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import parse_since

TAXONOMY: Final = "scope"
"""Of planted errors, whose category is the situation."""
NOW: Final = "2026-03-10T09:00:00Z"
"""When all of them begin, which their agents are told: the same session gives the same bytes."""

_SECOND: Final = 10**9
_SYSTEM: Final = (
    "You are the {group} assistant in an app on the user's phone. The user is signed in. Today is Tuesday, 10 March "
    "2026, 09:00."
)


@dataclass(frozen=True, slots=True)
class LabelledTraces:
    """The traces of a session, as one request, and its label lines. `name`: the session's id."""

    name: str
    request: ExportTraceServiceRequest
    labels: tuple[Mapping[str, Any], ...]


def labelled_traces(written: SituationSession, tools: Iterable[OfferedTool], annotator: str) -> LabelledTraces:
    """Traces and labels by `annotator`: that of the session, and of its deciding step as an error that was missed."""
    known = blake2b(written.model_dump_json().encode(errors="replace"), digest_size=8).hexdigest()
    session = Session(f"{written.group}-{known}", f"{written.group}-assistant", tools=[t.definition for t in tools])
    session.simulated = {"session.id": session.id, SIMULATED: True}
    places = _exchanges(session, written)
    if written.state_before:
        session.exchanges[0].attributes = {BEFORE: written.state_before}
        last = session.exchanges[-1]
        last.attributes = {**last.attributes, AFTER: written.state_after}
    situation = all_situations()[written.situation]
    label = {
        "kind": "session",
        "annotator": annotator,
        "service": session.agent,
        "session_id": session.id,
        "good": situation.good,
        "satisfied": situation.user == "satisfied",
        "situation": situation.name,
    }
    return LabelledTraces(session.id, request_of(session), (label, *_planted(session, written, places, annotator)))


Place = tuple[int, int]
"""Of a step: its exchange, and its reply in that."""


def _exchanges(session: Session, written: SituationSession) -> list[Place]:
    """Fills the session; where each of its steps stands. An agent's words before a call are a reply with that call."""
    clock = parse_since(NOW, 0)
    received: list[Mapping[str, Any]] = [message("system", _SYSTEM.format(group=written.group))]
    places: list[Place] = []
    before = ""
    for number, step in enumerate(written.steps):
        clock += (20 if step.who == "user" and number else 1) * _SECOND
        if step.who == "user":
            session.exchanges.append(Exchange(step.text, clock))
            received.append(message("user", step.text))
        else:
            replies = session.exchanges[-1].replies
            if step.who == "agent" or before != "agent":
                replies.append(Reply(clock, received=received, text=step.text if step.who == "agent" else ""))
                received = []
            if step.who == "tool":
                clock += _SECOND
                call = Call(f"call_{number}", step.tool, step.arguments, step.text, step.failed, clock)
                replies[-1].calls.append(call)
                received = [result_message(call)]
        places.append((len(session.exchanges) - 1, max(0, len(session.exchanges[-1].replies) - 1)))
        before = step.who
    return places


def _planted(
    session: Session, written: SituationSession, places: list[Place], annotator: str
) -> Iterable[Mapping[str, Any]]:
    if (deciding := written.deciding) is None:
        return
    situation = all_situations()[written.situation]
    exchange, reply = places[deciding.step - 1]
    trace_id, span_id = session.ids(exchange, reply, *((0,) if by_tool(situation) else ()))
    yield {
        "kind": "annotation",
        "annotator": annotator,
        "opinion": Opinion.MISSED,
        "trace_id": trace_id,
        "span_id": span_id,
        "taxonomy": TAXONOMY,
        "category": written.situation,
        "severity": Severity.HIGH if situation.user == "satisfied" else Severity.MEDIUM,
        "evidence": deciding.quote,
        "explanation": deciding.why,
    }


def label_lines(sessions: Iterable[LabelledTraces]) -> str:
    """JSON lines, as `tracejury labels export` writes them."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for one in sessions for line in one.labels)
