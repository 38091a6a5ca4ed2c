"""The knowledge behind a plan: the steps before it in brief, the available tools and their use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from tracejury.schemas.transcript import Step, StepKind

from .condense import condense, level

_SINCE: Final = 1_700  # characters of the steps since the last plan
_LAST_PLAN: Final = 700
_LEAST: Final = 170  # characters of a step; where there is less room for each, the earlier ones have their line
_SURVEY: Final = 3  # how much longer a survey of facts may be
_BRIEF: Final = 16  # steps that have their line
_PROMPT: Final = 2_400  # characters of what asks for a plan
_MOST_MEANS: Final = 40
_PURPOSE: Final = 100

_INPUT: Final = re.compile(r"(?:input|excerpt of)\b|tools from here on:")
_KNOWN: Final = re.compile(r"input (?:system|developer|assistant)\b|excerpt of\b|tools from here on:|arguments:")
_ASKED: Final = re.compile(r"S\d+ llm (?:plan|facts)\b")
_CALLED: Final = re.compile(r"S\d+ (?:tool|agent) (\S+): (error: )?")
_LISTED: Final = re.compile(r"^ {1,8}[-*] [*`]{0,2}([A-Za-z_]\w{0,79})[*`]{0,2}(: ?.*)$", re.MULTILINE)
_DEFINED: Final = re.compile(r"^ ([A-Za-z_]\w{0,79})(\([^()\n]*\)(?:: .*)?)$", re.MULTILINE)


def before(steps: Sequence[Step], last_plan: int | None) -> tuple[Step, ...]:
    """The steps before a plan: of the last plan and what was done since the words, of what was before the line.

    `last_plan`: offset of the step of the plan before, None where there is none.
    """
    since = 0 if last_plan is None else last_plan + 1
    done = steps[since:]
    texts = [_worth(step, steps[since + i - 1] if since + i else None) for i, step in enumerate(done)]
    weights = [_SURVEY if _ASKED.match(text) else 1 for text in texts]
    room = level([len(t) for t in texts], _SINCE, weights)
    skipped = max(0, len(texts) - _SINCE // _LEAST) if room < _LEAST else 0
    room = level([len(t) for t in texts[skipped:]], _SINCE, weights[skipped:])
    full = [replace(s, text=condense(t, room * w)) for s, t, w in zip(done, texts, weights, strict=True)][skipped:]
    told = [] if last_plan is None else [replace(steps[last_plan], text=_last_plan(steps[last_plan]))]
    return (*_brief(steps[: since - 1 if told else since]), *told, *_brief(done[:skipped]), *full)


def _last_plan(step: Step) -> str:
    return condense(own_words(step.text, head=True), _LAST_PLAN)


def _worth(step: Step, last: Step | None) -> str:
    """A step's text without prompts, facts on the agent, and what its calls or the `last` step show."""
    dropped = _INPUT if _ASKED.match(step.text) else _KNOWN
    called = _CALLED.match(last.outline) if last and last.kind is not StepKind.LLM else None
    result = f"({called[1]})" if called else "\n"
    return "".join(t for title, t in sections(step.text) if not dropped.match(title) and result not in title.strip())


def _brief(steps: Sequence[Step]) -> list[Step]:
    """The last of the steps by their line, those long ago only counted."""
    told = [replace(s, text=f"{s.outline}\n") for s in steps[-_BRIEF:]]
    if left := len(steps) - len(told):
        told[0] = replace(told[0], text=f"[… {left} earlier steps …]\n{told[0].text}")
    return told


def inputs(text: str) -> str:
    """A step's first line and what its call was sent."""
    parts = list(sections(text))
    sent = "".join(part for title, part in parts[1:] if _INPUT.match(title))
    return parts[0][1] + (condense(sent, _PROMPT) if sent else "")


def own_words(text: str, *, head: bool = False) -> str:
    """A step's text but for what its call was sent; with its first line if `head`."""
    parts = list(sections(text))
    return "".join(part for title, part in parts[0 if head else 1 :] if not _INPUT.match(title))


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(title, text with the title) of a step's parts, its first line as one of them."""
    part: list[str] = []
    for line in text.splitlines(keepends=True):
        if part and not line.startswith((" ", "= ", "[")):
            yield part[0], "".join(part)
            part = []
        part.append(line)
    yield part[0], "".join(part)


class Means:
    """The tools and agents that prompts have listed so far, and what of them has been called."""

    __slots__ = ("_called", "_failed", "_listed")

    def __init__(self) -> None:
        self._listed: dict[str, str] = {}
        self._called: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def read(self, steps: Iterable[Step]) -> None:
        """Read these steps, too."""
        for step in steps:
            if step.kind is StepKind.LLM:
                self._listed.update(_found(step))
            elif match := _CALLED.match(step.outline):
                self._called[match[1]] += 1
                self._failed[match[1]] += bool(match[2])

    def render(self, plan: Step) -> str:
        """Lines on the means that the plan's own prompt does not list, and on what has been called."""
        lines: list[str] = []
        if self._listed and not any(_found(plan)):
            lines.append("tools and agents that earlier prompts list:\n")
            lines += [f" {name}{about}\n" for name, about in islice(self._listed.items(), _MOST_MEANS)]
        if self._called:
            failed = {name: f" ({n} failed)" if n else "" for name, n in self._failed.items()}
            told = [f"{name} {n}{failed[name]}" for name, n in self._called.most_common(_BRIEF)]
            lines.append(f"called so far: {', '.join(told)}\n")
        return "".join(lines)


def _found(step: Step) -> Iterator[tuple[str, str]]:
    for title, part in sections(step.text):
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
