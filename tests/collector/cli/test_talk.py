"""`tracejury talk` as a process: the demo's clerk and a collector that finds its faults, live and after a restart."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from llm_scripts import Call, Play
from llm_server import llm_server
from processes import COMMAND, PATIENCE, Serving, serving, tracejury

from tracejury.collector.cli.root import root
from tracejury.collector.otlp.files.chat import parse
from tracejury.schemas.behaviours import Persona

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "talk"
CLERK = "tracejury.collector.cli.demo.clerk:answer"
FAULTS = {
    ("underspecification", "erroneous parameter", "book_tour", '"day": "Monday"'),
    ("information-overload", "incorrect sequence", "book_tour", '"day": "Friday"'),
    ("goal-switching", "partial completion", "answer", "The confirmation went to"),
    ("goal-switching", "incorrect sequence", "send_confirmation", '"ada@example.org"'),  # the booking is missing
    ("contradictory-constraints", "unauthorised tool", "cancel_tours", "the visitor asked for it"),
    ("impatience-and-hostility", "premature termination", "answer", "I am sorry"),
}
"""Behaviour, mode, the span that decided it, a part of the quote."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of docs/rut.md, with a collector that is quick to settle."""
    made = tmp_path_factory.mktemp("talk") / "here"
    shutil.copytree(EXAMPLE, made)
    with (made / "tracejury.yaml").open("a") as config:
        config.write("judging: {quiet_seconds: 0.3}\n")
    return made


@pytest.fixture(scope="module")
def collector(folder: Path) -> Iterator[Serving]:
    with serving(folder, "--config", "tracejury.yaml") as started:
        yield started


def arguments(collector: Serving, agent: str, *more: str) -> list[str]:
    endpoint = f"http://127.0.0.1:{collector.ports['grpc']}"
    return ["talk", "tours.yaml", "--agent", agent, "--endpoint", endpoint, "--url", collector.url, *more]


def get(collector: Serving, path: str) -> Any:
    return httpx.get(f"{collector.url}{path}", trust_env=False).json()


def eventually(found: Callable[[], Any]) -> Any:
    """What comes at last."""
    deadline = time.monotonic() + PATIENCE
    while not (what := found()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)
    return what


def success(collector: Serving) -> dict[str, float] | None:
    """SR by behaviour once all seven users have one."""
    (pack,) = get(collector, "/api/measures?pack=rut&by=behaviour&simulated=1")["items"]
    groups = {group["key"]: group["measures"][0] for group in pack["items"]}
    found = {name: figure["estimate"]["value"] for name, figure in groups.items() if figure["estimate"]}
    return found if len(found) == 7 else None


def faults(collector: Serving, behaviours: dict[str, str]) -> set[tuple[str, str, str, str]]:
    """The oracle's errors as `FAULTS` has them, with whole quotes; `behaviours` by session id."""
    found = set()
    for session, behaviour in behaviours.items():
        for row in get(collector, f"/api/traces?session={session}")["items"]:
            trace = get(collector, f"/api/traces/{row['trace_id']}")
            turns = [turn for run in trace["agent_runs"] for turn in run["turns"]]
            spans = {turn["llm_span_id"]: "answer" for turn in turns}
            spans |= {call["span_id"]: call["name"] for turn in turns for call in turn["tool_calls"]}
            oracles = [error for error in trace["errors"] if "rut-oracle" in json.dumps(error)]
            found |= {(behaviour, e["category"], spans[e["span_id"]], e["evidence"]) for e in oracles}
    return found


def test_each_fault_of_the_demos_clerk_is_found_at_its_span_live_and_after_a_restart(folder: Path) -> None:
    """Seven users, one task with an oracle; sessions are measured as soon as they end."""
    with serving(folder, "--config", "tracejury.yaml") as collector:
        result = tracejury(*arguments(collector, CLERK, "--format", "json"), folder=folder)
        assert (result.returncode, result.stderr) == (0, "")
        played = json.loads(result.stdout)
        assert [(one["answered"], one["failure"]) for one in played] == [(2, "")] * 7
        behaviours = {one["session"]["session_id"]: one["session"]["behaviour"] for one in played}
        rates = eventually(lambda: success(collector))
        live = eventually(lambda: found if len(found := faults(collector, behaviours)) == len(FAULTS) else None)
        collector.stop()
    with serving(folder, "--config", "tracejury.yaml") as collector:
        assert eventually(lambda: success(collector)) == rates
        assert faults(collector, behaviours) == live
        (pack,) = get(collector, "/api/measures?pack=rut")["items"]
        assert pack["total"]["sessions"] == 0  # of real users
    assert {behaviour for behaviour, rate in rates.items() if rate} == {"ideal", "fabricated-parameters"}
    for mode in FAULTS:
        assert any(one[:3] == mode[:3] and mode[3] in one[3] for one in live), mode


STOPPED = '''
import json, os, time
import httpx
from opentelemetry import trace

def call(name, **attributes):
    given = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    with trace.get_tracer("agent").start_as_current_span(name, attributes=given):
        pass

def said(*parts):
    return json.dumps([{"role": "assistant", "parts": parts}])

def answer(messages):
    """Cancels what it must not, and answers with what the collector says of it meanwhile."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": messages[-1]["content"]}]}])
    cancel = {"type": "tool_call", "id": "c1", "name": "cancel_tours", "arguments": {}}
    chat = {"operation__name": "chat", "request__model": "m", "input__messages": asked}
    call("chat m", **chat, output__messages=said(cancel))
    call("execute_tool cancel_tours", operation__name="execute_tool", tool__name="cancel_tours",
         tool__call__id="c1", tool__call__arguments="{}", tool__call__result="done")
    call("chat m", **chat, output__messages=said({"type": "text", "content": "Done."}))
    here = f"{trace.get_current_span().get_span_context().trace_id:032x}"
    while True:
        found = httpx.get(f"{os.environ['TRACEJURY_URL']}/api/errors?trace={here}", trust_env=False)
        errors = found.json()["items"] if found.status_code == 200 else []
        if errors:
            return f"{errors[0]['category']}, {errors[0]['state']}"
        time.sleep(0.1)
'''


def test_a_forbidden_call_is_found_while_the_agent_works(folder: Path, collector: Serving) -> None:
    """Nothing but our root span names the task: it is announced when the exchange begins."""
    (folder / "stopped.py").write_text(STOPPED)
    args = arguments(collector, "stopped:answer", "--behaviour", "ideal", "--timeout", "60", "--format", "json")
    result = tracejury(*args, folder=folder, env={"TRACEJURY_URL": collector.url})
    (one,) = json.loads(result.stdout)
    assert one["failure"] == ""
    session = get(collector, f"/api/sessions/{one['session']['session_id']}")
    assert session["exchanges"][0]["answer"] == "unauthorised tool, provisional"


INSTRUMENTED = '''
import litellm
from opentelemetry import trace

from tracejury.collector.cli.demo.clerk import answer

asked = litellm.acompletion

async def acompletion(*args, **given):
    """As instrumentations of clients do that know no suppression."""
    with trace.get_tracer("client").start_as_current_span("chat user-model"):
        return await asked(*args, **given)

litellm.acompletion = acompletion
'''


def traces_named(collector: Serving, name: str) -> list[Any]:
    return [row for row in get(collector, "/api/traces?limit=1000")["items"] if row["name"] == name]


def as_the_visitor(call: Call) -> Play:
    """A user of the tour: an expert says who comes and when, another one does so when asked; both end by `done`."""
    asked = sum(message["role"] == "assistant" for message in call.body["messages"])
    expert = "You are an expert" in call.prompt
    says = [] if expert else ["A tour of the Alder Bridge, please."]
    says += ["Please book a tour of the Alder Bridge on Friday for 4 people.", "Confirm it to ada@example.org."]
    over = asked == len(says)
    said = {"reflection": "I am the visitor.", "message": "" if over else says[asked], "done": over}
    return Play(text=json.dumps(said))


def test_users_by_a_model_talk_to_an_instrumented_agent_of_the_same_process(folder: Path, collector: Serving) -> None:
    """No span of their model is in the agent's traces, and sessions close at once: the quiet time is half an hour.

    Once the model is gone its recorded answers talk.
    """
    (folder / "instrumented.py").write_text(INSTRUMENTED)
    with llm_server(as_the_visitor) as server:
        (folder / "talk.yaml").write_text(f'judges: {{api_base: "{server.base}", budget: {{usd_per_day: 1}}}}')
        given = "--persona both --user-model openai/scripted --config talk.yaml --cassette users.jsonl"
        users = given.split()
        result = tracejury(*arguments(collector, "instrumented:answer", *users, "--format", "json"), folder=folder)
    assert (result.returncode, server.counts.calls) == (0, 7), result.stderr
    played = json.loads(result.stdout)
    assert [(one["session"]["brief"]["persona"], one["answered"], one["failure"]) for one in played] == [
        ("expert", 2, ""), ("non-expert", 3, "")
    ]  # fmt: skip
    theirs = eventually(lambda: len(found := traces_named(collector, "chat user-model")) == 7 and found)
    assert {row["session_id"] for row in theirs} == {None}
    for one in played:
        (joined,) = get(collector, f"/api/traces?session={one['session']['session_id']}")["items"]
        assert "user-model" not in json.dumps(get(collector, f"/api/traces/{joined['trace_id']}"))
    asked = "/api/measures?pack=rut&by=attribute:tracejury.persona&simulated=1"

    def measured() -> Any:
        (pack,) = get(collector, asked)["items"]
        groups = {group["key"]: group["measures"][0]["estimate"] for group in pack["items"]}
        return groups if groups.get("expert") and groups.get("non-expert") else None

    assert {name: eventually(measured)[name]["value"] for name in Persona} == {"expert": 1.0, "non-expert": 1.0}
    again = (*users, "--cassette-mode", "replay", "--trials", "2")
    replayed = tracejury(*arguments(collector, CLERK, *again), folder=folder)
    told = " ".join(replayed.stdout.split())
    assert "expert 2 2 1 1 non-expert 2 3 1 1 failed: " in told  # the second trials are not on the cassette
    ends = "after 0 exchanges: the user's model failed: a talk call is not on the cassette"
    assert (told.count(f"trial 2, {ends} failed:"), told.count(f"trial 2, {ends} tracejury")) == (1, 1), told


def as_chat(collector: Serving, session: str, user: str) -> dict[str, Any]:
    """A stored session as a recorded conversation."""
    messages: list[dict[str, Any]] = []
    for exchange in get(collector, f"/api/sessions/{session}")["exchanges"]:
        runs = get(collector, f"/api/traces/{exchange['trace_id']}")["agent_runs"]
        (run,) = [run for run in runs if run["id"] == exchange["agent_run_id"]]
        messages.append({"role": "user", "content": run["goal"]})
        for turn in run["turns"]:
            calls = [
                {"id": str(at), "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])}}
                for at, one in enumerate(turn["tool_calls"])
            ]
            messages.append({"role": "assistant", "content": turn["text"]} | ({"tool_calls": calls} if calls else {}))
            for call, one in zip(calls, turn["tool_calls"], strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": one["result"]})
    return {"task": "tour-of-the-alder-bridge", "persona": user, "service": "recorded", "messages": messages}


def test_the_same_conversations_as_chat_messages_have_the_same_verdicts(folder: Path, collector: Serving) -> None:
    """Each fault at its span, each success; sessions close at once."""
    asked = arguments(collector, CLERK, "--format", "json", "--service", "talked")
    played = json.loads(tracejury(*asked, folder=folder).stdout)
    users = {one["session"]["session_id"]: one["session"]["behaviour"] for one in played}
    talked = eventually(lambda: found if len(found := faults(collector, users)) == len(FAULTS) else None)
    conversations = [as_chat(collector, session, user) for session, user in users.items()]
    (folder / "chat.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in conversations))
    endpoint = ("--endpoint", f"127.0.0.1:{collector.ports['grpc']}")
    assert tracejury("replay", "chat.jsonl", "--format", "chat", *endpoint, folder=folder).returncode == 0
    replayed = {session.id: one["persona"] for session, one in zip(parse(conversations), conversations, strict=True)}
    assert eventually(lambda: found if len(found := faults(collector, replayed)) == len(FAULTS) else None) == talked

    def success_of(service: str, by: str) -> dict[str, float]:
        (pack,) = get(collector, f"/api/measures?pack=rut&by={by}&simulated=1&service={service}")["items"]
        groups = {group["key"]: group["measures"][0]["estimate"] for group in pack["items"]}
        return {name: groups[name]["value"] for name in users.values() if groups.get(name)}

    recorded = eventually(lambda: len(found := success_of("recorded", "attribute:tracejury.persona")) == 7 and found)
    assert recorded == success_of("talked", "behaviour")


HALTING = '''
import pathlib, time

def answer(messages):
    """Waits for good in the second session."""
    if "aunt" in messages[0]["content"]:
        pathlib.Path("waits").touch()
        time.sleep(1000)
    return "Yes."
'''


def test_ctrl_c_keeps_what_there_is(folder: Path, collector: Serving) -> None:
    """A summary of what was said, which has arrived; also in the background of a shell."""
    (folder / "halting.py").write_text(HALTING)
    users = ("--behaviour", "ideal", "--behaviour", "information-overload", "--trials", "2")
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *COMMAND, *arguments(collector, "halting:answer", *users)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as talking:  # noqa: S603  ours
        try:
            eventually((folder / "waits").exists)
            talking.send_signal(signal.SIGINT)
            out, err = (" ".join(text.split()) for text in talking.communicate(timeout=PATIENCE))
        finally:
            talking.kill()
    assert talking.returncode == 1
    assert "interrupted: 2 sessions not begun" in err
    assert "ideal 1 2 1 0 information-overload 1 0 0 1 " in out
    failed = re.search(r"failed: tour-of-the-alder-bridge information-overload, .*interrupted session (\w+)", out)
    assert failed, out
    assert eventually(lambda: get(collector, f"/api/sessions/{failed[1]}").get("exchanges"))


def test_a_callable_without_spans_is_told_to_be_instrumented(folder: Path, collector: Serving) -> None:
    """It answers, but nothing of it can be judged."""
    (folder / "plain.py").write_text("def answer(messages):\n    return 'Yes.'\n")
    args = arguments(collector, "plain:answer", "--behaviour", "ideal", "--format", "json")
    result = tracejury(*args, folder=folder, env={"TRACEJURY_URL": collector.url})
    (one,) = json.loads(result.stdout)
    assert (result.returncode, "a callable must be instrumented in this process" in one["failure"]) == (1, True)


def test_a_collector_that_cannot_be_asked_is_no_failure(folder: Path, collector: Serving) -> None:
    """The sessions were played; the note says what was not checked."""
    args = arguments(collector, CLERK, "--behaviour", "ideal")
    result = tracejury(*args, "--url", "http://127.0.0.1:1", folder=folder)
    assert result.returncode == 0
    assert result.stderr.startswith("not checked whether the agent's spans arrived: no collector answers")


@pytest.mark.parametrize(
    ("args", "code", "line"),
    [
        (("--agent", "nowhere"), 2, "--agent: 'nowhere' is neither http://… or https://… nor module:function"),
        (("--agent", "no.such:thing"), 2, "(talk to an agent of another environment by its URL)"),
        (("--agent", "json:no"), 2, f"--agent: cannot import json:no into {sys.executable}: AttributeError"),
        (("--agent", "json:__name__"), 2, "--agent: json:__name__ is no function but str"),
        (("--agent", "https:///v1"), 2, "--agent: 'https:///v1' names no host"),
        (("--agent", CLERK, "--behaviour", "angry"), 2, "--behaviour: no behaviour 'angry': all, ideal"),
        (("--agent", "http://h", "--key-env", "NO_SUCH"), 2, "--key-env: the variable NO_SUCH"),
        (("--agent", CLERK, "--persona", "both"), 2, "--persona needs a --user-model, which writes what the user says"),
        (("--agent", CLERK, "--persona", "both", "--behaviour", "ideal"), 2, "a user has one of them"),
        (("--agent", CLERK, "--user-model", "m"), 2, "--user-model, --config and --cassette are for users"),
        (("--agent", CLERK, "--cassette", "c.jsonl"), 2, "--user-model, --config and --cassette are for users"),
        (
            ("--agent", CLERK, "--persona", "expert", "--user-model", "no/such", "--endpoint", "127.0.0.1:1"),
            1,
            "nothing listens at 127.0.0.1:1",
        ),
        (("--agent", CLERK, "--endpoint", "127.0.0.1:1"), 1, "nothing listens at 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_talked_to_is_one_line(args: Sequence[str], code: int, line: str) -> None:
    """Before anything is said."""
    result = CliRunner().invoke(root, ["talk", str(EXAMPLE / "tours.yaml"), *args])
    assert (result.exit_code, len(result.stderr.splitlines())) == (code, 1)
    assert line in result.stderr


def test_cards_without_turns_are_refused_or_noted(tmp_path: Path) -> None:
    """Nothing to say is an error; some cards without turns are left out."""
    (tmp_path / "bare.yaml").write_text("id: bare\n")
    persona = ("--persona", "expert", "--user-model", "m")
    unknowing = CliRunner().invoke(root, ["talk", str(tmp_path), "--agent", CLERK, *persona])
    assert (unknowing.exit_code, unknowing.stderr) == (
        2, "tracejury: --persona: the card 'bare' has no `instruction`, by which a user talks\n"
    )  # fmt: skip
    (tmp_path / "none.json").write_text("[]")
    none = CliRunner().invoke(root, ["talk", str(tmp_path / "none.json"), "--agent", CLERK, *persona])
    assert (none.exit_code, "there is no card in" in none.stderr) == (2, True)
    nothing = CliRunner().invoke(root, ["talk", str(tmp_path), "--agent", CLERK])
    assert (nothing.exit_code, "no card has `user_turns` of all users" in nothing.stderr) == (2, True)
    shutil.copy(EXAMPLE / "tours.yaml", tmp_path)
    some = CliRunner().invoke(root, ["talk", str(tmp_path), "--agent", CLERK, "--endpoint", "127.0.0.1:1"])
    assert some.stderr.startswith("1 card without such `user_turns` left out, 'bare' the first\n")
