"""Commands by what their status means and what they do."""

from __future__ import annotations

import pytest

from tracejury.judges.commands import answers_by_status, edits, only_reads, programs, runs_code, unapplied
from tracejury.schemas.normalized import Json


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cd /app && FOO=1 python -m pytest -q | tail -5", ["cd", "python", "tail"]),
        ("/usr/bin/grep x y; [ -f z ]", ["grep", "["]),
        ("sudo timeout 60 make all", ["make"]),
        ("", []),
    ],
)
def test_the_programs_of_a_command_line(command: str, names: list[str]) -> None:
    assert programs(command) == names


def test_a_status_of_one_is_the_answer_of_programs_that_look() -> None:
    assert answers_by_status("cd /app && grep -rn foo .", 1)
    assert not answers_by_status("grep -rn foo /none", 2)
    assert not answers_by_status("python a.py", 1)
    assert not answers_by_status("grep foo a.py && python a.py", 1)


def test_commands_that_only_show_files() -> None:
    assert only_reads("cd /app && cat build.log | tail -20")
    assert not only_reads("cat a.py; python a.py")
    assert not only_reads("")


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("bash", {"command": "sed -i 's/a/b/' x.py"}, True),
        ("bash", {"command": "cd /app && git apply fix.patch"}, True),
        ("bash", {"command": "cat > x.py <<'EOF'\nimport os; os.system('ls')\nEOF"}, True),
        ("bash", {"command": "cat > x.py <<'EOF'\nx = 1\nEOF\npython x.py"}, False),
        ("bash", {"command": "sed -n 1,20p x.py"}, False),
        ("bash", {"command": "ls"}, False),
        ("write_file", {"path": "x.py", "content": "x = 1"}, True),
        ("str_replace_editor", {"command": "view", "path": "x.py"}, False),
        ("str_replace_editor", {"command": "create", "path": "x.py"}, True),
        ("search_web", {"query": "edit a file"}, False),
    ],
)
def test_calls_that_only_change_files(tool: str, arguments: Json, *, expected: bool) -> None:
    assert edits(tool, arguments) is expected


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("bash", {"input": "ls"}, True),
        ("whatever", {"code": "print(1)"}, True),
        ("execute_python", {"source": "print(1)"}, True),
        ("click", {"target": "Run"}, False),
        ("str_replace_editor", {"command": "create"}, False),
        ("search", "python", False),
    ],
)
def test_calls_that_run_code(tool: str, arguments: Json, *, expected: bool) -> None:
    assert runs_code(tool, arguments) is expected


def test_an_edit_that_does_not_fit_says_so_at_an_end_of_its_result() -> None:
    assert unapplied("error: patch failed: a.py:3\nerror: a.py: patch does not apply")
    assert not unapplied("The file a.py was edited.")
    assert not unapplied("x" * 1000 + "does not apply" + "x" * 1000)
