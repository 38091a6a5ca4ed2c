"""The evidence gate: what counts as a span's own text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, raw, run, tool, trace

from tracejury.judges.evidence import MOST_SEARCHES, OwnText, json_strings
from tracejury.judges.quoting import QUOTE, quote, quote_call
from tracejury.schemas.normalized import ExceptionInfo, Kind, Message, NormalizedSpan, ToolRequest
from tracejury.schemas.spans import SpanEvent
from tracejury.schemas.trajectory import Trace


def _whole() -> Trace:
    made = trace(
        run(
            "r1",
            Said(
                "a1",
                "I look it up.",
                [Did("look", {"q": "the “best” query\nin lines", "n": 3}, None, "it broke", "t1")],
            ),
            Said("a2", "Done.", sees=["new to this call"]),
        )
    )
    llm = made.spans["a2"]
    event = SpanEvent(1, "retry", {"reason": "rate of requests"})
    changed = replace(
        llm,
        raw=replace(llm.raw, status_message="a status message", events=(event,)),
        input_messages=(Message("user", "sent before"), Message("tool", "new to this call")),
        log_text=("a joined log line",),
        exceptions=(ExceptionInfo("Oops", "an exception's message"),),
    )
    turns = made.runs[0].turns
    one = replace(made.runs[0], turns=(turns[0], replace(turns[1], llm=changed)))
    return trace(one)


WHOLE = _whole()


@pytest.mark.parametrize(
    ("span_id", "text"),
    [
        ("a2", "chat"),
        ("a2", "a status message"),
        ("a2", "retry"),
        ("a2", "rate of requests"),
        ("a2", "Oops"),
        ("a2", "an exception's message"),
        ("a2", "Done."),
        ("a2", "a joined log line"),
        ("a2", "new to this call"),
        ("a1", "look"),
        ("a1", "the “best” query\nin lines"),
        ("t1", "it broke"),
        ("t1", "the “best” query\nin lines"),
    ],
)
def test_own_text_is_what_the_span_adds(span_id: str, text: str) -> None:
    """Name, status, events, output, calls, logs and new messages count, decoded."""
    assert OwnText(WHOLE).settle(span_id, text) == span_id


@pytest.mark.parametrize(("span_id", "text"), [("a2", "sent before"), ("a2", "I look it up."), ("t1", "Done.")])
def test_what_others_said_is_not_own_text(span_id: str, text: str) -> None:
    """Messages that the run had been sent before, and other spans' texts, do not count."""
    assert not OwnText(WHOLE).holds(span_id, text)


def test_outside_any_run_the_messages_after_the_last_answer_are_new() -> None:
    """A closing call has no run that tells old from new."""
    messages = (Message("user", "old"), Message("assistant", "older answer"), Message("user", "now answer"))
    span = NormalizedSpan(raw("x1", "chat"), Kind.LLM, "test", input_messages=messages)
    alone = Trace(WHOLE.trace_id, "", "", "", WHOLE.state, (), {"x1": span}, (span,))
    assert OwnText(alone).holds("x1", "now answer")
    assert not OwnText(alone).holds("x1", "older answer")


@pytest.mark.parametrize(
    ("span_id", "text"),
    [
        ("a1", "the code printed this"),
        ("t1", "the code printed this"),
        ("a1", "the tool look"),
        ("s1", "how long is it?"),
        ("s1", "a mile"),
    ],
)
def test_what_is_told_at_a_step_can_be_quoted_by_judges(span_id: str, text: str) -> None:
    """What a turn put out, tools' definitions, a sub-agent's task and answer; detectors quote own text alone."""
    said = Said(
        "a1", "", [Did("look", {"q": "x"}, "y", None, "t1")], tools=[tool("look")], observed="the code printed this"
    )
    manager = run("r1", said, Said("a2", "", [Did("helper", None, None, sub_run_id="s1")]))
    sub = run("s1", Said("b1", "Hm."), role="sub-agent", parent_id="r1", goal="how long is it?", answer="a mile")
    whole = trace(manager, sub)
    assert OwnText(whole, told=True).holds(span_id, text)
    assert not OwnText(whole).holds(span_id, text)
    assert not OwnText(whole, told=True).holds("a2", text)


def test_searching_for_misplaced_quotes_is_bounded() -> None:
    """A detector that misplaces everything cannot make the gate quadratic."""
    own = OwnText(trace(run("r1", Said("a1", "One."), Said("a2", "Two."))))
    settled = [own.settle("a1", "Two.") for _ in range(MOST_SEARCHES + 1)]
    assert settled == ["a2"] * MOST_SEARCHES + [None]


@given(st.text(max_size=600), st.integers(0, 600))
def test_a_quote_is_verbatim_and_short(text: str, around: int) -> None:
    """Whatever the text and the place: the quote stands in the text and has a sensible length."""
    cut = quote(text, min(around, len(text)))
    assert cut in text
    assert len(cut) <= QUOTE
    assert cut == cut.strip()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_strings_of_a_json_value_are_found(value: object) -> None:
    """Each piece is text, and a string at the top stands for itself."""
    pieces = json_strings(value)  # type: ignore[arg-type]  # any JSON value
    assert all(isinstance(piece, str) for piece in pieces)
    if isinstance(value, str):
        assert pieces == [value]


def test_a_call_is_quoted_as_it_was_written() -> None:
    """The arguments as the output has them, else their longest text, else the tool's name, else the span's."""
    turn = WHOLE.runs[0].turns[0]
    assert turn.llm is not None
    (call,) = turn.tool_calls
    assert quote_call(turn, call) == "the \u201cbest\u201d query\nin lines"
    short = replace(turn.llm, output_messages=(Message("assistant", "", (ToolRequest("look", {"n": 3}),)),))
    assert quote_call(replace(turn, llm=short), replace(call, arguments={"n": 3})) == "look"
    written = replace(turn, llm=replace(turn.llm, output_text='{"q": "x"} and more'))
    assert quote_call(written, replace(call, arguments={"q": "x"})) == '{"q": "x"}'
    silent = replace(turn, llm=replace(turn.llm, output_messages=(), output_text=""))
    assert quote_call(silent, call) == "chat"
    assert quote_call(replace(turn, llm=None), call) == "look"


OPENINFERENCE = "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments"


@pytest.mark.parametrize(
    ("key", "value", "quoted"),
    [
        (OPENINFERENCE, '{"town": "Oslo"}', '{"town": "Oslo"}'),
        (OPENINFERENCE, '{"town":"Oslo"}', '{"town":"Oslo"}'),
        (
            "gen_ai.output.messages",
            '[{"name": "look", "arguments": {"town": "Oslo"}}]',
            '{"name": "look", "arguments": {"town": "Oslo"}}',
        ),
        (
            "gen_ai.output.messages",
            '[{"parts":[{"id":"c1","args":{"town":"Oslo"},"name":"look"}]}]',
            '{"id":"c1","args":{"town":"Oslo"},"name":"look"}',
        ),
        (
            "output.value",
            r'{"function":{"name":"look","arguments":"{\"town\":\"Oslo\"}"}}',
            r'{"name":"look","arguments":"{\"town\":\"Oslo\"}"}',
        ),
        ("output.value", '{"name": "look", "arguments": {"town": "Oslo"}, "by": "' + "x" * 200, '{"town": "Oslo"}'),
        ("output.value", "Call(name='look', args='{\"town\": \"Oslo\"}')", '{"town": "Oslo"}'),
        ("output.value", r'{"arguments": "{\"town\": \"Oslo\"}"}', r"{\"town\": \"Oslo\"}"),
        ("gen_ai.input.messages", '{"town": "Oslo"}', "Oslo"),
    ],
)
def test_arguments_are_quoted_from_the_attributes_as_sent(key: str, value: str, quoted: str) -> None:
    """In the form of the instrumentation, in the object of the call where it is short; never from the input."""
    made = trace(run("r1", Said("a1", "", [Did("look", {"town": "Oslo"}, None, "it broke", "t1")])))
    (turn,) = made.runs[0].turns
    assert turn.llm is not None
    llm = replace(turn.llm, raw=replace(turn.llm.raw, attributes={key: value}))
    sent = replace(turn, llm=llm)
    assert quote_call(sent, sent.tool_calls[0]) == quoted
    whole = trace(replace(made.runs[0], turns=(sent,)))
    assert OwnText(whole).holds("a1", quoted)


@pytest.mark.parametrize(
    ("text", "around", "quoted"),
    [
        ("short", 0, "short"),
        ("", 0, ""),
        ("first line\nsecond line", 15, "second line"),
        ("word " * 100, 0, ("word " * 40).strip()),
        ("A first sentence that is long enough to be understood by all. " + "x" * 300, 3, None),
        ("y" * 500, 400, None),
        ('{"a": "' + "x" * 150 + '", "error": "no such town"}', 170, 'no such town"}'),
        ("x" * 150 + " called with {'town': 'Oslo bay'}: it failed", 190, "it failed"),
    ],
)
def test_quotes_begin_and_end_with_sentences_values_and_words(text: str, around: int, quoted: str | None) -> None:
    """A quote is cut inside a word only if the word is longer than the quote."""
    cut = quote(text, around)
    assert len(cut) <= QUOTE
    if quoted is not None:
        assert cut == quoted
    elif " " in text:
        assert cut == "A first sentence that is long enough to be understood by all."
