"""A case put to scripted judges, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from panel_cases import case, panel
from small_traces import Did, Said, run, trace

from tracejury.judges.llm.case import Case, Deliberation, Outcomes, Stage
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.scripted import Line, ScriptedClient, answer
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.trajectory import Trace, TurnKind
from tracejury.schemas.transcript import Chapter
from tracejury.schemas.verdicts import Verdict

T = TypeVar("T")
PANEL, SEPARATE = panel(), panel(mode="separate")
ALL = tuple(judge.name for judge in PANEL.judges)
PLAN = "plan-quality"
REST = tuple(name for name in ALL if name != PLAN)
LC = "logical-consistency"


def rehearse(deliberating: Generator[Sequence[Prompt], Outcomes, T], client: ScriptedClient) -> T:
    """A deliberation driven to its end without an event loop; errors of ours become outcomes."""

    def outcome(prompt: Prompt) -> Reply | TracejuryError:
        try:
            return client.reply(prompt)
        except TracejuryError as error:
            return error

    try:
        batch = next(deliberating)
        while True:
            batch = deliberating.send([outcome(prompt) for prompt in batch])
    except StopIteration as end:
        came: T = end.value
        return came


def whole(**changes: Any) -> Trace:
    """Plans (S1), looks up (S2, S3), plans again (S4), answers (S5)."""
    return trace(
        run(
            "r1",
            Said("p1", "1. Look it up. 2. Answer.", kind=TurnKind.PLAN),
            Said("a1", "I look it up.", [Did("look", {"q": "query"}, "nothing found", span_id="t1")]),
            Said("p2", "1. Answer anyway.", kind=TurnKind.PLAN, sees=["nothing found"]),
            Said("a2", "It is forty-two."),
            **changes,
        )
    )


TRACE = whole()


def about(prompt: Prompt) -> str:
    """What a prompt asks for: "plan", or the part of the run."""
    return "plan" if prompt.purpose == Stage.PLAN else prompt.purpose


def judged(
    script: Callable[[Prompt], Line] = answer,
    asked: Case | None = None,
    by: LlmJudges = PANEL,
    chapters: Sequence[Chapter] = (),
) -> tuple[Deliberation, ScriptedClient]:
    client = ScriptedClient(script)
    return rehearse(deliberate(asked or case(TRACE, by), by, chapters), client), client


def verdicts(said: Deliberation) -> dict[str, Verdict]:
    return {verdict.judge: verdict for verdict in said.verdicts}


def batches(asked: Case, by: LlmJudges, script: Callable[[Prompt], str] = answer) -> list[list[Prompt]]:
    """The prompts of a deliberation that goes well, batch by batch."""
    going = deliberate(asked, by)
    said: list[list[Prompt]] = []
    try:
        batch = next(going)
        while True:
            said.append(list(batch))
            batch = going.send([Reply(script(prompt), "m") for prompt in batch])
    except StopIteration:
        return said
