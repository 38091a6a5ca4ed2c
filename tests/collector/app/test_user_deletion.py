"""Deleting what is of a user: which traces these are, and the receipt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from judging_bench import Bench, span

from tracejury.collector.store.config import USER_ATTRIBUTES
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.deletion import Deletion, StoredUsers
from tracejury.collector.store.inserting import store_rows
from tracejury.collector.store.receipts import StoredReceipts
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.redact.ready import READY
from tracejury.processors.redact.rules import Action, RedactionRule
from tracejury.processors.redact.spans import Redactor
from tracejury.processors.redact.stored_names import stored_names
from tracejury.processors.redact.texts import TextRedactor
from tracejury.schemas.batch import Batch
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionKind
from tracejury.schemas.spans import LogRecord, Span

ANN, BOB = "ann@example.org", "bob"


def of(number: str, session: str = "", service: str = "shop", **attributes: str) -> Span:
    """A span of the trace of this digit."""
    one = span("1", trace_id=number * 32)
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    own = {**one.attributes, **named, **({"session.id": session} if session else {})}
    return replace(one, attributes=own, service=service)


def users(store: SharedStore) -> StoredUsers:
    return StoredUsers(store, USER_ATTRIBUTES)


@pytest.mark.parametrize("key", USER_ATTRIBUTES)
def test_a_trace_names_its_user_in_any_of_the_attributes(store: SharedStore, key: str) -> None:
    """Of spans, resources and log records; a part of a name is no name."""
    bench = Bench(store)
    plain = of("1")
    bench.commit(replace(plain, attributes={**plain.attributes, key: ANN}))
    bench.commit(replace(of("2"), resource_attributes={key: ANN}))
    bench.commit(of("3"), logs=[LogRecord("3" * 32, "", 1, 1, attributes={key: ANN})])
    bench.commit(replace(of("4"), attributes={key: f"{ANN}.uk"}))
    assert users(store).traces_of([ANN]) == ["1" * 32, "2" * 32, "3" * 32]


@pytest.mark.parametrize("metadata", ['{"user_id": "ann@example.org"}', '{"a": [1], "userId": "ann@example.org"}'])
def test_metadata_in_json_names_a_user(store: SharedStore, metadata: str) -> None:
    """As OpenInference writes what an application says."""
    Bench(store).commit(of("1", metadata=metadata), of("2", metadata="{broken"))
    assert users(store).traces_of([ANN]) == ["1" * 32]


def test_the_rest_of_a_users_sessions_is_the_users(store: SharedStore) -> None:
    """But for traces that name another user, sessions of another service, and traces without a session."""
    Bench(store).commit(
        of("1", "chat", user__id=ANN),
        of("2", "chat"),
        of("3", "chat", user__id=BOB),
        of("4", "chat", service="desk"),
        of("5"),
        of("6", "other"),
    )
    assert users(store).traces_of([ANN]) == ["1" * 32, "2" * 32]
    assert users(store).traces_of([BOB]) == ["2" * 32, "3" * 32]
    assert users(store).traces_of(["nobody"]) == []


def test_the_receipt_counts_what_went_and_names_nobody(store: SharedStore, tmp_path: Path) -> None:
    """Rows by table, dead letters, who was told; it is kept, and nothing of the user is left."""
    bench = Bench(store)
    bench.commit(replace(of("1", user__id=ANN), name="boom"), replace(of("2"), name="boom"))
    bench.wait(6)
    store_rows(
        store,
        "deliveries",
        "deliveries",
        ("tenant", "TraceId", "Webhook", "Fingerprint", "Event", "State", "At", "ReceivedAt"),
        [
            ("", "1" * 32, "pager", "f", "new", "done", 1, bench.now),
            ("", "2" * 32, "mail", "f", "new", "done", 1, bench.now),
        ],
    )
    letters = DeadLetterFolder(tmp_path, 1 << 20)
    kept = letters.keep_batch(Batch([of("1"), of("3", user__id=ANN), of("4")], (), 1), "no")
    body = letters.keep_body("traces", "json", b'{"userId":"' + ANN.encode() + b'"}')
    other = letters.keep_body("traces", "json", b'{"userId":"' + BOB.encode() + b'"}')
    deletion = Deletion(store, bench.judging, clock=lambda: bench.now, dead_letters=letters)
    receipt = deletion.delete(DeleteQuery(user=ANN))
    assert (receipt.kind, receipt.traces, receipt.rows_left, receipt.sent_to) == (DeletionKind.USER, 1, 0, ("pager",))
    assert (receipt.rows["spans"], receipt.rows["traces"], receipt.dead_letters) == (1, 1, 2)
    assert kept
    assert body
    assert other
    lines = kept.read_text().splitlines()
    assert [line for line in lines[1:] if "4" * 32 in line] == lines[1:]
    assert (body.exists(), other.exists()) == (False, True)
    assert StoredReceipts(store).latest(5) == [receipt]
    assert StoredReceipts(store, "globex").latest(5) == []
    assert ANN not in str(store.rows("SELECT * FROM receipts"))
    assert store.rows("SELECT DISTINCT TraceId FROM spans FINAL") == [("2" * 32,)]


def test_a_user_without_traces_gets_a_receipt_as_well(store: SharedStore) -> None:
    """That nothing was found is an answer, too."""
    bench = Bench(store)
    bench.commit(of("1", user__id=BOB))
    receipt = Deletion(store, bench.judging, clock=lambda: bench.now).delete(DeleteQuery(user=ANN))
    assert (receipt.traces, dict(receipt.rows)) == (0, {})
    assert StoredReceipts(store).latest(1) == [receipt]


def test_labels_of_a_user_go(store: SharedStore) -> None:
    """People quote what they read."""
    bench = Bench(store)
    bench.commit(of("1", user__id=ANN))
    names = ("tenant", "TraceId", "SpanId", "Id", "Annotator", "Evidence", "ChangedAt")
    store_rows(store, "labels", "annotations", names, [("", "1" * 32, "1" * 16, "x", "eve", "ann said", 1)])
    receipt = Deletion(store, bench.judging, clock=lambda: bench.now).delete(DeleteQuery(user=ANN))
    assert receipt.rows["annotations"] == 1
    assert store.rows("SELECT count() FROM annotations FINAL") == [(0,)]


def redactor(*rules: RedactionRule) -> Redactor:
    return Redactor(TextRedactor(list(rules), b"0123456789abcdef"))


def test_a_hashed_user_is_found_by_the_plain_id() -> None:
    """Whoever asks knows the id as agents send it."""
    (name,) = set(stored_names(redactor(RedactionRule("user", Action.HASH, "user.id")), USER_ATTRIBUTES, ANN)) - {ANN}
    assert name.startswith("[user:")


def test_a_mask_is_nobodys_name() -> None:
    """It stands for all users."""
    masks = RedactionRule("email", patterns=READY["email"]), RedactionRule("all", key="enduser.*")
    assert stored_names(redactor(*masks), USER_ATTRIBUTES, ANN) == [ANN]
    dropped = RedactionRule("user", Action.DROP, "*user*")
    assert stored_names(redactor(dropped), USER_ATTRIBUTES, ANN) == [ANN]


def test_findings_of_another_trace_stay(store: SharedStore) -> None:
    """A deletion takes no more than the receipt says."""
    bench = Bench(store)
    bench.commit(replace(span("1", output="boom"), attributes={**span("1", output="boom").attributes, "user.id": ANN}))
    bench.commit(span("1", output="boom", trace_id="c" * 32))
    bench.wait(6)
    receipt = Deletion(store, bench.judging, clock=lambda: bench.now).delete(DeleteQuery(user=ANN))
    assert receipt.rows["findings"] == 1
    assert store.rows("SELECT TraceId FROM findings FINAL") == [("c" * 32,)]
