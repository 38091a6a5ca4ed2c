"""One look of a rule: what it sees, what it knows then, and what is to be told. All of it blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.store.alerts import StoredAlerts
from tracejury.schemas.alert_records import AlertFigure, AlertLook, AlertRecord
from tracejury.schemas.alerts import AlertState
from tracejury.schemas.errors import ConfigError

from .config import (
    AlertRule,
    CostRule,
    ErrorsRule,
    JudgingLagRule,
    LatencyRule,
    PatternRule,
    RateRule,
    RuleKind,
    SpendRule,
)
from .evaluate import RuleName, Seen, baseline, evaluated, last_told, message, telling, told
from .figures.errors import STORED_BY_THEN, new_errors
from .figures.judging import see_judging_lag, see_spend
from .figures.look import RuleLook
from .figures.patterns import see_patterns
from .figures.performance import see_cost, see_latency
from .figures.rate import see_rate

SEE: Final[Mapping[type[RuleKind], Callable[[Any, RuleLook], Seen]]] = {
    PatternRule: see_patterns,
    RateRule: see_rate,
    LatencyRule: see_latency,
    CostRule: see_cost,
    JudgingLagRule: see_judging_lag,
    SpendRule: see_spend,
}
"""What a rule of a kind sees; one about errors has no figure."""
_HOUR: Final = 3600 * 10**9
CURSOR: Final = ""
"""The key of what a rule about errors knows: up to when it has told of them."""


class RuleEvaluation:
    """A rule over the store. `looking` makes the reader's part of a look at a time (unix nanos).

    `due`: when what is decided at a time is told.
    """

    def __init__(
        self, rule: AlertRule, stored: StoredAlerts, looking: Callable[[int], RuleLook], due: Callable[[int], int]
    ) -> None:
        self.rule, self.stored = rule, stored
        self._told_by = due
        self.firing = 0
        self._looking, self._name = looking, RuleName(rule.project, rule.name)

    def look(self, now: int) -> Sequence[AlertRecord]:
        """The records with messages to send, once they are stored.

        Raises:
            RetryableError, StoreError: the store failed; the next look sees the same.
        """
        records = {record.key: record for record in self.stored.records(self.rule.name)}
        try:
            on = self.rule.on
            if isinstance(on, ErrorsRule):
                figures, changed, messages = self._errors(on, records, now)
            else:
                figures, changed, messages = self._figures(on, records, now)
        except ConfigError as error:
            self._keep((), str(error), records, now)
            return ()
        records |= {record.key: record for record in (*changed, *messages)}
        self.stored.save([record for record in records.values() if record in changed or record in messages])
        self.firing = sum(record.state is AlertState.FIRING for record in records.values())
        self._keep(figures, "", records, now)
        return messages

    def _figures(self, on: RuleKind, records: Mapping[str, AlertRecord], now: int) -> _Found:
        seen = SEE[type(on)](on, self._looking(now))
        if isinstance(on, PatternRule) and not records and not self.stored.looked(self.rule.name):
            after = baseline(self.rule.name, seen, now)
        else:
            after = evaluated(self.rule.name, records, seen, now)
        messages = telling(self._name, after, seen, self._next_at(records, now), now)
        changed = [record for key, record in after.items() if record != records.get(key)]
        return [reading.shown for reading in seen.readings], changed, messages

    def _errors(self, on: ErrorsRule, records: Mapping[str, AlertRecord], now: int) -> _Found:
        """What is there before the first look is not told; a message is never resolved."""
        known = records.get(CURSOR)
        if known is None:
            first = AlertRecord(self.rule.name, CURSOR, AlertState.RESOLVED, now)
            return (), [first], ()
        until = now - STORED_BY_THEN
        if until <= known.since or self._next_at(records, now) > now:
            return (), (), ()
        found = new_errors(on, self._looking(now), known.since, until)
        after = replace(known, since=until)
        if found is None:
            return (), [after] if until - known.since >= _HOUR else (), ()
        alert = replace(message(self._name, after, found, now), key=found.key, state=AlertState.FIRING)
        return [found.shown], (), [told(after, alert, "")]

    def _keep(self, figures: Sequence[AlertFigure], problem: str, records: Mapping[str, AlertRecord], now: int) -> None:
        rule = self.rule
        look = AlertLook(rule.name, rule.kind, rule.channels, figures, problem, now, self._next_at(records, now))
        self.stored.save_look(look)

    def _next_at(self, records: Mapping[str, AlertRecord], now: int) -> int:
        """When the rule may tell something again."""
        return max(now, last_told(records.values(), self._told_by, now) + self.rule.every)


_Found = tuple[Sequence[AlertFigure], Sequence[AlertRecord], Sequence[AlertRecord]]
"""What is seen, the records that changed, and those with a message to send."""
