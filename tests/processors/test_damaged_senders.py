"""Senders' spans with a value of another form than they document: nothing is raised, and nothing is made up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all, span

from tracejury.processors.normalize import CONVENTIONS, normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind

FOLDER = Path(__file__).parent / "conventions"
SENDERS = ("adot", "gemini_cli", "haystack", "langsmith", "livekit", "mlflow", "quarkus", "spring_ai")
ODD: tuple[Any, ...] = (
    None,
    "",
    "x",
    0,
    1.5,
    True,
    [],
    [[]],
    [None],
    {},
    {"a": {}},
    [["x"]],
    "[{",
    '"',
    '{"input": 1}',
)


@pytest.mark.parametrize("name", SENDERS)
def test_a_value_of_any_form_can_be_read(name: str) -> None:
    """In 60 copies of the fixtures values are changed, deep within their JSON or whole; all traces are rebuilt."""
    text = (FOLDER / f"{name}.json").read_text()
    for seed in range(60):
        chance = random.Random(seed)  # noqa: S311 - which value is changed, no secrets
        data = json.loads(text)
        for entry in (*data["spans"], *data.get("logs", ())):
            for key in entry.get("attributes", {}):
                if chance.random() < 0.5:
                    entry["attributes"][key] = _changed(entry["attributes"][key], chance) or "null"
            if "body" in entry:
                entry["body"] = _changed(entry["body"], chance) or "null"
        found = normalise_all(*fixture_spans(data))
        assert set(rebuild(found).spans) == {s.span_id for s in found}, seed


@pytest.mark.parametrize("name", SENDERS)
def test_a_sender_is_recognised_by_its_own_evidence_alone(name: str) -> None:
    """The same attributes under other keys, other span names and no scope are in none of the senders' conventions."""
    theirs = {name.replace("_", "-"), "quarkus-langchain4j"} & {c.name for c in CONVENTIONS}
    for entry in json.loads((FOLDER / f"{name}.json").read_text())["spans"]:
        attributes = {f"app.{key}": value for key, value in entry["attributes"].items()}
        found = normalize(span("s", attributes=attributes, name="work"))
        assert found.convention not in theirs
        assert found.convention == "self-described" or (found.kind, found.convention) == (Kind.OTHER, "")


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with one part of it, perhaps the whole, replaced; JSON in a text is text again."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return chance.choice(ODD)
        return json.dumps(_changed(inner, chance)) if isinstance(inner, dict | list) else chance.choice(ODD)
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return chance.choice(ODD)
