"""Each convention's spans, as instrumentations send them, to one vocabulary: fixtures in `conventions/`.

A fixture holds `spans` and `logs` as in `trajectories.fixture_spans`; a span's `expected` names the fields of its
normalised form that matter. Messages are written `[role, text]`, or `[role, text, {…}]` with what else they carry.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all

from tracejury.processors.normalize import CONVENTIONS
from tracejury.schemas.normalized import Message, NormalizedSpan

FIXTURES = sorted((Path(__file__).parent / "conventions").glob("*.json"))
READ = {path.stem: json.loads(path.read_text()) for path in FIXTURES}


@pytest.mark.parametrize("name", READ)
def test_each_span_says_the_same_in_any_convention(name: str) -> None:
    """Kinds, names, messages, tools, arguments, results and failures come out whatever wrote them."""
    data = READ[name]
    found = normalise_all(*fixture_spans(data))
    for span, entry in zip(found, data["spans"], strict=True):
        expected = entry["expected"]
        assert {key: _shown(span, key) for key in expected} == expected, entry["id"]


def test_every_convention_has_fixtures() -> None:
    """A convention without one would be read unseen."""
    shown = {s["expected"].get("convention") for data in READ.values() for s in data["spans"]}
    assert {c.name for c in CONVENTIONS} <= shown


@pytest.mark.parametrize("name", READ)
def test_the_order_of_log_records_does_not_matter(name: str) -> None:
    """They come in their own requests, in any order, before or after their span."""
    data = READ[name]
    spans, logs = fixture_spans(data)
    assert normalise_all(spans, logs[::-1]) == normalise_all(spans, logs)


def _shown(span: NormalizedSpan, key: str) -> Any:
    value = getattr(span, key)
    if key in ("input_messages", "output_messages"):
        return [_message(m) for m in value]
    if key == "tools":
        return {t.name: sorted((t.parameters or {}).get("properties", {})) for t in value}
    if key == "exceptions":
        return [[e.type, e.message] for e in value]
    return list(value) if isinstance(value, tuple) else value


def _message(message: Message) -> list[Any]:
    more: dict[str, Any] = {}
    if message.tool_requests:
        more["asks"] = [[r.name, r.arguments, r.call_id] for r in message.tool_requests]
    if message.tool_call_id:
        more["answers"] = message.tool_call_id
    if message.reasoning:
        more["thinks"] = message.reasoning
    return [message.role, message.text, *([more] if more else [])]
