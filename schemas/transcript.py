"""A trajectory as text for a judge: labelled steps that map back to spans."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .trajectory import Exchange

_CUT: Final = re.compile(r"^\[… (?:[a-z ]+, )?(\d+) characters cut …\]$", re.MULTILINE)


def cut_notice(missing: int, of: str = "") -> str:
    """The line of ours that stands for what was cut; `of`: plain words on what it was, "" for the middle of a text."""
    return f"[… {of}{', ' if of else ''}{missing} characters cut …]"


def characters_cut(text: str) -> int:
    """Characters that are hidden in lines of a transcript, by their notices; recorded text cannot imitate one."""
    return sum(map(int, _CUT.findall(text)))


class StepKind(StrEnum):
    """The kind of a transcript's step."""

    LLM = "llm"
    TOOL = "tool"
    AGENT = "agent"  # a sub-agent's task and answer, as its caller saw them; in a record also the end of a run


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a transcript. `label`: "S1", "S2" … in the order of the transcript, "E1.S1" … in a session's record.

    `span_id`: where a finding at this step belongs; `turn` the index of its turn in the run. `text`: its lines as a
    judge sees them, neutralised, the first of them with the label; `outline` one line for the step index. `trace_id`:
    of the span in a session's record, whose steps are of several traces; "" in the transcript of a run.
    """

    label: str
    kind: StepKind
    span_id: str
    turn: int
    text: str
    outline: str
    trace_id: str = ""

    @property
    def cut(self) -> int:
        """Characters of what was recorded that the text hides; 0 where it shows all."""
        return characters_cut(self.text)


@dataclass(frozen=True, slots=True)
class Transcript:
    """One agent run as text: `header` (who, prompt, tools, task), then the steps; append-only while the run goes on.

    `common`: the beginning of the header, which other runs of the agent share (prompt, tools). `closing`: what is known
    only once the run is over (its answer and status), "" before. `characters` is the length of all of it. `trace_id`:
    of the span with which the run begins, whatever it was joined to.
    """

    trace_id: str
    run_id: str
    agent: str
    role: str
    header: str
    steps: tuple[Step, ...]
    closing: str = ""
    common: str = ""

    @property
    def characters(self) -> int:
        """Length of the whole text."""
        return len(self.header) + sum(len(s.text) for s in self.steps) + len(self.closing)

    @property
    def spans(self) -> Mapping[str, str]:
        """Label to span id."""
        return {step.label: step.span_id for step in self.steps}


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """An exchange in a session's record, with the offsets of its steps, `last` exclusive. `label`: "E1", "E2" ….

    `asked` and `answered`: labels of the steps that hold the user's message and the answer, "" where there is none.
    """

    label: str
    trace_id: str
    exchange: Exchange
    first: int
    last: int
    asked: str = ""
    answered: str = ""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The managers' transcripts of a session in order of time, as one: steps "E1.S1" …, each text once.

    `transcript.run_id` is the session's id. Append-only: a later exchange changes nothing before it.
    """

    session_id: str
    transcript: Transcript
    exchanges: tuple[RecordedExchange, ...]


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """Runs of one trace in order of time, as one transcript whose labels run through, each text once.

    `labels`: of the runs ("R1" …), by id; `owners`: the id of the run that each step is of, by the step's label.
    """

    transcript: Transcript
    labels: Mapping[str, str]
    owners: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One of several overlapping parts of a transcript that is too long to be read at once.

    `before`: the step index of what came before `steps` ("" in the first). Chapters share the transcript's header; the
    last one has its closing. `first`, `last`: offsets in the transcript's steps, `last` exclusive; a step that is cut
    apart stands in several chapters. `fresh`: label of the first step that no chapter before has shown (whole).
    """

    header: str
    before: str
    steps: tuple[Step, ...]
    closing: str
    first: int
    last: int
    fresh: str = ""

    @property
    def text(self) -> str:
        """All of it, in order."""
        return self.header + self.before + "".join(s.text for s in self.steps) + self.closing


@dataclass(frozen=True, slots=True)
class PlanView:
    """A turn that may hold a plan, and the knowledge behind it: a transcript that ends with its step, and the label.

    `turn`: index of the turn; `replan` whether an earlier one stands before it and something was done since.
    """

    transcript: Transcript
    label: str
    turn: int
    replan: bool
