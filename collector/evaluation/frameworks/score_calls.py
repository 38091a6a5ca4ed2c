"""Tool calls against the truth: each agent's in order, then what is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .capture import Capture
from .export import Export
from .items import Measure, ScoredFact
from .pairing import Expected, SeenCall, out_of_order, pair, same_arguments, same_name
from .rebuilt import RebuiltCapture
from .stated import Stated, stated_call
from .truth import leaves


def tool_calls(capture: Capture, export: Export, rebuilt: RebuiltCapture, told: Stated) -> Iterator[ScoredFact]:
    """Every call of the truth as an item, and every rebuilt one that is too many or stands nowhere."""
    expected = _expected(capture, export, told)
    pairs = pair(expected, list(_seen(rebuilt)))
    late = set() if capture.truth.parallel else out_of_order(expected, pairs)
    for at, one in enumerate(expected):
        kind = "order" if at in late else pairs.kinds.get(at, "missing")
        yield _item(capture, one, pairs.found.get(at), kind)
    yield from _surplus(capture, export, expected, pairs.left)


def _expected(capture: Capture, export: Export, told: Stated) -> list[Expected]:
    nth: Counter[str] = Counter()
    agents = {a.name for a in capture.truth.agents}
    found = []
    for call in capture.truth.calls:
        found.append(Expected(call, stated_call(export, call, nth[call.name], told), frozenset(agents - {call.agent})))
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


def _item(capture: Capture, one: Expected, seen: SeenCall | None, kind: str) -> ScoredFact:
    """A call that the export does not tell of may be missing, but not be another agent's."""
    stated = one.told.call and one.told.agent
    ok = kind == "" if stated else kind != "agent"
    what = f"{one.call.agent}.{one.call.name} #{one.call.run}"
    true = {"arguments": one.call.arguments, "executed": one.call.executed, "error": one.call.error}
    return ScoredFact(
        capture=capture.id,
        measure=Measure.TOOL_CALLS,
        what=what,
        expected=true,
        got=_shown(seen) if seen else None,
        ok=ok,
        kind="" if ok else kind,
        rules=one.told.rules,
        stated=stated,
    )


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


def _surplus(
    capture: Capture, export: Export, expected: Sequence[Expected], left: Sequence[SeenCall]
) -> Iterator[ScoredFact]:
    """Calls that no true one is left for: doubles of true tools, and what stands nowhere.

    Others are the framework's own: one that hands in an answer, or hands back to an agent.
    """
    agents = {a.name for a in capture.truth.agents}
    for seen in (s for s in left if not s.call.closing):
        texts = [seen.call.name, *leaves(seen.call.arguments)]
        if any(same_arguments(e, seen) and (same_name(e, seen) or e.call.arguments) for e in expected):
            kind = "one too many"
        elif not all(map(export.stands, texts)):
            kind = "invented"
        elif any(same_name(e, seen) for e in expected) and not agents.intersection(texts):
            kind = "one too many"
        else:
            continue
        what = f"{seen.agent}.{seen.call.name}"
        yield ScoredFact(capture.id, Measure.TOOL_CALLS, what, None, _shown(seen), ok=False, kind=kind)
