"""Failed steps by class, at the LLM call that made them and at the one that first reads them.

Annotators mark either of the two about equally often, so both are reported, linked to each other. Calls that were
turned down have rules of their own (schema.py). LOW where the agent has mended it since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.claims import gives_up_honestly
from tracejury.judges.endings import EndKind
from tracejury.judges.facts import SURVEYS, CallFacts, RunFacts, TurnFacts, failed_calls
from tracejury.judges.failure_text import OUTAGES, StepFailure, told_at
from tracejury.judges.failure_text import FailureKind as F
from tracejury.judges.later_calls import done_otherwise, retries, start_of, worked_again
from tracejury.judges.patterns.templates import LONGEST, template_of
from tracejury.judges.quoting import quote, quote_call, quote_executed
from tracejury.judges.rule import Hit, RunRule, rule
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import ToolCall

from .coding import same_steps
from .completion import is_cut

_CLASSES: Final[tuple[tuple[str, tuple[F, ...], str, str, str, str], ...]] = (
    # class, kinds, category where made, category where read, what, title
    (
        "file",
        (F.FILE,),
        "Environment Setup Errors",
        "Formatting Errors",
        "a file could not be opened",
        "File that could not be opened",
    ),
    (
        "parse",
        (F.PARSE,),
        "Formatting Errors",
        "Formatting Errors",
        "what was written could not be parsed",
        "Output that cannot be parsed",
    ),
    (
        "no-result",
        (F.NO_RESULT,),
        "Poor Information Retrieval",
        "Formatting Errors",
        "nothing was found",
        "Search that found nothing",
    ),
    ("import", (F.IMPORT,), "Environment Setup Errors", "Formatting Errors", "a module is missing", "Missing module"),
    (
        "code",
        (F.CODE, F.OTHER),
        "Formatting Errors",
        "Formatting Errors",
        "an error was raised",
        "Code raised an error",
    ),
    ("raised", (F.CODE, F.OTHER), "Service Errors", "Service Errors", "an error was raised", "Tool raised an error"),
    ("limit", (F.LIMIT,), "Resource Exhaustion", "Resource Exhaustion", "a limit was exceeded", "Limit exceeded"),
    ("timeout", (F.TIMEOUT,), "Timeout Issues", "Timeout Issues", "it timed out", "Call timed out"),
    ("rate", (F.RATE,), "Rate Limiting", "Rate Limiting", "the rate was limited", "Rate limited"),
    ("auth", (F.AUTH,), "Authentication Errors", "Authentication Errors", "access was refused", "Access refused"),
    ("not-found", (F.NOT_FOUND,), "Resource Not Found", "Resource Not Found", "it was not found", "Resource not found"),
    (
        "service",
        (F.SERVICE,),
        "Service Errors",
        "Service Errors",
        "the service behind it failed",
        "Service behind the tool failed",
    ),
    (
        "broken",
        (F.BROKEN,),
        "Environment Setup Errors",
        "Environment Setup Errors",
        "the tool itself is broken",
        "Broken tool",
    ),
)
_OF_STEPS: Final = frozenset({"code"})
"""Classes of what the model's own code raised; `raised` is the same of a tool."""

_OF_CALLS: Final = frozenset({"raised"})


def failed(facts: RunFacts, ctx: Context, name: str, kinds: tuple[F, ...]) -> Iterator[TurnFacts]:
    """Turns that failed by class `name`: with one of `kinds`, in a call or in a step as the class has it.

    The failure of a run below that ended by it is told there (endings.py), not at the call that delegated. The same
    step that fails again and again is one error, which the rule on equal steps (coding.py) names; so are replies in a
    row that could not be read, at the first.
    """
    for turn in facts.once(_failing):
        if turn.failure is None or turn.turn.llm is None or turn.failure.kind not in kinds:
            continue
        if turn.failed_call is not None and _ended(turn.failed_call, ctx):
            continue
        if turn.failed_call is None and turn.turn.llm.is_error:  # the model failed (models.py), and wrote nothing
            continue
        if turn.failed_call is None and _ends(turn, facts, ctx) and not step_that_ended(facts, ctx):
            continue
        if turn.failed_call is None and turn.failure.kind is F.PARSE and is_cut(turn):  # told by output-limit
            continue
        if (name in _OF_STEPS and turn.failed_call) or (name in _OF_CALLS and not turn.failed_call):
            continue
        yield turn


def step_that_ended(facts: RunFacts, ctx: Context) -> str:
    """Span of the LLM call whose text or code made the step fail that crashed the run, "" for none.

    Any other failure of a step that ended the run is told at the run alone (endings.py).
    """
    ending = ctx.endings.get(facts.run.id)
    if ending is None or ending.kind is not EndKind.CRASH:
        return ""
    last = next((turn for turn in facts.turns if _ends(turn, facts, ctx)), None)
    if last is None or last.failure is None or last.failed_call is not None:
        return ""
    return last.span_id if last.code or last.failure.kind in (F.PARSE, F.CODE) else ""


def _ends(turn: TurnFacts, facts: RunFacts, ctx: Context) -> bool:
    """Whether the run ended by a failure in the turn."""
    ending = ctx.endings.get(facts.run.id)
    return ending is not None and ending.turn is turn.turn


def _failing(facts: RunFacts) -> Iterator[TurnFacts]:
    rows = (*same_steps(facts), *(again for _, again in facts.once(_unreadable)))
    again = {turn.position for turns in rows for turn in turns}
    return (t for t in facts.turns if t.failure is not None and t.turn.llm is not None and t.position not in again)


def severity_of(ctx: Context, facts: RunFacts, turn: TurnFacts, call: CallFacts) -> Severity | None:
    """LOW for a failed call that was mended, None (the rule's severity) for one that was not.

    After a call of no tool, or one whose arguments could not be read, any call of the run that works has mended it. So
    has, in a run that served its user, a call of another tool about the same.
    """
    key = (facts.run.id, "") if call.refusal in _UNNAMED else (facts.run.name, call.call.name)
    if ctx.last_worked.get(key, -1) > start_of(turn) or worked_again(turn, call):
        return Severity.LOW
    return Severity.LOW if done_otherwise(facts, turn, call) and facts.run.id not in ctx.endings else None


_UNNAMED: Final = frozenset({F.UNKNOWN_TOOL, F.MALFORMED})


def _ended(call: ToolCall, ctx: Context) -> bool:
    """Whether the call started a run that ended by a failure."""
    return bool(call.sub_run_id) and call.sub_run_id in ctx.endings


def _unreadable(facts: RunFacts) -> Iterable[tuple[str, list[TurnFacts]]]:
    """The replies after one that could not be read, up to the next that could, by the span of the first."""
    found: dict[str, list[TurnFacts]] = {}
    first = ""
    for turn in facts.acts:
        unread = (
            turn.failure is not None and turn.failure.kind is F.PARSE and not (turn.code or turn.turn.tool_requests)
        )
        if unread and first:
            found[first].append(turn)
        elif unread:
            first, found[turn.span_id] = turn.span_id, []
        else:
            first = ""
    return found.items()


def _what(turn: TurnFacts, article: str) -> str:
    return f"{article} call of {turn.failed_call.name}" if turn.failed_call else f"{article} step"


def _tool_span(turn: TurnFacts) -> str:
    call = turn.failed_call
    return call.span.span_id if call and call.span else ""


def made_hit(facts: RunFacts, turn: TurnFacts, explanation: str, template: str = "") -> Hit:
    """A hit at the LLM call that made a failed step."""
    reader = facts.turns[turn.read.position].span_id if turn.read else ""
    call = turn.failed_call
    evidence = quote_call(turn.turn, call) if call else quote(turn.text.strip())
    return Hit(
        turn.span_id,
        evidence,
        explanation,
        template=template,
        tool_span_id=_tool_span(turn),
        seen_by_span_id=reader,
        linked=(reader,) if reader else (),
    )


def read_hit(facts: RunFacts, turn: TurnFacts, explanation: str) -> Iterator[Hit]:
    """A hit at the LLM call that first reads the failure of `turn` and acts on it, if one is known."""
    if turn.read is None or facts.turns[turn.read.position].turn.kind in SURVEYS:
        return
    reading = facts.turns[turn.read.position]
    reader = reading.span_id
    # Who reports an outage has done right, and so has who tries the same once more and succeeds.
    outage = turn.failure is not None and turn.failure.kind in OUTAGES
    if not reader or _reports(facts, reading) or (outage and gives_up_honestly(facts, reading)):
        return
    if _works_now(turn, reading):
        return
    evidence = quote(turn.read.text, turn.read.offset)
    yield Hit(
        reader, evidence, explanation, tool_span_id=_tool_span(turn), seen_by_span_id=reader, linked=(turn.span_id,)
    )


def _reports(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether a turn ends its run with words alone: it tells the user, and the error is where it was made."""
    last = (facts.acts or facts.turns)[-1]  # a run may hold nothing but calls that word its answer
    return turn is last and not (turn.calls or turn.code or turn.attempted)


def _works_now(failing: TurnFacts, later: TurnFacts) -> bool:
    """Whether the later turn makes the very call that failed, and it works."""
    call = failing.failed_call
    if call is None or call.arguments is None:
        return False
    again = [c for c in later.calls if (c.call.name, c.call.arguments) == (call.name, call.arguments)]
    return any(c.failure is None and c.ran for c in again)


def tool_evidence(span: NormalizedSpan, call: ToolCall, error: str) -> str:
    """A quote of the error where the tool's span holds it, else of the call: results may be recorded elsewhere."""
    text = error.strip()
    found = quote(text, told_at(text))
    own = (span.tool_result or "", span.output_text, span.raw.status_message)
    if found and any(found in text for text in own):
        return found
    told = (e.message for e in span.exceptions if e.message and (e.message in error or error in e.message))
    return next((quote(message.strip(), told_at(message)) for message in told), "") or quote_executed(span, call)


def _why(failure: StepFailure | None, what: str) -> str:
    """A failure in the words of its class and its own."""
    text = failure.text.strip() if failure is not None else ""
    told = quote(text, told_at(text), _TOLD).splitlines()[:1]
    return f'{what} ("{told[0].strip()}")' if told else what


_TOLD: Final = 120


def words_of(failure: StepFailure | None, what: str) -> str:
    """A failure in the words of its class and its own, which go on beyond what is quoted: for its template."""
    text = failure.text.strip() if failure is not None else ""
    told = text[told_at(text) :][:LONGEST]
    if not any(map(str.isalpha, template_of(told))):
        told = told.translate(_UNQUOTED)
    return f"{what}: {told}"


_UNQUOTED: Final = str.maketrans(dict.fromkeys("\"'`", " "))
"""A message that is nothing but quoted, such as a JSON string or a list of them, is what these quote."""


def _made(facts: RunFacts, ctx: Context, *, name: str, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    turns = list(failed(facts, ctx, name, kinds))
    unreadable, again_at = (dict(facts.once(_unreadable)), dict(facts.once(retries))) if turns else ({}, {})
    for turn in turns:
        explanation = f"{_what(turn, 'The')} failed: {_why(turn.failure, what)}."
        hit = made_hit(facts, turn, explanation, words_of(turn.failure, what))
        if turn.failed_call is None and _ends(turn, facts, ctx):
            hit = replace(hit, tool_span_id=turn.span_id)
        again = [ctx.missed_again.get(turn.span_id, ""), again_at.get(turn.span_id, "")]
        again += (t.span_id for t in unreadable.get(turn.span_id, ()))
        yield replace(hit, severity=severity_in(facts, ctx, turn), also_at=tuple(filter(None, again)))


def _read(facts: RunFacts, ctx: Context, *, name: str, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    for turn in failed(facts, ctx, name, kinds):
        text = f"This turn is the first to read a failure: {_what(turn, 'the')} failed because {what}."
        for hit in read_hit(facts, turn, text):
            yield replace(hit, severity=severity_in(facts, ctx, turn))


def severity_in(facts: RunFacts, ctx: Context, turn: TurnFacts) -> Severity | None:
    """LOW where the failed call of a turn was mended; None: the rule's."""
    call = next((c for c in turn.calls if c.call is turn.failed_call), None)
    return severity_of(ctx, facts, turn, call) if call is not None else None


def _at_tool(facts: RunFacts, ctx: Context, *, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    for turn, call in facts.once(failed_calls):
        failure, span = call.failure, call.call.span
        if failure is None or failure.page or failure.kind not in kinds or span is None or _ended(call.call, ctx):
            continue
        asked = (
            f", asked for by step {turn.turn.index + 1} of {facts.run.name[:60] or 'the run'}," if turn.span_id else ""
        )
        text = f"This call of {call.call.name}{asked} failed: {_why(failure, what)}."
        evidence = tool_evidence(span, call.call, failure.text)
        yield Hit(
            span.span_id,
            evidence,
            text,
            template=words_of(failure, what),
            tool_span_id=span.span_id,
            severity=severity_of(ctx, facts, turn, call),
        )


def _rules() -> Iterator[RunRule]:
    of_failures = partial(rule, version=8, of_failure=True)
    for name, kinds, category_made, category_read, what, title in _CLASSES:
        made = partial(_made, name=name, kinds=kinds, what=what)
        read = partial(_read, name=name, kinds=kinds, what=what)
        yield of_failures(f"{name}-error", category_made, "TC EE", "MEDIUM", made, title=title)
        yield of_failures(f"{name}-error-read", category_read, "TC EE", "MEDIUM", read, title=title)
        if name not in _OF_STEPS:
            at_tool = partial(_at_tool, kinds=kinds, what=what)
            category = category_made if name == "no-result" else category_read
            yield of_failures(f"{name}-error-at-tool", category, "TC", "MEDIUM", at_tool, title=title)


RULES: Final = tuple(_rules())
