"""The costs of a trace's agents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tracejury.processors.cached_tokens import TokenKinds, token_kinds
from tracejury.processors.costs import stated_usd
from tracejury.processors.normalize.values import first
from tracejury.processors.operations import CallSpend, operations
from tracejury.processors.tokens import LlmCall, usage
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import TraceSpend

from .table import PriceTable

_PROVIDER: Final = ("gen_ai.provider.name", "llm.provider", "gen_ai.system", "ai.model.provider", "llm.system")
_MOST_TOKENS: Final = 2**63 - 1


class SpentBy:
    """Says what a trace's own LLM calls took, each counted once. Callable from any thread."""

    def __init__(self, prices: PriceTable) -> None:
        self._prices = prices

    def __call__(self, trace: Trace) -> TraceSpend:
        """Tokens, and US dollars: as the spans state them, else by the price of the model; each operation's, too.

        None where no call recorded any; the dollars also where a call recorded tokens of unknown price, since the rest
        would pass for the whole. The operations of a trace that shows under another one are shown there.
        """
        used = usage(trace.spans)
        sums = used.total
        spends = list(map(self._spend, used.records))
        tokens = _count(sums.input_tokens), _count(sums.output_tokens)
        ran = None if trace.joined_to else operations(trace, used.calls, spends)
        return TraceSpend(*tokens, _usd(spends), sums.without_usage, ran)

    def _spend(self, call: LlmCall) -> CallSpend:
        kinds = token_kinds(call)
        return CallSpend(call, kinds, self._price(call, kinds))

    def price_of_span(self, span: NormalizedSpan) -> float | None:
        """US dollars of the call that a span records by itself; None where they are not known."""
        return self._spend(LlmCall(span, None)).usd

    def _price(self, call: LlmCall, kinds: TokenKinds) -> float | None:
        # A stated nothing is what instrumentation writes of a model that it has no price for.
        if stated := stated_usd(call):
            return stated
        if call.input_tokens is None and call.output_tokens is None:
            return None
        price = self._prices.price(call.model, first(call.span.raw.attributes, *_PROVIDER))
        if price is None:
            return None
        read = kinds.fresh + kinds.cache_read + kinds.cache_written
        return price.of(read, kinds.output, kinds.cache_read, kinds.cache_written)


def _usd(spends: Sequence[CallSpend]) -> float | None:
    if any(spend.usd is None and spend.states_usage for spend in spends):
        return None
    amounts = [spend.usd for spend in spends if spend.usd is not None]
    whole = math.fsum(amounts) if amounts else math.nan
    return whole if math.isfinite(whole) else None


def _count(tokens: int | None) -> int | None:
    """A count that a column holds, whatever a span says."""
    return None if tokens is None else min(max(tokens, 0), _MOST_TOKENS)
