"""Runs that two data sets have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from tracejury.schemas.normalized import Kind
from tracejury.schemas.trajectory import Trace

LEAST = 100
"""Characters of a reply that no two runs are taken to write alike."""


@dataclass(frozen=True, slots=True)
class DataSetOverlap:
    """`traces`, names of traces of `first`, are recordings of runs that `second` holds, too."""

    first: str
    second: str
    traces: tuple[str, ...]

    @property
    def pair(self) -> frozenset[str]:
        """Both names."""
        return frozenset({self.first, self.second})


def marks(trace: Trace) -> frozenset[str]:
    """By these the recording of a run is known again: its trace ids, and the longest text that a model wrote in it."""
    replies = (" ".join(s.output.split()) for s in trace.spans.values() if s.kind is Kind.LLM)
    longest = max(replies, key=lambda reply: (len(reply), reply), default="")
    digest = hashlib.blake2b(longest.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return frozenset([*trace.trace_ids, *([f"reply {digest}"] if len(longest) >= LEAST else [])])


def overlaps(data_sets: Mapping[str, Mapping[str, frozenset[str]]]) -> tuple[DataSetOverlap, ...]:
    """Pairs of data sets with runs in common; `data_sets`: the marks of each trace, by data set and name."""
    everything = {name: frozenset[str]().union(*traces.values()) for name, traces in data_sets.items()}
    found = (
        DataSetOverlap(a, b, tuple(name for name, own in data_sets[a].items() if own & everything[b]))
        for a, b in combinations(data_sets, 2)
    )
    return tuple(overlap for overlap in found if overlap.traces)
