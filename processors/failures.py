"""Failures of tools that nothing but the text of the result tells: what the model is sent when a call failed."""

from __future__ import annotations

import re
from typing import Final

from .normalize.results import result_failure

_OPENING: Final = 200
_CALL_ID: Final = re.compile(r"Call id: \S{1,200}\s+")
_FAILED: Final = re.compile(
    r"\W{0,8}(?:"
    r"(?:[\w.]{0,80}(?:Error|Exception|Failure|Timeout)|Traceback)\b(?!-free)"
    r"|(?i:(?:an?|the)\s(?:\w+\s)?(?:error|exception)\s(?:occurred|was raised|happened))"
    r"|(?i:(?:tool|function|call|execution|request)\b[^.\n:]{0,60}\b(?:failed|raised|errored|timed out)\b)"
    r"|(?i:failed to\s(?:call|execute|run|parse)\b)"
    r"|(?i:invalid (?:arguments?|parameters?|input|tool|json)\b)"
    r"|(?i:(?:[\w'/.-]{1,40}\s){0,5}(?:backend|server|service|api|endpoint|upstream|gateway|proxy|host|provider|request)\s"
    r"(?:returned|responded with|replied with|answered with|failed with)\s(?:an?\s)?"
    r"(?:(?:http|status|error|code)[\s:]){0,3}[45]\d\d\b)"
    r"|(?i:(?:[\w'/.-]{1,40}\s){1,6}(?:returned|responded with|replied with|failed with)\s(?:an?\s)?"
    r"(?:http|status code|http status|error code)[\s:]{1,2}[45]\d\d\b)"
    r"|(?i:(?:missing|unexpected|unknown|unsupported) (?:\w+ ){0,2}(?:arguments?|parameters?)\b)"
    r")"
)


def failure_in(result: str) -> str:
    """The failure that a tool's result reports, "" for none.

    Only how a result begins counts: that some error is mentioned in what was found is no failure of the call.
    """
    said = result_failure(result)
    if said:
        return said
    start = _CALL_ID.match(result)
    at = start.end() if start else 0
    return result[at:] if _FAILED.match(result[at : at + _OPENING]) else ""
