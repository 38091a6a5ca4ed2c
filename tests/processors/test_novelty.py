"""New messages of a call, against counting all that was sent before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trajectories import span

from tracejury.processors import novelty
from tracejury.processors.normalize import normalize
from tracejury.processors.novelty import new_messages
from tracejury.processors.run_spans import TurnSpans
from tracejury.schemas.normalized import Message, NormalizedSpan

WORDS = st.lists(st.sampled_from("abc"), max_size=4)


def call(sent: Sequence[str], wrote: Sequence[str] = ()) -> NormalizedSpan:
    """A call that is sent these texts and writes those."""
    messages = tuple(Message("user", text) for text in sent)
    return replace(
        normalize(span("a1")), input_messages=messages, output_messages=tuple(Message("user", text) for text in wrote)
    )


@given(st.lists(st.tuples(WORDS, WORDS, st.booleans()), max_size=6))
def test_a_message_is_new_as_often_as_it_was_not_sent_or_written_before(
    calls: list[tuple[list[str], list[str], bool]],
) -> None:
    """Whether a call goes on with the history of the one before or with another one."""
    turns, expected, known, history = list[TurnSpans](), list[list[str]](), Counter[str](), list[str]()
    for more, wrote, goes_on in calls:
        history = [*history, *more] if goes_on else more
        sent: Counter[str] = Counter()
        new = []
        for text in history:
            sent[text] += 1
            if sent[text] > known[text]:
                new.append(text)
        expected.append(new)
        known = (known | sent) + Counter(wrote)
        turns.append(TurnSpans(call(history, wrote)))
    assert [[m.text for m in one] for one in new_messages(turns)] == expected


def test_a_history_that_grows_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages that are looked up grow with the history, not with how often it is sent."""
    looked_up: list[Message] = []
    key = novelty.message_key

    def counted(message: Message) -> object:
        looked_up.append(message)
        return key(message)

    monkeypatch.setattr(novelty, "message_key", counted)
    history = [f"Message {i}." for i in range(80)]
    new = new_messages([TurnSpans(call(history[: i + 1])) for i in range(80)])
    assert [[m.text for m in one] for one in new] == [[text] for text in history]
    assert len(looked_up) == len(history)
