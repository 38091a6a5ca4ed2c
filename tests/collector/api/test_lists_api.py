"""Lists over HTTP and on the command line: parameters become the reader's question, and cursors hold their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from urllib.parse import quote

import httpx
import pytest
from click.testing import CliRunner
from rich.console import Console
from served_api import KNOWN, NOW, SECOND, SPAN, Api, finding, row

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.params_lists import read_place, write_place
from tracejury.collector.cli.render.lists import session_view
from tracejury.collector.cli.root import root
from tracejury.collector.queries.present_lists import present_session
from tracejury.judges.causes import led_by
from tracejury.judges.grouping import group
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.conversation import SessionExchange, SessionView
from tracejury.schemas.queries.listing import SessionRow, Sort, WorstError
from tracejury.schemas.queries.reader import LocatedError, Position, TraceQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict
from tracejury.schemas.wire.lists import SessionJson

EVERYTHING = {
    "service": "s", "version": "v", "agent": "a", "role": "manager", "model": "m", "tool": "t", "session": "c",
    "state": "open", "judged": "no-calls", "severity": "HIGH", "category": "k", "judge": "j", "dimension": "TC",
    "taxonomy": "x", "min_duration": "1.5s",
    "attribute": "k=v=w", "tag": "g", "user": "u",
    "text": "words", "profile": "0.5", "since": "1h", "until": "1m", "sort": "cost", "order": "asc",
}  # fmt: skip


def conversation(number: int, service: str = "svc") -> SessionRow:
    """A session of one trace."""
    at = NOW - number * SECOND
    return SessionRow(f"s{number}", service, TraceState.OPEN, 1, 2, ("m",), at, NOW, at, at, {Severity.HIGH: 1},
                      place=at, key=f"k{number}")  # fmt: skip


def asked(api: Api) -> TraceQuery:
    query = api.reader.asked[-1]
    assert isinstance(query, TraceQuery)
    return query


def put_sessions(api: Api, *names: str) -> None:
    """Sessions of one trace, the latest first."""
    api.put_rows(*(replace(row(n), session_id=name) for n, name in enumerate(names)))


@pytest.mark.parametrize("path", ["/api/traces", "/api/sessions"])
def test_every_parameter_is_asked(api: Api, path: str) -> None:
    """None is taken for another, and times are reckoned from now."""
    assert api.get(path, **EVERYTHING)["searched"].startswith("messages")
    q = asked(api)
    assert (q.service, q.version, q.agent, q.role, q.model, q.tool) == ("s", "v", "a", "manager", "m", "t")
    assert (q.session_id, q.state, q.severity, q.category) == ("c", TraceState.OPEN, Severity.HIGH, "k")
    assert (q.taxonomy, q.judge, q.dimension, q.min_duration, q.text) == ("x", "j", "TC", 1_500_000_000, "words")
    assert (q.confidence.recognised, q.since, q.until) == (0.5, NOW - 3600 * SECOND, NOW - 60 * SECOND)
    assert (q.attributes, q.tag, q.user) == ((("k", "v=w"),), "g", "u")
    assert (q.sort, q.ascending) == (Sort.COST, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sort", "colour"), ("order", "up"), ("state", "closed"), ("severity", "high"), ("dimension", "XX"),
        ("min_duration", "long"), ("until", "soon"), ("role", "boss"), ("text", "x" * 1001), ("color", "red"),
        ("attribute", "k"), ("attribute", "=v"), ("attribute", "k="),
        ("cursor", "WyJjdXJzb3IiLC0xLCIiXQ"), ("cursor", "WyJjb3N0IGRlc2MiLDEsIngiXQ"), ("cursor", "%00"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(api: Api, name: str, value: str) -> None:
    """In one line, with 422; so is a cursor of another order."""
    status, detail = api.get("/api/traces", **{name: value})
    assert status == 422
    assert "\n" not in detail


def test_pages_follow_the_cursor(api: Api) -> None:
    """The next page of sessions begins after the last row of this one."""
    put_sessions(api, "s0", "s1", "s2")
    page = api.get("/api/sessions", limit="2")
    assert [item["session_id"] for item in page["items"]] == ["s0", "s1"]
    api.get("/api/sessions", limit="2", cursor=page["next"])
    before = asked(api).before
    assert before is not None
    assert before.time == NOW - SECOND
    assert api.get("/api/sessions", limit="3")["next"] is None


def test_cursors_of_the_first_releases_stay_valid() -> None:
    """They are of the only order there was."""
    assert read_place(Sort.RECEIVED, "WyJjdXJzb3IiLDcsIngiXQ", ascending=False) == Position(7, "x")
    for sort in Sort:
        for ascending in (False, True):
            text = write_place(sort, Position(2**64 - 1, "é"), ascending=ascending)
            assert read_place(sort, text, ascending=ascending) == Position(2**64 - 1, "é")
            with pytest.raises(ConfigError):
                read_place(sort, text, ascending=not ascending)


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "b\n", "/", "x/../y", "%2F", "{7*7}"])
def test_a_session_may_be_called_anything(api: Api, name: str) -> None:
    """Ids are the clients' own: a list links to each, so each is found."""
    put_sessions(api, name)
    assert api.get(f"/api/sessions/{quote(name, safe='')}")["session_id"] == name


@pytest.mark.parametrize("name", [".", "..", "a.b/..", "/"])
def test_the_client_asks_for_a_session_of_any_name(api: Api, name: str) -> None:
    """Dots are no steps in the path."""
    put_sessions(api, name)
    with ApiClient(api.url) as client:
        assert client.session(name).session_id == name


def test_one_session(api: Api) -> None:
    """By any id, also one with slashes; an unknown one is 404."""
    put_sessions(api, "s0")
    assert api.get("/api/sessions/s0")["traces"] == 1
    assert api.get("/api/sessions/a%2Fb/c?d")[0] == 404
    assert api.get("/api/sessions/s0", service="other")[0] == 404


def test_scores_of_a_session_stand_with_their_agents() -> None:
    """A line an agent run; one without a name has the one name of such, and what is of the trace stands alone."""
    said = exchange(
        {"r1": "planner\x1b[2J", "r2": ""}, [("goal", 1, "r1"), ("plan", 2, "r1"), ("goal", 3, "r2"), ("whole", 0, "t")]
    )
    console = Console(width=200, record=True, file=StringIO())
    console.print(session_view(said))
    shown = [line.strip() for line in console.export_text().splitlines() if " of 3" in line]
    assert shown == ["planner\\x1b[2J: goal 1 of 3, plan 2 of 3", "unnamed agent: goal 3 of 3", "whole 0 of 3"]


@pytest.mark.parametrize(
    ("run_id", "agent", "turn", "place"),
    [
        ("r2", "scout\x1b", 3, "scout\\x1b, turn 3"),
        ("r2", "", None, "unnamed agent"),
        ("", "", None, "outside of agent runs"),
    ],
)
def test_errors_of_a_session_stand_with_agent_and_turn(run_id: str, agent: str, turn: int | None, place: str) -> None:
    """Also of a sub-agent, which the exchange does not name."""
    (error,) = group([replace(finding(1), agent_run_id=run_id, turn=turn)], ())
    said = exchange({"r1": "planner"}, [], [LocatedError(summary(error), error.severity(), KNOWN, "svc", agent)])
    console = Console(width=200, record=True, file=StringIO())
    console.print(session_view(said))
    (line,) = [line for line in console.export_text().splitlines() if SPAN in line]
    assert line.strip().endswith(f"span {SPAN}  {place}")


def exchange(
    agents: dict[str, str], scores: list[tuple[str, int, str]], errors: Sequence[LocatedError] = ()
) -> SessionJson:
    """A session of one exchange with these scores: judge, score, subject."""
    verdicts = [
        Verdict(judge, "v", Subject(SubjectKind.AGENT_RUN, subject, "a" * 32), score)
        for judge, score, subject in scores
    ]
    said = ("a" * 32, "r1", "planner", "hi", "ho", "ok", TraceState.SETTLED, 1, 2, 1, None)
    one = SessionExchange(*said, verdicts=verdicts, agents=agents, errors=errors)
    return present_session(SessionView(conversation(0), ["svc"], [one], 0))


def test_on_the_command_line(api: Api) -> None:
    """Filters go along, and what came from spans cannot reach the terminal."""
    api.put_rows(replace(row(0), session_id="s0", service="svc\x1b[31m", start=NOW - 3 * SECOND))
    api.put(finding(1, severity=Severity.HIGH))
    run = CliRunner()
    given = ["--url", api.url, "--severity", "high", "--sort", "duration", "--ascending", "--min-duration", "2s"]
    assert "svc" in run.invoke(root, ["traces", *given]).output
    assert (asked(api).severity, asked(api).sort, asked(api).ascending) == (Severity.HIGH, Sort.DURATION, True)
    for name in ("ok", "settled"):
        run.invoke(root, ["traces", "--url", api.url, "--state", name])
        assert asked(api).state is TraceState.SETTLED
    listed = run.invoke(root, ["sessions", "--url", api.url])
    assert "\\x1b[31m" in listed.output
    assert "\x1b" not in listed.output
    shown = run.invoke(root, ["session", "s0", "--url", api.url])
    assert (shown.exit_code, "1 HIGH" in shown.output) == (0, True)
    assert run.invoke(root, ["session", "nobody", "--url", api.url]).exit_code == 4


def put_worst(api: Api, goal: str, title: str) -> WorstError:
    """A session of a trace with that question and one error of that title."""
    api.put_rows(replace(row(0), session_id="s0", goal=goal))
    wrong = finding(1, severity=Severity.HIGH, title=title)
    api.put(wrong)
    return WorstError(led_by(wrong), KNOWN, SPAN, title, Severity.HIGH)


def test_lists_name_the_worst_error(api: Api) -> None:
    """With its severity and id in the API; its title, made safe, with the beginning of its id beside the question."""
    worst = put_worst(api, "Where is my refund?", "Refund reported\x1b[2J <b>")
    for kind in ("traces", "sessions"):
        (item,) = api.get(f"/api/{kind}")["items"]
        assert item["worst_error"] == {
            "id": worst.id, "trace_id": KNOWN, "span_id": "1" * 16, "title": worst.title, "severity": "HIGH",
        }  # fmt: skip
        assert item["errors"] == item["findings"]
        table = CliRunner().invoke(root, [kind, "--url", api.url], env={"COLUMNS": "250"}).output
        assert f"Refund reported\\x1b[2J <b> {worst.id[:8]}" in table
        page = httpx.get(f"{api.url}/{kind}", headers={"Accept": "text/html"}).text
        assert f'href="/traces/{KNOWN}?span={"1" * 16}#error-{worst.id}"' in page
        assert "<b>" not in page
        for text in (table, page) if kind == "traces" else ():
            assert "Where is my refund?" in text


def test_a_narrow_terminal_gets_a_block_a_row(api: Api) -> None:
    """With the question and the worst error on lines of their own, instead of cells that are folded to nothing."""
    worst = put_worst(api, "Where is my refund of last week?", "Refund reported although the call failed")
    given = ["traces", "--url", api.url]
    shown = CliRunner().invoke(root, given, env={"COLUMNS": "80"}).output.splitlines()
    assert shown[0].strip() == KNOWN
    assert "  question Where is my refund of last week?" in [line.rstrip() for line in shown]
    assert f"  worst error {worst.title} {worst.id[:8]}" in [line.rstrip() for line in shown]
    header, line = CliRunner().invoke(root, given, env={"COLUMNS": "300"}).output.splitlines()
    assert header.startswith("trace ")
    assert (KNOWN in line, worst.title in line, "Where is my refund of last week?" in line) == (True, True, True)


def test_a_cost_of_some_traces_says_so_everywhere(api: Api) -> None:
    """The API counts the traces with a known cost; command line and pages tell it beside the sum."""
    priced = [replace(row(n), usd=0.03125 if n % 3 == 0 else None, session_id="s0") for n in range(30)]
    api.put_rows(*priced, *(replace(row(30 + n), usd=0.0078125, session_id="s1") for n in range(30)))
    listed = httpx.get(f"{api.url}/api/sessions").json()["items"]
    assert [(s["usd"], s["priced_traces"], s["traces"]) for s in listed] == [(0.3125, 10, 30), (0.234375, 30, 30)]
    table = CliRunner().invoke(root, ["sessions", "--url", api.url], env={"COLUMNS": "200"}).output
    assert table.count("$0.3125 (10 of 30 traces)") == 1
    assert table.count(" of 30 traces") == 1
    for path in ("/sessions", "/sessions/s0"):
        page = httpx.get(api.url + path, headers={"Accept": "text/html"}).text
        assert page.count("(10 of 30 traces)") == 1
        assert "(30 of 30 traces)" not in page


def test_traces_that_wait_are_marked_in_their_session(api: Api) -> None:
    """By number in the list and above the conversation; by a mark at the exchange itself."""
    waiting = (replace(row(n), session_id="s0", not_judged=NotJudged.WAITING if n else None) for n in range(3))
    api.put_rows(*waiting, replace(row(3), session_id="s1"))
    listed = httpx.get(f"{api.url}/api/sessions").json()["items"]
    assert [one["unjudged_traces"] for one in listed] == [2, 0]
    for command in (["sessions"], ["session", "s0"]):
        shown = CliRunner().invoke(root, [*command, "--url", api.url], env={"COLUMNS": "200"}).output
        assert shown.count("(2 not judged)") == 1
    for path in ("/sessions", "/sessions/s0"):
        assert httpx.get(api.url + path, headers={"Accept": "text/html"}).text.count(">not judged</a>)") == 1
    waits = SessionExchange("a" * 32, "", "", "", "", "", TraceState.OPEN, 1, 2, 0, None, judged=False)
    view = SessionView(conversation(0), ["svc"], [waits, replace(waits, judged=True)])
    assert [one.judged for one in present_session(view).exchanges] == [False, True]
    console = Console(file=StringIO(), width=200)
    console.print(session_view(present_session(view)))
    assert console.file.getvalue().count("not judged") == 1  # type: ignore[attr-defined]


def test_traces_without_sessions_are_not_nothing(api: Api) -> None:
    """The page of sessions tells apart that nothing came and that no trace names a session."""
    empty = httpx.get(f"{api.url}/sessions", headers={"Accept": "text/html"}).text
    assert "Nothing has arrived in this time" in empty
    api.put_rows(row(0))
    alone = httpx.get(f"{api.url}/sessions", headers={"Accept": "text/html"}).text
    assert "Traces have arrived in this time, but none names a session" in alone
    assert "Nothing has arrived" not in alone
    assert "none names a session" not in httpx.get(f"{api.url}/traces", headers={"Accept": "text/html"}).text
