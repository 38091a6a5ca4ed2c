"""How a model is held to JSON: by the schema, as any JSON, or by the prompt alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, Literal

import orjson

from tracejury.judges.llm.client import Prompt, PromptMessage

Form = Literal["schema", "json", "none"]
FORMS: Final[Sequence[Form]] = ("schema", "json", "none")
"""From the strictest to the one that every server takes."""

ASKED: Final = "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"


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
    return [{"role": role, "content": "\n".join(message.text for message in group)} for role, group in groups]


def _message(message: PromptMessage) -> dict[str, Any]:
    if not message.cache:
        return {"role": message.role, "content": message.text}
    part = {"type": "text", "text": message.text, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [part]}
