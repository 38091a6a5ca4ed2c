"""Descriptions of architectures: what a person wrote goes before what was derived, and no version is lost."""

from __future__ import annotations

from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized

from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.client import Store
from tracejury.schemas.llm_rows import Source, text_version

HOSTILE = "a/b' OR 1=1 -- {x:String} \\"


def kept(store: Store, tenant: str = "") -> StoredArchitectures:
    """With a clock that never stands still."""
    ticks = count(1)
    return StoredArchitectures(store, tenant, clock=lambda: next(ticks))


def test_the_edited_one_holds_until_it_is_cleared(store: Store) -> None:
    """Whatever is derived meanwhile; afterwards the last derived one holds."""
    service = kept(store)
    assert service.current("shop") is None
    derived = service.keep("shop", "one", Source.DERIVED)
    assert (derived.version, service.current("shop")) == (text_version("one"), derived)
    edited = service.keep("shop", "mine", Source.EDITED)
    newer = service.keep("shop", "two", Source.DERIVED)
    assert service.current("shop") == edited
    assert service.clear_edit("shop")
    assert not service.clear_edit("shop")
    assert service.current("shop") == newer
    assert [(a.source, a.text) for a in service.versions("shop")] == [
        (Source.CLEARED, ""), (Source.DERIVED, "two"), (Source.EDITED, "mine"), (Source.DERIVED, "one"),
    ]  # fmt: skip


def test_an_edited_one_may_be_cleared_to_nothing(store: Store) -> None:
    """Where nothing was derived, none holds."""
    service = kept(store)
    service.keep("shop", "mine", Source.EDITED)
    service.clear_edit("shop")
    assert service.current("shop") is None
    assert service.all_current() == []


def test_the_same_again_is_no_new_version(store: Store) -> None:
    """Deriving goes on with every trace; only a change is kept. A text may come back."""
    service = kept(store)
    for text in ("one", "one", "two", "one"):
        service.keep("shop", text, Source.DERIVED)
    assert [a.text for a in service.versions("shop")] == ["one", "two", "one"]


def test_services_are_apart_and_may_be_called_anything(store: Store) -> None:
    """Also nothing, and what looks like SQL; of another tenant nothing shows."""
    service = kept(store)
    for name in ("", HOSTILE, "shop"):
        service.keep(name, f"of {name}", Source.DERIVED)
    service.keep("shop", "mine", Source.EDITED)
    assert [(a.service, a.text) for a in service.all_current()] == [
        ("", "of "), (HOSTILE, f"of {HOSTILE}"), ("shop", "mine"),
    ]  # fmt: skip
    assert kept(store, "other").all_current() == []
    assert kept(store, "other").current("shop") is None


@settings(max_examples=sized(8, 25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(Source), st.sampled_from("abc")), max_size=10))
def test_any_history(store: Store, steps: list[tuple[Source, str]]) -> None:
    """After any sequence of deriving, editing and clearing: the last edit unless cleared, else the last derived."""
    store.command("TRUNCATE TABLE architectures")
    service = kept(store)
    edited = derived = ""
    for source, text in steps:
        if source is Source.CLEARED:
            assert service.clear_edit("shop") == bool(edited)
            edited = ""
            continue
        service.keep("shop", text, source)
        edited, derived = (text, derived) if source is Source.EDITED else (edited, text)
    current = service.current("shop")
    assert (current.text if current else "") == (edited or derived)
    assert [a.text for a in service.all_current()] == ([edited or derived] if edited or derived else [])
