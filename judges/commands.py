"""Shell commands by what their status means: some answer by it, some only show what a file holds, some change files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracejury.schemas.normalized import Json

from .exit_status import Ended, ended, reports
from .failure_text import FailureKind, classify
from .names import code_argument, reads, words_of
from .wording import WORDINGS, holds_any

_COMMANDS: Final = WORDINGS["commands"]
_LOOKERS: Final = frozenset(_COMMANDS["answer_by_status"])
_READERS: Final = frozenset(_COMMANDS["readers"])
_PIECES: Final = re.compile(r"\|\||&&|[;|\n]")
_PROGRAM: Final = re.compile(
    r"(?:(?:\w{1,40}=\S{0,80}|sudo|time|timeout \d{1,6}\w?|cd \S{1,200}|env)\s{1,4})*([\w./+-]{1,80}|\[{1,2})"
)
_READ: Final = 4000


def programs(command: str) -> list[str]:
    """Names of the programs that a command line runs, in order, without their paths."""
    found = (_PROGRAM.match(piece.strip(" ()\t$")) for piece in _PIECES.split(command[:_READ]))
    return [f.group(1).rsplit("/", 1)[-1] for f in found if f]


def answers_by_status(command: str, status: int) -> bool:
    """Whether a status is an answer, by convention: 1 of a program that looks for something or compares.

    A checker's findings are an answer whatever the status; its report shows them (`exit_status.reports`).
    """
    last = programs(command)[-1:]
    return status == 1 and bool(last) and last[0] in _LOOKERS


def end_of(tool: str, arguments: Json, result: str) -> Ended | None:
    """How the program ended that a call ran; None where the result does not tell, or is what a file or a page holds."""
    end = ended(result)
    if end is None or result.lstrip().startswith("{"):
        return end
    if reads(tool) and not runs_code(tool, arguments):
        return None
    if end.framed or not only_reads(code_argument(arguments)):
        return end
    # The last line may be the file's, unless there is hardly anything but an error above it.
    brief = len(end.output) < _BRIEF and end.status is not None
    return end if brief and (not end.output or classify(end.output) is not FailureKind.OTHER) else None


_BRIEF: Final = 300


def runs_code(tool: str, arguments: Json) -> bool:
    """Whether a call runs code or a command that the caller wrote: by its arguments' names, else by the tool's."""
    keys = arguments.keys() if isinstance(arguments, Mapping) else ()
    if any(word in _EDITORS for word in words_of(tool)):
        return False
    return any(word in _CODE for key in keys for word in words_of(str(key))) or any(w in _RUNS for w in words_of(tool))


_CODE: Final = frozenset(_COMMANDS["arguments"])
_RUNS: Final = frozenset(_COMMANDS["tools"])


def reaches_out(code: str) -> bool:
    """Whether code reads files, runs commands or asks services."""
    return holds_any(code, WORDINGS["code"]["reaching_out"])


def failed(code: str, end: Ended) -> bool:
    """Whether code failed, which a checker that found something and a search without a hit have not."""
    if not end.failed:
        return False
    return end.status is None or not (reports(end.output) or answers_by_status(code, end.status))


def only_reads(command: str) -> bool:
    """Whether a command only shows what files hold, so that its output is their text."""
    ran = programs(command)
    return bool(ran) and all(name in _READERS for name in ran)


def edits(tool: str, arguments: Json) -> bool:
    """Whether a call changes files and does nothing else: an editing tool, or a command of editing programs only."""
    if any(word in _EDITORS for word in words_of(tool)):
        return not (isinstance(arguments, Mapping) and arguments.get("command") in _LOOKS)
    if not runs_code(tool, arguments):
        return False
    pieces = [p.strip() for p in _PIECES.split(_without_here_document(code_argument(arguments))) if p.strip()]
    return bool(pieces) and any(map(_edits, pieces)) and all(_edits(p) or _QUIET.match(p) for p in pieces)


_EDITORS: Final = frozenset(_COMMANDS["editors"])
_LOOKS: Final = ("view", "read", "open")
"""What an editor's `command` says where it only shows a file."""

_EDIT: Final = re.compile(
    r"^(?:sed\b.{0,200} (?:-i|--in-place)|git apply\b|patch\b|tee\b|apply_patch\b|(?:cat|echo|printf)\b.{0,2000}>)",
    re.DOTALL,
)
_QUIET: Final = re.compile(r"^(?:cd|mkdir|touch|chmod|cp|mv)\b")
_HERE: Final = re.compile(r"<<-?\s?['\"]?(\w{1,40})['\"]?")


def _edits(piece: str) -> bool:
    return bool(_EDIT.match(piece))


def _without_here_document(command: str) -> str:
    """A command line without the text of its first here-document."""
    command = command[:_LONG]
    opened = _HERE.search(command)
    if opened is None:
        return command
    head, _, body = command[: opened.start()], *command[opened.end() :].partition("\n")[1:]
    after = body.partition(f"\n{opened.group(1)}")[2]
    return f"{head}\n{after}"


_LONG: Final = 20_000


def unapplied(result: str) -> bool:
    """Whether an editing tool's result says that the change does not fit the file."""
    low = f"{result[:_BRIEF]}\n{result[-_BRIEF:]}".lower()
    return any(needle in low for needle in _COMMANDS["unapplied"])
