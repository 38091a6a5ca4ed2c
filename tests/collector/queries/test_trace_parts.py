"""Large traces by parts: each run as the whole trace has it, read from its own spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from click.testing import CliRunner
from forgotten_traces import forget_traces
from large_trace import large_trace
from served_api import DAY, NOW, Api, apart, finding
from store_parts import a_judged_trace, a_log

from tracejury.collector.api import app
from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.root import root
from tracejury.collector.queries.errors import errors_of_trace
from tracejury.collector.queries.present import present_run, present_trace
from tracejury.collector.queries.trace import outlines, parts, stored
from tracejury.collector.queries.trace.assessment import TraceAssessment
from tracejury.collector.queries.trace.parts import part_of, present_part
from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.queries.trace.stored_part import stored_part
from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.rule_calibrations import RuleCalibrations, TenantCalibrations
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.stored_trace import stored_trace
from tracejury.collector.web.trace.detail import Details
from tracejury.judges.grouping import standing_errors
from tracejury.processors import trace_outline
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.trace_outline import outline_of
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.spans import Span
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState

ID = "c" * 32
LATER = 10**18 + 10**15


def as_json(*runs: AgentRun) -> Any:
    return orjson.loads(bytes_of([present_run(run) for run in runs]))


def put(store: SharedStore, spans: Sequence[Span], received_at: int = 10**18) -> None:
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, received_at))


def rebuilt(store: SharedStore, now: int = LATER) -> Trace:
    found = stored_trace(StoredJudging(store), ID, "", AssemblerConfig(), now)
    assert found is not None
    return found


def test_each_run_alone_is_as_the_whole_trace_has_it(store: SharedStore) -> None:
    """The manager without what its sub-agents did, and each of them without its manager; log records included."""
    spans = list(large_trace(700))
    put(store, spans)
    call = next(span for span in spans if span.name == "ChatModel")
    record = a_log(trace_id=ID, span_id=call.span_id, event_name="gen_ai.choice", time=call.end)
    store.insert("logs", LOG_COLUMNS, log_columns([record], 10**18))
    whole = rebuilt(store)
    outline = outline_of(whole)
    assert len(whole.runs) == 8
    for told, run in zip(outline.runs, whole.runs, strict=True):
        found = stored_part(StoredJudging(store), outline, [told])
        assert found is not None
        assert as_json(*(one for one in found.runs if one.id == run.id)) == as_json(run)


def test_a_part_reads_its_own_spans(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of the other runs, and nothing at all beyond a bound."""
    put(store, list(large_trace(700)))
    outline = outline_of(rebuilt(store))
    read: list[int] = []
    load = StoredJudging.load_some

    def counting(self: StoredJudging, *args: Any) -> Any:
        spans, logs = load(self, *args)
        read.append(len(spans))
        return spans, logs

    monkeypatch.setattr(StoredJudging, "load_some", counting)
    assert stored_part(StoredJudging(store), outline, outline.runs[1:3])
    assert read[0] < 250
    monkeypatch.setattr("tracejury.collector.queries.trace.stored_part.MOST_SPANS", 10)
    assert stored_part(StoredJudging(store), outline, outline.runs[1:3]) is None
    assert len(read) == 1


def test_a_run_that_comes_out_otherwise_needs_the_whole_trace(store: SharedStore) -> None:
    """The outline says something else, or a span of it is gone."""
    put(store, list(large_trace(100)))
    outline = outline_of(rebuilt(store))
    run = outline.runs[1]
    judging = StoredJudging(store)
    assert stored_part(judging, outline, [run])
    assert stored_part(judging, outline, [replace(run, answer="another one")]) is None
    more = (*run.turns, replace(run.turns[-1], index=len(run.turns), span_id="", calls=()))
    assert stored_part(judging, outline, [replace(run, turns=more)]) is None
    assert stored_part(judging, replace(outline, received_through=1), [run]) is None


def test_details_of_a_large_trace_read_one_run(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every node they are those of the whole trace, and so is every text."""
    put(store, list(large_trace(700)))
    whole = rebuilt(store)
    monkeypatch.setattr(trace_outline, "LARGE", 100)
    trace_index = TraceIndex(outline_of(whole))
    queries = StoredTraceQueries(store, AssemblerConfig(), lambda: LATER)
    monkeypatch.setattr(queries, "trace", lambda *_: pytest.fail("it reads the whole trace"))
    last = whole.runs[-1]
    assert last.span is not None
    assert whole.runs[0].turns[0].llm is not None
    for key in (f"run:{last.id}", f"turn:2:{last.id}", f"call:1:2:{last.id}", f"turn:1:{whole.runs[0].id}"):
        part = queries.part(trace_index, key)
        assert part is not None
        assert Details(part, trace_index, ()).at(key) == Details(whole, trace_index, ()).at(key)
        assert len(part.spans) < 250
    for key in (f"goal:{last.id}", f"own:{last.id}", f"text:{last.span.span_id}", "text:0000000000000002", "gone"):
        part = queries.part(trace_index, key)
        assert part is not None
        assert Details(part, trace_index, ()).blocks_at(key) == Details(whole, trace_index, ()).blocks_at(key)


def test_a_huge_open_trace_shows_as_it_was_last_judged(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever arrived since, and without reading it all; once it is closed, or deleted, only with all that arrived."""
    monkeypatch.setattr(outlines, "HUGE", 250)
    monkeypatch.setattr(trace_outline, "LARGE", 100)
    spans = list(large_trace(300))
    put(store, spans[:200])
    seen = 10**18
    queries = StoredTraceQueries(store, AssemblerConfig(), lambda: seen)
    judged = rebuilt(store, seen)
    assert judged.state is TraceState.OPEN
    queries.cache_judged(judged)
    put(store, spans[200:], seen + 10**9)

    def shown() -> int:
        found = queries.trace_index(ID)
        assert found is not None
        return found.outline.spans

    with monkeypatch.context() as patch:
        patch.setattr(stored, "stored_trace", lambda *_: pytest.fail("it reads the whole trace"))
        assert shown() == 200
        found = queries.trace_index(ID)
        assert found is not None
        (run,) = queries.runs(found.outline, found.outline.runs[1:2])
        assert as_json(run) == as_json(judged.runs[1])
    store.deletions.hold([("", ID)], seen)
    store.deletions.let_go([("", ID)])
    assert shown() == len(spans)
    forget_traces(queries)
    again = replace(judged, received_through=seen + 1)
    queries.cache_judged(again)
    assert shown() == 200
    queries.cache_judged(replace(again, state=TraceState.SETTLED))
    assert shown() == len(spans)


def test_a_huge_trace_that_was_never_judged_shows_its_spans(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, without what they hold; the first ones of many."""
    monkeypatch.setattr(outlines, "HUGE", 250)
    monkeypatch.setattr(stored, "stored_trace", lambda *_: pytest.fail("it reads the whole trace"))
    spans = list(large_trace(300))
    put(store, spans)
    put(store, spans[:1], 10**18 + 1)
    for most, shown in ((1000, len(spans)), (100, 100)):
        monkeypatch.setattr(outlines, "MOST_SPANS", most)
        queries = StoredTraceQueries(store, AssemblerConfig(), lambda: LATER)
        found = queries.trace_index(ID)
        assert found is not None
        outline = found.outline
        assert (outline.spans, outline.rebuilt, outline.runs, outline.service) == (shown, False, (), "travel")
        assert {one.span_id for one in outline.remainder} <= {span.span_id for span in spans}
        assert queries.runs(outline, ()) == []
    page = present_part(
        part_of(outline, "", None),
        (),
        TraceAssessment(),
        len(spans),
        TenantCalibrations(store, RuleCalibrations(store)),
    )
    assert (page.part.rebuilt, page.part.next, len(page.remainder)) == (False, None, 100)


def test_turns_of_a_run_are_as_the_whole_trace_has_them(store: SharedStore) -> None:
    """Wherever they begin and end, the first and the last ones included; their spans alone are read."""
    put(store, list(large_trace(700)))
    whole = rebuilt(store)
    outline = outline_of(whole)
    for place in (0, 3):
        told, run = outline.runs[place], whole.runs[place]
        for first, end in ((0, 2), (1, 3), (4, 5), (len(told.turns) - 1, len(told.turns))):
            found = stored_part(StoredJudging(store), outline, [replace(told, turns=told.turns[first:end])])
            assert found is not None
            [part] = [one for one in found.runs if one.id == run.id]
            assert as_json(part) == as_json(replace(run, turns=run.turns[first:end]))
            assert len(found.spans) < 50


def test_turns_that_come_out_otherwise_need_the_whole_trace(store: SharedStore) -> None:
    """A turn of the outline is another one, or the spans show fewer turns than it says."""
    put(store, list(large_trace(200)))
    outline = outline_of(rebuilt(store))
    run = outline.runs[1]
    judging = StoredJudging(store)
    assert stored_part(judging, outline, [replace(run, turns=run.turns[5:9])])
    other = replace(run.turns[6], hint="something else")
    assert stored_part(judging, outline, [replace(run, turns=(run.turns[5], other))]) is None
    gone = replace(run.turns[7], span_id="f" * 16, calls=())
    longer = replace(run, turns=(*run.turns[:7], gone, *run.turns[8:]))
    of_longer = replace(outline, runs=(outline.runs[0], longer, *outline.runs[2:]))
    assert stored_part(judging, of_longer, [replace(run, turns=run.turns[5:7])]) is None


def test_a_stale_judging_in_memory_answers_without_a_rebuild(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Details of a huge open trace come from its last judging, however many spans arrived since."""
    monkeypatch.setattr(outlines, "HUGE", 250)
    monkeypatch.setattr(trace_outline, "LARGE", 100)
    spans = list(large_trace(300))
    put(store, spans[:200])
    queries = StoredTraceQueries(store, AssemblerConfig(), lambda: 10**18)
    queries.cache_judged(rebuilt(store, 10**18))
    put(store, spans[200:], 10**18 + 10**10)
    monkeypatch.setattr(queries, "trace", lambda *_: pytest.fail("it reads the whole trace"))
    found = queries.trace_index(ID)
    assert found is not None
    run = found.outline.runs[1]
    assert queries.part(found, f"run:{run.id}") is not None
    [shown] = queries.runs(found.outline, [replace(run, turns=run.turns[1:3])])
    assert [turn.index for turn in shown.turns] == [1, 2]


@pytest.fixture
def api(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API over one trace of eight runs, which counts as a large one."""
    monkeypatch.setattr(app, "PARTED", 100)
    monkeypatch.setattr(parts, "PART_SPANS", 250)
    monkeypatch.setattr(parts, "FIRST_SPANS", 250)
    return api


def stands(api: Api, store_of: Trace) -> None:
    api.put_spans(*(span.raw for span in store_of.spans.values()), received=NOW - DAY)


def a_large_trace(spans: int = 700) -> Trace:
    from tracejury.processors.normalize import normalize
    from tracejury.processors.rebuild import rebuild

    return rebuild([normalize(span, ()) for span in large_trace(spans)])


def test_a_large_trace_is_answered_in_parts(api: Api) -> None:
    """Each says how many runs there are and how to get the next ones; together they are the whole."""
    whole = a_large_trace()
    stands(api, whole)
    first = api.client.get(f"/api/traces/{ID}").json()
    assert first["part"] == {
        "rebuilt": True,
        "judged": False,
        "first": 0,
        "agent_runs": 8,
        "next": first["agent_runs"][-1]["id"],
        "stored_spans": len(whole.spans),
    }
    assert 1 <= len(first["agent_runs"]) < 8
    second = api.client.get(f"/api/traces/{ID}", params={"cursor": first["part"]["next"]}).json()
    assert second["part"]["first"] == len(first["agent_runs"])
    with ApiClient(api.url) as client:
        together = client.trace(ID).model_dump()
    assert together.pop("part") == first["part"] | {"next": None}
    expected = orjson.loads(bytes_of(present_trace(whole, (), not_judged=NotJudged.WAITING)))
    assert orjson.loads(orjson.dumps(together)) == expected


def test_the_command_line_names_spans_that_are_not_shown(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr; nothing where all are."""
    stands(api, a_large_trace(300))
    shown = CliRunner().invoke(root, ["trace", ID, "--url", api.url])
    assert (shown.exit_code, shown.stderr) == (0, "")
    monkeypatch.setattr(api.reader.trace_queries, "count_spans", lambda *_: 1000)
    shown = CliRunner().invoke(root, ["trace", ID, "--url", api.url])
    assert "693 stored spans not shown" in shown.stderr


def test_parts_of_so_many_runs(api: Api) -> None:
    """Of any trace, where somebody asks for them."""
    stands(api, a_large_trace(90))
    part = api.client.get(f"/api/traces/{ID}", params={"limit": "1"}).json()
    assert [len(part["agent_runs"]), part["part"]["agent_runs"]] == [1, 2]
    last = api.client.get(f"/api/traces/{ID}", params={"limit": "1", "cursor": part["part"]["next"]}).json()
    assert last["part"]["next"] is None


def test_a_small_trace_is_answered_as_ever(api: Api) -> None:
    """Whole, and without a word of parts."""
    whole = a_large_trace(90)
    stands(api, replace(whole, spans=dict(list(whole.spans.items())[:50])))
    assert "part" not in api.client.get(f"/api/traces/{ID}").json()


def test_a_run_that_fits_no_part_is_divided_between_its_turns(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next part begins with the same run; its turns, findings and verdicts are each there once."""
    monkeypatch.setattr(parts, "PART_SPANS", 20)
    monkeypatch.setattr(parts, "FIRST_SPANS", 10)
    whole = a_large_trace(300)
    stands(api, whole)
    places = [(run.id, turn) for run in whole.runs for turn in (None, *range(len(run.turns)))]
    turned = [apart(n, trace_id=ID, agent_run_id=run, turn=turn) for n, (run, turn) in enumerate(places)]
    StoredJudging(api.store).save([a_judged_trace(*turned, trace_id=ID, runs=whole.runs, received=NOW - DAY)])
    seen: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        part = api.client.get(f"/api/traces/{ID}", params={"cursor": cursor}).json()
        shown = {(run["id"], turn["index"]) for run in part["agent_runs"] for turn in run["turns"]}
        assert {(f["agent_run_id"], f["turn"]) for f in part["findings"] if f["turn"] is not None} == shown
        seen.append(part)
        cursor = part["part"]["next"]
    assert len(seen) > len(whole.runs)
    assert sum(len(turn["tool_calls"]) + 1 for run in seen[0]["agent_runs"] for turn in run["turns"]) <= 10
    assert sum(len(part["findings"]) for part in seen) == len(turned)
    errors = errors_of_trace(whole, map(summary, standing_errors(turned, whole.runs)), 0.0)
    assert [e["id"] for part in seen for e in part["errors"]] == [e.error.id for e in errors]
    assert len({part["errors"][0]["id"] for part in seen if part["errors"]}) > 1
    with ApiClient(api.url) as client:
        together = client.trace(ID).model_dump()
    together.pop("part")
    assert orjson.loads(orjson.dumps(together)) == orjson.loads(bytes_of(present_trace(whole, turned, errors=errors)))


@pytest.mark.parametrize("cursor", ["turn:1", "turn:x:{run}", "turn:²:{run}", "turn:999999999999:{run}", "turn:0:gone"])
def test_a_cursor_of_no_turn_is_refused(api: Api, cursor: str) -> None:
    """As one of no run is."""
    whole = a_large_trace()
    stands(api, whole)
    answer = api.client.get(f"/api/traces/{ID}", params={"cursor": cursor.format(run=whole.runs[0].id)})
    assert (answer.status_code, "begin again without a cursor" in answer.json()["detail"]) == (422, True)


def test_a_cursor_that_leads_nowhere_is_refused(api: Api) -> None:
    """With what to do about it."""
    stands(api, a_large_trace())
    answer = api.client.get(f"/api/traces/{ID}", params={"cursor": "gone"})
    assert (answer.status_code, "begin again without a cursor" in answer.json()["detail"]) == (422, True)
    assert api.client.get("/api/traces/" + "9" * 32, params={"limit": "3"}).status_code == 404


def test_what_is_in_no_run_stands_in_the_last_part(store: SharedStore) -> None:
    """Each finding and verdict once, at its run or at the end."""
    outline = outline_of(a_large_trace(300))
    ids = [run.id for run in outline.runs]
    calibrations = TenantCalibrations(store, RuleCalibrations(store))
    found = [finding(1, agent_run_id=ids[0]), finding(2, agent_run_id=ids[-1]), finding(3, agent_run_id="")]
    seen = []
    after: str | None = ""
    while after is not None:
        part = part_of(outline, after, 1)
        seen.append([f.id for f in present_part(part, (), TraceAssessment(found), 300, calibrations).findings])
        after = part.next
    assert seen[0] == [found[0].id]
    assert seen[-1] == [found[1].id, found[2].id]
    assert sum(map(len, seen)) == 3
    with pytest.raises(ConfigError):
        part_of(outline, "gone", None)
