"""The decisive error of a trace whose outcome is wrong: what is asked, and what is made of the answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tracejury.judges.checks.prompt import items_text
from tracejury.judges.checks.questions import CheckQuestion
from tracejury.judges.checks.reply import SCHEMA, AlsoSaid, CheckReply, Said, read
from tracejury.judges.grouping import standing_errors
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.conversation import Asking, ask
from tracejury.judges.llm.fence import data
from tracejury.judges.llm.placing import QuotePlacer, provisional_finding
from tracejury.judges.llm.record import fenced, mark
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.decisive import DECISIVE, told, why_and_instead
from tracejury.schemas.findings import Finding, FindingState, Verification, finding_id
from tracejury.schemas.not_judged import why_run_not_judged
from tracejury.schemas.shown import shown_line
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import Step, Transcript
from tracejury.schemas.verdicts import Subject, Verdict

from .decisive_check import ANSWER, DECISIVE_CHECK, SYSTEM, UNLISTED, YES
from .review import ITEMS, question_of

MOST_ERRORS: Final = 40
"""Errors that are asked about; of more, the most severe and surest."""

_CLAIM: Final = 300
_QUOTE: Final = 160
_SEVERAL: Final = "several items are decisive: at most one is"
_OPEN: Final = "cannot tell"
_LABEL: Final = re.compile(r"(?<![a-z0-9])r(\d{1,6})\W{0,2}s(\d{1,6})(?!\d)", re.IGNORECASE)
_CONFIDENCE: Final = 0.5


@dataclass(frozen=True, slots=True)
class DecisiveCase:
    """A trace with a wrong outcome and the errors found in it, in order of time. `outcome`: why it is wrong.

    `record`: of the whole trace, as `processors.transcript.trace_record` makes it.
    """

    trace: Trace
    record: Transcript
    errors: tuple[AgentError, ...]
    outcome: str

    @property
    def is_empty(self) -> bool:
        """Nothing that a model could choose from: no error, and no run of which it could read what was said or done."""
        return not self.errors and all(why_run_not_judged(run) for run in self.trace.runs)

    @property
    def labels(self) -> Mapping[str, str]:
        """Span id to the label of its first step."""
        return {step.span_id: step.label for step in reversed(self.record.steps)}

    @property
    def at(self) -> frozenset[str]:
        """Labels of the steps of the errors."""
        labels = self.labels
        return frozenset(labels[error.lead.span_id] for error in self.errors if error.lead.span_id in labels)


def decisive_case(
    trace: Trace, record: Transcript, findings: Iterable[Finding], outcome: str, least: float
) -> DecisiveCase:
    """The case of a trace; `findings`: all that were made in it. Errors below `least`, or refuted, are left out."""
    errors = standing_errors((finding for finding in findings if not finding.marks), trace.runs)
    asked = [error for error in errors if error.confidence() >= least and not _refuted(error)]
    worst = sorted(asked, key=lambda error: (-error.severity(least).rank, -error.confidence()))[:MOST_ERRORS]
    order = {step.span_id: number for number, step in reversed(list(enumerate(record.steps)))}

    def place(error: AgentError) -> tuple[int, str]:
        return order.get(error.lead.span_id, len(order)), error.lead.id

    return DecisiveCase(trace, record, tuple(sorted(worst, key=place)), outcome)


def _refuted(error: AgentError) -> bool:
    return all(finding.verification is Verification.REFUTED for finding in error.deciding)


def ask_decisive(
    case: DecisiveCase,
    shown: Transcript,
    subject: Subject,
    version: str,
    *,
    probability: float = 1.0,
    max_tokens: int = 4096,
) -> Asking[Deliberation]:
    """Ask once, with at most one repair. `shown`: as much of the record as there is room for.

    Where several errors are called decisive after the repair, too, nobody knows which one is.
    """
    question = question_of(DECISIVE_CHECK, [_item(case, error) for error in case.errors])
    prompt = _prompt(case, question, shown, max_tokens)
    said = yield from ask(prompt, partial(read, call=(question,)), _lacks)
    model = said.replies[-1].model if said.replies else ""
    failure = said.failure
    finding, reasons, answers = None, "", _answers(case, said.answer)
    if said.answer is not None:
        finding, reasons = _decided(case, said.answer)
        failure = said.answer.lacks if finding is None and reasons != _SEVERAL else ""
    verdict = Verdict(
        judge=DECISIVE,
        version=version,
        subject=subject,
        score=None,
        model=model,
        unscored_reason=failure,
        reasons="" if failure else reasons,
        sampling_probability=probability,
        value=None if failure else float(finding is not None),
        raw=None if failure else float(finding is not None),
        numerator=float(finding is not None),
        denominator=0.0 if failure else 1.0,
        items=() if failure else answers,
    )
    return Deliberation(
        verdicts=(verdict,),
        findings=(finding,) if finding else (),
        failures={DECISIVE: failure} if failure else {},
        known=bool(said.replies) and all(reply.known for reply in said.replies),
        models=tuple(dict.fromkeys(reply.model for reply in said.replies)),
    )


def _item(case: DecisiveCase, error: AgentError) -> CheckItem:
    lead = error.lead
    agent = next((run.name for run in case.trace.runs if run.id == lead.agent_run_id), "")
    lines = [f"{error.title}: {shown_line(lead.explanation, _CLAIM)}"]
    if agent:
        lines[0] = f"agent {agent}: {lines[0]}"
    if lead.evidence:
        lines.append(f'quote: "{shown_line(lead.evidence, _QUOTE)}"')
    label = case.labels.get(lead.span_id, "")
    return CheckItem("\n".join(lines), label, lead.trace_id, lead.span_id)


def _prompt(case: DecisiveCase, question: CheckQuestion, record: Transcript, max_tokens: int) -> Prompt:
    listed = ["how it is known that the outcome is wrong:\n", data(case.outcome)]
    full, rest = fenced(record, listed=listed)
    items = items_text((question,), mark(record)).strip()
    check = DECISIVE_CHECK
    answer = ANSWER.format(
        name=check.name, answers=", ".join(check.answers), category=UNLISTED, also=check.also[UNLISTED]
    )
    none = "No error was found; answer with empty `answers`." if not items else f"{items}\n\n{ITEMS}"
    asked = "\n\n".join(("".join((*full, rest)), none, f"# {check.name}\n{check.question}", answer))
    return Prompt(
        (PromptMessage("system", SYSTEM, cache=True), PromptMessage("user", asked)),
        SCHEMA,
        max_tokens=max_tokens,
        purpose="decisive",
        service=case.trace.service,
        trace_id=case.trace.trace_id,
        tenant=case.trace.tenant,
    )


def _lacks(reply: CheckReply) -> str:
    return "; ".join(filter(None, (reply.lacks, _SEVERAL if len(_named(reply)) > 1 else "")))


def _named(reply: CheckReply) -> Sequence[Said]:
    return [one for one in reply.partial.get(DECISIVE, ()) if one.answer == YES and one.position is not None]


def _decided(case: DecisiveCase, reply: CheckReply) -> tuple[Finding | None, str]:
    """The finding at the decisive error, and why; without one, why nobody knows it."""
    named = _named(reply)
    if len(named) > 1:
        return None, _SEVERAL
    if named:
        return _marking(case, named[0]), named[0].reason
    also = reply.also.get(DECISIVE, ())
    own = _unlisted(case, also[0]) if len(also) == 1 else None
    if own is not None:
        return own, own.explanation
    return None, f"{_OPEN}: the quote of an unlisted error stands nowhere" if also else _OPEN


def _marking(case: DecisiveCase, said: Said) -> Finding:
    """The finding that marks an error as the decisive one: where and how sure its lead is, in this judge's words."""
    lead = case.errors[said.position or 0].lead
    return replace(
        lead,
        id=finding_id(lead.tenant, lead.trace_id, lead.span_id, DECISIVE, lead.category, lead.evidence),
        judge=DECISIVE,
        explanation=told(*why_and_instead(said.reason)) or "it decided the outcome",
        linked=(lead.id,),
        title=lead.shown_title,
        verification=Verification.NONE,
        verified_by="",
        verification_reason="",
        state=FindingState.PROVISIONAL,
        first_seen=0,
    )


def _unlisted(case: DecisiveCase, said: AlsoSaid) -> Finding | None:
    """A decisive error that nobody had found, if its quote stands."""
    placer = QuotePlacer({"": case.trace})
    steps = [step for step in case.record.steps if placer.known(step)]
    placed = placer.place(said.quote, _steps(steps, said.label), steps)
    if placed is None:
        return None
    return provisional_finding(
        placed,
        DECISIVE,
        DECISIVE,
        UNLISTED,
        dimensions=(),
        severity=Severity.HIGH,
        confidence=_CONFIDENCE,
        explanation=told(*why_and_instead(said.reason)),
        title=UNLISTED.capitalize(),
    )


def _steps(steps: Iterable[Step], label: str) -> list[Step]:
    named = {f"R{int(found[1])}.S{int(found[2])}" for found in _LABEL.finditer(label)}
    return [step for step in steps if step.label in named]


def _answers(case: DecisiveCase, reply: CheckReply | None) -> tuple[ItemAnswer, ...]:
    """What was said of each error, as items of the verdict."""
    found = []
    for said in reply.partial.get(DECISIVE, ()) if reply else ():
        if said.position is not None:
            lead = case.errors[said.position].lead
            found.append(
                ItemAnswer(
                    item=shown_line(case.errors[said.position].title, _CLAIM),
                    answer=said.answer,
                    best=said.answer == DECISIVE_CHECK.answers[0],
                    reason=said.reason,
                    label=case.labels.get(lead.span_id, ""),
                    trace_id=lead.trace_id,
                    span_id=lead.span_id,
                    quote=lead.evidence,
                )
            )
    return tuple(found)
