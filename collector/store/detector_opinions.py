"""What LLM judges say of detectors' findings, written to the rows of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ...judges.causes import led_by
from ...judges.verification import decided, verified
from ...schemas.detector_opinions import DetectorOpinion
from ...schemas.findings import LIVE
from ...schemas.judged_rows import FINDING_COLUMNS, FINDING_SELECT, finding_from_row, reviewed_row
from ...schemas.verdicts import DETECTORS
from .client import Store
from .given_opinions import FindingKey, ReviewedFinding, key_of
from .inserting import insert_rows
from .scope import TENANT, Scope

_STANDING: Final = f"""
SELECT {FINDING_SELECT}, JudgeVersion, JudgedAt, toUnixTimestamp64Nano(ReceivedAt) FROM findings FINAL
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND Id IN {{ids:Array(String)}} AND JudgedBy = '{DETECTORS}'
"""


def write_opinions(store: Store, opinions: Iterable[DetectorOpinion], now: int) -> None:
    """Put opinions on the findings that stand and that nobody has confirmed or refuted; all others stay as they are.

    Nothing is written of a finding that the detectors have retracted meanwhile, or whose trace is deleted. The caller
    is within `Changes.touching` of the traces. Raises the driver's errors: see `storing`.
    """
    by_tenant: defaultdict[str, dict[FindingKey, DetectorOpinion]] = defaultdict(dict)
    for one in opinions:
        by_tenant[one.tenant][one.tenant, one.trace_id, one.finding_id] = one
    if not by_tenant:
        return
    with store.opinions.writing:
        said = [one for tenant, given in by_tenant.items() for one in _reviewed(store, tenant, given, now)]
        rows = (reviewed_row(s.finding, s.version, s.judged_at, s.received, led_by(s.finding)) for s in said)
        store.opinions.remember(said)
        insert_rows(store, "findings", FINDING_COLUMNS, rows)


def _reviewed(
    store: Store, tenant: str, opinions: Mapping[FindingKey, DetectorOpinion], now: int
) -> Iterator[ReviewedFinding]:
    """The findings as the opinions leave them."""
    ids = {"trace_ids": sorted({key[1] for key in opinions}), "ids": sorted({key[2] for key in opinions})}
    for *row, version, judged_at, received in Scope(store, tenant).select(_STANDING, **ids):
        finding = finding_from_row(row)
        opinion = opinions.get(key_of(finding))
        stays = store.changes.stays((tenant, finding.trace_id), received)
        if opinion is None or not stays or finding.state not in LIVE or decided(finding):
            continue
        said = verified(finding, opinion.verification, opinion.by, opinion.reason)
        yield ReviewedFinding(said, version, max(now, judged_at + 1), received)
