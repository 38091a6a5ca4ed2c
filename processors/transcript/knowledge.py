"""What was known when a plan was made: the steps before it in brief, the means at hand and which of them were used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ...schemas.transcript import Step, StepKind
from .condense import condense, level

_SINCE: Final = 1_700  # characters of the steps since the last plan
_LAST_PLAN: Final = 700
_LEAST: Final = 170  # characters of a step; where there is less room for each, the earlier ones have their line
_BRIEF: Final = 24  # steps that have their line
_PROMPT: Final = 2_400  # characters of what asks for a plan
_MOST_MEANS: Final = 40
_PURPOSE: Final = 100

_INPUT: Final = re.compile(r"input\b|tools from here on:")
_KNOWN: Final = re.compile(r"input (?:system|developer|assistant)\b|tools from here on:|arguments:")
_ASKED: Final = re.compile(r"S\d+ llm (?:plan|facts)\b")
_CALLED: Final = re.compile(r"S\d+ (?:tool|agent) (\S+): (error: )?")
_LISTED: Final = re.compile(r"^ {1,8}[-*] [*`]{0,2}([A-Za-z_]\w{0,79})[*`]{0,2}(: ?.*)$", re.MULTILINE)
_DEFINED: Final = re.compile(r"^ ([A-Za-z_]\w{0,79})(\([^()\n]*\)(?:: .*)?)$", re.MULTILINE)


def before(steps: Sequence[Step], last_plan: int | None) -> tuple[Step, ...]:
    """The steps before a plan: of the last plan and what was done since the words, of what was before the line.

    `last_plan`: offset of the step of the plan before, None where there is none.
    """
    since = 0 if last_plan is None else last_plan + 1
    texts = [_worth(step) for step in steps[since:]]
    room = level([len(t) for t in texts], _SINCE, [1] * len(texts))
    skipped = max(0, len(texts) - _SINCE // _LEAST) if room < _LEAST else 0
    room = level([len(t) for t in texts[skipped:]], _SINCE, [1] * len(texts[skipped:]))
    full = [replace(s, text=condense(t, room)) for s, t in zip(steps[since:], texts, strict=True)][skipped:]
    told = [] if last_plan is None else [replace(steps[last_plan], text=_last_plan(steps[last_plan]))]
    lines = [replace(s, text=f"{s.outline}\n") for s in steps[since : since + skipped]]
    return (*_brief(steps[: since - 1 if told else since]), *told, *_brief(lines), *full)


def _last_plan(step: Step) -> str:
    return condense(own_words(step.text, head=True), _LAST_PLAN)


def _worth(step: Step) -> str:
    """A step's text without prompts, what the agent was told of itself, and arguments, which its calls show."""
    dropped = _INPUT if _ASKED.match(step.text) else _KNOWN
    return "".join(text for title, text in _sections(step.text) if not dropped.match(title))


def _brief(steps: Sequence[Step]) -> list[Step]:
    """The last of the steps by their line, those long ago only counted."""
    told = [replace(s, text=f"{s.outline}\n") for s in steps[-_BRIEF:]]
    if left := len(steps) - len(told):
        told[0] = replace(told[0], text=f"[… {left} earlier steps …]\n{told[0].text}")
    return told


def inputs(text: str) -> str:
    """A step's first line and what its call was sent."""
    sections = list(_sections(text))
    sent = "".join(part for title, part in sections[1:] if _INPUT.match(title))
    return sections[0][1] + (condense(sent, _PROMPT) if sent else "")


def own_words(text: str, *, head: bool = False) -> str:
    """A step's text but for what its call was sent; with its first line if `head`."""
    sections = list(_sections(text))
    return "".join(part for title, part in sections[0 if head else 1 :] if not _INPUT.match(title))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """(title, text with the title) of a step's parts, its first line as one of them."""
    part: list[str] = []
    for line in text.splitlines(keepends=True):
        if part and not line.startswith((" ", "= ", "[")):
            yield part[0], "".join(part)
            part = []
        part.append(line)
    yield part[0], "".join(part)


def means(steps: Sequence[Step], plan: Step) -> str:
    """Lines on the tools and agents that earlier prompts list, and on what has been called and what not."""
    listed = dict(_found(step for step in steps if step.kind is StepKind.LLM))
    here = dict(_found((plan,)))
    said = [f" {name}{about}\n" for name, about in listed.items()][:_MOST_MEANS] if not here else []
    if said:
        said.insert(0, "tools and agents that earlier prompts list:\n")
    called: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for match in filter(None, (_CALLED.match(s.outline) for s in steps if s.kind is not StepKind.LLM)):
        called[match[1]] += 1
        failed[match[1]] += bool(match[2])
    if called:
        told = [f"{n} {k}" + (f" ({failed[n]} failed)" if failed[n] else "") for n, k in called.most_common(_BRIEF)]
        said.append(f"called so far: {', '.join(told)}\n")
    return "".join(said)


def _found(steps: Iterator[Step] | Sequence[Step]) -> Iterator[tuple[str, str]]:
    for step in steps:
        for title, part in _sections(step.text):
            if _INPUT.match(title):
                pattern = _DEFINED if title.startswith("tools") else _LISTED
                for name, about in pattern.findall(part):
                    yield name, _short(about)


def _short(about: str) -> str:
    """Parameters, where they stand there, and the first sentence."""
    signature, colon, purpose = about.partition(": ")
    if not colon:
        return about
    first = purpose.split(". ")[0]
    return f"{signature}: {first if len(first) <= _PURPOSE else first[: _PURPOSE - 1] + '…'}"
