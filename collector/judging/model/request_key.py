"""The key of a request, by which its answer is found again: in the answer cache and on a cassette."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import orjson

from tracejury.judges.llm.client import Prompt


def request_key(prompt: Prompt, model: str, parameters: Mapping[str, Any] | None = None) -> str:
    """32 hex digits over the model, its parameters, and all of a prompt that decides the answer.

    `parameters`: settings that count besides the prompt; a cassette has none, so that it is replayed without them.
    """
    asked: list[Any] = [
        model,
        dict(parameters or {}),
        dict(prompt.schema),
        prompt.max_tokens,
        [(message.role, _digest(message.text.encode("utf-8", "surrogatepass"))) for message in prompt.messages],
    ]
    # Absent where they are not set: the key of any other prompt is that of answers stored before they could be set.
    if prompt.repeat:
        asked.append(prompt.repeat)
    own = {"project": prompt.tenant or None, "temperature": prompt.temperature, "top_p": prompt.top_p}
    if prompt.pictures:
        asked.append([[picture.digest for picture in message.pictures] for message in prompt.messages])
    if prompt.request:
        asked.append(_digest(json.dumps(prompt.request, sort_keys=True).encode()))
    if given := {name: value for name, value in own.items() if value is not None}:
        asked.append(given)
    return _digest(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS))


def earlier_key(prompt: Prompt, model: str) -> str:
    """The key that cassettes and folders of prompts had before `request_key`; "" for a prompt that had none then."""
    if prompt.temperature is not None or prompt.top_p is not None or prompt.request or prompt.pictures:
        return ""
    sent = [prompt.repeat, model, prompt.max_tokens, dict(prompt.schema), [(m.role, m.text) for m in prompt.messages]]
    return _digest(json.dumps(sent, sort_keys=True, separators=(",", ":")).encode())


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
