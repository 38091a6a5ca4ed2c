"""Which errors a webhook is told of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tracejury.judges.grouping import with_retracted
from tracejury.schemas.agent_errors import summary, whole_error
from tracejury.schemas.findings import LIVE, FindingState, Verification
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.queries.webhook_events import SENT, Event, Found, Looked, WebhookNews
from tracejury.schemas.taxonomy import Severity

from .config import WebhookConfig


@dataclass(frozen=True, slots=True)
class WebhookRules:
    """Which findings a webhook wants; empty sets want all but those of packs, which are to be named.

    `max_trace_age`: nanos from the end of a trace to its arrival.
    """

    confidence: Confidence
    severity: Severity = Severity.LOW
    categories: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    states: frozenset[FindingState] = LIVE
    retractions: bool = False
    only_verified: bool = False
    max_trace_age: int | None = None

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
            only_verified=config.only_verified,
            max_trace_age=None if config.max_trace_age_seconds is None else round(config.max_trace_age_seconds * 1e9),
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
            and (not self.only_verified or finding.verification is Verification.VERIFIED)
            and (not finding.beside or bool(self.judges or self.categories))
            and (self.max_trace_age is None or found.received - found.ended <= self.max_trace_age)
        )


def _among(value: str, wanted: frozenset[str]) -> bool:
    return not wanted or value in wanted


def news(looked: Looked, rules: WebhookRules, since: int) -> Iterator[WebhookNews]:
    """Events that the webhook was not told of yet: one for each error, whichever of its findings was told.

    `since`: when it was set up, unix nanos. The surest of the findings that the webhook wants speaks. An error is
    retracted once none of its findings holds.
    """
    places = {one.finding.id: one for one in looked.found}
    findings = {i: one.finding for i, one in places.items()}
    told = {error.id: error for error in looked.errors}
    for trace_id in dict.fromkeys(one.finding.trace_id for one in looked.found):
        of_trace = (error for error in looked.errors if error.trace_id == trace_id)
        errors = [error for one in of_trace if (error := whole_error(one, findings)) is not None]
        own = [one.finding for one in looked.found if one.finding.trace_id == trace_id]
        before, gone = with_retracted(errors, (f for f in own if f.state is FindingState.RETRACTED))
        for error in errors:
            parts = [places[finding.id] for finding in (*error.findings, *before.get(error.id, ()))]
            fingerprints = frozenset(one.finding.fingerprint for one in parts)
            is_told = any((fingerprint, Event.FOUND) in looked.told for fingerprint in fingerprints)
            if not is_told and (one := _new(parts, rules, since)):
                yield WebhookNews(Event.FOUND, one, told[error.id], fingerprints)
        for error in gone if rules.retractions else ():
            parts = [places[finding.id] for finding in error.findings]
            fingerprints = frozenset(one.finding.fingerprint for one in parts)
            sent = [one for one in parts if looked.told.get((one.finding.fingerprint, Event.FOUND)) == SENT]
            if sent and not any((f, Event.RETRACTED) in looked.told for f in fingerprints):
                last = max(sent, key=lambda one: (one.judged_at, one.finding.id))
                yield WebhookNews(Event.RETRACTED, last, summary(error), fingerprints)


def _new(own: Iterable[Found], rules: WebhookRules, since: int) -> Found | None:
    """The surest finding of an error that is wanted."""
    holding = (one for one in own if one.finding.state in LIVE)
    wanted = [one for one in holding if one.finding.first_seen >= since and rules.wants(one)]
    return max(wanted, key=lambda one: (one.finding.confidence, one.finding.id), default=None)
