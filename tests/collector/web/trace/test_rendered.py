"""Markdown, JSON and images of spans: what a page makes of them, and that hostile ones stay text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Literal

import pytest
from browsing import Watched
from hypothesis import given
from hypothesis import strategies as st
from trace_pages import CALL, MANAGER, TRACE_ID, Pages, a_span, llm, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.trace.markdown import markdown
from tracejury.collector.web.trace.pretty_json import pretty_json

TAGS = {"p", "strong", "em", "ul", "ol", "li", "pre", "code", "small", "blockquote", "hr", "br"} | {
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
REPORT = """# Trains <b onclick=window.hit=1>

1. one **bold** [press](javascript:window.hit=1)
2. two ![x](http://example.org/x.png) <http://example.org>

| city | time |
|:-----|-----:|
| Bern | 3 |

```js" onload=window.hit=1
<script>window.hit = 1</script>
```
<img src=http://example.org/y.png onerror=window.hit=1>
"""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One that opens."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@given(st.lists(st.one_of(st.text(max_size=20), st.sampled_from(re.split(r"(\W)", REPORT))), max_size=60))
def test_nothing_but_plain_tags_comes_of_markdown(parts: list[str]) -> None:
    """Whatever is written: no attribute but the number of a list, no link, image or tag of the text's own."""
    shown = Tags(markdown("# x\n" + "".join(parts)) or "")
    assert shown.tags <= TAGS
    assert shown.attributes <= {"start"}


def test_words_are_no_markdown_and_too_many_marks_are_left_as_they_are() -> None:
    """A text without syntax keeps its white space; matching thousands of marks would take too long."""
    assert markdown("a plain answer\n  with an indent, 2 * 3 and snake_case") is None
    assert markdown("**a**" + "*_" * 3_000) is None
    assert "<strong>a</strong>" in (markdown("**a**") or "")


@given(JSON)
def test_pretty_json_changes_white_space_alone(value: object) -> None:
    """The values are the same, and no character of them is another one."""
    text = json.dumps({"value": value})
    pretty = pretty_json(text)
    assert pretty is not None
    assert json.loads(pretty) == json.loads(text)
    assert pretty == json.dumps({"value": value}, indent=2)


@pytest.mark.parametrize("text", ["", "words", "[1", '{"a": 1} x', "1", "[" * 90 + "]" * 90, f"[{'1,' * 60_000}1]"])
def test_what_is_not_indented(text: str) -> None:
    """No JSON, a bare value, too deep, too long."""
    assert pretty_json(text) is None


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def test_a_page_renders_them_and_loads_nothing(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """In a browser, light and dark: a table, a list, code, long JSON folded, an image; remote ones stay text."""
    from playwright.sync_api import expect

    data = json.dumps({str(n): n for n in range(50)})
    content = "llm.input_messages.0.message.contents"
    sent = {
        f"{content}.1.message_content.image.image.url": f"data:image/png;base64,{PIXEL}",
        f"{content}.2.message_content.image.image.url": "http://example.org/z.png",
        f"{content}.3.message_content.image.image.url": "data:image/svg+xml;base64,PHN2Zz4=",
    }
    asked = [("user", "Look at this."), ("tool", data)]
    calls = [llm(CALL, MANAGER, 1, asked, REPORT), llm("9" * 16, MANAGER, 5, asked, "Fine.")]
    calls = [replace(call, attributes={**call.attributes, **sent}) for call in calls]
    pages.put(a_span(MANAGER, "", "AGENT", "agent", 0, 9), *calls)
    site = open_site(pages.url)
    page = site.page
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        site.open(f"/traces/{TRACE_ID}?span={CALL}")
        shown = page.locator(f"#at-{CALL}")
        assert shown.locator(".markdown td").all_inner_texts() == ["Bern", "3"]
        assert shown.locator(".markdown ol li").count() == 2
        assert "<script>window.hit = 1</script>" in shown.locator(".markdown pre").inner_text()
        assert shown.locator(".markdown a, .markdown img").count() == 0
        assert "http://example.org/z.png" in shown.inner_text()
        assert "image/svg+xml, 5 B, not shown · download" in shown.inner_text()
        expect(shown.locator("img")).to_have_js_property("naturalWidth", 1)
        assert page.evaluate("window.hit === undefined")
        assert shown.locator("details.block", has_text="Tool result").get_attribute("open") is None
        site.check_accessible()
    site.open(f"/traces/{TRACE_ID}?span={'9' * 16}")
    assert page.locator(f"#at-{'9' * 16}").is_visible()
    assert page.locator("#panel img").count() == 0
    site.check_quiet()
