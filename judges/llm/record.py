"""A record between its fence: all of it data, our own lines in the first column, recorded ones indented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.shown import shown
from tracejury.schemas.transcript import Chapter, Transcript

from . import prompt_text as text
from .case import NO_DESCRIPTION, Case, ServiceDescription, Stage
from .fence import data, fence

BLOCK: Final = 16_000
"""Characters from which a block of the record is full: about 4,000 tokens, above providers' least cached prefix."""

AGENT: Final = "=== agent"
"""Beginning of the block that runs of one agent share."""

_SHARED: Final = 4_000  # characters from which it is one: about providers' least cached prefix
MOST_LISTED: Final = 60
"""Provisional findings shown."""

_MUCH: Final = 500  # characters hidden at a step from which the record's end says so
_MOST_CUTS: Final = 40


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


def fenced(
    transcript: Transcript,
    description: ServiceDescription = NO_DESCRIPTION,
    part: Part | None = None,
    listed: Iterable[str] = (),
) -> tuple[list[str], str]:
    """The fenced record: its full blocks, and the rest with what is only known now and the closing fence.

    A long prompt, which runs of the agent share, comes first in a block and a fence of its own, so that prompt caches
    serve all of them.
    `listed`: what else stands inside the fence, after the record.
    """
    nonce = mark(transcript)
    common, own = _header(transcript, part)
    full: list[str] = [fence("agent", common, lined(common))] if common else []
    block, size = [f"=== record {nonce} ===\n"], 0
    for piece in _pieces(transcript, own, description, part):
        if size >= BLOCK:
            full.append("".join(block))
            block, size = [], 0
        block.append(piece)
        size += len(piece)
    closing = lined(part.chapter.closing if part else transcript.closing) + _cuts(transcript, part)
    return full, "".join((*block, closing, *listed, f"=== end of record {nonce} ===\n"))


def _header(transcript: Transcript, part: Part | None) -> tuple[str, str]:
    """The header's part that runs of the agent share, "" where it is short or a chapter shortened it, and the rest."""
    header, common = part.chapter.header if part else transcript.header, transcript.common
    return (common, header[len(common) :]) if len(common) >= _SHARED and header.startswith(common) else ("", header)


def whole(transcript: Transcript) -> str:
    """All of a transcript as text, without a fence."""
    return "".join(map(lined, (transcript.header, *(step.text for step in transcript.steps), transcript.closing)))


def _cuts(transcript: Transcript, part: Part | None) -> str:
    """The steps that hide much, with its size, so that a judge can ask for them."""
    steps = part.chapter.steps if part else transcript.steps
    hidden = [(size, step.label) for step in steps if (size := step.cut) >= _MUCH]
    listed = sorted(hidden, key=lambda one: -one[0])[:_MOST_CUTS]
    kept = {label for _, label in listed}
    told = ", ".join(f"{label} {size}" for size, label in hidden if label in kept)
    more = f", and {len(hidden) - len(listed)} more steps" if len(hidden) > len(listed) else ""
    return f"characters cut: {told}{more}\n" if told else ""


def _pieces(transcript: Transcript, header: str, description: ServiceDescription, part: Part | None) -> Iterator[str]:
    if description.text and not description.by_operator:
        yield f"about the service:\n{data(description.text)}"
    yield lined(header)
    if part:
        yield lined(part.chapter.before)
    if part and part.summary:
        yield f"notes of the judge of the part before:\n{data(part.summary)}"
    for step in part.chapter.steps if part else transcript.steps:
        yield lined(step.text)


def listed_for(case: Case, part: Part | None) -> Iterator[str]:
    """Provisional findings, at the end of the run: data as well."""
    labels = {step.span_id: step.label for step in reversed(case.transcript.steps)}
    if case.provisional and case.stage is Stage.CLOSING and (part is None or part.last):
        yield f"{text.PROVISIONAL_HEAD}\n"
        for number, finding in enumerate(case.provisional[:MOST_LISTED], 1):
            yield data(f"{number}. {_told(finding, labels)}")


def _told(finding: Finding, labels: Mapping[str, str]) -> str:
    codes = ", ".join(finding.dimensions) or finding.judge
    said = f"{labels.get(finding.span_id, '?')} {codes}, {finding.category}, {finding.severity}"
    return f'{said}: "{one_line(finding.evidence, 160)}": {one_line(finding.explanation, 240)}'


def one_line(value: str, most: int) -> str:
    """Any text in one line of at most so many characters."""
    line = " ".join(shown(value[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def mark(transcript: Transcript) -> str:
    """Names the fence; the same for all prompts of a run or session, and not to be guessed by what it records."""
    known = f"{transcript.trace_id}\n{transcript.run_id}\n{transcript.header}"
    return blake2b(known.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def lined(value: str) -> str:
    """Part of a transcript, which is indented already, closed by a line feed."""
    return value if not value or value.endswith("\n") else f"{value}\n"
