"""The commands that ask a running collector."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from processes import COMMAND
from served_api import KNOWN, PLAIN, QUIET, SPAN, Api, apart, finding, row

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.follow import follow
from tracejury.collector.cli.root import root
from tracejury.collector.cli.waiting import wait_until_judged
from tracejury.schemas.errors import StoreError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, args, env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def lines(result: Result) -> Any:
    return json.loads(result.stdout)


def test_errors_are_a_bare_list_for_programs(api: Api) -> None:
    """The items themselves, latest first, nothing else on stdout."""
    api.put(apart(1), apart(2))
    result = run(api, "errors", "--format", "json")
    assert result.exit_code == 0
    assert [item["finding_ids"] for item in lines(result)] == [[finding(2).id], [finding(1).id]]


def test_errors_for_people_name_span_severity_dimension_and_quote(api: Api) -> None:
    """All that one needs to go and look."""
    api.put(finding(1, evidence="the quote", explanation="the reason"))
    result = run(api, "errors")
    assert result.exit_code == 0
    dimension, category = "tool calling", "formatting errors"
    for part in (SPAN, KNOWN, "MEDIUM", dimension, category, "“the quote”", "the reason", "rule", "0.70", "svc"):
        assert part in result.stdout


def test_errors_for_people_begin_with_the_title(api: Api) -> None:
    """Then come dimension and category, with its group; who saw it; the further spans, and of --span its role."""
    shown, read = "3" * 16, "4" * 16
    places = {"tool_span_id": shown, "seen_by_span_id": read, "also_at": tuple(f"{n:016x}" for n in range(7))}
    lead = finding(1, title="Argument the tool\x1b does not take", confidence=0.9, **places)
    api.put(lead, finding(2, judge="other"))
    first, place, *_, by, spans = [line.strip() for line in run(api, "errors").stdout.splitlines() if line.strip()]
    title = "MEDIUM Argument the tool\\x1b does not take"
    assert first == f"{title} (tool calling; Output generation: formatting errors)  span {SPAN}  trace {KNOWN}"
    assert place.startswith("svc / agent / turn 0")
    assert by.endswith("(rule, other 0.90)")
    repeated = ", ".join(f"{n:016x}" for n in range(5))
    assert spans == f"shown at {shown}; read at {read}; also at {repeated} and 2 more"
    for span_id, role in ((SPAN, "decided"), (shown, "shown"), (read, "read"), (f"{6:016x}", "also")):
        assert f"  {role} here: svc / agent / turn 0" in run(api, "errors", "--span", span_id).stdout
        assert [i["role"] for i in lines(run(api, "errors", "--span", span_id, "--format", "json"))] == [f"{role} at"]


def test_one_error_with_its_findings(api: Api) -> None:
    """By the id that lists show, its whole one, or that of a finding; what holds no more says so."""
    api.put(finding(1, title="Made\x1b up"), finding(2, judge="other", confidence=0.6))
    (listed,) = lines(run(api, "errors", "--format", "json"))
    assert f"  error {listed['id'][:8]}\n" in run(api, "errors").stdout
    for some_id in (listed["id"][:8], listed["id"], finding(2).id):
        shown = run(api, "error", some_id).stdout
        assert ("2 findings" in shown, shown.count("Made\\x1b up"), "(other 0.60)" in shown) == (True, 2, True)
    assert lines(run(api, "error", listed["id"], "--format", "json"))["finding_ids"] == listed["finding_ids"]


def test_the_lead_of_an_error_and_what_is_below_the_profile_are_marked(api: Api) -> None:
    """Each finding on its own line, by the profile that is asked for; the least confidence is in the JSON."""
    api.put(finding(1, confidence=0.9), finding(2, judge="b", confidence=0.5), finding(3, judge="c", confidence=0.2))
    error_id = lines(run(api, "errors", "--format", "json"))[0]["id"]

    def marks(*args: str) -> list[str]:
        shown = run(api, "error", error_id, *args).stdout.partition(" findings")[2]
        return [
            found[0] if (found := re.findall(r"\[(.*)\]$", line)) else ""
            for line in shown.splitlines()
            if " span " in line
        ]

    assert marks() == ["lead", "", "below the profile"]
    assert marks("--profile", "recall") == ["lead", "", ""]
    assert marks("--profile", "0.95") == ["lead, below the profile", *["below the profile"] * 2]
    assert (
        "3 findings, the lead first; 1 below the profile, that is a confidence of 0.38"
        in run(api, "error", error_id).stdout
    )
    assert lines(run(api, "error", error_id, "--profile", "strict", "--format", "json"))["least_confidence"] == 0.6


def test_nothing_found_is_said(api: Api) -> None:
    """No error, and not an empty screen; for programs an empty list."""
    assert run(api, "errors").stdout == "no errors\n"
    assert run(api, "traces").stdout == "no traces\n"
    assert lines(run(api, "errors", "--format", "json")) == []
    api.put_known()
    assert lines(run(api, "errors", "--span", QUIET, "--format", "json")) == []


@pytest.mark.parametrize(
    "args",
    [
        ("errors", "--span", "f" * 16),
        ("errors", "--trace", "f" * 32),
        ("trace", "f" * 32),
        ("error", "f" * 32),
        ("judge", "--trace", "f" * 32),
        ("errors", "--follow", "--trace", "f" * 32),
    ],
)
def test_an_unknown_id_exits_with_4(api: Api, args: tuple[str, ...]) -> None:
    """One line on stderr, nothing on stdout."""
    result = run(api, *args)
    assert result.exit_code == 4
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "is stored" in result.stderr


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("errors", "--severity", "WORST"), "--severity"),
        (("errors", "--since", "soon"), "is no point in time"),
        (("errors", "--limit", "0"), "--limit"),
        (("errors", "--fail-on", "x"), "--fail-on"),
        (("errors", "--format", "xml"), "--format"),
        (("errors", "--bogus"), "--bogus"),
        (("errors", "extra"), "extra"),
        (("trace",), "ID"),
        (("judge",), "name one of --trace ID, --session ID and --since TIME"),
        (("judge", "--trace", "a", "--service", "shop"), "--service goes with --session ID"),
        (("judge", "--trace", "a", "--since", "1h"), "name one of --trace ID, --session ID and --since TIME"),
        (("nonsense",), "nonsense"),
        (("--bogus",), "--bogus"),
    ],
)
def test_misuse_is_one_line_and_exits_with_2(api: Api, args: tuple[str, ...], part: str) -> None:
    """The line names what is wrong and where help is."""
    result = run(api, *args)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert part in result.stderr
    assert "--help" in result.stderr


def test_a_wrong_profile_is_the_collectors_line(api: Api) -> None:
    """Refused by the API, shown as one line."""
    result = run(api, "errors", "--profile", "brave")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "unknown profile 'brave'" in result.stderr


def test_without_a_collector_the_line_says_how_to_start_one() -> None:
    """Every command that needs one."""
    asking = (["errors"], ["errors", "--follow"], ["traces"], ["trace", "x"], ["judge", "--since", "1h"], ["ledger"],
              ["architecture"])  # fmt: skip
    for args in asking:
        result = CliRunner().invoke(root, [*args, "--url", "http://127.0.0.1:1"])
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert "tracejury serve" in result.stderr


@pytest.mark.parametrize(
    ("fail_on", "worst", "code"),
    [
        ("HIGH", Severity.MEDIUM, 0),
        ("HIGH", Severity.HIGH, 3),
        ("MEDIUM", Severity.LOW, 0),
        ("MEDIUM", Severity.MEDIUM, 3),
        ("MEDIUM", Severity.HIGH, 3),
        ("low", Severity.LOW, 3),
    ],
)
def test_fail_on_fails_at_and_above_its_severity(api: Api, fail_on: str, worst: Severity, code: int) -> None:
    """The errors are shown all the same."""
    api.put_rows(row(0))
    api.put(apart(1, severity=Severity.LOW), apart(2, severity=worst))
    result = run(api, "errors", "--fail-on", fail_on, "--format", "json")
    assert result.exit_code == code
    assert len(lines(result)) == 2


def test_fail_on_sees_beyond_the_limit(api: Api) -> None:
    """What decides a pipeline does not depend on how many lines are shown."""
    api.put_rows(row(0))
    api.put(apart(1, severity=Severity.HIGH), apart(2), apart(3))
    result = run(api, "errors", "--limit", "1", "--fail-on", "HIGH")
    assert result.exit_code == 3
    assert "there are more than 1" in result.stderr
    api.put(apart(1))
    assert run(api, "errors", "--limit", "1", "--fail-on", "HIGH").exit_code == 0


def test_fail_on_fails_where_nothing_was_judged(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline must not pass because nobody looked; what was found all the same says more."""
    monkeypatch.setattr(wait_until_judged, "__kwdefaults__", {"patience": 0.0, "wait": None})
    nothing = run(api, "errors", "--fail-on", "HIGH")
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (1, 1)
    assert "nothing was judged: no trace" in nothing.stderr
    api.put_rows(*[replace(row(n), state=TraceState.OPEN, not_judged=NotJudged.WAITING) for n in range(2)], row(3))
    waiting = run(api, "errors", "--fail-on", "HIGH")
    assert waiting.exit_code == 1
    assert waiting.stderr.endswith("tracejury: 2 of 3 traces were not judged yet: ask again later\n")
    api.put(finding(1, severity=Severity.HIGH))
    assert run(api, "errors", "--fail-on", "HIGH").exit_code == 3
    assert run(api, "errors").exit_code == 0


@pytest.mark.parametrize(
    "args",
    [
        ("errors", "--service", "shpo"), ("errors", "--category", "shpo"), ("errors", "--judge", "shpo"),
        ("errors", "--agent", "shpo"), ("errors", "--fail-on", "LOW", "--service", "shpo"),
        ("traces", "--tool", "shpo"), ("traces", "--version", "shpo"), ("traces", "--session", "shpo"),
        ("sessions", "--model", "shpo"), ("sessions", "--taxonomy", "shpo"), ("ledger", "--judge", "shpo"),
        ("rates", "--tool", "shpo"), ("rates", "--agent", "shpo"), ("rates", "--compare-to", "version=shpo"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_the_known_ones(api: Api, args: tuple[str, ...]) -> None:
    """In one line, the nearest first; what is in none of the stored data may be a slip."""
    api.reader.unknown = {"shpo": ["shop", "desk\x1b[31m"]}
    result = run(api, *args)
    kind = "version" if "--compare-to" in args else args[-2].removeprefix("--")
    line = f"tracejury: no {kind} 'shpo' is stored; known are: shop, desk\\x1b[31m"
    if kind == "version":
        line += " (versions are those that agents state: the resource attribute service.version of their spans)"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"{line}\n")


def test_a_name_that_is_not_stored_yet_can_be_followed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come; a line says that it is not there."""

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow, "__kwdefaults__", {"wait": interrupt})
    api.reader.unknown = {"shpo": ["shop"]}
    result = run(api, "errors", "--follow", "--service", "shpo")
    assert (result.exit_code, result.stderr) == (0, "no service 'shpo' is stored; known are: shop\n")
    assert run(api, "errors", "--follow", "--service", "shop").stderr == ""
    assert run(api, "errors", "--follow", "--profile", "odd").exit_code == 2


def test_fail_on_keeps_to_the_filters(api: Api) -> None:
    """Only errors that the filters let show can fail."""
    api.put(apart(1, severity=Severity.HIGH, trace_id=PLAIN), apart(2), apart(3))
    for trace_id in (KNOWN, PLAIN):
        api.put_rows(replace(row(0), trace_id=trace_id))
    assert run(api, "errors", "--trace", KNOWN, "--limit", "1", "--fail-on", "HIGH").exit_code == 0
    assert run(api, "errors", "--trace", PLAIN, "--fail-on", "HIGH").exit_code == 3


def test_fail_on_of_one_trace_looks_at_it_alone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at a list, which takes long where there are many; it waits until the state it has now was judged."""
    monkeypatch.setattr(wait_until_judged, "__kwdefaults__", {"patience": 0.0, "wait": None})
    monkeypatch.setattr(ApiClient, "traces", None)
    assert run(api, "errors", "--trace", "f" * 32, "--fail-on", "HIGH").exit_code == 4
    for judged_in in (None, TraceState.OPEN):  # never, or before it settled
        api.put_rows(
            replace(
                row(3600),
                trace_id=PLAIN,
                state=judged_in or TraceState.OPEN,
                not_judged=None if judged_in else NotJudged.WAITING,
            )
        )
        waiting = run(api, "errors", "--trace", PLAIN[:9], "--fail-on", "HIGH")
        assert waiting.exit_code == 1
        assert waiting.stderr == "tracejury: 1 of 1 trace was not judged yet: ask again later\n"
    api.put_rows(replace(row(3600), trace_id=PLAIN))
    judged = run(api, "errors", "--trace", PLAIN, "--fail-on", "HIGH")
    assert (judged.exit_code, judged.stderr) == (0, "")


def test_follow_ends_after_the_limit(api: Api) -> None:
    """JSON lines, earliest first; --fail-on counts what showed."""
    api.put(apart(-3), apart(-2, severity=Severity.HIGH), apart(-1))
    result = run(api, "errors", "--follow", "--since", "2020-01-01", "--limit", "2", "--format", "json")
    assert result.exit_code == 0
    assert [json.loads(line)["finding_ids"] for line in result.stdout.splitlines()] == [[apart(-3).id], [apart(-2).id]]
    args = ("errors", "--follow", "--since", "2020-01-01", "--fail-on", "HIGH", "--limit")
    assert [run(api, *args, limit).exit_code for limit in ("1", "2")] == [0, 3]


def test_a_trace_for_programs_is_the_apis_object(api: Api) -> None:
    """The very JSON, with the findings of the profile."""
    api.put(finding(1), finding(2, confidence=0.1))
    shown = lines(run(api, "trace", KNOWN, "--format", "json"))
    assert shown == api.get(f"/api/traces/{KNOWN}")
    assert len(lines(run(api, "trace", KNOWN, "--format", "json", "--profile", "0"))["findings"]) == 2


def test_traces_are_listed(api: Api) -> None:
    """A line a trace for people, a bare list for programs, a note when there are more."""
    api.put_rows(*[row(n) for n in range(3)])
    shown = run(api, "traces", "--limit", "2")
    assert KNOWN in shown.stdout
    assert len(shown.stdout.splitlines()) == 3
    assert "there are more than 2" in shown.stderr
    assert [r["trace_id"] for r in lines(run(api, "traces", "--format", "json"))] == [row(n).trace_id for n in range(3)]


def test_a_trace_that_is_not_judged_yet_is_listed_as_such(api: Api) -> None:
    """No count of findings, which would pass for a result."""
    api.put_rows(replace(row(1), not_judged=NotJudged.WAITING), row(2))
    shown = run(api, "traces").stdout.splitlines()
    assert [("not judged yet" in line) for line in shown if "svc" in line] == [True, False]
    assert [r["judged"] for r in lines(run(api, "traces", "--format", "json"))] == [False, True]
    page = api.client.get("/traces").text
    assert page.count(">not judged yet</a>") == 1


def test_judging_again_says_what_was_judged(api: Api) -> None:
    """One trace, or those since."""
    api.put_rows(row(0))
    assert lines(run(api, "judge", "--trace", KNOWN, "--format", "json")) == [
        {"trace_id": KNOWN, "findings": 1, "shown": 0, "failures": [], "pending_judges": 0}
    ]
    api.put(finding(1))
    assert "1 trace judged, 1 error\n" in run(api, "judge", "--trace", KNOWN).stdout
    api.put_rows(row(0), row(1))
    assert "2 traces judged, 1 error\n" in run(api, "judge", "--since", "2020-01-01").stdout


def test_judging_again_counts_what_errors_shows(api: Api) -> None:
    """Errors below the default profile are stored, and in no count for people."""
    api.put(apart(1), finding(11, judge="again"), apart(2, confidence=0.2), finding(3, confidence=0.5))
    judged = run(api, "judge", "--trace", KNOWN).stdout
    assert judged.endswith(f"{KNOWN}  2               \n1 trace judged, 2 errors\n")
    assert len(lines(run(api, "errors", "--format", "json"))) == 2


def test_output_to_a_pipe_has_no_colours(api: Api) -> None:
    """No escape sequence of ours, and none of a span."""
    api.put(finding(1, evidence="\x1b[2J\x1b]0;owned\x07\x9b31m[bold]x[/bold]\u202e", category="\x1b[5m"))
    for command in (
        ("errors",),
        ("trace", KNOWN),
        ("errors", "--format", "json"),
        ("trace", KNOWN, "--format", "json"),
    ):
        text = run(api, *command).stdout
        assert not set("\x1b\x07\x9b\u202e") & set(text)
    assert "[bold]x[/bold]" in run(api, "errors").stdout


def test_a_terminal_gets_colours_and_only_ours(api: Api) -> None:
    """On a real terminal: styles, and no other escape sequence, whatever the span says."""
    api.put(finding(1, evidence="\x1b[2J\x1b]0;owned\x07", explanation="\x1b[31mred"))
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", "COLUMNS": "150"}
    arguments = [*COMMAND, "errors", "--url", api.url]
    subprocess.run(arguments, stdout=theirs, stderr=theirs, env=environment, check=True)  # noqa: S603  ours
    text = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    styles = re.findall(r"\x1b\[[0-9;]*m", text)
    assert styles
    assert text.count("\x1b") == len(styles)
    assert "\\x1b[2J\\x1b]0;owned\\x07" in text
    assert "\x07" not in text


def test_a_reader_that_goes_away_is_no_error(api: Api) -> None:
    """`tracejury errors | head` ends without a traceback."""
    api.put(*[apart(n, evidence="x" * 150) for n in range(900)])
    pipe = subprocess.PIPE
    arguments = [*COMMAND, "errors", "--limit", "900", "--url", api.url]
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe) as process:  # noqa: S603  ours
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_failure_of_the_collector_is_one_line(api: Api) -> None:
    """No traceback, unless --debug asks for it."""
    api.reader.fault = StoreError("table spans is broken")
    result = run(api, "errors")
    assert (result.exit_code, result.stderr) == (1, "tracejury: table spans is broken\n")
    debugged = run(api, "--debug", "errors")
    assert debugged.exit_code == 1
    assert type(debugged.exception).__name__ == "PermanentError"
