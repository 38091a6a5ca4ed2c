"""Spans that say themselves what they stand for, in keys that no known convention has.

Vendors' SDKs and programs of one's own write the same few facts under prefixes of their own: a kind
(`acme.span.type=tool`), what went in and what came out (`acme.input`, `acme.output`), a model, tokens, a session. The
last words of a key tell which fact it holds, the words of the value which kind. Without a kind, a span is a call where
it names a model, a tool or an agent (`llm.model`, `tool.name`) beside what that was given or gave back. Keys of known
conventions are theirs, and one that means something else to them is not read here.

Sources of the words: the attributes that Genkit, Braintrust, Laminar, HoneyHive, AgentOps, Langtrace, CozeLoop, Mastra
and LoongSuite document or write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.not_judged import ORDINARY
from tracejury.schemas.spans import LogRecord, Span

from .arguments import as_schema, function_input, tool_definitions
from .convention import Fields
from .literals import read_value
from .messages import parse_messages
from .results import read_result, tool_fields
from .values import NOT_JSON, as_int, as_text, parse_object, text_of
from .wrappings import finish_reasons, messages_in

_KINDS: Final = {
    **dict.fromkeys(("llm", "model", "generation", "chat", "chat_model", "completion"), Kind.LLM),
    **dict.fromkeys(("llm_generation", "model_generation", "llm_call", "model_call"), Kind.LLM),
    **dict.fromkeys(("tool", "tool_call", "mcp_tool_call", "function", "function_call"), Kind.TOOL),
    **dict.fromkeys(("agent", "agent_run", "invoke_agent"), Kind.AGENT),
    **dict.fromkeys(("retriever", "retrieval"), Kind.RETRIEVER),
    **dict.fromkeys(("embedding", "embedder"), Kind.EMBEDDING),
    **dict.fromkeys(("chain", "flow", "workflow", "workflow_run", "workflow_step", "step", "task"), Kind.CHAIN),
    **dict.fromkeys(("evaluator", "evaluation", "scorer"), Kind.EVALUATOR),
    "guardrail": Kind.GUARDRAIL,
    "reranker": Kind.RERANKER,
}
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_VERSION: Final = re.compile(r"\.v\d+$")  # "tool.v2"
_LONGEST_KEY: Final = 120
_KIND_KEYS: Final = frozenset(
    {("span", "kind"), ("span", "type"), ("event", "type"), ("observation", "type"), ("run", "type"),
     ("service", "type"), ("step", "type"), ("metadata", "subtype"), ("kind", "name"), ("attributes", "type")}
)  # fmt: skip
_KIND_ENDS: Final = tuple(
    {"attributes", *(end for _, word in _KIND_KEYS for end in (word, word.title(), word.upper()))}
)
_NAME_ENDS: Final = ("model", "Model", "name", "Name", "tool", "agent")
_ENDS: Final = _KIND_ENDS + _NAME_ENDS
_NAMING: Final = frozenset({("model", "name"), ("tool",), ("tool", "name"), ("agent",), ("agent", "name")})
_ASKED: Final = ("messages", "history", "input", "inputs", "prompt", "prompts", "request", "query", "question",
                 "task", "arguments", "args", "parameters")  # fmt: skip
_SAID: Final = ("output", "outputs", "completion", "completions", "response", "responses", "result", "answer", "reply")
_GIVEN: Final = (("input",), ("inputs",))  # groups of keys, one for each argument or result
_RETURNED: Final = (("output",), ("outputs",))
_FORMS: Final = frozenset({"json", "value", "text", "content", "data", "messages"})  # `input.value`, `output_json`
_OF_MODELS: Final = frozenset({"messages", "history", "prompt", "prompts", "completion", "completions"})
"""Words for what models alone are given and give back."""
_VAGUE: Final = frozenset({"model", "generation", "chat", "completion", "function", "chain", "flow", "workflow", "step",
                           "task", "evaluation", "workflow_run", "workflow_step"})  # fmt: skip
"""Kinds that programs without models have too: they count where the span has contents."""
_TOKENS: Final[Mapping[tuple[str, ...], str]] = {
    **dict.fromkeys((("input", "tokens"), ("prompt", "tokens"), ("tokens", "input"), ("tokens", "prompt")), "sent"),
    **dict.fromkeys((("output", "tokens"), ("completion", "tokens"), ("tokens", "output")), "written"),
    ("tokens", "completion"): "written",
}
_SESSIONS: Final = frozenset({("session", "id"), ("thread", "id"), ("conversation", "id")})
_USAGE: Final = frozenset({"usage", "metrics", "counts"})
_IDS: Final = frozenset({("call", "id"), ("use", "id")})
_HIDDEN: Final = frozenset({"", "<REDACTED>", "[REDACTED]", "__REDACTED__"})
_FAILED: Final = frozenset({"error", "failed", "failure"})
_CLAIMED: Final = frozenset({"gen_ai", "llm"})
"""First words of the keys of known conventions that others share."""
_SHARED: Final = tuple(f"{word}." for word in sorted(_CLAIMED))


class SelfDescribed:
    """Reads spans whose own attributes say what they stand for; `known`: the keys of conventions that are read."""

    name = "self-described"
    marks: frozenset[str] = frozenset()  # the words that matter are the last ones of a key

    def __init__(self, known: Iterable[str]) -> None:
        prefixes = {key.partition(".")[0] for key in known if "." in key} - _CLAIMED
        self._known = (*(f"{prefix}." for prefix in sorted(prefixes)), *ORDINARY)

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """A kind, or a name beside what was given or came back."""
        return self._kind(span) is not None

    def states_kind(self, attributes: Mapping[str, str]) -> bool:
        """Whether a key states the kind, which a span of a shared convention may do beside that one's keys."""
        return _stated(attributes, self._known) is not None

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        return self.read_as(self._kind(span) or Kind.CHAIN, span)

    def read_as(self, kind: Kind, span: Span) -> Fields:
        """What the keys say of a span that is known to be of `kind`, LLM, TOOL or of a step."""
        told = _Told(span.attributes, self._known)
        found: Fields = {"kind": kind, "session_id": told.session}
        if kind is Kind.TOOL:
            named = _NAME_IN.search(span.name)
            return found | {
                **tool_fields(told.asked, told.said or None),
                "tool_name": told.name("tool", "function", "operation") or (named[1] if named else span.name),
                "tool_call_id": told.call_id,
                **({"failure": told.state} if told.state and told.said == "" else {}),
            }
        if kind is Kind.LLM:
            return found | _call(told)
        asked, said = function_input(read_result(told.asked, quoted=True).text), _plain(told.said)
        found |= {"input_text": asked, "output_text": said}
        if kind is Kind.AGENT:
            messages, _ = _messages(told.asked, "user")
            found |= {
                "agent_name": told.name("agent", "operation") or _agent_name(span.name),
                "input_messages": messages if _is_list(told.asked) else (),
                "input_tokens": told.tokens("sent"),
                "output_tokens": told.tokens("written"),
            }
        return found

    def _kind(self, span: Span) -> Kind | None:
        attributes = span.attributes
        if not any(key.endswith(_ENDS) for key in attributes):  # most spans of programs without agents
            return None
        return _stated(attributes, self._known) or _named_kind(span, self._known)


_NAME_IN: Final = re.compile(r"['\"`]([\w.\-]{1,100})['\"`]")  # "tool call: 'search'"


@lru_cache(maxsize=8192)
def _words(key: str) -> tuple[str, ...]:
    """The words of a key in lower case; every span of a program has the same keys."""
    return tuple(word.lower() for word in _WORD.findall(key))


def _last(key: str) -> tuple[str, ...]:
    return _words(key)[-2:] if len(key) <= _LONGEST_KEY else ()


def _stated(attributes: Mapping[str, str], known: tuple[str, ...]) -> Kind | None:
    for key, value in attributes.items():
        if not key.endswith(_KIND_ENDS):  # most keys
            continue
        last = _last(key)
        if last in _KIND_KEYS and not key.startswith(known):
            word = _VERSION.sub("", value[:40].lower()).replace(" ", "_").replace("-", "_")
        elif last == ("span", "attributes") and value[:1] == "{":
            word = text_of((parse_object(value) or {}).get("type")).lower()
        else:
            continue
        kind = _KINDS.get(word)
        if kind is not None and (word not in _VAGUE or _sides(attributes, known)):
            return kind
    return None


def _named_kind(span: Span, known: tuple[str, ...]) -> Kind | None:
    """The kind of what a key names, where other keys hold what that was given or gave back.

    A model's name is on many spans, so that contents must be a model's or tokens; an agent's, too: its contents stand
    beside it. A tool's name needs no contents where the span is called after it (`acme.tool search`).
    """
    attributes = span.attributes
    ends = (key for key in attributes if key.endswith(_NAME_ENDS) and not key.startswith(known))
    named = {last: key for key in ends if (last := _last(key))[-1:] == ("model",) or last in _NAMING}
    if (tool := named.get(("tool", "name"))) and _is_called_after(span.name, attributes[tool]):
        return Kind.TOOL
    sides = _sides(attributes, known) if named else {}
    if not sides:
        return None
    models = any(last[-1:] == ("model",) or last == ("model", "name") for last in named)
    if models and (not _OF_MODELS.isdisjoint(sides) or any(_last(key) in _TOKENS for key in attributes)):
        return Kind.LLM
    if ("tool",) in named or ("tool", "name") in named:
        return Kind.TOOL
    agent = next((named[last] for last in (("agent",), ("agent", "name")) if last in named), "")
    group = agent[: agent.lower().rfind("agent") + len("agent")]
    return Kind.AGENT if agent and any(key != agent and key.startswith(group) for key in sides.values()) else None


def _is_called_after(span_name: str, tool: str) -> bool:
    before = span_name[: -len(tool)] if tool and span_name.endswith(tool) else ""
    return _words(before[-_LONGEST_KEY:])[-1:] == ("tool",)


def _sides(attributes: Mapping[str, str], known: tuple[str, ...]) -> dict[str, str]:
    """The words for what was given and what came back, each with its key."""
    return {word: key for key in attributes if (word := _side(key)) and not key.startswith(known)}


def _side(key: str) -> str:
    """The word of a key that holds what was given or came back, "" for another."""
    for word in reversed(_last(key)):
        if word in _ASKED or word in _SAID:
            return word
        if word not in _FORMS:
            break
    return ""


class _Told:
    """The facts of one span by what their keys end in."""

    def __init__(self, attributes: Mapping[str, str], known: tuple[str, ...]) -> None:
        self._attributes = {k: v for k, v in attributes.items() if v not in _HIDDEN and not k.startswith(known)}
        self.asked, self.said = self._contents(asked=True), self._contents(asked=False)
        self.session = self._of(_SESSIONS)
        self.call_id = self._of(_IDS)
        failed = (key for key, value in attributes.items() if value.lower() in _FAILED)
        self.state = next((f"{k}={attributes[k]}" for k in failed if _last(k)[-1:] in (("state",), ("status",))), "")

    def _contents(self, *, asked: bool) -> str:
        """The value of the key whose word says it best, else an object of the values below such a word."""
        words, groups = (_ASKED, _GIVEN) if asked else (_SAID, _RETURNED)
        found = [(words.index(word), key) for key in self._attributes if (word := _side(key)) in words]
        for _, key in sorted(found):
            if as_schema(parse_object(value := self._attributes[key])) is None:
                return value
        inner: dict[str, str] = {}
        for key, value in self._attributes.items():
            group, dot, name = key.rpartition(".")
            if dot and not key.startswith(_SHARED) and _last(group)[-1:] in groups:
                inner[name] = value
        return next(iter(inner.values())) if len(inner) == 1 and not asked else as_text(inner) if inner else ""

    def _of(self, keys: frozenset[tuple[str, ...]]) -> str:
        return next((v for k, v in self._attributes.items() if v and _last(k) in keys), "")

    def name(self, *owners: str) -> str:
        """What a key names: `tool.name` or `tool`, else one that is only `name` behind a prefix."""
        for key, value in self._attributes.items():
            last = _last(key)
            if value and last[:1] and last[0] in owners and last[1:] in ((), ("name",)):
                return value
        return next((v for k, v in self._attributes.items() if v and _words(k[:_LONGEST_KEY])[1:] == ("name",)), "")

    @property
    def model(self) -> str:
        """The model, of a key or of an object of metadata."""
        for key, value in self._attributes.items():
            last = _last(key)
            if value and (last == ("model", "name") or last[-1:] == ("model",)):
                return value
        inner = (parse_object(v) for k, v in self._attributes.items() if _last(k)[-1:] == ("metadata",))
        return next((text_of(fields.get("model")) for fields in inner if fields), "")

    def tokens(self, side: str) -> int | None:
        """Tokens sent or written, of a key or of an object of usage."""
        for key, value in self._attributes.items():
            last = _last(key)
            if _TOKENS.get(last) == side and (figure := as_int(value)) is not None:
                return figure
        objects = [parse_object(v) for k, v in self._attributes.items() if _last(k)[-1:] and _last(k)[-1] in _USAGE]
        answer = parse_object(self.said) or {}
        for fields in (*objects, answer.get("usage")):
            for key, value in fields.items() if isinstance(fields, dict) else ():
                if _TOKENS.get(_last(key)) == side and (figure := as_int(as_text(value))) is not None:
                    return figure
        return None

    @property
    def tools(self) -> Any:
        """Definitions of tools, of a key or beside the messages."""
        own = next((v for k, v in self._attributes.items() if _last(k)[-1:] == ("tools",)), "")
        given = read_value(own) if own else (parse_object(self.asked) or {}).get("tools")
        return None if given is NOT_JSON else given


def _call(told: _Told) -> Fields:
    sent, asked = _messages(told.asked, "user")
    written, said = _messages(told.said, "assistant")
    return {
        "input_messages": sent,
        "output_messages": written,
        "input_text": "" if sent else asked,
        "output_text": "" if written else said,
        "tools": tool_definitions(told.tools),
        "model": told.model,
        "finish_reasons": finish_reasons(parse_object(told.said)),
        "input_tokens": told.tokens("sent"),
        "output_tokens": told.tokens("written"),
    }


def _messages(text: str, role: str) -> tuple[tuple[Message, ...], str]:
    """The messages that a value holds, or the one that it is; and its text."""
    plain = read_result(text, quoted=True).text if text[:1] == '"' else text
    if not plain:
        return (), ""
    value = read_value(plain)
    items = None if value is NOT_JSON else messages_in(_only(value))
    return (parse_messages(items, role) if items else (Message(role, plain),)), plain


def _only(value: Any) -> Any:
    """What an object of one field holds, as a JSON text may be."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), str):
        found = read_value(inner)
        return value if found is NOT_JSON else found
    return value


def _is_list(text: str) -> bool:
    return text.lstrip()[:1] == "["


def _plain(text: str) -> str:
    """The text of a result: of an object that has one, that."""
    told = read_result(text, quoted=True).text
    value = parse_object(told) or {}
    return text_of(value.get("text")) or told


def _agent_name(name: str) -> str:
    """An agent's name in its span's: what stands in quotes, else all of it."""
    found = _NAME_IN.search(name)
    return found[1] if found else name.removesuffix(".agent")
