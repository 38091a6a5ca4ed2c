"""The task of a session by attributes of its spans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.cards.task_match import match_task
from tracejury.schemas.spans import Span

KEYS = ("tracejury.task.id", "task_id")
CARDS = {"7": TaskCard(id="7")}


def span(attributes: dict[str, str] | None = None, **more: Any) -> Span:
    return Span("t" * 32, "s" * 16, "", "chat", 1, 2, attributes or {}, **more)


@pytest.mark.parametrize(
    "named",
    [
        span({"task_id": "7"}),
        span({"tracejury.task.id": " 7 "}),
        span(resource_attributes={"task_id": "7"}),
        span({"metadata": json.dumps({"task_id": 7})}),
        span({"langfuse.trace.metadata": json.dumps({"tracejury.task.id": "7"})}),
        span({"ai.telemetry.metadata.task_id": "7"}),
        span({"traceloop.association.properties.task_id": "7"}),
    ],
)
def test_attributes_resources_and_metadata_name_the_task(named: Span) -> None:
    match = match_task([span(), named], CARDS, KEYS)
    assert (match.id, match.card, match.problem) == ("7", CARDS["7"], "")


def test_the_first_key_that_the_session_has_decides() -> None:
    match = match_task([span({"task_id": "8"}), span({"tracejury.task.id": "7"})], CARDS, KEYS)
    assert match.card is CARDS["7"]


def test_a_task_without_card_is_named_all_the_same() -> None:
    match = match_task([span({"task_id": "8"})], CARDS, KEYS)
    assert (match.id, match.card, match.problem) == ("8", None, "")


def test_a_session_that_names_two_tasks_has_none() -> None:
    match = match_task([span({"task_id": "8"}), span({"metadata": '{"task_id": "7"}'})], CARDS, KEYS)
    assert match.card is None
    assert match.problem == "the session names two tasks in task_id: '7' and '8'"


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"task_id": " "},
        {"my_task_id": "7"},
        {"tool.task_id": "7"},
        {"input.value": '{"task_id": "7"}'},
        {"metadata": '["task_id"]'},
        {"metadata": '{"task_id": {"a": 1}}'},
        {"metadata": "task_id: " + "[" * 100_000},
    ],
)
def test_other_attributes_name_no_task(attributes: dict[str, str]) -> None:
    match = match_task([span(attributes)], CARDS, KEYS)
    assert (match.id, match.card, match.problem) == ("", None, "")
