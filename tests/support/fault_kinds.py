"""Kinds of faults that are injected into healthy captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from captured_faults import Fault, answering, raising, silent
from code_harnesses import Step

from tracejury.schemas.normalized import NormalizedSpan

EXIT: Final = "exitcode: 1 (execution failed)\nCode output: Traceback: no such column"
DOWN: Final = "SearchBackendError: search backend returned 503"
COMMAND: Final = {"command": "python lengths.py"}


def running(span: NormalizedSpan) -> NormalizedSpan:
    """The span of a shell whose command failed."""
    return replace(answering(EXIT)(span), tool_name="shell", tool_arguments=COMMAND)


FAULTS: Final = {
    "failed call": Fault(DOWN, tool=raising(DOWN)),
    "time-out": Fault("TimeoutError: timed out after 30 s", tool=raising("TimeoutError: timed out after 30 s")),
    "unknown tool": Fault("Error: sing is not a valid tool, try one of [search].", lambda r: replace(r, name="sing")),
    "malformed arguments": Fault("Error: invalid arguments", lambda r: replace(r, arguments='{"query": "length of')),
    "unknown argument": Fault(
        "TypeError: search() got an unexpected keyword argument 'q'", lambda r: replace(r, arguments={"q": "Rhine"})
    ),
    "refusal": Fault("The tool call was denied.", tool=raising("The tool call was denied.")),
    "lost result": Fault(None, tool=silent),
    "non-zero exit": Fault(EXIT, lambda r: replace(r, name="shell", arguments=COMMAND), running),
}
"""Of a call: by name, what goes wrong."""

ENDINGS: Final = {
    "Max turns exceeded: {'max_turns': 12}": "run-limit",
    "GraphRecursionError('Recursion limit of 25 reached without hitting a stop condition.": "run-limit",
    "TimeoutError: the run took longer than 60 s": "run-timeout",
    "KeyError: 'river'": "run-crashed",
    "Etwas ist schiefgegangen": "run-crashed",
}
"""Messages with which runs end, and the rules that tell them."""

MODEL_FAULTS: Final = (
    "Error code: 429 - rate limit reached for requests",
    "Request timed out.",
    "Error code: 401 - invalid api key",
    "This model's maximum context length is 8192 tokens",
    "Error code: 500 - internal server error",
)
"""Messages with which calls of models fail."""


@dataclass(frozen=True)
class CodeFault:
    """A code agent's steps and answer, and the ids of the spans at which an error is right."""

    steps: Sequence[Step]
    spans: frozenset[str]
    answer: str = "The year is parsed with %Y now."


_LOOK: Final = Step("cat dates.py", "def parse(x): ...")
_EDIT: Final = Step("sed -i 's/%y/%Y/' dates.py")
_TEST: Final = Step("python -m pytest tests/test_dates.py", "=== 42 passed in 0.29s ===")
_TRACEBACK: Final = 'Traceback (most recent call last):\n  File "fix.py", line 3, in <module>\nKeyError: 1'
_CRASH: Final = Step("python fix.py --all", _TRACEBACK, 1)
_PATCH: Final = Step("git apply fix.patch", "error: patch failed: dates.py:3\nerror: dates.py: patch does not apply", 1)
_REFUSED: Final = Step("apply_patch fix.patch", "error: patch does not apply")
_SAME: Final = Step("python show.py dates.py", "def parse(x): ...")
_SILENT: Final = Step("python -c 'from dates import parse; parse(1850)'", "None")

CODE_FAULTS: Final = (
    CodeFault((_LOOK, _CRASH, _EDIT, _TEST), frozenset({"a1"})),
    CodeFault((_LOOK, _EDIT, _CRASH, _TEST), frozenset({"a2"})),
    CodeFault((_LOOK, _PATCH, _EDIT, _TEST), frozenset({"a1"})),
    CodeFault((_LOOK, _EDIT), frozenset({"z", "a1"})),
    CodeFault((_LOOK, _EDIT), frozenset({"z", "a1"}), "The year is parsed with %Y now. All tests pass."),
    CodeFault((_LOOK, *[_SAME] * 3, _EDIT, _TEST), frozenset({"a1", "a2", "a3"})),
    CodeFault((_LOOK, _SILENT, _EDIT, _TEST), frozenset({"a1"})),
    CodeFault((_LOOK, *[_CRASH] * 3, _EDIT, _TEST), frozenset({"a1", "a2", "a3"})),
    CodeFault((_LOOK, _REFUSED, _EDIT, _TEST), frozenset({"a1"})),
)
"""Crashes, a patch that does not fit, edits that nothing checks, tests claimed, the same step again, silence."""
