"""Full-text search: which traces a text stands in. What a user typed is only ever a bound parameter.

The text is looked for as it is, without case and with white space folded: in what was said (`texts`, once a trace is
complete), in names, goals and answers of traces that are still open, in the evidence and explanations of findings that
hold, and at the beginning of ids. The index of words finds the few texts that can hold it.

`texts` hold what Python made of it (`searched`); whatever else is looked into is folded by the engine, which folds some
characters otherwise (ß, final sigma): what is looked for there is folded by the engine, too.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tracejury.collector.store.scope import TENANT
from tracejury.processors.searchable import searched
from tracejury.schemas.queries.reader import TraceQuery

from .findings import HOLDS, near, sure, thresholds, whole

SHORTEST: Final = 4
"""ASCII words of fewer characters that stand alone are found as whole words only: the index cannot take them apart."""
LONGEST: Final = 1000
"""Characters of a text that is looked for."""

_WORD: Final = re.compile("[0-9a-z\x80-\U0010ffff]+")
"""A word of the index, in a text without case: letters, digits, and all that is not ASCII."""
_ID: Final = re.compile("[0-9a-f-]{4,36}")
_TRACE_DIGITS: Final = 32
_SPAN_DIGITS: Final = 16
_SPAN_START: Final = 8

_RAW: Final = "lowerUTF8({raw:String})"
_OPEN: Final = f"""arrayExists(said -> position(lowerUTF8(said), {_RAW}) > 0,
    arrayConcat([Name], Runs.Name, Runs.Goal, Runs.Answer))"""
_FINDING: Final = "lowerUTF8(concat(Evidence, '\\n', Explanation))"


def found_in(query: TraceQuery) -> tuple[str, dict[str, Any]] | None:
    """The condition on `traces` that the query's text stands in one, None where it asks for none."""
    raw = " ".join(query.text.replace("\x00", " ")[:LONGEST].encode("utf-8", "replace").decode().split())
    sought = searched(raw)
    if not sought:
        return None
    held, values = _held("Text", sought)
    said = f"SELECT TraceId FROM texts WHERE {TENANT} AND {_time(query)} AND {held}"
    found = _held(_FINDING, sought)[0] if raw.lower() == sought else f"position({_FINDING}, {_RAW}) > 0"
    errors = (
        f"SELECT TraceId FROM findings FINAL WHERE {TENANT} AND {near(query)} AND {HOLDS} AND {found} "
        f"AND {sure(query.confidence)}"
    )
    parts = [
        f"TraceId IN ({said})",
        f"(State = 'open' AND {_OPEN})",
        whole(errors),
        *_ids(sought, values),
    ]
    return f"({' OR '.join(parts)})", values | {"sought": sought, "raw": raw} | thresholds(query.confidence)


def _time(query: TraceQuery) -> str:
    """When the text was written: with the row of its trace, where that is complete."""
    after = "toUnixTimestamp64Nano(ReceivedAt) >= {since:Int64}" if query.since else "1"
    return f"{after} AND toUnixTimestamp64Nano(ReceivedAt) < {{until:Int64}}" if query.until else after


def _held(text: str, sought: str) -> tuple[str, dict[str, Any]]:
    """The condition that `sought` stands in `text`; the index answers it, or leaves few texts to look into."""
    words = _WORD.findall(sought)
    if words == [sought]:
        if len(sought) < SHORTEST and sought.isascii():
            return f"hasAllTokens({text}, {{words:Array(String)}})", {"words": [sought]}
        # A word holds no character that a pattern gives a meaning.
        return f"{text} LIKE {{pattern:String}}", {"pattern": f"%{sought}%"}
    holds = f"position({text}, {{sought:String}}) > 0"
    inner = _inner(sought, words)
    if inner:
        return f"hasAllTokens({text}, {{words:Array(String)}}) AND {holds}", {"words": inner}
    longest = max(words, key=len, default="")
    if len(longest) >= SHORTEST:
        return f"{text} LIKE {{pattern:String}} AND {holds}", {"pattern": f"%{longest}%"}
    return holds, {}


def _inner(sought: str, words: list[str]) -> list[str]:
    """Those of the words that are whole ones also where `sought` stands amid others."""
    begins, ends = bool(_WORD.match(sought)), bool(_WORD.search(sought[-1]))
    return sorted(set(words[1 if begins else 0 : len(words) - 1 if ends else len(words)]))


def _ids(sought: str, values: dict[str, Any]) -> list[str]:
    """Conditions that an id begins so; a span's whole id is looked up, its beginning looked for."""
    parts = [f"startsWith(lowerUTF8(SessionId), {_RAW})"]
    if not _ID.fullmatch(sought):
        return parts
    digits = values["digits"] = sought.replace("-", "")
    if len(digits) <= _TRACE_DIGITS:
        parts.append(whole(f"SELECT TraceId FROM traces WHERE {TENANT} AND startsWith(TraceId, {{digits:String}})"))
    if _SPAN_START <= len(digits) <= _SPAN_DIGITS:
        same = "SpanId = {digits:String}" if len(digits) == _SPAN_DIGITS else "startsWith(SpanId, {digits:String})"
        parts.append(whole(f"SELECT TraceId FROM spans WHERE {TENANT} AND {same}"))
    return parts
