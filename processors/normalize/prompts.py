"""The prompt that an LLM call was made from, read on calls of any convention.

Sources: OpenInference (`llm.prompt_template.*`), Langfuse (`langfuse.observation.prompt.*`), OpenLLMetry
(`traceloop.prompt.*`), and GenAI's `gen_ai.prompt.name` with the version that some senders write beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.schemas.normalized import ManagedPrompt

from .convention import Fields
from .values import as_text, first, parse_object

_NAMES: Final = ("langfuse.observation.prompt.name", "traceloop.prompt.key", "gen_ai.prompt.name")
_VERSIONS: Final = (
    "langfuse.observation.prompt.version", "traceloop.prompt.version", "llm.prompt_template.version",
    "gen_ai.prompt.version",
)  # fmt: skip
_TEMPLATES: Final = ("llm.prompt_template.template", "traceloop.prompt.template")
_VARIABLES: Final = ("llm.prompt_template.variables", "traceloop.prompt.template_variables")
_MARKS: Final = frozenset((*_NAMES, *_TEMPLATES, "llm.prompt_template.version"))

MOST_VARIABLES: Final = 200


def add_prompt(found: Fields, attributes: Mapping[str, str]) -> None:
    """Add to the fields of an LLM call the prompt that its attributes name or hold."""
    if attributes.keys().isdisjoint(_MARKS):
        return
    name, version, template = (first(attributes, *keys).strip() for keys in (_NAMES, _VERSIONS, _TEMPLATES))
    if name or version or template:
        found["prompt"] = ManagedPrompt(name, version, template, _variables(attributes))


def _variables(attributes: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables in the order in which they were recorded: of one JSON object, else an attribute each."""
    stated = parse_object(first(attributes, *_VARIABLES))
    if stated:
        return tuple((name, as_text(value)) for name, value in list(stated.items())[:MOST_VARIABLES])
    prefixes = tuple(f"{key}." for key in _VARIABLES)
    each = [(key, value) for key, value in attributes.items() if key.startswith(prefixes)]
    return tuple((key.split(".", 3)[3], value) for key, value in each[:MOST_VARIABLES])
