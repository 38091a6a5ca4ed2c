"""What a damaged capture still shows, against what the undamaged one shows and the capture's truth.

Only what was right undamaged can be lost. Of that a rung's truth is what the damaged export states, by the rules of
`stated.py`: a call whose name and arguments stand in no span of it, and a failure of which nothing is left, do not
count.
Whose call it is does not count, since agents lose their names; that it stands once does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracejury.collector.evaluation.frameworks import score_failures
from tracejury.collector.evaluation.frameworks.capture import Capture
from tracejury.collector.evaluation.frameworks.export import Export, fold
from tracejury.collector.evaluation.frameworks.items import CaptureCase, ScoredFact
from tracejury.collector.evaluation.frameworks.pairing import Expected, Pairs, SeenCall, pair
from tracejury.collector.evaluation.frameworks.rebuilt import RebuiltCapture, spans_of
from tracejury.collector.evaluation.frameworks.stated import Stated, StatedCall, stated, stated_call
from tracejury.collector.evaluation.frameworks.truth import InjectedFailure, TrueCall, Truth, leaves
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.normalized import Kind
from tracejury.schemas.trajectory import ToolCall

from .copies import copy_of


@dataclass(frozen=True, slots=True)
class Share:
    """`right` of `n`, and a line for each that is not."""

    right: int = 0
    n: int = 0
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DamagedCapture:
    """One capture on one rung.

    `outside`: LLM and tool spans in no run, of all. `happy`: errors of a run in which all went well.
    """

    capture: str
    outside: Share
    turns: Share
    calls: Share
    tokens: Share
    found: Share
    happy: Share
    faults: tuple[str, ...]

    @property
    def label(self) -> str:
        """The capture's label."""
        return self.capture.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Reference:
    """A capture undamaged: of each true call the `sides` that it states, and what stood for the right ones by position.

    `found`: positions of the failures that were found.
    """

    capture: Capture
    rebuilt: RebuiltCapture
    sides: Sequence[StatedCall]
    calls: Mapping[int, ToolCall]
    surplus: int
    found: frozenset[int]
    truth: Truth


def reference(capture: Capture, export: Export, rebuilt: RebuiltCapture) -> Reference:
    """What of the capture's truth comes out undamaged.

    A failure is also right at the LLM span of the turn that holds it, since its own span may be lost, and at copies.
    """
    told = stated(export, capture.truth)
    expected = _expected(capture.truth, export, told)
    pairs = _pairs(expected, rebuilt)
    sides = [one.told for one in expected]
    calls = {at: seen.call for at, seen in pairs.found.items() if not pairs.kinds[at]}
    failures = tuple(replace(f, span_ids=_places(rebuilt, f)) for f in capture.truth.failures)
    truth = replace(capture.truth, failures=failures)
    scored = _failures(replace(capture, truth=truth), export, rebuilt, told)
    found = frozenset(at for at, fact in enumerate(scored) if fact.ok and fact.stated)
    return Reference(capture, rebuilt, sides, calls, _surplus(pairs), found, truth)


def measure(of: Reference, export: Export, rebuilt: RebuiltCapture) -> DamagedCapture:
    """How much of the reference is left in a damaged rebuild."""
    capture = replace(of.capture, truth=of.truth)
    told = stated(export, of.truth)
    return DamagedCapture(
        capture=of.capture.id,
        outside=_outside(of.rebuilt, rebuilt),
        turns=_same(
            sum(1 for t in rebuilt.traces for r in t.runs for turn in r.turns if turn.llm), of.rebuilt.llm_calls
        ),
        calls=_calls(of, export, rebuilt, told),
        tokens=_tokens(of.rebuilt, rebuilt),
        found=_found(of, _failures(capture, export, rebuilt, told), tells_errors=_tells_errors(of, export, told)),
        happy=_happy(capture, export, rebuilt, told),
        faults=tuple(f"{what}: {why}" for what, why in rebuilt.faults if what == "crash"),
    )


def _expected(truth: Truth, export: Export, told: Stated) -> list[Expected]:
    """The calls of the truth, each whoever's it may be."""
    nth: Counter[str] = Counter()
    found = []
    for call in truth.calls:
        sides = stated_call(export, call, nth[call.name], told)
        found.append(Expected(call, replace(sides, agent=False), frozenset()))
        nth[call.name] += 1
    return found


def _no_more(one: Expected, whole: StatedCall) -> Expected:
    """The call with the sides that both the damaged and the whole export state: copies tell nothing new."""
    told = one.told
    executed, error = told.executed and whole.executed, told.error and whole.error
    arguments = told.arguments and whole.arguments
    return replace(one, told=replace(told, arguments=arguments, executed=executed, error=error))


def _pairs(expected: Sequence[Expected], rebuilt: RebuiltCapture) -> Pairs:
    runs = (run for trace in rebuilt.traces for run in trace.runs)
    calls = ((run.name, call) for run in runs for turn in run.turns for call in turn.tool_calls)
    return pair(expected, [SeenCall(name, call, at) for at, (name, call) in enumerate(calls)])


def _surplus(pairs: Pairs) -> int:
    return sum(1 for seen in pairs.left if not seen.call.closing)


def _calls(of: Reference, export: Export, rebuilt: RebuiltCapture, told: Stated) -> Share:
    expected = [_no_more(one, sides) for one, sides in zip(_expected(of.truth, export, told), of.sides, strict=True)]
    pairs = _pairs(expected, rebuilt)
    texts = [
        fold(" \n ".join(("", span.name, *span.texts, *(v for _, v in span.pairs), "")))
        for span in export.spans.values()
    ]
    right = n = 0
    lost = []
    for at, before in of.calls.items():
        if not expected[at].told.call or not _told_together(expected[at].call, texts):
            continue
        n += 1
        seen = pairs.found.get(at)
        kind = pairs.kinds.get(at, "missing")
        if not kind and seen and before.result and not seen.call.result and export.stands(before.result):
            kind = "result"
        right += not kind
        if kind:
            lost.append(f"{kind} of {expected[at].call.name}")
    for _ in range(_surplus(pairs) - of.surplus):
        n += 1
        lost.append("one too many")
    return Share(right, n, tuple(lost))


def _outside(before: RebuiltCapture, after: RebuiltCapture) -> Share:
    """LLM and tool spans in no run; where log records stand for spans, also the calls that no trace shows."""
    acts = [s for trace in after.traces for s in trace.spans.values() if s.kind in {Kind.LLM, Kind.TOOL}]
    out = [f"{s.kind.value} {s.raw.name}" for t in after.traces for s in t.remainder if s.kind in {Kind.LLM, Kind.TOOL}]
    unseen = before.llm_calls - sum(1 for span in acts if span.kind is Kind.LLM)
    out += ["an LLM call that no trace shows"] * unseen
    return Share(len(out), len(acts) + max(unseen, 0), tuple(out))


def _told_together(call: TrueCall, texts: Sequence[str]) -> bool:
    """Whether a call's name and arguments stand in one span, and not each by itself in texts about other things."""
    words = (f" {call.name} ", *leaves(call.arguments))
    return any(all(fold(word) in text for word in words) for text in texts)


def _same(got: int, expected: int) -> Share:
    """Two counts as a share: what both have of what either has."""
    lost = () if got == expected else (f"{got} instead of {expected}",)
    return Share(min(got, expected), max(got, expected), lost)


def _tokens(before: RebuiltCapture, after: RebuiltCapture) -> Share:
    expected, got = ((_sum(of, 0), _sum(of, 1)) for of in (before, after))
    if not any(expected):
        return Share()
    return Share(int(got == expected), 1, () if got == expected else (f"{got} instead of {expected}",))


def _sum(rebuilt: RebuiltCapture, side: int) -> int:
    sums = [sum_tokens(trace.spans) for trace in rebuilt.traces]
    return sum((s.output_tokens if side else s.input_tokens) or 0 for s in sums)


def _places(rebuilt: RebuiltCapture, failure: InjectedFailure) -> frozenset[str]:
    turns = [turn for trace in rebuilt.traces for run in trace.runs for turn in run.turns]
    held = (turn for turn in turns if turn.llm and failure.span_ids.intersection(spans_of(turn)))
    places = failure.span_ids | {turn.llm.span_id for turn in held if turn.llm}
    return places | frozenset(map(copy_of, places))


def _failures(capture: Capture, export: Export, rebuilt: RebuiltCapture, told: Stated) -> list[ScoredFact]:
    return list(score_failures.failures(CaptureCase(capture, export, rebuilt, told)))


def _tells_errors(of: Reference, export: Export, told: Stated) -> bool:
    """Whether the damaged export states the error of a failed call: a tool's span and its exception may be gone."""
    failed = [one for one in _expected(of.truth, export, told) if one.call.error]
    return not failed or any(one.told.error for one in failed)


def _found(of: Reference, scored: Sequence[ScoredFact], *, tells_errors: bool) -> Share:
    stated_facts = (scored[at] for at in sorted(of.found) if scored[at].stated)
    facts = [fact for fact in stated_facts if tells_errors or fact.ok or not fact.what.startswith("tool_error")]
    lost = tuple(f"{fact.kind} {fact.what}" for fact in facts if not fact.ok)
    return Share(len(facts) - len(lost), len(facts), lost)


def _happy(capture: Capture, export: Export, rebuilt: RebuiltCapture, told: Stated) -> Share:
    facts = list(score_failures.happy(CaptureCase(capture, export, rebuilt, told)))
    lost = tuple(str(got) for fact in facts if isinstance(fact.got, list) for got in fact.got)
    return Share(sum(1 for fact in facts if not fact.ok), len(facts), lost)
