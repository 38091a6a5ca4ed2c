"""A client that asks nothing twice, and keeps what was answered and what it cost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.client import Client, NoAnswerError, Prompt, Reply
from tracejury.judges.llm.json_object import MAX_CHARACTERS, json_object
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.llm_rows import AnswerRow

from .request_key import request_key

log = logging.getLogger(__name__)

CUT_OFF: Final = frozenset({"length", "content_filter"})
LINGER_SECONDS: Final = 0.05
"""How long the first of a group of answers waits for others: an insert costs as much for one as for a hundred."""
MOST_KEPT_BACK: Final = 1000
"""Answers that wait for a store that is away; beyond it the oldest are lost to the cache and to the spend."""

UNSOUND_CHARACTERS: Final = 20_000
"""The fields that remain of an answer that is not given again."""


def sound(prompt: Prompt, reply: Reply) -> bool:
    """Whether the reply is whole, and JSON where that was asked for: anything else may come out better next time."""
    if not 0 < len(reply.text) <= MAX_CHARACTERS or reply.finish_reason in CUT_OFF:
        return False
    if not prompt.schema:
        return True
    try:
        json_object(reply.text, next(iter(prompt.schema.get("properties", ())), ""))
    except AnswerError:
        return False
    return True


@dataclass(slots=True)
class _Shared:
    """A call that several wait for."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class CachedClient:
    """Answers from `answers` where it can; identical prompts at one time share one call.

    Every reply is kept, an unsound one under no key: it counts as spend, but spares no call. `parameters`: what besides
    the prompt decides the answer. `clock` gives unix nanos.
    """

    def __init__(
        self,
        inner: Client,
        answers: StoredLlmJudging,
        parameters: Mapping[str, Any],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._inner, self.model = inner, inner.model
        self._answers = answers
        self._parameters = parameters
        self._clock = clock
        self._calls: dict[str, _Shared] = {}
        self._unkept: deque[AnswerRow] = deque(maxlen=MOST_KEPT_BACK)
        self._keeping = asyncio.Lock()

    async def complete(self, prompt: Prompt) -> Reply:
        """The kept answer, `known` and at no cost, or the inner client's reply; see `Client`."""
        key = request_key(prompt, self.model, self._parameters)
        shared = self._calls.get(key)
        joined = shared is not None
        if shared is None:
            shared = self._calls[key] = _Shared(asyncio.ensure_future(self._fetched(prompt, key)))
        shared.waiting += 1
        try:
            # Shielded: one who gives up must not end the call for the others.
            reply = await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                shared.task.cancel()  # nothing where it is done
                if self._calls.get(key) is shared:
                    del self._calls[key]
        # Whoever came first pays.
        return replace(reply, known=True, cost=0.0) if joined else reply

    async def flush(self) -> None:
        """Keep what the store did not take; what it does not take now is lost."""
        await self._keep()

    async def _fetched(self, prompt: Prompt, key: str) -> Reply:
        known = None if prompt.bypass_cache else await self._known(key, prompt.tenant)
        if known is not None:
            return known
        try:
            reply = await self._inner.complete(prompt)
        except NoAnswerError as error:
            await self._paid(prompt, error.reply, "")
            raise
        await self._paid(prompt, reply, key if sound(prompt, reply) else "")
        return reply

    async def _paid(self, prompt: Prompt, reply: Reply, key: str) -> None:
        self._unkept.append(answer_row(prompt, reply, key, self._clock()))
        await self._keep()

    async def _known(self, key: str, tenant: str) -> Reply | None:
        try:
            return await asyncio.to_thread(self._answers.answer, key, tenant)
        except (RetryableError, StoreError) as error:
            log.warning("the answer cache cannot be read: %s", error)
            return None

    async def _keep(self) -> None:
        """Keep what waits, in groups: whoever waits for the lock may find its own kept already."""
        async with self._keeping:
            if not self._unkept:
                return
            await asyncio.sleep(LINGER_SECONDS)
            rows = list(self._unkept)
            try:
                await asyncio.to_thread(self._answers.keep, rows)
            except RetryableError as error:
                # The reply is paid for and is used all the same; the rows go with the next.
                log.warning("%d answers cannot be kept yet: %s", len(rows), error)
                return
            except StoreError as error:
                await self._keep_each(rows, error)
            kept = set(map(id, rows))
            remaining = [row for row in self._unkept if id(row) not in kept]
            self._unkept.clear()
            self._unkept.extend(remaining)

    async def _keep_each(self, rows: Sequence[AnswerRow], error: StoreError) -> None:
        """One that can never be kept costs no other one."""
        if len(rows) == 1:
            log.warning("an answer cannot be kept: %s", error)
            return
        for row in rows:
            try:
                await asyncio.to_thread(self._answers.keep, [row])
            except (RetryableError, StoreError) as single:
                log.warning("an answer cannot be kept: %s", single)


def answer_row(prompt: Prompt, reply: Reply, key: str, at: int) -> AnswerRow:
    """The reply as it is kept."""
    return AnswerRow(
        key=key,
        model=reply.model,
        text=reply.text if key else reply.text[:UNSOUND_CHARACTERS],
        finish_reason=reply.finish_reason,
        input_tokens=reply.input_tokens,
        cached_tokens=reply.cached_tokens,
        output_tokens=reply.output_tokens,
        cost=reply.cost,
        at=at,
        service=prompt.service,
        trace_id=prompt.trace_id,
        run_id=prompt.run_id,
        purpose=prompt.purpose,
        tenant=prompt.tenant,
    )
