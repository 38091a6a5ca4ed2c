"""View models of a trace's details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tracejury.processors.media import SpanMedia
from tracejury.schemas.not_judged import NotJudged, why_run_not_judged
from tracejury.schemas.trajectory import AgentRun

from .marks import Shown
from .shown_errors import NO_ERRORS, AtSpan


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A text of a section. `whole`: query of the address of all of it, where it is cut; `html`: of its first piece."""

    role: str
    title: str
    shown: Shown
    folded: bool
    whole: str
    html: Markup | None = None


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """A picture, sound or file of a span; `kind`: "image" or "audio" where it is shown, else ""."""

    media: SpanMedia
    kind: str


@dataclass(frozen=True, slots=True)
class SpanSection:
    """The contents of one span, or of one tool call without a span.

    `home`: id of the trace that the span is of. `query`: names the place in addresses. `sub_run`: id and name of the
    agent run that it started. `prompt`: the label of what a call was made from. `left_out`: texts beyond those shown.
    """

    kind: str
    title: str
    span_id: str
    home: str
    query: str
    state: str
    blocks: Sequence[ShownBlock]
    folded: bool
    start: int = 0
    end: int = 0
    facts: Sequence[tuple[str, str]] = ()
    prompt: str = ""
    errors: AtSpan = NO_ERRORS
    media: Sequence[ShownMedia] = ()
    sub_run: tuple[str, str] | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A turn before or after: `query` selects it."""

    index: int
    kind: str
    hint: str
    query: str
    calls: Sequence[str]
    failed: bool


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """A turn. `run_query` selects its run; `left_out`: tool calls that are not shown."""

    run: AgentRun
    run_query: str
    index: int
    kind: str
    closed: bool
    sections: Sequence[SpanSection]
    before: Sequence[Neighbour]
    after: Sequence[Neighbour]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class RunDetail:
    """An agent run. `texts`: task, system prompt and answer; `tools`: name and description of those it was given."""

    run: AgentRun
    query: str
    texts: Sequence[ShownBlock]
    tools: Sequence[tuple[str, str]]
    sections: Sequence[SpanSection]
    turns: Sequence[Neighbour]
    parent: tuple[str, str] | None

    @property
    def not_judged(self) -> NotJudged | None:
        """Why no judge can say anything of it, None where one can."""
        return why_run_not_judged(self.run)


@dataclass(frozen=True, slots=True)
class SpanDetail:
    """A span outside of all agent runs."""

    section: SpanSection


Detail = TurnDetail | RunDetail | SpanDetail
