"""Input tokens of judging a folder: of our prompts, of the paper's, and of the raw traces. No model is asked.

The prompts are those that would be sent: the same code makes them, and a script answers each with the shortest
well-formed answer: a score of every judge, and to a window some findings, so that closing prompts list them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from tracejury.collector.judging.llm.build import panel_from, windows_from
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.collector.judging.model.library import LIBRARY
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.members import LlmJudges, Mode
from tracejury.judges.llm.schedule import WindowRules
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.judges.reviews.candidates import CHECK, PURPOSE
from tracejury.processors.transcript.paper import paper_view
from tracejury.processors.transcript.views import raw_view
from tracejury.schemas.trajectory import Trace

from .architecture import ServiceDescriptions
from .judges_options import DERIVED, NO_ARCHITECTURE, JudgesOptions
from .judges_run import Progress
from .judges_trace import Judging, judge_trace
from .prefix_cache import PrefixCache
from .rebuilt import RebuiltFolder, rebuild_folder

TOKENIZER: Final = "gpt-4o"
PAPER_CALLS: Final = 7
ROOM: Final = 128_000
"""Tokens of a prompt, where no limit is given: that of the model whose tokenizer counts."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Prompts of one trace in one mode: tokens by purpose (plan, window, closing), and of these not from the cache.

    `schemas`: tokens of the answers' schemas, which some providers count as read; in no other figure.
    """

    calls: int
    tokens: Mapping[str, int]
    uncached: int
    schemas: int

    @property
    def total(self) -> int:
        """Tokens of all prompts."""
        return sum(self.tokens.values())


@dataclass(frozen=True, slots=True)
class TraceTokens:
    """One trace. `paper`: one call on the paper's preprocessing, its criteria not counted.

    `panel`, `separate`, `streaming`: ours, criteria and everything counted, with the architecture that was asked for.
    `checked`: panel mode with the question about the detectors' errors, where it is asked. `ablation`: panel mode by
    architecture.
    """

    name: str
    raw: int
    paper: int
    panel: Sent
    separate: Sent
    streaming: Sent
    checked: Sent
    ablation: Mapping[str, Sent]


@dataclass(frozen=True, slots=True)
class TokenReport:
    """All traces of a folder. `tokenizer`: of which model."""

    criteria: str
    tokenizer: str
    architecture: str
    traces: tuple[TraceTokens, ...]

    @property
    def panel_ratio(self) -> float:
        """Panel mode, of seven calls on the paper's preprocessing."""
        return self._total(lambda t: t.panel.total) / (PAPER_CALLS * self._total(lambda t: t.paper))

    @property
    def panel_uncached_ratio(self) -> float:
        """The panel ratio without the tokens in a prefix cache."""
        return self._total(lambda t: t.panel.uncached) / (PAPER_CALLS * self._total(lambda t: t.paper))

    @property
    def checked_ratio(self) -> float:
        """Panel mode with the question about the detectors' errors, of the same seven calls."""
        return self._total(lambda t: t.checked.total) / (PAPER_CALLS * self._total(lambda t: t.paper))

    @property
    def streaming_ratio(self) -> float:
        """All that streaming sends, without what a prefix cache has, by one closing call a run."""
        return self._total(lambda t: t.streaming.uncached) / self._total(lambda t: t.panel.tokens.get(CLOSING, 0))

    def _total(self, tokens: Callable[[TraceTokens], int]) -> int:
        return max(sum(map(tokens, self.traces)), 1)


CLOSING: Final = Stage.CLOSING.value


def report_tokens(options: JudgesOptions, progress: Progress) -> TokenReport:
    """Count what judging the folder takes; runs its own event loop.

    Raises:
        BrokenFileError, PermanentError: the folder does not hold what it should.
        ConfigError: no such criteria or judge, the architecture's file cannot be read, or litellm is not installed.
    """
    panel, _ = panel_from(options.llm)
    progress("reading", 0, 0)
    rebuilt = rebuild_folder(options.folder, limit=options.limit)
    names = dict.fromkeys((NO_ARCHITECTURE, DERIVED, options.architecture))
    shown = {name: ServiceDescriptions.of(name, rebuilt.traces) for name in names}
    counting = _Counting(options, rebuilt, panel, shown)
    rows = []
    for done, trace in enumerate(rebuilt.traces):
        progress("counting", done, len(rebuilt.traces))
        rows.append(counting.row(trace))
    return TokenReport(panel.criteria.name, TOKENIZER, options.architecture, tuple(rows))


class _Counting:
    """Counts trace after trace; what providers cache between runs, the system prompt, is kept per mode."""

    def __init__(
        self,
        options: JudgesOptions,
        rebuilt: RebuiltFolder,
        panel: LlmJudges,
        architectures: Mapping[str, ServiceDescriptions],
    ) -> None:
        self._options, self._rebuilt, self._panel, self._architectures = options, rebuilt, panel, architectures
        self._count = TokenCounter()
        self._systems: dict[str, set[str]] = {}
        self._windows = windows_from(options.llm)

    def row(self, trace: Trace) -> TraceTokens:
        chosen = self._options.architecture
        panel = {name: self._sent(trace, "panel", name) for name in self._architectures}
        return TraceTokens(
            name=self._rebuilt.name(trace),
            raw=self._count(raw_view(trace)),
            paper=self._count(paper_view(trace)),
            panel=panel[chosen],
            separate=self._sent(trace, "separate", chosen),
            streaming=self._sent(trace, "panel", chosen, self._windows),
            checked=self._sent(trace, "panel", chosen, hints=self._options.llm.hints),
            ablation=panel,
        )

    def _sent(
        self, trace: Trace, mode: Mode, architecture: str, windows: WindowRules | None = None, *, hints: bool = False
    ) -> Sent:
        description = self._architectures[architecture].of_service(trace)
        room = self._options.llm.max_input_tokens or ROOM
        panel = replace(self._panel, mode=mode)
        how = Judging(prompt_budget(panel, room, self._count, hints=hints), windows)
        client = ScriptedClient(shortest)
        asyncio.run(judge_trace(trace, how, client, self._rebuilt.detected.get(trace.trace_id, ()), description))
        systems = self._systems.setdefault(f"{mode} {architecture} {windows} {hints}", set())
        return _counted(_once(client.prompts), systems, self._count)


def shortest(prompt: Prompt) -> str:
    """The shortest well-formed answer; to a window with findings, one at each of its last steps."""
    if prompt.purpose == PURPOSE:
        asked = _ITEM.findall(prompt.messages[-1].text.partition("=== end of items")[0])
        said = {
            "check": CHECK.name,
            "mention": None,
            "reason": WHY,
            "answer": "confirmed",
            "label": None,
            "quote": None,
        }
        return answer(prompt, answers=[said | {"item": int(number)} for number in asked])
    if prompt.purpose != Stage.WINDOW.value:
        return answer(prompt)
    quotes = list(_quotes("".join(m.text for m in prompt.messages[1:])).items())[-FINDINGS:]
    return answer(prompt, [finding(label, quote, why=WHY) for label, quote in quotes])


FINDINGS: Final = 4
"""Findings of a window: a frontier model had 17 in a trace of about two runs (docs/evaluate.md)."""

WHY: Final = (
    "The step takes for granted what the tool has not shown, and goes on as if the question were answered by it."
)
_ITEM: Final = re.compile(r"^(\d+)(?: S\d+)?$", re.MULTILINE)
_STEP: Final = re.compile(r"(S\d+) ")
_LEAST, _MOST = 20, 120


def _quotes(record: str) -> dict[str, str]:
    """The first quotable line of record in each step, by label."""
    label = ""
    found: dict[str, str] = {}
    for line in record.splitlines():
        if not line.startswith(" "):
            step = _STEP.match(line)
            label = step[1] if step else label
        elif label and len(line) > _LEAST:
            found.setdefault(label, line[1:_MOST])
    return found


def _once(prompts: Iterable[Prompt]) -> list[Prompt]:
    """Prompts without those that the answer cache has from before."""
    return list({(p.run_id, *((m.role, m.text) for m in p.messages)): p for p in prompts}.values())


def _counted(prompts: Iterable[Prompt], systems: set[str], count: Callable[[str], int]) -> Sent:
    caches: dict[str, PrefixCache] = {}
    tokens: dict[str, int] = {}
    calls = uncached = schemas = 0
    for prompt in prompts:
        size = sum(count(m.text) for m in prompt.messages)
        cached = caches.setdefault(prompt.run_id, PrefixCache(count, systems)).cached(prompt)
        tokens[prompt.purpose] = tokens.get(prompt.purpose, 0) + size
        calls, uncached = calls + 1, uncached + size - cached
        schemas += count(json.dumps(prompt.schema))
    return Sent(calls, tokens, uncached, schemas)


class TokenCounter:
    """Counts tokens by TOKENIZER; what was counted once is known, by its hash."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def __call__(self, text: str) -> int:
        """Tokens of a text."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = int(LIBRARY.module.token_counter(model=TOKENIZER, text=text)) if text else 0
        return self._known[key]
