"""Open traces hold each text once, and read as if they did not."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_histories import long_history

from tracejury.processors.normalize import normalize
from tracejury.processors.open_trace import SHARED_FROM, OpenTrace
from tracejury.processors.shared_texts import LEAST, LONG, SharedAttributes, SharedTexts
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.spans import Span

ID = "d" * 32
TURNS = 120

pieces = st.sampled_from(["a" * LEAST, "b" * LONG, "\n", "\\n", '"},', '{"role": "user"}, ', "é" * 90, "x" * 7])


def span(number: int, text: str) -> Span:
    return Span(ID, f"{number:016x}", "", "chat", 1, 2, {"input.value": text, "llm.model_name": "m"})


def opened(*spans: Span) -> OpenTrace:
    trace = OpenTrace(("", ID), first_arrival=0, last_arrival=0)
    for one in spans:
        trace.add_span(one)
    return trace


@given(st.lists(st.lists(pieces, max_size=30).map("".join), min_size=1, max_size=4))
def test_shared_attributes_are_the_attributes(texts: list[str]) -> None:
    """Whatever the texts are; also after they were written to a file."""
    shared = SharedTexts()
    for number, text in enumerate(texts):
        original = span(number, text)
        found = shared.share_raw(original)
        assert found == original
        assert pickle.loads(pickle.dumps(found)) == original  # noqa: S301  written above
        assert dict(found.attributes) == original.attributes
        assert list(found.attributes.values()) == list(original.attributes.values())
        assert ("input.value" in found.attributes, "gone" in found.attributes) == (True, False)
        assert span_size(found) == span_size(original)
        assert isinstance(found.attributes, SharedAttributes) is (len(text) + 1 >= LONG)


@pytest.mark.parametrize(
    "shape", [{"growing": growing, "flat": flat} for growing in (True, False) for flat in (True, False)], ids=str
)
def test_what_calls_repeat_is_held_once(shape: dict[str, bool]) -> None:
    """A history that grows, one of which the oldest is left out, and a constant prompt; the same is read of them."""
    spans = list(long_history(TURNS, 40_000, trace_id=ID, **shape))
    trace = opened(*spans)
    assert trace.size < 0.15 * sum(map(span_size, spans))
    assert list(trace.spans.values()) == [normalize(one) for one in spans]
    calls = [one for one in trace.spans.values() if len(one.input_messages) > 2]
    prompts = {id(one.input_messages[0].text) for one in calls}
    assert len(prompts) == 1 or len(calls[0].input_messages[0].text) < LONG


def test_a_text_that_grows_at_its_end_is_held_once() -> None:
    """A prompt with all that was done so far, line by line, as plain text and within JSON."""
    lines = [f"Observation {number}: {'o' * 300}" for number in range(200)]
    for end in ("\n", "\\n"):
        spans = [span(number, end.join(lines[: number + 1])) for number in range(200)]
        assert opened(*spans).size - 1000 * len(spans) < 0.1 * sum(map(span_size, spans))


def test_spans_of_a_small_trace_stay_as_they_came() -> None:
    """Whatever the order: all of them are shared at once when the trace grows beyond the bound."""
    spans = list(long_history(TURNS, 10_000, trace_id=ID))
    small = opened(*spans[:20])
    assert all(small.raw[one.span_id] is one for one in spans[:20])
    assert small.size == sum(map(span_size, spans[:20])) < SHARED_FROM < sum(map(span_size, spans))
    read = list(small.spans.values())
    for one in reversed(spans):
        small.add_span(one)
    assert list(small.spans.values())[:20] == read
    long = [one for one in spans if sum(map(len, one.attributes.values())) >= LONG]
    assert all(isinstance(small.raw[one.span_id].attributes, SharedAttributes) for one in long)


def test_a_trace_that_left_memory_keeps_nothing() -> None:
    """Its rows are what came, and take their places again."""
    spans = list(long_history(TURNS, 15_000, trace_id=ID))
    trace = opened(*spans)
    size, (rows, _) = trace.size, trace.release()
    assert (trace.size, list(rows)) == (0, spans)
    for one in rows:
        trace.add_span(one)
    assert trace.size == size
    assert len(pickle.dumps(rows)) < 0.5 * sum(map(span_size, spans))
    assert not trace.add_span(spans[0])
