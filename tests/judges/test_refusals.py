"""Calls that were turned down: why, by structure first and else by the wordings of many frameworks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.causes import OF_THE_TOOL
from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Message, ToolDefinition, ToolRequest
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

SEARCH = tool("search", ("query",), query="string")
CANCEL = tool("cancel_order", ("order",), order="string")
KINDS = {"unknown-tool", "malformed-arguments", "schema-violation", "call-refused", "lost-result"}


def found(whole: Trace) -> list[Finding]:
    """The findings that lead the errors which a balanced reader sees."""
    result = suite_of(()).judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    shown = [f for f in result.findings if f.confidence >= threshold("balanced")]
    return [error.lead for error in group(shown, [r.id for r in whole.runs])]


def one_call(did: Did, *later: Said, given: tuple[ToolDefinition, ...] = (SEARCH, CANCEL)) -> Trace:
    """A run that makes this call, takes the later turns, and then says that it knows nothing."""
    last = Said("z1", "I could not find it.", sees=[did.error or did.result or ""])
    return trace(run("r1", Said("a1", "", [did], tools=given), *later, last, tools=given))


UNKNOWN = [
    "Error: sing is not a valid tool, try one of [search].",
    "Tool sing not found in agent researcher",
    "Unknown tool name: 'sing'. Available tools: 'search'",
    "Unknown tool sing, should be one of: search.",
    "Function sing is not found in the tools_dict: {}",
    "Tool 'sing' not found.\nAvailable tools: search",
    "Unknown tool: sing",
    "Error: The tool 'sing' is not available.",
    "Tool with name sing not found",
    "AI_NoSuchToolError: Model tried to call unavailable tool 'sing'. Available tools: search.",
    "Action 'sing' don't exist, these are the only available Actions: search",
    "The tool call with name 'sing' is not part of the provided tools",
    "No such tool available: sing",
    "Tool not found: {'tool_name': 'sing'}",
    "The requested tool does not exist or is not available.",
]
MALFORMED = [
    'Invalid JSON input for tool search: {"query": "ri',
    "1 validation error for search args: Invalid JSON: EOF while parsing a string at line 1 column 12",
    "AI_InvalidToolInputError: Invalid input for tool search: JSON parsing failed",
    "Function search arguments: are not valid JSON. Received JSONDecodeError Unterminated string",
    "Unable to decode function arguments: Expecting ',' delimiter: line 1 column 20",
    "Tool call arguments are malformed. Arguments must be in JSON format.",
]
SCHEMA = [
    "TypeError: search() got an unexpected keyword argument 'q'",
    "search() missing 1 required positional argument: 'query'",
    "1 validation error for search\nquery\n  Field required [type=missing]",
]
POLICY = [
    "Tool execution was not approved.",
    "The tool call was denied.",
    "User rejected the tool call for `search`",
    "This tool call requires user confirmation",
    "Permission to use the tool was denied by the policy",
]
OUTAGE = {
    "service-error": "search backend returned 503 for query: length of the Elbe",
    "timeout-error": "TimeoutError: the call timed out after 30 s",
    "rate-error": "HTTPError: 429 Too Many Requests",
}


@pytest.mark.parametrize("error", UNKNOWN)
def test_a_tool_that_was_not_given_is_unknown_whatever_the_error_says(error: str) -> None:
    """By structure with any message, and by the message where nobody knows which tools were given."""
    did = Did("sing", {"song": "a"}, None, error, executed=False)
    for whole in (one_call(did), one_call(replace(did, error="Fehler"))):
        (finding,) = found(whole)
        assert (finding.judge, finding.span_id) == ("unknown-tool", "a1")
    (finding,) = found(one_call(replace(did, executed=True, span_id="t1"), given=()))
    assert (finding.judge, finding.span_id, finding.tool_span_id) == ("unknown-tool", "a1", "t1")


def test_a_tool_that_was_not_given_and_never_ran_is_unknown() -> None:
    """Also where nothing tells how the call ended, but not before the run goes on."""
    did = Did("sing", {"song": "a"}, None, executed=None)
    assert [f.judge for f in found(one_call(did))] == ["unknown-tool"]
    waiting = run("r1", Said("a1", "", [did], tools=[SEARCH]), tools=[SEARCH], ended=False)
    assert found(trace(waiting)) == []


def test_a_call_with_which_a_run_ends_may_hand_over_its_answer() -> None:
    """Frameworks hand answers over by tools that the model was not given; one that goes on was refused."""
    unseen = Did("hand_in", {"answer": "12 EUR"}, None, executed=None)
    ended = trace(run("r1", Said("a1", "", [unseen], tools=(SEARCH,)), tools=(SEARCH,)))
    assert [f.judge for f in found(ended) if f.judge in KINDS] == []
    assert "unknown-tool" in {f.judge for f in found(one_call(unseen))}


def test_a_tool_that_works_was_known() -> None:
    """Lists of tools may be incomplete; and names differ by their owner."""
    assert found(one_call(Did("sing", {"song": "a"}, "la", span_id="t1"))) == []
    down = Did("researcher.search", {"query": "a"}, None, OUTAGE["service-error"], "t1")
    assert [f.judge for f in found(one_call(down))] == ["service-error-at-tool"]


@pytest.mark.parametrize("error", [*MALFORMED, "Fehler"])
def test_arguments_that_are_no_json_are_malformed(error: str) -> None:
    """Whatever the message; a text that was not meant as JSON is a tool's free form."""
    did = Did("search", '{"query": "ri', None, error, executed=False)
    assert [f.judge for f in found(one_call(did))] == ["malformed-arguments"]
    free = Did("search", "rivers", "a page", span_id="t1")
    assert found(one_call(free)) == []


@pytest.mark.parametrize("error", MALFORMED)
def test_the_message_tells_of_malformed_arguments_that_were_not_recorded(error: str) -> None:
    """Some put an empty object in their place."""
    assert [f.judge for f in found(one_call(Did("search", {}, None, error, executed=False)))] == ["malformed-arguments"]


@pytest.mark.parametrize("error", SCHEMA)
def test_arguments_that_the_tool_does_not_take_break_its_schema(error: str) -> None:
    """At the call; the failing result is the same error, not one of a service."""
    judges = [f.judge for f in found(one_call(Did("search", {"q": "ri"}, None, error, "t1", executed=False)))]
    assert judges == ["schema-violation"]


@pytest.mark.parametrize(
    ("arguments", "error", "title"),
    [
        ({}, "ToolError: not like that", "Argument missing"),
        ({}, "1 validation error for search\nquery\n  Field required [type=missing]", "Argument missing"),
        ({"query": 7}, "1 validation error: Input should be a valid string", "Argument of the wrong type"),
        (
            {"query": "a", "q": "b"},
            "search() got an unexpected keyword argument 'q'",
            "Argument the tool does not take",
        ),
    ],
)
@pytest.mark.parametrize("given", [(SEARCH, CANCEL), ()])
def test_the_title_says_what_is_wrong_with_the_arguments(
    arguments: dict[str, object], error: str, title: str, given: tuple[ToolDefinition, ...]
) -> None:
    """By the schema of the tool, else by the error."""
    if not given and "not like that" in error:
        pytest.skip("nothing tells")
    made = found(one_call(Did("search", arguments, None, error, "t1", executed=False), given=given))
    assert [(f.judge, f.title) for f in made] == [("schema-violation", title)]


def test_a_provider_that_fails_is_no_output_that_cannot_be_parsed() -> None:
    """The step around the model's call tells of the same failure."""
    error = "InternalServerError: Error code: 500 - could not parse the body"
    whole = trace(run("r1", Said("a1", "", llm_error=error, step_error=error), Said("z1", "Sorry."), tools=[SEARCH]))
    assert {f.judge for f in found(whole)} == {"model-service"}


@pytest.mark.parametrize("error", POLICY)
def test_a_refusal_is_no_failing_service(error: str) -> None:
    """A person or a rule said no."""
    assert [f.judge for f in found(one_call(Did("search", {"query": "a"}, None, error, "t1")))] == ["call-refused"]


def test_a_guess_at_a_rule_is_no_refusal() -> None:
    """The tool could not do it and names what may be why."""
    error = "Unable to reach the page. This might be caused by a proxy or policies that forbid it."
    assert [f.judge for f in found(one_call(Did("search", {"query": "a"}, None, error, "t1")))] != ["call-refused"]
    stated = f"{error} Company policy does not allow it."
    assert [f.judge for f in found(one_call(Did("search", {"query": "a"}, None, stated, "t1")))] == ["call-refused"]


def test_a_change_that_a_service_declines_is_refused() -> None:
    """It answers that it did not do it; the same answer to a look-up is its result."""
    declined = Did("cancel_order", {"order": "7"}, "Error: sent orders stay as they are", span_id="t1")
    assert [f.judge for f in found(one_call(declined))] == ["call-refused"]


@pytest.mark.parametrize("judge", sorted(OUTAGE))
def test_an_outage_stays_what_it_is(judge: str) -> None:
    """None of these is the caller's doing, so where the tool itself failed it is at the tool."""
    whole = one_call(Did("search", {"query": "a"}, None, OUTAGE[judge], "t1"))
    assert [f.judge for f in found(whole)] == [OF_THE_TOOL.get(judge, judge)]


def test_a_mended_call_is_slight() -> None:
    """The same tool works later; of an unknown tool any call that works will do."""
    failed = Did("search", {"query": "a"}, None, OUTAGE["service-error"], "t1")
    sung = Did("sing", {"song": "a"}, None, UNKNOWN[0], executed=False)
    again = Said("a2", "", [Did("search", {"query": "a"}, "a page", span_id="t2")])
    for did in (failed, sung):
        (alone,) = found(one_call(did))
        assert alone.severity is Severity.MEDIUM
        mended = [f for f in found(one_call(did, again)) if f.span_id in ("a1", "t1")]
        assert [f.severity for f in mended] == [Severity.LOW]


def history(*messages: Message) -> list[str]:
    """What is found where a later call of the model was sent these messages."""
    asked, last = Said("a1", "", [Did("search", {"query": "a"})]), Said("z1", "I could not find it.")
    base = run("r1", asked, last, tools=[SEARCH])
    first, second = base.turns
    assert second.llm is not None
    call = replace(first.tool_calls[0], call_id="c1", result=None, executed=None)
    later = replace(second, llm=replace(second.llm, input_messages=messages))
    return [f.judge for f in found(trace(replace(base, turns=(replace(first, tool_calls=(call,)), later))))]


def test_a_result_is_lost_only_where_nothing_can_be_it() -> None:
    """Some record results without the id of their call, or as a message of the user."""
    asked = Message("assistant", "", (ToolRequest("search", {"query": "a"}, "c1"),))
    other = Message("tool", "another", tool_call_id="c2")
    assert history(asked) == history(asked, other) == ["lost-result"]
    for answer in (Message("tool", "a page", tool_call_id="c1"), Message("tool", "a page"), Message("user", "a page")):
        assert history(asked, answer) == []
    assert history(Message("user", "what is it?")) == []
