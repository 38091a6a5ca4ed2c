"""Rules on content: messages, arguments, schemas, prompts, tokens, error texts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .facts import (
    DetectedGap,
    Facts,
    arguments_known,
    count,
    lost_parents,
    result_known,
    says_input,
    says_output,
    worked,
)

_REDACTED: Final = re.compile(r"\bredacted\b", re.IGNORECASE)
_SYSTEM: Final = frozenset({"system", "developer"})
_LONGEST_ERROR: Final = 2_000
_LEAST_CUT: Final = 3
"""Different values of one length that show a limit."""
_LAST: Final = 8
"""Characters at the end within which JSON breaks off: those of a literal or an escape. Other notations fail early."""


def no_llm_calls(facts: Facts) -> Iterator[DetectedGap]:
    """Agents or tools at work, and no call of a model."""
    others = [s for s in facts.of(Kind.AGENT, Kind.TOOL) if not s.raw.pending]
    if others and not facts.of(Kind.LLM):
        yield DetectedGap("no-llm-calls", f"{count(others, 'agent and tool span')}, and no LLM span", others)


def no_content(facts: Facts) -> Iterator[DetectedGap]:
    """LLM calls without a word of what was sent or written."""
    calls = facts.ended
    sent, written = sum(map(says_input, calls)), sum(map(says_output, calls))
    if not calls or (sent and written):
        return
    what = f"{count(calls, 'LLM call')}: {sent} with what was sent, {written} with what the model wrote"
    yield DetectedGap("half-content" if sent or written else "no-content", what, calls)


def no_tool_spans(facts: Facts) -> Iterator[DetectedGap]:
    """Tools that ran, as their results in later messages show, and no span of any."""
    tools = facts.of(Kind.TOOL)
    answered = [c for c in facts.calls if any(m.role == "tool" for m in c.input_messages)]
    if answered and not tools:
        yield DetectedGap(
            "no-tool-spans", f"results of tools in {count(answered, 'LLM call')}, and no span of a tool", answered
        )


def no_tool_content(facts: Facts) -> Iterator[DetectedGap]:
    """Executed tool calls of which nothing tells the arguments, or the results."""
    calls = [c for c in facts.tools if worked(c)]
    given, told = sum(map(arguments_known, calls)), sum(map(result_known, calls))
    spans = [c.span for c in calls if c.span]
    if calls and not (given and told):
        what = f"{count(calls, 'tool call')}: {given} with arguments, {told} with results"
        yield DetectedGap("no-tool-content", what, spans)
    elif spans and not any(s.tool_arguments is not None for s in spans):
        yield DetectedGap("tool-content-in-messages", f"none of {count(spans, 'tool span')} has arguments", spans)


def no_tool_schemas(facts: Facts) -> Iterator[DetectedGap]:
    """Tools are called, and nothing tells what they take."""
    spans = [*facts.calls, *facts.of(Kind.TOOL)]
    known = any(t.parameters is not None for c in facts.calls for t in c.tools)
    asked = sum(len(c.tool_requests) for c in facts.calls)
    called = max(asked, len(facts.tools))
    if called and not known and not any(s.tool_parameters is not None for s in spans):
        yield DetectedGap("no-tool-schemas", f"{count(called, 'tool call')}, no schema of a tool", spans)


def no_system_prompt(facts: Facts) -> Iterator[DetectedGap]:
    """Messages, and none of the system's among them."""
    calls = [c for c in facts.ended if says_input(c)]
    told = any(r.system_prompt for r in facts.runs)
    if calls and not told and not any(m.role in _SYSTEM for c in facts.of(Kind.LLM) for m in c.input_messages):
        yield DetectedGap("no-system-prompt", f"none in {count(calls, 'LLM call')}", calls)


def no_tokens(facts: Facts) -> Iterator[DetectedGap]:
    """LLM calls without a count of tokens."""
    calls = facts.ended
    spans = facts.of(Kind.LLM)
    if calls and not any(s.input_tokens is not None or s.output_tokens is not None for s in spans):
        yield DetectedGap("no-tokens", f"none of {count(calls, 'LLM call')} counts tokens", calls)


def no_session(facts: Facts) -> Iterator[DetectedGap]:
    """Nothing says which conversation the traces belong to."""
    acts = facts.of(Kind.AGENT, Kind.LLM)
    if acts and not any(s.session_id for s in facts.spans):
        yield DetectedGap("no-session", f"in {count(facts.traces, 'trace')}", acts)


def dropped(facts: Facts) -> Iterator[DetectedGap]:
    """Spans that a limit of the agent's SDK cut, and spans that a limit of ours cut."""
    theirs = [s for s in facts.spans if s.raw.dropped_attributes or s.raw.dropped_events]
    ours = [s for s in facts.spans if s.raw.cut]
    if theirs:
        lost = sum(s.raw.dropped_attributes + s.raw.dropped_events for s in theirs)
        yield DetectedGap(
            "dropped-attributes", f"{count(theirs, 'span')} lost {count(lost, 'attribute or event')}", theirs
        )
    if ours:
        yield DetectedGap("cut-by-us", f"values of {count(ours, 'span')}", ours)


def cut_values(facts: Facts) -> Iterator[DetectedGap]:
    """Values that a limit of the agent's SDK cut: several of one length, none longer, and JSON that breaks off.

    One length alone says little, and one attribute: a program may cut or divide its texts itself.
    """
    by_service: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in facts.spans:
        if not span.raw.cut:
            by_service[span.raw.service].append(span)
    for spans in by_service.values():
        longest = max((len(v) for s in spans for v in s.raw.attributes.values()), default=0)
        full = [s for s in spans if longest in map(len, s.raw.attributes.values())]
        values = {v: k for s in full for k, v in s.raw.attributes.items() if len(v) == longest}
        broken = [k for v, k in values.items() if _breaks_off(v)]
        if len(values) >= _LEAST_CUT and len(set(broken)) > 1:
            lengths = f"{len(values)} values have {longest:,} characters and none has more"
            what = f"{lengths}; {len(broken)} are JSON that breaks off"
            yield DetectedGap("cut-values", what, full)


def _breaks_off(value: str) -> bool:
    """Whether it begins as JSON and does not end as such."""
    if not value.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(value)
    except json.JSONDecodeError as error:
        return len(value) - error.pos <= _LAST or error.msg.startswith("Unterminated string")
    except RecursionError:
        return False
    return False


def redacted_errors(facts: Facts) -> Iterator[DetectedGap]:
    """Failures whose text the instrumentation withholds."""
    failed = [s for s in facts.spans if s.is_error and _REDACTED.search(s.error_text[:_LONGEST_ERROR])]
    if failed:
        yield DetectedGap("redacted-errors", f"{count(failed, 'failed span')}", failed)


def twins(facts: Facts) -> Iterator[DetectedGap]:
    """Spans right under a span of the same kind that another instrumentation wrote."""
    found: list[NormalizedSpan] = []
    for trace in facts.traces:
        for span in trace.spans.values():
            above = trace.spans.get(span.raw.parent_span_id)
            if above and span.kind in (Kind.LLM, Kind.TOOL) and above.kind is span.kind and _foreign(span, above):
                found += [span, above]
    if found:
        yield DetectedGap("twins", f"{len(found) // 2} LLM calls and tools have two spans", found)


def outside(facts: Facts) -> Iterator[DetectedGap]:
    """LLM calls that belong to no agent's run, while there are runs."""
    owned = {id(turn.llm) for run in facts.runs if not run.beside for turn in run.turns if turn.llm}
    free = [c for c in facts.calls if id(c) not in owned]
    whole = not any(lost_parents(t) for t in facts.traces)
    if free and facts.of(Kind.AGENT) and whole:
        yield DetectedGap("calls-outside", f"{len(free)} of {count(facts.calls, 'LLM call')}", free)


def _foreign(span: NormalizedSpan, above: NormalizedSpan) -> bool:
    return span.raw.scope_name != above.raw.scope_name
