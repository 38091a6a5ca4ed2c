"""Tokens of a trace, each once: those of its LLM calls, because wrappers and agents repeat what is below them.

What only a span above states counts where none of its calls states any: some agents report in sum. Of such sums inside
each other the outer counts if it is large enough to hold the inner ones; else both do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracejury.schemas.normalized import Kind, NormalizedSpan


@dataclass(frozen=True, slots=True)
class TokenSums:
    """Tokens sent and written, and the LLM calls that they are of; None where nothing states any.

    `without_usage`: those of the calls that worked and recorded none, so that the sums are partial.
    """

    input_tokens: int | None
    output_tokens: int | None
    calls: int
    without_usage: int


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call to a model: its innermost record, and the nearest record of it around that one, if any.

    `alone`: the record around it holds no other call, so that what it states is this one's.
    """

    span: NormalizedSpan
    around: NormalizedSpan | None
    alone: bool = True

    @property
    def input_tokens(self) -> int | None:
        """Tokens sent, of the inner record, else of the one around it."""
        own = self.span.input_tokens
        return self.around.input_tokens if own is None and self.around and self.alone else own

    @property
    def output_tokens(self) -> int | None:
        """Tokens written, likewise."""
        own = self.span.output_tokens
        return self.around.output_tokens if own is None and self.around and self.alone else own

    @property
    def lacks_usage(self) -> bool:
        """Whether it worked and recorded no tokens, or none of any; one that failed may have cost nothing."""
        return not (self.input_tokens or self.output_tokens or self.span.is_error or self.span.raw.pending)

    @property
    def model(self) -> str:
        """The model, likewise; "" where neither names one."""
        return self.span.model or (self.around.model if self.around else "")


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: `calls`, all LLM calls; `records`, what states the tokens: calls, and sums of several calls.

    `without_usage`: calls of which nothing states any.
    """

    calls: list[LlmCall]
    records: list[LlmCall]
    without_usage: int

    @property
    def total(self) -> TokenSums:
        """The sums of all records."""
        sent, written = (_sum(r.input_tokens for r in self.records), _sum(r.output_tokens for r in self.records))
        return TokenSums(sent, written, len(self.calls), self.without_usage)


def usage(spans: Mapping[str, NormalizedSpan]) -> Usage:
    """The usage of `spans` (parents before children, as in `Trace.spans`), each token once.

    LLM spans inside each other, with no agent or tool between them, are records of one call: the innermost counts, and
    what it does not record is taken from the one around it.
    """
    calls = _llm_calls(spans)
    several = {call.around.span_id for call in calls.values() if call.around and not call.alone}
    stating = [i for i, s in spans.items() if (s.kind is Kind.AGENT or i in several) and _states(s)]
    if not stating:
        found = list(calls.values())
        return Usage(found, found, sum(call.lacks_usage for call in found))
    sums = _sums(spans, calls, set(stating))
    within: dict[str, str] = {}  # span to the sum that it is in
    for span_id, span in spans.items():
        within[span_id] = span_id if span_id in sums else within.get(span.raw.parent_span_id, "")
    left = [call for i, call in calls.items() if not within[i] or not call.lacks_usage]
    models = {within[i]: call.span for i, call in reversed(calls.items()) if within[i]}
    records = [*left, *(LlmCall(spans[i], models.get(i)) for i in sums)]
    return Usage(list(calls.values()), records, sum(call.lacks_usage for call in left))


def sum_tokens(spans: Mapping[str, NormalizedSpan]) -> TokenSums:
    """The sums of `usage`."""
    return usage(spans).total


def _llm_calls(spans: Mapping[str, NormalizedSpan]) -> dict[str, LlmCall]:
    """The LLM calls in `spans`, each once, by the id of its innermost record."""
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
    inner = {i: around for i, around in outer.items() if i not in wraps}
    held = Counter(inner.values()) if wraps else {}
    return {i: LlmCall(spans[i], spans.get(around), held[around] == 1 or not around) for i, around in inner.items()}


def _states(span: NormalizedSpan) -> bool:
    return bool(span.input_tokens or span.output_tokens)


def _sums(spans: Mapping[str, NormalizedSpan], calls: Mapping[str, LlmCall], stating: set[str]) -> list[str]:
    """Those of the `stating` spans, parents first, that hold no call with usage and stand in no other such sum."""
    told = set[str]()
    held: dict[str, tuple[int, int]] = {}  # by span, the tokens of sums below it
    whole = set[str]()  # sums that hold all sums below them
    for span_id, span in reversed([*spans.items()]):
        call, above = calls.get(span_id), span.raw.parent_span_id
        sent, written = held.pop(span_id, (0, 0))
        if span_id in told or (call is not None and (call.input_tokens or call.output_tokens)):
            told.add(above)
        elif span_id in stating:
            own = span.input_tokens or 0, span.output_tokens or 0
            if own[0] >= sent and own[1] >= written:
                whole.add(span_id)
                sent, written = own
            else:
                sent, written = sent + own[0], written + own[1]
        if sent or written:
            before = held.get(above, (0, 0))
            held[above] = before[0] + sent, before[1] + written
    found, covered = [], set[str]()
    for span_id, span in spans.items():
        inside = span.raw.parent_span_id in covered
        if span_id in stating and span_id not in told and not inside:
            found.append(span_id)
        if inside or span_id in whole:
            covered.add(span_id)
    return found


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
