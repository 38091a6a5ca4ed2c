"""Tool calls against the truth: each agent's in order, then what is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .items import CaptureCase, Measure, ScoredFact
from .pairing import Expected, SeenCall, out_of_order, pair, same_arguments, same_name
from .rebuilt import RebuiltCapture
from .stated import stated_call
from .truth import leaves


def tool_calls(case: CaptureCase) -> Iterator[ScoredFact]:
    """Every call of the truth as an item, and every rebuilt one that is too many or stands nowhere."""
    expected = _expected(case)
    pairs = pair(expected, list(_seen(case.rebuilt)))
    late = set() if case.capture.truth.parallel else out_of_order(expected, pairs)
    for at, one in enumerate(expected):
        kind = "order" if at in late else pairs.kinds.get(at, "missing")
        yield _item(case, one, pairs.found.get(at), kind)
    yield from _surplus(case, expected, pairs.left)


def _expected(case: CaptureCase) -> list[Expected]:
    nth: Counter[str] = Counter()
    agents = {a.name for a in case.capture.truth.agents}
    found = []
    for call in case.capture.truth.calls:
        told = stated_call(case.export, call, nth[call.name], case.stated)
        found.append(Expected(call, told, frozenset(agents - {call.agent})))
        nth[call.name] += 1
    return found


def _seen(rebuilt: RebuiltCapture) -> Iterator[SeenCall]:
    at = 0
    for trace in rebuilt.traces:
        for run in trace.runs:
            for turn in run.turns:
                for call in turn.tool_calls:
                    yield SeenCall(run.name, call, at)
                    at += 1


def _item(case: CaptureCase, one: Expected, seen: SeenCall | None, kind: str) -> ScoredFact:
    """A call that the export does not tell of may be missing, but not be another agent's."""
    stated = one.told.call and one.told.agent
    what = f"{one.call.agent}.{one.call.name} #{one.call.run}"
    true = {"arguments": one.call.arguments, "executed": one.call.executed, "error": one.call.error}
    missed = kind if stated or kind == "agent" else ""
    got = _shown(seen) if seen else None
    return case.fact(Measure.TOOL_CALLS, what, true, got, missed, rules=one.told.rules, stated=stated)


def _shown(seen: SeenCall) -> dict[str, Any]:
    call = seen.call
    return {
        "agent": seen.agent,
        "name": call.name,
        "arguments": call.arguments,
        "executed": call.executed,
        "error": call.error,
        "span": call.span.span_id if call.span else "",
    }


def _surplus(case: CaptureCase, expected: Sequence[Expected], left: Sequence[SeenCall]) -> Iterator[ScoredFact]:
    """Calls that no true one is left for: doubles of true tools, and what stands nowhere.

    Others are the framework's own: one that hands in an answer, or hands back to an agent.
    """
    agents = {a.name for a in case.capture.truth.agents}
    for seen in (s for s in left if not s.call.closing):
        texts = [seen.call.name, *leaves(seen.call.arguments)]
        if any(same_arguments(e, seen) and (same_name(e, seen) or e.call.arguments) for e in expected):
            kind = "one too many"
        elif not all(map(case.export.stands, texts)):
            kind = "invented"
        elif any(same_name(e, seen) for e in expected) and not agents.intersection(texts):
            kind = "one too many"
        else:
            continue
        what = f"{seen.agent}.{seen.call.name}"
        yield case.fact(Measure.TOOL_CALLS, what, None, _shown(seen), kind)
