"""Judging by packs over the real store: detectors with a clock of ours, checks answered by a script."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from judging_bench import T0
from judging_bench import Bench as Detecting
from llm_bench import Watch, WorkerBench

from tracejury.collector.judging.llm.descriptions import no_description
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.judge_worker import Judges, JudgeWorker
from tracejury.collector.judging.llm.judging_steps import JudgingSteps
from tracejury.collector.judging.llm.packs.build import PackJudging, build_packs
from tracejury.collector.judging.llm.packs.pack_judge import PackJudge
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.llm.verification import Verifier
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.client import Client, Prompt
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.llm.selection import Policy
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.registry import default_suite
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.spans import STATUS_ERROR, Span
from tracejury.schemas.verdicts import DETECTORS, Subject, SubjectKind, Verdict, session_subject_id

SERVICE, CHAT = "shop", "chat-1"
QUIET = 60
SECOND: Final = 1_000_000_000

_BLOCK: Final = re.compile(r"^# (?P<check>[a-z0-9-]+)\n(?:(?!^# ).*\n?)*", re.MULTILINE)
_NUMBERS: Final = re.compile(r"^Items? (\d+)(?: to (\d+))?\.$", re.MULTILINE)
_ITEM: Final = re.compile(r"^(\d+)(?: (E\d+\.S\d+))?\n ([^\n]*)$", re.MULTILINE)
_ANSWERS: Final = re.compile(r"^Answers(?:, best first)?:(?: ([^\n]*?)\. `|\n((?:- `[^\n]*\n)+))", re.MULTILINE)
_MEANT: Final = re.compile(r"^- `([a-z0-9-]+)`: ", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """An item of a check that is below the best: one whose text holds `item`; `quote` stands at `label`, or its own.

    `answer`: "" for the last of the scale.
    """

    check: str
    item: str
    quote: str
    reason: str = "It is not so."
    label: str = ""
    answer: str = ""


@dataclass
class FairChecker:
    """Answers prompts of checks: the best answer but for `faults`; `mentions` lists observations by a word of them."""

    faults: Sequence[Fault] = ()
    mentions: Sequence[str] = ()
    prompts: list[Prompt] = field(default_factory=list)

    def __call__(self, prompt: Prompt) -> str:
        """The reply."""
        self.prompts.append(prompt)
        return self.reply(prompt.messages[-1].text)

    def reply(self, text: str) -> str:
        """The reply to a prompt that ends with this message."""
        items = {int(number): (label, said) for number, label, said in _ITEM.findall(text)}
        answers: list[dict[str, Any]] = []
        for block in _BLOCK.finditer(text.rpartition("===\n")[2]):
            named, scale = _NUMBERS.search(block[0]), _ANSWERS.search(block[0] + "\n")
            assert scale is not None
            words = scale[1].split(", ") if scale[1] else _MEANT.findall(scale[2])
            if named is None:
                answers += [self._answer(block["check"], None, "", m, words) for m in self.mentions if m in text]
                continue
            for number in range(int(named[1]), int(named[2] or named[1]) + 1):
                answers.append(self._answer(block["check"], number, *items[number], words))
        return json.dumps({"answers": answers, "also": [], "summary": None})

    def _answer(self, check: str, number: int | None, label: str, said: str, words: Sequence[str]) -> dict[str, Any]:
        fault = next((f for f in self.faults if f.check == check and f.item in said), None)
        return {
            "check": check,
            "item": number,
            "mention": said if number is None else None,
            "reason": fault.reason if fault else "It is so.",
            "answer": (fault.answer or words[-1]) if fault else words[0],
            "label": (fault.label or label) if fault else None,
            "quote": fault.quote if fault else None,
        }


@dataclass(frozen=True)
class Called:
    """A tool call of an exchange; `failed`: the error that it brings."""

    tool: str
    arguments: str
    result: str = "done"
    failed: str = ""
    thought: str = ""


def exchange(
    name: str,
    asked: str,
    calls: Sequence[Called],
    answer: str,
    *,
    session: str = CHAT,
    at: int = 0,
    extra: Mapping[str, str] | None = None,
) -> list[Span]:
    """Spans of a trace (id: `name` repeated) with one exchange, in OpenInference; `at`: seconds; `extra` attributes."""
    trace_id, start = name * 32, T0 + at * SECOND
    root = f"{name}a".rjust(16, "0")
    attributes = {
        "openinference.span.kind": "AGENT", "agent.name": "clerk", "input.value": asked, "output.value": answer,
    } | dict(extra or {})  # fmt: skip
    if session:
        attributes["session.id"] = session
    spans = [Span(trace_id, root, "", "clerk", start, start + 900_000_000, attributes, service=SERVICE)]
    history: list[tuple[str, str]] = [("system", "You are a clerk of the shop."), ("user", asked)]
    for number, call in enumerate([*calls, None]):
        llm = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
        for i, (role, said) in enumerate(history):
            llm |= {
                f"llm.input_messages.{i}.message.role": role, f"llm.input_messages.{i}.message.content": said
            }  # fmt: skip
        llm["llm.output_messages.0.message.role"] = "assistant"
        begun = start + (2 * number + 1) * 1_000_000
        span_id = f"{name}b{number:x}".rjust(16, "0")
        if call is None:
            llm["llm.output_messages.0.message.content"] = answer
            spans.append(Span(trace_id, span_id, root, "chat", begun, begun + 1000, llm, service=SERVICE))
            break
        key = "llm.output_messages.0.message.tool_calls.0.tool_call"
        llm |= {
            "llm.output_messages.0.message.content": call.thought,
            f"{key}.id": f"c{number}", f"{key}.function.name": call.tool, f"{key}.function.arguments": call.arguments,
        }  # fmt: skip
        spans.append(Span(trace_id, span_id, root, "chat", begun, begun + 1000, llm, service=SERVICE))
        tool = {"openinference.span.kind": "TOOL", "tool.name": call.tool, "input.value": call.arguments}
        tool_id = f"{name}c{number:x}".rjust(16, "0")
        if call.failed:
            did = Span(
                trace_id, tool_id, root, call.tool, begun + 1000, begun + 2000, tool, service=SERVICE,
                status_code=STATUS_ERROR, status_message=call.failed,
            )  # fmt: skip
        else:
            tool["output.value"] = call.result
            did = Span(trace_id, tool_id, root, call.tool, begun + 1000, begun + 2000, tool, service=SERVICE)
        spans.append(did)
        history += [("assistant", call.thought or call.tool), ("tool", call.failed or call.result)]
    return spans


class PackBench(WorkerBench):
    """A collector's judging by packs, without receivers. `detecting` moves the clock; `checker` answers."""

    def __init__(
        self,
        store: SharedStore,
        checker: FairChecker | None = None,
        *,
        client: Client | None = None,
        policy: Policy | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        self.checker = checker or FairChecker()
        self.client = client or ScriptedClient(self.checker)
        self.store, self.queue, self.watch = store, JudgeQueue(), Watch()
        self.stored = StoredLlmJudging(store)
        self.cases = StoredCases(store, AssemblerConfig(), lambda _span: False, self.clock)
        asked: dict[str, Any] = {"model": "scripted", "packs": ("pipa",), "session_quiet_seconds": QUIET}
        settings = LlmConfig(**asked | dict(config or {}))
        packs = load_packs(settings.packs, settings.pack_settings)
        built = build_packs(packs, settings, store, self.cases, policy or Policy(), self.queue, self.clock)
        assert built is not None
        self.packs: PackJudging = built
        self.detecting = Detecting(store, default_suite(), selectors=[built.selector])
        how = PromptBudget(llm_judges_of(load_set("production"), "scripted"), 30_000, lambda text: len(text) // 4)

        @asynccontextmanager
        async def open_judges(runner: LoopRunner) -> AsyncIterator[Judges]:
            steps = JudgingSteps(self.client, how, Verifier(self.client, settings.verify, patience=None))
            judge = PackJudge(
                built.panel, self.cases, built.sessions, steps, runner, no_description, self.watch, self.clock
            )
            yield {SubjectKind.EXCHANGE: judge, SubjectKind.SESSION: judge}

        self.worker = JudgeWorker(
            self.cases, self.queue, None, open_judges, built.panel.versions, self.watch, clock=self.clock
        )

    def at_rest(self) -> bool:
        """The same; time passes where a subject waits for others."""
        if (due := self.queue.next_due()) is not None and not self.queue.in_flight:
            self.detecting.now = max(self.detecting.now, due)
            self.queue.wake_event.wake()  # the worker looks at its clock, which goes by ours
        return self.worker.idle

    def close(self) -> None:
        """Let the session's quiet time pass, and judge what closes."""
        self.detecting.wait(QUIET + 30)
        self.packs.closing.tick(self.clock())
        self.settle()

    def say(self, *traces: Sequence[Span]) -> None:
        """These traces arrive and settle, and their exchanges are judged."""
        for spans in traces:
            self.detecting.commit(*spans)
        self.detecting.wait(20)
        self.detecting.wait(20)
        self.settle()

    def hold_session(self, *traces: Sequence[Span]) -> None:
        """A whole session: these traces are said, and it closes."""
        with self.running():
            self.say(*traces)
            self.close()

    def verdicts(self, *names: str) -> dict[tuple[SubjectKind, str], Verdict]:
        """The stored verdicts of traces (by name) on exchanges, and of the session, by kind and judge."""
        found = StoredReading(self.store).load_verdicts([*(name * 32 for name in names), ""])
        return {(v.subject.kind, v.judge): v for verdicts in found.values() for v in verdicts}

    def session(self) -> dict[str, Verdict]:
        """The session's verdicts by judge."""
        subject = Subject(SubjectKind.SESSION, session_subject_id(SERVICE, CHAT), "")
        found = StoredReading(self.store).load_verdicts([""])
        return {v.judge: v for v in found.get("", ()) if v.subject == subject}

    def findings(self, *names: str) -> list[Finding]:
        """What packs found in these traces, in any state."""
        found = self.stored.run_findings([name * 32 for name in names])
        return [finding for findings in found.values() for finding in findings]

    def rows(self, *names: str) -> list[LedgerRow]:
        """The latest entries about these traces and the session."""
        said = self.stored.outcomes([*(name * 32 for name in names), ""])
        return [row for rows in said.values() for row in rows.values() if row.judge != DETECTORS]
