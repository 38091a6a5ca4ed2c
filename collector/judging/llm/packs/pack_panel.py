"""The configured packs, with the versions of their checks and the task cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tracejury.judges.checks.check_types import ItemSource
from tracejury.judges.checks.formula import Formula
from tracejury.judges.checks.how_asked import HowAsked, check_version
from tracejury.judges.checks.questions import Mode
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.packs.task_cards import TaskCard, policies_of
from tracejury.judges.packs.task_match import TaskMatch, match_task
from tracejury.schemas.trajectory import Trace

_NOTES: Final = {
    "clarify_then_execute": " (this task is to ask before acting)",
    "refuse_or_scope": " (this task is to refuse, or to say what is possible)",
}


@dataclass(frozen=True)
class PackPanel:
    """Packs that ask one model. `cards` by id, `task_keys`: attributes that name a session's task."""

    packs: tuple[Pack, ...]
    cards: Mapping[str, TaskCard]
    task_keys: Sequence[str]
    model: str
    parameters: Mapping[str, Any]
    max_answer_tokens: int

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """The version of each check, by name."""
        return {
            check.name: check_version(
                check,
                pack.version_text(check.name),
                self.model,
                self.parameters,
                pack.settings.mode,
                self.max_answer_tokens,
            )
            for pack in self.packs
            for check in pack.checks
        }

    @cached_property
    def early(self) -> frozenset[str]:
        """Names of checks of sessions that are asked of exchanges, too."""
        return frozenset(c.name for p in self.packs for c in p.checks if p.settings.asks_early(c))

    @cached_property
    def of_sessions(self) -> frozenset[str]:
        """Names of checks of sessions."""
        return frozenset(c.name for p in self.packs for c in p.checks if c.subject == "session")

    @cached_property
    def of_exchanges(self) -> Mapping[str, str]:
        """The versions of the checks that are asked of exchanges, by name."""
        names = {c.name for p in self.packs for c in p.checks if c.subject == "exchange"} | self.early
        return {name: version for name, version in self.versions.items() if name in names}

    @cached_property
    def oracles(self) -> Mapping[str, Pack]:
        """The packs of the checks that ask the oracle of a task card, by check."""
        return {c.name: p for p in self.packs for c in p.checks if c.items is ItemSource.ORACLE}

    def live(self, trace: Trace) -> Mapping[str, str]:
        """The versions of the checks that are asked while an exchange of this trace goes on, by name."""
        asked = self.oracles and any(card.oracle for card in self.cards.values())
        card = self.terms([trace]).match.card if asked else None
        return {name: self.versions[name] for name in self.oracles} if card and card.oracle else {}

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """The formula of each check, by name."""
        return {name: formula for pack in self.packs for name, formula in pack.formulas.items()}

    def how(self, mode: Mode) -> HowAsked:
        """How checks are asked: those of packs with one mode share calls."""
        return HowAsked(self.formulas, self.versions, self.max_answer_tokens, mode)

    def terms(self, traces: Sequence[Trace]) -> SessionTerms:
        """What holds for the session of these traces, of which there is at least one."""
        spans = (span.raw for trace in traces for span in trace.spans.values())
        return SessionTerms(match_task(spans, self.cards, self.task_keys), traces[-1].service)


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The task that a session names, and its service."""

    match: TaskMatch
    service: str

    @property
    def note(self) -> str:
        """What the card says of how agents are to talk in this task, "" for nothing."""
        return _NOTES.get(self.match.card.oracle.type, "") if self.match.card and self.match.card.oracle else ""

    def policies(self, pack: Pack) -> tuple[str, ...]:
        """The policies of the task and of the service."""
        return policies_of(self.match.card, pack.settings.terms(self.service))
