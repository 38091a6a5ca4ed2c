"""Claims of an answer that nothing supports: candidates for a judge, too unsure to be shown by themselves.

Found by what was called, what came back and what is said: an action that is claimed by the verb of a tool which was not
called, or whose calls all failed; a figure, identifier or link that stands in no result and no input; a value that
differs from the one that a result has under the same name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from tracejury.judges.base import Context
from tracejury.judges.claims import gives_up_honestly, statement
from tracejury.judges.facts import RunFacts, TurnFacts, opening_messages
from tracejury.judges.figures import Detail, Support, details
from tracejury.judges.names import Role, reads, words_of
from tracejury.judges.quoting import json_text, quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.normalized import Message

_SENTENCE: Final = re.compile(r"[^.!?\n]{1,400}(?:[.](?=\S)[^.!?\n]{0,200}){0,8}[.!?]?")
_OPEN: Final = re.compile(
    r"\b(?:not|no|never|cannot|can|could|would|will|shall|should|if|once|when|before|until|unless|to be|unable|may)\b"
    r"|n't\b"
)
"""A sentence that denies, offers or makes conditions claims no action."""


def _answer(facts: RunFacts) -> Iterator[TurnFacts]:
    """The turn that ends a settled run by words or by handing over an answer."""
    for last in facts.acts[-1:]:
        done = [c for c in last.calls if c.role is not Role.FINAL]
        if (
            not done
            and (last.answers or not last.code)
            and statement(last).strip()
            and not gives_up_honestly(facts, last)
        ):
            yield last


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of calls, by tool: those that worked, and those that only failed."""

    worked: frozenset[str]
    failed: frozenset[str]


def _done(facts: RunFacts) -> _Done:
    calls = [c for t in facts.turns for c in t.calls]
    earlier = {r.name for m in opening_messages(facts.run) for r in m.tool_requests}
    worked = {c.call.name for c in calls if c.failure is None and c.ran is not False} | earlier
    return _Done(frozenset(worked), frozenset({c.call.name for c in calls} - worked))


def _past(verb: str) -> tuple[str, ...]:
    irregular = _IRREGULAR.get(verb)
    regular = f"{verb}d" if verb.endswith("e") else f"{verb[:-1]}ied" if verb.endswith("y") else f"{verb}ed"
    return (irregular,) if irregular else (regular, f"{verb}{verb[-1]}ed")


_IRREGULAR: Final = {"send": "sent", "pay": "paid", "write": "written", "buy": "bought", "put": "put", "set": "set"}


def _claimed_actions(facts: RunFacts, _: Context) -> Iterator[Hit]:
    tools = [t.name for t in facts.run.tools if reads(t.name) is False]
    by_others = bool(facts.run.managed_agents) or any(t.turn.sub_run_ids for t in facts.turns)
    for last in facts.once(_answer) if tools and not by_others else ():
        text, done = statement(last), _done(facts)
        for name in tools:
            verb = next((w for w in words_of(name) if reads(w) is False), "")
            rivals = {t for t in done.worked if verb in words_of(t)}
            at = -1 if name in done.worked or rivals else _stated(text, _past(verb))
            if at >= 0:
                why = "every call of it failed" if name in done.failed else "it was never called"
                yield Hit(
                    last.span_id,
                    quote(last.text, max(0, last.text.find(text[at : at + 40]))),
                    f"Claims what {name} does, but {why}.",
                )
                break


def _stated(text: str, forms: tuple[str, ...]) -> int:
    """Offset of a sentence that states one of these forms as done, -1 for none."""
    for found in _SENTENCE.finditer(text[:_READ]):
        low = found.group().lower()
        if (
            not low.rstrip().endswith("?")
            and not _OPEN.search(low)
            and any(re.search(rf"\b{re.escape(f)}\b", low) for f in forms)
        ):
            return found.start()
    return -1


_READ: Final = 4000


def _seen(facts: RunFacts, last: TurnFacts) -> list[str]:
    """All that the run was told: texts sent to it, its instructions and tools, and the results of its calls."""
    told = [*facts.texts_until(last.position), facts.run.system_prompt]
    told += [f"{t.name} {t.description} {json_text(dict(t.parameters or {}))}" for t in facts.run.tools]
    told += [_asked(m) for m in opening_messages(facts.run)]
    for turn in facts.turns:
        told += [c.call.result for c in turn.calls if c.call.result and turn.position <= last.position]
        told += [turn.turn.observation, *(m.text for m in turn.turn.new_messages)]
    return [t for t in told if t]


def _asked(message: Message) -> str:
    return "\n".join(json_text(r.arguments) for r in message.tool_requests)


def _unsupported(facts: RunFacts) -> Iterator[tuple[TurnFacts, Detail]]:
    """The first detail of an answer that nothing seen supports, of a run that was brought data."""
    if not (facts.informed or any(t.succeeded for t in facts.turns)):
        return
    for last in facts.once(_answer):
        given = details(statement(last)[:_READ])
        if not given:
            continue
        seen = _seen(facts, last)
        if sum(map(len, seen)) > MOST_SEEN:
            continue
        support = Support(seen)
        missing = (d for d in given if not support.holds(d))
        yield from ((last, d) for d in islice(missing, 1))


MOST_SEEN: Final = 1_000_000
"""Characters that details are looked for in; of a run that was told more, no absence is claimed."""


def _details(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for last, detail in facts.once(_unsupported):
        text = f"{detail.text[:80]!r} stands in nothing that the run was told, and nothing there makes it."
        yield Hit(last.span_id, quote(last.text, max(0, last.text.find(detail.text))), text)


def _contradictions(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A number beside the name of a value that a result has as another number, which the answer does not give."""
    for last, detail in facts.once(_unsupported):
        answer = statement(last)
        sentence = next((m.group().lower() for m in _SENTENCE.finditer(answer) if detail.text in m.group()), "")
        for name, value in _values(facts):
            words = words_of(name)
            told = value in answer or not words or not all(w in sentence for w in words)
            if not told and detail.text.replace(",", "") != value:
                text = f"Says {detail.text[:40]!r} where a result has {value[:40]!r} as {name[:40]!r}."
                yield Hit(last.span_id, quote(last.text, max(0, last.text.find(detail.text))), text)
                break


def _values(facts: RunFacts) -> Iterator[tuple[str, str]]:
    """Names and numbers of the JSON objects among a run's results."""
    results = (c.call.result for t in facts.turns for c in t.calls if c.call.result and c.call.result[:1] in "{[")
    for result in results:
        try:
            yield from _numbers(json.loads(result[:_JSON_READ]), _DEPTH)
        except (ValueError, RecursionError):
            continue


def _numbers(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    children = (
        value.items() if isinstance(value, Mapping) else (("", v) for v in value) if isinstance(value, list) else ()
    )
    for key, child in children:
        if isinstance(child, int | float) and not isinstance(child, bool):
            yield str(key), json_text(child)
        elif depth:
            yield from _numbers(child, depth - 1)


_JSON_READ: Final = 50_000
_DEPTH: Final = 3

RULES: Final = (
    rule(
        "claimed-action",
        "Tool-related",
        "LC TC",
        "HIGH",
        _claimed_actions,
        confidence=0.3,
        version=1,
        of_absence=True,
        title="Action reported that no call made",
        scope="run",
    ),
    rule(
        "unsupported-detail",
        "Language-only",
        "LC",
        "MEDIUM",
        _details,
        confidence=0.2,
        version=1,
        of_absence=True,
        title="Detail that no result or input holds",
    ),
    rule(
        "result-contradicted",
        "Tool Output Misinterpretation",
        "LC",
        "HIGH",
        _contradictions,
        confidence=0.3,
        version=1,
        of_absence=True,
        title="Answer that contradicts a result",
    ),
)
