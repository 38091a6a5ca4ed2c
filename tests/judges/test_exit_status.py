"""How programs ended, as harnesses and last words tell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.exit_status import ended, reports

FRAMES = [
    "exitcode: {0} (execution failed)\nCode output: {1}",
    "Exit code: {0}\n{1}",
    "Exit status: {0}\n{1}",
    "<returncode>{0}</returncode>\n<output>\n{1}\n</output>",
    "{1}\nProcess exited with code {0}",
    "{1}\n[The command completed with exit code {0}.]",
    "{1}\nCommand failed with exit status {0}",
    "{1}\nreturncode={0}",
    "{1}\nexit status {0}",
    "{1}\nCommand '['ls', '-l']' returned non-zero exit status {0}.",
    "{1}\n(exit code {0})",
]
TEXT = st.text("abc XYZ.,()[]{}\"'0123456789\n", max_size=200)


@pytest.mark.parametrize("frame", FRAMES)
@given(status=st.integers(-15, 255), text=TEXT)
def test_a_line_of_its_own_in_front_or_behind_tells_the_status(frame: str, status: int, text: str) -> None:
    found = ended(frame.format(status, f"a{text}z"))
    assert found is not None
    assert (found.status, found.failed) == (status, status != 0)


@given(
    key=st.sampled_from(["exit_code", "exitCode", "returncode", "return_code", "exitStatus"]),
    status=st.integers(-15, 255),
    text=TEXT,
    nested=st.booleans(),
)
def test_a_key_of_a_json_result_tells_the_status(key: str, status: int, text: str, *, nested: bool) -> None:
    value = {"output": text, "metadata": {key: status}} if nested else {"stdout": text, key: status}
    found = ended(json.dumps(value))
    assert found is not None
    assert found.status == status
    assert found.output == (text if text.strip() else "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error codes\nThe exit code 1 means failure.\nSee below.",
        "grep prints nothing and exits with exit code 1\nif there is no match; see the manual",
        "A traceback (Traceback (most recent call last)) is printed.",
        "def f():\n    print('Traceback (most recent call last):')\n    raise ValueError('x')\n",
        "Traceback (most recent call last):\n  ...\nValueError: no\n=== 1 failed, 211 passed in 3.21s ===",
        "status: 0",
        '{"exit_code": null}',
        '{"exit_code": true}',
        '{"exit": 1}',
        "[" * 10_000,
        "{" * 10_000,
        "Traceback (most recent call last):\n" + "ValueError: x\n" * 30,
    ],
)
def test_a_text_about_failures_tells_nothing(text: str) -> None:
    assert ended(text) is None


@given(TEXT)
def test_a_status_of_zero_in_front_wins_over_what_was_printed(text: str) -> None:
    """The outermost statement is the harness's."""
    found = ended(f"exitcode: 0 (execution succeeded)\nCode output: {text}\nProcess exited with code 1")
    assert found is not None
    assert not found.failed


@given(st.text(max_size=500))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and a found status stands in the text."""
    found = ended(text)
    assert found is None or found.status is None or str(abs(found.status)) in text.replace("0", "0")


@pytest.mark.parametrize(
    ("text", "is_report"),
    [
        ("=== 1 failed, 211 passed in 3.21s ===", True),
        ("Found 3 errors in 1 file (checked 9 source files)", True),
        ("Tests:  1 failed, 4 passed, 5 total", True),
        ("7 problems (7 errors, 0 warnings)", True),
        ("NameError: name 'x' is not defined", False),
        ("make: *** No rule to make target 'x'.", False),
    ],
)
def test_a_checkers_report_counts_what_it_found(text: str, *, is_report: bool) -> None:
    assert reports(text) is is_report
