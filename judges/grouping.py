"""Errors from findings: which findings have one cause, and what each of their spans is in it.

Pure, and independent of the order in which the findings come. Two findings are of one error where

* they are about the same failed call (`tool_span_id`), or anchors of one claim (`linked`);
* they have the same class of cause in the same turn or at the same span, but for what reads an earlier failure there,
  and for calls of one turn that failed in different ways;
* one declares the place of the other as a repeat or relay (`also_at`), and both have the same class of cause. A place
  that several declare belongs to the surest of them, so that no relay joins two mistakes.

The surest leads, of those that stand where the error was made. A general rule, which holds wherever another of its
family does (`GENERAL`), gives way to one at the same span that is as sure, for that says more. A tool that failed by
itself (`OF_THE_TOOL`) leads at its own span, with its own words; who asked for the call did nothing wrong.

Findings of packs' checks change nothing of these errors, for packs are switched on and off: each is part of the surest
of them that is about the call it names, or has a cause of its dimensions at its span or in its turn. The others make
errors by the same rules among themselves. Nor does the finding that marks the decisive error: it is part of the error
that has a finding which it names, and an error by itself where there is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import LIVE, Finding

from .causes import FAILING, GENERAL, OF_THE_TOOL, cause_of, shared_causes

AS_SURE: Final = 0.05
"""Confidences that differ by no more are taken for equal; chosen by hand, not fitted."""


class Run(Protocol):
    """An agent run, as far as errors are ordered by it."""

    @property
    def id(self) -> str:
        """Its id."""


def standing_errors(findings: Iterable[Finding], runs: Iterable[Run]) -> tuple[AgentError, ...]:
    """The errors that hold in one trace, joined ones included, by place of their leads.

    `findings`: all of the trace, each id once: retracted ones make no error; `runs`: its agent runs in order. Whoever
    needs errors of a stored trace reads the table `errors`, which is made by this function.
    """
    return group((finding for finding in findings if finding.state in LIVE), [run.id for run in runs])


def with_retracted(
    errors: Sequence[AgentError], retracted: Iterable[Finding]
) -> tuple[Mapping[str, Sequence[Finding]], Sequence[AgentError]]:
    """Retracted findings by the id of the error that holds and that they were of; and the errors that are gone."""
    surest = sorted(errors, key=lambda error: (-error.confidence(), error.id))
    homes = _homes(surest)
    of: dict[str, list[Finding]] = {}
    alone: list[Finding] = []
    ranked = sorted(retracted, key=lambda f: (-f.confidence, -f.severity.rank, f.span_id, f.judge, f.id))
    for finding in ranked:
        keys = (*_calls(finding), *_spans(finding), *_turns(finding))
        home = next((homes[key] for key in keys if key in homes), None)
        (alone if home is None else of.setdefault(surest[home].id, [])).append(finding)
    return of, _grouped(alone)


def group(findings: Iterable[Finding], runs: Sequence[str]) -> tuple[AgentError, ...]:
    """The errors of one trace, joined ones included, by place of their leads.

    `findings`: those that stand, each id once; `runs`: ids of the trace's agent runs in their order, for "earliest".
    """
    place = _Place({run: number for number, run in enumerate(runs)})
    ranked = sorted(findings, key=lambda f: (-f.confidence, -f.severity.rank, *place(f)))
    errors = _grouped([f for f in ranked if not f.beside])
    of_packs = [f for f in ranked if f.of_pack and not f.marks]
    homes = _homes(errors) if of_packs else {}
    parts: dict[int, list[Finding]] = {}
    alone: list[Finding] = []
    for finding in of_packs:
        home = next((homes[key] for key in _shared(finding) if key in homes), None)
        (alone if home is None else parts.setdefault(home, [])).append(finding)
    for number, own in parts.items():
        errors[number] = _with_parts(errors[number], own)
    errors = _marked([*errors, *_grouped(alone)], [f for f in ranked if f.marks])
    return tuple(sorted(errors, key=lambda error: place(error.lead)))


def _grouped(ranked: Sequence[Finding]) -> list[AgentError]:
    """The errors of findings, the surest first."""
    steps = _Sets(len(ranked))
    for keys in (_calls, _anchors):
        steps.join((key, number) for number, f in enumerate(ranked) for key in keys(f))
    made = {steps.lowest(number) for number, f in enumerate(ranked) if not _reads(f)}
    placed = [(number, f) for number, f in enumerate(ranked) if not _reads(f) or steps.lowest(number) not in made]
    for keys in (_turns, _spans):
        steps.join((key, number) for number, f in placed for key in keys(f))
    clusters = [sorted((ranked[n] for n in members), key=_reads) for members in steps.members()]
    return [_error(own, others) for own, others in _with_repeats(clusters)]


@dataclass(frozen=True, slots=True)
class _Place:
    """The order of findings in a trace."""

    runs: dict[str, int]

    def __call__(self, finding: Finding) -> tuple[int, int, str, str, str]:
        run = self.runs.get(finding.agent_run_id, len(self.runs))
        turn = -1 if finding.turn is None else finding.turn
        return run, turn, finding.span_id, finding.judge, finding.id


class _Sets:
    """Numbers from 0 in disjoint sets, each known by its lowest number."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def lowest(self, number: int) -> int:
        """The lowest number of the set."""
        while (above := self._above[number]) != number:
            self._above[number] = self._above[above]
            number = above
        return number

    def join(self, keyed: Iterable[tuple[Hashable, int]]) -> None:
        """Join the sets of numbers that share a key."""
        first: dict[Hashable, int] = {}
        for key, number in keyed:
            low, high = sorted((self.lowest(first.setdefault(key, number)), self.lowest(number)))
            self._above[high] = low

    def members(self) -> list[list[int]]:
        """The sets in order of their lowest numbers, each in order."""
        found: dict[int, list[int]] = {}
        for number in range(len(self._above)):
            found.setdefault(self.lowest(number), []).append(number)
        return list(found.values())


def _reads(finding: Finding) -> bool:
    """Whether it stands where a failure was read: the error was made elsewhere."""
    return finding.span_id == finding.seen_by_span_id


def _calls(finding: Finding) -> Iterator[Hashable]:
    if finding.tool_span_id and cause_of(finding) in FAILING:
        yield finding.trace_id, finding.tool_span_id


def _anchors(finding: Finding) -> Iterator[Hashable]:
    yield finding.id
    yield from finding.linked


def _turns(finding: Finding) -> Iterator[Hashable]:
    if finding.turn is not None:
        # What one call of several showed is of another mistake than what another showed in another way.
        shown = finding.judge if finding.span_id == finding.tool_span_id and cause_of(finding) in FAILING else ""
        yield finding.trace_id, finding.agent_run_id, finding.turn, cause_of(finding), shown


def _spans(finding: Finding) -> Iterator[Hashable]:
    yield finding.trace_id, finding.span_id, cause_of(finding)


def _homes(errors: Sequence[AgentError]) -> dict[Hashable, int]:
    """Numbers of the errors that stand, by what a pack's finding may share with them; `errors` surest first."""
    homes: dict[Hashable, int] = {}
    for number, error in enumerate(errors):
        placed = (f for f in error.findings if not _reads(f) or _reads(error.lead))
        for finding in placed if error.state in LIVE else ():
            for key in (*_calls(finding), *_spans(finding), *_turns(finding)):
                homes.setdefault(key, number)
    return homes


def _shared(finding: Finding) -> Iterator[Hashable]:
    """What a pack's finding may share with an error of others, in the forms of `_calls`, `_spans` and `_turns`."""
    causes = shared_causes(finding)
    if finding.tool_span_id:
        yield finding.trace_id, finding.tool_span_id
    yield from ((finding.trace_id, finding.span_id, cause) for cause in causes)
    if finding.turn is not None:
        yield from ((finding.trace_id, finding.agent_run_id, finding.turn, cause, "") for cause in causes)


def _with_parts(error: AgentError, parts: Sequence[Finding]) -> AgentError:
    """The error with findings of packs as its last; spans that it does not name yet come last, too."""
    further = dict.fromkeys((*error.repeated_at, *(f.span_id for f in parts if f.span_id not in error.spans)))
    return replace(error, findings=(*error.findings, *parts), repeated_at=tuple(further))


def _marked(errors: Sequence[AgentError], marks: Sequence[Finding]) -> list[AgentError]:
    """The errors with the findings that mark them as their last, and those that mark none of them."""
    home = {finding.id: number for number, error in enumerate(errors) for finding in error.findings}
    found, alone = list(errors), []
    for mark in marks:
        number = next((home[i] for i in mark.linked if i in home), None)
        if number is None:
            alone.append(mark)
        else:
            found[number] = replace(found[number], findings=(*found[number].findings, mark))
    return [*found, *_grouped(alone)]


def _with_repeats(clusters: Sequence[Sequence[Finding]]) -> Iterator[tuple[Sequence[Finding], list[Finding]]]:
    """Each cluster that repeats no other, with the findings of those that repeat it; `clusters` surest first."""
    places: dict[Hashable, list[int]] = {}
    for number, own in enumerate(clusters):
        for finding in own:
            places.setdefault((finding.span_id, cause_of(own[0])), []).append(number)
    repeats = _Sets(len(clusters))
    owned: set[int] = set()
    for number, own in enumerate(clusters):
        for span_id in (span_id for finding in own for span_id in finding.also_at):
            for other in places.get((span_id, cause_of(own[0])), ()):
                if other not in owned and repeats.lowest(other) != repeats.lowest(number):
                    owned.add(other)
                    repeats.join(((0, number), (0, other)))
    for members in repeats.members():
        first = next((n for n in members if n not in owned), members[0])
        yield clusters[first], [finding for n in members if n != first for finding in clusters[n]]


def _error(own: Sequence[Finding], others: Iterable[Finding]) -> AgentError:
    lead, repeated = _lead(own), list(others)
    shown = next((f.tool_span_id for f in own if f.tool_span_id not in ("", lead.span_id)), "")
    told = {lead.span_id, shown, ""}
    read = next((f.seen_by_span_id for f in own if f.seen_by_span_id not in told), "")
    named = [f.span_id for f in own] + [i for f in own for i in (f.tool_span_id, f.seen_by_span_id, *f.also_at)]
    named += [i for f in repeated for i in (f.span_id, f.tool_span_id, f.seen_by_span_id, *f.also_at)]
    further = dict.fromkeys(i for i in named if i not in {*told, read})
    findings = (lead, *(f for f in own if f is not lead), *repeated)
    return AgentError(cause_of(lead), findings, shown_at=shown, read_at=read, repeated_at=tuple(further))


def _lead(own: Sequence[Finding]) -> Finding:
    """The surest, or one that says more at its span, or at the tool that failed by itself; `own`: surest first."""
    surest = own[0]
    if surest.judge in OF_THE_TOOL:
        at_tool = ((f.judge, f.span_id) == (OF_THE_TOOL[surest.judge], surest.tool_span_id) for f in own)
        return next((f for f, holds in zip(own, at_tool, strict=True) if holds), surest)
    if surest.judge not in GENERAL:
        return surest
    least, place = surest.confidence - AS_SURE, (surest.span_id, cause_of(surest))
    more = (f for f in own[1:] if (f.span_id, cause_of(f)) == place and f.confidence >= least)
    return next(more, surest)
