"""Rules that are switched off, or whose confidence is lowered, on all services or on some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tracejury.schemas.findings import Draft

from .records import family


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """What is set for a rule, or for all rules of a family (`records.family`), on these services, or on all (none).

    `confidence`: the most that its findings have there; None: they are switched off.
    """

    rule: str
    confidence: float | None = None
    services: frozenset[str] = frozenset()

    def covers(self, rule: str, service: str) -> bool:
        """Whether it is about this rule on this service."""
        return self.rule in (rule, family(rule)) and (not self.services or service in self.services)


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """All settings. Where several cover a rule on a service, the strictest counts, whatever their order."""

    settings: tuple[RuleSetting, ...] = ()

    @property
    def version(self) -> str:
        """Text that changes with any setting; "" without one."""
        told = sorted((s.rule, repr(s.confidence), sorted(s.services)) for s in self.settings)
        return repr(told) if told else ""

    def allows(self, rule: str, service: str) -> bool:
        """Whether the rule is not switched off on the service."""
        return not self.settings or self.bound(rule, service) is not None

    def bound(self, rule: str, service: str) -> float | None:
        """The most confidence that the rule's findings have on the service, 1.0 for any; None: it is switched off."""
        covering = [s for s in self.settings if s.covers(rule, service)]
        return None if any(s.confidence is None for s in covering) else _least(covering)

    def lowered(self, drafts: Iterable[Draft], service: str) -> list[Draft]:
        """The drafts, in order, none surer than its rule may be on the service."""
        return [replace(d, confidence=self._most(d, service)) for d in drafts] if self.settings else list(drafts)

    def _most(self, draft: Draft, service: str) -> float:
        return min(draft.confidence, _least(s for s in self.settings if s.covers(draft.judge, service)))


def _least(settings: Iterable[RuleSetting]) -> float:
    return min((s.confidence for s in settings if s.confidence is not None), default=1.0)
