"""The configured LLM judges: their criteria, model and versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Literal

from tracejury.schemas.errors import ConfigError

from .answer import ANSWER_VERSION
from .case import Case, Stage
from .criteria import Criteria, CriteriaSet

PROMPT_VERSION: Final = 5
"""Counts changes of the prompts apart from the criteria."""

Mode = Literal["panel", "separate"]
TranscriptForm = Literal["compact", "paper"]
_RUNS: Final[Mapping[str, tuple[str, ...]]] = {"manager": ("all", "manager"), "sub-agent": ("all", "sub-agents")}


@dataclass(frozen=True, slots=True)
class LlmJudges:
    """LLM judges with one model. `judges`: the enabled ones of `criteria`. `parameters`: sent with each call.

    `mode`: "panel" puts all judges of a subject into one call, "separate" makes one call a judge. `max_answer_tokens`
    bounds each answer. `lookup`: how often an answer may ask to see more of the record before it counts.
    `transcript`: the form in which runs are put before the judges. `group`: whether short runs of a trace may share a
    call.
    """

    criteria: CriteriaSet
    judges: tuple[Criteria, ...]
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = "panel"
    max_answer_tokens: int = 4096
    lookup: int = 1
    transcript: TranscriptForm = "compact"
    group: bool = True

    @property
    def grouped(self) -> bool:
        """Whether short runs of a trace share a call; where judges are asked apart, each run is, too."""
        return self.group and self.mode == "panel" and self.transcript == "compact"

    def judge(self, name: str) -> Criteria:
        """The enabled judge of that name.

        Raises:
            KeyError: there is none.
        """
        return {j.name: j for j in self.judges}[name]

    def version(self, judge: str) -> str:
        """12 hex digits over all that may change an answer: rules, criteria, prompt, parser, model."""
        parameters = json.dumps(self.parameters, sort_keys=True, default=str)
        parts = (
            self.criteria.version_text(judge),
            str(PROMPT_VERSION),
            str(ANSWER_VERSION),
            self.model,
            parameters,
            self.mode,
            str(self.max_answer_tokens),
            str(self.lookup),
            self.transcript,
            str(self.group),
        )
        return blake2b(json.dumps(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

    def rounds(self, case: Case) -> int:
        """How often an answer to the case may ask to see more; never where its full text cannot be had."""
        return self.lookup if case.uncut is not None else 0

    def of_run(self, run_role: str) -> tuple[Criteria, ...]:
        """The judges that look at runs of that role ("manager", "sub-agent") at some stage."""
        runs = _RUNS.get(run_role, ("all",))
        return tuple(j for j in self.judges if j.runs in runs)

    def asked(self, run_role: str, stage: Stage, *, has_plan: bool) -> tuple[str, ...]:
        """Names of the judges to ask; without a plan, not those that need one."""
        return tuple(j.name for j in self.of_run(run_role) if stage in j.stages and (has_plan or not _needs_plan(j)))


def llm_judges_of(
    criteria: CriteriaSet,
    model: str,
    names: Iterable[str] = (),
    *,
    parameters: Mapping[str, Any] | None = None,
    mode: Mode = "panel",
    max_answer_tokens: int = 4096,
    lookup: int = 1,
    transcript: TranscriptForm = "compact",
    group: bool = True,
) -> LlmJudges:
    """The judges of `criteria` that are named, by name or code; all of them where none is.

    Raises:
        ConfigError: no judge has such a name.
    """
    wanted = tuple(names)
    known = {key: j.name for j in criteria.judges for key in (j.name, j.code, j.code.lower())}
    if unknown := [n for n in wanted if n not in known]:
        there = ", ".join(j.name for j in criteria.judges)
        raise ConfigError(f"no judge named {unknown[0][:60]!r} in the criteria set {criteria.name!r}: it has {there}")
    chosen = {known[n] for n in wanted}
    judges = tuple(j for j in criteria.judges if not wanted or j.name in chosen)
    return LlmJudges(
        criteria, judges, model, dict(parameters or {}), mode, max_answer_tokens, lookup, transcript, group
    )


def _needs_plan(judge: Criteria) -> bool:
    return judge.needs == "plan" or Stage.PLAN in judge.stages
