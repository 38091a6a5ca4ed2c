"""All detectors as one judge of a trace: isolated, gated, calibrated, de-duplicated, identified."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from operator import attrgetter
from typing import Final

from tracejury.schemas.findings import Draft, Finding, finding_id, fingerprint
from tracejury.schemas.trajectory import KnownRuns, Trace, TraceState

from .base import Context, Detector
from .evidence import OwnText
from .patterns.templates import argument_values, template_of
from .records import RecordedConfidence
from .rule import RunRule
from .rule_settings import RuleSettings
from .runaways import UNKNOWN, UsualRuns
from .validate_draft import validation_error

MAX_DRAFTS: Final = 10_000
"""Drafts taken from one detector for one trace; more is a failure of the detector."""

NO_SETTINGS: Final = RuleSettings()


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
        ranker: RecordedConfidence | None = None,
        unloaded: Sequence[tuple[str, str]] = (),
        settings: RuleSettings = NO_SETTINGS,
    ) -> None:
        self.detectors: tuple[Detector, ...] = tuple(sorted(detectors, key=lambda d: d.name))
        self._beside_runs = tuple(d for d in self.detectors if type(d) is not RunRule)
        self.unloaded = tuple(unloaded)
        self._ranker, self._settings = ranker, settings
        self.version: str = _version(self.detectors, ranker.version if ranker else "", settings.version)

    def judge(self, trace: Trace, known: KnownRuns | None = None, usual: UsualRuns = UNKNOWN) -> SuiteResult:
        """Findings of all detectors in `trace`, sorted by span, category and judge; never raises for a detector.

        Only closed turns are judged. `known` may be kept by the caller between judgings of one trace: it saves work and
        changes nothing. `usual`: what runs of its agents use.
        """
        ctx = Context(trace, known, usual)
        failures = list(self.unloaded)
        drafts: list[Draft] = []
        detectors: Sequence[Detector] = self.detectors if trace.runs else self._beside_runs
        if self._settings.settings:
            detectors = [d for d in detectors if self._settings.allows(d.name, trace.service)]
        for detector in detectors:
            found, failure = _found(detector, trace, ctx)
            drafts += found
            if failure:
                failures.append((detector.name, failure))
        if not drafts:
            return SuiteResult(failures=tuple(failures))
        passed, dropped = _placed(trace, drafts, ctx.own_text)
        if self._ranker is not None:
            passed = self._ranker.rank(ctx, passed)
        passed = self._settings.lowered(passed, trace.service)
        return SuiteResult(_identify(trace, passed, ctx.own_text), tuple(failures), dropped)


def _found(detector: Detector, trace: Trace, ctx: Context) -> tuple[list[Draft], str]:
    """The valid ones of the drafts that a detector yields, and why it failed ("" where it did not)."""
    try:
        drafts = list(islice(detector.detect(trace, ctx), MAX_DRAFTS + 1))
        if not drafts:
            return [], ""
        if len(drafts) > MAX_DRAFTS:
            return [], f"more than {MAX_DRAFTS} drafts for one trace"
        invalid = [validation_error(draft, trace.spans) for draft in drafts]
    except Exception as error:  # noqa: BLE001 - whatever a user's detector raises must not cost the others' findings
        return [], f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
    valid = [draft for draft, why in zip(drafts, invalid, strict=True) if not why]
    own = [draft if draft.judge == detector.name else replace(draft, judge=detector.name) for draft in valid]
    return own, next(filter(None, invalid), "")


def _placed(trace: Trace, drafts: Iterable[Draft], own: OwnText) -> tuple[list[Draft], int]:
    """The drafts in closed turns, each at the span that holds its evidence; and of how many none does."""
    placed: list[Draft] = []
    dropped = 0
    for draft in drafts:
        span_id = own.settle(draft.span_id, draft.evidence)
        if span_id is None:
            dropped += 1
            continue
        place = own.place(span_id, draft.agent_run_id)
        run_id, index = (place[0].id, place[1].index) if place is not None else (draft.agent_run_id, draft.turn)
        if place is not None and trace.state is TraceState.OPEN and not place[1].closed:
            continue
        moved = (draft.span_id, draft.agent_run_id, draft.turn) != (span_id, run_id, index)
        placed.append(replace(draft, span_id=span_id, agent_run_id=run_id, turn=index) if moved else draft)
    return placed, dropped


def _identify(trace: Trace, drafts: Sequence[Draft], own: OwnText) -> tuple[Finding, ...]:
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
    for own_id, draft in kept:
        # Two findings are anchors of one claim where each names the other's span.
        others = [partners.get((other, draft.span_id), ()) for other in draft.linked if other != draft.span_id]
        linked = tuple(dict.fromkeys(chain.from_iterable(others)))
        findings.append(_finding(trace, own_id, draft, linked, own))
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


def _finding(trace: Trace, own_id: str, draft: Draft, linked: tuple[str, ...], own: OwnText) -> Finding:
    claim = dict(zip(_CLAIM, _values(draft), strict=True))
    template = template_of(draft.template or draft.explanation, _call_values(draft, own))
    claim |= {"confidence": float(draft.confidence), "linked": linked, "template": template}
    home = trace.home(draft.span_id)
    return Finding(
        id=own_id,
        fingerprint=fingerprint(trace.tenant, home, draft.span_id, draft.taxonomy, draft.category),
        tenant=trace.tenant,
        trace_id=home,
        **claim,
    )


def _call_values(draft: Draft, own: OwnText) -> list[str]:
    """The arguments of the call that a draft is about; of all calls of its turn where it is about no single one."""
    place = own.place(draft.span_id, draft.agent_run_id)
    calls = place[1].tool_calls if place is not None else ()
    named = [call for call in calls if call.span and call.span.span_id in (draft.span_id, draft.tool_span_id)]
    return [value for call in named or calls for value in argument_values(call.arguments)]


def _version(detectors: Sequence[Detector], ranker: str, settings: str) -> str:
    """12 hex digits that change with any rule, its version, its settings, or the calibration."""
    text = "\n".join([*(f"{d.name}={d.version}" for d in detectors), ranker, *([settings] if settings else [])])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
