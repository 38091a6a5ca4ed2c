"""An agent's own tests: what it did in this process is rebuilt and judged, and an error fails the test readably."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tracejury.collector.cli.demo.program import perform
from tracejury.collector.cli.demo.runs import RUNS
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import Severity
from tracejury.sdk import JudgedRun, agent, judged

Judged = Callable[..., AbstractContextManager[JudgedRun]]
HEALTHY = next(run for run in RUNS if not run.fault)
FAULTY = next(run for run in RUNS if run.fault)


def test_a_healthy_run_passes_and_is_rebuilt() -> None:
    """The run is there as a tree of agents, by a provider that is handed in."""
    provider = TracerProvider(shutdown_on_exit=False)
    with judged(provider) as run:
        perform(HEALTHY, provider.get_tracer("t"))
    run.assert_no_errors(severity="MEDIUM")
    assert [(r.name, r.role) for r in run.trace.runs] == [("manager", "manager"), ("researcher", "sub-agent")]
    assert not [f for f in run.findings if f.severity is not Severity.LOW]


def test_a_faulty_run_fails_with_place_quote_and_reason() -> None:
    """The text of the failure says what was found, where, on what evidence, and why."""
    provider = TracerProvider(shutdown_on_exit=False)
    with judged(provider) as run:
        perform(FAULTY, provider.get_tracer("t"))
    assert run.findings
    with pytest.raises(AssertionError) as failed:
        run.assert_no_errors()
    text = str(failed.value)
    assert text.startswith(f"{len(run.errors)} error")
    assert 0 < len(run.errors) <= len(run.findings)
    for number, error in enumerate(run.errors, 1):
        assert f"{number}. {error.severity(0.38).value} {error.title} (" in text
        for span_id, role in [*error.spans.items()][1:8]:
            assert f"{role.value}: span {span_id}" in text
        assert all(f"found by {one.judge}: {one.category}" in text for one in error.findings)
    first = run.findings[0]
    for part in (first.span_id, first.category, first.judge, first.evidence.split("\n")[0][:60], "quote:", "why:"):
        assert part in text


def test_severity_and_profile_say_what_counts() -> None:
    """Errors below the severity, or not sure enough for the profile, do not fail a test."""
    provider = TracerProvider(shutdown_on_exit=False)
    with judged(provider, profile="recall") as run:
        perform(FAULTY, provider.get_tracer("t"))
    worst = max(f.severity.rank for f in run.findings)
    surest = max(f.confidence for f in run.findings)
    with pytest.raises(AssertionError):
        run.assert_no_errors(severity=list(Severity)[worst].value.lower())
    assert surest < 1
    run.assert_no_errors(profile=str((surest + 1) / 2))
    with pytest.raises(ConfigError, match="unknown severity"):
        run.assert_no_errors(severity="awful")
    with pytest.raises(ConfigError, match="unknown profile"):
        run.assert_no_errors(profile="lax")


def test_the_global_provider_and_a_programs_own_are_both_heard() -> None:
    """Nothing has to be handed in: not by programs that use the global provider, nor by those that make one."""
    with judged() as run:
        otel.get_tracer("global").start_span("by the global provider").end()
        TracerProvider(shutdown_on_exit=False).get_tracer("own").start_span("by its own").end()
    assert {name for t in run.traces for name in (s.raw.name for s in t.spans.values())} == {
        "by the global provider",
        "by its own",
    }


def test_what_happens_outside_is_not_judged() -> None:
    """Blocks do not hear each other, and afterwards providers are made as before."""
    make = TracerProvider.__init__
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("t")
    with judged(provider) as first:
        tracer.start_span("first").end()
    tracer.start_span("between").end()
    with judged(provider) as second:
        tracer.start_span("second").end()
    assert [[s.raw.name for t in run.traces for s in t.spans.values()] for run in (first, second)] == [
        ["first"],
        ["second"],
    ]
    assert TracerProvider.__init__ is make


def test_nothing_to_judge_is_a_failure() -> None:
    """A test must not pass because the instrumentation was off, or told of no agent."""
    provider = TracerProvider(shutdown_on_exit=False)
    with judged(provider) as run:
        pass
    with pytest.raises(AssertionError, match="no span ended"):
        run.assert_no_errors()
    with pytest.raises(AssertionError, match="no span ended"):
        _ = run.trace
    with judged(provider) as run:
        provider.get_tracer("t").start_span("GET /").end()
    with pytest.raises(AssertionError, match="no agent in 1 span"):
        run.assert_no_errors()


def test_it_is_an_exporter_like_any_other() -> None:
    """Without a block: added to a provider it judges whatever it was given by the time it is asked."""
    run = JudgedRun()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(run))
    perform(HEALTHY, provider.get_tracer("t"))
    assert len(run.trace.runs) == 2
    perform(HEALTHY, provider.get_tracer("t"))
    assert len(run.traces) == 2


def test_hostile_text_does_not_reach_the_terminal() -> None:
    """What agents wrote is shown in a failing test without control characters."""
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("t")
    boss, tool = ({"openinference.span.kind": kind, "tool.name": "search\x1b]0;x\x07"} for kind in ("AGENT", "TOOL"))
    with (
        judged(provider) as run,
        pytest.raises(ConnectionError),
        tracer.start_as_current_span("\x1b[2Jagent", attributes=boss),
        tracer.start_as_current_span("\x1b[2Jsearch", attributes=tool),
    ):
        raise ConnectionError("\x1b[31mrefused")
    with pytest.raises(AssertionError) as failed:
        run.assert_no_errors(profile="0")
    assert "refused" in str(failed.value)
    assert "\x1b" not in str(failed.value)


AGENT_TEST = """
from opentelemetry import trace
from tracejury.collector.cli.demo.program import perform
from tracejury.collector.cli.demo.runs import RUNS

def test_agent(judged):
    with judged() as run:
        perform(next(r for r in RUNS if r.fault), trace.get_tracer("t"))
    run.assert_no_errors()
"""


def test_the_fixture_is_a_plugin_of_pytest(tmp_path: Path) -> None:
    """`judged` is there in any project that has tracejury installed, and its failures are short."""
    (tmp_path / "test_agent.py").write_text(AGENT_TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tracejury.pytest_plugin", "-p", "no:cacheprovider", "test_agent.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("E ")]
    assert re.match(r"E +AssertionError: \d+ errors? found", told[0])
    for part in ("where:", "quote:", "why:"):
        assert any(part in line for line in told)
    assert "_sdk/" not in done.stdout.split("short test summary")[0].replace(str(tmp_path), "")


def test_scopes_give_a_program_without_a_framework_its_agents() -> None:
    """`agent` alone makes agent runs out of bare LLM calls: a tree, each call with the agent that made it."""
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("client")
    call = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    with judged(provider) as run, agent("manager", tracer_provider=provider):
        tracer.start_span("plan", attributes=call).end()
        with agent("researcher", tracer_provider=provider):
            tracer.start_span("look up", attributes=call).end()
    manager, researcher = run.trace.runs
    assert (manager.name, researcher.name, researcher.parent_id) == ("manager", "researcher", manager.id)
    assert [[turn.llm.raw.name for turn in one.turns if turn.llm] for one in run.trace.runs] == [["plan"], ["look up"]]


def test_a_scope_around_a_frameworks_agent_of_the_same_name_is_one_run() -> None:
    """Who names a scope as the framework names its agent must not get the agent twice."""
    provider = TracerProvider(shutdown_on_exit=False)
    with judged(provider) as run, agent("manager", tracer_provider=provider):
        perform(HEALTHY, provider.get_tracer("t"))
    assert [(r.name, r.role) for r in run.trace.runs] == [("manager", "manager"), ("researcher", "sub-agent")]
