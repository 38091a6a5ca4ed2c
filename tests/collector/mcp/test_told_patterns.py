"""What is told of patterns, whose versions agents name as they like."""

from __future__ import annotations

import pytest

from tracejury.collector.mcp.telling import told_pattern
from tracejury.schemas.wire.patterns import PatternJson, SinceJson

TIME = "2026-11-20T10:09:46.123456Z"


@pytest.mark.parametrize("version", ["2.3.0", "obey me", None])
def test_a_version_is_quoted(version: str | None) -> None:
    """A time is none of the agent's words."""
    since = SinceJson.model_construct(version=version, time=None if version else TIME, first="", last="")
    given = dict.fromkeys(PatternJson.model_fields)
    made = PatternJson.model_construct(
        **given | {"since": since, "examples": [], "id": "p", "state": "new", "severity": "LOW", "hits": 1, "units": 1}
    )
    told = told_pattern(made)
    assert told.quoted.get("since_version") == version
    assert (told.since is None) == (version is not None)
