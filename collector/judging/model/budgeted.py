"""A client that stops at a cap: what a call may cost is held back before it is sent, what it did cost counts after."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from tracejury.judges.llm.budget import DAY, HOUR, Budget, Caps, Reservation
from tracejury.judges.llm.client import Client, NoAnswerError, Prompt, Reply
from tracejury.schemas.errors import OverBudgetError, RetryableError, StoreError
from tracejury.schemas.llm_rows import Spend

from .config import BudgetConfig, ServiceCaps
from .price import Price, tokens_in

log = logging.getLogger(__name__)

READ_EVERY: Final = 5 * 10**9
"""Nanoseconds for which is not read what other processes have spent meanwhile."""


class BudgetedClient:
    """Sends only what fits the budget. `price` is asked at each call; `clock` gives unix nanos.

    `spent`: on a server, what all processes have spent since then, which is read every few seconds. Caps so hold over
    all processes but for what the others spend meanwhile, and what they have in flight.

    What does not fit only because of what is held back for calls in flight waits for them: most take far less. Near a
    cap calls so become fewer at a time.
    """

    def __init__(
        self,
        inner: Client,
        budget: Budget,
        price: Callable[[], Price | None],
        clock: Callable[[], int] = time.time_ns,
        spent: Callable[[int], Iterable[Spend]] | None = None,
    ) -> None:
        self._inner, self.model = inner, inner.model
        self._spent, self._read_at = spent, 0
        self._budget = budget
        self._price = price
        self._clock = clock
        self._over = asyncio.Event()  # set when the next call in flight is over

    async def complete(self, prompt: Prompt) -> Reply:
        """The inner client's reply; OverBudgetError before anything is sent. See `Client`."""
        price, read = self._price(), tokens_in(prompt)
        # The longest answer that it allows: what is held back is rather too much.
        usd = None if price is None else price.of(read, prompt.max_tokens)
        reservation = await self._admitted(prompt, read + prompt.max_tokens, usd)
        try:
            reply = await self._inner.complete(prompt)
        except NoAnswerError as error:
            self._settle(reservation, error.reply, price)
            raise
        except BaseException:
            self._budget.release(reservation)
            raise
        else:
            self._settle(reservation, reply, price)
            return reply
        finally:
            self._over.set()
            self._over = asyncio.Event()

    def _settle(self, reservation: Reservation, reply: Reply, price: Price | None) -> None:
        cost = reply.cost
        if cost is None and price is not None:  # a fallback without a price is charged like the model
            cost = price.of(reply.input_tokens, reply.output_tokens, reply.cached_tokens)
        self._budget.settle(reservation, reply.input_tokens + reply.output_tokens, cost)

    async def _count_others(self) -> None:
        now = self._clock()
        if self._spent is None or abs(now - self._read_at) < READ_EVERY:
            return
        self._read_at = now
        try:
            self._budget.raise_to(await asyncio.to_thread(self._spent, now - DAY - HOUR))
        except (RetryableError, StoreError) as error:
            log.warning("what other processes have spent cannot be read: %s", error)

    async def _admitted(self, prompt: Prompt, tokens: int, usd: float | None) -> Reservation:
        await self._count_others()
        while True:
            try:
                return self._budget.admit(prompt.service, tokens, usd, self._clock(), prompt.tenant)
            except OverBudgetError as error:
                if not error.held:
                    raise
            await self._over.wait()


def caps_of(config: ServiceCaps) -> Caps:
    """Caps as the configuration states them."""
    return Caps(
        usd_per_hour=config.usd_per_hour,
        usd_per_day=config.usd_per_day,
        tokens_per_hour=config.tokens_per_hour,
        tokens_per_day=config.tokens_per_day,
        unpriced_tokens_per_day=config.unpriced_tokens_per_day if isinstance(config, BudgetConfig) else None,
    )


def budget_of(config: BudgetConfig) -> Budget:
    """An empty budget with these caps; `load` what was spent before."""
    services = {name: caps_of(caps) for name, caps in config.per_service.items()}
    return Budget(caps_of(config), services, {name: caps_of(caps) for name, caps in config.per_project.items()})
