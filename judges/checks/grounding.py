"""The evidence gate for checks: an answer below the best, or a report beside the items, needs a quote that stands.

A session's calls are sent what was said before, so that one text stands in many spans. The record shows it once: where
a quote is looked for, it stands at the step that shows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tracejury.judges.llm import leniency
from tracejury.judges.llm.placing import ClaimLocation, QuotePlacer, provisional_finding
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.findings import Finding
from tracejury.schemas.shown import folded
from tracejury.schemas.transcript import Step, StepKind

from .case import AskedCheck, CheckCase
from .markup import Unmarked
from .reply import AlsoSaid, Said

_LABEL: Final = re.compile(r"(?:(?<![a-z0-9])e(\d{1,6})[\s.:/-]{0,2})?(?<![a-z])s(\d{1,6})(?!\d)", re.IGNORECASE)
_MOST_LABELS: Final = 20
_LEAST: Final = 8
"""Letters of a quote that is looked for without its markup; shorter ones stand anywhere by chance."""


class Grounded(NamedTuple):
    """An answer, and its finding where it is one. `named`: its place is a step at which its own quote stands."""

    answer: ItemAnswer
    finding: Finding | None = None
    named: bool = False


class Grounds:
    """Places the answers about one subject; nothing is found outside the subject's steps.

    `dropped`: answers and reports by why they are no findings: "no-evidence" (the quote stands nowhere),
    "not-in-answer" (a listed item that the answer does not mention). `unquoted`: the former by check.
    """

    def __init__(self, case: CheckCase) -> None:
        self.dropped: Counter[str] = Counter()
        self.unquoted: Counter[str] = Counter()
        self._case = case
        self._placer = QuotePlacer(case.traces)
        self._steps = [step for step in case.steps if self._placer.known(step)]
        self._labels = {step.label: step for step in self._steps}
        self._texts: list[str] = []
        self._unmarked: dict[str, Unmarked] = {}

    def answer(self, asked: AskedCheck, said: Said) -> Grounded | None:
        """The answer to one item, with its finding where it is below the best; None for a listed item that is none.

        What may still be achieved, as `best` settles it, is found at the close of its session.
        """
        item = self._listed(said.mention) if said.position is None else asked.items[said.position]
        if item is None:
            self.dropped["not-in-answer"] += 1
            return None
        given = ItemAnswer(
            item=item.text,
            answer=said.answer,
            best=said.answer == asked.check.answers[0],
            reason=said.reason,
            label=item.label,
            trace_id=item.trace_id,
            span_id=item.span_id,
        )
        check = asked.check
        if given.best and check.quoted:
            return Grounded(given)
        said = replace(said, quote=self._recorded(said.quote, item.label or said.label))
        placed = self._place(item, said) if said.reason else None
        named = placed is not None
        if placed is None and not check.quoted:
            placed = self._at_answer()
        if placed is None and given.best:
            return Grounded(given)
        if placed is None:
            self._drop(asked)
            return Grounded(replace(given, grounded=False))
        if given.best or not check.reports or check.settles == "best":
            return Grounded(at(given, placed), None, named)
        category, severity, confidence, title = check.told(given)
        rule = item.text if check.items.rules and not item.label and check.quoted else ""
        found = self._finding(asked, placed, category, said.reason, title or _title(category, rule))
        return Grounded(at(given, placed), replace(found, severity=severity, confidence=confidence), named)

    def by_structure(self, asked: AskedCheck, answer: ItemAnswer) -> Finding | None:
        """The finding of an answer that is known; None for the best in all runs, or where nothing can be quoted.

        Where runs of the question differ, its confidence is the share of the check's that is below the best, and its
        place is that of these runs.
        """
        if answer.share == 1:
            return None
        if answer.denied_span_id:
            trace_id, span_id, quote = answer.denied_trace_id, answer.denied_span_id, answer.denied_quote
            answer = replace(answer, trace_id=trace_id, span_id=span_id, quote=quote)
        step, anywhere = self._answered_at(answer), asked.check.items.anywhere
        if step is None and anywhere:
            step = Step("", StepKind.TOOL, answer.span_id, 0, "", "", answer.trace_id)
        placed = self._placer.at(step, answer.quote) if step else None
        if placed is None and step and (anywhere or not asked.check.quoted) and self._placer.known(step):
            placed = self._placer.told(step)
        if placed is None:
            return None
        category, severity, confidence, title = asked.check.told(answer)
        found = self._finding(asked, placed, category, answer.reason, title or _title(category))
        return replace(found, severity=severity, confidence=confidence * (1 - answer.share))

    def also(self, asked: AskedCheck, said: AlsoSaid) -> Finding | None:
        """The finding of a report beside the items."""
        said = replace(said, quote=self._recorded(said.quote, said.label))
        placed = self._standing(said, self._steps)
        if placed is None:
            self._drop(asked)
            return None
        return self._finding(asked, placed, said.category, said.reason, _title(said.category))

    def _place(self, item: CheckItem, said: Said) -> ClaimLocation | None:
        """Where an item is at fault: at its own step; without one, where the quote stands.

        A listed item is at fault by its own words in the answer; what proves it may stand at any step.
        """
        step = self._labels.get(item.label)
        if step and said.position is not None:
            return self._at(step, said.quote)
        if step is None:
            return None if item.label else self._standing(said, self._steps)
        proof = self._at(step, said.quote)
        proven = proof or any(self._placer.at(s, said.quote) for s in self._showing(said.quote))
        return (self._placer.at(step, item.text) or proof) if proven else None

    def _standing(self, said: Said | AlsoSaid, steps: Sequence[Step]) -> ClaimLocation | None:
        """Where a quote stands among these steps: at a step that was named, or the only one."""
        if not said.quote:
            return None
        # A quote with gaps is shown nowhere as it stands.
        shown = {step.label for step in self._showing(said.quote)}
        possible = [step for step in steps if step.label in shown] if shown else steps
        named = [step for step in self._named(said.label) if step in possible]
        placed = self._placer.place(said.quote, named, possible)
        return placed or next((self._placer.told(step) for step in named if _shows(step, said.quote)), None)

    def _at(self, step: Step, quote: str) -> ClaimLocation | None:
        """Where a quote stands at a step that records it, or shows it from other spans, as what the user asked."""
        return self._placer.at(step, quote) or (self._placer.told(step) if _shows(step, quote) else None)

    def _showing(self, quote: str) -> list[Step]:
        """The steps of the whole record that show the quote."""
        steps = self._case.record.transcript.steps
        self._texts = self._texts or [folded(step.text) for step in steps]
        wanted = folded(quote)
        return [step for step, text in zip(steps, self._texts, strict=True) if wanted and wanted in text]

    def _recorded(self, quote: str, label: str) -> str:
        """The quote with the markup that was left out of it, by the step that the label names, else by any other."""
        if self._showing(quote):
            return quote
        for step in dict.fromkeys([*self._named(label), *self._case.record.transcript.steps]):
            text = self._unmarked.get(step.label) or self._unmarked.setdefault(step.label, Unmarked(step.text))
            if found := text.find(quote, _LEAST):
                return found
        return quote

    def _at_answer(self) -> ClaimLocation | None:
        """Where something is at fault that was not done: at the last answer of the subject, else at its last step."""
        exchange = self._case.judged or self._case.record.exchanges[-1]
        step = self._labels.get(exchange.answered) or next(reversed(self._steps), None)
        return self._placer.told(step) if step else None

    def _answered_at(self, answer: ItemAnswer) -> Step | None:
        """The step of an answer; where labels have moved on, as an earlier trace came late, the one of its span."""
        step = self._labels.get(answer.label)
        if not (answer.label and answer.span_id) or (step and step.span_id == answer.span_id):
            return step
        at = (answer.trace_id, answer.span_id)
        return next((s for s in self._steps if (self._case.traces[s.trace_id].home(s.span_id), s.span_id) == at), None)

    def _drop(self, asked: AskedCheck) -> None:
        self.dropped["no-evidence"] += 1
        self.unquoted[asked.check.name] += 1

    def _listed(self, mention: str) -> CheckItem | None:
        """A listed item, if the answer mentions it."""
        step = self._labels.get(self._case.answered)
        answer = self._case.judged.exchange.answer if self._case.judged else ""
        said = folded(mention)
        words = mention if said and said in folded(answer) else Unmarked(answer).find(mention)
        return CheckItem(words, step.label, step.trace_id, step.span_id) if step and words else None

    def _named(self, label: str) -> list[Step]:
        """The steps that a label names, in any spelling; without its exchange only where one step can be meant."""
        found: list[Step] = []
        exchange = ""
        for match in list(_LABEL.finditer(label))[:_MOST_LABELS]:
            exchange = match[1] or exchange
            name = f"S{int(match[2])}"
            if exchange:
                steps = [self._labels.get(f"E{int(exchange)}.{name}")]
            else:
                steps = [s for full, s in self._labels.items() if full.rpartition(".")[2] == name]
            found += [step for step in steps if step is not None and len(steps) == 1]
        return found

    def _finding(self, asked: AskedCheck, placed: ClaimLocation, category: str, reason: str, title: str) -> Finding:
        check, stand = asked.check, replace(placed, run_id=placed.run_id or self._run(placed.label))
        return provisional_finding(
            stand,
            check.name,
            asked.pack,
            category,
            dimensions=(check.dimension,) if check.dimension else (),
            severity=check.severity,
            confidence=check.confidence,
            explanation=reason,
            tool_span_id=placed.span_id if check.items.calls else "",
            title=title,
        )

    def _run(self, label: str) -> str:
        """The run of the exchange that a step of no run was recorded with."""
        at_label = next((i for i, step in enumerate(self._case.record.transcript.steps) if step.label == label), -1)
        return next((e.exchange.run_id for e in self._case.record.exchanges if e.first <= at_label < e.last), "")


def _title(category: str, rule: str = "") -> str:
    """The category as people write it, with the policy or criterion that it is about."""
    told = category[:1].upper() + category[1:]
    return leniency.title(f"{told}: {rule}") if rule else told


def _shows(step: Step, quote: str) -> bool:
    """Whether a step (`known`) shows the quote in its recorded lines, which are indented."""
    wanted = folded(quote)
    return bool(wanted) and wanted in folded("\n".join(line for line in step.text.split("\n") if line[:1] == " "))


def at(answer: ItemAnswer, placed: ClaimLocation) -> ItemAnswer:
    """The answer with the place where it went wrong."""
    home = placed.trace.home(placed.span_id)
    return replace(answer, label=placed.label, trace_id=home, span_id=placed.span_id, quote=placed.evidence)
