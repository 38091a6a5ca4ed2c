"""How a program ended, as the harness that ran it says, or as the program's last words show.

Principle: a harness frames the output. Its statement of the exit status is a key of a JSON result, or the whole of the
result's first or last line; the outermost one counts, and what a file or a page says in between is text. A program that
dies of an error prints it last; a text that only mentions an error goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program.

    `status`: its exit status, None where only its last words are known; `output`: the rest. `framed`: a harness states
    the status, in front of the output or around it; behind it, a program may have printed the line itself.
    """

    status: int | None
    output: str
    framed: bool = True

    @property
    def failed(self) -> bool:
        """Whether it ended in failure."""
        return self.status != 0


_STATUS: Final = (
    r"(?:(?:the |error: |npm err! )?(?:sub|child )?"
    r"(?:process|command|program|script|shell|execution|cell|task|job|container)\b[^\n]{0,100}?)?"
    r"(?:exit(?:ed)?|return(?:ed)?|completed|failed|finished|terminated)[ _-]?"
    r"(?:with )?(?:an? )?(?:non-?zero )?(?:exit )?(?:code|status)(?: code)?[ \"']{0,2}(?:[:=]|of|was|is)?[ \"']{0,2}"
)
_LINE: Final = re.compile(
    rf"^[\s\[(<*#>-]{{0,8}}{_STATUS}(-?\d{{1,10}})[\s\])>*.:;,]{{0,4}}(?:\([^()\n]{{0,60}}\))?[\s\])>*.;,]{{0,4}}$"
    r"|^[\s\[(*#-]{0,8}(?:exit|rc|return_?code|exit_?code)[ :=]{1,3}(-?\d{1,10})[\s\])*.;,]{0,4}$"
    r"|^<(?:returncode|exit_?code|exit_?status|return_?code)>\s{0,2}(-?\d{1,10})\s{0,2}</\w{1,20}>$",
    re.IGNORECASE,
)
_KEYS: Final = frozenset({"exitcode", "exitstatus", "returncode", "rc"})
_OUTPUTS: Final = ("stderr", "output", "stdout", "aggregated_output", "content", "result", "message")
_LONGEST_LINE: Final = 200
_LONGEST_JSON: Final = 200_000
_REPR: Final = re.compile(r"^\w{1,40}\(.{0,20000}?\b(?:returncode|exit_code|exitcode)=(-?\d{1,10})\b", re.DOTALL)
"""An object's Python notation: `CompletedProcess(args=…, returncode=1, …)`."""


def ended(text: str) -> Ended | None:
    """How the program ended whose result this is; None where the result does not tell."""
    stripped = text.strip()
    if not stripped:
        return None
    return _from_json(stripped) or _from_notation(stripped) or _from_lines(stripped) or _from_crash(stripped)


def _from_json(text: str) -> Ended | None:
    if text[0] != "{" or len(text) > _LONGEST_JSON:
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    inner = [v for v in value.values() if isinstance(v, Mapping)]
    for found in (value, *inner):
        status = next((v for k, v in found.items() if _letters(k) in _KEYS), None)
        if isinstance(status, int) and not isinstance(status, bool):
            outputs = (layer.get(key) for layer in (found, value) for key in _OUTPUTS)
            return Ended(status, next((o for o in outputs if isinstance(o, str) and o.strip()), ""))
    return None


def _letters(key: str) -> str:
    return "".join(ch for ch in key.lower() if ch.isalpha())


def _from_notation(text: str) -> Ended | None:
    found = _REPR.match(text)
    return Ended(int(found.group(1)), text) if found else None


def _from_lines(text: str) -> Ended | None:
    # Of a line that is cut here, more is left than a statement of the status has.
    first, last = text[: _LONGEST_LINE + 2].splitlines()[0], text[-_LONGEST_LINE - 2 :].splitlines()[-1]
    for line, rest, framed in ((first, slice(1, None), True), (last, slice(-1), False)):
        found = _LINE.match(line.strip()) if len(line) <= _LONGEST_LINE else None
        if found:
            output = _LABEL.sub("", "\n".join(text.splitlines()[rest]).strip()).strip()
            return Ended(int(next(g for g in found.groups() if g is not None)), output, framed)
    return None


_REPORT: Final = re.compile(
    r"\b\d{1,6} (?:passed|failed|failures?|errors?|problems?|warnings?|tests?|passing|failing|issues?)\b", re.IGNORECASE
)


def reports(output: str) -> bool:
    """Whether an output ends as a checker's report does, with what it counted: its findings are no crash of its own."""
    return bool(_REPORT.search(output[-_REPORT_READ:]))


_REPORT_READ: Final = 400

_PYTHON: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(
    r"^[A-Za-z_][\w.]{0,80}(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Failure)?\b(?::|$)"
)
_FRAME: Final = re.compile(r"^\s{0,20}at [\w.$<>/ ()\[\]-]{1,200}[(:]")
_DIED: Final = {
    " panicked at ": re.compile(r"^thread '[^'\n]{0,80}'.{0,20} panicked at ", re.MULTILINE),
    "goroutine ": re.compile(r"^panic: .{0,500}\n(?:.{0,200}\n){0,3}goroutine \d", re.MULTILINE),
}
"""By what each holds: a pattern would walk through all of every text."""
_UNCAUGHT: Final = re.compile(r"^(?:Exception in thread|Uncaught |[\w.$]{0,80}(?:Error|Exception)\b)", re.MULTILINE)
_UNCAUGHT_WORDS: Final = ("Exception", "Uncaught ", "Error")
_LAST_WORDS: Final = 12
"""Lines that an error's message may have."""

_READ: Final = 20_000


_LABEL: Final = re.compile(r"^(?:code |standard )?(?:output|stdout|result)s?:", re.IGNORECASE)


def _from_crash(text: str) -> Ended | None:
    tail = text[-_READ:]
    patterns = (pattern for held, pattern in _DIED.items() if held in tail)
    died = _python_died(tail) or _stack_ends(tail) or any(_died_at(pattern, tail) for pattern in patterns)
    return Ended(None, text, framed=False) if died and not reports(tail) else None


def _python_died(text: str) -> bool:
    at = text.rfind(_PYTHON)
    if at < 0:
        return False
    after = text[at:].splitlines()[1:]
    raised = next((i for i, line in enumerate(after) if line and not line[0].isspace()), None)
    return raised is not None and bool(_RAISED.match(after[raised])) and len(after) - raised <= _LAST_WORDS


def _stack_ends(text: str) -> bool:
    """Whether a text ends in stack frames (Node, Java) under an error's name."""
    if not any(map(_FRAME.match, _last_lines(text))) or not any(word in text for word in _UNCAUGHT_WORDS):
        return False
    lines = _written_lines(text)
    last = max(i for i, line in enumerate(lines) if _FRAME.match(line))
    return bool(_UNCAUGHT.search("\n".join(lines[:last])))


def _last_lines(text: str) -> list[str]:
    """The last lines that hold anything; most texts are long, and only their ends are split for it."""
    _, *ending = text.rsplit("\n", 2 * _AFTER_FRAMES)
    lines = _written_lines("\n".join(ending))
    return (lines if len(lines) >= _AFTER_FRAMES else _written_lines(text))[-_AFTER_FRAMES:]


def _written_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


_AFTER_FRAMES: Final = 8
"""Lines that a runtime adds below its frames: `... 3 more`, `Node.js v20`, an error's fields."""


def _died_at(pattern: re.Pattern[str], text: str) -> bool:
    found = pattern.search(text)
    return found is not None and "\n\n\n" not in text[found.end() :].strip()
