"""The packs' part of LLM judging, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.model.build import parameters
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.selection import Policy
from tracejury.judges.packs.cards.task_cards import load_cards
from tracejury.judges.packs.pack_types import Pack

from .pack_panel import PackPanel
from .pack_selector import LiveChecks, PackSelector
from .session_closing import SessionClosing
from .stored_sessions import StoredSessions


@dataclass(frozen=True, slots=True)
class PackJudging:
    """The parts of judging by packs. `selector` belongs to the judging thread, `closing` is looked at now and then."""

    panel: PackPanel
    selector: PackSelector
    closing: SessionClosing
    sessions: StoredSessions


def completions(judging: PackJudging | None) -> frozenset[str]:
    """Names of the checks that tell whether the task of a session was completed."""
    checks = (check for pack in judging.panel.packs for check in pack.checks) if judging else ()
    return frozenset(check.name for check in checks if check.items.outcome)


def build_packs(
    packs: tuple[Pack, ...],
    config: LlmConfig,
    store: SharedStore,
    cases: StoredCases,
    policy: Policy,
    queue: JudgeQueue,
    clock: Callable[[], int],
) -> PackJudging | None:
    """None where no pack is configured.

    Raises:
        ConfigError: task cards cannot be read as configured.
    """
    if not packs:
        return None
    cards = load_cards(config.tasks)
    panel = PackPanel(packs, cards, config.task_key, config.model, parameters(config), config.max_answer_tokens)
    sessions = StoredSessions(store, cases)
    closing = SessionClosing(sessions, panel.versions, policy, queue, config.session_quiet_seconds, panel.card_hash)
    live = LiveChecks(panel.live, frozenset(panel.live_sources))
    selector = PackSelector(
        panel.of_exchanges, panel.versions, policy, queue, cases.recent, closing, clock, live, panel.card_hash
    )
    return PackJudging(panel, selector, closing, sessions)
