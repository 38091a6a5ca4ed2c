"""Runs of one agent that repairs a program by code in its text: no tool spans, what the code prints in its steps."""

from __future__ import annotations

from collections.abc import Iterator

from small_traces import Did, Said, run, trace

from tracejury.schemas.trajectory import Trace, TurnKind

Step = tuple[str, str]
"""A command, and the error of its step ("" where it went well)."""

GREP = "grep -rn 'def separable' astropy/modeling"
DIFF = "\n".join(f"-    old line {i} raises ValueError: no\n+    new line {i}" for i in range(400))
OUTPUTS = {
    "git log": "commit 1f2e3d\nAuthor: A. Author\n\n    Fix error handling: 404 pages and failed requests\n",
    "git diff": f"diff --git a/core.py b/core.py\n{DIFF}",
    "git status": "On branch main\nnothing to commit, working tree clean",
    "python -m pytest": (
        "FAILED tests/test_core.py::test_nested - AssertionError: assert 3 == 4\n"
        "Traceback (most recent call last):\n  ...\nValueError: no\n=== 1 failed, 211 passed in 3.21s ==="
    ),
    "python -m pytest again": "=== 212 passed in 3.05s ===",
    "sed -n": "def fetch(url):\n    # TODO: search for a better way\n    raise NotFound('no results found')\n",
    "grep": "astropy/modeling/separable.py:66: def separable(transform):",
    "ls": "README.md\nsetup.py\nastropy\ntests",
}
TASK = (
    "We're solving this issue of the repository astropy: separability_matrix is wrong for nested models. "
    "Look up the code, repair it, and give the change as a patch."
)


def said(command: str, thought: str = "Let me look at the code that the issue speaks of.") -> str:
    """A thought and the code that runs a command."""
    code = (
        f'import subprocess\nout = subprocess.run("""{command}""", shell=True, capture_output=True)\nprint(out.stdout)'
    )
    return f"Thought: {thought}\n\nCode:\n```py\n{code}\n```<end_code>"


def printed(command: str) -> str:
    """What a command prints."""
    found = next((text for start, text in OUTPUTS.items() if command == start), None)
    return found or next((text for start, text in OUTPUTS.items() if command.startswith(start)), "done")


def _turns(steps: tuple[Step, ...]) -> Iterator[Said]:
    before = TASK
    for i, (command, error) in enumerate(steps):
        output = "" if error else f"Execution logs:\n{printed(command)}"
        yield Said(f"a{i}", said(command), sees=[before], observed=output, step_error=error)
        before = error or f"Observation:\n{output}"


def coding(*steps: Step, last: str = "I made the change.", plan: str = "") -> Trace:
    """One run of these steps, which ends by handing over an answer."""
    planned = [Said("p1", plan, kind=TurnKind.PLAN)] if plan else []
    code = f'```py\nfinal_answer("""{last}""")\n```'
    done = Said("z1", f"Thought: {last}\n\nCode:\n{code}", [Did("final_answer", {"answer": last}, "done", None, "tz")])
    return trace(run("r1", *planned, *_turns(steps), done, goal=TASK))


def healthy_repair(plan: str = "") -> Trace:
    """Thirty-six steps: looks around, edits, runs tests that fail, edits, runs tests that pass, hands over."""
    looks = [(f"sed -n '{i * 40},{i * 40 + 40}p' astropy/modeling/separable.py", "") for i in range(24)]
    work = [
        ("ls", ""),
        (GREP, ""),
        ("git log", ""),
        ("python edit.py 1", ""),
        ("git diff", ""),
        ("python -m pytest", ""),
        ("python edit.py 2", ""),
        ("git diff --stat", ""),
        ("python -m pytest again", ""),
        ("git status", ""),
        ("git diff HEAD", ""),
    ]
    return coding(*looks, *work, last="I repaired it, and all tests pass now.", plan=plan)
