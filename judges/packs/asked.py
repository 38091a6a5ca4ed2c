"""A check of a pack with its items in a subject."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.item_source import ItemCase
from tracejury.judges.llm.case import Deliberation
from tracejury.schemas.findings import LIVE, Finding

from .pack_types import Pack


def asked_check(pack: Pack, case: ItemCase, settled: Collection[str] = ()) -> AskedCheck:
    """The check of a case with its items but for those that are `settled`, and what is shown beside them."""
    check = case.check
    if check.persona and not case.terms.persona:
        return AskedCheck(check, pack=pack.name, unanswered="its user is no simulated one with a persona")
    found = check.items.find(case)
    items = tuple(item for item in found.asked if item.text not in settled)
    shown = {key: told for key in check.shows if (told := case.terms.shown(key))}
    return AskedCheck(check, items, pack.name, found.answers, found.nothing, shown)


def of_exchange(
    said: Deliberation, detected: Iterable[Finding], checks: Mapping[str, tuple[Pack, Check]]
) -> Deliberation:
    """The answer about an exchange; a failed call at whose span a detector reports an error is no second one."""
    calls = {name for name, (_, check) in checks.items() if check.items.calls}
    spans = {i for f in detected if f.state in LIVE for i in (f.span_id, f.tool_span_id) if i}
    found = (f for f in said.findings if f.judge not in calls or f.span_id not in spans)
    return replace(said, findings=tuple(found))
