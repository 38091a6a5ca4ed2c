"""How far the items of a check came to settle, exchange by exchange. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.queries.conversation import CheckProgress, ItemProgress
from tracejury.schemas.verdicts import Verdict

from .check_types import Check
from .settling import settled_items, settles


def check_progress(check: Check, said: Sequence[Verdict | None], closing: Verdict | None) -> CheckProgress | None:
    """The progress of a check that settles at its best answer; None where no item has an answer.

    `said`: of each exchange in order its verdict, None where it has none; `closing`: that of the session, once it
    closed. An exchange without answers keeps what was before; what the close alone settles counts at the last one.
    """
    told = ((closing,) if closing else (), filter(None, said))
    items = [CheckItem(item) for item in dict.fromkeys(answer.item for one in chain(*told) for answer in one.items)]
    states = settled_items(check, items, said).states
    settled_at: dict[str, int] = {}
    for number, answers in enumerate(states, start=1):
        for item in _settled(check, answers):
            settled_at.setdefault(item, number)
    final = {answer.item: answer for answer in (states[-1] if states else ())}
    if closing:
        final |= {answer.item: answer for answer in closing.items if answer.item not in settled_at}
    if not final:
        return None
    ended = [len(list(_settled(check, answers))) for answers in states]
    ended[-1:] = [len(list(_settled(check, list(final.values()))))] * bool(ended)
    return CheckProgress(
        check.name,
        check.title,
        check.items.name,
        tuple(ItemProgress(final[one.text], settled_at.get(one.text)) for one in items if one.text in final),
        tuple(count / len(items) for count in ended),
        closed=closing is not None,
    )


def _settled(check: Check, answers: Sequence[ItemAnswer]) -> Iterator[str]:
    return (answer.item for answer in answers if settles(check, answer))
