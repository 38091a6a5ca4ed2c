"""The calls of a case, their order, and what is made of the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tracejury.judges.llm.case import Deliberating, Deliberation
from tracejury.judges.llm.client import Reply
from tracejury.judges.llm.conversation import Asking, ask, together
from tracejury.judges.llm.identity import ordered
from tracejury.judges.llm.record import Part
from tracejury.judges.llm.ruling import NO_CONTENT, captured
from tracejury.schemas.transcript import Chapter

from .case import AskedCheck, CheckCase
from .grounding import Grounds
from .how_asked import HowAsked
from .prompt import check_prompt
from .questions import Call, Reading, readings
from .reply import CheckReply, read
from .tally import CheckTally
from .vote import least_runs, undecided, voted


def judge_checks(case: CheckCase, how: HowAsked, chapters: Sequence[Chapter] = ()) -> Deliberating:
    """Judge a subject by its checks. `chapters`: the parts in which the record is read, none for all at once.

    One verdict a check, and the findings that passed the gate (of `also`, too). A check without items, or without
    captured content, is not applicable without a call; one whose answers are of no use after a repair is unscored.
    All is asked as often as the check with the most `runs` says.

    Raises:
        OverBudgetError, RetryableError, PromptTooLongError: as they came.
        KeyError: a check has no formula or no version.
    """
    runs = max((asked.check.runs for asked in case.checks), default=1)
    benches = [_Bench(case, replace(how, repeat=how.repeat * runs + number), tuple(chapters)) for number in range(runs)]
    sure = least_runs(runs) if how.early_stop else runs
    yield from together([asking for bench in benches[:sure] for asking in bench.conversations()])
    while sure < runs and any(
        undecided(a.check, [b.tallies[a.check.name] for b in benches[:sure]]) for a in case.checks
    ):
        yield from together(benches[sure].conversations())
        sure += 1
    return _deliberation(case, how, benches[:sure])


@dataclass(slots=True)
class _Bench:
    case: CheckCase
    how: HowAsked
    chapters: Sequence[Chapter]
    tallies: Mapping[str, CheckTally] = field(init=False)
    grounds: Grounds = field(init=False)
    replies: list[Reply] = field(default_factory=list)
    unsound: int = 0

    def __post_init__(self) -> None:
        self.tallies = {asked.check.name: CheckTally(asked) for asked in self.case.checks}
        self.grounds = Grounds(self.case)

    def conversations(self) -> list[Asking[None]]:
        """All that is asked; what needs no call is decided at once."""
        recorded = has_content(self.case)
        checks: list[AskedCheck] = []
        for tally in self.tallies.values():
            asked = tally.asked
            if not asked.check.asks:
                tally.unasked = asked.unanswered
                found = (self.grounds.by_structure(asked, answer) for answer in asked.answers)
                tally.found += [finding for finding in found if finding is not None]
            elif not recorded:
                tally.unasked = NO_CONTENT
            elif asked.items or (asked.check.items.lists and self.case.answered):
                checks.append(asked)
            else:
                tally.unasked = asked.unanswered or ("no answer" if asked.check.items.lists else "")
        return [self._read(r) for r in readings(self.case, checks, self.how.mode, self.chapters)]

    def _read(self, reading: Reading) -> Asking[None]:
        """Calls that follow one another, each with the notes of the one before."""
        notes = ""
        for at, (number, call) in enumerate(reading):
            asked = tuple(q for q in call if not self.tallies[q.asked.check.name].failure)
            if asked:
                notes = yield from self._ask(asked, number, notes, more=at + 1 < len(reading))

    def _ask(self, call: Call, number: int, notes: str, *, more: bool) -> Asking[str]:
        """One call; what its answer notes for the next."""
        count = len(self.chapters)
        part = Part(self.chapters[number], number + 1, count, notes) if count > 1 else None
        prompt = check_prompt(self.case, self.how, call, part, notes=more)
        said = yield from ask(prompt, partial(read, call=call), lambda reply: reply.lacks)
        self.replies += said.replies
        for question in call:
            tally = self.tallies[question.asked.check.name]
            tally.model = said.replies[-1].model if said.replies else tally.model
            tally.failure = tally.failure or (said.failure if said.answer is None else "")
        if said.answer is None:
            return ""
        self._take(call, said.answer)
        return said.answer.summary

    def _take(self, call: Call, reply: CheckReply) -> None:
        self.unsound += reply.unsound
        for question in call:
            asked = question.asked
            name = asked.check.name
            tally = self.tallies[name]
            if name in reply.unscored:
                tally.failure = reply.unscored[name]
                continue
            tally.beyond += reply.beyond.get(name, 0)
            for said in reply.answers.get(name, ()):
                if grounded := self.grounds.answer(asked, said):
                    tally.take(said, grounded)
            found = (self.grounds.also(asked, said) for said in reply.also.get(name, ()))
            tally.found += [finding for finding in found if finding is not None]


def _deliberation(case: CheckCase, how: HowAsked, benches: Sequence[_Bench]) -> Deliberation:
    """The answer to the case by all runs."""
    tallies = [voted([bench.tallies[asked.check.name] for bench in benches]) for asked in case.checks]
    dropped = sum((bench.grounds.dropped for bench in benches), Counter[str]())
    dropped["unsound"] += sum(bench.unsound for bench in benches)
    replies = [reply for bench in benches for reply in bench.replies]
    spans = {i: span for trace in case.traces.values() for i, span in trace.spans.items()}
    findings = ordered(spans, (finding for tally in tallies for finding in tally.findings))
    unquoted = {name for bench in benches for name in +bench.grounds.unquoted} - {f.judge for f in findings}
    verdicts = (tally.verdict(case, how) for tally in tallies)
    return Deliberation(
        verdicts=tuple(replace(v, quote_dropped=v.judge in unquoted) for v in verdicts),
        findings=findings,
        failures={tally.asked.check.name: tally.failure for tally in tallies if tally.failure},
        dropped=dict(+dropped),
        known=bool(replies) and all(reply.known for reply in replies),
        models=tuple(dict.fromkeys(reply.model for reply in replies)),
    )


def has_content(case: CheckCase) -> bool:
    """Whether anything that was said or done in the subject was recorded, beyond names and times."""
    exchanges = [case.judged] if case.judged else case.record.exchanges
    for recorded in exchanges:
        trace = case.traces.get(recorded.trace_id)
        run = trace.run(recorded.exchange.run_id) if trace else None
        if recorded.exchange.asked or recorded.exchange.answer or (run is not None and captured(run)):
            return True
    return False
