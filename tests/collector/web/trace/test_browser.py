"""The page of a trace in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from browsing import Watched
from forgotten_traces import forget_traces
from large_trace import large_trace
from trace_pages import ANSWER, CALL, MANAGER, TOOL, TRACE_ID, Pages, a_span, failing_run, llm, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.taxonomy import Severity

HEIGHT = 620
COVERS = "([x, y]) => !!document.elementFromPoint(x, y)?.closest('.head')"


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


@pytest.fixture
def trace(pages: Pages, open_site: Callable[[str], Watched]) -> Watched:
    """A page of the site with a trace in which a tool fails."""
    pages.put(*failing_run())
    return open_site(pages.url)


def test_evidence_is_marked_in_the_text_that_holds_it(trace: Watched) -> None:
    """Each error leads to a panel in which its quote is highlighted; nothing is complained of or loaded."""
    trace.open(f"/traces/{TRACE_ID}")
    links = trace.page.locator("#trace-errors .jump")
    assert links.count() >= 1
    for number in range(links.count()):
        finding = (links.nth(number).get_attribute("data-findings") or "").split()[0]
        links.nth(number).click()
        mark = trace.page.locator(f'#panel mark[data-findings~="{finding}"]').first
        mark.wait_for()
        assert f"#error-{links.nth(number).get_attribute('data-error')}" in trace.page.url
        quote = trace.page.locator(f"#finding-{finding} > .quote").inner_text()
        assert mark.inner_text().split() == quote.split()
    trace.check_quiet()
    trace.check_accessible()


def test_a_page_opens_on_its_worst_error_and_on_a_phone_at_its_top(trace: Watched, pages: Pages) -> None:
    """With the question and the answer above; the address of any of an error's findings leads to it, unfolded."""
    page = trace.page
    page.set_viewport_size({"width": 390, "height": 800})
    trace.open(f"/traces/{TRACE_ID}")
    current = page.locator('#trace-errors .jump[aria-current="true"]')
    current.wait_for()
    severities = page.locator("#trace-errors .jump .severity").all_inner_texts()
    assert current.locator(".severity").inner_text() == ("HIGH" if "HIGH" in severities else "MEDIUM")
    assert page.evaluate("scrollY") == 0
    talk = page.locator("#trace-talk")
    assert "What is the mean of data.csv?" in talk.inner_text()
    assert "It is 42." in talk.inner_text()
    outline = pages.reader.trace_queries.trace_index(TRACE_ID)
    assert outline is not None
    errors = pages.reader.trace_queries.assessment(outline.outline, Confidence.of("")).errors
    folded = [finding for error in errors for finding in error.findings[1:]]
    assert folded
    for finding in folded:
        trace.open(f"/traces/{TRACE_ID}?span={finding.span_id}#finding-{finding.id}")
        page.locator(f"#finding-{finding.id}").wait_for()
        assert page.evaluate("document.activeElement.id") == f"finding-{finding.id}"
    trace.check_quiet()
    trace.check_accessible()


def test_the_worst_error_comes_first_and_the_title_stays(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """Whatever place the address names, on a low screen: what it names stands below the title, not beneath it."""
    pages.put(*failing_run())
    site = open_site(pages.url)
    page = site.page
    page.set_viewport_size({"width": 1200, "height": HEIGHT})
    outline = pages.reader.trace_queries.trace_index(TRACE_ID)
    assert outline is not None
    errors = pages.reader.trace_queries.assessment(outline.outline, Confidence.of("recall")).errors
    ranks = [error.severity(0.15).rank for error in errors]
    assert len(set(ranks)) > 1
    marks = [f"#error-{e.id}, #panel mark[data-findings~='{e.lead.id}']" for e in errors]
    places = {
        f"?span={e.lead.span_id}&profile=recall#error-{e.id}": mark for e, mark in zip(errors, marks, strict=True)
    }
    for place, named in ({"": "", "?profile=recall": "", f"?span={TOOL}": f"#at-{TOOL}"} | places).items():
        page.goto("about:blank")  # another fragment of one page would be no load
        site.open(f"/traces/{TRACE_ID}{place}")
        page.locator("#panel h2").wait_for()
        title, head = page.locator("h1").bounding_box(), page.locator(".head").bounding_box()
        assert title
        assert head
        assert page.evaluate(COVERS, [title["x"] + 5, title["y"] + title["height"] / 2]), place
        boxes = [one.bounding_box() for one in page.locator(named).all()] if named else []
        below = [box for box in boxes if box and head["y"] + head["height"] <= box["y"] < HEIGHT]
        assert below or not named, place
    site.open(f"/traces/{TRACE_ID}?profile=recall")
    shown = page.locator("#trace-errors .jump .severity").all_inner_texts()
    assert [Severity(level).rank for level in shown] == sorted(ranks, reverse=True)
    site.check_quiet()
    site.check_accessible()


def test_keys_walk_errors_and_the_tree(trace: Watched) -> None:
    """`n` shows the next error; arrows move through the tree, right and left open and close, Enter shows."""
    page = trace.page
    trace.open(f"/traces/{TRACE_ID}?span={MANAGER}")
    page.locator("#panel h2", has_text="analyst").wait_for()
    page.keyboard.press("n")
    page.locator('#trace-errors .jump[aria-current="true"]').wait_for()
    first = page.locator('#trace-errors .jump[aria-current="true"]').get_attribute("data-error")
    assert f"#error-{first}" in page.url
    page.keyboard.press(".")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    focused = "document.activeElement.closest('.node')?.id"
    assert page.evaluate(focused) == f"span-{MANAGER}"
    page.keyboard.press("ArrowLeft")
    assert not page.locator(f"#span-{CALL}").is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == f"span-{CALL}"
    page.keyboard.press("Enter")
    page.locator(f"#panel #at-{CALL}").wait_for()
    assert f"span={CALL}" in page.url
    page.go_back()
    page.locator(f"#panel #error-{first}").wait_for()
    trace.check_quiet()


def test_an_address_opens_its_span(trace: Watched) -> None:
    """`?span=` selects it in the tree and shows it, also without scripts."""
    trace.open(f"/traces/{TRACE_ID}?span={ANSWER}")
    assert trace.page.locator('#tree .pick[aria-current="true"]').get_attribute("data-panel") == f"span={ANSWER}"
    assert trace.page.locator(f"#panel #at-{ANSWER}").is_visible()


def test_feedback_is_kept_shown_and_withdrawn(trace: Watched) -> None:
    """One says who one is once; the opinion stands beside the finding, after a reload, too, and can be taken back."""
    page = trace.page
    trace.open(f"/traces/{TRACE_ID}")
    card = page.locator("#panel .finding").first
    card.locator("input[name=annotator]").fill("Ada L.")
    card.get_by_role("button", name="Disagree", exact=True).click()
    card.locator(".said", has_text="Ada L. disagrees").wait_for()
    trace.open(f"/traces/{TRACE_ID}")
    card = page.locator("#panel .finding").first
    assert card.locator(".who strong").inner_text() == "Ada L."
    card.get_by_role("button", name="Agree", exact=True).click()
    card.locator(".said", has_text="Ada L. agrees").wait_for()
    assert card.locator(".said li").count() == 1
    card.get_by_role("button", name="Withdraw").click()
    card.locator(".said").wait_for(state="detached")
    trace.check_quiet()


def test_a_missed_error_a_score_and_a_review(trace: Watched, pages: Pages) -> None:
    """They are kept with who said so; a review carries what the queue drew it with."""
    page = trace.page
    trace.open(f"/traces/{TRACE_ID}?span={ANSWER}&stratum=s1&probability=0.25")
    section = page.locator(f"#panel #at-{ANSWER}")
    section.get_by_text("An error was missed here").click()
    section.locator("details.missed input[name=annotator]").fill("Ada")
    section.locator("select[name=category]").select_option("Goal Deviation")
    section.locator("input[name=quote]").fill("The mean is 42.")
    section.get_by_role("button", name="Save").click()
    section.locator(".said", has_text="Goal Deviation").wait_for()
    trace.open(f"/traces/{TRACE_ID}?span={MANAGER}&stratum=s1&probability=0.25&drawn={MANAGER}")
    page.locator("#panel select[name=dimension]").select_option("GF")
    page.locator("#panel select[name=score]").select_option("0")
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#panel .said", has_text="Goal Fulfil").wait_for()
    page.get_by_role("button", name="Reviewed: the rest is right").click()
    page.locator("#panel .said", has_text="has reviewed").wait_for()
    labels = pages.reader.labels.of_traces([TRACE_ID])[TRACE_ID]
    assert [(a.category, a.span_id, a.annotator, a.evidence) for a in labels.annotations] == [
        ("Goal Deviation", ANSWER, "Ada", "The mean is 42.")
    ]
    assert [(s.dimension.value, s.score) for s in labels.human_scores] == [("GF", 0)]
    assert [(r.stratum, r.probability) for r in labels.reviews] == [("s1", 0.25)]
    trace.check_quiet()


def test_a_trace_grows_while_one_looks(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """New turns come in, provisional findings become current; what is open and has the focus stays so."""
    agent, call, tool, answer = failing_run()
    site = open_site(pages.url)
    pages.put(call, settle=False)
    site.open(f"/traces/{TRACE_ID}?span={CALL}")
    page = site.page
    page.locator("text=running").wait_for()
    page.evaluate("window.stayed = true")
    page.locator(f"#span-{CALL} .pick").first.focus()
    pages.put(tool, settle=False)
    page.locator(f"#span-{TOOL}").wait_for()
    assert page.evaluate("document.activeElement.closest('.node').id") == f"span-{CALL}"
    pages.put(answer, settle=False)
    page.locator(f"#span-{ANSWER}").wait_for()
    page.locator("#trace-errors .jump[data-state=provisional]").first.wait_for()
    pages.put(agent)
    page.locator('#trace-facts[data-state="settled"]').wait_for()
    page.locator("#trace-errors .jump[data-state=current]").first.wait_for()
    assert page.locator("#trace-errors .jump[data-state=provisional]").count() == 0
    assert page.evaluate("window.stayed")
    site.check_quiet()


def test_an_error_that_is_taken_back_goes(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """A copy of the tool's span that ended well replaces the failed one: the page says that the error went."""
    _, call, tool, answer = failing_run()
    site = open_site(pages.url)
    pages.put(call, tool, answer, settle=False)
    site.open(f"/traces/{TRACE_ID}")
    site.page.locator("#trace-errors .jump").first.wait_for()
    done = {**tool.attributes, "output.value": "1, 2, 3"}
    pages.put(a_span(TOOL, MANAGER, "TOOL", "read_file", 3, 2, attributes=done), settle=False)
    site.page.locator("#toasts", has_text="taken back").wait_for()
    site.check_quiet()


def test_a_large_trace_shows_before_its_contents_are_read(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """The tree is there at once, closed runs open on demand, and the panel follows."""
    spans = list(large_trace(1100))
    pages.put(*spans)
    forget_traces(pages.reader.trace_queries)  # as after a restart
    site = open_site(pages.url)
    page = site.page
    site.open(f"/traces/{spans[0].trace_id}?span={spans[0].span_id}")
    page.locator("#panel h2", has_text="manager").wait_for()
    trace_index = pages.reader.trace_queries.trace_index(spans[0].trace_id)
    assert trace_index is not None
    outline = trace_index.outline
    inner = outline.runs[-1].turns[0].span_id
    assert page.locator(f"#span-{inner}").count() == 0
    twist = page.locator(f"#span-{outline.runs[-1].span_id} > .line > button.twist")
    twist.click()
    page.locator(f"#span-{inner}").wait_for()
    twist.click()
    assert not page.locator(f"#span-{inner}").is_visible()
    site.check_quiet()
    site.check_accessible()


def test_the_live_tail(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """Findings come in as they are made; while it is paused they wait."""
    site = open_site(pages.url)
    page = site.page
    site.open("/errors")
    page.locator("text=Nothing was found in the last 24 hours").wait_for()
    pages.put(*failing_run())
    page.locator("#tail .tail-row").first.wait_for()
    shown = page.locator("#tail .tail-row").count()
    page.click("#tail-pause")
    pages.put(*(replace(s, trace_id="d" * 32) for s in failing_run()))
    page.locator("#tail-status", has_text="new").wait_for()
    assert page.locator("#tail .tail-row").count() == shown
    page.click("#tail-pause")
    page.locator(f"#tail a[href*='{'d' * 32}']").first.wait_for()
    site.check_quiet()
    site.check_accessible()
    page.locator("#tail .tail-row a").first.click()
    page.locator("#panel .finding").first.wait_for()


def test_span_pages_are_quiet_and_accessible(trace: Watched) -> None:
    """The page of a span, and the span as it was sent."""
    for path in (f"/spans/{TOOL}", f"/spans/{MANAGER}", f"/traces/{TRACE_ID}/spans/{TOOL}/raw"):
        trace.open(path)
        trace.check_accessible()
    trace.check_quiet()


def test_messages_that_are_folded_open(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """A system prompt is folded; its text is there on a click."""
    pages.put(*failing_run(), llm("8" * 16, MANAGER, 8, [("system", "Another rule.")], "Yes."))
    site = open_site(pages.url)
    site.open(f"/traces/{TRACE_ID}?span={CALL}")
    text = site.page.locator("#panel .text", has_text="You are an analyst.")
    assert not text.is_visible()
    site.page.locator("#panel summary", has_text="System prompt").click()
    assert text.is_visible()
