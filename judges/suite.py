"""All detectors as one judge of a trace: isolated, gated, calibrated, de-duplicated, identified."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from typing import Final, Protocol

from tracejury.schemas.findings import Draft, Finding, finding_id, fingerprint
from tracejury.schemas.trajectory import Trace, TraceState

from .base import Context, Detector
from .evidence import OwnText, is_quote
from .memory import PlacedDraft, RuleDrafts, SuiteMemory
from .rule import RunRule
from .rule_runs import MAX_DRAFTS, run_detector, run_rules
from .rule_settings import RuleSettings

__all__ = ["MAX_DRAFTS", "Ranker", "Suite", "SuiteResult"]

NO_SETTINGS: Final = RuleSettings()


class Ranker(Protocol):
    """Turns drafts that passed the gate into drafts with calibrated confidences; pure."""

    version: str

    def rank(self, ctx: Context, drafts: Sequence[Draft]) -> list[Draft]:
        """Drafts with the confidence that a reader should compare with a profile's threshold; it may drop some."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The suite's result for one trace.

    `failures`: (detector, one line why) for each that raised, yielded garbage or could not be loaded. `dropped`:
    drafts whose evidence stood nowhere.
    """

    findings: tuple[Finding, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    dropped: int = 0


class Suite:
    """A set of detectors that judges whole traces; stateless, so one instance serves all threads."""

    def __init__(
        self,
        detectors: Iterable[Detector],
        ranker: Ranker | None = None,
        unloaded: Sequence[tuple[str, str]] = (),
        settings: RuleSettings = NO_SETTINGS,
    ) -> None:
        self.detectors: tuple[Detector, ...] = tuple(sorted(detectors, key=lambda d: d.name))
        self.unloaded = tuple(unloaded)
        self._ranker, self._settings = ranker, settings
        self.version: str = _version(self.detectors, ranker.version if ranker else "", settings.version)

    def judge(self, trace: Trace, memory: SuiteMemory | None = None) -> SuiteResult:
        """Findings of all detectors in `trace`, sorted by span, category and judge; never raises for a detector.

        Only closed turns are judged. `memory` may be kept by the caller between passes over a growing trace: it
        saves work and changes nothing.
        """
        ctx = Context(trace, memory)
        failures = list(self.unloaded)
        drafts: list[PlacedDraft] = []
        detectors: Sequence[Detector] = self.detectors
        if self._settings.settings:
            detectors = [d for d in detectors if self._settings.allows(d.name, trace.service)]
        for detector, found in zip(detectors, _run_all(detectors, trace, ctx), strict=True):
            drafts += found.drafts
            if found.failure:
                failures.append((detector.name, found.failure))
        gate = _Gate(trace, ctx.own_text)
        passed = [placed for draft in drafts if (placed := gate.place(draft)) is not None]
        if self._ranker is not None:
            passed = self._ranker.rank(ctx, passed)
        passed = self._settings.lowered(passed, trace.service)
        return SuiteResult(_identify(trace, passed, ctx.memory), tuple(failures), gate.dropped)


def _run_all(detectors: Sequence[Detector], trace: Trace, ctx: Context) -> Iterator[RuleDrafts]:
    """The valid drafts of each detector; those of rules that look at one run are known where nothing changed."""
    rules = tuple(d for d in detectors if isinstance(d, RunRule))
    by_rule = iter(run_rules(rules, ctx))
    return (next(by_rule) if isinstance(d, RunRule) else run_detector(d, trace, ctx) for d in detectors)


@dataclass(slots=True)
class _Gate:
    """Moves each draft to the span that holds its evidence, in a closed turn, or drops it."""

    trace: Trace
    own: OwnText
    dropped: int = 0

    def place(self, found: PlacedDraft) -> Draft | None:
        draft = found.draft
        span_id = self._settle(found)
        if span_id is None:
            self.dropped += 1
            return None
        place = self.own.place(span_id, draft.agent_run_id)
        if place is None:
            return draft if draft.span_id == span_id else replace(draft, span_id=span_id)
        run, turn = place
        if self.trace.state is TraceState.OPEN and not turn.closed:
            return None
        known = found.placed or draft
        if (known.span_id, known.agent_run_id, known.turn) != (span_id, run.id, turn.index):
            known = replace(draft, span_id=span_id, agent_run_id=run.id, turn=turn.index)
        found.placed = known
        return known

    def _settle(self, found: PlacedDraft) -> str | None:
        """The span that holds the evidence; looked for once while the run stays as it is."""
        span_id, evidence = found.draft.span_id, found.draft.evidence
        if not is_quote(evidence):
            return None
        place = self.own.place(span_id, found.draft.agent_run_id)
        if place is None or place[0].id != found.draft.agent_run_id:
            found.holds, found.searched = None, False
        elif found.turn is not place[1]:
            found.holds, found.turn = None, place[1]
        if found.holds is None:
            found.holds = self.own.holds(span_id, evidence)
        if found.holds:
            return span_id
        if not self.own.may_search(span_id):
            return None
        if not found.searched:
            found.moved, found.searched = self.own.beside(span_id, evidence), True
        return found.moved


def _identify(trace: Trace, drafts: Sequence[Draft], memory: SuiteMemory) -> tuple[Finding, ...]:
    """One finding a rule, span and category (the surest), with ids and links."""
    best: dict[tuple[str, str, str, str], Draft] = {}
    for draft in sorted(drafts, key=_preference):
        best.setdefault((draft.judge, draft.span_id, draft.taxonomy, draft.category), draft)
    kept = [(_id(trace, draft), draft) for draft in sorted(best.values(), key=lambda d: _order(trace, d))]
    partners: dict[tuple[str, str], list[str]] = {}
    for own_id, draft in kept:
        for other in draft.linked:
            partners.setdefault((draft.span_id, other), []).append(own_id)
    findings: list[Finding] = []
    known, memory.findings = memory.findings, {}
    for own_id, draft in kept:
        # Two findings are anchors of one claim where each names the other's span.
        others = [partners.get((other, draft.span_id), ()) for other in draft.linked if other != draft.span_id]
        made_of = draft, tuple(dict.fromkeys(chain.from_iterable(others))), trace.home(draft.span_id)
        made = known.get(own_id)
        if made is None or made[0] != made_of:
            made = made_of, _finding(trace.tenant, own_id, *made_of)
        memory.findings[own_id] = made
        findings.append(made[1])
    return tuple(findings)


def _preference(draft: Draft) -> tuple[float, int, str, str, str]:
    return (-draft.confidence, -draft.severity.rank, draft.judge, draft.evidence, draft.explanation)


def _order(trace: Trace, draft: Draft) -> tuple[int, str, str, str, str]:
    return (trace.spans[draft.span_id].raw.start, draft.span_id, draft.category, draft.taxonomy, draft.judge)


def _id(trace: Trace, draft: Draft) -> str:
    return finding_id(
        trace.tenant, trace.home(draft.span_id), draft.span_id, draft.judge, draft.category, draft.evidence
    )


_CLAIM: Final = tuple(f.name for f in fields(Draft))
_values: Final = attrgetter(*_CLAIM)


def _finding(tenant: str, own_id: str, draft: Draft, linked: tuple[str, ...], home: str) -> Finding:
    claim = dict(zip(_CLAIM, _values(draft), strict=True))
    claim |= {"confidence": float(draft.confidence), "linked": linked}
    return Finding(
        id=own_id,
        fingerprint=fingerprint(tenant, home, draft.span_id, draft.taxonomy, draft.category),
        tenant=tenant,
        trace_id=home,
        **claim,
    )


def _version(detectors: Sequence[Detector], ranker: str, settings: str) -> str:
    """12 hex digits that change with any rule, its version, its settings, or the calibration."""
    text = "\n".join([*(f"{d.name}={d.version}" for d in detectors), ranker, *([settings] if settings else [])])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
