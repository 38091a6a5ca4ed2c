"""Remedies as data: every kind is described, and the closest one is chosen."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.processors.doctor.examine import Entry, kinds, remedies
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.spans import Span

PACKAGE = "tracejury.processors.doctor"


def written(scope: str, convention: str, service: str = "") -> NormalizedSpan:
    return NormalizedSpan(Span("t", "s", "", "n", 0, 0, scope_name=scope, service=service), Kind.LLM, convention)


def do(kind: str, *writers: tuple[str, ...]) -> list[str]:
    return [r.do for r in remedies(kinds()[kind], [written(*w) for w in writers])]


def test_rules_and_data_name_the_same_kinds() -> None:
    """No rule finds a kind that is not described, and none is described that no rule finds."""
    found: set[str] = set()
    for module in ("agents.py", "contents.py"):
        text = (files(PACKAGE) / module).read_text("utf-8")
        found.update(re.findall(r'"((?:[a-z]+-)+[a-z]+|twins)"', text))
    assert found == set(kinds())


@pytest.mark.parametrize("name", sorted(kinds()))
def test_a_kind_is_described(name: str) -> None:
    """One that is for all comes with each, whoever wrote the spans; all on one line."""
    kind = kinds()[name]
    assert kind.title
    assert kind.lost
    assert [e for e in kind.entries if not (e.scope or e.convention or e.service)]
    assert remedies(kind, [])
    assert all("\n" not in e.remedy.do and e.remedy.do for e in kind.entries)


def test_every_kind_is_documented_with_its_severity() -> None:
    """docs/doctor.md has a row for each."""
    text = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \| ([A-Z]+) \|", text, re.MULTILINE)
    documented = {kind: severity for names, severity in rows for kind in re.findall(r"`([a-z-]+)`", names)}
    assert documented == {name: kind.severity.value for name, kind in kinds().items()}


def test_named_instrumentations_say_where_it_was_read() -> None:
    """A remedy for one of them names variables or code, so it has a source."""
    data: dict[str, Any] = yaml.safe_load((files(PACKAGE) / "gaps.yaml").read_text("utf-8"))
    for name, fields in data.items():
        for entry in fields["remedies"]:
            if not entry.keys().isdisjoint({"scope", "convention", "service"}):
                assert entry.get("source"), (name, entry)


@pytest.mark.parametrize(
    ("kind", "scope", "convention", "part"),
    [
        ("no-content", "opentelemetry.instrumentation.openai_v2", "genai", "CAPTURE_MESSAGE_CONTENT=true, and export"),
        ("no-content", "something.new", "genai", "CAPTURE_MESSAGE_CONTENT=span_and_event together"),
        ("no-content", "opentelemetry.instrumentation.openai_agents", "genai", "or leave it unset"),
        ("no-content", "gcp.vertex.agent", "google-adk", "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"),
        ("no-content", "traceloop.tracer", "openllmetry", "TRACELOOP_TRACE_CONTENT"),
        ("no-content", "ai", "vercel", "recordInputs: true, recordOutputs: true"),
        ("no-content", "pydantic-ai", "pydantic-ai", "InstrumentationSettings(include_content=True)"),
        ("no-content", "openinference.instrumentation.smolagents", "openinference", "OPENINFERENCE_HIDE_INPUTS"),
        ("no-content", "strands.telemetry.tracer", "genai", "gen_ai_unredacted_attributes"),
        ("no-content", "mystery", "", "turn content capture on"),
        ("no-root", "any", "genai", "provider.force_flush()"),
        ("dropped-attributes", "any", "openinference", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
        ("unlinked-agents", "any", "pydantic-ai", "opentelemetry.propagate.inject"),
        ("no-tool-schemas", "strands.telemetry.tracer", "genai", "gen_ai_tool_definitions"),
        ("no-content", "langsmith", "langsmith", "LANGSMITH_HIDE_INPUTS"),
        ("no-content", "mlflow", "mlflow", "mlflow.autolog()"),
        ("no-content", "org.springframework.boot", "spring-ai", "log-prompt"),
        ("no-tool-content", "org.springframework.boot", "spring-ai", "include-content=true"),
        ("no-content", "haystack", "haystack", "HAYSTACK_CONTENT_TRACING_ENABLED"),
        ("no-tokens", "haystack", "haystack", "HAYSTACK_CONTENT_TRACING_ENABLED"),
        ("no-content", "livekit-agents", "livekit", "must not be false"),
        ("no-content", "io.quarkus.opentelemetry", "genai", "tracing.include-prompt=true"),
        ("no-tool-content", "io.quarkus.opentelemetry", "quarkus-langchain4j", "include-tool-arguments=true"),
        ("no-content", "gemini-cli", "gemini-cli", "GEMINI_TELEMETRY_TRACES_ENABLED"),
        ("no-content", "com.anthropic.claude_code", "claude-code", "OTEL_LOG_USER_PROMPTS=1"),
        ("no-session", "langsmith", "langsmith", "thread_id"),
        ("no-session", "mlflow", "mlflow", "mlflow.trace.session"),
        ("no-session", "org.springframework.boot", "spring-ai", "CONVERSATION_ID"),
        ("redacted-errors", "openinference.instrumentation.openai_agents", "openinference", "failure_error_function"),
    ],
)
def test_the_closest_remedy(kind: str, scope: str, convention: str, part: str) -> None:
    """By scope before convention before what is for all."""
    (found,) = do(kind, (scope, convention))
    assert part in found


@pytest.mark.parametrize(
    ("kind", "service", "part"),
    [
        ("no-content", "copilot-chat", "COPILOT_OTEL_CAPTURE_CONTENT"),
        ("no-content", "github-copilot", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"),
        ("no-tool-content", "claude-code", "OTEL_LOG_TOOL_CONTENT=1"),
        ("no-content", "gemini-cli", "GEMINI_TELEMETRY_LOG_PROMPTS"),
        ("no-content", "codex_exec", "log_user_prompt = true"),
        ("no-convention", "codex_cli_rs", "`exporter` for log events"),
        ("nothing-done", "codex-cli", "`exporter` for log events"),
    ],
)
def test_a_program_that_is_installed_has_its_own_options(kind: str, service: str, part: str) -> None:
    """Whatever convention it writes; a service with another name has the convention's remedy."""
    (found,) = do(kind, ("any.scope", "genai", service))
    assert part in found
    assert part not in "".join(do(kind, ("any.scope", "genai", f"my-{service}")))


def test_of_several_writers_each_has_its_remedy() -> None:
    """The most frequent first, no doubles, no general one beside a special one, at most three."""
    ai, strands = ("ai", "vercel"), ("strands.x", "genai")
    assert do("no-content", ai, strands, strands, ("mystery", "")) == do("no-content", strands) + do("no-content", ai)
    assert len(do("no-content", ai, strands, ("pydantic-ai", ""), ("gcp.vertex.agent", ""))) == 3


@pytest.mark.parametrize(
    ("entry", "fits"),
    [(("a.b", ""), True), (("a", ""), True), (("a.b.c", ""), False), (("", "genai"), True), (("", "vercel"), False)],
)
def test_an_entry_fits_by_the_beginning_of_a_scope(entry: tuple[str, str], fits: bool) -> None:  # noqa: FBT001  a table
    """Or by a convention's whole name."""
    remedy = kinds()["no-root"].entries[0].remedy
    assert (Entry(remedy, *entry).fits("a.b", "genai") >= 0) is fits
