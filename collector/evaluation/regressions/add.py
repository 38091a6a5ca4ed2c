"""A case from an error and the trace that it is in, or why there can be none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from tracejury.collector.otlp.files.chat import ChatCall, ChatFunction, ChatMessage
from tracejury.collector.otlp.files.session import SCOPE
from tracejury.judges.causes import OF_THE_TOOL, cause
from tracejury.judges.llm.data_files import problems_of
from tracejury.processors.normalize.values import parse_object
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.normalized import Captured, Json, Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.trajectory import AgentRun, Trace, Turn
from tracejury.schemas.wire.errors import ErrorDetailJson, FindingJson

from .case import MODEL_NAME, PARAMETERS, Case, MustNotAppear, RecordedError, Tool
from .step import detected, detectors, is_wrong, json_or_text, step_of

_ROLES: Final[Mapping[str, str]] = {"developer": "system", "model": "assistant", "ai": "assistant"}
_SPOKEN: Final = frozenset({"system", "user", "assistant"})
_PREFIXES: Final = ("gen_ai.request.", "llm.request.")


def case_of(error: ErrorDetailJson, trace: Trace) -> Case:
    """The case of an error.

    Raises:
        PermanentError: why there can be none: what the step was sent was not recorded, or its error cannot be seen in
            the step alone.
    """
    if error.judge in {*OF_THE_TOOL, *OF_THE_TOOL.values()}:
        raise PermanentError("a tool failed by itself: no other answer of the model would mend that")
    run, turn = _step(error.span_id, trace)
    llm = turn.llm
    if llm is None:
        raise PermanentError("no LLM call of the step was recorded")
    if llm.content is Captured.NOTHING or not llm.input_messages:
        raise PermanentError("the messages of the LLM call were not recorded: see tracejury doctor --trace")
    if llm.content is not Captured.ALL or llm.continues_input or llm.raw.scope_name == SCOPE:
        raise PermanentError("the messages of the LLM call were cut, or recorded in part: see tracejury doctor --trace")
    try:
        messages = chat_messages(llm.input_messages)
        answer, results = _answer(turn, llm)
        wanted = [_wanted(finding) for finding in error.findings if not _beside(finding)]
        case = Case(
            id=error.id,
            pattern=error.pattern or "",
            service=error.service,
            agent=run.name,
            trace_id=error.trace_id,
            span_id=llm.span_id,
            error=RecordedError.model_validate(error.model_dump()),
            must_not_appear=_wanted(error),
            model=llm.model if re.fullmatch(MODEL_NAME, llm.model) else "",
            parameters=_parameters(llm),
            messages=tuple(messages),
            tools=tuple(map(_tool, llm.tools or run.tools)),
            answer=answer,
            results=tuple(results),
        )
        return _seen(case, wanted)
    except ValidationError as problem:
        raise PermanentError(problems_of(problem)) from None


def chat_messages(recorded: Iterable[Message]) -> list[ChatMessage]:
    """Messages as of OpenAI's chat API: a result that belongs to no call is a user's message, as it was sent."""
    messages: list[ChatMessage] = []
    asked: list[str] = []
    for number, one in enumerate(recorded):
        role = _ROLES.get(one.role, one.role)
        if one.tool_requests:
            calls = tuple(
                ChatCall(id=call.call_id or f"call_{number}_{place}", function=_function(call.name, call.arguments))
                for place, call in enumerate(one.tool_requests)
            )
            messages.append(ChatMessage(role="assistant", content=one.text or None, tool_calls=calls))
            asked = [call.id for call in calls]
        elif asked and role not in _SPOKEN:
            known = one.tool_call_id if one.tool_call_id in asked else asked[0]
            asked.remove(known)
            messages.append(ChatMessage(role="tool", content=one.text, tool_call_id=known, failed=one.failed))
        elif one.tool_call_id and not any(said.role == "assistant" for said in messages):
            raise PermanentError(
                "only what was new since the call before was recorded: it has a result without its call"
            )
        else:
            sent_as = role if role in _SPOKEN else "assistant" if role == "tool-call" else "user"
            messages.append(ChatMessage.model_validate({"role": sent_as, "content": one.text}))
    return messages


def _step(span_id: str, trace: Trace) -> tuple[AgentRun, Turn]:
    for run in trace.runs:
        for turn in run.turns:
            if span_id in {span.span_id for span in turn.spans}:
                return run, turn
    raise PermanentError("it was made outside the agents' steps: there is no LLM call to issue again")


def _answer(turn: Turn, llm: NormalizedSpan) -> tuple[ChatMessage, list[ChatMessage]]:
    """What the model said, and what its calls returned."""
    calls: list[ChatCall] = []
    results: list[ChatMessage] = []
    done = list(turn.tool_calls)
    for place, asked in enumerate(llm.tool_requests):
        call_id = asked.call_id or f"call_{place}"
        calls.append(ChatCall(id=call_id, function=_function(asked.name, asked.arguments)))
        made = next((c for c in done if c.name == asked.name and (c.call_id or call_id) == call_id), None)
        if made is not None:
            done.remove(made)
            if (told := made.error if made.result is None else made.result) is not None:
                failed = made.error is not None
                results.append(ChatMessage(role="tool", content=told, tool_call_id=call_id, failed=failed))
    return ChatMessage(role="assistant", content=llm.output or None, tool_calls=tuple(calls) or None), results


def _function(name: str, arguments: Json) -> ChatFunction:
    return ChatFunction(name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments))


def _tool(tool: ToolDefinition) -> Tool:
    if tool.parameters is None:
        raise PermanentError(f"the schema of the tool {tool.name[:60]!r} was not recorded")
    return Tool(name=tool.name, description=tool.description, parameters=dict(tool.parameters))


def _parameters(llm: NormalizedSpan) -> dict[str, Any]:
    """The call's parameters as far as conventions record them."""
    attributes = llm.raw.attributes
    given: dict[str, Any] = dict(parse_object(attributes.get("llm.invocation_parameters", "")) or {})
    for prefix in _PREFIXES:
        own = {name: attributes[prefix + name] for name in PARAMETERS if prefix + name in attributes}
        given |= {name: json_or_text(text) for name, text in own.items()}
    if llm.max_tokens is not None:
        given["max_tokens"] = llm.max_tokens
    if llm.stop_sequences:
        given["stop"] = list(llm.stop_sequences)
    return {name: value for name, value in given.items() if name in PARAMETERS and value is not None}


def _beside(finding: FindingJson) -> bool:
    """Whether it is a check's of a pack, or marks the decisive error: neither judges a step."""
    return finding.judge == DECISIVE or finding.judge.startswith(f"{finding.taxonomy}-")


def _wanted(found: FindingJson | ErrorDetailJson) -> MustNotAppear:
    return MustNotAppear(
        judge=found.judge,
        cause=cause(found.judge, found.taxonomy, found.category),
        by="detector" if found.judge in detectors() else "llm",
    )


def _seen(case: Case, wanted: Sequence[MustNotAppear]) -> Case:
    """The case with the judge that sees its error in the step alone: a detector if one does, else the LLM judge.

    Whether an LLM judge does is not asked: that would cost, and the first run tells.
    """
    if not wanted:
        raise PermanentError("only a check of whole exchanges or sessions found it, and none of a step")
    rules = [one for one in wanted if one.by == "detector"]
    found, bare = (
        detected(step_of(shown, shown.messages, shown.answer))
        for shown in (case, case.model_copy(update={"results": ()}))
    )
    for one in rules:
        if is_wrong(one, found):
            named = one.model_copy(update={"needs_results": not is_wrong(one, bare)})
            return case.model_copy(update={"must_not_appear": named})
    for one in wanted:
        if one.by == "llm":
            return case.model_copy(update={"must_not_appear": one})
    raise PermanentError(f"the detector {rules[0].judge} needs more than the step to see it")
