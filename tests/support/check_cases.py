"""Cases for checks, made of small chats, and what a scripted model makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from check_replies import reply
from deliberations import rehearse
from sessions import Asked, Layout, session

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.formula import Ratio
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.checks.item_source import ItemSource
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import Line, ScriptedClient
from tracejury.judges.packs import sources
from tracejury.processors.transcript import session_record, upto
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.transcript import Chapter, SessionRecord, StepKind
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

CHAT = (
    Asked("How many brake pads are there in Oslo?", "There are 7 in Oslo.", ["7 parts in Oslo"], "I count in Oslo."),
    Asked("And in Rome?", "Rome has 12, and more come on Monday.", ["12 parts", "0 on order"], "I look at Rome now."),
    Asked("Thanks.", "You are welcome."),
)


def check(items: ItemSource, name: str = "", **changes: Any) -> Check:
    """A check about items of that kind, named after it."""
    wide = items in {sources.POLICIES, sources.COMPLETION}
    fields: dict[str, Any] = {
        "name": name or f"check-{items}",
        "measure": "S",
        "title": f"Check of {items}",
        "definition": f"The share of {items} that are sound.",
        "subject": "session" if wide else "exchange",
        "items": items,
        "question": f"Is each of the {items} sound?",
        "best": "it is sound",
        "category": f"unsound {items}",
        "explain": "Look there.",
    }
    return Check(**fields | changes)


STATES, ANSWERS, POLICIES, CALLS = map(check, (sources.STATES, sources.ANSWERS, sources.POLICIES, sources.CALLS))
OBSERVATIONS = check(sources.OBSERVATIONS, also={"omitted observation": "what the answer had to say"})


def share(exchanges: Sequence[Sequence[ItemAnswer]]) -> Ratio:
    """The share of best answers."""
    answers = [answer for given in exchanges for answer in given]
    return Ratio(sum(answer.best for answer in answers), len(answers))


def states_of(record: SessionRecord, number: int) -> tuple[CheckItem, ...]:
    """The calls of a model in an exchange but the answer's, as items."""
    exchange = record.exchanges[number]
    return tuple(
        CheckItem(step.outline, step.label, step.trace_id, step.span_id)
        for step in record.transcript.steps[exchange.first : exchange.last]
        if step.kind is StepKind.LLM and step.label != exchange.answered
    )


def policies(*texts: str) -> AskedCheck:
    return AskedCheck(POLICIES, tuple(CheckItem(text) for text in texts), "pack")


def check_case(
    exchange: int | None,
    *checks: AskedCheck | Check,
    chat: Sequence[Asked] = CHAT,
    layout: Layout = Layout.RESENT,
    **changes: Any,
) -> CheckCase:
    """An exchange of a chat, or the whole of it, before these checks; states are found where a bare check asks."""
    traces = session(chat, layout)
    whole = session_record("chat", traces)
    record = whole if exchange is None else upto(whole, exchange)
    asked = [
        made
        if isinstance(made, AskedCheck)
        else AskedCheck(made, states_of(record, exchange or 0) if made.items is sources.STATES else (), "pack")
        for made in checks
    ]
    if exchange is None:
        subject = Subject(SubjectKind.SESSION, '["shop", "chat"]', "")
    else:
        recorded = record.exchanges[exchange]
        subject = Subject(SubjectKind.EXCHANGE, recorded.exchange.id, recorded.trace_id)
    fields: dict[str, Any] = {
        "subject": subject,
        "record": record,
        "traces": {trace.trace_id: trace for trace in traces},
        "checks": tuple(asked),
        "service": "shop",
        "exchange": exchange,
    }
    return CheckCase(**fields | changes)


def how(case: CheckCase, **changes: Any) -> HowAsked:
    """All checks of a case by the share of best answers."""
    names = [asked.check.name for asked in case.checks]
    fields: dict[str, Any] = {
        "formulas": dict.fromkeys(names, share),
        "versions": {name: f"v-{name}" for name in names},
    }
    return HowAsked(**fields | changes)


def asked_of(
    case: CheckCase, script: Callable[[Prompt], Line] = reply, chapters: Sequence[Chapter] = (), **changes: Any
) -> tuple[Deliberation, ScriptedClient]:
    """The case before a scripted model; `changes` are fields of how it is asked."""
    client = ScriptedClient(script)
    return rehearse(judge_checks(case, how(case, **changes), chapters), client), client


def only(said: Deliberation) -> Verdict:
    """The one verdict."""
    (verdict,) = said.verdicts
    return verdict
