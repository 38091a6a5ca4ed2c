"""`/api/doctor` and `tracejury doctor`: of a trace, a service, or every service of the last day."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from doctor_traces import (
    AGENT,
    ASKED,
    CALL,
    LOST,
    OTHER,
    SECOND,
    START,
    TOOL,
    TRACE,
    built,
    genai,
    span,
    whole,
    without,
)
from served_api import NOW, Api

from tracejury.collector.cli.root import root
from tracejury.collector.judging.detect.hints import first_trace_line
from tracejury.collector.queries.doctor.ask import DAY, FEW_TRACES, MOST_SPANS
from tracejury.collector.store.judging import StoredJudging
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind

THIRD = "c" * 32


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, ["doctor", *args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def keep(api: Api, trace: Trace, *, ago: int = 0, spans: int = 0) -> None:
    """Let a trace be stored, which arrived `ago` nanos before NOW."""
    arrived = trace.received_through or NOW - ago
    before = 0 if trace.received_through else 3600 * SECOND  # so that it has settled
    api.put_spans(*(span.raw for span in trace.spans.values()), received=arrived - before)
    first = next(iter(trace.spans.values()))
    counted = trace.spans if spans <= len(trace.spans) else dict.fromkeys(map(str, range(spans)), first)
    stored = replace(trace, spans=counted, state=TraceState.SETTLED, received_through=arrived)
    subject = Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id)
    judgement = Judgement(subject, "detectors", "v1", "h", NOW, arrived, Outcome.DONE)
    StoredJudging(api.store).save([JudgedTrace(stored, judgement)])


def of(trace_id: str, service: str, spans: list[Span]) -> Trace:
    return built([replace(s, trace_id=trace_id, service=service) for s in spans])


def silent() -> list[Span]:
    """A run without content."""
    return [span(1, 0, AGENT), span(2, 1, without(CALL, "system", "input", "output"))]


def gaps(page: Any) -> list[list[str]]:
    return [[gap["kind"] for gap in item["gaps"]] for item in page["items"]]


def test_a_diagnosis_in_full(api: Api) -> None:
    """Every field, with null for what there is not."""
    keep(api, of(TRACE, "shop", silent()))
    page = api.get("/api/doctor", trace=TRACE.upper())
    assert page["next"] is None
    (item,) = page["items"]
    (gap,) = item.pop("gaps")
    assert item == {
        "services": ["shop"], "trace_ids": [TRACE], "open": 0, "spans": 2,
        "conventions": [{"name": "genai", "spans": 2}],
        "scopes": [{"name": "some.scope", "version": "", "spans": 2}],
        "agents": [{"name": "manager", "parent": None, "runs": 1, "llm_calls": 1, "tool_calls": 0}],
        "tools": [], "contents": {"llm_calls": 1, "inputs": 0, "outputs": 0, "tools": 1, "tokens": 1},
    }  # fmt: skip
    assert (gap["kind"], gap["severity"], gap["title"]) == ("no-content", "HIGH", "no message content")
    assert gap["what"] == "1 LLM call: 0 with what was sent, 0 with what the model wrote"
    assert gap["span_ids"] == [f"{2:016x}"]
    assert gap["lost"]
    (remedy,) = gap["remedies"]
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event" in remedy["do"]
    assert remedy["source"].startswith("opentelemetry-util-genai")


def test_a_service_is_examined_by_all_its_traces(api: Api) -> None:
    """And by no other's."""
    keep(api, of(TRACE, "shop", silent()))
    keep(api, of(OTHER, "shop", whole()))
    keep(api, of(THIRD, "else", [span(1, 0, {})]))
    (item,) = api.get("/api/doctor", service="shop")["items"]
    assert (sorted(item["trace_ids"]), item["spans"], item["gaps"]) == ([TRACE, OTHER], 5, [])


def test_every_service_of_the_last_day(api: Api) -> None:
    """The latest first, each with its own gaps; older traces do not count."""
    keep(api, of(TRACE, "shop", silent()), ago=2)
    keep(api, of(OTHER, "else", whole()), ago=1)
    keep(api, of(THIRD, "gone", whole()), ago=DAY + 1)
    page = api.get("/api/doctor")
    assert [item["services"] for item in page["items"]] == [["else"], ["shop"]]
    assert gaps(page) == [[], ["no-content"]]


def test_a_service_without_a_name(api: Api) -> None:
    """Only its own traces, though its name filters nothing."""
    keep(api, of(TRACE, "", silent()), ago=2)
    keep(api, of(OTHER, "else", whole()), ago=1)
    found = {tuple(item["services"]): item["trace_ids"] for item in api.get("/api/doctor")["items"]}
    assert found == {("else",): [OTHER], ("",): [TRACE]}


def test_what_is_read_is_bounded(api: Api) -> None:
    """By traces, and by spans; the latest trace is read whatever its size."""
    for n in range(FEW_TRACES + 1):
        keep(api, of(f"{n:032x}", "shop", whole()), ago=n)
    assert len(api.get("/api/doctor")["items"][0]["trace_ids"]) == FEW_TRACES
    api.empty()
    keep(api, of(TRACE, "shop", whole()), ago=1, spans=MOST_SPANS + 1)
    keep(api, of(OTHER, "shop", whole()), ago=2)
    assert api.get("/api/doctor", service="shop")["items"][0]["trace_ids"] == [TRACE]


def test_a_trace_joined_of_several_is_read_once(api: Api) -> None:
    """Its rows all lead to the same trace."""
    joined = built([*whole(), replace(span(4, 1, CALL), trace_id=OTHER)])
    for trace_id in joined.trace_ids:
        keep(api, replace(joined, trace_id=trace_id))
    (item,) = api.get("/api/doctor", service="shop")["items"]
    assert item["spans"] == len(joined.spans)


@pytest.mark.parametrize(
    ("arrived", "found"), [(START, True), (START - 901 * SECOND, False), (START + 1_000 * SECOND, False)]
)
def test_a_sub_agent_of_another_service(api: Api, arrived: int, found: bool) -> None:  # noqa: FBT001  a table
    """Traces that came at the same time are looked through for it, a quarter of an hour around."""
    asking = CALL | {"gen_ai.output.messages": ASKED.replace("search", "ask_researcher")}
    asks = [span(1, 0, AGENT), span(2, 1, asking), span(3, 1, TOOL | genai(tool__name="ask_researcher"))]
    keep(api, replace(of(TRACE, "shop", asks), received_through=START + 99 * SECOND))
    remote = span(4, 0, AGENT | genai(agent__name="researcher"), trace_id=OTHER, service="remote")
    keep(api, built([remote]), ago=NOW - arrived)
    assert gaps(api.get("/api/doctor", trace=TRACE)) == [["unlinked-agents"] * found]


@pytest.mark.parametrize(
    ("params", "status", "part"),
    [
        ({"trace": "f" * 32}, 404, "no trace"),
        ({"service": "nobody"}, 404, "no trace of a service 'nobody'"),
        ({"trace": TRACE, "service": "shop"}, 422, "not both"),
        ({"bogus": "1"}, 422, "bogus"),
    ],
)
def test_refusals(api: Api, params: dict[str, str], status: int, part: str) -> None:
    """Unknown ids and names are 404, parameters that do not fit 422."""
    code, detail = api.get("/api/doctor", **params)
    assert code == status
    assert part in detail


def test_the_command_shows_a_trace_in_full(api: Api) -> None:
    """What was found, and each gap with what mends it."""
    keep(api, of(TRACE, "shop", silent()))
    result = run(api, "--trace", TRACE)
    assert result.exit_code == 0
    for part in (
        TRACE, "shop", "genai (2 spans)", "some.scope (2)", "manager: 1 run, 1 LLM call", "tools       none",
        "HIGH no message content: 1 LLM call", f"  span {2:016x}", "lost: ", "do: ", "CAPTURE_MESSAGE_CONTENT",
        "[opentelemetry-util-genai",
    ):  # fmt: skip
        assert part in result.stdout


def test_the_command_shows_services_in_a_line_each(api: Api) -> None:
    """With the worst gap and how many more; nothing at all is said too."""
    assert run(api).stdout == "no traces of the last day\n"
    keep(api, of(TRACE, "shop", [replace(s, parent_span_id=s.parent_span_id or LOST) for s in silent()]), ago=1)
    keep(api, of(OTHER, "else", whole()))
    lines = run(api).stdout.splitlines()
    assert len(lines) == 3
    assert "nothing missing" in lines[1]
    assert all(part in lines[2] for part in ("shop", "manager", "HIGH the root span never came", "1"))


def test_remarks_are_no_gaps(api: Api) -> None:
    """The log at the service's first trace, the list and the diagnosis agree on what is missing."""
    trace = of(TRACE, "shop", [span(1, 0, without(AGENT, "conversation")), *whole()[1:]])
    keep(api, trace)
    assert first_trace_line(trace).endswith("missing: nothing")
    line, told = run(api).stdout.splitlines()[1], run(api, "--service", "shop").stdout
    assert line.split()[-3:] == ["nothing", "missing", "1"]
    assert "nothing missing but for remarks" in told
    assert "LOW no session id" in told


def test_programs_get_the_list(api: Api) -> None:
    """The items of the API, with and without options."""
    keep(api, of(TRACE, "shop", silent()))
    items = api.get("/api/doctor", trace=TRACE)["items"]
    assert json.loads(run(api, "--trace", TRACE, "--format", "json").stdout) == items
    assert json.loads(run(api, "--format", "json").stdout) == items


@pytest.mark.parametrize(
    ("spans", "code"), [(whole(), 0), ([span(1, 0, without(AGENT, "conversation")), *whole()[1:]], 0), (silent(), 1)]
)
def test_fail_on_gaps(api: Api, spans: list[Span], code: int) -> None:
    """A pipeline fails on a gap, not on a remark; the diagnosis is shown all the same."""
    keep(api, of(TRACE, "shop", spans))
    result = run(api, "--service", "shop", "--fail-on-gaps")
    assert result.exit_code == code
    assert "shop" in result.stdout
    assert run(api, "--service", "shop").exit_code == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [(("--trace", "f" * 32), 4), (("--service", "nobody"), 4), (("--trace", "a", "--service", "b"), 2)],
)
def test_the_commands_refusals(api: Api, args: tuple[str, ...], code: int) -> None:
    """One line on stderr, as everywhere."""
    result = run(api, *args)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1)


def test_words_from_traces_are_shown_safely(api: Api) -> None:
    """Escape sequences, bidi overrides, markup and line feeds in any name reach no terminal."""
    evil = "x\x1b[2J\u202e\r\n[bold]" + "y" * 200
    attributes = AGENT | genai(agent__name=evil)
    spans = [
        span(1, 0, attributes, scope_name=evil, scope_version=evil),
        span(2, 1, CALL, name=evil, scope_name=evil),
        span(3, 1, TOOL | genai(tool__name=evil), scope_name=evil),
    ]
    keep(api, of(TRACE, evil[:100], spans))
    for args in (("--trace", TRACE), ()):
        told = run(api, *args).stdout
        assert "\\x1b[2J" in told
        assert "[bold]" in told
        assert all(line.isprintable() for line in told.splitlines())
        assert "y" * 200 not in told
