"""Traces with findings that the settings of detectors do not allow, since they were judged under others."""

from __future__ import annotations

from typing import Final

from tracejury.judges.records import family
from tracejury.judges.registry import priors
from tracejury.judges.rule_settings import RuleSetting
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.verdicts import DETECTORS

from .client import Store
from .lists.findings import HOLDS
from .pending_traces import JUDGED

# Of all tenants: judging again is the collector's own affair.
_BEYOND: Final = f"""
SELECT DISTINCT found.tenant, found.TraceId
FROM
(
    SELECT tenant, TraceId FROM findings FINAL
    WHERE JudgedBy = '{DETECTORS}' AND {HOLDS} AND (tenant, TraceId) > ({{tenant:String}}, {{trace_id:String}})
        AND Judge IN {{rules:Array(String)}} AND Confidence > {{most:Float64}}
) AS found
INNER JOIN
(
    SELECT tenant, TraceId FROM traces FINAL
    WHERE {JUDGED} AND JudgedAt < {{before:UInt64}} AND (tenant, TraceId) > ({{tenant:String}}, {{trace_id:String}})
        AND (empty({{services:Array(String)}}) OR ServiceName IN {{services:Array(String)}})
) AS traces ON traces.tenant = found.tenant AND traces.TraceId = found.TraceId
ORDER BY found.tenant, found.TraceId
LIMIT {{limit:UInt64}}
"""


def beyond(store: Store, setting: RuleSetting, before: int, after: TraceKey, limit: int) -> list[TraceKey]:
    """Up to `limit` traces beyond `after`, in order, judged before then (unix nanos), with findings it does not allow.

    Raises RetryableError, StoreError.
    """
    values = {
        "rules": [setting.rule, *(rule for rule in priors() if family(rule) == setting.rule)],
        "most": -1.0 if setting.confidence is None else setting.confidence,
        "services": sorted(setting.services),
        "before": before,
        "tenant": after[0],
        "trace_id": after[1],
        "limit": limit,
    }
    return [(tenant, trace_id) for tenant, trace_id in store.rows(_BEYOND, values)]
