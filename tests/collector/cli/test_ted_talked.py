"""TED from cards to report: its authors' tasks talked by both personas, judged by a script, and told again from it."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import Any, Final
from zlib import crc32

import pytest
import yaml
from click.testing import CliRunner
from llm_scripts import Call, Play, text_of
from llm_server import llm_server
from pack_bench import FairChecker, Fault
from processes import Serving, serving, tracejury
from sizes import sized

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_requests import UnknownNameError
from tracejury.collector.cli.root import root
from tracejury.judges.packs.cards.task_cards import TaskCard, load_cards
from tracejury.judges.packs.loader import load_packs
from tracejury.schemas.behaviours import Persona
from tracejury.schemas.wire.lists import SessionJson

TED: Final = Path(__file__).parents[4] / "shared" / "data" / "ted"
pytestmark = pytest.mark.skipif(not TED.exists(), reason="the data of TED's authors is not here")

TURNS, RUNS = 3, 5
PATIENCE: Final = sized(120, 900)
SAYS: Final = ("one", "two")
"""What a user asks for, an exchange each."""
AGENT = '''
import json
from opentelemetry import trace

def span(name, **attributes):
    given = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    with trace.get_tracer("agent").start_as_current_span(name, attributes=given):
        pass

def message(role, *parts):
    return json.dumps([{"role": role, "parts": parts}])

def answer(messages):
    """Calls a tool with the last word, and says so."""
    word = messages[-1]["content"].split()[-1]
    chat = {"operation__name": "chat", "request__model": "m"}
    asked = message("user", {"type": "text", "content": messages[-1]["content"]})
    thought = {"type": "text", "content": f"I work on part {word}."}
    tool = {"type": "tool_call", "id": "c1", "name": "work", "arguments": {"part": word}}
    span("chat m", **chat, input__messages=asked, output__messages=message("assistant", thought, tool))
    span("execute_tool work", operation__name="execute_tool", tool__name="work", tool__call__id="c1",
         tool__call__arguments=json.dumps({"part": word}), tool__call__result="worked")
    said = f"Part {word} is done."
    span("chat m", **chat, input__messages=asked,
         output__messages=message("assistant", {"type": "text", "content": said}))
    return said
'''

STEPS: Final = ((5, 5, ""), (0, 5, ""), (3, 5, "E1.S1"), (0, 0, ""), (0, 0, "E1.S1"), (2, 2, ""))
"""What may come of a note: how many of five runs see it achieved in each exchange, and the step that they name."""
USER_ERRORS: Final = tuple(load_packs(["ted"])[0].check("ted-user").criteria)


@dataclass(frozen=True)
class Session:
    """A session by the script: the first task with its instruction, its persona, its notes; `error`: of its user."""

    task: str
    persona: str
    notes: tuple[str, ...]
    error: str = ""

    def step(self, note: str) -> tuple[int, int, str]:
        """What comes of a note."""
        return STEPS[crc32(f"{self.task} {self.persona} {note}".encode()) % len(STEPS)]

    def share(self, note: str) -> float:
        """z: the yes-runs of the exchange that achieved it, else of the last."""
        first, second, _ = self.step(note)
        return (first if 2 * first > RUNS else second) / RUNS

    @property
    def errors(self) -> dict[str, tuple[int, float]]:
        """By note that a run denied: the span, as 0 for the first thought and 1 for the last answer; confidence."""
        denied = [note for note in self.notes if self.share(note) < 1]
        return {note[:90]: (0 if self.step(note)[2] else 1, round(0.8 * (1 - self.share(note)), 4)) for note in denied}

    @cached_property
    def progress(self) -> list[float]:
        """After each exchange that the task may take."""
        steps = [self.step(note) for note in self.notes]
        first = sum(2 * one > RUNS for one, _, _ in steps) / len(steps)
        second = sum(2 * max(one, two) > RUNS for one, two, _ in steps) / len(steps)
        return [first, second, *[second] * (TURNS - 2)]

    def values(self) -> dict[str, float]:
        """Progress, AUC, PPT."""
        p = self.progress
        area = fsum((one + other) / 2 for one, other in itertools.pairwise(p)) / (TURNS - 1)
        return {"Progress": p[-1], "AUC": area, "PPT": p[-1] / (p.index(p[-1]) + 1)}


class Script:
    """The models of users and judge. `sessions` by task and persona; runs of one question are told by their count."""

    def __init__(self, cards: Mapping[str, TaskCard]) -> None:
        self.firsts = {" ".join(card.instruction.split()): name for name, card in [*cards.items()][::-1]}
        self.asked: Counter[str] = Counter()
        names = [*dict.fromkeys(self.first_of(card) for card in cards.values())]
        wrong = {
            (name, [*Persona][at % 2]): error for at, (name, error) in enumerate(zip(names, USER_ERRORS, strict=False))
        }
        self.sessions = {
            (name, str(persona)): Session(self.first_of(card), persona, card.notes, wrong.get((name, persona), ""))
            for name, card in cards.items()
            for persona in Persona
        }

    def first_of(self, card: TaskCard) -> str:
        """Two cards have one instruction, by which users cannot tell them apart."""
        return self.firsts[" ".join(card.instruction.split())]

    def __call__(self, call: Call) -> Play:
        """A user's message, or the judge's answers."""
        if "reflection" in call.schema["properties"]:
            return Play(text=self.user(call))
        return Play(text=self.judge(call))

    def user(self, call: Call) -> str:
        """What the user says next in its task."""
        flat = " ".join(call.prompt.split())
        task = max((told for told in self.firsts if told in flat), key=len)
        persona = Persona.EXPERT if "You are an expert" in call.prompt else Persona.NON_EXPERT
        said = sum(message["role"] == "assistant" for message in call.body["messages"])
        words = f"In {self.firsts[task]} as {persona}: {SAYS[said]}" if said < len(SAYS) else ""
        return json.dumps({"reflection": "I go on.", "message": words, "done": not words})

    def judge(self, call: Call) -> str:
        """Votes by `STEPS`, and the error of the user that is planned."""
        text = text_of(call.body["messages"][-1]["content"])
        named = re.search(rf"In (\S+) as (\S+): {SAYS[0]}", call.prompt)
        assert named is not None
        task, persona = named[1], named[2]
        error = self.sessions[task, persona].error
        quoted = Fault("ted-user", f"{error}:", named[0], label="E1.S1")
        reply = json.loads(FairChecker([quoted] if error else []).reply(text))
        items = dict(re.findall(r"^(\d+)\n ([^\n]*)$", text, re.MULTILINE))
        exchange = max(map(int, re.findall(r"^E(\d+)\.S", call.prompt, re.MULTILINE)))
        run = self.asked[call.prompt] % RUNS
        self.asked[call.prompt] += 1
        for answer in reply["answers"]:
            if answer["check"] == "ted-notes":
                *yes, label = Session(task, persona, ()).step(items[str(answer["item"])])
                sees = run < yes[exchange - 1]
                answer.update(answer="yes" if sees else "no", reason="Yes." if sees else "No.")
                answer.update(label=label or None, quote=f"I work on part {SAYS[0]}." if label else None)
        return json.dumps(reply)


def figures(session: Session) -> dict[str, float]:
    """Of a cell whose one trial it is."""
    return {f"mean {name}": value for name, value in session.values().items()} | {
        "pass@k Progress": float(session.values()["Progress"] == 1)
    }


def recomputed(sessions: Mapping[tuple[str, str], Session]) -> dict[str, float]:
    """Of a row: the mean of its tasks, each the mean of its cells; invalid sessions count nowhere."""
    tasks: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for (task, _), session in sessions.items():
        if not session.error:
            tasks[task].append(figures(session))
    names = next(iter(tasks.values()))[0]
    return {name: fmean(fmean(cell[name] for cell in cells) for cells in tasks.values()) for name in names}


def eventually(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.3)


def run(*args: str) -> str:
    """What a command prints, in this process."""
    result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.output
    return result.stdout


@dataclass
class Told:
    """What a collector says of the sessions of a service."""

    client: ApiClient
    service: str

    def measures(self) -> dict[str, Any]:
        """By persona, "" for all: sessions, invalid ones, figures of trials, E."""
        asked = {"pack": "ted", "simulated": "true", "trials": "true", "k": "1", "service": self.service}
        (pack,) = self.client.measures(asked | {"by": "attribute:tracejury.persona"}).items
        return {
            group.key: (
                group.sessions,
                group.invalid,
                {f"{one.kind} {one.letter}": one.value for one in group.trials.figures} if group.trials else {},
                group.own,
            )
            for group in (pack.total, *pack.items)
        }

    def sessions(self) -> Iterator[SessionJson]:
        """Each with all candidates for errors."""
        rows, _ = self.client.sessions({"service": self.service}, 1_000)
        for row in rows:
            yield self.client.session(row.session_id, service=self.service, profile="0")

    def verdicts(self) -> dict[tuple[str, str], Any]:
        """By task and persona: the values of each check, answers to items, and errors with their spans."""
        found: dict[tuple[str, str], Any] = {}
        for session in self.sessions():
            named = re.fullmatch(rf"In (\S+) as (\S+): {SAYS[0]}", session.exchanges[0].goal)
            assert named is not None
            spans = self.spans(session)
            places = {spans[0]: 0, spans[-1]: 1}
            errors = [
                (error.category[:90], places[error.span_id], round(error.confidence, 4))
                for exchange in session.exchanges
                for error in exchange.errors
                if error.judge == "ted-notes"
            ]
            answers = {
                verdict.judge: (verdict.value, sorted((item.item, item.answer) for item in verdict.items))
                for verdict in session.verdicts
            }
            found.setdefault((named[1], named[2]), []).append((answers, sorted(errors)))
        return {key: sorted(told, key=repr) for key, told in found.items()}

    def spans(self, session: SessionJson) -> list[str]:
        """Of the model's calls, in order."""
        traces = [self.client.trace(trace_id) for trace_id in dict.fromkeys(e.trace_id for e in session.exchanges)]
        return [str(turn.llm_span_id) for trace in traces for run in trace.agent_runs for turn in run.turns]


def as_chat(session: Session, task: str) -> dict[str, Any]:
    """The conversation as it was recorded elsewhere."""
    messages: list[dict[str, Any]] = []
    for word in SAYS:
        call = {"id": "c1", "type": "function", "function": {"name": "work", "arguments": json.dumps({"part": word})}}
        messages += [
            {"role": "user", "content": f"In {session.task} as {session.persona}: {word}"},
            {"role": "assistant", "content": f"I work on part {word}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "worked"},
            {"role": "assistant", "content": f"Part {word} is done."},
        ]
    return {"task": task, "persona": session.persona, "trial": 1, "service": "recorded", "messages": messages}


def write_cards(folder: Path) -> Mapping[str, TaskCard]:
    """All cards are imported; so many of each file are talked."""
    some: list[Any] = []
    for name, cards, notes in (("tau2bench", 21, 63), ("toolsandbox", 37, 109)):
        source, file = str(TED / f"{name}_dataset.json"), folder / f"{name}.yaml"
        told = run("talk", "import", source, "--from", "ted", "--out", str(file), "--max-turns", str(TURNS))
        assert told.startswith(f"{cards} cards with {notes} notes")
        some += yaml.safe_load(file.read_text())[: sized(3, 100)]
    (folder / "cards.yaml").write_text(yaml.safe_dump(some))
    return load_cards([str(folder / "cards.yaml")])


def test_talked_and_replayed_sessions_are_what_the_script_says(tmp_path: Path) -> None:
    """Each note that a run denies is one error at its span, each user error makes its session invalid."""
    cards = write_cards(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    script = Script(cards)
    with llm_server(script) as server:
        judges = {"model": "openai/scripted", "api_base": server.base, "agent_runs": False, "packs": ["ted"]}
        judges |= {"tasks": ["cards.yaml"]}
        (tmp_path / "serve.yaml").write_text(yaml.safe_dump({"judging": {"quiet_seconds": 0.3}, "judges": judges}))
        (tmp_path / "talk.yaml").write_text(yaml.safe_dump({"judges": {"api_base": server.base}}))
        with serving(tmp_path, "--config", "serve.yaml") as collector, ApiClient(collector.url) as client:
            talk(tmp_path, collector)
            talked = Told(client, "tracejury-talk")
            eventually(lambda: complete(talked, script))
            verdicts = check(talked, script)
            chats = [json.dumps(as_chat(one, task)) for (task, _), one in script.sessions.items()]
            (tmp_path / "chats.jsonl").write_text("\n".join(chats))
            endpoint = ("--endpoint", f"127.0.0.1:{collector.ports['grpc']}")
            run("replay", str(tmp_path / "chats.jsonl"), "--format", "chat", *endpoint)
            recorded = Told(client, "recorded")
            eventually(lambda: complete(recorded, script))
            assert check(recorded, script) == verdicts
            before = printed(collector)
            collector.stop()
        with serving(tmp_path, "--config", "serve.yaml") as collector:
            assert printed(collector) == before


def talk(folder: Path, collector: Serving) -> None:
    users = ("--persona", "both", "--user-model", "openai/scripted", "--config", "talk.yaml", "--at-once", "4")
    where = ("--endpoint", f"http://127.0.0.1:{collector.ports['grpc']}", "--url", collector.url)
    result = tracejury(
        "talk", "cards.yaml", "--agent", "agent:answer", *users, *where, folder=folder, patience=PATIENCE
    )
    assert result.returncode == 0, result.stdout + result.stderr


def complete(found: Told, script: Script) -> bool:
    """Whether all sessions are measured, or invalid."""
    try:
        sessions, invalid, *_ = found.measures()[""]
    except UnknownNameError:
        return False  # none of its service is stored yet
    return bool(sessions + invalid == len(script.sessions))


def check(found: Told, script: Script) -> dict[tuple[str, str], Any]:
    """What the collector tells is what the script has planned; its verdicts."""
    expected: defaultdict[tuple[str, str], list[Session]] = defaultdict(list)
    for one in script.sessions.values():
        expected[one.task, one.persona].append(one)
    verdicts = found.verdicts()
    assert verdicts.keys() == expected.keys()
    for key, planned in expected.items():
        assert sorted(errors for _, errors in verdicts[key]) == sorted(
            sorted((note, *place) for note, place in one.errors.items()) for one in planned
        ), key
        for answers, _ in verdicts[key]:
            wrong = [item.partition(":")[0] for item, answer in answers["ted-user"][1] if answer == "present"]
            assert wrong == [one.error for one in planned if one.error][:1]
    assert sum(bool(one.error) for one in script.sessions.values()) == len(USER_ERRORS) == 6
    for persona, (sessions, invalid, told, own) in found.measures().items():
        these = {key: one for key, one in script.sessions.items() if persona in {"", key[1]}}
        kept = [one for one in these.values() if not one.error]
        assert (sessions, invalid) == (len(kept), len(these) - len(kept))
        assert {name: told[name] for name in recomputed(these)} == pytest.approx(recomputed(these))
        assert own["E"] == pytest.approx(fmean(fmean(map(one.share, one.notes)) for one in kept))
    return verdicts


def printed(collector: Serving) -> tuple[str, str]:
    """The report, and all errors."""
    by = ("--trials", "--k", "1", "--by", "attribute:tracejury.persona", "--url", collector.url)
    errors = ("--judge", "ted-notes", "--profile", "0", "--limit", "1000", "--url", collector.url)
    return run("measures", "--pack", "ted", "--simulated", *by), run("errors", *errors)
