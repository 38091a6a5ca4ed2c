"""The doctor on the shared captures of real frameworks: what their exports lack, and nothing that they have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from trajectories import FRAMEWORKS

from tracejury.collector.evaluation.frameworks.capture import load, paths
from tracejury.collector.evaluation.frameworks.rebuilt import through_collector
from tracejury.judges.suite import Suite
from tracejury.processors.doctor import Diagnosis, diagnose

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")

SESSION = frozenset({"no-session"})
BARE = frozenset({"no-agents", "no-tool-spans", "no-session"})
NATIVE = frozenset({"no-llm-calls", "no-tool-content", "no-tool-schemas", "no-session"})
TWICE = frozenset({"twins", "no-session"})
LACKS: Mapping[str, frozenset[str]] = {
    "autogen": NATIVE,
    "autogen_oi": TWICE,
    "autogen_swarm": NATIVE,
    "autogen_swarm_oi": TWICE,
    "google_adk": frozenset({"tool-content-in-messages"}),
    "google_adk_legacy": frozenset(),
    "google_adk_spans": frozenset(),
    "google_adk_transfer": frozenset({"tool-content-in-messages"}),
    "langgraph": frozenset(),
    "langgraph_graph": SESSION,
    "llama_index": SESSION,
    "llama_index_handoff": SESSION,
    "openai_agents": SESSION,
    "openai_agents_chat": SESSION,
    "openai_agents_handoff": SESSION,
    "openai_agents_v2": SESSION | {"no-tool-schemas", "no-system-prompt"},
    "openllmetry": frozenset(),
    "openllmetry_deco": SESSION,
    "pydantic_ai": frozenset(),
    "pydantic_ai_v2": frozenset(),
    "raw_oi": BARE,
    "raw_v2": BARE | {"no-tool-schemas"},
    "remote_noprop": frozenset({"unlinked-agents"}),
    "remote_prop": frozenset(),
    "smolagents": SESSION,
    "smolagents_code": SESSION,
    "strands": SESSION,
    "vercel_ai": SESSION,
}
"""By label, what every run of it lacks in which tools were used and that came to an end."""
MAY: Mapping[str, frozenset[str]] = {
    # Schemas stand in log records beside a span attribute that has the tools' names only.
    "google_adk": frozenset({"no-tool-schemas"}),
    "google_adk_transfer": frozenset({"no-tool-schemas"}),
    # Where its traces are joined by their links, they are one.
    "autogen_swarm": frozenset({"linked-traces", "unlinked-agents"}),
}
OF_TOOLS = frozenset({"no-tool-content", "no-tool-schemas", "no-tool-spans", "tool-content-in-messages"})


@cache
def diagnosed(*, backwards: bool = False) -> Mapping[str, Diagnosis]:
    """Every capture's diagnosis."""
    suite = Suite(())
    found = {}
    for capture in load(paths(FRAMEWORKS)):
        requests = capture.requests[::-1] if backwards else capture.requests
        found[capture.id] = diagnose(through_collector(requests, suite).traces)
    return found


def expected(capture: str) -> frozenset[str]:
    """What the notes on these frameworks say that a capture lacks."""
    label, _, scenario = capture.partition("/")
    lacks = LACKS[label]
    if scenario == "S5":
        lacks -= OF_TOOLS
    if scenario == "S9" and lacks != BARE:  # a bare client's calls are roots
        lacks |= {"no-root"}
    if scenario in {"S3", "S8"} and label.startswith("openai_agents"):
        lacks |= {"redacted-errors"}
    if capture == "llama_index/S1_stream":
        lacks |= {"no-tokens"}
    return lacks


def test_every_capture_lacks_what_is_known_of_it_and_nothing_else() -> None:
    """Gaps and remarks, by label and scenario."""
    wrong = {}
    for capture, found in diagnosed().items():
        gaps = {g.kind for g in found.gaps} - MAY.get(capture.partition("/")[0], frozenset())
        if gaps != expected(capture):
            wrong[capture] = (sorted(gaps - expected(capture)), sorted(expected(capture) - gaps))
    assert wrong == {}
    assert {c.partition("/")[0] for c in diagnosed()} == set(LACKS)


def test_the_order_of_arrival_changes_nothing() -> None:
    """Each diagnosis has the same gaps, agents and contents, also when the last request comes first."""
    for capture, found in diagnosed(backwards=True).items():
        other = diagnosed()[capture]
        assert [(g.kind, g.what) for g in found.gaps] == [(g.kind, g.what) for g in other.gaps], capture
        assert (found.agents, found.tools, found.contents) == (other.agents, other.tools, other.contents), capture


def test_every_gap_has_a_remedy() -> None:
    """One line at least, whatever wrote the spans."""
    gaps = [g for found in diagnosed().values() for g in found.gaps]
    assert gaps
    assert all(g.remedies for g in gaps)
