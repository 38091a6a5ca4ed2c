"""The parts of the running collector that the HTTP API and the pages use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_bytes

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.auth.sign_in import SignIns
from tracejury.collector.otlp.receiver.ports import Endpoint
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.worker.listeners import Listeners
from tracejury.judges.rule_settings import RuleSettings
from tracejury.judges.suite import NO_SETTINGS
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.spans import LogRecord
from tracejury.schemas.verdicts import Judgement

from .backups import MakeBackup
from .deletion import Delete
from .security import Tokens

Redact = Callable[[Sequence[LogRecord]], Sequence[LogRecord]]
"""Log records as they may be stored, in their order."""
JudgeAgain = Callable[[Sequence[str], bool], Sequence[Judgement]]
"""Judges stored traces again and returns the judgements; blocks; leaves out ids that are not stored.

True: these were asked for one by one, so LLM judges look at all of their runs; False: they catch up with what was left.
"""


def no_sessions(_service: str, _session_id: str, tenant: str = "") -> bool:  # noqa: ARG001  as `LlmJudging.close_session`
    """Where nobody judges sessions none is closed."""
    return False


def admit_all(_size: int) -> None:
    """Where nothing is received there is no bound."""


@dataclass(frozen=True, slots=True)
class Services:
    """Dependencies of the HTTP application.

    Attributes:
        reader: answers queries from the store.
        judge: judges stored traces again.
        problems: why the collector is not ready, a line each; empty when it is.
        metrics: the collector's own metrics as Prometheus text.
        judges: what LLM judges do in this process.
        any_host: lifts the check that requests are for a loopback name.
        clock: unix nanos.
        delete: deletes traces; None: nobody can.
        backup: makes a backup of the whole store; None for all projects but the default one.
        tokens: of the pages' forms.
        listeners: told of every judgement, for live pages.
        endpoints: bound receivers; empty until they listen.
        losses: lost rows of the store, a full disk, trouble with Kafka, a line each; empty where nothing is wrong.
        admit: counts so many bytes that the project's programs send; raises RetryableError where there is no room.
        lags: messages of Kafka that wait, by topic and partition.
        settings: rules of detectors that are switched off or lowered.
        close_session: has a session (service, id) closed and judged at once; False where nobody judges sessions.
        keyring: tells who may ask.
        redact: takes out of log records what may not be stored.
        sign_ins: makes the cookies of those who sign in to the pages.
    """

    reader: StoredReader
    judge: JudgeAgain
    problems: Callable[[], Sequence[str]]
    metrics: Callable[[], bytes]
    judges: Callable[[], JudgesStatus] = JudgesStatus
    any_host: bool = False
    clock: Callable[[], int] = time.time_ns
    delete: Delete | None = None
    backup: MakeBackup | None = None
    tokens: Tokens = field(default_factory=Tokens)
    listeners: Listeners = field(default_factory=Listeners)
    endpoints: Callable[[], Sequence[Endpoint]] = tuple
    losses: Callable[[], Sequence[str]] = tuple
    admit: Callable[[int], None] = admit_all
    lags: Callable[[], Mapping[str, int]] = dict
    settings: RuleSettings = NO_SETTINGS
    close_session: Callable[[str, str], bool] = no_sessions
    keyring: Keyring = field(default_factory=lambda: Keyring(environment={}))
    redact: Redact = list
    sign_ins: SignIns = field(default_factory=lambda: SignIns(token_bytes(32)))
