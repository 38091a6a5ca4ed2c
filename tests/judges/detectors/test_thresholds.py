"""Rules at, below and above each of their thresholds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from coding_traces import GREP, coding
from faulty_traces import (
    LONG_PLAN,
    announcing,
    asked,
    churning,
    failing,
    final,
    limited,
    planned,
    replanned,
    same_calls,
    wrong_arguments,
)
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.base import Context
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.detectors.arguments import MOST_WORDS, path_argument, unsupported_share
from tracejury.judges.detectors.churn import alike, free_text
from tracejury.judges.detectors.completion import plan_steps
from tracejury.judges.detectors.entities import slipped
from tracejury.judges.tool_schema import mistyped, violation
from tracejury.schemas.normalized import Json
from tracejury.schemas.trajectory import Trace

RULES = {rule.name: rule for rule in BUILT_IN}


def at(name: str, whole: Trace) -> list[str]:
    """The spans at which a rule fires."""
    return [d.span_id for d in RULES[name].detect(whole, Context(whole))]


@pytest.mark.parametrize(("times", "spans"), [(1, []), (2, ["a1"]), (3, ["a1"])])
def test_two_failures_in_a_row_are_a_run_and_the_second_is_marked(times: int, spans: list[str]) -> None:
    """One failure is no repetition; however long the run, one finding stands at the call that made it one."""
    assert at("repeated-failure", failing("ValueError: no", times)) == spans


@pytest.mark.parametrize(("times", "spans"), [(1, []), (2, ["t1"]), (3, ["t1", "t2"])])
def test_at_the_tool_each_failure_from_the_second_on_is_marked(times: int, spans: list[str]) -> None:
    """Calls that bring nothing are marked one by one ..."""
    assert at("repeated-failure-at-tool", failing("ValueError: no", times)) == spans


@pytest.mark.parametrize(("times", "spans"), [(1, []), (2, ["t1"]), (3, ["t1"])])
def test_of_wrong_arguments_the_second_stands_for_all(times: int, spans: list[str]) -> None:
    """... wrong arguments once: each of them is marked at the call that wrote them."""
    assert at("repeated-failure-at-tool", wrong_arguments(times)) == spans
    assert at("schema-violation", wrong_arguments(times)) == [f"a{i}" for i in range(times)]


def test_another_tool_between_ends_a_run_of_failures() -> None:
    """Failing, doing something else well, failing again is no run."""
    error = "ValueError: no"
    turns = [
        Said("a1", "", [asked("x y z", "t1", error=error)]),
        Said("a2", "", [Did("other", {"q": 1}, "fine", None, "t2")], [error]),
        Said("a3", "", [asked("x y z", "t3", error=error)]),
        Said("a4", "Well.", sees=[error]),
    ]
    assert at("repeated-failure", trace(run("r1", *turns))) == []


@pytest.mark.parametrize(("times", "first", "again"), [(0, [], []), (1, ["a0"], []), (3, ["a0"], ["a1", "a2"])])
def test_the_first_announcement_and_those_after_it_differ(times: int, first: list[str], again: list[str]) -> None:
    """The first is a wrong choice of tool, the next ones a waste."""
    assert at("intent-without-call", announcing(times)) == first
    assert at("intent-without-call-again", announcing(times)) == again


@pytest.mark.parametrize(("times", "spans"), [(2, []), (3, ["a2"]), (4, ["a2"])])
def test_three_equal_calls_with_equal_results_are_a_waste(times: int, spans: list[str]) -> None:
    """Twice may be care; the third time brings nothing. The other calls are its repeats."""
    whole = same_calls(times)
    found = list(RULES["identical-call"].detect(whole, Context(whole)))
    assert [draft.span_id for draft in found] == spans
    assert [draft.also_at for draft in found] == [tuple(f"a{n}" for n in range(times) if n != 2)][: len(found)]


def test_equal_calls_are_a_waste_where_the_model_has_no_spans() -> None:
    """Instrumentation of tools alone shows the repetition; it is marked at the last tool span."""
    whole = same_calls(3)
    bare = [replace(r, turns=tuple(replace(t, llm=None) for t in r.turns)) for r in whole.runs]
    assert at("identical-call", replace(whole, runs=tuple(bare))) == ["t2"]


def test_equal_calls_with_new_results_are_none() -> None:
    """Paging on and waiting repeat a call for good reasons."""
    waits = [Said(f"a{i}", "", [Did("get_job_status", {"id": 1}, "running", None, f"t{i}")]) for i in range(5)]
    assert at("identical-call", trace(run("r1", *waits, final("z1")))) == []
    turns = [Said(f"a{i}", "", [Did("page_down", {"by": 1}, f"page {i}", None, f"t{i}")]) for i in range(5)]
    assert at("identical-call", trace(run("r1", *turns, final("z1")))) == []


@pytest.mark.parametrize(
    ("queries", "spans"),
    [
        (["oldest flavour in the graveyard"], []),
        (["oldest flavour in the graveyard", "oldest flavour graveyard list"], ["t1"]),
        (["oldest flavour in the graveyard", "how tall is the tower"], []),
        (["length of the Rhine in km", "length of the Elbe in km"], []),
        (["size in 2019 of it all", "size in 2020 of it all"], []),
    ],
)
def test_queries_churn_if_they_ask_for_the_same(queries: list[str], spans: list[str]) -> None:
    """Similar words, and no name or number of its own on either side."""
    assert at("query-churn-at-tool", churning(*queries)) == spans


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a b c", "a b c", True),
        ("a b c", "a d e f g h i", False),
        ("a b c d e f", "a b c g h i j", True),
        ("a b c d e f", "a b g h i j", False),
        ("", "a b c", False),
    ],
)
def test_likeness_is_the_share_of_common_words(one: str, other: str, *, same: bool) -> None:
    """From three tenths on."""
    assert alike(one, other) is same


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"query": "three words here"}, "three words here"),
        ({"query": "two words"}, ""),
        ({"url": "https://x.org/a b c d"}, ""),
        ("three words here", "three words here"),
        (["a b c"], ""),
        (None, ""),
        ({"n": 3}, ""),
    ],
)
def test_free_text_is_words_and_no_address(arguments: Json, text: str) -> None:
    """Only such text can be churned."""
    assert free_text(arguments) == text


@pytest.mark.parametrize(("words_changed", "same"), [(0, True), (2, True), (12, False)])
def test_a_plan_is_the_same_from_nine_tenths_on(words_changed: int, *, same: bool) -> None:
    """A few other words make no new plan."""
    words = LONG_PLAN.split(" ")
    changed = " ".join(["other"] * words_changed + words[words_changed:])
    assert bool(at("same-plan-again", replanned(LONG_PLAN, changed))) is same


@pytest.mark.parametrize(
    ("steps", "acts", "fires"), [(4, 1, False), (5, 1, True), (6, 1, True), (6, 0, False), (6, 2, False)]
)
def test_a_sub_agent_may_not_answer_after_one_act_of_a_long_plan(steps: int, acts: int, *, fires: bool) -> None:
    """Five planned steps and one act is too early; without any act other rules speak."""
    plan = "\n".join(f"{i}. Use web_search for part {i}." for i in range(steps))
    done = [Said(f"a{i}", "Searching.", [asked(f"part {i} of it", f"t{i}")]) for i in range(acts)]
    whole = planned(plan, *done, final("z1"), role="sub-agent")
    assert at("early-finish", whole) == (["z1"] if fires else [])
    assert at("early-finish", planned(plan, *done, final("z1"))) == []


@pytest.mark.parametrize(
    ("text", "steps"),
    [("1. a\n2) b\n 3: c", 3), ("Step 1: a\nStep 2: b", 2), ("no steps", 0), ("in 2019. a", 0), ("1.\n" * 3000, 2000)],
)
def test_steps_are_numbered_lines(text: str, steps: int) -> None:
    """However they are numbered; a bounded part of the text is read."""
    assert plan_steps(text) == steps


@pytest.mark.parametrize(("limit", "fires"), [(1, True), (2, True), (3, False)])
def test_a_closing_call_tells_of_the_step_limit_if_the_steps_are_used_up(limit: int, *, fires: bool) -> None:
    """Two acting turns and a closing call: with a limit of three there was room left."""
    from dataclasses import replace

    whole = limited()
    limited_run = replace(whole.runs[0], max_steps=limit)
    assert bool(at("step-limit", trace(limited_run))) is fires


@pytest.mark.parametrize(("reason", "fires"), [("length", True), ("MAX_TOKENS", True), ("stop", False), ("", False)])
def test_a_cut_output_is_told_by_its_finish_reason(reason: str, *, fires: bool) -> None:
    """As providers name it."""
    whole = trace(run("r1", Said("a1", "and so on", finish_reasons=(reason,))))
    assert bool(at("output-limit", whole)) is fires


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("Jane Austen", 0.0),
        ("jane AUSTEN", 0.0),
        ("Jane Eyre", 0.5),
        ("Emily Bronte", 1.0),
        (" ".join(["word"] * MOST_WORDS), 1.0),
        (" ".join(["word"] * (MOST_WORDS + 1)), 0.0),
        ("", 0.0),
        ("!?", 0.0),
    ],
)
def test_a_short_answer_is_looked_for_word_by_word(answer: str, share: float) -> None:
    """Whatever the case; long answers are nothing to look for."""
    assert unsupported_share(answer, ["It was Jane Austen."]) == share


@pytest.mark.parametrize(
    ("answer", "looked_up", "fires"),
    [
        ("Emily Bronte", True, True),
        ("Emily Bronte", False, False),
        ("Jane Austen", True, False),
        ("Yes", True, False),
        ("positive", True, False),
        ("1847", True, True),
    ],
)
def test_an_answer_that_names_something_must_have_been_seen(answer: str, *, looked_up: bool, fires: bool) -> None:
    """After a look-up, a name or a number; a verdict, or sorting what was given, stands nowhere before."""
    look = [Said("a1", "Searching.", [asked("who wrote it", "t1")])] if looked_up else []
    last = final("z1", "It is so.", answer, "a page about Jane Austen")
    whole = trace(run("r1", *look, last, tools=[tool("web_search", ("query",), query="string")]))
    assert bool(at("unobserved-answer", whole)) is fires


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"path": "data/a_b-1.csv"}, "data/a_b-1.csv"),
        ({"files": ["x", "report.pdf"]}, "report.pdf"),
        ("notes.txt", "notes.txt"),
        ({"url": "https://x.org/a.pdf"}, ""),
        ({"q": "version 1.5"}, ""),
        ({"q": "a" * 250 + ".csv"}, ""),
        (None, ""),
    ],
)
def test_a_path_is_a_name_with_an_extension(arguments: Json, path: str) -> None:
    """No address, no number, nothing endless."""
    assert path_argument(arguments) == path


@pytest.mark.parametrize(("goal", "fires"), [("Sum up data.csv", False), ("Sum it up", True)])
def test_a_path_that_was_given_is_not_invented(goal: str, *, fires: bool) -> None:
    """A missing file is somebody else's error if the task named it."""
    turn = Said("a1", "Reading.", [Did("open_file", {"path": "data.csv"}, None, "FileNotFoundError: no", "t1")])
    whole = trace(run("r1", turn, final("z1", "Nothing.", "unknown"), goal=goal))
    assert bool(at("invented-path", whole)) is fires


@pytest.mark.parametrize(
    ("called", "asked_for", "found"),
    [
        ("painter Kowalevsky", "Who painted Kovalevsky?", ("Kowalevsky", "Kovalevsky")),
        ("painter Kovalevsky", "Who painted Kovalevsky?", None),
        ("painter kowalevsky", "Who painted Kovalevsky?", None),
        ("Germans in Paris", "Which German went to Paris?", None),
        ("Hamburg harbour", "Sail to Homburg", ("Hamburg", "Homburg")),
        ("Berlin", "Merlin the wizard", None),
        ("", "Who?", None),
    ],
)
def test_a_name_may_slip_between_the_task_and_a_call(
    called: str, asked_for: str, found: tuple[str, str] | None
) -> None:
    """One other letter in a long name; grammar is no slip, and neither is another word."""
    assert slipped(called, asked_for) == found


SEARCH = tool("web_search", ("query",), query="string", year="integer").parameters


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"query": "x"}, ""),
        ({"query": "x", "year": 2020}, ""),
        ({"year": 2020}, "needs the argument 'query'"),
        ({"query": "x", "page": 2}, "takes no argument 'page'"),
        ({"": ""}, "takes no argument ''"),
        ({}, "needs the argument 'query'"),
        ("x", ""),
        (None, ""),
    ],
)
def test_arguments_are_checked_against_the_schema(arguments: Json, problem: str) -> None:
    """Unknown and missing names; what is no object is not decidable."""
    assert violation(arguments, SEARCH) == problem


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"properties": {"query": "x"}},
        {"properties": 3},
        {"properties": {}, "additionalProperties": True},
        {"type": "object"},
        {"properties": {"page": {}}, "required": [["page"], {"q": 1}]},
    ],
)
def test_an_odd_schema_decides_nothing(schema: dict[str, object] | None) -> None:
    """Some instrumentation records the arguments where the schema belongs."""
    assert violation({"page": 2}, schema) == ""


@pytest.mark.parametrize(
    ("did", "fires"),
    [
        (Did("web_search", {"page": 2}, "fine", None, "t1"), False),
        (Did("web_search", {"page": 2}, None, "ValueError: no", "t1"), True),
        (Did("web_search", {"page": 2}, None, "TimeoutError: timed out", "t1"), False),
        (Did("web_search", {}, None, "ValueError: no", "t1"), False),
        (Did("web_search", {}, None, "TypeError: missing 1 required positional argument", "t1"), True),
        (Did("web_search", {}, None, None, "", executed=False), True),
        (Did("web_search", {"page": 2}, None, None, "", executed=False), True),
        (Did("web_search", {"page": 2}, None, None, "", executed=None), False),
        (Did("web_search", {"query": "x"}, None, "ValueError: no", "t1"), False),
        (Did("web_search", {"query": "x"}, None, "TypeError: unexpected keyword argument", "t1"), True),
        (Did("web_search", {"query": 3}, None, "Invalid JSON input for web_search", "t1", executed=False), True),
        (Did("web_search", {"query": "x"}, None, "Invalid JSON input for web_search", "t1", executed=False), False),
        (Did("web_search", {"query": 3}, None, "ValueError: no", "t1"), False),
    ],
)
def test_only_calls_that_went_wrong_violate_a_schema(did: Did, *, fires: bool) -> None:
    """A tool that works with surprising arguments is content with them; nobody knows of a call without an end."""
    whole = trace(
        run("r1", Said("a1", "", [did]), Said("a2", "Well."), tools=[tool("web_search", ("query",), query="string")])
    )
    assert bool(at("schema-violation", whole)) is fires


TYPED = {
    "properties": {
        "s": {"type": "string"},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "a": {"type": "array"},
        "o": {"type": "object"},
        "u": {"type": ["string", "null"]},
        "x": {},
    }
}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"s": "x", "i": 1, "n": 1.5, "b": True, "a": [], "o": {}, "u": 3, "x": 3, "other": 3}, ""),
        ({"i": 2.0, "n": 2}, ""),
        ({"s": None}, ""),
        ({"s": 3}, "s"),
        ({"i": "3"}, "i"),
        ({"i": 2.5}, "i"),
        ({"i": True}, "i"),
        ({"n": False}, "n"),
        ({"b": 0}, "b"),
        ({"a": "x"}, "a"),
        ({"o": []}, "o"),
        ("x", ""),
        (None, ""),
    ],
)
def test_values_are_checked_against_the_types_of_the_schema(arguments: Json, name: str) -> None:
    """As JSON has them: a whole number is an integer, a truth value is no number, what is not named may be anything."""
    assert mistyped(arguments, TYPED) == name
    assert mistyped(arguments, None) == ""


@pytest.mark.parametrize(("times", "spans"), [(2, []), (3, ["a2"]), (4, ["a2"])])
def test_three_equal_failing_calls_are_a_waste(times: int, spans: list[str]) -> None:
    """Two may be hope; the arguments must be the same."""
    assert at("identical-failure", failing("ValueError: no", times)) == spans


@pytest.mark.parametrize(("times", "spans"), [(2, []), (3, ["a2"]), (5, ["a2"])])
def test_three_equal_steps_are_a_waste(times: int, spans: list[str]) -> None:
    """The same code with the same outcome; another outcome is progress."""
    assert at("identical-step", coding(*[(GREP, "")] * times, ("ls", ""))) == spans
    assert at("identical-step", coding(*[("wait", f"Error: {i}") for i in range(times)])) == []


@pytest.mark.parametrize(("llm_error", "spans"), [("", ["a0"]), ("InternalServerError: 500", [])])
def test_a_step_that_fails_with_its_model_has_no_faulty_code(llm_error: str, spans: list[str]) -> None:
    """The model's provider failed: nothing that the model wrote raised the error that the step passes on."""
    whole = trace(run("r", Said("a0", "x = 1 / 0", step_error="ZeroDivisionError: no", llm_error=llm_error)))
    assert at("code-error", whole) == spans
