"""LLM judging put together from the configuration."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model, parameters, shows_pictures
from tracejury.collector.judging.model.cassette import Cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.ready import check_ready
from tracejury.collector.judging.pipeline import Judge
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.install import mark_key
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.budget import DAY, HOUR, Budget
from tracejury.judges.llm.criteria import extended, load_judge, load_set, offered_judges
from tracejury.judges.llm.customised import customised, load_examples
from tracejury.judges.llm.members import LlmJudges, llm_judges_of
from tracejury.judges.llm.schedule import WindowRules
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.judges.packs.cards.task_cards import load_cards
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.assemble import AssemblerConfig, TraceKey
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.spans import Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import DETECTORS, JudgedSubject, SubjectKind

from .catch_up import CatchUp
from .decisive.decisive_judge import DecisiveJudge
from .decisive.decisive_selector import DecisiveSelector
from .decisive.version import decisive_versions
from .descriptions import Descriptions, no_description
from .judge_queue import JudgeQueue, JudgeTask
from .judge_worker import Judges, JudgeWorker
from .judging_steps import JudgingSteps
from .metrics import LlmJudgingMetrics, watch_llm_judging
from .packs.build import PackJudging, build_packs, completions
from .packs.pack_judge import PackJudge
from .packs.pack_selector import PackSelector
from .packs.stored_sessions import SessionKey
from .prompt_budget import prompt_budget
from .run_judge import RunJudge
from .run_selector import RunSelector
from .stored import StoredCases
from .verification import open_verifier
from .windows import Windows

log = logging.getLogger(__name__)

T = TypeVar("T")
LEAST_SECONDS: Final = 1.0
"""Between two tries of a read: a store that is away is not hammered."""


@dataclass(frozen=True, slots=True)
class LlmJudging:
    """The parts of LLM judging: `selectors` belong to the judging thread, `worker` is started and stopped.

    `status` is for API and CLI; `drop` forgets what waits of deleted traces. `packs`: None where none is configured.
    """

    panel: LlmJudges
    selectors: tuple[RunSelector | PackSelector | DecisiveSelector, ...]
    worker: JudgeWorker
    status: Callable[[str], JudgesStatus]
    drop: Callable[[Collection[TraceKey]], None]
    packs: PackJudging | None = None

    def request(self, keys: Sequence[TraceKey], *, by_hand: bool) -> None:
        """Judge what LLM judges look at in these traces again, at their next pass."""
        for selector in self.selectors:
            selector.request(keys, by_hand=by_hand)

    def close_session(self, service: str, session_id: str, tenant: str = "") -> bool:
        """Have a session closed and judged at once; whether there are judges of sessions."""
        if self.packs is not None:
            self.packs.closing.close(SessionKey(tenant, service, session_id))
        return self.packs is not None


def build_llm_judging(
    store: SharedStore,
    config: LlmConfig,
    assembler: AssemblerConfig,
    telemetry: Telemetry,
    ours: Callable[[Span], bool],
    clock: Callable[[], int] = time.time_ns,
    listeners: Listeners | None = None,
    cassette: Cassette | None = None,
) -> LlmJudging:
    """LLM judging over an open store; blocks for a moment. litellm is imported once the worker is started.

    `listeners` are told what was said and stored. `cassette`: as `open_model` takes it.

    Raises:
        ConfigError: criteria, judges or a policy cannot be had as configured; litellm or a key is missing.
    """
    check_ready(config)
    panel, troubles = panel_from(config)
    for trouble in troubles:
        log.warning("%s", trouble)
    policy = policy_from(config, panel)
    kept = StoredLlmJudging(store, answer_age=round(config.answer_cache_days * DAY), clock=clock)
    queue, cases = JudgeQueue(), StoredCases(store, assembler, ours, clock)
    streaming = config.streaming and config.on
    windows = Windows(panel, policy, windows_from(config), queue, cases.recent) if streaming else None
    selector = RunSelector(panel, policy, queue, cases.recent, windows, clock)
    packs = build_packs(packs_from(config, panel), config, store, cases, policy, queue, clock)
    versions = {**_versions(config, panel), **(packs.panel.versions if packs else {})}
    metrics = LlmJudgingMetrics(telemetry)
    describe = (
        Descriptions(partial(StoredArchitectures, store, clock=clock)).of
        if config.architecture == "derived"
        else no_description
    )

    @asynccontextmanager
    async def open_judges(runner: LoopRunner) -> AsyncIterator[Judges]:
        budget = await retry_until_available(lambda: spent(clock()))
        secret = await retry_until_available(lambda: mark_key(store))
        shared: dict[str, Any] = {"answers": kept, "budget": budget, "secret": secret, "clock": clock}
        shared["cassette"] = cassette
        async with open_model(config, **shared) as model, open_verifier(config, model, **shared) as verifier:
            worker.health.started(model.llm.missing_keys)
            images = shows_pictures(config, sees=model.llm.sees and verifier.sees)
            limits = model.llm.max_input_tokens, model.llm.count_tokens
            how = prompt_budget(panel, *limits, hints=config.hints, images=images)
            steps = JudgingSteps(model.client, how, verifier)
            judges: dict[SubjectKind, Judge[Sequence[JudgeTask], JudgedSubject]] = {
                SubjectKind.AGENT_RUN: RunJudge(steps, runner, cases, describe, versions, metrics, clock),
                SubjectKind.TRACE: DecisiveJudge(
                    cases, model.client, runner, how, versions, metrics, completions(packs), clock
                ),
            }
            if packs is not None:
                of_packs = PackJudge(packs.panel, cases, packs.sessions, steps, runner, describe, metrics, clock)
                judges |= {SubjectKind.EXCHANGE: of_packs, SubjectKind.SESSION: of_packs}
            yield judges

    def spent(now: int) -> Budget:
        budget = budget_of(config.budget)
        budget.load(kept.spend(now - DAY - HOUR))
        return budget

    catch_up = CatchUp(cases, queue, versions, spent) if config.catch_up else None
    worker = JudgeWorker(
        cases,
        queue,
        windows,
        open_judges,
        versions,
        metrics,
        concurrency=config.concurrency,
        listeners=listeners,
        clock=clock,
        tick=packs.closing.tick if packs else None,
        catch_up=catch_up,
    )
    watch_llm_judging(telemetry, queue, cases.recent, windows, selector, catch_up)

    def status(project: str) -> JudgesStatus:
        return JudgesStatus(
            on=config.on,
            model=config.model,
            caps=config.budget.caps,
            pending=len(queue),
            in_flight=queue.in_flight,
            trouble=worker.trouble,
            failing=worker.health.problem,
            missing_keys=worker.health.missing_keys,
            stopped=worker.health.stopped(clock(), project),
            over_budget=catch_up.waiting if catch_up else 0,
        )

    def drop(keys: Collection[TraceKey]) -> None:
        if windows is not None:
            for key in keys:
                windows.forget(key)
        if packs is not None:
            packs.closing.forget_traces({trace_id for _, trace_id in keys})
        cases.recent.forget(keys)
        queue.drop(lambda item: item.key[0] in keys)

    of_runs = (selector,) if config.on and config.agent_runs else ()
    of_packs = (packs.selector,) if packs else ()
    # Behind those whose entries it reads.
    of_traces = (DecisiveSelector(versions[DECISIVE], queue, clock),) if DECISIVE in versions else ()
    selectors = (*of_runs, *of_packs, *of_traces)
    return LlmJudging(panel, selectors, worker, status, drop, packs)


def _versions(config: LlmConfig, panel: LlmJudges) -> dict[str, str]:
    """Of the judges that ask a model, but those of packs; by name."""
    asked = {judge.name: panel.version(judge.name) for judge in panel.judges}
    return {**asked, **decisive_versions(config)} if config.on else {}


def check_judges(config: LlmConfig) -> None:
    """The objections of `build_llm_judging` to what is configured; without a model or packs nothing is looked at.

    Raises:
        ConfigError: criteria, judges, a policy, packs or task cards cannot be had as configured.
    """
    if config.judging:
        panel = panel_from(config)[0]
        policy_from(config, panel)
        packs_from(config, panel)
        load_cards(config.tasks)


def packs_from(config: LlmConfig, panel: LlmJudges) -> tuple[Pack, ...]:
    """The configured packs.

    Raises:
        ConfigError: a pack cannot be had as configured, a check has a judge's name, or asks a model and none is named.
    """
    judges = {DETECTORS, DECISIVE, *(judge.name for judge in panel.criteria.judges)}
    packs = load_packs(config.packs, config.pack_settings, judges=judges)
    asking = [(pack, check) for pack in packs for check in pack.checks if check.asks]
    if asking and not config.on:
        pack, check = asking[0]
        needs = {check.name for check in pack.checks if check.asks}
        free = ", ".join(check.name for check in pack.checks if check.name not in needs and needs.isdisjoint(check.of))
        keep = f", or name under judges.pack_settings.{pack.name}.checks those that do not: {free}" if free else ""
        raise ConfigError(f"judges.packs: {check.name} asks a model: set judges.model{keep}")
    return packs


def panel_from(config: LlmConfig) -> tuple[LlmJudges, tuple[str, ...]]:
    """The configured judges, and one line for each judge of an installed package that cannot be loaded.

    Raises:
        ConfigError: criteria or a judge that the configuration names cannot be had.
    """
    offered, broken = offered_judges()
    named, refused = extended(load_set(config.criteria), [load_judge(path) for path in config.judge_files])
    if refused:
        raise ConfigError(f"judges.judge_files: {refused[0][1]}")
    joined, taken = extended(named, offered)
    criteria = customised(joined, config.instructions, load_examples(config.examples))
    panel = llm_judges_of(
        criteria,
        config.model,
        config.judges,
        parameters=parameters(config) | ({"images": True} if config.images else {}),
        mode=config.mode,
        max_answer_tokens=config.max_answer_tokens,
        lookup=config.looks,
        transcript=config.transcript,
        group=config.group,
    )
    return panel, tuple(f"judge {name}: {why}" for name, why in (*broken, *taken))


def policy_from(config: LlmConfig, panel: LlmJudges) -> Policy:
    """The runs to judge; findings count as in the default profile.

    Raises:
        ConfigError: a policy names a judge that does not sit.
    """
    sitting = {judge.name for judge in panel.judges}
    for number, policy in enumerate(config.policies):
        for name in policy.judges:
            if name not in sitting:
                known = ", ".join(sorted(sitting))
                raise ConfigError(f"judges.policies.{number}.judges: no judge {name[:60]!r} sits: use {known}")
    rules = tuple(Rule(p.service, p.agent, p.attributes, p.rate, p.judges) for p in config.policies) or (Rule(),)
    least = None if config.always_severity == "none" else Severity(config.always_severity)
    return Policy(rules, least, config.always_on_error, threshold(DEFAULT_PROFILE))


def windows_from(config: LlmConfig) -> WindowRules:
    """When windows of live runs close."""
    return WindowRules(config.window.turns, config.window.seconds, config.window.tokens)


async def retry_until_available(read: Callable[[], T]) -> T:
    """The result of `read`, which blocks, once the store answers; other errors are raised."""
    while True:
        try:
            return await asyncio.to_thread(read)
        except RetryableError as error:
            log.warning("LLM judges wait for the store: %s", error)
            await asyncio.sleep(max(error.retry_after, LEAST_SECONDS))
