"""The calibrations of rules by service: stored, with the newest ones at hand for judging. Any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.rule_calibrations import CALIBRATIONS, RuleCalibration
from tracejury.schemas.verdicts import DETECTORS

from .client import Store
from .inserting import store_rows
from .lists.findings import HOLDS
from .pending_traces import JUDGED
from .scope import TENANT, Scope

_ALL: Final = f"SELECT {CALIBRATIONS.select} FROM rule_calibrations FINAL ORDER BY tenant, Service, Version, Rule"
_OF_RULE: Final = (
    f"SELECT {CALIBRATIONS.select} FROM rule_calibrations FINAL "
    f"WHERE {TENANT} AND Service = {{service:String}} AND Rule = {{rule:String}} ORDER BY Version"
)

# Of all tenants: judging again is the collector's own affair.
_OUTDATED: Final = f"""
SELECT DISTINCT traces.tenant, traces.TraceId
FROM
(
    SELECT tenant, TraceId, ServiceName, JudgedAt FROM traces FINAL
    WHERE {JUDGED} AND (tenant, TraceId) > ({{tenant:String}}, {{trace_id:String}})
        AND (tenant, ServiceName) IN (SELECT tenant, Service FROM rule_calibrations)
) AS traces
INNER JOIN
(
    SELECT tenant, TraceId, Judge FROM findings FINAL
    WHERE JudgedBy = '{DETECTORS}' AND {HOLDS} AND (tenant, TraceId) > ({{tenant:String}}, {{trace_id:String}})
        AND Judge IN (SELECT Rule FROM rule_calibrations)
) AS found ON found.tenant = traces.tenant AND found.TraceId = traces.TraceId
INNER JOIN
(
    SELECT tenant, Service, Rule, max(At) AS Since FROM rule_calibrations GROUP BY tenant, Service, Rule
) AS moved ON moved.tenant = traces.tenant AND moved.Service = traces.ServiceName AND moved.Rule = found.Judge
WHERE traces.JudgedAt < moved.Since + {{others:UInt64}}
ORDER BY traces.tenant, traces.TraceId
LIMIT {{limit:UInt64}}
"""

OTHERS_READ: Final = 30 * SECOND
"""After so long each process on a server has read a calibration that another one stored."""

ServiceKey = tuple[str, str]
"""Tenant and service."""


class RuleCalibrations:
    """All calibrations of a store, as `load` read them last; `save` adds to them. `clock`: unix nanos."""

    def __init__(self, store: Store, clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._clock = store, clock
        self._newest: dict[ServiceKey, dict[str, RuleCalibration]] = {}
        self._changing = threading.Lock()

    def load(self) -> None:
        """Read what is stored, also by other processes. Raises RetryableError, StoreError."""
        with self._changing:
            self._newest = _with({}, map(CALIBRATIONS.read, self._store.rows(_ALL)))

    @property
    def services(self) -> Collection[ServiceKey]:
        """The services that have a calibration."""
        return self._newest.keys()

    def of(self, tenant: str, service: str) -> Mapping[str, RuleCalibration]:
        """The newest calibration of each rule of a service, by rule; also of those without any label by now."""
        return self._newest.get((tenant, service), {})

    def version(self, tenant: str, service: str) -> int:
        """The number of a service's calibration; 0 before the first."""
        return max((one.version for one in self.of(tenant, service).values()), default=0)

    def confidences(self, tenant: str, service: str) -> Mapping[str, float]:
        """The confidence of each rule that has labels, or opinions of judges, on the service."""
        return {rule: one.confidence for rule, one in self.of(tenant, service).items() if one.holds}

    def save(self, calibrations: Sequence[RuleCalibration]) -> None:
        """Judge with these from now on, and store them as of now.

        First used, then stamped: whatever was judged without them was judged before. Raises RetryableError, StoreError.
        """
        with self._changing:
            before = self._newest
            self._newest = _with(before, calibrations)
            stamped = [replace(one, at=self._clock()) for one in calibrations]
            try:
                rows = map(CALIBRATIONS.row, stamped)
                store_rows(self._store, "calibrations", "rule_calibrations", CALIBRATIONS.names, rows)
            except BaseException:
                self._newest = before
                raise
            self._newest = _with(before, stamped)

    def outdated(self, after: TraceKey, limit: int) -> list[TraceKey]:
        """Up to `limit` traces beyond `after`, in order, with findings of a rule that was moved since they were judged.

        On a server also those that another process may have judged before it had read of it.

        Raises RetryableError, StoreError.
        """
        others = 0 if self._store.embedded else OTHERS_READ
        values = {"tenant": after[0], "trace_id": after[1], "limit": limit, "others": others}
        return [(tenant, trace_id) for tenant, trace_id in self._store.rows(_OUTDATED, values)]


class TenantCalibrations:
    """The calibrations of one tenant's services, `of_all` being those of all tenants."""

    def __init__(self, store: Store, calibrations: RuleCalibrations, tenant: str = "") -> None:
        self._scope, self.of_all = Scope(store, tenant), calibrations

    def of(self, service: str) -> Mapping[str, RuleCalibration]:
        """See `RuleCalibrations.of`."""
        return self.of_all.of(self._scope.tenant, service)

    def history(self, service: str, rule: str) -> Sequence[RuleCalibration]:
        """The versions that moved a rule on a service, in order. Raises RetryableError, StoreError."""
        return [CALIBRATIONS.read(row) for row in self._scope.select(_OF_RULE, service=service, rule=rule)]


def _with(
    known: Mapping[ServiceKey, Mapping[str, RuleCalibration]], more: Iterable[RuleCalibration]
) -> dict[ServiceKey, dict[str, RuleCalibration]]:
    """The newest ones of both, `more` in order of version."""
    found = {key: dict(rules) for key, rules in known.items()}
    for one in more:
        found.setdefault((one.tenant, one.service), {})[one.rule] = one
    return found
