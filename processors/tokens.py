"""Tokens of a trace: LLM leaves only, because wrappers and agents repeat what is below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .doubles import goes_on_from


@dataclass(frozen=True, slots=True)
class TokenSums:
    """Tokens sent and written, and the LLM calls that they are of; None where no call recorded any.

    `without_usage`: those of the calls that worked and recorded none, so that the sums are partial.
    """

    input_tokens: int | None
    output_tokens: int | None
    calls: int
    without_usage: int


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call to a model: its innermost record, and the nearest record of it around that one, if any."""

    span: NormalizedSpan
    around: NormalizedSpan | None

    @property
    def input_tokens(self) -> int | None:
        """Tokens sent, of the inner record, else of the one around it."""
        own = self.span.input_tokens
        return self.around.input_tokens if own is None and self.around else own

    @property
    def output_tokens(self) -> int | None:
        """Tokens written, likewise."""
        own = self.span.output_tokens
        return self.around.output_tokens if own is None and self.around else own

    @property
    def lacks_usage(self) -> bool:
        """Whether it worked and recorded no tokens, or none of any; one that failed may have cost nothing."""
        return not (self.input_tokens or self.output_tokens or self.span.is_error or self.span.raw.pending)

    @property
    def model(self) -> str:
        """The model, likewise; "" where neither names one."""
        return self.span.model or (self.around.model if self.around else "")


def llm_calls(spans: Mapping[str, NormalizedSpan]) -> list[LlmCall]:
    """The LLM calls in `spans` (parents before children, as in `Trace.spans`), each once.

    LLM spans inside each other, with no agent or tool between them, are records of one call.
    """
    nearest: dict[str, str] = {}
    outer: dict[str, str] = {}
    wraps: set[str] = set()
    for span_id, span in spans.items():
        above = nearest.get(span.raw.parent_span_id, "")
        if span.kind is Kind.LLM:
            if above and goes_on_from(spans[above], span):
                above = ""
            outer[span_id] = above
            wraps.add(above)
            above = span_id
        elif span.kind in (Kind.AGENT, Kind.TOOL):  # what they call is not the call around them
            above = ""
        nearest[span_id] = above
    return [LlmCall(spans[i], spans.get(around)) for i, around in outer.items() if i not in wraps]


def sum_tokens(spans: Mapping[str, NormalizedSpan]) -> TokenSums:
    """Sums over the LLM calls in `spans` (parents before children, as in `Trace.spans`).

    Of LLM spans inside each other, records of one call, the innermost counts; what it does not record is taken from
    the one around it.
    """
    return total(llm_calls(spans))


def total(calls: Iterable[LlmCall]) -> TokenSums:
    """The sums of these calls."""
    calls = list(calls)
    without = sum(call.lacks_usage for call in calls)
    return TokenSums(_sum(c.input_tokens for c in calls), _sum(c.output_tokens for c in calls), len(calls), without)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
