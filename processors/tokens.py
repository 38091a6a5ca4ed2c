"""Tokens of a trace: LLM leaves only, because wrappers and agents repeat what is below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..schemas.normalized import Kind, NormalizedSpan


@dataclass(frozen=True, slots=True)
class TokenSums:
    """Tokens sent and written, and the LLM calls that they are of; None where no call recorded any."""

    input_tokens: int | None
    output_tokens: int | None
    calls: int


def sum_tokens(spans: Mapping[str, NormalizedSpan]) -> TokenSums:
    """Sums over the LLM calls in `spans` (parents before children, as in `Trace.spans`).

    Of LLM spans inside each other, records of one call, the innermost counts; what it does not record is taken from
    the one around it.
    """
    nearest: dict[str, str] = {}
    outer: dict[str, str] = {}
    wraps: set[str] = set()
    for span_id, span in spans.items():
        above = nearest.get(span.raw.parent_span_id, "")
        if span.kind is Kind.LLM:
            outer[span_id] = above
            wraps.add(above)
            above = span_id
        elif span.kind in (Kind.AGENT, Kind.TOOL):  # what they call is not the call around them
            above = ""
        nearest[span_id] = above
    leaves = [spans[i] for i in outer if i not in wraps]
    counts = [_counts(leaf, outer, spans) for leaf in leaves]
    return TokenSums(_sum(i for i, _ in counts), _sum(o for _, o in counts), len(leaves))


def _counts(
    leaf: NormalizedSpan, outer: Mapping[str, str], spans: Mapping[str, NormalizedSpan]
) -> tuple[int | None, int | None]:
    around = outer[leaf.raw.span_id]
    sent, written = leaf.input_tokens, leaf.output_tokens
    if around:
        wrapper = spans[around]
        sent = wrapper.input_tokens if sent is None else sent
        written = wrapper.output_tokens if written is None else written
    return sent, written


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
