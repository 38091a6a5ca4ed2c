"""Scripts of the OpenAI-compatible test server: for each call, what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from llm_answers import SCHEMA_MARK


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `number` counts from 0; `kind`: the response format's type, "" where there is none."""

    number: int
    body: Mapping[str, Any]
    key: str

    @property
    def prompt(self) -> str:
        """All messages, each after its role."""
        return "\n".join(f"{m['role']}\n{text_of(m['content'])}" for m in self.body["messages"])

    @property
    def kind(self) -> str:
        """How the answer's form was asked for."""
        return str((self.body.get("response_format") or {}).get("type", ""))

    @property
    def schema(self) -> Mapping[str, Any]:
        """The answer's schema: of the response format, else at the end of the last message, else {}."""
        if self.kind == "json_schema":
            schema: Mapping[str, Any] = self.body["response_format"]["json_schema"]["schema"]
            return schema
        _, mark, rest = text_of(self.body["messages"][-1]["content"]).rpartition(SCHEMA_MARK)
        written: Mapping[str, Any] = orjson.loads(rest) if mark else {}
        return written


@dataclass(frozen=True, slots=True)
class Play:
    """What the server does with one call; as it stands, a sound answer at once.

    `text` None: one that fits the schema, with this many `findings`. `hang_up`: close the connection before any byte,
    or in the middle of the body. `stall`: never answer. `echo_key`: the error repeats the request's key. `change`
    edits the reply's JSON.
    """

    status: int = 200
    text: str | None = None
    findings: int = 1
    delay: float = 0.0
    retry_after: float | None = None
    message: str = "a scripted failure"
    code: str | None = None
    finish_reason: str = "stop"
    hang_up: Literal["", "before", "middle"] = ""
    stall: bool = False
    raw: bytes | None = None
    echo_key: bool = False
    change: Callable[[dict[str, Any]], Any] | None = None


Script = Callable[[Call], Play]


def always(**play: Any) -> Script:
    """The same for every call."""
    chosen = Play(**play)
    return lambda _call: chosen


def in_turn(*plays: Play) -> Script:
    """One after another; the last goes on."""
    return lambda call: plays[min(call.number, len(plays) - 1)]


def refuses(*kinds: str) -> Script:
    """Answers 400 to these response formats, as servers do that do not know them."""
    refusal = Play(status=400, message="response_format is not supported by this model")
    return lambda call: refusal if call.kind in kinds else Play()


def text_of(content: Any) -> str:
    """A message's text, plain or in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)
