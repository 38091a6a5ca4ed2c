"""What spans hold is hostile: on pages it is text, whatever it is, and it does not make them slow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from browsing import Watched
from trace_pages import CALL, MANAGER, START, TOOL, TRACE_ID, Pages, a_span, failing_run, llm, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink

ATTACKS = {
    "script": "<script>window.hit = 1</script>",
    "image": "<img src=x onerror='window.hit = 1'><svg onload='window.hit = 1'>",
    "attribute": "\" autofocus onfocus='window.hit = 1' x=\"",
    "link": "<a href='javascript:window.hit=1'>press</a> javascript:window.hit=1",
    "template": "{{ 7 * 191 }} {% raw %} ${7 * 191}",
    "close": "</textarea></title></style></script></div></details><h1>gone</h1>",
    "style": "<style>body { display: none }</style><link rel=stylesheet href=http://example.org/x.css>",
    "elsewhere": "<iframe src=http://example.org></iframe><img src=http://example.org/x.png>",
    "terminal": "\x1b[2J\x1b]0;title\x07 wiped",
    "overrides": "abc\u202egnp.exe\u2066\u200b\u2060x",
    "nul": "a\x00b\x08c\x7f",
    "surrogate": "half \ud800 a pair",
    "htmx": "<div hx-get='/live' hx-trigger='load'>x</div>",
}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def hostile_run(text: str) -> list[Span]:
    """A run that says `text` wherever something can be said; the store takes no lone surrogates, as ever."""
    text = text.encode("utf-8", "replace").decode()
    events = (SpanEvent(START, text[:200] or "e", {text[:100]: text, "exception.message": text}),)
    return [
        a_span(
            MANAGER, "", "AGENT", text, 0, 9,
            attributes={"input.value": text, "output.value": text, "agent.name": text, text[:100]: text,
                        "session.id": text[:100]},
            status_code=2, status_message=text, events=events, service=text[:100],
            links=(SpanLink("a" * 32, "b" * 16, "", {text[:100]: text}),),
        ),
        llm(CALL, MANAGER, 1, [("system", text), ("user", text), (text[:50], text)], text,
            read_file=json.dumps({"path": text, text[:50]: [text]})),
        a_span(TOOL, MANAGER, "TOOL", text, 2, 1, attributes={"tool.name": text, "input.value": text,
               "output.value": text}, status_code=2, status_message=text, events=events, scope_name=text[:100]),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_markup_and_controls_show_as_text(name: str, pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """Nothing runs, nothing is loaded, nothing disappears, and what is hidden is shown."""
    log = LogRecord(TRACE_ID, CALL, START, START, body=ATTACKS[name].encode("utf-8", "replace").decode())
    pages.put(*hostile_run(ATTACKS[name]), logs=[log])
    site = open_site(pages.url)
    for path in (
        f"/traces/{TRACE_ID}?span={CALL}",
        f"/traces/{TRACE_ID}?span={MANAGER}",
        f"/traces/{TRACE_ID}?span={TOOL}",
        f"/spans/{TOOL}",
        f"/traces/{TRACE_ID}/spans/{CALL}/raw",
        "/errors",
    ):
        site.open(path)
        assert site.page.locator("main").is_visible()
        assert site.page.evaluate("window.hit === undefined")
        assert site.page.locator("main iframe, main style, main script, main link, main [hx-trigger=load]").count() == 0
        text = site.page.locator("main").inner_text()
        assert not set(text) & set("\x1b\x00\x08\u202e\u2066\u200b")
        assert "1337" not in text
    site.check_quiet()


def test_what_is_hidden_is_shown(pages: Pages) -> None:
    """Overrides and controls stand as escapes; the text itself is whole."""
    pages.put(*hostile_run(ATTACKS["overrides"] + ATTACKS["terminal"]))
    text = pages.get(f"/traces/{TRACE_ID}/panel", span=CALL).text
    assert r"abc\u202egnp.exe\u2066\u200b\u2060x" in text
    assert r"\x1b[2J" in text


HUGE = {
    "20 MB in one line": "A" * 20_000_000,
    "100,000 lines": "line\n" * 100_000,
    "a JSON bomb": json.dumps({"a": "[" * 50_000}),
    "deep JSON": "[" * 900 + "]" * 900,
    "no white space, all folding": "\u0130\u200b" * 2_000_000,
    "20 MB of escapes": "\x1b\u202e" * 5_000_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_what_is_huge_is_cut_and_can_be_had_as_text(name: str, pages: Pages) -> None:
    """The page has a bounded size and leads to all of it; how long it takes tests/bench/pages.py measures."""
    text = HUGE[name]
    spans = failing_run(result=text)
    spans[2] = a_span(
        TOOL, MANAGER, "TOOL", "read_file", 3, 1,
        attributes={"tool.name": "read_file", "input.value": text, "output.value": text},
    )  # fmt: skip
    pages.put(*spans)
    for path in (f"/traces/{TRACE_ID}?span={TOOL}", f"/spans/{TOOL}", f"/traces/{TRACE_ID}/spans/{TOOL}/raw"):
        page = pages.get(path)
        assert page.status_code == 200
        assert len(page.content) < 2_000_000
    if len(text) > 10_000:
        shown = pages.get(f"/traces/{TRACE_ID}", span=TOOL).text
        link = shown.partition("/text?at=")[2].partition('"')[0].replace("&amp;", "&")
        whole = pages.get(f"/traces/{TRACE_ID}/text?at={link}")
        assert len(whole.text) >= len(text) - 10  # named values are laid out a line each, without JSON's marks
        assert "attachment" in whole.headers["content-disposition"]


def test_thousands_of_attributes_and_events(pages: Pages) -> None:
    """The page shows some of them and says how many it leaves out; the text has all."""
    many = {f"key.{n:05d}": "v" * 100 for n in range(20_000)}
    events = tuple(SpanEvent(START, f"event {n}", {"n": str(n)}) for n in range(5_000))
    pages.put(a_span(MANAGER, "", "AGENT", "agent", 0, 1, attributes=many, events=events))
    page = pages.get(f"/traces/{TRACE_ID}/spans/{MANAGER}/raw")
    assert len(page.content) < 2_000_000
    assert "more:" in page.text
    text = pages.get(f"/traces/{TRACE_ID}/spans/{MANAGER}/raw.txt").text
    assert text.count("key.") == 20_000
    assert len(pages.get(f"/traces/{TRACE_ID}", span=MANAGER).content) < 2_000_000


def test_runs_below_runs_without_end(pages: Pages) -> None:
    """A thousand agents, each started by the one before: nothing recurses, and all of them can be reached."""
    ids = [f"{n:016x}" for n in range(1, 1001)]
    spans = [
        a_span(i, ids[n - 1] if n else "", "AGENT", f"agent {n}", n, 1000 - n, attributes={"agent.name": f"agent {n}"})
        for n, i in enumerate(ids)
    ]
    calls = [llm(f"{n + 5000:016x}", i, n, [("user", "go")], "gone") for n, i in enumerate(ids)]
    pages.put(*spans, *calls)
    assert pages.get(f"/traces/{TRACE_ID}").status_code == 200
    page = pages.get(f"/traces/{TRACE_ID}", span=ids[-1])
    assert page.status_code == 200
    assert f'id="span-{ids[-1]}"' in page.text


def test_times_that_make_no_sense(pages: Pages) -> None:
    """Clocks that run backwards, no clock at all, the end of time: every bar lies within its lane."""
    late = 2**63 - 1
    pages.put(
        a_span(MANAGER, "", "AGENT", "agent", 0, 1),
        a_span("1" * 16, MANAGER, "TOOL", "before", -5_000, 1),
        a_span("2" * 16, MANAGER, "TOOL", "backwards", 9, -8),
        a_span("3" * 16, MANAGER, "TOOL", "never", 0, 0, start=0, end=0),
        a_span("4" * 16, MANAGER, "TOOL", "end of time", 0, 0, start=late, end=late),
    )
    page = pages.get(f"/traces/{TRACE_ID}").text
    bars = re.findall(r'<rect class="[^"]*" x="([-\d.]+)%"[^>]* width="([-\d.]+)%"', page)
    assert len(bars) >= 4
    assert all(0 <= float(left) <= 100 and 0 < float(width) <= 100 for left, width in bars)


def test_addresses_that_are_no_ids(pages: Pages) -> None:
    """They are refused, and nothing of them is taken for markup."""
    for path in ("/traces/%3Cscript%3E", "/spans/%00", "/traces/..%2f..%2fetc", f"/traces/{'9' * 5000}"):
        page = pages.get(path)
        assert page.status_code in (404, 422)
        assert "<script>x" not in page.text


def test_a_form_from_elsewhere_changes_nothing(pages: Pages) -> None:
    """Without its token, or for a finding, a span or a name that there is not, nothing is kept."""
    pages.put(*failing_run())
    refused = pages.client.post("/feedback/score", data={"annotator": "x", "trace": TRACE_ID, "run": MANAGER})
    assert refused.status_code == 403
    form = {"annotator": "x", "trace": TRACE_ID, "run": MANAGER, "dimension": "GF", "score": "3"}
    for changed in (
        {"annotator": " "}, {"annotator": "\x1b[2J"}, {"trace": "0" * 32}, {"dimension": "XX"}, {"score": "4"},
        {"trace": "<script>"},
    ):  # fmt: skip
        assert pages.post("/feedback/score", **{**form, **changed}).status_code in (404, 422)
    assert pages.post("/feedback/review", **form, probability="nan").status_code == 422
    assert pages.post("/feedback/opinion", **form, finding="0" * 32, opinion="agree").status_code == 404
    assert pages.post("/feedback/missed", **form, span="f" * 16, category="Goal Deviation").status_code == 422
    assert pages.reader.labels.of_traces([TRACE_ID]) == {}
    kept = pages.post("/feedback/score", **form, base="//example.org/traces/x")
    assert kept.status_code == 303
    assert kept.headers["location"].startswith(f"/traces/{TRACE_ID}?")
    assert len(pages.reader.labels.of_traces([TRACE_ID])[TRACE_ID].human_scores) == 1
