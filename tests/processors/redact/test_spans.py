"""Redaction of whole spans and log records."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from redacting import KEY, SECRETS, own, ready

from tracejury.processors.redact.rules import Action, RedactionRule
from tracejury.processors.redact.spans import MARK_KEY, Redacted, Redactor
from tracejury.processors.redact.texts import TextRedactor
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink

MAIL = SECRETS["email"]
RESOURCE = {"service.name": "shop", "host.owner": MAIL}
SPAN = Span(
    "4" * 32, "4" * 16, "5" * 16, f"chat {MAIL}", 1_732_350_000_000_000_000, 1_732_350_001_000_000_000,
    attributes={"a": MAIL, "n": "4111111111111111", "d": "4111111111111111", "b": "QUJD", "l": f'["{MAIL}"]'},
    attribute_types={"n": "int", "d": "double", "b": "bytes", "l": "array"},
    events=(SpanEvent(7, f"e {MAIL}", {"x": f'{{"k": 1, "m": "{MAIL}"}}', "n": "1"}, {"x": "kvlist", "n": "int"}),),
    links=(SpanLink("6" * 32, "6" * 16, f"v={MAIL}", {"y": MAIL}),),
    status_message=f"no {MAIL}", service="shop", resource_attributes=RESOURCE, scope_name=f"of {MAIL}",
    trace_state=f"v={MAIL}", flags=3, tenant="t", received_at=9, cut=2,
)  # fmt: skip
LOG = LogRecord(
    "4" * 32, "4" * 16, 5, 6, event_name=f"n {MAIL}", body=f'{{"k": "{MAIL}"}}', body_type="kvlist",
    attributes={"a": MAIL}, severity_text=MAIL, service="shop", resource_attributes=RESOURCE, tenant="t",
)  # fmt: skip


def redact(batch: Batch, rules: list[RedactionRule] | None = None) -> tuple[Batch, Redacted]:
    redacted = Redacted()
    return Redactor(TextRedactor(rules or ready(), KEY)).batch(batch, redacted), redacted


def test_nothing_of_a_secret_is_left_anywhere() -> None:
    """Attributes, events, links, names, messages, scopes, resources, tracestate."""
    batch, redacted = redact(Batch([SPAN], [LOG]))
    assert "lovelace" not in repr(batch)
    assert redacted.by_rule() == {"email": 15, "card": 1}
    assert redacted.counts["email", "host.owner"] == 1  # one resource of both


def test_ids_times_and_types_stay() -> None:
    """Where a value is a mark it is a string; lists and mappings stay such."""
    batch, _ = redact(Batch([SPAN], [LOG]))
    span, record = batch.spans[0], batch.logs[0]
    touched = {"name", "attributes", "attribute_types", "events", "links", "status_message", "scope_name"}
    touched |= {"trace_state", "resource_attributes", "resource_attribute_types"}
    for item, before in ((span, SPAN), (record, LOG)):
        for field in fields(before):
            if field.name not in touched | {"body", "event_name", "severity_text"}:
                assert getattr(item, field.name) == getattr(before, field.name), field.name
    assert span.attributes == {
        "a": "[redacted:email]", "n": "[redacted:card]", "d": "4111111111111111", "b": "QUJD",
        "l": '["[redacted:email]"]', MARK_KEY: '["card","email"]',
    }  # fmt: skip
    assert span.attribute_types == {"d": "double", "b": "bytes", "l": "array", MARK_KEY: "array"}
    texts = {"x": '{"k": 1, "m": "[redacted:email]"}', "n": "1"}
    assert span.events == (SpanEvent(7, "e [redacted:email]", texts, {"x": "kvlist", "n": "int"}),)
    assert span.links == (SpanLink("6" * 32, "6" * 16, "", {"y": "[redacted:email]"}),)
    assert (span.trace_state, record.body_type, record.body) == ("", "kvlist", '{"k": "[redacted:email]"}')


def test_what_has_no_match_is_the_same_object() -> None:
    """No mark, no copy."""
    clean = replace(SPAN, name="chat", attributes={"a": "b"}, events=(), links=(), status_message="", scope_name="",
                    trace_state="", resource_attributes={"service.name": "shop"})  # fmt: skip
    batch = Batch([clean])
    after, redacted = redact(batch)
    assert after is batch
    assert not redacted.counts


def test_twice_is_once() -> None:
    """A second collector leaves the spans of the first as they are; one with more rules adds its own names."""
    once, _ = redact(Batch([SPAN], [LOG]))
    again, redacted = redact(once)
    assert again == once
    assert not redacted.counts
    more, _ = redact(once, [own("chat", "chat")])
    assert more.spans[0].attributes[MARK_KEY] == '["card","chat","email"]'


def test_a_service_that_is_redacted_is_so_everywhere() -> None:
    """The column is the attribute; dropped it is empty."""
    for action, expected in ((Action.MASK, "[redacted:s]"), (Action.DROP, "")):
        after, _ = redact(Batch([SPAN]), [RedactionRule("s", action, "service.name")])
        assert after.spans[0].service == expected
        assert after.spans[0].resource_attributes.get("service.name", "") == expected


def test_a_body_is_named_by_a_key() -> None:
    """Masked whole it is a string."""
    after, _ = redact(Batch(logs=[LOG]), [RedactionRule("body", key="log.body")])
    assert (after.logs[0].body, after.logs[0].body_type) == ("[redacted:body]", "string")


def test_a_mark_that_a_client_forged_is_replaced_or_kept_as_text() -> None:
    """Whatever it holds, ours is a list of names; its own text is searched as well."""
    forged: list[Any] = ["{", '{"a": 1}', "[1]", f'["{MAIL}"]']
    for text in forged:
        after, _ = redact(Batch([replace(SPAN, attributes={"a": MAIL, MARK_KEY: text})]))
        assert "lovelace" not in repr(after), text
        assert '"email"' in after.spans[0].attributes[MARK_KEY]
