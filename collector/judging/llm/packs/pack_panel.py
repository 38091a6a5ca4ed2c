"""The configured packs, with the versions of their checks and the task cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.formula import Formula
from tracejury.judges.checks.how_asked import HowAsked, check_version
from tracejury.judges.checks.item_source import ItemSource
from tracejury.judges.checks.questions import Mode
from tracejury.judges.packs.cards.task_cards import SessionTerms, TaskCard
from tracejury.judges.packs.cards.task_match import TaskMatch, match_task
from tracejury.judges.packs.pack_types import Pack
from tracejury.schemas.simulation import persona
from tracejury.schemas.trajectory import Trace


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
    def checks(self) -> Mapping[str, tuple[Pack, Check]]:
        """Each check with its pack, by name."""
        return {check.name: (pack, check) for pack in self.packs for check in pack.checks}

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """The version of each check, by name; a measure of other checks is of theirs, too."""
        found: dict[str, str] = {}
        for name, (pack, check) in sorted(self.checks.items(), key=lambda one: bool(one[1][1].of)):
            text = " ".join([pack.version_text(name), *(found[of] for of in check.of)])
            sent = (self.model, self.parameters, pack.settings.mode, self.max_answer_tokens)
            found[name] = check_version(check, text, *sent)
        return {name: found[name] for name in self.checks}

    @cached_property
    def of_sessions(self) -> frozenset[str]:
        """Names of checks of sessions."""
        return frozenset(name for name, (_, check) in self.checks.items() if check.subject == "session")

    @cached_property
    def of_exchanges(self) -> Mapping[str, str]:
        """The versions of the checks that are asked of exchanges, by name."""
        return {name: self.versions[name] for name, (_, check) in self.checks.items() if check.at_exchanges}

    @cached_property
    def live_sources(self) -> Mapping[str, ItemSource]:
        """The sources of the checks that are asked while an exchange goes on, by check: they ask no model."""
        return {name: c.items for name, (_, c) in self.checks.items() if c.items.early and not c.asks}

    def live(self, trace: Trace) -> Mapping[str, str]:
        """The versions of the checks that are asked while an exchange of this trace goes on, by name."""
        wanted = {source.needs for source in self.live_sources.values()} - {""}
        stated = any(getattr(card, key, None) for card in self.cards.values() for key in wanted)
        card = SessionTask(self, [trace]).match.card if stated else None
        sources = self.live_sources.items()
        return {name: self.versions[name] for name, one in sources if not one.needs or getattr(card, one.needs, None)}

    def card_hash(self, traces: Sequence[Trace]) -> str:
        """What judges may see of the card of the session of these traces, as a hash; "" without a card."""
        card = SessionTask(self, traces).match.card if self.cards else None
        return card.hash if card else ""

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """The formula of each check, by name."""
        return {name: formula for pack in self.packs for name, formula in pack.formulas.items()}

    def how(self, mode: Mode, *, early_stop: bool = False) -> HowAsked:
        """How checks are asked: those of packs with one mode share calls."""
        return HowAsked(self.formulas, self.versions, self.max_answer_tokens, mode, early_stop=early_stop)


@dataclass(frozen=True)
class SessionTask:
    """The task of a session of at least one trace, and what holds for it; all spans are looked at once, when asked."""

    panel: PackPanel
    traces: Sequence[Trace]

    @cached_property
    def match(self) -> TaskMatch:
        """The task that the session names."""
        spans = (span.raw for trace in self.traces for span in trace.spans.values())
        return match_task(spans, self.panel.cards, self.panel.task_keys)

    @cached_property
    def persona(self) -> str:
        """The persona of its simulated user, "" for none."""
        return next((said for trace in self.traces if (said := persona(trace.spans))), "")

    def terms(self, pack: Pack) -> SessionTerms:
        """What holds for the session, by a pack's settings."""
        return SessionTerms(self.match.card, pack.settings.terms(self.traces[-1].service), self.persona)
