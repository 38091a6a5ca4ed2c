"""The ledger of LLM judges and the architectures over memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracejury.schemas.llm_rows import Architecture, LedgerRow, Source, Spend, text_version
from tracejury.schemas.queries.ledger import JudgedState, LedgerEntry, LedgerQuery
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind, Verdict

NOW = 1_795_169_386_000_000_000
SECOND = 1_000_000_000
KNOWN = "a" * 32


@dataclass
class MemoryLedger:
    """A ledger over a list, with the order and the limits that the protocol asks for; keeps what it was asked."""

    words: list[LedgerEntry] = field(default_factory=list)
    seen: dict[str, JudgedState] = field(default_factory=dict)
    spent: list[Spend] = field(default_factory=list)
    asked: list[LedgerQuery] = field(default_factory=list)

    def entries(self, query: LedgerQuery) -> Sequence[LedgerEntry]:
        """By latest word."""
        self.asked.append(query)
        before = (query.before.time, query.before.id) if query.before else (2**63, "")
        kept = [
            e
            for e in self.words
            if (e.word.judged_at, e.id) < before
            and e.word.judged_at >= query.since
            and query.trace_id in ("", e.word.trace_id)
            and query.outcome in (None, e.word.outcome)
        ]
        return sorted(kept, key=lambda e: (e.word.judged_at, e.id), reverse=True)[: query.limit]

    def summary(self, query: LedgerQuery) -> Mapping[Outcome, int]:
        """Of all words of the trace."""
        return Counter(e.word.outcome for e in self.words if query.trace_id in ("", e.word.trace_id))

    def judged_trace(self, trace_id: str) -> JudgedState | None:
        """As it was put here."""
        return self.seen.get(trace_id)

    def pending_runs(self, trace_ids: Sequence[str]) -> Mapping[str, int]:
        """Words that say so."""
        return Counter(
            e.word.trace_id for e in self.words if e.word.trace_id in trace_ids and e.word.outcome is Outcome.PENDING
        )

    def spend(self, since: int) -> Sequence[Spend]:
        """From the hour of `since` on."""
        return [s for s in self.spent if s.hour >= since]


@dataclass
class MemoryArchitectures:
    """Descriptions in a list, the latest last."""

    kept: list[Architecture] = field(default_factory=list)

    def current(self, service: str) -> Architecture | None:
        """What a person did last decides, else the last derived one."""
        last = {a.source is Source.DERIVED: a for a in self.kept if a.service == service}
        edited = last.get(False)
        return edited if edited and edited.source is Source.EDITED else last.get(True)

    def all_current(self) -> Sequence[Architecture]:
        """By service."""
        found = (self.current(service) for service in sorted({a.service for a in self.kept}))
        return [a for a in found if a]

    def versions(self, service: str) -> Sequence[Architecture]:
        """Latest first."""
        return [a for a in reversed(self.kept) if a.service == service]

    def keep(self, service: str, text: str, source: Source) -> Architecture:
        """At the end."""
        self.kept.append(Architecture(service, text_version(text), source, text, NOW + len(self.kept)))
        return self.kept[-1]

    def clear_edit(self, service: str) -> bool:
        """A cleared version at the end."""
        current = self.current(service)
        if current is None or current.source is not Source.EDITED:
            return False
        self.keep(service, "", Source.CLEARED)
        return True


def ledger_entry(number: int, **changes: Any) -> LedgerEntry:
    """What the goal judge said of a run `number` seconds after NOW."""
    values: dict[str, Any] = {
        "tenant": "", "trace_id": KNOWN, "kind": SubjectKind.AGENT_RUN, "subject_id": f"run-{number}",
        "judge": "goal-fulfilment", "version": "v1", "input_hash": "h", "outcome": Outcome.DONE, "reason": "",
        "model": "some/model", "probability": 1.0, "findings": 0, "dropped": 0, "judged_at": NOW + number * SECOND,
        "received_through": NOW,
    }  # fmt: skip
    word = LedgerRow(**(values | changes))
    subject = Subject(word.kind, word.subject_id, word.trace_id)
    verdict = Verdict(word.judge, "v1", subject, 2) if word.outcome is Outcome.DONE else None
    return LedgerEntry(word, f"{number:032x}", "svc", "agent", verdict)
