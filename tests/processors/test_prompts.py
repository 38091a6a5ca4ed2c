"""The prompt of an LLM call: its name, version, template and variables, as four families of attributes state them."""

from __future__ import annotations

import json

import pytest
from trajectories import span

from tracejury.processors.normalize import normalize
from tracejury.processors.normalize.prompts import MOST_VARIABLES
from tracejury.schemas.normalized import ManagedPrompt

TEMPLATE = "Describe {city} in {words} words."
VARIABLES = (("city", "Ulm"), ("words", "12"))


@pytest.mark.parametrize(
    ("attributes", "prompt", "label"),
    [
        (
            {
                "openinference.span.kind": "LLM",
                "llm.prompt_template.template": TEMPLATE,
                "llm.prompt_template.variables": json.dumps({"city": "Ulm", "words": 12}),
                "llm.prompt_template.version": "v1.0",
            },
            ManagedPrompt("", "v1.0", TEMPLATE, VARIABLES),
            "@v1.0",
        ),
        (
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.prompt.name": "describe-city",
                "langfuse.observation.prompt.version": "3",
            },
            ManagedPrompt("describe-city", "3"),
            "describe-city@3",
        ),
        (
            {
                "llm.request.type": "chat",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Describe Ulm in 12 words.",
                "traceloop.prompt.key": "describe-city",
                "traceloop.prompt.version": "5",
                "traceloop.prompt.template": TEMPLATE,
                "traceloop.prompt.template_variables.city": "Ulm",
                "traceloop.prompt.template_variables.words": "12",
            },
            ManagedPrompt("describe-city", "5", TEMPLATE, VARIABLES),
            "describe-city@5",
        ),
        (
            {"gen_ai.operation.name": "chat", "gen_ai.prompt.name": "describe-city"},
            ManagedPrompt("describe-city"),
            "describe-city",
        ),
    ],
)
def test_each_family_of_attributes_names_the_prompt(
    attributes: dict[str, str], prompt: ManagedPrompt, label: str
) -> None:
    """What one family does not have stays empty; the label is what lists group by."""
    found = normalize(span("s", attributes=attributes)).prompt
    assert found == prompt
    assert found is not None
    assert found.label == label


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "chat", "gen_ai.prompt.name": "  "},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.prompt.name": "describe-city"},
        {"gen_ai.operation.name": "chat", "prompt.id": "an id of the user's input"},
    ],
)
def test_what_names_no_prompt_of_a_call_is_none(attributes: dict[str, str]) -> None:
    """Without a name, a version or a template there is no prompt; tools have none."""
    assert normalize(span("s", attributes=attributes)).prompt is None


@pytest.mark.parametrize("variables", ["[1, 2]", "{", "12", json.dumps({str(n): None for n in range(5000)})])
def test_broken_or_endless_variables_cost_no_more_than_themselves(variables: str) -> None:
    """The template is read all the same."""
    attributes = {"openinference.span.kind": "LLM", "llm.prompt_template.template": TEMPLATE}
    found = normalize(span("s", attributes={**attributes, "llm.prompt_template.variables": variables})).prompt
    assert found is not None
    assert found.template == TEMPLATE
    assert len(found.variables) <= MOST_VARIABLES
