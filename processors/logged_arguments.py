"""Arguments that only a program's own log lines tell: content was not to be captured, but the framework logs its calls.

A line counts where it names the tool and ends with its arguments as one JSON object (`Calling search function with
args: {"query": "Elbe"}`), and was written in the tool's span or one around it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .normalize.values import parse_object
from .run_spans import TurnSpans
from .span_tree import SpanTree

_REACH: Final = 3
_LINE: Final = re.compile(r"([^{}\n]{1,200}?)\b(?:arg|args|arguments|kwargs|parameters)\W{1,4}(\{.*\})\s*", re.DOTALL)
_WORD: Final = re.compile(r"[\w.-]+")


def add_logged_arguments(turns: Sequence[TurnSpans], tree: SpanTree) -> None:
    """Give tool spans of a run (turns in order of time) the arguments that lines around them tell.

    Only where as many lines name a tool as it has spans there: else it is not known which call a line is of.
    """
    lacking: defaultdict[tuple[str, str], list[tuple[TurnSpans, int]]] = defaultdict(list)
    for turn in turns:
        for at, call in enumerate(turn.calls):
            if call.tool_arguments is None and (source := _logging_span(call, tree)):
                lacking[source, call.tool_name].append((turn, at))
    for (source, name), places in lacking.items():
        found = list(_arguments_in(tree.spans[source], name))
        if len(found) == len(places):
            for (turn, at), arguments in zip(places, found, strict=True):
                turn.calls[at] = replace(turn.calls[at], tool_arguments=arguments)


def _logging_span(call: NormalizedSpan, tree: SpanTree) -> str:
    """The nearest span, from the tool's own to its agent's, whose log lines tell arguments of that tool."""
    for span_id in (call.raw.span_id, *islice(tree.ancestors(call.raw.span_id), _REACH)):
        span = tree.spans[span_id]
        if span.log_text and next(_arguments_in(span, call.tool_name), None) is not None:
            return span_id
        if span.kind is Kind.AGENT:
            break
    return ""


def _arguments_in(span: NormalizedSpan, tool: str) -> Iterator[Mapping[str, Any]]:
    for line in span.log_text:
        found = _LINE.fullmatch(line)
        if found and tool in _WORD.findall(found[1]) and (arguments := parse_object(found[2])) is not None:
            yield arguments
