"""Failures in texts: their kind, and whether a text reports one.

Mostly `str` methods on a bounded, lower-cased copy are used, and the regular expressions see short heads and have no
nested repetition: the cost of a text is bounded whatever it holds. The needles are error texts of languages, protocols
and libraries, not wordings of single traces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan

from .text import bounded
from .wording import GIVING_UP, WORDINGS


class FailureKind(StrEnum):
    """Why a call failed, as far as its text tells."""

    UNKNOWN_TOOL = "unknown-tool"
    MALFORMED = "malformed"  # arguments that are no JSON
    CALL_LIMIT = "call-limit"  # turned down by a harness that lets the run call nothing more
    POLICY = "policy"  # turned down by a rule or a person
    SCHEMA = "schema"  # arguments that the tool does not take
    FILE = "file"
    PARSE = "parse"  # what the model wrote could not be parsed
    IMPORT = "import"
    LIMIT = "limit"
    RATE = "rate"
    TIMEOUT = "timeout"
    NO_RESULT = "no-result"
    AUTH = "auth"
    NOT_FOUND = "not-found"
    SERVICE = "service"
    BROKEN = "broken"  # the tool itself is: an error of its own code
    CODE = "code"
    EXIT = "exit"  # a program that was run ended in failure
    CANCELLED = "cancelled"  # by whoever made the call, or a user: nothing failed
    OTHER = "other"


_NEEDLES: Final = tuple((FailureKind(kind), needles) for kind, needles in WORDINGS["failures"].items())


OUTAGES: Final = frozenset(
    {FailureKind.SERVICE, FailureKind.RATE, FailureKind.TIMEOUT, FailureKind.AUTH, FailureKind.NOT_FOUND}
)
"""Failures that are the world's, not the caller's."""


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A failure: its kind and the text that tells of it. `page`: what was fetched well says so, a page or a result."""

    kind: FailureKind
    text: str
    page: bool = False


def classify(error: str) -> FailureKind:
    """The kind of a text that is known to tell of a failure; a server's status says more than the words beside it."""
    low = bounded(error).lower()
    if _SERVER_STATUS.search(low[:_STATUS_READ]):
        return FailureKind.SERVICE
    return next((kind for kind, needles in _NEEDLES if any(n in low for n in needles)), FailureKind.OTHER)


def failure_kind(error: str, span: NormalizedSpan | None) -> FailureKind:
    """The kind of failure of an operation with that error; `span`: its record, whose type of error may tell, too."""
    kind = classify(error)
    if kind not in _VAGUE:
        return kind
    types = (e.type for e in span.exceptions) if span is not None else ()
    stated = span.raw.attributes.get("error.type", "") if span is not None else ""
    cancelled = any(_CANCELLED_TYPE.search(t[:_STATUS_READ]) for t in (*types, stated)) or _CANCELLED.match(error)
    return FailureKind.CANCELLED if cancelled else kind


_VAGUE: Final = frozenset({FailureKind.OTHER, FailureKind.CODE, FailureKind.SERVICE})
_CANCELLED_TYPE: Final = re.compile(
    r"cancell?(?:ed|ation)|(?<!connection)abort(?:ed)?(?:error)?$|keyboardinterrupt", re.IGNORECASE
)
_CANCELLED: Final = re.compile(
    r"\s{0,4}(?:[\w.]{0,60}cancell?ed(?:error|exception)\b|[\w.]{0,60}(?<!connection)aborterror\b|keyboardinterrupt\b"
    r"|(?:(?:the|this|your|user|agent|tool|model|llm|function) ){0,2}"
    r"(?:(?:run|call|request|task|operation|execution|generation|stream|context|invocation) ?){0,2}"
    r"(?:(?:was|were|is|got|has been) )?(?:cancell?ed|aborted)(?: by\b[\w ]{0,40})?\s{0,2}[.!]?\s{0,4}$"
    r"|(?:the )?user (?:cancell?ed|aborted|interrupted|stopped)\b)",
    re.IGNORECASE,
)
"""An operation that was stopped, and nothing else: that an order was cancelled is another matter."""

_SERVER_STATUS: Final = re.compile(
    r"\b(?:error code|status[_ ]?code|http status|http(?:/[\d.]{1,3})?)[:= ]{1,2}5\d\d\b"
)
_STATUS_READ: Final = 300

_OPENING: Final = re.compile(
    r"(?:an? )?(?:(?:fatal |tool |internal |unexpected )?(?:error|exception|failure)"
    r"(?=:|\s*$|\n| (?:executing|running|calling|invoking|when|while|occurred|during|fetching|reading|opening|code)\b)"
    r"|traceback \(most recent call last\)|failed (?:to|with)\b|tool execution failed|no results? found"
    r"|\('connection aborted|[a-z_.]{1,60}(?:error|exception)(?=[:(]))"
)
_ERROR_PAGE: Final = re.compile(
    r"^[#\s]{0,8}(?:title:\s{0,4})?(?:http[ /\d.]{0,8})?(?:error|status(?: code)?)[ :]{0,3}(4\d\d|5\d\d)\b"
    r"|^[#\s]{0,8}(?:title:\s{0,4})?(4\d\d|5\d\d)[ :-]{1,3}(?:forbidden|not found|unauthorized|bad gateway|"
    r"service unavailable|internal server error|access denied|too many requests|gateway time-?out|error)"
    r"|^[#\s]{0,8}title:\s{0,4}(error)\s{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE_HEAD: Final = 500
_BY_STATUS: Final = {
    "401": FailureKind.AUTH,
    "403": FailureKind.AUTH,
    "404": FailureKind.NOT_FOUND,
    "410": FailureKind.NOT_FOUND,
    "408": FailureKind.TIMEOUT,
    "504": FailureKind.TIMEOUT,
    "429": FailureKind.RATE,
}


def error_page(result: str) -> StepFailure | None:
    """The HTTP error that a fetched page's title or heading tells of, None where it reads as a page."""
    head = result[:_PAGE_HEAD]
    found = _ERROR_PAGE.search(head)
    if found is None:
        return None
    status = found.group(1) or found.group(2) or ""
    kind = _BY_STATUS.get(status, FailureKind.SERVICE)
    return StepFailure(kind, found.group(0).strip("# \n"), page=True)


_ABSENT: Final = frozenset({FailureKind.NO_RESULT, FailureKind.NOT_FOUND})
_JSON_OPENINGS: Final = ('{"error"', "{'error'", '{"status": "error"', "{'status': 'error'", '{"status":"error"')
_JSON_HARMLESS: Final = ("null", "none", "false", '""', "''")


def reported_failure(result: str) -> StepFailure | None:
    """The failure that a result reports although its call did not fail; None where it reads as a success.

    Only how a result opens counts: a page about errors is no error.
    """
    head = result[:200].lstrip().lower()
    if not head:
        return None
    opens = _OPENING.match(head) is not None and not head.startswith(("error: none", "error: null", "error: 0"))
    if not opens:
        opens = any(_json_error(head, opening) for opening in _JSON_OPENINGS if head.startswith(opening))
    if not opens:
        return None
    kind = classify(result)
    # That there is no such thing is an answer, too: it brings nothing, but nothing went wrong.
    absent = kind in _ABSENT or (kind is FailureKind.OTHER and "not found" in head)
    return StepFailure(kind, result, page=absent)


def _json_error(head: str, opening: str) -> bool:
    return not head[len(opening) :].lstrip(" :").startswith(_JSON_HARMLESS)


def told_at(text: str) -> int:
    """Offset of the line that tells of a text's failure: the last that begins with an exception's name, else 0."""
    start = max(0, len(text) - _TOLD_READ)
    return max((start + found.start(1) for found in _RAISED.finditer(text[start:])), default=0)


_RAISED: Final = re.compile(
    r"^[ \t]{0,20}([A-Za-z_][\w.]{0,80}(?:Error|Exception|Timeout|Interrupt|Failure)\b)[:(]", re.MULTILINE
)
_TOLD_READ: Final = 20_000


def gives_up(answer: str) -> str:
    """The line in which an answer opens by saying that nothing was obtained; "" where it does not."""
    seen = 0
    for line in answer[:600].splitlines():
        low = line.lower().replace("’", "'")  # noqa: RUF001 - that is the character to replace
        if any(needle in low for needle in GIVING_UP):
            return line.strip()
        # A heading is not yet the answer.
        seen += 0 if line.lstrip().startswith("#") or len(line) < _HEADING else 1
        if seen == _OPENING_LINES:
            break
    return ""


_HEADING: Final = 12
_OPENING_LINES: Final = 2
