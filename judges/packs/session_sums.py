"""What a session's verdicts are made of: verdicts on its exchanges, answers at its close, measures over both. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.settling import SettledItems, settled_items
from tracejury.judges.checks.verdict import verdict_of
from tracejury.judges.llm.case import Deliberation
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import SessionRecord
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

from .pack_types import Pack

_NEVER: Final = "no exchange could be scored"


@dataclass(slots=True)
class SessionSums:
    """Sums up one session. `verdicts`: all in its traces; `left_out`: number of earlier traces that are not read.

    `most`: exchanges of its task, None for any number; what comes later settles nothing.
    """

    subject: Subject
    record: SessionRecord
    verdicts: Iterable[Verdict]
    versions: Mapping[str, str]
    probability: float
    left_out: int = 0
    most: int | None = None
    _said: dict[str, list[Verdict | None]] = field(init=False)
    _settled: dict[str, SettledItems] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = {(one.trace_id, one.exchange.id): number for number, one in enumerate(self.record.exchanges)}
        self._said = {}
        for verdict in self.verdicts:
            number = places.get((verdict.subject.trace_id, verdict.subject.id))
            if number is not None and verdict.subject.kind is SubjectKind.EXCHANGE:
                self._said.setdefault(verdict.judge, [None] * len(places))[number] = verdict

    def settle(self, asked: AskedCheck) -> AskedCheck:
        """A check whose items settle, with those that are still to be asked about at the close."""
        check = asked.check
        said = self._of(check)
        self._settled[check.name] = settled = settled_items(check, asked.items, said[: self.most])
        if self.most is None or len(said) <= self.most:
            return replace(asked, items=settled.left)
        # The record of the close shows what came later: nothing is asked of it.
        never = asked.items and not settled.answers
        return replace(asked, items=(), unanswered=_NEVER if never else "")

    def complete(
        self,
        said: Deliberation,
        checks: Mapping[str, tuple[Pack, Check]],
        found: Sequence[Finding],
        ground: Callable[[AskedCheck, ItemAnswer], Finding | None],
    ) -> Deliberation:
        """The answers at the close with those of exchanges, a verdict a check. `found`: all findings in its traces.

        `ground`: the finding of an answer that a run of its question has below the best: what may still be achieved is
        no error before the close.
        """
        verdicts = {verdict.judge: self._with_settled(*checks[verdict.judge], verdict) for verdict in said.verdicts}
        summed = {name: self._sum(*of) for name, of in checks.items() if of[1].subject == "exchange"}
        verdicts |= summed
        failed = {name: one.unscored_reason for name, one in verdicts.items() if one.unscored_reason}
        failed |= {name: why for name, why in said.failures.items() if name not in verdicts}
        findings = [*said.findings]
        entries: dict[str, list[Sequence[ItemAnswer]]] = {}
        for name, (pack, check) in checks.items():
            if check.of:
                continue
            if name in summed:
                entries[name] = [v.items if v and not v.unscored_reason else () for v in self._of(check)]
            elif name in self._settled and name in verdicts:
                final = verdicts[name].items
                entries[name] = self._settled[name].entries(self.most, final)
                known = {finding.id for finding in findings}
                findings += [f for f in self._standing(pack, check, final, found, ground) if f.id not in known]
            else:
                entries[name] = [verdicts[name].items if name in verdicts else ()]
        failures = {name: "its checks are unscored" for name, (_, c) in checks.items() if {*c.of} & {*failed}}
        for name, (pack, check) in checks.items():
            if check.of:
                parts = [] if name in failures else [entries[of] for of in check.of]
                verdicts[name] = self._measure(pack, check, parts, failures.get(name, ""))
        ordered = (verdicts[name] for name in checks if name in verdicts)
        return replace(said, verdicts=tuple(ordered), findings=tuple(findings), failures={**failed, **failures})

    def outcome(self, said: Deliberation, pack: Pack, check: Check) -> ItemAnswer | None:
        """What a check says of whether the task was done: its first answer below the best, else its first.

        By its majority: how many of its runs say so is no matter of the task.
        """
        verdict = next((self._with_settled(pack, check, v) for v in said.verdicts if v.judge == check.name), None)
        items = verdict.items if verdict else ()
        first = next((one for one in items if not one.best), items[0] if items else None)
        return first and replace(first, yes=0, runs=0)

    def _standing(
        self,
        pack: Pack,
        check: Check,
        final: Sequence[ItemAnswer],
        found: Sequence[Finding],
        ground: Callable[[AskedCheck, ItemAnswer], Finding | None],
    ) -> Iterator[Finding]:
        """The findings of settled items: those made in exchanges, or those that are made only now."""
        if check.settles == "best":
            asked = AskedCheck(check, pack=pack.name)
            yield from filter(None, (ground(asked, one) for one in final if one.grounded and check.reports))
            return
        places = {(answer.span_id, answer.quote) for answer in final if not answer.best}
        yield from (f for f in found if f.judge == check.name and (f.span_id, f.evidence) in places)

    def _of(self, check: Check) -> list[Verdict | None]:
        """The verdict on each exchange, None where there is none."""
        return self._said.get(check.name, [None] * len(self.record.exchanges))

    def _sum(self, pack: Pack, check: Check) -> Verdict:
        """The measure of a check of exchanges, whose items stay with these."""
        said = [verdict for verdict in self._of(check) if verdict is not None]
        scored = [verdict for verdict in said if not verdict.unscored_reason]
        items = [item for verdict in scored for item in verdict.items]
        beside = Counter(item.answer for item in items if item.best and item.answer != check.answers[0])
        return verdict_of(
            check,
            self.versions[check.name],
            pack.formulas[check.name],
            self.subject,
            [verdict.items for verdict in scored],
            failure=_NEVER if said and not scored else "",
            told=[f"{len(items)} {check.items.name} of {len(scored)} exchanges"],
            counts={
                **beside,
                "exchanges unscored": len(said) - len(scored),
                "exchanges not judged": len(self.record.exchanges) - len(said),
                "earlier traces left out": self.left_out,
            },
            model=next((verdict.model for verdict in scored if verdict.model), ""),
            probability=self.probability,
        )

    def _with_settled(self, pack: Pack, check: Check, closing: Verdict) -> Verdict:
        """The verdict at the close with what exchanges told.

        Where the close could not be scored, what was not achieved before is not.
        """
        settled = self._settled.get(check.name)
        before = settled.answers if settled else ()
        if closing.reasons == _NEVER:
            return replace(closing, not_applicable=False, unscored_reason=_NEVER, reasons="")
        open_yet = {item.text for item in settled.left} if settled else set()
        known = check.settles == "best" and open_yet <= {answer.item for answer in before}
        if not before or (closing.unscored_reason and not known):
            return closing
        asked = {answer.item: answer for answer in closing.items}
        items = (*(asked.pop(answer.item, answer) for answer in before), *asked.values())
        told = f"{len(before)} found before"
        return verdict_of(
            check,
            closing.version,
            pack.formulas[check.name],
            self.subject,
            [items],
            items=items,
            told=[told, *([closing.reasons] if closing.items else []), *filter(None, [closing.unscored_reason])],
            model=closing.model,
            probability=self.probability,
        )

    def _measure(
        self, pack: Pack, check: Check, entries: Sequence[Sequence[Sequence[ItemAnswer]]], failure: str
    ) -> Verdict:
        """A measure over other checks, of their entries side by side; `failure`: why it is unscored."""
        joined_entries = [tuple(answer for one in row for answer in one) for row in zip_longest(*entries, fillvalue=())]
        return verdict_of(
            check,
            self.versions[check.name],
            pack.formulas[check.name],
            self.subject,
            joined_entries,
            failure=failure,
            told=[f"of {', '.join(check.of)}"],
            probability=self.probability,
        )


def joined(said: Sequence[Deliberation]) -> Deliberation:
    """Several answers about one subject as one."""
    dropped: Counter[str] = Counter()
    for one in said:
        dropped.update(one.dropped)
    asked = [one for one in said if one.models]
    return Deliberation(
        verdicts=tuple(verdict for one in said for verdict in one.verdicts),
        findings=tuple(finding for one in said for finding in one.findings),
        failures={judge: why for one in said for judge, why in one.failures.items()},
        dropped=dict(dropped),
        known=bool(asked) and all(one.known for one in asked),
        models=tuple(dict.fromkeys(model for one in said for model in one.models)),
    )
