"""Keys of requests: all that decides an answer is part of them, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pictures import picture

from tracejury.collector.judging.model.request_key import request_key
from tracejury.judges.llm.client import Prompt, PromptMessage

ASKED = Prompt(
    (PromptMessage("system", "rules"), PromptMessage("user", "question")), {"type": "object"}, max_tokens=100
)
PICTURES = (picture(1, 1), picture(1, 2))
MESSAGES = st.lists(
    st.builds(
        PromptMessage,
        st.sampled_from(["system", "user"]),
        st.text(st.characters(), max_size=3),
        pictures=st.lists(st.sampled_from(PICTURES), max_size=2).map(tuple),
    ),
    max_size=3,
)
PROMPTS = st.builds(
    Prompt,
    MESSAGES.map(tuple),
    st.sampled_from([{}, {"type": "object"}, {"type": "array"}]),
    max_tokens=st.integers(1, 2),
    repeat=st.integers(0, 2),
    tenant=st.sampled_from(["", "p"]),
    temperature=st.sampled_from([None, 0.0, 1.0]),
    top_p=st.sampled_from([None, 0.5, 1.0]),
)


@given(PROMPTS, PROMPTS)
def test_requests_have_one_key_exactly_where_they_are_equal(one: Prompt, other: Prompt) -> None:
    """Text may hold anything, lone surrogates included."""
    assert (request_key(one, "m") == request_key(other, "m")) is (one == other)
    assert len({request_key(one, "m"), request_key(one, "n"), request_key(one, "m", {"t": 1})}) == 3


@given(PROMPTS)
def test_whom_the_spend_is_for_is_no_part_of_a_key(prompt: Prompt) -> None:
    """Nor are the purpose, and where prefixes end."""
    marked = tuple(replace(message, cache=True) for message in prompt.messages)
    other = replace(prompt, messages=marked, purpose="plan", service="s", trace_id="t", run_id="r", bypass_cache=True)
    assert request_key(prompt, "m") == request_key(other, "m")


def test_answers_stored_by_earlier_versions_are_found() -> None:
    """What a prompt does not set is absent from its key."""
    assert request_key(ASKED, "m", {"t": 1}) == "a548eb536be3a5a0fdd752ed071a6e02"
