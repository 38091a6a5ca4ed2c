"""Items of checks and their answers: what a judge was asked about one by one, and what it said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One thing that a check asks about: a state, a call, a policy.

    `text`: what it is, in one line. `label`: the record's step that it stands at ("E1.S3"), "" where it stands nowhere,
    as a policy does; `trace_id` and `span_id`: of that step, "" likewise.
    """

    text: str
    label: str = ""
    trace_id: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """The answer to one item, in a word of the check's scale; a number where the item is one beside the others.

    `best`: whether it is the scale's best; then `quote` may be "". Below the best, `label`, `trace_id` and `span_id`
    say where it went wrong and `quote` stands there; of a check that needs no quote, where the answer shows, also the
    best. `grounded`: False where no quote could be verified. Of an item that was asked about several times, `runs`: how
    many of the replies were of use, `yes`: how many of these gave the best answer; 0 where it was asked about once.
    `denied_…`: where others of them say that it went wrong, if the best answer won.
    """

    item: str
    answer: str
    best: bool
    reason: str = ""
    label: str = ""
    trace_id: str = ""
    span_id: str = ""
    quote: str = ""
    grounded: bool = True
    yes: int = 0
    runs: int = 0
    denied_trace_id: str = ""
    denied_span_id: str = ""
    denied_quote: str = ""

    @property
    def share(self) -> float:
        """The share of its replies of use that gave the best answer."""
        return self.yes / self.runs if self.runs else float(self.best)
