"""Code in an agent's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.commands import reaches_out
from tracejury.schemas.text.code_blocks import code_of


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Thought: x.\n```py\nprint(1)\n```<end_code>", "print(1)"),
        ("```\nls\n```", "ls"),
        ("<code>\nprint(1)\n</code>", "print(1)"),
        ("<execute_bash>\nls\n</execute_bash>", "ls"),
        ("```python\nprint(1)", "print(1)"),
        ("no code", ""),
        ("", ""),
    ],
)
def test_fenced_code_is_found(text: str, code: str) -> None:
    """In the fences that agents use, closed or cut off."""
    assert code_of(text) == code


@pytest.mark.parametrize(
    ("code", "out"), [("open('a').read()", True), ("subprocess.run('ls')", True), ("x = 1 + 2", False), ("", False)]
)
def test_code_that_reads_files_or_runs_commands_reaches_out(code: str, *, out: bool) -> None:
    """Computing does not."""
    assert reaches_out(code) is out


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """What is found stands in the text."""
    assert code_of(text) in text
