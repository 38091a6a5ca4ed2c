"""Conventions to one vocabulary: one module a convention, recognised by evidence on the span.

To add one: a module with a `Convention`, its line in `CONVENTIONS`, and fixtures of what it sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.spans import STATUS_ERROR, LogRecord, Span

from .adk import Adk
from .adot import Adot
from .claude_code import ClaudeCode
from .combine import combine, fill
from .convention import Convention, Fields, MarkedConvention, exceptions, is_announcement, unread_log_text
from .dialect import GENAI, Dialect
from .evaluations import without_evaluations
from .gemini_cli import GeminiCli
from .haystack import Haystack
from .langfuse import Langfuse
from .langsmith import LangSmith
from .livekit import LiveKit
from .mcp import ModelContextProtocol
from .message_logs import STAND_IN, with_told
from .mlflow import MLflow
from .openinference import OpenInference
from .openllmetry import OpenLLMetry
from .pauses import is_pause
from .prompts import add_prompt
from .pydantic_ai import PydanticAI
from .quarkus import Quarkus
from .raw_calls import RawCalls
from .replies import keep_reply
from .runtime import Runtime
from .self_described import SelfDescribed
from .spring_ai import SpringAI
from .stated import SESSION, add_stated
from .stored_bytes import with_log_texts, with_texts
from .tool_hooks import ToolHooks
from .vercel import Vercel

_RARE: Final[tuple[Convention, ...]] = (
    LangSmith(),
    MLflow(),
    SpringAI(),
    GeminiCli(),
    LiveKit(),
    Haystack(),
    Quarkus(),
)
"""Tried only on spans with the mark, scope or name of one."""

CONVENTIONS: Final[tuple[Convention, ...]] = (
    OpenInference(),
    Vercel(),
    OpenLLMetry(),
    Langfuse(),
    Adk(),
    ClaudeCode(),
    ToolHooks(),
    PydanticAI(),
    Runtime(),
    *_RARE,
    GENAI,
    ModelContextProtocol(),
    RawCalls(),
    Adot(),
)
"""In order of preference where a span carries the marks of several: those that say more first."""

_DESCRIBED: Final = SelfDescribed(key for convention in CONVENTIONS for key in convention.marks)
"""Tried last: on spans that no convention claims, or that state their kind in a key of none beside shared ones."""

_SHARED: Final = frozenset({GENAI.name, OpenLLMetry.name})
"""Conventions whose keys many senders write beside their own."""

_FIRST, *_OTHERS = CONVENTIONS
_OTHER_MARKS: Final = frozenset[str]().union(*(c.marks for c in _OTHERS))
_UNMARKED: Final = tuple(c for c in _OTHERS if not isinstance(c, MarkedConvention))
_BY_NAME: Final = tuple(c for c in _UNMARKED if isinstance(c, ClaudeCode))
_PREFIXES: Final = ("gen_ai.", "llm.")  # of keys that show a convention without a mark
_COMMON: Final = tuple(c for c in _OTHERS if c not in _RARE)
_RARE_MARKS: Final = frozenset[str]().union(*(c.marks for c in _RARE))
_RARE_SCOPES: Final = frozenset[str]().union(*(c.scopes for c in _RARE if isinstance(c, Dialect)))
_RARE_NAMES: Final = tuple(name for c in _RARE if isinstance(c, Dialect) for name in c.names)
_CONTENT: Final = (
    "input_text", "output_text", "input_messages", "output_messages", "tool_arguments", "tool_result", "failure",
    "tools",
)  # fmt: skip
_make: Final = maker(NormalizedSpan)


def normalize(span: Span, logs: Sequence[LogRecord] = ()) -> NormalizedSpan:
    """The span in the one vocabulary. Depends on the span and its joined log records only; never raises."""
    span, logs = without_evaluations(span, logs)
    if span.pending and logs and STAND_IN in span.attributes:
        span = with_told(span, logs)
    recognised = () if is_announcement(span) else _recognised(span, logs)
    if not recognised:
        return _normalized(span, logs, "", {"kind": Kind.OTHER})
    sent, logs = with_texts(span), with_log_texts(logs)
    found = combine([convention.read(sent, logs) for convention in recognised])
    if recognised[0] is GENAI and len(recognised) == 1 and _lacks_content(found):
        told = _DESCRIBED.read_as(found["kind"], sent)
        fill(found, {key: told[key] for key in _CONTENT if key in told})
    return _normalized(span, logs, recognised[0].name, found)


def _recognised(span: Span, logs: Sequence[LogRecord]) -> Sequence[Convention]:
    """The conventions that the span carries; most spans carry the first and no key of another."""
    keys = span.attributes
    marked = bool(logs) or not _OTHER_MARKS.isdisjoint(keys)
    shown = marked or not _FIRST.marks.isdisjoint(keys) or any(key.startswith(_PREFIXES) for key in keys)
    first = shown and _FIRST.recognises(span, logs)
    if first and not marked:
        return (_FIRST,)
    tried = _OTHERS if _may_be_rare(span) else _COMMON if marked else _UNMARKED if shown else _BY_NAME
    found = tuple(c for c in tried if c.recognises(span, logs))
    if len(found) > 1 and any(isinstance(c, Dialect) for c in found):  # it has read GenAI's keys
        found = tuple(c for c in found if c is not GENAI)
    if first:
        return (_FIRST, *found)
    if any(c.name not in _SHARED for c in found):
        return found
    described = _DESCRIBED.states_kind(span.attributes) if found else _DESCRIBED.recognises(span, logs)
    return (*found, _DESCRIBED) if described else found


def _lacks_content(found: Fields) -> bool:
    """Whether GenAI's keys say nothing of what a call was given or gave back: some senders have plain keys for that."""
    if found["kind"] is Kind.TOOL:
        return found.get("tool_arguments") is None or found.get("tool_result") is None
    return found["kind"] in (Kind.LLM, Kind.AGENT) and not (found.get("output_messages") or found.get("output_text"))


def _may_be_rare(span: Span) -> bool:
    if span.scope_name in _RARE_SCOPES or span.name.startswith(_RARE_NAMES):
        return True
    return not _RARE_MARKS.isdisjoint(span.attributes)


def _normalized(span: Span, logs: Sequence[LogRecord], convention: str, found: Fields) -> NormalizedSpan:
    if "log_text" not in found:
        found["log_text"] = unread_log_text(logs)
    if found["kind"] is Kind.LLM and any(message.text for message in found.get("input_messages", ())):
        found["input_text"] = ""  # the same once more, and as long
    if convention and not found.get("session_id"):  # without a convention it may be a browser's
        found["session_id"] = span.attributes.get(SESSION) or span.resource_attributes.get(SESSION, "")
    keep_reply(found)
    add_stated(found, span.attributes)
    if found["kind"] is Kind.LLM:
        add_prompt(found, span.attributes)
    raised = exceptions(span, logs)
    if span.status_code == STATUS_ERROR and is_pause(raised, span.status_message):
        found["paused"] = True
    return _make(raw=span, convention=convention, exceptions=raised, **found)


__all__ = ["CONVENTIONS", "Convention", "normalize"]
