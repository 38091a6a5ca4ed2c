"""The prompt of a call on its page and in lists: name, template and variables, all of it text."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from trace_pages import CALL, MANAGER, TRACE_ID, Pages, a_span, llm, trace_pages

from tracejury.collector.store.shared_store import SharedStore

HOSTILE = "<script>window.hit=1</script>{{ 7 * 191 }}\u202e"


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def put(pages: Pages, **stated: str) -> None:
    """A run with one call that was made from a prompt."""
    call = llm(CALL, MANAGER, 1, [("user", "Describe Ulm.")], "A city.")
    call.attributes.update({key.replace("__", "."): value for key, value in stated.items()})  # type: ignore[attr-defined]
    pages.put(a_span(MANAGER, "", "AGENT", "agent", 0, 9), call)


def test_a_page_shows_template_and_variables(pages: Pages) -> None:
    """Folded, beside the messages that came of them; each text can be had as a whole."""
    variables = json.dumps({"city": "Ulm", "length": {"words": 12}})
    put(pages, llm__prompt_template__template="Describe {city}." + " Please." * 2000,
        llm__prompt_template__variables=variables, llm__prompt_template__version="7")  # fmt: skip
    page = pages.get(f"/spans/{CALL}").text
    assert "Prompt template" in page
    assert "city: Ulm\nlength: {&#34;words&#34;:12}" in page
    whole = pages.get(f"/traces/{TRACE_ID}/text", at=f"text:{CALL}", part="0").text
    assert whole.startswith("Describe {city}. Please.")
    assert whole.endswith(" Please.")


def test_lists_are_filtered_by_it(pages: Pages) -> None:
    """By name or by name and version; the page of the call leads there."""
    named = {"langfuse__observation__prompt__name": "describe", "langfuse__observation__prompt__version": "3"}
    put(pages, **named, session__id="s-1")
    assert '/traces?prompt=describe%403"' in pages.get(f"/traces/{TRACE_ID}", span=CALL).text
    for path in ("/api/traces", "/api/sessions"):
        for prompt, found in (("describe@3", 1), ("describe", 1), ("describe@4", 0), ("desc", 0)):
            assert len(pages.get(path, prompt=prompt).json()["items"]) == found, (path, prompt)
    assert "describe" in pages.get("/api/traces", prompt="describ").json()["unknown"]["prompt"]


def test_hostile_prompts_are_text(pages: Pages) -> None:
    """Names, templates, variables and their names."""
    put(pages, traceloop__prompt__key=HOSTILE, traceloop__prompt__template=HOSTILE,
        traceloop__prompt__template_variables=json.dumps({HOSTILE: HOSTILE}))  # fmt: skip
    for path in (f"/spans/{CALL}", f"/traces/{TRACE_ID}?span={CALL}"):
        page = pages.get(path).text
        assert "<script>window" not in page
        assert "\u202e" not in page
        assert "1337" not in page
        assert page.count("&lt;script&gt;window.hit=1") >= 4
