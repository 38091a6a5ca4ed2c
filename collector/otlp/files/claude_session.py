"""Claude Code's sessions: what it prints with `--output-format stream-json`, and its own files (~/.claude/projects).

Both are JSON lines of entries of type "user", "assistant", "system" and others, with messages of Anthropic's API. A
reply stands in an entry for each of its blocks, under one message id. The printed stream holds no prompts unless
`--replay-user-messages` asks for them, and has times of results only; sub-agents' entries name the call that started
them (`parent_tool_use_id`). Sources: code.claude.com/docs (headless mode, Agent SDK); the files' form is not
documented: here it is read as version 2 writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .session import Call, Exchange, Reply, Session, message, number, result_message, time_of

Json = Mapping[str, Any]

AGENT: Final = "claude-code"
_SIGNS: Final = frozenset({"sessionId", "session_id"})
_TYPES: Final = frozenset(
    {"user", "assistant", "system", "result", "summary", "file-history-snapshot", "queue-operation", "progress"}
)
_NOT_A_PROMPT: Final = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "Caveat: ",
    "[Request interrup",
)
"""How texts begin that the program itself writes into the user's place."""
_SYNTHETIC: Final = "<synthetic>"


def is_entry(document: object) -> bool:
    """Whether decoded JSON is an entry of a session; some types carry no session id."""
    if not isinstance(document, dict) or document.get("type") not in _TYPES:
        return False
    told = not _SIGNS.isdisjoint(document) or document["type"] in ("summary", "file-history-snapshot")
    return told and (document["type"] not in ("user", "assistant") or isinstance(document.get("message"), dict))


def parse(entries: Sequence[Json]) -> list[Session]:
    """The sessions in the entries of one file, in order of their first entry; entries that say nothing are passed over.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: an entry does not have the form of its type.
    """
    by_session: dict[str, list[Json]] = {}
    for entry in entries:
        if name := entry.get("sessionId") or entry.get("session_id"):
            by_session.setdefault(str(name), []).append(entry)
    return [_Reader(Session(name, AGENT)).read(own) for name, own in by_session.items()]


@dataclass(slots=True)
class _Thread:
    """One agent's part of the session. `message_id`: of the reply that the next entry may go on with."""

    replies: list[Reply]
    message_id: str = ""
    received: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """`threads`: of sub-agents, by what their entries name them with; `waiting`: calls without a result, by id."""

    session: Session
    threads: dict[str, _Thread] = field(default_factory=dict)
    main: _Thread = field(default_factory=lambda: _Thread([]))
    waiting: dict[str, tuple[Reply, Call]] = field(default_factory=dict)
    over: bool = True
    notified: bool = False
    usage: dict[str, int] = field(default_factory=dict)

    def read(self, entries: Sequence[Json]) -> Session:
        for entry, time in zip(entries, _times(entries), strict=True):
            kind = entry.get("type")
            self.session.version = self.session.version or str(
                entry.get("version") or entry.get("claude_code_version") or ""
            )
            if kind == "assistant":
                self._reply(entry, time)
            elif kind == "user":
                self._user(entry, time)
            elif kind == "result":
                self._result(entry, time)
            elif kind == "system" and entry.get("subtype") == "task_notification":
                self.notified = True
        self.session.exchanges = [e for e in self.session.exchanges if e.prompt or e.replies]
        return self.session

    def _thread(self, entry: Json, time: int, opening: str = "") -> _Thread | None:
        """The thread of an entry; None for a sub-agent's whose call the file does not have."""
        key = entry.get("parent_tool_use_id") or (entry.get("agentId") or "-" if entry.get("isSidechain") else "")
        if not key:
            if self.over and not self.notified:
                self._open("", time)
            self.over = self.notified = False
            return self.main
        key = str(key)
        if key in self.threads and not (key == "-" and opening):
            return self.threads[key]
        call = next((c for _, c in self.waiting.values() if c.id == key or _tasked(c, opening)), None)
        if call is None:
            return self.threads.get(key)
        call.agent = str(call.arguments.get("subagent_type") or "") if isinstance(call.arguments, Mapping) else ""
        self.threads[key] = _Thread(call.below)
        return self.threads[key]

    def _open(self, prompt: str, time: int) -> None:
        exchange = Exchange(prompt, time)
        self.session.exchanges.append(exchange)
        self.main = _Thread(exchange.replies)
        if prompt:
            self.main.received.append(message("user", prompt))

    def _reply(self, entry: Json, time: int) -> None:
        told = entry["message"]
        if told.get("model") == _SYNTHETIC and not entry.get("isApiErrorMessage"):
            return  # a line that the program wrote in the model's name
        thread = self._thread(entry, time)
        if thread is None:
            return
        own = str(told.get("id") or entry.get("uuid") or "")
        if not thread.replies or thread.message_id != own or not own:
            thread.replies.append(Reply(time, str(told.get("model") or ""), received=thread.received))
            thread.received, thread.message_id = [], own
        reply = thread.replies[-1]
        reply.time = max(reply.time, time)
        reply.stop_reason = str(told.get("stop_reason") or reply.stop_reason)
        self._count(reply, told.get("usage") or {})
        content = told.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            kind = block.get("type")
            if kind == "text":
                reply.text = _joined(reply.text, block.get("text"))
            elif kind == "thinking":
                reply.reasoning = _joined(reply.reasoning, block.get("thinking"))
            elif kind == "tool_use":
                self._ask(reply, Call(str(block.get("id") or ""), str(block.get("name") or ""), block.get("input")))
        if entry.get("isApiErrorMessage"):
            reply.error, reply.model = reply.text or "error", ""

    def _ask(self, reply: Reply, call: Call) -> None:
        """A call whose id is asked for again before it had a result was given up with its reply: sent again."""
        if (before := self.waiting.get(call.id)) is not None:
            given_up, earlier = before
            given_up.calls = [c for c in given_up.calls if c is not earlier]
        reply.calls.append(call)
        if call.id:
            self.waiting[call.id] = (reply, call)

    @staticmethod
    def _count(reply: Reply, usage: Json) -> None:
        """Of entries of one reply the last says most; a reply that was given up says nothing but zeros."""
        read, wrote = number(usage, "cache_read_input_tokens"), number(usage, "cache_creation_input_tokens")
        sent, written = number(usage, "input_tokens"), number(usage, "output_tokens")
        if sent or written or read or wrote:
            reply.input_tokens, reply.output_tokens = sent + read + wrote, written
            reply.cache_read, reply.cache_write = read, wrote

    def _user(self, entry: Json, time: int) -> None:
        content = entry["message"].get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [b for b in blocks if isinstance(b, Mapping) and b.get("type") == "tool_result"]
        text = "\n".join(t for b in blocks if isinstance(b, Mapping) and (t := _text(b)))
        if results:
            for block in results:
                self._answer(entry, block, time)
            return
        if not text or entry.get("isMeta") or text.startswith(_NOT_A_PROMPT):
            self.notified |= text.startswith("<task-notification>")
            return
        if entry.get("isSidechain") or entry.get("parent_tool_use_id"):
            if (thread := self._thread(entry, time, text)) is not None:
                thread.received.append(message("user", text))
        elif entry.get("isCompactSummary"):
            self.main.received.append(message("user", text))
        else:
            self._open(text, time)
            self.over = False

    def _answer(self, entry: Json, block: Json, time: int) -> None:
        asked = self.waiting.pop(str(block.get("tool_use_id") or ""), None)
        if asked is None:
            return
        call = asked[1]
        content = block.get("content")
        call.result = content if isinstance(content, str) else "\n".join(filter(None, map(_text, content or ())))
        call.failed, call.time = block.get("is_error") is True, time
        thread = self._thread(entry, time)
        if thread is not None:
            thread.received.append(result_message(call))

    def _result(self, entry: Json, time: int) -> None:
        """The end of the printed exchange. After a tool's result the model was asked once more: it answered nothing."""
        self.over = True
        if not self.session.exchanges:
            return
        exchange = self.session.exchanges[-1]
        totals = [u for u in (entry.get("modelUsage") or {}).values() if isinstance(u, Mapping)]
        if entry.get("is_error") is True:
            exchange.error = str(entry.get("result") or entry.get("subtype") or "error")
        elif self.main.replies and self.main.received:
            last = Reply(time, self.main.replies[-1].model, stop_reason=str(entry.get("stop_reason") or ""))
            last.received, self.main.received = self.main.received, []
            last.text = str(entry.get("result") or "").strip()
            read = sum(number(u, "cacheReadInputTokens") for u in totals) - self._sum("cache_read")
            wrote = sum(number(u, "cacheCreationInputTokens") for u in totals) - self._sum("cache_write")
            sent = sum(number(u, "inputTokens") for u in totals) + read + wrote
            sent += self._sum("cache_read") + self._sum("cache_write") - self._sum("input_tokens")
            written = sum(number(u, "outputTokens") for u in totals) - self._sum("output_tokens")
            if min(sent, written, read, wrote) >= 0 and sent:
                last.input_tokens, last.output_tokens, last.cache_read, last.cache_write = sent, written, read, wrote
            self.main.replies.append(last)

    def _sum(self, figure: str) -> int:
        """The figure over all replies so far, sub-agents' included."""
        threads = [*(e.replies for e in self.session.exchanges), *(t.replies for t in self.threads.values())]
        return sum(getattr(reply, figure) or 0 for replies in threads for reply in replies)


def _times(entries: Sequence[Json]) -> list[int]:
    """The time of each entry in unix nanos: its own, else that of the next that has one, else of the last before it.

    What has no time was written before what comes next. 0 where the file has no times at all.
    """
    own = [time_of(e) for e in entries]
    found: list[int] = []
    later = 0
    for time in reversed(own):
        later = time or later
        found.append(later)
    found.reverse()
    last = max(own, default=0)
    return [time or last for time in found]


def _tasked(call: Call, opening: str) -> bool:
    """Whether a sub-agent's first message is what the call gave it to do."""
    return bool(opening) and isinstance(call.arguments, Mapping) and call.arguments.get("prompt") == opening


def _text(block: Json) -> str:
    kind = block.get("type")
    return str(block.get("text") or "") if kind == "text" else f"[{kind}]" if kind and kind != "tool_result" else ""


def _joined(before: str, text: object) -> str:
    return "\n".join(filter(None, (before, str(text or "").strip())))
