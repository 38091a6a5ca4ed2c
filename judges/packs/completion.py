"""Task completion: the answer of the first source that decides it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Verdict

from .cards.task_cards import Done, Terms

_BEST_SCORE = 3


@dataclass(frozen=True, slots=True)
class Completion:
    """Whether a task was completed, in one line `reason`, and the source that decided."""

    answer: ItemAnswer
    source: str

    @property
    def reason(self) -> str:
        """The source and what it says."""
        return f"{self.source}: {self.answer.reason}"


def completion(
    item: CheckItem,
    spans: Iterable[Span],
    *,
    card: Terms | None = None,
    service: Terms | None = None,
    fulfilment: Verdict | None = None,
    outcomes: Mapping[str, ItemAnswer] | None = None,
) -> Completion | None:
    """The answer to `item`, which stands at the last answer of the session; None where no source decides.

    Sources in order: the first of `outcomes` (by source, what other checks say by the card), the attribute that the
    card names as `done`, that of the service, the verdict of goal fulfilment on the last exchange. An attribute that no
    span of the session has decides nothing; of several spans with it, the one that ended last does.
    """
    for source, outcome in (outcomes or {}).items():
        answer = "yes" if outcome.best else "no"
        return Completion(replace(outcome, item=item.text, answer=answer), f"{source} of the task card")
    ended = sorted(spans, key=lambda span: (span.end, span.span_id), reverse=True)
    for source, terms in (("task card", card), ("service settings", service)):
        if terms is not None and terms.done is not None:
            found = _by_attribute(item, ended, terms.done)
            if found is not None:
                return Completion(found, f"done attribute of the {source}")
    if fulfilment is None or fulfilment.score is None:
        return None
    said = f"{fulfilment.score} of {_BEST_SCORE}. {fulfilment.reasons}".strip()
    return Completion(
        _answered(item, said, done=fulfilment.score == _BEST_SCORE), "goal fulfilment of the last exchange"
    )


def _by_attribute(item: CheckItem, ended: Sequence[Span], done: Done) -> ItemAnswer | None:
    for span in ended:
        for attributes in (span.attributes, span.resource_attributes):
            if done.attribute in attributes:
                value = attributes[done.attribute]
                reason = f"{done.attribute} is {value[:200]!r} at span {span.span_id}"
                at = item if span.span_id == item.span_id else replace(item, label="")
                at = replace(at, trace_id=span.trace_id, span_id=span.span_id)
                return replace(_answered(at, reason, done=_equals(value, done)), quote=value)
    return None


def _answered(item: CheckItem, reason: str, *, done: bool) -> ItemAnswer:
    answer = "yes" if done else "no"
    return ItemAnswer(item.text, answer, done, reason, item.label, item.trace_id, item.span_id)


def _equals(value: str, done: Done) -> bool:
    """Whether a stored attribute has the value: text as it is, all else by its JSON."""
    wanted = done.equals
    if isinstance(wanted, str):
        return value == wanted
    if isinstance(wanted, bool):
        return value.casefold() == json.dumps(wanted)
    try:
        return float(value) == wanted
    except ValueError:
        return False
