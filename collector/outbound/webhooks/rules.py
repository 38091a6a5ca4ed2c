"""Which findings a webhook is told of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ....schemas.findings import LIVE, FindingState
from ....schemas.queries.reader import Confidence
from ....schemas.queries.webhook_events import SENT, Event, Found, Looked
from ....schemas.taxonomy import Severity
from .config import WebhookConfig


@dataclass(frozen=True, slots=True)
class WebhookRules:
    """Which findings a webhook wants; empty sets want all."""

    confidence: Confidence
    severity: Severity = Severity.LOW
    categories: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    states: frozenset[FindingState] = LIVE
    retractions: bool = False

    @classmethod
    def of(cls, config: WebhookConfig) -> WebhookRules:
        """The rules of a configuration.

        Raises:
            ConfigError: no such profile.
        """
        return cls(
            confidence=Confidence.of(config.profile),
            severity=Severity(config.severity),
            categories=frozenset(config.categories),
            judges=frozenset(config.judges),
            services=frozenset(config.services),
            agents=frozenset(config.agents),
            states=frozenset(map(FindingState, config.states)),
            retractions=config.retractions,
        )

    def wants(self, found: Found) -> bool:
        """Whether the webhook is to be told of a finding as it stands now."""
        finding = found.finding
        return (
            finding.state in self.states
            and finding.severity.rank >= self.severity.rank
            and finding.confidence >= self.confidence.least(found.conventions)
            and _among(finding.category, self.categories)
            and _among(finding.judge, self.judges)
            and _among(found.service, self.services)
            and _among(found.agent, self.agents)
        )


def _among(value: str, wanted: frozenset[str]) -> bool:
    return not wanted or value in wanted


def news(looked: Looked, rules: WebhookRules, since: int) -> Iterator[tuple[Event, Found]]:
    """Events that the webhook was not told of yet, one for each fingerprint.

    `since`: when it was set up, unix nanos. Of several findings of one fingerprint the surest speaks; it counts as
    retracted only once none of them holds.
    """
    for fingerprint, group in _by_fingerprint(looked.found):
        holding = [f for f in group if f.finding.state in LIVE]
        told = looked.told.get((fingerprint, Event.FOUND))
        if holding and told is None:
            wanted = [f for f in holding if f.finding.first_seen >= since and rules.wants(f)]
            if wanted:
                yield Event.FOUND, max(wanted, key=lambda f: (f.finding.confidence, f.finding.id))
        gone = not holding and told == SENT and (fingerprint, Event.RETRACTED) not in looked.told
        if gone and rules.retractions:
            yield Event.RETRACTED, max(group, key=lambda f: (f.judged_at, f.finding.id))


def _by_fingerprint(found: Iterable[Found]) -> Iterator[tuple[str, list[Found]]]:
    groups: dict[str, list[Found]] = {}
    for one in found:
        groups.setdefault(one.finding.fingerprint, []).append(one)
    yield from groups.items()
