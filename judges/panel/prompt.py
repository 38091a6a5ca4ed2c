"""A case as prompts: our rules, the fenced record, the question. Prefixes stay the same while a run goes on.

The order is rules (constant for a panel), record (append-only), question. The record is dealt out in blocks that close
at a fixed size, so that a later prompt repeats all full blocks of an earlier one, message by message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

from ...schemas.findings import Finding
from ...schemas.shown import shown
from ...schemas.transcript import Chapter, PlanView, Step, Transcript
from . import prompt_text as text
from .case import Case, Stage
from .client import Prompt, PromptMessage
from .criteria import Criteria
from .members import Panel
from .prompt_rules import criteria_text, rules_text, system_text

BLOCK: Final = 16_000
"""Characters from which a block of the record is full: about 4,000 tokens, above providers' least cached prefix."""

MOST_LISTED: Final = 60
"""Provisional findings and hints shown of each."""

MOST_REPLY: Final = 20_000
"""Characters of an unusable reply that are shown to its author again."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chapter of a run that is too long for one call, `number` of `count` from 1; only the last is asked for scores.

    `summary`: the notes of the answer to the part before.
    """

    chapter: Chapter
    number: int
    count: int
    summary: str = ""

    @property
    def last(self) -> bool:
        """Whether the run ends with it."""
        return self.number >= self.count


def prompts(
    case: Case, panel: Panel, *, schema: Mapping[str, Any], schema_name: str = "answer", part: Part | None = None
) -> tuple[Prompt, ...]:
    """The prompts of a case.

    PLAN: one a plan view, in order; they do not depend on what else is known of the run. WINDOW and CLOSING: one for
    the judges of the case that are asked at that stage (those of plans are not; put them at PLAN). In separate mode one
    a judge of these instead (PLAN: for each view, one a judge). None where no judge is asked.

    Raises:
        KeyError: a judge of the case does not sit in the panel.
    """
    judges = tuple(j for j in map(panel.judge, case.judges) if case.stage in j.stages)
    if not judges:
        return ()
    if case.stage is Stage.PLAN:
        made = [
            p for view in case.plans for p in _of(replace(_bare(case), transcript=view.transcript), panel, judges, view)
        ]
    else:
        made = list(_of(case, panel, judges, None, part))
    return tuple(
        Prompt(
            messages,
            schema,
            schema_name,
            panel.max_answer_tokens,
            case.stage.value,
            case.trace.service,
            case.trace.trace_id,
            case.run.id,
        )
        for messages in made
    )


def repair(prompt: Prompt, reply: str, error: str) -> Prompt:
    """The same conversation once more, with the unusable reply and what is wrong with it."""
    said = reply[:MOST_REPLY] if reply.strip() else "(empty)"
    wrong = " ".join(shown(error[:2000]).split())[:500].rstrip(".")
    more = (PromptMessage("assistant", said), PromptMessage("user", text.REPAIR.format(error=wrong)))
    return replace(prompt, messages=(*prompt.messages, *more))


def _bare(case: Case) -> Case:
    return replace(case, provisional=(), hints=(), first="")


def _of(
    case: Case, panel: Panel, judges: tuple[Criteria, ...], view: PlanView | None = None, part: Part | None = None
) -> Iterator[tuple[PromptMessage, ...]]:
    full, rest = _record(case, part)
    if panel.mode == "panel":
        # Judges that sit out a window are described all the same: the closing prompt then begins as the windows' did.
        seated = (
            judges
            if case.stage is Stage.PLAN
            else tuple(j for j in panel.of_run(case.run.role) if Stage.PLAN not in j.stages)
        )
        system = PromptMessage("system", system_text(panel.criteria.rules, seated, case.stage), cache=True)
        question = _question(case, judges, view, part)
        yield system, *_cached(full), PromptMessage("user", f"{rest}\n{question}")
        return
    system = PromptMessage("system", rules_text(panel.criteria.rules, case.stage), cache=True)
    record = (*_cached(full), PromptMessage("user", rest, cache=True))
    for judge in judges:
        question = _question(case, (judge,), view, part)
        yield system, *record, PromptMessage("user", f"{criteria_text(judge)}\n\n{question}")


def _cached(blocks: Sequence[str]) -> list[PromptMessage]:
    return [PromptMessage("user", b, cache=i == len(blocks)) for i, b in enumerate(blocks, 1)]


def _record(case: Case, part: Part | None) -> tuple[list[str], str]:
    """The fenced record: its full blocks, and the rest with the closing fence."""
    transcript = case.transcript
    nonce = _nonce(transcript)
    pieces = list(_pieces(case, part))
    blocks: list[str] = []
    open_, size = [f"=== record {nonce} ===\n"], 0
    for piece in pieces:
        if size >= BLOCK:
            blocks.append("".join(open_))
            open_, size = [], 0
        open_.append(piece)
        size += len(piece)
    open_.append(_lined(part.chapter.closing if part else transcript.closing))
    open_ += _listed(case, part)
    return blocks, "".join(open_) + f"=== end of record {nonce} ===\n"


def _pieces(case: Case, part: Part | None) -> Iterator[str]:
    if case.architecture:
        yield f"about the service:\n{_data(case.architecture)}"
    yield _lined(part.chapter.header if part else case.transcript.header)
    if part:
        yield _lined(part.chapter.before)
    if part and part.summary:
        yield f"notes of the judge of the part before:\n{_data(part.summary)}"
    for step in part.chapter.steps if part else case.transcript.steps:
        yield _lined(step.text)


def _listed(case: Case, part: Part | None) -> Iterator[str]:
    """Provisional findings (at the end of the run) and hints: data as well."""
    labels = {step.span_id: step.label for step in reversed(case.transcript.steps)}
    if case.provisional and _closes(case, part):
        yield f"{text.PROVISIONAL_HEAD}\n"
        for number, finding in enumerate(case.provisional[:MOST_LISTED], 1):
            yield _data(f"{number}. {_told(finding, labels)}")
    here = {s.span_id for s in part.chapter.steps} if part else labels.keys()
    if hints := [h for h in case.hints if h.span_id in here][:MOST_LISTED]:
        yield f"{text.HINTS_HEAD}\n"
        for hint in hints:
            yield _data(f"- {_told(hint, labels)}")


def _closes(case: Case, part: Part | None) -> bool:
    return case.stage is Stage.CLOSING and (part is None or part.last)


def _told(finding: Finding, labels: Mapping[str, str]) -> str:
    codes = ", ".join(finding.dimensions) or finding.judge
    said = f"{labels.get(finding.span_id, '?')} {codes}, {finding.category}, {finding.severity}"
    return f'{said}: "{_cut(finding.evidence, 160)}": {_cut(finding.explanation, 240)}'


def _question(case: Case, judges: Sequence[Criteria], view: PlanView | None, part: Part | None) -> str:
    codes = ", ".join(j.code for j in judges)
    scores = f"verdicts for {codes}"
    if view is not None:
        trigger = text.TRIGGER if view.replan else ""
        return text.PLAN.format(label=view.label, codes=codes, scores=scores, trigger=trigger)
    span = _span(part.chapter.steps if part else case.transcript.steps, _first(case, part))
    if part and not part.last:
        return text.PART.format(number=part.number, count=part.count, span=span, codes=codes)
    if case.stage is Stage.WINDOW:
        return text.WINDOW.format(span=span, codes=codes)
    end = text.BROKEN_OFF if case.run.status == "unfinished" else text.OVER
    asked = text.CLOSING.format(end=end, span=span, codes=codes, scores=scores)
    return f"{asked} {text.DECIDE}" if case.provisional else asked


def _first(case: Case, part: Part | None) -> str:
    """The label from which on findings are wanted: of a part, none that the part before has shown."""
    if part is None or (case.first and _number(case.first) > _number(part.chapter.fresh)):
        return case.first
    return part.chapter.fresh


def _number(label: str) -> int:
    return int(label[1:]) if label[1:].isdecimal() else 0


def _span(steps: Sequence[Step], first: str) -> str:
    if not steps:
        return "the run's steps"
    begin, end = first or steps[0].label, steps[-1].label
    return begin if begin == end else f"{begin} to {end}"


def _nonce(transcript: Transcript) -> str:
    """Names the fence; the same for all prompts of a run, and not to be guessed by what the run records."""
    known = f"{transcript.trace_id}\n{transcript.run_id}\n{transcript.header}"
    return blake2b(known.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _data(value: str) -> str:
    """Any text as indented lines of the record."""
    return "".join(f" {line}\n" for line in shown(value).rstrip().split("\n"))


def _lined(value: str) -> str:
    """Part of a transcript, which is indented already, closed by a line feed."""
    return value if not value or value.endswith("\n") else f"{value}\n"


def _cut(value: str, most: int) -> str:
    line = " ".join(shown(value[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"
