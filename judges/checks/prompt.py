"""Checks as a prompt: our rules, the fenced record, the items in a fence of their own, the question.

Rules and record come first, so that a later prompt repeats all full blocks of an earlier one of the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.fence import data
from tracejury.judges.llm.prompt import cached
from tracejury.judges.llm.prompt_rules import described
from tracejury.judges.llm.record import Part, fenced, mark
from tracejury.schemas.transcript import Step

from . import prompt_text as text
from .case import CheckCase
from .how_asked import HowAsked
from .questions import MOST_ITEM, Call, CheckQuestion
from .reply import MOST_LISTED, SCHEMA


def check_prompt(
    case: CheckCase, how: HowAsked, call: Call, part: Part | None = None, *, notes: bool = False
) -> Prompt:
    """The prompt of one call. `part`: of a record read in chapters; `notes`: for the next of them are wanted."""
    full, rest = fenced(case.record.transcript, case.description, part)
    question = "\n\n".join((_scope(case, part, notes=notes), *(_asked(case, q) for q in call)))
    asked = f"{items_text(call, mark(case.record.transcript))}\n{question}"
    messages = [PromptMessage("system", described(text.SYSTEM, case.description), cache=True), *cached(full)]
    if how.mode == "separate":
        messages += [PromptMessage("user", rest, cache=True), PromptMessage("user", asked)]
    else:
        messages.append(PromptMessage("user", f"{rest}{asked}"))
    return Prompt(
        tuple(messages),
        SCHEMA,
        max_tokens=how.max_answer_tokens,
        purpose=case.subject.kind.value,
        service=case.service,
        trace_id=case.subject.trace_id,
        run_id=case.judged.exchange.run_id if case.judged else case.subject.id,
        repeat=how.repeat,
        tenant=case.subject.tenant,
        temperature=how.temperature,
        top_p=how.top_p,
    )


def _scope(case: CheckCase, part: Part | None, *, notes: bool) -> str:
    span = _span(case.steps)
    scope = text.SESSION.format(span=span)
    if case.judged:
        scope = text.EXCHANGE.format(label=case.judged.label, span=span)
    if part:
        scope += text.PART.format(number=part.number, count=part.count)
    return scope + text.NOTES if notes else scope


def _span(steps: Sequence[Step]) -> str:
    if not steps:
        return "no steps"
    begin, end = steps[0].label, steps[-1].label
    return begin if begin == end else f"{begin} to {end}"


def items_text(call: Call, nonce: str) -> str:
    """The numbered items between their fence, which `nonce` names, "" where there are none."""
    shown = {key: told for question in call for key, told in question.asked.shown.items()}
    lines = "".join(f"card: {key}\n{data(told)}" for key, told in shown.items())
    lines += "".join(line for question in call for line in _numbered(question))
    return f"\n=== items {nonce} ===\n{lines}=== end of items {nonce} ===\n" if lines else ""


def _numbered(question: CheckQuestion) -> Iterator[str]:
    for number, item in question.numbered.items():
        yield f"{number} {item.label}".rstrip() + "\n"
        yield data(_cut(item.text))


def _cut(value: str) -> str:
    return value if len(value) <= MOST_ITEM else f"{value[: MOST_ITEM - 1]}…"


def _asked(case: CheckCase, question: CheckQuestion) -> str:
    check = question.asked.check
    words = check.answers
    lines = [f"# {check.name}", check.question or ""]
    if check.meanings:
        meanings = {word: answer.meaning for word, answer in check.meanings.items()}
        meanings[words[0]] = check.best or meanings[words[0]]
        form = text.MEANINGS if check.reports else text.UNRATED
        lines.append(form.format(answers="\n".join(f"- `{w}`: {told}" for w, told in meanings.items())))
    else:
        lines.append(text.SCALE.format(answers=", ".join(words), first=words[0], best=(check.best or "").rstrip(".")))
    if not check.quoted:
        lines.append(text.UNQUOTED)
    if question.asked.shown:
        lines.append(text.SHOWN.format(keys="`, `card: ".join(question.asked.shown)))
    numbers = [*question.numbered]
    if question.lists:
        lines.append(text.LIST.format(most=MOST_LISTED, label=case.answered))
    else:
        lines.append(f"Items {numbers[0]} to {numbers[-1]}." if len(numbers) > 1 else f"Item {numbers[0]}.")
    if check.also:
        lines.append(text.ALSO.format(also="; ".join(f"{name}: {what}" for name, what in check.also.items())))
    return "\n".join(line for line in lines if line)
