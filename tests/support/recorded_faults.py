"""Sessions of recorded traces before a scripted model that finds fault with items chosen by hash."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from check_replies import entry, numbers
from deliberations import rehearse

from tracejury.collector.judging.llm.packs.pack_judge import recorded_subject
from tracejury.judges.checks.case import CheckCase
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.checks.item_source import ItemCase
from tracejury.judges.checks.verdict import verdict_of
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.packs.asked import asked_check
from tracejury.judges.packs.cards.task_cards import ServiceTerms, SessionTerms
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.transcript import session_record, split, upto
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import SessionRecord, Step
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

OMITTED: Final = "omitted observation"
INVENTED: Final = "this was written down by nobody, 5b1f"
POLICIES: Final = tuple(f"Rule {number}: state no figure that nothing shows." for number in range(1, 6))

_ITEM: Final = re.compile(r"^(\d+)(?: (E\d+\.S\d+))?\n ([^\n]*)$", re.MULTILINE)
_LEAST: Final = 10  # characters of a quote


@dataclass(frozen=True, slots=True)
class Fault:
    """What the model says is wrong: at which step, with which quote. `item`: as the prompt shows it, "" beside them."""

    check: str
    item: str
    step: Step
    quote: str

    @property
    def real(self) -> bool:
        """Whether the record shows the quote at the step."""
        return self.quote != INVENTED


@dataclass
class FaultFinder:
    """Answers the prompts of one subject: about every fourth item is at fault, every fourth fault is invented.

    Beside the items of about every fourth answer it reports an omission. `asked`: items by check; `calls`: prompts.
    """

    seed: str
    record: SessionRecord
    number: int | None
    faults: list[Fault] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    calls: int = 0

    def __call__(self, prompt: Prompt) -> str:
        """The reply."""
        self.calls += 1
        text = prompt.messages[-1].text
        items = {int(number): (label, said) for number, label, said in _ITEM.findall(text)}
        answers: list[dict[str, Any]] = []
        also: list[dict[str, Any]] = []
        for check, own in numbers(text).items():
            listed = [(None, ("", mention)) for mention in self._mentions()] if not own else []
            answers += [self._answer(check, n, *at) for n, at in [*((n, items[n]) for n in own), *listed]]
            also += self._omitted(check) if not own else []
        return json.dumps({"answers": answers, "also": also, "summary": None}, ensure_ascii=False)

    def _answer(self, check: str, number: int | None, label: str, said: str) -> dict[str, Any]:
        self.asked[check] += 1
        mention = said if number is None else None
        best, worst = ("kept", "violated") if check == "pipa-policy" else ("yes", "no")
        key = f"{check} {label} {said}"  # however the items are dealt out to calls
        steps = [s for s in self._steps() if not label or s.label == label]
        if number is None:
            steps = [s for s in steps if s.label == self._answered()]
        fault = self._fault(check, key, said, steps)
        if fault is None:
            return entry(check, number, best, mention=mention)
        return entry(check, number, worst, mention=mention, label=fault.step.label, quote=fault.quote)

    def _omitted(self, check: str) -> list[dict[str, Any]]:
        """What the answer leaves out: at any step."""
        fault = self._fault(check, f"{check} also", "", self._steps())
        said = {"check": check, "category": OMITTED, "reason": "It is left out."}
        return [said | {"label": fault.step.label, "quote": fault.quote}] if fault else []

    def _fault(self, check: str, key: str, said: str, steps: Sequence[Step]) -> Fault | None:
        step = self._chosen(f"step {key}", [s for s in steps if quotable(s)])
        if step is None or self._hash(key) % 4:
            return None
        real = self._hash(f"real {key}") % 4
        self.faults.append(Fault(check, said, step, self._chosen(f"quote {key}", quotable(step)) if real else INVENTED))
        return self.faults[-1]

    def _steps(self) -> Sequence[Step]:
        steps = self.record.transcript.steps
        if self.number is None:
            return steps
        one = self.record.exchanges[self.number]
        return steps[one.first : one.last]

    def _answered(self) -> str:
        return self.record.exchanges[self.number].answered if self.number is not None else ""

    def _mentions(self) -> list[str]:
        """Words of the answer: up to three of its lines."""
        answer = self.record.exchanges[self.number].exchange.answer if self.number is not None else ""
        lines = [line.strip()[:80].strip() for line in answer.splitlines()]
        return list(dict.fromkeys(line for line in lines if len(line) >= _LEAST))[:3]

    def _chosen(self, key: str, among: Sequence[Any]) -> Any:
        return among[self._hash(key) % len(among)] if among else None

    def _hash(self, key: str) -> int:
        return int.from_bytes(blake2b(f"{self.seed} {key}".encode("utf-8", "replace"), digest_size=4).digest(), "big")


def quotable(step: Step) -> list[str]:
    """Quotes that a model may copy from recorded lines of a step."""
    lines = (line.strip() for line in step.text.splitlines() if line.startswith(" "))
    return [line[:200].strip() for line in lines if len(line) >= _LEAST]


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """What came of a session: by exchange, and last of the session itself."""

    record: SessionRecord
    subjects: tuple[tuple[FaultFinder, Deliberation], ...]
    measures: Mapping[str, Verdict]


def judged(name: str, traces: Sequence[Trace], pack: Pack, room: int = 10**9) -> JudgedRecord:
    """The session's exchanges one by one, then the session, as the collector judges them; `room`: of a chapter."""
    whole = session_record(name, traces)
    terms = SessionTerms(service=ServiceTerms(policies=POLICIES))
    how = HowAsked(pack.formulas, {check.name: "v" for check in pack.checks}, mode=pack.settings.mode)
    said: list[tuple[FaultFinder, Deliberation]] = []
    exchanges: dict[str, list[Verdict]] = {}
    for number in [*range(len(whole.exchanges)), None]:
        record = whole if number is None else upto(whole, number)
        recorded = recorded_subject(record, traces, number)
        by_id = recorded.traces
        kind = "session" if number is None else "exchange"
        checks = [check for check in pack.checks if check.subject == kind]
        one = recorded.last
        subject = Subject(SubjectKind.SESSION, name, "")
        if number is not None:
            subject = Subject(SubjectKind.EXCHANGE, one.exchange.id, one.trace_id)
        asked = tuple(asked_check(pack, ItemCase(check, recorded, lambda: terms)) for check in checks)
        finder = FaultFinder(f"{name} {number}", record, number)
        case = CheckCase(subject, record, by_id, asked, by_id[one.trace_id].service, number)
        chapters = split(record.transcript, room, lambda text: len(text) // 4)
        came = rehearse(judge_checks(case, how, chapters), ScriptedClient(finder))
        said.append((finder, came))
        for verdict in came.verdicts:
            exchanges.setdefault(verdict.judge, []).append(verdict)
    session = Subject(SubjectKind.SESSION, name, "")
    measures = {
        check.name: verdict_of(
            check, "v", pack.formulas[check.name], session, [verdict.items for verdict in exchanges[check.name]]
        )
        for check in pack.checks
    }
    return JudgedRecord(whole, tuple(said), measures)
