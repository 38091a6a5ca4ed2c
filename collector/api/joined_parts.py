"""A large trace is answered in parts; the client puts them together."""

from __future__ import annotations

from typing import Any


def add_part(trace: dict[str, Any], more: dict[str, Any]) -> None:
    """Add the next part of a trace to those before, both as JSON."""
    trace["part"] = {**more["part"], "first": 0}
    runs, further = trace["agent_runs"], more["agent_runs"]
    if runs and further and runs[-1]["id"] == further[0]["id"]:  # a run that is divided
        runs[-1]["turns"] += further.pop(0)["turns"]
    for name in ("agent_runs", "remainder", "errors", "findings", "verdicts"):
        trace[name] += more[name]
