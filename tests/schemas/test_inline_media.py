"""What is taken out of rows: every text comes back as it was sent, whatever stands in it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sent_media import HEADS, MARK, MARKED, PIECES, digest, encoded, texts
from store_parts import a_log, a_span

from tracejury.schemas.inline_media import LEAST_RUN, LONG, TakenMedia, put_back
from tracejury.schemas.spans import LogRecord, Span, SpanEvent


def taken(*rows: Span) -> tuple[list[Span], list[list[str]], dict[str, str]]:
    """The rows with references, what each refers to, and what was taken by hash."""
    media = TakenMedia()
    kept, hashes = media.take(rows)
    columns = media.columns(5)
    return list(kept), hashes, dict(zip(columns[2], columns[3], strict=True))


@pytest.mark.parametrize("pieces", [PIECES, MARKED], ids=["without our mark", "with references that the sender wrote"])
@given(data=st.data())
def test_every_text_comes_back_as_it_was_sent(pieces: st.SearchStrategy[str], data: st.DataObject) -> None:
    """In attributes, events and bodies; of rows that are stored together, and whose media are read together."""
    anything = texts(pieces)
    events = (SpanEvent(1, "e", {"said": data.draw(anything)}),)
    spans = [a_span(attributes={"a": data.draw(anything), "b": data.draw(anything)}, events=events) for _ in range(2)]
    logs = [a_log(body=data.draw(anything), attributes={"c": data.draw(anything)})]
    media = TakenMedia()
    (kept, of_spans), (records, of_logs) = media.take(spans), media.take(logs)
    columns = media.columns(5)
    found = dict(zip(columns[2], columns[3], strict=True))
    assert put_back(kept, of_spans, found) == spans
    assert put_back(records, of_logs, found) == logs
    assert all(digest(run) == name for name, run in found.items())
    assert set(found) == {name for own in (*of_spans, *of_logs) for name in own}


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("before", ["", "data:;base64,", '{"a": "', "x" * 61 + ".", "p " * 3000])
def test_what_a_text_holds_is_taken_out_whole(kind: str, before: str) -> None:
    """With its padding, wherever it begins; all else stays."""
    run = encoded(kind, 7001)
    row = a_span(attributes={"a": f'{before}{run}"}} {run}', "b": "short"})
    (kept,), (hashes,), media = taken(row)
    assert kept.attributes == {"a": f'{before}{MARK}{digest(run)}"}} {MARK}{digest(run)}', "b": "short"}
    assert hashes == [digest(run)]
    assert media == {digest(run): run}


def test_base64_for_urls_is_taken_too() -> None:
    """As clients of Gemini write bytes."""
    data = base64.b64decode(encoded())
    run = base64.urlsafe_b64encode(data).decode()
    assert set("-_") <= set(run)
    assert taken(a_span(attributes={"a": run}))[2] == {digest(run): run}


@pytest.mark.parametrize(
    "text",
    [
        encoded(size=LONG * 3 // 4 - 40), "x " * LONG + encoded(size=LEAST_RUN * 3 // 4 - 20), encoded("unknown"),
        "0123456789abcdef" * 1000, "A" * 20_000, ("A" * 4095 + ".") * 5, f"{MARK} {encoded()}",
    ],
    ids=["a short text", "a short run", "no known type", "digits", "one letter", "lines of 4096", "with our mark"],
)  # fmt: skip
def test_what_stays(text: str) -> None:
    """The row itself, which then refers to nothing."""
    row = a_span(attributes={"a": text})
    (kept,), hashes, media = taken(row)
    assert (kept, hashes, media) == (row, [[]], {})
    assert kept is row


def test_a_row_with_our_mark_in_a_short_text_keeps_all() -> None:
    """In any text that references are put back into."""
    for row in (
        a_span(attributes={"a": encoded(), "b": MARK}),
        a_span(attributes={"a": encoded()}, events=(SpanEvent(1, "e", {"b": MARK}),)),
    ):
        assert taken(row) == ([row], [[]], {})


def test_one_picture_is_there_once_a_trace() -> None:
    """However often it is sent, by spans and log records; in a project of its own."""
    run, media = encoded(), TakenMedia()
    media.take([a_span(attributes={"a": run}), a_span(span_id="2" * 16, attributes={"a": run, "b": f" {run} {run}"})])
    logs: list[LogRecord] = [a_log(body=run), a_log(body=run, trace_id="f" * 32), a_log(body=run, tenant="lab")]
    media.take(logs)
    tenants, traces, hashes, data, arrived = media.columns(5)
    assert list(zip(tenants, traces, strict=True)) == sorted(
        {("", logs[0].trace_id), ("", "f" * 32), ("lab", logs[0].trace_id)}
    )
    assert (set(hashes), set(data), arrived) == ({digest(run)}, {run}, [5, 5, 5])


def test_what_is_lost_stays_a_reference() -> None:
    """The other one in the text comes back."""
    one, other = encoded(number=1), encoded(number=2)
    kept, hashes, media = taken(a_span(attributes={"a": f"{one} {other}"}))
    del media[digest(one)]
    assert put_back(kept, hashes, media)[0].attributes == {"a": f"{MARK}{digest(one)} {other}"}
