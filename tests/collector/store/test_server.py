"""A ClickHouse server by its DSN: the same store, over HTTP."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clickhouse_http import ClickHouseServer, clickhouse_server
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_log, a_span

from tracejury.collector.store import opening
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.config import WriterConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.install import mark_key
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.ledger import StoredLedger
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.migrate import ensure, migrations, status
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import ConfigError, PermanentError, RetryableError, StoreError
from tracejury.schemas.llm_rows import AnswerRow, Source
from tracejury.schemas.queries.ledger import LedgerQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.verdicts import Outcome


@pytest.fixture
def server(store_folder: Path) -> Iterator[ClickHouseServer]:
    with clickhouse_server(store_folder) as server:
        yield server


@pytest.fixture
def remote(server: ClickHouseServer, new_dsn: str) -> Iterator[SharedStore]:
    """The server's store; its database does not exist yet."""
    store = SharedStore.open(f"{server.dsn}/{new_dsn.rpartition('=')[2]}")
    yield store
    store.close()


def test_pending_migrations_stop_the_start(remote: SharedStore) -> None:
    """A server is migrated only when told to; the check itself changes nothing."""
    with pytest.raises(ConfigError, match=f"lacks {len(migrations())} migrations"):
        ensure(remote)
    assert not remote.database_exists()
    assert ensure(remote, allowed=True) == tuple(m.name for m in migrations())
    assert ensure(remote) == ()
    assert status(remote).pending == ()


async def test_commit_judge_and_read(remote: SharedStore, tmp_path: Path) -> None:
    """Spans, logs and findings there and back; a culprit is isolated; the server's disk is not ours to judge."""
    ensure(remote, allowed=True)
    opening.apply_settings(remote)
    assert not remote.embedded
    assert remote.free_bytes() is None
    writer = GroupCommitWriter(remote, WriterConfig(dead_letter=str(tmp_path)))
    await writer.start()
    spans = [a_span(span_id=f"{n:016x}", start=n, end=2**64 - 1 - n) for n in range(1, 30)]
    outcomes = await asyncio.gather(
        writer.submit(Batch(spans, [a_log()], 1)), writer.submit(Batch([a_span(name="\ud800")], (), 1)),
        return_exceptions=True,
    )  # fmt: skip
    assert outcomes[0] == 0
    assert isinstance(outcomes[1], PermanentError)
    await writer.stop(10)
    judging = StoredJudging(remote)
    assert judging.load_spans([TRACE_ID]) == {TRACE_ID: (spans, [a_log()])}
    assert judging.unjudged("v", 10) == [("", TRACE_ID)]
    finding = a_finding(evidence="it's \\ \n é😀")
    judging.save([a_judged_trace(finding, received=time.time_ns())])
    assert judging.unjudged("v", 10) == []
    found = StoredReading(remote).find_findings(ErrorQuery(Confidence(0, 0), 10, agent="planner", judge="loops"))
    assert [(s.finding, s.service, s.agent) for s in found] == [(finding, "shop", "planner")]
    assert StoredReading(remote).find_findings(ErrorQuery(Confidence(0, 0), 10, judge="\\ ' \n \t x")) == []


def test_what_llm_judges_keep(remote: SharedStore) -> None:
    """Ledger, answers, architectures and the secret of the installation, as with the embedded engine."""
    ensure(remote, allowed=True)
    panel = StoredLlmJudging(remote)
    found = a_finding(judge="goal-fulfilment", evidence="it's \\ \n é😀")
    panel.save([a_judged_subject("goal-fulfilment", found), a_judged_subject("plan-quality", outcome=Outcome.PENDING)])
    assert panel.run_findings([TRACE_ID]) == {TRACE_ID: [found]}
    assert [row.judge for row in panel.pending(1)] == ["plan-quality"]
    assert len(panel.outcomes([TRACE_ID])[TRACE_ID]) == 2
    assert len(StoredLedger(remote).entries(LedgerQuery(10))) == 2
    assert StoredLedger(remote).summary(LedgerQuery(10)) == {Outcome.DONE: 1, Outcome.PENDING: 1}
    now = time.time_ns()
    panel.keep([AnswerRow("k", "m", "it's \\ \n é😀", "stop", 5, 0, 1, None, now, "shop")])
    reply = panel.answer("k", "")
    assert reply is not None
    assert reply.text == "it's \\ \n é😀"
    assert [(s.service, s.usd, s.tokens, s.unpriced) for s in panel.spend(now)] == [("shop", 0.0, 6, 6)]
    architectures = StoredArchitectures(remote)
    architectures.keep("it's", "a\\b", Source.DERIVED)
    assert [a.text for a in architectures.versions("it's")] == ["a\\b"]
    assert architectures.current("it's") == architectures.versions("it's")[0]
    assert not architectures.clear_edit("it's")
    assert mark_key(remote) == mark_key(remote)


def test_our_statements_stay_out_of_the_servers_query_log(remote: SharedStore, server: ClickHouseServer) -> None:
    """And inserts return after the commit, not when a buffer of the server is flushed."""
    ensure(remote, allowed=True)
    server.requests.clear()
    remote.rows("SELECT 1")
    remote.insert("migrations", ("Name",), [["x"]])
    assert server.requests
    assert all((p["log_queries"], p["async_insert"]) == ("0", "0") for p, _ in server.requests)


def test_what_replaced_rows_of_rates_leave_is_deleted(remote: SharedStore, tmp_path: Path) -> None:
    """The daily sweep names them by tuples, with names that need quotes."""
    ensure(remote, allowed=True)
    names = ("tenant", "Unit", "Hour", "TraceId", "RunId", "FoldedAt", "Removed")
    for removed in (0, 1):
        remote.insert(
            "run_facts", names, [["it's"], ["run"], [498_879], ["a" * 32], ["b" * 16], [1 + removed], [removed]]
        )
    RetentionSweep(remote, lambda _: pytest.fail("nothing expires"), DeadLetterFolder(tmp_path, 1)).run()
    assert remote.rows("SELECT tenant, Removed FROM run_facts") == [("it's", 1)]


def test_credentials_reach_the_server(server: ClickHouseServer) -> None:
    """User and password of the DSN, as basic authentication."""
    SharedStore.open(server.dsn.replace("//", "//ann:p%40ss@") + "/x").close()
    expected = "Basic " + base64.b64encode(b"ann:p@ss").decode()
    assert {headers["Authorization"] for _, headers in server.requests} == {expected}


def test_errors_of_a_server(remote: SharedStore, server: ClickHouseServer) -> None:
    """As with the embedded engine; and while it is away, everything may pass."""
    ensure(remote, allowed=True)
    with pytest.raises(StoreError):
        remote.rows("SELECT no_such_column")
    server.away = True
    with pytest.raises(RetryableError, match="the store failed"):
        remote.rows("SELECT 1")
    with pytest.raises(RetryableError, match="the store failed"):
        StoredJudging(remote).save([a_judged_trace()])
    server.away = False
    assert remote.rows("SELECT 1") == [(1,)]


@contextmanager
def hindered(server: ClickHouseServer, how: str) -> Iterator[None]:
    """A server that is away, slow, or takes no rows."""
    if how == "slow":
        server.open.clear()
    else:
        setattr(server, how, True)
    yield
    server.away = server.is_read_only = False
    server.open.set()


async def test_what_a_server_does_not_take_is_sent_again(
    server: ClickHouseServer, new_dsn: str, tmp_path: Path
) -> None:
    """Refused so that senders keep it; what they send again is stored once, also where the first was stored late."""
    remote = SharedStore.open(f"{server.dsn}/{new_dsn.rpartition('=')[2]}?send_receive_timeout=1")
    ensure(remote, allowed=True)
    dead = DeadLetterFolder(tmp_path, 1)
    writer = GroupCommitWriter(remote, WriterConfig(dead_letter=str(tmp_path)))
    await writer.start()
    spans = [a_span(span_id=f"{n:016x}") for n in range(1, 5)]
    assert await writer.submit(Batch(spans[:1], (), 1)) == 0
    for span, how in zip(spans[1:], ("away", "is_read_only", "slow"), strict=True):
        with hindered(server, how):
            for _ in range(2):
                with pytest.raises(RetryableError, match="cannot take spans now"):
                    await writer.submit(Batch([span], [a_log()], 1))
        assert await writer.submit(Batch([span], [a_log()], 1)) == 0
    await writer.stop(10)
    assert StoredJudging(remote).load_spans([TRACE_ID]) == {TRACE_ID: (spans, [a_log()])}
    assert dead.projects() == set()
    remote.close()
