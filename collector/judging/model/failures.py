"""Why a model gave no answer: what litellm raises, as errors of ours, without keys and on one line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any, Final

import httpx

from tracejury.collector.otlp.secrets import hidden, without
from tracejury.collector.worker.retry import retry_after
from tracejury.schemas.errors import LlmError, PromptTooLongError, RetryableError, TracejuryError

from .config import ModelConfig

RETRY_SECONDS: Final = 30.0
LONGEST_RETRY_SECONDS: Final = 3600.0
AWAY: Final = frozenset({429, 500, 502, 503, 504, 529})
"""HTTP statuses of a provider that is there again later."""
MADE_UP: Final = frozenset({408, 500, 504})
"""Statuses that litellm also gives what is no answer of a server."""
KEY: Final = frozenset({401, 403})
NOISE: Final = re.compile(
    r"\b(?:litellm\.)?\w+(?:Error|Exception)(?:: | - )"
    r"|(?<!\s)\s*(?:LiteLLM: model group|Received Model Group|LiteLLM Retried).*",
    re.DOTALL,
)
"""Texts that litellm puts around the provider's. They are sought once a run of spaces: a body may hold megabytes."""
MOST_READ: Final = 20_000
"""Characters of an error that are looked at."""
LENGTH: Final = re.compile(r"context[ _](?:length|size|window)|maximum context|prompt is too long", re.IGNORECASE)
FILTERED: Final = "ContentPolicyViolationError"
FORMAT: Final = re.compile(r"response_format|json_schema|json_object|structured|grammar|guided|schema", re.IGNORECASE)

HTML: Final = re.compile(r"<(?:!doctype html|html)\b", re.IGNORECASE)
EVENTS: Final = re.compile(r"\A\s*(?:data|event):|Received: ['\"](?:data|event):")
"""An event stream by itself, and as litellm repeats it in an error."""
INVALID: Final = "Invalid response object"
"""litellm's words for an answer that does not have the protocol's form; a traceback follows."""


def failure(error: Exception, asked: ModelConfig, secrets: frozenset[str]) -> TracejuryError:
    """The error for the caller: RetryableError for a provider that is away or wants us to wait, LlmError for the rest.

    `asked` is the model that failed.
    """
    said = without(NOISE.sub("", hidden(str(error), secrets)[:MOST_READ]), secrets)
    return (
        _known(error, asked)
        or _passing(error, asked, said)
        or _unread(error, asked)
        or _lasting(error, asked.model, said)
    )


def _known(error: Exception, asked: ModelConfig) -> TracejuryError | None:
    """The cause that the user can mend, without the provider's words: those about a key may repeat a part of it."""
    status, kind = status_of(error), type(error).__name__
    if (kind == "Timeout" and status not in AWAY) or status == httpx.codes.REQUEST_TIMEOUT:
        return late(asked.model)
    if status in KEY:
        where = f"the environment variable {asked.api_key_env}" if asked.api_key_env else "its environment variable"
        return LlmError(f"{asked.model} answered {status} (the key was refused): check {where}")
    if too_long(error):
        return PromptTooLongError(f"the prompt is too long for {asked.model}: lower judges.max_input_tokens")
    if kind == FILTERED:
        return LlmError(f"{asked.model}: the provider's content filter refused the prompt")
    return None


def _passing(error: Exception, asked: ModelConfig, said: str) -> RetryableError | None:
    name, where = asked.model, f" at {asked.api_base}" if asked.api_base else ""
    cooldown, status = getattr(error, "cooldown_time", None), status_of(error)
    if cooldown is not None:
        return RetryableError(f"{name} has failed too often and is left alone for a while", retry_after=float(cooldown))
    if status in AWAY:
        return RetryableError(f"{name} answered {status} (not available): {said}", retry_after=asked_delay(error))
    if unreachable(error):
        return RetryableError(f"{name} cannot be reached{where}: {said}", retry_after=RETRY_SECONDS)
    return None


def _unread(error: Exception, asked: ModelConfig) -> LlmError | None:
    """The server answered, but with no chat completion: a page, events, or content in a form that litellm refuses."""
    bodies = [str(each.doc) for each in causes(error) if isinstance(each, json.JSONDecodeError)]
    body = next(iter(bodies), str(error))[:MOST_READ]
    where = f"check judges.api_base{f' ({asked.api_base})' if asked.api_base else ''}"
    if HTML.search(body):
        return LlmError(f"{asked.model}: the server answered with an HTML page: {where}")
    if EVENTS.search(body):
        return LlmError(f"{asked.model}: the server answered with an event stream, which was not asked for: {where}")
    if INVALID in body:
        return LlmError(f"{asked.model}: the server's answer is no chat completion that litellm can read: {where}")
    return None


def _lasting(error: Exception, name: str, said: str) -> LlmError:
    status = status_of(error)
    if status == httpx.codes.NOT_FOUND:
        return LlmError(f"{name} answered 404 (not found), check judges.model and judges.api_base: {said}")
    return LlmError(f"{name} {f'answered {status}' if status else f'failed ({type(error).__name__})'}: {said}")


def too_long(error: Exception) -> bool:
    """Whether the prompt does not fit the model's context; litellm does not know every server's words for it."""
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    return status_of(error) in {400, 413, 422} and LENGTH.search(str(error)[:MOST_READ]) is not None


def late(name: str) -> LlmError:
    """No answer within the time that it has."""
    return LlmError(f"{name} did not answer in time (judges.timeout_seconds)")


def refuses_form(error: Exception) -> tuple[bool, bool]:
    """Whether the request itself was refused, in a way that a laxer response format might mend; whether it says so."""
    if too_long(error) or type(error).__name__ == FILTERED:
        return False, False
    refused = status_of(error) in {400, 415, 422, 501}
    return refused, refused and FORMAT.search(str(error)[:MOST_READ]) is not None


def status_of(error: Exception) -> int:
    """The HTTP status; 0 where there is none.

    litellm gives time-outs, failures to connect and answers that it cannot read a 504 or 500 of its own.
    """
    status = getattr(error, "status_code", 0)
    if not isinstance(status, int) or unreachable(error):
        return 0
    answers = (each.response.status_code for each in causes(error) if isinstance(each, httpx.HTTPStatusError))
    return status if status not in MADE_UP or status in answers else 0


def unreachable(error: Exception) -> bool:
    """Whether no whole HTTP answer came: refused, reset, cut off."""
    return any(isinstance(e, (httpx.TransportError, ConnectionError)) for e in causes(error))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def asked_delay(error: Exception) -> float:
    """Seconds that the provider asks for (Retry-After), within bounds; otherwise a default."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    more: Any = getattr(error, "litellm_response_headers", None) or {}
    header = headers.get("retry-after") or more.get("retry-after") or ""
    asked = retry_after(str(header), time.time(), LONGEST_RETRY_SECONDS)
    return RETRY_SECONDS if asked is None else max(1.0, asked)
