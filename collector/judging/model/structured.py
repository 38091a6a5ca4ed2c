"""How a model is held to JSON (by the schema, as any JSON, or by the prompt alone), and its answer read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, Literal

import orjson

from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.json_object import json_object
from tracejury.schemas.shown import shown

Form = Literal["schema", "json", "none"]
FORMS: Final[Sequence[Form]] = ("schema", "json", "none")
"""From the strictest to the one that every server takes."""

ASKED: Final = "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"

LONGEST_REFUSAL: Final = 200
"""Characters of a refusal that are repeated."""


def at_most(form: Form) -> Sequence[Form]:
    """This form and the laxer ones."""
    return FORMS[FORMS.index(form) :]


def response_format(prompt: Prompt, form: Form) -> dict[str, Any] | None:
    """The request's `response_format`, as OpenAI defines it; None for none."""
    if not prompt.schema or form == "none":
        return None
    if form == "json":
        return {"type": "json_object"}
    described = {"name": prompt.schema_name, "schema": dict(prompt.schema), "strict": strict(prompt.schema)}
    return {"type": "json_schema", "json_schema": described}


def strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes it: every object closed, all its properties required."""
    if isinstance(schema, list):
        return all(strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        needed = set(schema.get("required", ()))
        if schema.get("additionalProperties") is not False or set(properties or ()) - needed:
            return False
    return all(strict(part) for part in schema.values())


def messages(prompt: Prompt, form: Form, *, marked: bool) -> list[dict[str, Any]]:
    """The request's messages; without a schema beside them, it stands at the end of the last.

    `marked`: the provider must be told where a prefix ends that later calls repeat. Otherwise neighbours of one role
    are one message: templates of many open models refuse two in a row.
    """
    said = list(prompt.messages)
    if prompt.schema and form != "schema" and said:
        said[-1] = replace(said[-1], text=f"{said[-1].text}\n\n{ASKED}{orjson.dumps(prompt.schema).decode()}")
    if marked:
        return [_message(message) for message in said]
    groups = groupby(said, key=lambda message: message.role)
    return [{"role": role, "content": _joined(list(group))} for role, group in groups]


def _joined(said: Sequence[PromptMessage]) -> str | list[dict[str, Any]]:
    """The content of neighbours of one role: one text, or what stands between pictures in parts."""
    parts: list[dict[str, Any]] = []
    texts: list[str] = []
    for message in said:
        texts.append(message.text)
        if message.pictures:
            parts += [_text("\n".join(texts)), *_pictures(message)]
            texts = []
    rest = "\n".join(texts)
    return [*parts, *([_text(rest)] if texts else [])] if parts else rest


def _message(message: PromptMessage) -> dict[str, Any]:
    if not message.cache and not message.pictures:
        return {"role": message.role, "content": message.text}
    marked = {"cache_control": {"type": "ephemeral"}} if message.cache else {}
    return {"role": message.role, "content": [_text(message.text) | marked, *_pictures(message)]}


def _pictures(message: PromptMessage) -> Iterator[dict[str, Any]]:
    """Each picture after its name, as OpenAI's chat API has it; litellm translates it for other providers."""
    for picture in message.pictures:
        yield _text(picture.label)
        yield {"type": "image_url", "image_url": {"url": picture.url}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def answer_text(message: Any, key: str) -> tuple[str, str]:
    """The text, or "" and one line why there is none. `key`: the first property of the answer asked for, "" for none.

    Models that were asked for JSON may answer in a call of a tool that nobody offered, or in their reasoning alone:
    that is taken where it holds exactly one object.
    """
    content = plain(getattr(message, "content", None))
    calls = _arguments(message)
    called = calls[0] if len(calls) == 1 else ""
    if content.strip() and (not called or not key or "{" in content):
        return content, ""
    if called.strip():
        return called, ""
    reasoning = plain(_extra(message, "reasoning_content"))
    if key and reasoning and not calls and _one_object(reasoning, key):
        return reasoning, ""
    return "", _why_nothing(message, len(calls), reasoning)


def _why_nothing(message: Any, calls: int, reasoning: str) -> str:
    if refused := " ".join(shown(plain(_extra(message, "refusal"))).split())[:LONGEST_REFUSAL]:
        return f"refused to answer: {refused}"
    if calls > 1:
        return f"answered in {calls} tool calls instead of one text"
    return "answered nothing but its reasoning" if reasoning.strip() else "answered nothing"


def _one_object(text: str, key: str) -> bool:
    try:
        json_object(text, key)
    except AnswerError:
        return False
    return True


def tool_calls(message: Any) -> tuple[Mapping[str, str], ...]:
    """The message's tool calls, in the present and in the older form, as `Reply.calls` has them."""
    calls = [(call, getattr(call, "function", None)) for call in getattr(message, "tool_calls", None) or ()]
    calls.append((None, getattr(message, "function_call", None)))
    return tuple(
        {"id": _field(call, "id"), "name": _field(called, "name"), "arguments": _field(called, "arguments")}
        for call, called in calls
        if called is not None
    )


def _field(part: Any, name: str) -> str:
    return plain(getattr(part, name, None))


def _arguments(message: Any) -> Sequence[str]:
    return [call["arguments"] for call in tool_calls(message)]


def _extra(message: Any, name: str) -> object:
    """A field beside those of OpenAI's first protocol, where litellm keeps it."""
    fields = getattr(message, "provider_specific_fields", None)
    return getattr(message, name, None) or (fields.get(name) if isinstance(fields, dict) else None)


def plain(value: object) -> str:
    """As a text that can be stored: JSON may hold lone surrogates."""
    return str(value or "").encode("utf-8", "replace").decode()
