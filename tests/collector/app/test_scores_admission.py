"""Scores are bounded as spans are, by a whole collector: by what a project may send, and by the room on the disk."""

from __future__ import annotations

from typing import Any

import pytest
from collecting import asking, configured

from tracejury.collector.app.service import Collector

SCORE = {"trace_id": "a" * 32, "name": "thumbs", "value": 1, "explanation": "y" * 1500}


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"intake": {"per_project": {"*": {"bytes_per_hour": 2000}}}}, "intake.per_project"),
        ({"writer": {"min_free_bytes": 2**60}}, "writer.min_free_bytes"),
        ({}, ""),
    ],
    ids=["quota", "disk", "neither"],
)
async def test_what_is_too_much_is_refused_for_now(served_dsn: str, sections: Any, told: str) -> None:
    """With the option that says so, and a time after which to come again."""
    async with Collector(configured(served_dsn, **sections)) as collector, asking(collector) as client:
        answers = [await client.post("/api/scores", json=SCORE) for _ in range(2)]
    last = answers[-1]
    assert last.status_code == (503 if told else 200)
    assert told in last.json().get("detail", "")
    assert ("retry-after" in last.headers) == bool(told)
