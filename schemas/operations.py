"""Operations of a trace that latency, tokens, cost and failures are counted from, one row each in `traces`."""

from __future__ import annotations

from typing import Final, NamedTuple

USAGE: Final = "usage"
"""The kind of tokens that an agent states in sum: its LLM calls state none."""

UNKNOWN: Final = -1
"""The duration of what has not ended, or was not timed."""


class Operation(NamedTuple):
    """An agent run, an LLM call or a tool call (`kind`: a `PerformanceUnit`), or `USAGE`.

    `model`: of a run, that answered most of its calls; of a tool call, that asked for it; `prompt` likewise. `nanos`:
    its duration, or `UNKNOWN`. `input_tokens` include those that were read from the provider's cache
    (`cached_tokens`) and those written to it. `usd`: US dollars, 0 where not known; `unpriced`: LLM calls whose price
    is not known. A run has the sums of its own LLM calls, without those of its sub-agents.
    """

    kind: str
    agent: str
    model: str
    tool: str
    prompt: str
    nanos: int
    failed: bool
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float
    unpriced: int
