"""Search hits, rows and objects are cut one by one, so that each keeps what it begins with."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said
from transcribed import told

from tracejury.processors.transcript import TranscriptLimits
from tracejury.processors.transcript.shown_lines import shortened_items
from tracejury.schemas.transcript import Step, characters_cut

LIMIT = TranscriptLimits().result
SNIPPET = "says this and that about the harbour and its depth, and a great deal more. " * 6


def hits(form: str) -> str:
    """Ten search hits."""
    return "\n".join(
        form.format(n=n, title=f"Harbour no {n}", url=f"https://harbours.example/{n}", snippet=f"It {SNIPPET}")
        for n in range(1, 11)
    )


def step_with(result: str) -> Step:
    return told(Said("l1", "I search.", [Did("search", {"q": "x"}, result, span_id="t1")])).steps[1]


@pytest.mark.parametrize(
    "form",
    [
        "{n}. [{title}]({url})\nSource: Atlas\n\n{snippet}\n",
        "Search Result {n}:\n{title}\n{url}\n{snippet}",
        "- {title} <{url}>: {snippet}",
        "Title: {title}\nLink: {url}\nSnippet: {snippet}",
        "## {title}\n{url}\n{snippet}\n",
    ],
)
def test_every_hit_keeps_its_head(form: str) -> None:
    """Whatever tells the hits apart; the notice says what their ends had."""
    result = f"A search found 10 results:\n\n{hits(form)}"
    step = step_with(result)
    assert all(f"Harbour no {n}" in step.text and f"https://harbours.example/{n}" in step.text for n in range(1, 11))
    assert len(step.text) <= LIMIT + 300
    assert len(result) - LIMIT - 200 <= step.cut <= len(result) - LIMIT + 300


def test_objects_on_one_line_are_items() -> None:
    """As tools return lists."""
    found = [{"title": f"Harbour no {n}", "url": f"https://h.example/{n}", "text": SNIPPET} for n in range(8)]
    for separators in ((", ", ": "), (",", ":")):
        step = step_with(json.dumps(found, separators=separators))
        assert all(f"Harbour no {n}" in step.text for n in range(8))


def test_other_texts_lose_their_middle() -> None:
    """Prose, a page with one long item, and lists too long for each row to say something."""
    prose = "The harbour was dredged in the autumn, as the report says at length. " * 200
    rows = "".join(f"- row {n} of a table that goes on and on\n" for n in range(400))
    for text in (prose, f"{'- a link' * 3}\n- b\n- c\n- d\n{prose}", rows):
        assert shortened_items(text, LIMIT) is None
        step = step_with(text)
        assert step.text.endswith(f"{text.strip()[-30:]}\n")
        assert step.cut > 0


TEXTS = st.lists(
    st.text(st.sampled_from("ab {}[]:,.1-*#\\n\n"), max_size=60)
    | st.sampled_from(["- item", "1. hit ", '{"a": "b"}, ', "Title: x", " […]"]).map(lambda text: f"\n{text * 8}"),
    max_size=60,
).map("".join)


@given(TEXTS, st.integers(200, 2_000))
def test_nothing_is_made_up_or_lost(text: str, limit: int) -> None:
    """What is kept and what is cut are the text; the size is about the limit and the notice true."""
    short = shortened_items(text, limit)
    if short is None:
        return
    told_lines, kept, cut = short
    assert all(part in text for part in (*kept, *cut))
    assert len("".join(kept)) <= limit
    assert characters_cut(told_lines) == sum(map(len, cut))
    assert all(line.startswith((" ", "[… ends of items, ")) for line in told_lines.split("\n"))
    separators = 2 * len(kept)
    assert len("".join("".join((*kept, *cut)).split())) + separators >= len("".join(text.split()))
