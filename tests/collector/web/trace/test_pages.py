"""The page of a trace and its fragments over a real store, as a browser without scripts gets them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator

import pytest
from large_trace import large_trace
from store_parts import a_finding, a_judged_subject
from trace_pages import ANSWER, CALL, MANAGER, SECOND, TOOL, TRACE_ID, Pages, a_span, failing_run, llm, trace_pages

from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.window import field_time
from tracejury.judges.verification import verified
from tracejury.schemas.findings import Verification
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from tracejury.schemas.taxonomy import Severity, with_group
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def test_the_page_shows_tree_findings_and_the_place_of_the_first(pages: Pages) -> None:
    """Runs, turns and calls stand in the tree; what the first finding quotes is marked where it stands."""
    pages.put(*failing_run())
    page = pages.get(f"/traces/{TRACE_ID}")
    assert page.status_code == 200
    for span_id in (MANAGER, CALL, TOOL, ANSWER):
        assert f'id="span-{span_id}"' in page.text
    assert "<mark" in page.text
    assert 'data-state="settled"' in page.text
    assert '<dt>Status</dt><dd class="status-ok">' in page.text


def test_an_error_names_its_spans_and_its_findings_once(pages: Pages) -> None:
    """At its primary span all of it; elsewhere its role there; ids are unique in whatever is shown."""
    pages.put(*failing_run())
    trace_index = pages.reader.trace_queries.trace_index(TRACE_ID)
    assert trace_index is not None
    errors = pages.reader.trace_queries.assessment(trace_index.outline, Confidence.of("")).errors
    assert any(len(error.spans) > 1 for error in errors)
    for error in errors:
        roles = {role.value.capitalize() for role in error.spans.values()}
        panel = pages.get(f"/traces/{TRACE_ID}/panel", span=error.lead.span_id).text
        card = panel.partition(f'id="error-{error.id}"')[2].partition("</article>")[0]
        assert html.escape(error.title) in card
        assert with_group(error.lead.taxonomy, error.lead.category) in html.unescape(card)
        assert roles <= set(re.findall(r"<dt>(.*?)</dt>", card))
        assert card.count('class="finding ') == len(error.findings)
        for span_id in error.spans:
            shown = pages.get(f"/traces/{TRACE_ID}/panel", span=span_id).text
            ids = re.findall(r' id="([^"]+)"', shown)
            assert len(ids) == len(set(ids))
            assert f"#error-{error.id}" in shown or f'id="error-{error.id}"' in shown
            assert pages.get(f"/spans/{span_id}").text.count(f"#error-{error.id}") >= 1


def test_the_lead_of_an_error_and_what_is_below_the_profile_are_marked(pages: Pages) -> None:
    """At each of its findings, by the profile that is asked for."""
    pages.put(*failing_run())
    trace_index = pages.reader.trace_queries.trace_index(TRACE_ID)
    assert trace_index is not None
    errors = pages.reader.trace_queries.assessment(trace_index.outline, Confidence.of("recall")).errors
    mixed = [error for error in errors if len({finding.confidence for finding in error.findings}) > 1]
    assert mixed
    for error, least in [(one, least) for one in mixed for least in (0.0, one.confidence())]:
        panel = pages.get(f"/traces/{TRACE_ID}/panel", span=error.lead.span_id, profile=str(least)).text
        card = panel.partition(f'id="error-{error.id}"')[2].partition("</article>")[0]
        assert card.count(">Lead finding by</a>") == 1
        assert card.count("below the profile</a>") == sum(finding.confidence < least for finding in error.findings)


def test_lists_name_the_worst_error_of_each_trace(pages: Pages) -> None:
    """The one that its page opens on, in the profile of the list; a trace without errors has none."""
    pages.put(*failing_run())
    pages.put(a_span("a" * 16, "", "CHAIN", "job", 0, 3, trace_id="d" * 32))
    opened = re.search(r'data-opened="(\w+)"', pages.get(f"/traces/{TRACE_ID}").text)
    assert opened is not None
    shown = pages.get("/traces").text
    assert re.findall(r"#error-(\w+)", shown) == [opened[1]]
    assert "HIGH" in shown
    worst = {row.trace_id: row.worst for row in pages.reader.traces(TraceQuery(Confidence(0.0, 0.0), 10))}
    one = worst.pop(TRACE_ID)
    assert one is not None
    assert (one.trace_id, one.severity, worst) == (TRACE_ID, Severity.HIGH, {"d" * 32: None})
    assert not any(row.worst for row in pages.reader.traces(TraceQuery(Confidence(1.0, 1.0), 10)))
    findings = [one.finding for one in pages.reader.findings(ErrorQuery(Confidence(0.0, 0.0), 50))]
    for finding in findings:
        (error,) = pages.reader.errors_of([finding], Confidence(0.0, 0.0))
        assert finding.id in error.error.findings
    assert pages.get("/overview/worst").text.count("#error-") == 1


def test_an_error_is_found_by_its_id_and_those_of_its_findings(pages: Pages) -> None:
    """Or the beginning of one; an unknown id is not found."""
    pages.put(*failing_run())
    opened = re.search(r'data-opened="(\w+)"', pages.get(f"/traces/{TRACE_ID}").text)
    assert opened is not None
    error = pages.reader.error(opened[1], Confidence.of(""))
    assert error is not None
    for some_id in (opened[1], opened[1][:20], *(finding.id for finding in error.findings)):
        target = pages.get(f"/errors/{some_id}").headers["location"]
        assert target == f"/traces/{TRACE_ID}?span={error.located.error.span_id}#error-{opened[1]}"
    assert pages.get("/errors/" + "0" * 32).status_code == 404


def test_an_unknown_trace_or_span_is_not_found(pages: Pages) -> None:
    """In one line, and as a page for people."""
    assert pages.get("/traces/" + "0" * 32).status_code == 404
    pages.put(*failing_run())
    assert pages.get(f"/traces/{TRACE_ID}", span="f" * 16).status_code == 404
    assert pages.get(f"/traces/{TRACE_ID}/text", at=f"text:{CALL}", part="99").status_code == 404
    assert pages.get(f"/traces/{TRACE_ID}/text", at="call:x", part="-1").status_code == 404


def test_messages_are_shown_once_a_run(pages: Pages) -> None:
    """The answer's call was sent the task again: only the tool's result is new to it."""
    pages.put(*failing_run(task="the whole question"))
    panel = pages.get(f"/traces/{TRACE_ID}/panel", span=ANSWER).text
    assert "the whole question" not in panel
    assert "Tool result" in panel
    assert "the whole question" in pages.get(f"/traces/{TRACE_ID}/panel", span=CALL).text


def test_a_late_span_shows_although_an_outline_is_kept(pages: Pages) -> None:
    """What is kept of a large settled trace is not used any more once a span has come since."""
    spans = list(large_trace(1100))
    pages.put(*spans)
    trace_id = spans[0].trace_id
    assert f"<dd>{len(spans)}</dd>" in pages.get(f"/traces/{trace_id}").text.replace("\u202f", "")
    late = a_span("e" * 16, spans[0].span_id, "TOOL", "late_tool", 1, 1, trace_id=trace_id)
    pages.put(late)
    page = pages.get(f"/traces/{trace_id}", span="e" * 16)
    assert "late_tool" in page.text


def test_a_trace_without_agents_shows_its_spans(pages: Pages) -> None:
    """They stand outside of agent runs, nested as they were."""
    pages.put(a_span("a" * 16, "", "CHAIN", "job", 0, 3), a_span("b" * 16, "a" * 16, "CHAIN", "step", 1, 1))
    page = pages.get(f"/traces/{TRACE_ID}")
    assert "Outside of agent runs" in page.text
    assert page.text.index(f'id="span-{"a" * 16}"') < page.text.index(f'id="span-{"b" * 16}"')
    assert "2 spans" in page.text
    alone = "d" * 32
    pages.put(a_span("c" * 16, "", "CHAIN", "job", 0, 3, trace_id=alone))
    assert "1 spans" not in pages.get(f"/traces/{alone}").text


def test_only_what_failed(pages: Pages) -> None:
    """The filter leaves failures, findings and the way to them."""
    pages.put(*failing_run(), llm("9" * 16, MANAGER, 9, [("user", "more")], "Fine."))
    page = pages.get(f"/traces/{TRACE_ID}", only="errors").text
    assert f'id="span-{TOOL}"' in page
    assert f'id="span-{"9" * 16}"' not in page


def test_a_profile_that_there_is_not_is_refused(pages: Pages) -> None:
    """In one line."""
    pages.put(*failing_run())
    assert pages.get(f"/traces/{TRACE_ID}", profile="bogus").status_code == 422


def test_the_span_as_it_was_sent(pages: Pages) -> None:
    """All of it, as text; and as a file that no browser takes for a page."""
    pages.put(*failing_run())
    page = pages.get(f"/traces/{TRACE_ID}/spans/{TOOL}/raw")
    assert "openinference.span.kind" in page.text
    assert "exception.type" in page.text
    text = pages.get(f"/traces/{TRACE_ID}/spans/{TOOL}/raw.txt")
    assert text.headers["content-type"].startswith("text/plain")
    assert text.headers["x-content-type-options"] == "nosniff"
    assert text.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in text.headers["content-security-policy"]
    assert "status_message: FileNotFoundError: No such file: data.csv" in text.text


def test_a_span_page_says_what_is_wrong_and_what_came_before_and_after(pages: Pages) -> None:
    """Findings made here, and those elsewhere that name it."""
    pages.put(*failing_run())
    page = pages.get(f"/spans/{ANSWER}")
    assert page.status_code == 200
    assert "the span's page" not in page.text
    assert "the span's page" in pages.get(f"/traces/{TRACE_ID}/panel", span=ANSWER).text
    assert "What is wrong with it" in page.text
    assert "Turn 0" in page.text
    assert pages.get("/spans/" + "f" * 16).status_code == 404


def test_a_span_id_of_several_traces_asks_which(pages: Pages) -> None:
    """Span ids are unique within a trace only."""
    pages.put(*failing_run())
    pages.put(a_span(TOOL, "", "TOOL", "read_file", 0, 1, trace_id="d" * 32))
    page = pages.get(f"/spans/{TOOL}")
    assert TRACE_ID in page.text
    assert "d" * 32 in page.text
    assert pages.get(f"/spans/{TOOL}", trace="d" * 32).status_code == 200
    assert pages.get(f"/spans/{TOOL}", trace="e" * 32).status_code == 404


def test_the_branch_of_a_closed_node(pages: Pages) -> None:
    """A large trace opens step by step; a key that names nothing is empty."""
    spans = list(large_trace(1100))
    pages.put(*spans)
    base = f"/traces/{spans[0].trace_id}"
    trace_index = pages.reader.trace_queries.trace_index(spans[0].trace_id)
    assert trace_index is not None
    outline = trace_index.outline
    run = outline.runs[-1]
    assert run.span_id not in (run.turns[0].span_id, "")
    first = pages.get(base).text
    assert f'id="span-{run.turns[0].span_id}"' not in first
    branch = pages.get(f"{base}/branch", key=f"run:{run.id}").text
    assert f'id="span-{run.turns[0].span_id}"' in branch
    assert pages.get(f"{base}/branch", key="run:none").text.strip() == ""
    far = pages.get(f"{base}/branch", key=f"run:{run.id}", start="9" * 50)
    assert far.status_code == 200
    assert 'id="span-' not in far.text


def test_a_long_list_is_walked_by_its_links(pages: Pages) -> None:
    """250 runs side by side: those that are left out come by the links at the end of what is shown, each once."""
    runs = [a_span(f"{n + 256:016x}", MANAGER, "AGENT", f"worker {n}", n, 1) for n in range(250)]
    pages.put(a_span(MANAGER, "", "AGENT", "boss", 0, 300), *runs)
    found: list[str] = []
    link = f"/traces/{TRACE_ID}/tree"
    while link:
        shown = pages.get(link)
        assert shown.status_code == 200
        found += re.findall(r'id="span-(\w+)"', shown.text)
        more = re.search(r'<a href="([^"]+)" data-more>Later ones', shown.text)
        link = html.unescape(more[1]) if more else ""
    assert sorted(set(found) - {MANAGER}) == [span.span_id for span in runs]
    assert len(found) == len(set(found))


def test_scores_stand_at_their_run_with_their_reasons(pages: Pages) -> None:
    """0 to 3, not applicable, or unscored and why; those on the whole trace above the tree."""
    pages.put(*failing_run())
    of_run = Subject(SubjectKind.AGENT_RUN, MANAGER, TRACE_ID)
    of_trace = Subject(SubjectKind.TRACE, TRACE_ID, TRACE_ID)
    said = (
        (Verdict("goal-fulfilment", "v1", of_run, 1, "some/model", reasons="It <b>guessed</b>."), of_run),
        (Verdict("plan-quality", "v1", of_run, None, not_applicable=True), of_run),
        (Verdict("logical-consistency", "v1", of_run, None, unscored_reason="the model timed out"), of_run),
        (Verdict("adherence", "v1", of_run, 1, "some/model", quote_dropped=True), of_run),
        (Verdict("whole-trace", "v1", of_trace, 3), of_trace),
    )
    judged = [
        Judgement(subject, verdict.judge, "v1", "h", 1, 1, Outcome.DONE, verdicts=(verdict,))
        for verdict, subject in said
    ]
    StoredLlmJudging(pages.store).save([JudgedSubject(TraceState.SETTLED, tuple(judged))])
    panel = pages.get(f"/traces/{TRACE_ID}/panel", span=MANAGER).text
    assert re.search(r'goal-fulfilment: <strong class="score s1">1</strong> of 3', panel)
    assert "It &lt;b&gt;guessed&lt;/b&gt;." in panel
    assert re.search(r"plan-quality: <span class=\"muted\">not applicable", panel)
    assert "unscored: the model timed out" in panel
    assert "quote dropped" in re.search(r"adherence: .*?</summary>", panel, re.DOTALL).group()  # type: ignore[union-attr]
    assert panel.count("quote dropped") == 1
    page = pages.get(f"/traces/{TRACE_ID}").text
    assert "whole-trace" in page.partition('id="tree"')[0]
    assert "No scores:" not in page


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (Verification.VERIFIED, "verified"),
        (Verification.REFUTED, "refuted"),
        (Verification.UNVERIFIED, "not verified"),
        (Verification.NONE, ""),
    ],
)
def test_a_finding_says_in_words_what_another_judge_says_of_it(pages: Pages, said: Verification, word: str) -> None:
    """In the heading and, with model and reason, below; the reason is text."""
    pages.put(*failing_run())
    claim = a_finding(
        trace_id=TRACE_ID, span_id=ANSWER, agent_run_id=MANAGER, judge="goal-fulfilment", category="Goal Deviation"
    )
    reason = "<script>alert(1)</script> S3 says so."
    claim = verified(claim, said, "some/model", reason) if said else claim
    subject = Subject(SubjectKind.AGENT_RUN, MANAGER, TRACE_ID)
    StoredLlmJudging(pages.store).save([a_judged_subject("goal-fulfilment", claim, subject=subject)])
    panel = pages.get(f"/traces/{TRACE_ID}/panel", span=ANSWER, profile="recall").text
    card = panel.partition(f'id="finding-{claim.id}"')[2]
    heading = panel.rpartition(f'id="finding-{claim.id}"')[0].rpartition("<article")[2] + card.partition("</h5>")[0]
    assert (f">{word}</a></span>" in heading) is bool(word)
    told = f"{word} by some/model: {html.escape(reason)}"
    assert (told in card.partition("</article>")[0]) is bool(word)
    assert "<script>alert" not in panel


def test_why_a_run_has_no_score(pages: Pages) -> None:
    """What the ledger says of it, once; as reached from the queue of labels by the run itself."""
    pages.put(*failing_run())
    subject = Subject(SubjectKind.AGENT_RUN, MANAGER, TRACE_ID)
    left = tuple(
        Judgement(subject, judge, "v1", "h", 1, 1, Outcome.SAMPLED_OUT, reason="policy <rest>")
        for judge in ("goal", "plan")
    )
    StoredLlmJudging(pages.store).save([JudgedSubject(TraceState.SETTLED, left)])
    shown = pages.get(f"/traces/{TRACE_ID}/panel", at=f"run:{MANAGER}").text
    assert shown.count("policy &lt;rest&gt;") == 1
    assert 'No scores: <a class="term" href="/explain/sampled-out"' in shown


def test_why_there_is_no_score(pages: Pages) -> None:
    """A trace without any says so in a line."""
    pages.put(*failing_run())
    assert "No scores: no LLM judge is switched on" in pages.get(f"/traces/{TRACE_ID}").text


def test_the_tail_is_filtered_by_its_address(pages: Pages) -> None:
    """By severity, service, judge and category; a severity that there is not is refused."""
    pages.put(*failing_run())
    rows = 'class="tail-row'
    assert rows in pages.get("/errors").text
    assert rows in pages.get("/errors", service="shop", severity="medium", profile="recall").text
    for name, value in (("service", "other"), ("judge", "none"), ("category", "Rate Limiting")):
        assert rows not in pages.get("/errors", **{name: value}).text
    assert pages.get("/errors", severity="bad").status_code == 422
    assert pages.get("/live/events", severity="bad").status_code == 422


def test_the_list_of_errors_has_a_time_range(pages: Pages) -> None:
    """That of the other pages; of a time that has ended nothing new comes."""
    pages.put(*failing_run())
    rows, live, first = 'class="tail-row', "data-after=", pages.now
    assert rows in pages.get("/errors").text
    pages.now += 30 * 3600 * SECOND
    later = pages.get("/errors").text
    assert rows not in later
    assert "Nothing was found in the last 24 hours" in later
    assert live in later
    week = pages.get("/errors", range="7d").text
    assert rows in week
    assert 'aria-current="true">7d</a>' in week
    ended = {"from": "2023-11-01", "to": field_time(first + SECOND)}
    assert rows in pages.get("/errors", **ended).text
    assert live not in pages.get("/errors", **ended).text
    assert rows not in pages.get("/errors", **{"from": "2023-11-01", "to": "2023-11-02"}).text


def test_a_settled_trace_is_ok_for_people(pages: Pages) -> None:
    """In lists, on its page, and as a filter; the API has `settled`, and takes `ok`."""
    pages.put(*failing_run())
    for path in ("/traces", f"/traces/{TRACE_ID}"):
        page = pages.get(path).text
        assert ">ok</a>" in page
        assert ">settled<" not in page
    for name in ("ok", "settled"):
        page = pages.get("/traces", state=name).text
        assert f"/traces/{TRACE_ID}" in page
        assert '<span class="muted">state</span> ok' in page
        (row,) = pages.get("/api/traces", state=name).json()["items"]
        assert row["state"] == "settled"
    assert ">balanced</option>" in pages.get(f"/traces/{TRACE_ID}").text
    assert ">usual<" not in pages.get(f"/traces/{TRACE_ID}").text


def test_the_earlier_address_of_the_list_of_errors_leads_to_it(pages: Pages) -> None:
    """For good, with its filters as they were written."""
    for query in ("", "?severity=HIGH&category=Formatting%20Errors&judge=a%26b"):
        answer = pages.client.get(f"/live{query}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"/errors{query}")
        assert pages.client.get(answer.headers["location"]).status_code == 200


def test_a_stream_of_findings_brings_what_came_while_one_was_away(pages: Pages) -> None:
    """A browser names the last event that it has; each finding comes once, as a row of the page."""
    pages.put(*failing_run())
    with pages.client.stream("GET", "/live/events", headers={"Last-Event-ID": "0"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found: list[str] = []
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: "))["html"])
            if len(found) == 3:
                break
    assert len({re.search(r'id="tail-(\w+)"', html)[1] for html in found}) == 3  # type: ignore[index]  # each has one
    assert all(re.search(r'href="/errors/\w+"', html) for html in found)
