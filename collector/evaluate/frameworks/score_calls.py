"""Tool calls against the truth: each agent's in order, then by what is left over on both sides."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....schemas.trajectory import ToolCall
from .capture import Capture
from .export import Export
from .items import Item, Measure
from .rebuilt import Rebuilt
from .stated import Stated, StatedCall, stated_call
from .truth import TrueCall, leaves


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A rebuilt tool call with the name of its agent; `at`: position in its trace, then in its run."""

    agent: str
    call: ToolCall
    at: int


@dataclass(frozen=True, slots=True)
class Expected:
    """A call of the truth with what the export tells of it."""

    call: TrueCall
    told: StatedCall


Fits = Callable[[Expected, SeenCall], bool]


def tool_calls(capture: Capture, export: Export, rebuilt: Rebuilt, told: Stated) -> Iterator[Item]:
    """Every call of the truth as an item, and every rebuilt one that is too many or stands nowhere."""
    expected = _expected(capture, export, told)
    seen = list(_seen(rebuilt))
    pairs: dict[int, SeenCall] = {}
    kinds: dict[int, str] = {}
    for kind, fits in _PASSES:
        for at, one in enumerate(expected):
            if at in pairs:
                continue
            found = next((s for s in seen if fits(one, s)), None)
            if found is not None:
                seen.remove(found)
                pairs[at], kinds[at] = found, kind
    if not capture.truth.parallel:
        kinds |= dict.fromkeys(_out_of_order(expected, pairs, kinds), "order")
    for at, one in enumerate(expected):
        yield _item(capture, one, pairs.get(at), kinds.get(at, "missing"))
    yield from _surplus(capture, export, expected, seen)


def _expected(capture: Capture, export: Export, told: Stated) -> list[Expected]:
    nth: Counter[str] = Counter()
    found = []
    for call in capture.truth.calls:
        found.append(Expected(call, stated_call(export, call, nth[call.name], told)))
        nth[call.name] += 1
    return found


def _seen(rebuilt: Rebuilt) -> Iterator[SeenCall]:
    at = 0
    for trace in rebuilt.traces:
        for run in trace.runs:
            for turn in run.turns:
                for call in turn.tool_calls:
                    yield SeenCall(run.name, call, at)
                    at += 1


def _agent(one: Expected, seen: SeenCall) -> bool:
    return seen.agent == one.call.agent or (not one.told.agent and seen.agent == "")


def _name(one: Expected, seen: SeenCall) -> bool:
    return seen.call.name == one.call.name


def _arguments(one: Expected, seen: SeenCall) -> bool:
    got, true = seen.call.arguments, one.call.arguments
    if got is None or got in ("", {}):
        return not true or not one.told.arguments
    return bool(_plain(got) == _plain(true))


def _executed(one: Expected, seen: SeenCall) -> bool:
    true = one.call.executed
    if true is None:
        return True
    return seen.call.executed is true or (not one.told.executed and seen.call.executed is None)


def _error(one: Expected, seen: SeenCall) -> bool:
    if one.call.executed is None or not one.told.error:
        return True
    return (seen.call.error is not None) == (one.call.error is not None)


def _all(*sides: Fits) -> Fits:
    return lambda one, seen: all(side(one, seen) for side in sides)


_PASSES: Sequence[tuple[str, Fits]] = (
    ("", _all(_agent, _name, _arguments, _executed, _error)),
    ("error", _all(_agent, _name, _arguments, _executed)),
    ("executed", _all(_agent, _name, _arguments)),
    ("agent", lambda one, seen: bool(one.call.arguments) and _name(one, seen) and _arguments(one, seen)),
    ("name", lambda one, seen: bool(one.call.arguments) and _agent(one, seen) and _arguments(one, seen)),
    ("arguments", _all(_agent, _name)),
)


def _plain(value: Any) -> Any:
    """Numbers that are equal are so however they are written."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _out_of_order(expected: Sequence[Expected], pairs: dict[int, SeenCall], kinds: dict[int, str]) -> set[int]:
    """Right calls that stand before one that came earlier: those outside the longest ascending row of their agent."""
    of: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(expected):
        if kinds.get(at) == "" and pairs[at].agent == one.call.agent:
            of[one.call.agent].append(at)
    return {at for ats in of.values() for at in set(ats) - _ascending(ats, [pairs[a].at for a in ats])}


def _ascending(ats: Sequence[int], places: Sequence[int]) -> set[int]:
    ends: list[int] = []
    length = []
    for place in places:
        n = bisect_left(ends, place)
        ends[n : n + 1] = [place]
        length.append(n)
    kept, wanted = set(), len(ends) - 1
    for i in range(len(ats) - 1, -1, -1):
        if length[i] == wanted:
            kept.add(ats[i])
            wanted -= 1
    return kept


def _item(capture: Capture, one: Expected, seen: SeenCall | None, kind: str) -> Item:
    """A call that the export does not tell of may be missing, but not be another agent's."""
    stated = one.told.call and one.told.agent
    ok = kind == "" if stated else kind != "agent"
    what = f"{one.call.agent}.{one.call.name} #{one.call.run}"
    true = {"arguments": one.call.arguments, "executed": one.call.executed, "error": one.call.error}
    return Item(
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
) -> Iterator[Item]:
    """Calls that no true one is left for: doubles of true tools, and what stands nowhere.

    Others are the framework's own: one that hands in an answer, or hands back to an agent.
    """
    agents = {a.name for a in capture.truth.agents}
    for seen in left:
        texts = [seen.call.name, *leaves(seen.call.arguments)]
        if any(_arguments(e, seen) and (_name(e, seen) or e.call.arguments) for e in expected):
            kind = "one too many"
        elif not all(map(export.stands, texts)):
            kind = "invented"
        elif any(_name(e, seen) for e in expected) and not agents.intersection(texts):
            kind = "one too many"
        else:
            continue
        what = f"{seen.agent}.{seen.call.name}"
        yield Item(capture.id, Measure.TOOL_CALLS, what, None, _shown(seen), ok=False, kind=kind)
