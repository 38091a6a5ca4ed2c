"""Stop sequences end a call and are cut off by the provider: that one is missing from an output is nobody's error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_LEAST: Final = 3  # characters of a stop sequence that can be told from other text

_OPEN, _CLOSE = r"[`'\"(\\n]*", r"[`'\")]*"
_BEFORE: Final = (
    r"(?:\bmiss\w*|\bomit\w*|\black\w*|\bwithout|\babsen\w+|\bforg[oe]t\w*|\bunclosed|\bno"
    r"|(?:\bfail\w* to|\bnever|n[o']t) \w+)"
    r"(?: (?!before |after |until |and |but |in )[\w'`\"-]+){0,5} "
)
_NOUN: Final = r"(?: (?:closing|end(?:ing)?|stop|tags?|tokens?|markers?|sequences?|delimiters?)){0,3}"
_AFTER: Final = (
    r"(?: (?:is|was|are|were|has been|that is|that was|which is|which was))?"
    r" (?:miss|omit|absen|lack|left out|forgot"
    r"|(?:not|never) (?:present|includ|emit|writ|append|add|output|us|there|found))"
)
_SOME_CLOSING: Final = r"(?:closing|end(?:ing)?|terminat\w+|stop)[ -](?:tag|token|marker|sequence|delimiter)"
_TAG: Final = re.compile(r"<[^<>\s]{1,60}>")


def missed_stop(stops: Sequence[str], why: str) -> bool:
    """Whether `why` says that one of the call's stop sequences is missing from its output.

    By its name; or as "the closing tag", where a stop sequence is a tag and `why` names no tag at all.
    """
    text = " ".join(why.lower().split())
    names = [name for stop in stops if len(name := " ".join(stop.lower().split())) >= _LEAST]
    if any(name in text and _said_missing(re.escape(name), text) for name in names):
        return True
    tags = any(_TAG.fullmatch(name) for name in names)
    return tags and not _TAG.search(text) and _said_missing(_SOME_CLOSING, text)


def _said_missing(what: str, text: str) -> bool:
    return bool(re.search(f"{_BEFORE}{_OPEN}{what}|{what}{_CLOSE}{_NOUN}{_AFTER}", text))
