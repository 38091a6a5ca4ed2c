"""Running detectors: isolated, their drafts checked, and rules of one run only where something changed for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from tracejury.schemas.findings import Draft
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace

from .base import Context, Detector
from .facts import RunFacts
from .memory import KnownDrafts, PlacedDraft, RuleDrafts
from .rest_of_trace import Reads
from .rule import RunRule
from .validate_draft import validation_error

MAX_DRAFTS: Final = 10_000
"""Drafts taken from one detector for one trace; more is a failure of the detector."""

_NOTHING: Final = RuleDrafts()


def run_detector(detector: Detector, trace: Trace, ctx: Context) -> RuleDrafts:
    """The valid ones of the drafts that a detector yields, and why it failed ("" where it did not)."""
    try:
        return _checked(detector.name, list(islice(detector.detect(trace, ctx), MAX_DRAFTS + 1)), trace.spans)
    except Exception as error:  # noqa: BLE001 - whatever a user's detector raises must not cost the others' findings
        return _failed(error)


def _checked(name: str, drafts: Sequence[Draft], spans: Mapping[str, NormalizedSpan]) -> RuleDrafts:
    if len(drafts) > MAX_DRAFTS:
        return _too_many()
    valid: list[PlacedDraft] = []
    failure = ""
    for draft in drafts:
        invalid = validation_error(draft, spans)
        if invalid:
            failure = failure or invalid
        else:
            valid.append(PlacedDraft(draft if draft.judge == name else replace(draft, judge=name)))
    return RuleDrafts(tuple(valid), failure)


def run_rules(rules: Sequence[RunRule], ctx: Context) -> list[RuleDrafts]:
    """What each rule found in all runs."""
    found: dict[int, list[RuleDrafts]] = {}
    try:
        runs = ctx.facts
    except Exception as error:  # noqa: BLE001 - as above: a trace that cannot be read fails the rules that read it
        return [_failed(error) for _ in rules]
    known, every = ctx.memory.drafts, tuple(rules)
    ctx.memory.drafts = {run_id: _in_run(every, facts, known.get(run_id), ctx) for run_id, facts in runs.items()}
    for drafts in ctx.memory.drafts.values():
        for at, part in drafts.by_rule.items():
            found.setdefault(at, []).append(part)
    return [_together(found[at]) if at in found else _NOTHING for at in range(len(rules))]


def _in_run(rules: tuple[RunRule, ...], facts: RunFacts, known: KnownDrafts | None, ctx: Context) -> KnownDrafts:
    before = known.by_rule if known is not None and known.rules == rules else {}
    if known is None or known.facts is not facts or known.rules != rules:
        known, changed = KnownDrafts(facts, rules, {}), [at for at, rule in enumerate(rules) if rule.looks_at(facts)]
    elif _stand(known.reads, ctx):
        changed = []
    else:
        changed = [at for at, part in known.by_rule.items() if not _stand(part.reads, ctx)]  # all of them look at it
    spans = ctx.spans
    for at in changed:
        ctx.note()
        try:
            drafts = rules[at].detect_in(facts, ctx, MAX_DRAFTS + 1)
            part = _checked(rules[at].name, drafts, spans) if drafts else None
            if part is not None and at in before:
                part.drafts = _as_placed(part.drafts, before[at].drafts)
        except Exception as error:  # noqa: BLE001 - as above
            part = _failed(error)
        known.by_rule.pop(at, None)
        # One that failed is run again: what it asked for last may have been what failed.
        reads = None if part is not None and part.raised else ctx.noted()
        if part is not None or reads is None or reads:
            known.by_rule[at] = part or RuleDrafts()
            known.by_rule[at].reads = reads
    if changed:
        asked = [part.reads for part in known.by_rule.values()]
        known.reads = None if None in asked else {q: a for each in asked if each is not None for q, a in each.items()}
    return known


def _as_placed(drafts: Sequence[PlacedDraft], before: Iterable[PlacedDraft]) -> tuple[PlacedDraft, ...]:
    """The drafts; of those that were made before and stood in their own spans, what is known is kept."""
    known = {(found.draft.span_id, found.draft.evidence): found for found in before if found.holds}
    return tuple(
        found
        if (found := known.get((new.draft.span_id, new.draft.evidence))) is not None and found.draft == new.draft
        else new
        for new in drafts
    )


def _stand(reads: Reads | None, ctx: Context) -> bool:
    """Whether what was asked about the rest of the trace is as it was."""
    try:
        return reads is not None and ctx.still(reads)
    except Exception:  # noqa: BLE001 - the rule itself fails by it and is reported
        return False


def _together(parts: Sequence[RuleDrafts]) -> RuleDrafts:
    drafts: list[PlacedDraft] = []
    for part in parts:
        drafts += part.drafts
        if part.raised or len(drafts) > MAX_DRAFTS:
            return part if part.raised else _too_many()
    return RuleDrafts(tuple(drafts), next((part.failure for part in parts if part.failure), ""))


def _too_many() -> RuleDrafts:
    return RuleDrafts(failure=f"more than {MAX_DRAFTS} drafts for one trace", raised=True)


def _failed(error: Exception) -> RuleDrafts:
    return RuleDrafts(failure=f"{type(error).__name__}: {error}"[:200].replace("\n", " "), raised=True)
