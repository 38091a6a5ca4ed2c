"""Makers of frozen dataclasses: what they make cannot be told from what the class itself makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from trajectories import span

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.spans import Span

CASES: list[tuple[type[Any], dict[str, Any]]] = [
    (Message, {"role": "user", "text": "Hi", "name": "x"}),
    (ToolDefinition, {"name": "search", "parameters": {"type": "object"}}),
    (NormalizedSpan, {"raw": span("a1"), "kind": Kind.LLM, "convention": "genai", "input_tokens": 3}),
    (Span, {"trace_id": "t", "span_id": "s", "parent_span_id": "", "name": "n", "start": 1, "end": 2}),
]


@pytest.mark.parametrize(("cls", "values"), CASES)
def test_a_maker_makes_what_the_class_makes(cls: type[Any], values: dict[str, Any]) -> None:
    """Its class, value, hash, text, copies and limits."""
    made, usual = maker(cls)(**values), cls(**values)
    assert type(made) is cls
    assert (made, repr(made)) == (usual, repr(usual))
    assert all(type(getattr(made, f.name)) is type(getattr(usual, f.name)) for f in fields(cls))
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == replace(made) == usual  # noqa: S301 - our own
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(cls)[0].name, None)
    with pytest.raises(AttributeError):
        object.__setattr__(made, "another", 1)


def test_defaults_are_made_anew() -> None:
    """Two spans share no dict of theirs."""
    values = CASES[-1][1]
    make = maker(Span)
    assert make(**values).attributes is not make(**values).attributes


def test_an_unknown_field_is_an_error() -> None:
    """As it is of the class itself."""
    with pytest.raises(TypeError):
        maker(Message)(role="user", text="", colour="red")  # type: ignore[call-arg]  # on purpose
