"""Which agent run each span belongs to, and which run started which: what the rules of `rebuild.py` find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tracejury.schemas.normalized import NormalizedSpan


@dataclass(frozen=True, slots=True)
class RunStart:
    """The start of a run: the parent run, its LLM call, call id and tool name; `to`: the agent it names."""

    run: str
    llm_span_id: str
    call_id: str
    name: str
    to: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    """`runs`: ids of the agent runs, parents first, with the id of the run above ("" for none).

    `owner`: span id to run id, "" for the trace's remainder. A run's own AGENT span is owned by the run itself;
    a run whose AGENT span is unknown has the id of the missing span that its spans name as parent. `twins`: run id
    to the outer AGENT span of the same run, where two instrumentations recorded it. `starts`: run id to the request
    that started it, where no span says so. `names`: run id to the name that only the tool around it tells: such a run
    has the id of that TOOL span, which is owned by the run above. `segments`: run id to the AGENT spans in which it
    went on after others had handed the conversation back to it. `inferred`: the runs that nothing but their place in
    the trace makes one, with the span that holds just this run ("" for none); `beside`: those of them whose calls the
    program made around or beside other runs.
    """

    runs: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    twins: dict[str, NormalizedSpan] = field(default_factory=dict)
    starts: dict[str, RunStart] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    segments: dict[str, list[NormalizedSpan]] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()

    def related(self, started: dict[str, RunStart], adopted: Mapping[str, str] | None = None) -> Ownership:
        """The same ownership with started runs below those that started them.

        `adopted`: id of a run to the id of the run that it is a part of, into which it is dissolved.
        """
        if not started and not adopted:
            return self
        part_of = {run: _final(run, adopted) for run in adopted} if adopted else {}
        starts = {
            run: replace(start, run=part_of.get(start.run, start.run))
            for run, start in (self.starts | started).items()
            if run not in part_of
        }
        runs = {run: part_of.get(above, above) for run, above in self.runs.items() if run not in part_of}
        runs |= {run: start.run for run, start in starts.items()}
        owner = {span: part_of.get(run, run) for span, run in self.owner.items()} if part_of else self.owner
        return replace(self, runs=parents_first(runs), owner=owner, starts=starts)


def _final(run: str, adopted: Mapping[str, str]) -> str:
    """The run that a run ends up a part of, where that one was adopted, too."""
    seen: set[str] = set()
    while run in adopted and run not in seen:
        seen.add(run)
        run = adopted[run]
    return run


def parents_first(runs: Mapping[str, str]) -> dict[str, str]:
    """The runs with those above them (see `Ownership.runs`), each after the one above it."""
    ordered: dict[str, str] = {}
    for run in runs:
        path: dict[str, None] = {}
        current = run
        while current and current not in ordered and current not in path:
            path[current] = None
            current = runs.get(current, "")
        for step in reversed(path):
            ordered[step] = runs[step]
    return ordered


def is_below(run: str, other: str, above: Mapping[str, str]) -> bool:
    """Whether `run` is `other` or was started by it: no run is a part of its own sub-agent. `above`: see `runs`."""
    seen = set()
    while run and run != other and run not in seen:
        seen.add(run)
        run = above.get(run, "")
    return run == other
