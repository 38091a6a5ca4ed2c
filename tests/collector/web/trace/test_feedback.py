"""What forms say of findings, spans and runs, over a real store: taken as the API takes it, by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest
from trace_pages import ANSWER, CALL, MANAGER, SECOND, TOOL, TRACE_ID, Pages, a_span, failing_run, llm, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.queries.labels import Labelled, LabelQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery

OTHER = "d" * 32
PLENTY = 10
RUN = {"annotator": "Ada", "trace": TRACE_ID, "run": MANAGER}
SCORE = {**RUN, "dimension": "GF", "score": "2"}
MISSED = {"annotator": "Ada", "trace": TRACE_ID, "span": TOOL, "category": "Goal Deviation", "severity": "LOW"}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*failing_run())
        yield made


def kept(pages: Pages, trace_id: str = TRACE_ID) -> Labelled:
    """What stands of a trace."""
    return pages.reader.labels.of_traces([trace_id]).get(trace_id, Labelled())


def on_a_finding(pages: Pages, **form: str) -> dict[str, str]:
    """A form about the first finding of the trace."""
    found = pages.reader.findings(ErrorQuery(Confidence(0.0, 0.0), PLENTY, trace_id=TRACE_ID))
    return {"annotator": "Ada", "trace": TRACE_ID, "finding": found[0].finding.id, **form}


def taken(pages: Pages, path: str, form: dict[str, str]) -> None:
    """Post a form that must be taken."""
    answer = pages.post(path, **form)
    assert answer.status_code == 303, answer.text


def refused(pages: Pages, path: str, form: dict[str, str], code: int, words: str) -> None:
    """Post a form that must be refused in these words, and change nothing."""
    before = kept(pages)
    answer = pages.post(path, **form)
    assert answer.status_code == code
    assert words in unescape(answer.text)
    assert kept(pages) == before


def test_an_error_is_labelled_on_its_card(pages: Pages) -> None:
    """By its id; the answer shows all that people say of it, and the page that they contradict each other."""
    error = pages.reader.errors(ErrorQuery(Confidence(0.0, 0.0), PLENTY, trace_id=TRACE_ID))[0].error
    about = {"trace": TRACE_ID, "finding": error.id}
    shown = f"/traces/{TRACE_ID}?span={error.span_id}&profile=0"
    assert f'name="finding" value="{error.id}"' in pages.get(shown).text
    taken(pages, "/feedback/opinion", about | {"annotator": "Ada", "opinion": "agree"})
    assert [one.finding_id for one in kept(pages).annotations] == [error.findings[0]]
    assert "contested" not in pages.get(shown).text
    said = about | {"annotator": "Bob", "opinion": "disagree", "base": f"/traces/{TRACE_ID}"}
    widget = pages.post_by_script("/feedback/opinion", **said).text
    assert ("Ada" in widget, "Bob" in widget) == (True, True)
    assert f'name="finding" value="{error.id}"' in widget
    assert "contested" in pages.get(shown).text


def test_later_words_win_although_the_clock_steps_back(pages: Pages) -> None:
    """What is said next replaces what was said, whatever the clock says."""
    form = on_a_finding(pages)
    taken(pages, "/feedback/opinion", form | {"opinion": "agree"})
    taken(pages, "/feedback/score", SCORE)
    taken(pages, "/feedback/review", RUN | {"reviewed": "yes"})
    first = kept(pages)
    pages.now -= 100 * SECOND
    taken(pages, "/feedback/opinion", form | {"opinion": "disagree"})
    taken(pages, "/feedback/score", SCORE | {"score": "0"})
    taken(pages, "/feedback/review", RUN | {"reviewed": "no"})
    last = kept(pages)
    assert [one.opinion.value for one in last.annotations] == ["disagree"]
    assert [one.score for one in last.human_scores] == [0]
    assert last.reviews == ()
    assert last.annotations[0].changed_at > first.annotations[0].changed_at
    assert last.human_scores[0].changed_at > first.human_scores[0].changed_at


def test_the_same_again_changes_nothing(pages: Pages) -> None:
    """A button pressed twice writes once."""
    taken(pages, "/feedback/missed", MISSED)
    before = kept(pages)
    pages.now += SECOND
    taken(pages, "/feedback/missed", MISSED)
    assert kept(pages) == before


def test_a_run_of_another_trace_is_refused(pages: Pages) -> None:
    """Scores and reviews go to runs that the trace has."""
    pages.put(a_span("9" * 16, "", "AGENT", "other", 0, 1, trace_id=OTHER))
    for form in (RUN | {"run": "9" * 16}, RUN | {"trace": OTHER}):
        refused(pages, "/feedback/score", SCORE | form, 404, f"has no agent run '{form['run']}'")
        refused(pages, "/feedback/review", form, 404, f"has no agent run '{form['run']}'")
    refused(pages, "/feedback/score", SCORE | {"run": ""}, 422, "name the run by its id")


def test_the_run_of_a_missed_error_follows_from_its_span(pages: Pages) -> None:
    """Whatever the form says of it; outside of agent runs there is none."""
    pages.put(a_span("8" * 16, "", "CHAIN", "cron", 0, 1, trace_id=OTHER))
    taken(pages, "/feedback/missed", MISSED | {"run": "9" * 16})
    taken(pages, "/feedback/missed", MISSED | {"trace": OTHER, "span": "8" * 16})
    assert [one.agent_run_id for one in kept(pages).annotations] == [MANAGER]
    assert [one.agent_run_id for one in kept(pages, OTHER).annotations] == [""]
    refused(pages, "/feedback/missed", MISSED | {"span": "8" * 16}, 404, "no span")
    refused(pages, "/feedback/missed", MISSED | {"category": "Bad Luck"}, 422, "is no category of TRAIL")


def test_an_opinion_is_of_the_findings_own_trace_and_of_another_span(pages: Pages) -> None:
    """The span field counts beside "other span" only, and has to name a span of the trace other than the finding's."""
    form = on_a_finding(pages)
    finding = pages.reader.labels.finding(form["finding"])
    assert finding is not None
    elsewhere = next(i for i in (CALL, TOOL, ANSWER) if i != finding.span_id)
    taken(pages, "/feedback/opinion", form | {"opinion": "agree", "span": elsewhere})
    assert [one.span_id for one in kept(pages).annotations] == [finding.span_id]
    taken(pages, "/feedback/opinion", form | {"opinion": "other-span", "span": elsewhere.upper(), "note": "there"})
    (one,) = kept(pages).annotations
    assert (one.span_id, one.explanation, one.judge) == (elsewhere, "there", finding.judge)
    for span_id in ("", finding.span_id):
        moved = form | {"opinion": "other-span", "span": span_id}
        refused(pages, "/feedback/opinion", moved, 422, "needs the span_id where the error was made")
    refused(pages, "/feedback/opinion", form | {"opinion": "other-span", "span": "f" * 16}, 404, "no span")
    refused(pages, "/feedback/opinion", form | {"opinion": "agree", "trace": OTHER}, 422, f"not of '{OTHER}'")
    refused(pages, "/feedback/opinion", form | {"opinion": "missed"}, 422, "agree, disagree or other-span")


def test_an_error_that_was_made_in_another_run_is_that_runs(pages: Pages) -> None:
    """Moved to a span of a sub-agent it is a label of the sub-agent; where the span is in no run, it stays."""
    pages.put(
        a_span("a" * 16, MANAGER, "AGENT", "reader", 20, 5),
        llm("b" * 16, "a" * 16, 21, [("user", "read it")], "done"),
        a_span("c" * 16, "", "CHAIN", "cron", 0, 1),
    )
    form = on_a_finding(pages) | {"opinion": "other-span"}
    finding = pages.reader.labels.finding(form["finding"])
    assert finding is not None
    near = next(i for i in (CALL, TOOL) if i != finding.span_id)
    runs = []
    for span_id in ("b" * 16, near, "c" * 16):
        taken(pages, "/feedback/opinion", form | {"span": span_id})
        runs += [(one.span_id, one.agent_run_id) for one in kept(pages).annotations]
    assert runs == [("b" * 16, "a" * 16), (near, MANAGER), ("c" * 16, MANAGER)]


def test_only_ones_own_words_are_taken_back(pages: Pages) -> None:
    """Somebody else's stay; what was taken back may be said again."""
    taken(pages, "/feedback/missed", MISSED)
    (one,) = kept(pages).annotations
    form = {"annotation": one.id, "trace": TRACE_ID}
    refused(pages, "/feedback/withdraw", form | {"annotator": "Bob"}, 404, "of 'Bob' is stored")
    refused(pages, "/feedback/withdraw", form | {"annotator": "Ada", "annotation": ""}, 404, "no annotation")
    pages.now -= 100 * SECOND
    for _ in range(2):
        taken(pages, "/feedback/withdraw", form | {"annotator": "Ada"})
    assert kept(pages).annotations == ()
    taken(pages, "/feedback/missed", MISSED)
    assert [a.id for a in _all(pages)] == [one.id]


def test_a_review_says_how_it_was_drawn_or_not(pages: Pages) -> None:
    """Stratum and probability belong together."""
    for given in ({"stratum": "s1"}, {"probability": "0.5"}, {"stratum": "s1", "probability": "2"}):
        refused(pages, "/feedback/review", {**RUN, **given}, 422, "probability")
    taken(pages, "/feedback/review", RUN | {"stratum": "s1", "probability": "0.25"})
    assert [(one.stratum, one.probability) for one in kept(pages).reviews] == [("s1", 0.25)]


def test_who_looks_again_at_a_drawn_run_leaves_it_in_the_sample(pages: Pages) -> None:
    """Of a review that the queue drew stays how it was drawn, until it is taken back."""
    drawn = {"stratum": "s1", "probability": "0.25"}
    taken(pages, "/feedback/review", RUN | drawn)
    pages.now += SECOND
    taken(pages, "/feedback/review", RUN)
    assert [(one.stratum, one.probability) for one in kept(pages).reviews] == [("s1", 0.25)]
    taken(pages, "/feedback/review", RUN | {"reviewed": "no"})
    pages.now += SECOND
    taken(pages, "/feedback/review", RUN)
    assert [(one.stratum, one.probability) for one in kept(pages).reviews] == [("", 0.0)]


def test_a_run_that_was_reviewed_by_hand_can_be_reviewed_as_drawn(pages: Pages) -> None:
    """Its form offers it where the queue led there, once."""
    offer = 'value="yes">Reviewed'
    page = f"/traces/{TRACE_ID}?at=run:{MANAGER}"
    address = f"{page}&stratum=s1&probability=0.25&drawn={MANAGER}"
    taken(pages, "/feedback/review", RUN)
    assert offer in pages.get(address).text
    assert offer not in pages.get(page).text
    assert offer not in pages.get(f"{page}&stratum=s1&probability=0.25&drawn=other").text, "it drew another run"
    taken(pages, "/feedback/review", RUN | {"stratum": "s1", "probability": "0.25"})
    assert offer not in pages.get(address).text


def test_names_and_texts_are_bounded(pages: Pages) -> None:
    """They are refused rather than cut."""
    refused(pages, "/feedback/missed", MISSED | {"annotator": "  "}, 422, "your name is missing")
    refused(pages, "/feedback/missed", MISSED | {"annotator": "x" * 101}, 422, "your name has 101 characters")
    refused(pages, "/feedback/missed", MISSED | {"note": "x" * 5001}, 422, "at most 5,000")


def _all(pages: Pages) -> list[Annotation]:
    return list(pages.reader.labels.find(Annotation, LabelQuery(10, trace_id=TRACE_ID, withdrawn=True)))
