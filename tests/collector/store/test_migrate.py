"""Migrations: every one is run here, on the real engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from store_parts import a_judged_trace, a_span

from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.ledger import outcomes
from tracejury.collector.store.migrate import BREAKING, Migration, ensure, migrate, migrations, require_migrated, status
from tracejury.collector.store.reading import StoredReading
from tracejury.schemas.errors import ConfigError, StoreError
from tracejury.schemas.judged_rows import TRACE_COLUMNS, VERDICT_COLUMNS, trace_row, verdict_row
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.rows import SPAN_COLUMNS, SPAN_SELECT, span_columns, span_from_row
from tracejury.schemas.spans import SpanEvent, SpanLink
from tracejury.schemas.verdicts import Judgement, Outcome, Subject, SubjectKind, Verdict


@pytest.fixture
def bare(new_dsn: str) -> Iterator[Store]:
    """A store whose database does not exist yet."""
    store = Store.open(new_dsn)
    yield store
    store.close()


def tables(store: Store) -> set[str]:
    return {row[0] for row in store.rows("SELECT name FROM system.tables WHERE database = currentDatabase()")}


def test_files_are_numbered_without_gaps() -> None:
    """0001, 0002 …: the order of the names is the order of application."""
    assert [int(m.name[:4]) for m in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_migration_that_only_adds_leaves_earlier_versions_at_work() -> None:
    """What takes something away from them says so in its name; from the first on that processes of two versions see."""
    takes = re.compile(r"\b(DROP (TABLE|COLUMN)|RENAME|MODIFY COLUMN)\b")
    assert [m.name for m in migrations()[44:] if takes.search(m.sql) and BREAKING not in m.name] == []


def test_all_migrations_make_all_tables(bare: Store) -> None:
    """From nothing to the full schema, once; a second run applies nothing."""
    assert status(bare).pending == migrations()
    assert migrate(bare) == tuple(m.name for m in migrations())
    assert tables(bare) == {
        "migrations", "spans", "logs", "texts", "otel_traces", "annotated_spans", "agent_runs", "traces", "judgements",
        "findings", "verdicts", "ledger", "annotations", "answers", "architectures", "install", "joins",
        "exports", "deliveries", "outlines", "human_scores", "reviews", "preferences", "cluster_names",
        "session_labels", "pattern_labels", "alerts", "alert_rules", "saved_views", "scores", "score_outcomes",
        "run_facts", "underived", "deletions", "errors", "rule_calibrations", "receipts", "sweeps", "requests",
        "media",
    }  # fmt: skip
    assert migrate(bare) == ()
    assert status(bare).applied == tuple(m.name for m in migrations())
    assert status(bare).pending == ()


def test_each_migration_can_be_run_again(bare: Store) -> None:
    """DDL knows no transactions: a migration that broke off before its status row is run again, harmlessly."""
    migrate(bare)
    bare.command("TRUNCATE TABLE migrations")
    assert migrate(bare) == tuple(m.name for m in migrations())


def test_what_was_judged_before_llm_judges_stays_readable(bare: Store) -> None:
    """A store of the first version is brought up to date with its rows: they were all judged, by no model."""
    migrate(bare, migrations()[:5])
    names = ("TraceId", "SubjectKind", "SubjectId", "Judge", "Outcome", "JudgedAt", "ReceivedAt")
    bare.insert("judgements", names, [["t"], ["trace"], ["t"], ["detectors"], ["done"], [5], [7]])
    migrate(bare)
    word = LedgerRow(
        "", "t", SubjectKind.TRACE, "t", "detectors", "", "", Outcome.DONE, "", "", 1.0, 0, 0, 5, 7
    )  # fmt: skip
    assert outcomes(bare, ["t"]) == {"t": {(SubjectKind.TRACE, "t", "detectors"): word}}
    assert bare.rows("SELECT Judge, Reason, Probability, Model FROM ledger") == [("detectors", "", 1.0, "")]


def test_events_stored_before_their_types_were_stay_readable(bare: Store) -> None:
    """Spans of an older store read as before, their events and links without types; and so they do once merged."""
    names = [m.name for m in migrations()]
    migrate(bare, migrations()[: names.index("0015_types_of_events_and_links.sql")])
    old = a_span(events=(SpanEvent(1, "e", {"a": "1"}), SpanEvent(2, "f", {})), links=(SpanLink("c" * 32, "d" * 16),))
    row = dict(zip(SPAN_COLUMNS, span_columns([old], 5), strict=True))
    del row["Events.AttributeTypes"], row["Links.AttributeTypes"]
    bare.insert("spans", list(row), list(row.values()))
    migrate(bare)
    for _ in range(2):
        assert [span_from_row(row) for row in bare.rows(f"SELECT {SPAN_SELECT} FROM spans FINAL")] == [old]
        bare.command("OPTIMIZE TABLE spans FINAL")


def test_verdicts_stored_before_checks_stay_readable(bare: Store) -> None:
    """They read as before, without value and items; and so they do once merged."""
    names = [m.name for m in migrations()]
    migrate(bare, migrations()[: names.index("0023_checks.sql")])
    subject = Subject(SubjectKind.AGENT_RUN, "run", "t")
    old = Verdict("goal", "v", subject, 2, "model", reasons="because")
    judgement = Judgement(subject, "goal", "v", "h", 5, 7, Outcome.DONE)
    row = dict(zip(VERDICT_COLUMNS, verdict_row(old, judgement), strict=True))
    new = {"Value", "Raw", "Numerator", "Denominator"}
    row = {name: value for name, value in row.items() if name not in new and not name.startswith("Items.")}
    bare.insert("verdicts", list(row), [[value] for value in row.values()])
    migrate(bare)
    for _ in range(2):
        assert StoredReading(bare).load_verdicts(["t"]) == {"t": [old]}
        bare.command("OPTIMIZE TABLE verdicts FINAL")


def test_a_migration_that_fails_is_not_recorded(bare: Store) -> None:
    """What broke off stays pending, and everything before it is applied."""
    good = Migration("0001_good.sql", "CREATE TABLE IF NOT EXISTS a (x Int8) ENGINE = Memory;\n")
    half = Migration("0002_half.sql", "CREATE TABLE IF NOT EXISTS b (x Int8) ENGINE = Memory;\nCREATE TABLE c (no;\n")
    with pytest.raises(StoreError):
        migrate(bare, [good, half])
    assert status(bare, [good, half]).pending == (half,)
    assert tables(bare) == {"migrations", "a", "b"}


def test_every_table_has_the_tenant_first(bare: Store) -> None:
    """In each sort key; sort keys cannot get it later."""
    migrate(bare)
    keys = bare.rows("SELECT name, sorting_key FROM system.tables WHERE database = currentDatabase() "
                     "AND engine LIKE '%MergeTree' AND name != 'migrations'")  # fmt: skip
    assert len(keys) == 35
    assert all(key.startswith("tenant, ") for _, key in keys)


def test_a_changed_migration_is_noticed(bare: Store) -> None:
    """Files are append-only: one that differs from what was applied stops the start."""
    first = Migration("0001_a.sql", "CREATE TABLE IF NOT EXISTS a (x Int8) ENGINE = Memory;\n")
    migrate(bare, [first])
    with pytest.raises(ConfigError, match=r"0001_a.sql was changed"):
        status(bare, [Migration(first.name, first.sql + "-- edited\n")])


def test_a_store_of_a_newer_version_is_refused(bare: Store) -> None:
    """An old program does not write to a schema that it does not know."""
    migrate(bare)
    with pytest.raises(ConfigError, match="use a newer tracejury"):
        status(bare, migrations()[:-1])


def test_pending_migrations_of_a_server_stop_the_start(bare: Store) -> None:
    """The text names what is pending and what to run; afterwards it starts."""
    with pytest.raises(ConfigError, match=rf"lacks {len(migrations())} migrations \(0001_spans.sql.*tracejury migrate"):
        require_migrated(bare)
    ensure(bare)  # embedded: migrated without asking
    require_migrated(bare)


def test_statements_end_at_a_semicolon_before_a_line_end() -> None:
    """Comments and semicolons within a line do not split."""
    migration = Migration("0001_x.sql", "-- one; two\nSELECT ';' AS a, 1;\n\nSELECT 2;  \n")
    assert migration.statements == ("-- one; two\nSELECT ';' AS a, 1", "SELECT 2")


def test_why_earlier_rows_are_not_judged_is_told_by_what_they_say(bare: Store) -> None:
    """A run, a convention, neither, and no judging at all: those have no column of their own for it."""
    before = [one for one in migrations() if not one.name.endswith("_not_judged.sql")]
    migrate(bare, before)
    told = [
        a_judged_trace(trace_id="1" * 32),
        a_judged_trace(trace_id="2" * 32, runs=()),
        a_judged_trace(trace_id="3" * 32, runs=(), conventions=()),
        a_judged_trace(trace_id="4" * 32, judged_at=0, runs=()),
    ]
    rows = [trace_row(one.trace, one.judgement, one.spent) for one in told]
    later = {"NotJudged", "Runs.Inferred", "Runs.Beside", "Runs.NotJudged", "Prompts"}
    known = [at for at, name in enumerate(TRACE_COLUMNS) if name not in later and not name.startswith("Edges.")]
    insert_rows(
        bare, "traces", tuple(TRACE_COLUMNS[at] for at in known), [tuple(row[at] for at in known) for row in rows]
    )
    migrate(bare)
    why = ["", NotJudged.NO_CALLS, NotJudged.UNKNOWN_CONVENTION, NotJudged.WAITING]
    assert [row[0] for row in bare.rows("SELECT NotJudged FROM traces ORDER BY TraceId")] == why
    assert bare.rows("SELECT DISTINCT Inferred, Beside FROM agent_runs") == [(False, False)]
    assert bare.rows("SELECT tenant, Done FROM underived FINAL") == [("", 0)]
