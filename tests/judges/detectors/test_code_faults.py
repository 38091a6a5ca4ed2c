"""Faults injected into runs of code agents, in every harness: found once, at the right step; twins are clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from code_harnesses import HARNESSES, Step
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, run, trace

from tracejury.judges import executions
from tracejury.judges.exit_status import Ended, ended
from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

SUITE = suite_of(())
NAMES = st.sampled_from(["dates", "parser", "core", "store_items"])
EVERY = pytest.mark.parametrize("harness", sorted(HARNESSES))

REPORT = "FAILED tests/test_{0}.py::test_old - ValueError: year\n=== 1 failed, 41 passed in 0.31s ==="
PASSED = "=== 42 passed in 0.29s ==="
TRACE = 'Traceback (most recent call last):\n  File "{0}.py", line {1}, in <module>\n    main()\n{2}'
CRASHES = st.sampled_from(
    ["NameError: name 'prase' is not defined", "KeyError: 'year'", "ModuleNotFoundError: No module named 'dateutils'"]
)


def _node(name: str, line: int, _: str) -> str:
    error = f"TypeError: x.y is not a function\n    at main (/app/{name}.js:{line}:7)\n\nNode.js v20.11.0"
    return f"/app/{name}.js:{line}\n    x.y()\n      ^\n\n{error}"


def _rust(name: str, line: int, _: str) -> str:
    return f"thread 'main' panicked at src/{name}.rs:{line}:5:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`"


def _go(name: str, line: int, _: str) -> str:
    return f"panic: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/{name}.go:{line} +0x1d"


def _java(name: str, line: int, _: str) -> str:
    return f'Exception in thread "main" java.lang.IllegalStateException: x\n\tat app.{name}.main({name}.java:{line})'


@st.composite
def work(draw: st.DrawFn) -> list[Step]:
    """Steps of a healthy repair: looks (one without a hit), edits, tests that fail and, after the last edit, pass."""
    name = draw(NAMES)
    looks = [
        Step("ls", f"{name}.py\ntests"),
        Step(f"cat {name}.py", f"def parse(x):\n    raise ValueError('exit code 1')\n# see {name}"),
        Step(f"grep -n strptime {name}.py", "", 1),
        Step(f"git log -3 -- {name}.py", "abc1234 Fix error: command failed with exit status 1 in CI"),
        Step(f"git diff --stat HEAD~{draw(st.integers(1, 5))}", f" {name}.py | 4 ++--"),
    ]
    before = draw(st.lists(st.sampled_from(looks), min_size=1, max_size=4, unique_by=lambda s: s.command))
    edit = Step(f"sed -i 's/1900/1/' {name}.py")
    tests = f"python -m pytest tests/test_{name}.py"
    first = [edit, Step(tests, "ran tests: " + REPORT.format(name), 1)] if draw(st.booleans()) else []
    return [*before, *first, Step(f"sed -i 's/%y/%Y/' {name}.py"), Step(tests, PASSED)]


def shown(whole: Trace) -> list[Finding]:
    """What balanced shows."""
    result = SUITE.judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    return [f for f in result.findings if f.confidence >= threshold("balanced")]


def errors_of(whole: Trace) -> list[str]:
    """The primary spans of the errors that balanced shows."""
    return [e.lead.span_id for e in group(shown(whole), [r.id for r in whole.runs])]


@EVERY
@given(steps=work())
def test_a_healthy_repair_is_clean(harness: str, steps: Sequence[Step]) -> None:
    """Tests that fail and are repaired, a search without a hit, files and logs that speak of exit codes."""
    whole = HARNESSES[harness](steps, "The year is parsed with %Y now, and the test file passes.")
    assert [(f.judge, f.span_id, f.explanation) for f in shown(whole)] == []


@EVERY
@given(steps=work(), name=NAMES, line=st.integers(1, 400), crash=CRASHES, data=st.data())
def test_code_that_fails_is_found_once_where_it_was_written(
    harness: str, steps: list[Step], name: str, line: int, crash: str, data: st.DataObject
) -> None:
    """Whatever the language and the harness, at whichever step."""
    broken = data.draw(
        st.sampled_from(
            [
                Step(f"python tools/{name}_fix.py --all", TRACE.format(name, line, crash), 1),
                Step(f"make {name}-all", f"make: *** No rule to make target '{name}-all'.  Stop.", 2),
                Step(f"{name}ctl --repair", f"bash: {name}ctl: command not found", 127),
                Step(f"node tools/{name}.js", _node(name, line, crash), 1),
                Step(f"cargo run --bin {name}", _rust(name, line, crash), 101),
                Step(f"go run ./{name}", _go(name, line, crash), 2),
                Step(f"java -cp app {name}", _java(name, line, crash), 1),
            ]
        )
    )
    at = data.draw(st.integers(1, len(steps) - 1))
    whole = HARNESSES[harness]([*steps[:at], broken, *steps[at:]], "The year is parsed with %Y now.")
    assert errors_of(whole) == [f"a{at}"]


@EVERY
@given(steps=work(), name=NAMES, times=st.integers(3, 5), data=st.data())
def test_the_same_failing_command_again_and_again_is_one_error(
    harness: str, steps: list[Step], name: str, times: int, data: st.DataObject
) -> None:
    """At its first time or its last; never several."""
    broken = Step(f"python tools/{name}_fix.py", TRACE.format(name, 3, "KeyError: 'year'"), 1)
    at = data.draw(st.integers(1, len(steps) - 1))
    whole = HARNESSES[harness]([*steps[:at], *[broken] * times, *steps[at:]], "The year is parsed with %Y now.")
    found = errors_of(whole)
    assert len(found) == 1
    assert found[0] in {f"a{i}" for i in range(at, at + times)}


def _edited(*after: Did, answer: str = "The year is parsed with %Y now.") -> Trace:
    """An agent that looks, edits a file, and then does `after`."""
    acts = [
        Did("bash", {"command": "cat dates.py"}, "def parse(x): ...", None, "t0"),
        Did(
            "str_replace_editor", {"command": "str_replace", "path": "dates.py", "new_str": "%Y"}, "edited", None, "t1"
        ),
        *after,
    ]
    turns = [Said(f"a{i}", "Next.", [did]) for i, did in enumerate(acts)]
    return trace(run("r1", *turns, Said("z", answer)))


CHECKS = [
    Did("bash", {"command": "python -m pytest"}, PASSED, None, "t2"),
    Did("bash", {"command": "git diff"}, "diff --git a/dates.py", None, "t2"),
    Did("str_replace_editor", {"command": "view", "path": "dates.py"}, "def parse(x): ...", None, "t2"),
    Did("read_file", {"path": "dates.py"}, "def parse(x): ...", None, "t2"),
]


def test_an_edit_that_nothing_follows_is_unchecked() -> None:
    assert errors_of(_edited()) == ["z"]
    shell = Did("bash", {"command": "cat > dates.py <<'EOF'\nimport x\npytest\nEOF"}, "", None, "t2")
    assert errors_of(_edited(shell)) == ["z"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda d: str(d.arguments))
def test_whatever_follows_an_edit_checks_it(check: Did) -> None:
    assert errors_of(_edited(check)) == []


def test_who_says_that_nothing_was_checked_is_honest() -> None:
    assert errors_of(_edited(answer="I changed the format to %Y; it is untested, as there is no Python here.")) == []


def test_an_edit_and_a_run_in_one_command_check_it() -> None:
    both = Did("bash", {"command": "sed -i 's/a/b/' dates.py && python -m pytest"}, PASSED, None, "t2")
    assert errors_of(_edited(both)) == []


@pytest.mark.parametrize(
    "result",
    ["No replacement was performed, old_str `x` did not appear verbatim in dates.py.", "error: patch does not apply"],
)
def test_an_edit_that_does_not_fit_is_found_where_it_was_written(result: str) -> None:
    """Once, and the step after it is free to adapt."""
    refused = Did(
        "str_replace_editor", {"command": "str_replace", "path": "dates.py", "old_str": "x"}, result, None, "t2"
    )
    assert errors_of(_edited(refused, CHECKS[0])) == ["a2"]


def test_a_tool_without_code_that_dies_is_no_code_of_the_agent() -> None:
    """A click that ends in the tool's own traceback is the tool's failure."""
    died = TRACE.format("browser", 7, "BadRequestError: content filter")
    whole = trace(run("r1", Said("a0", "", [Did("click", {"target": "Search"}, died, None, "t0")]), Said("z", "Done.")))
    assert "execution-failed" not in {f.judge for f in SUITE.judge(whole).findings}
    assert "raised-error" in {f.judge for f in SUITE.judge(whole).findings}


@pytest.mark.parametrize("name", ["search_web", "read_file", "fetch_page"])
def test_a_page_that_speaks_of_exit_codes_is_text(name: str) -> None:
    """What a reading tool brings is a text about failures, not one."""
    for text in (
        "Process exited with code 1\nHow to debug it",
        "How to debug it\nexit code: 1",
        TRACE.format("x", 1, "KeyError"),
    ):
        whole = trace(run("r1", Said("a0", "", [Did(name, {"q": "x"}, f"Log:\n{text}", None, "t0")]), Said("z", "Ok.")))
        assert "execution-failed" not in {f.judge for f in SUITE.judge(whole).findings}


def test_a_failure_mended_by_the_same_command_is_none() -> None:
    """What it needed was repaired in between; a repaired version of the code leaves a finding of low severity."""
    broken = Step("python tools/fix.py --all --years 1800 1900", TRACE.format("fix", 3, "KeyError: 'year'"), 1)
    steps = [broken, Step("sed -i 's/a/b/' tools/fix.py"), Step(broken.command, "done")]
    for harness in ("bash_json", "text_actions", "group_chat"):
        assert errors_of(HARNESSES[harness](steps, "Done, and looked at.")) == []
        other = [broken, Step("python tools/fix.py --all --years 1800 1899", "done")]
        assert [f.severity for f in shown(HARNESSES[harness](other, "Done."))] == [Severity.LOW]


def test_the_author_is_found_by_the_code_or_by_the_latest_block_of_code() -> None:
    """Also where the terminal's span does not record the code."""
    whole = HARNESSES["group_chat"]([Step("python a.py", TRACE.format("a", 1, "KeyError: 'x'"), 1)], "So it is.")
    late = replace(whole.runs[1].turns[0].tool_calls[0], arguments=None)
    unknown = replace(whole.runs[1], turns=(replace(whole.runs[1].turns[0], tool_calls=(late,)),))
    for version in (whole, replace(whole, runs=(whole.runs[0], unknown, *whole.runs[2:]))):
        assert errors_of(version) == ["a0"]


def test_equal_outputs_of_different_commands_are_different_failures() -> None:
    """Each message counts, also where two say the same; who is sent a history of them all sees none of them anew."""
    told = TRACE.format("lib", 1, "KeyError: 'x'")
    steps = [Step("python tools/a.py", told, 1), Step("ls"), Step("cargo run --bin other --all-features", told, 1)]
    for harness in ("text_actions", "group_chat", "bash_json"):
        assert errors_of(HARNESSES[harness](steps, "Done.")) in (["a0", "a2"], ["a0"])
    assert errors_of(HARNESSES["text_actions"](steps, "Done.")) == ["a0", "a2"]


def test_a_history_that_every_agent_is_sent_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs that are read grow with the steps, not with how often the chat is sent."""
    read: list[str] = []

    def counted(text: str) -> Ended | None:
        read.append(text)
        return ended(text)

    monkeypatch.setattr(executions, "ended", counted)
    steps = [Step(f"python tools/a{i}.py", TRACE.format("lib", i, "KeyError: 'x'"), i % 2) for i in range(40)]
    group_chat = HARNESSES["group_chat"](steps, "Done.")
    without_tools = [run for run in group_chat.runs if run.id.startswith("c")]
    assert SUITE.judge(replace(group_chat, runs=tuple(without_tools))).failures == ()
    assert len(read) == len(steps) + 1  # the task, and how each step ended


@EVERY
def test_the_reason_names_the_exception_not_what_was_printed_behind_it(harness: str) -> None:
    output = 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1850\nresult 7: TypeErrors in dates'
    steps = [Step("ls", "dates.py"), Step("python a.py", output, 1), Step("python b.py", "42")]
    found = [f for f in SUITE.judge(HARNESSES[harness](steps, "It is 42.")).findings if f.judge == "execution-failed"]
    assert all("KeyError: 1850" in f.explanation and "result 7" not in f.explanation for f in found)
