"""The filter of lists by the score that a judge gave a run: what it reads, and what it finds over the real store."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from graded import NONE_DUE, graded
from listed_traces import SECOND, Listed, Mark, store_all
from served_api import NOW, served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.score_filter import scores

MARKS = (Mark(), Mark("schema", agent="helper"))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plan-adherence<=1", ("plan-adherence 0", "plan-adherence 1")),
        ("pa < 1", ("plan-adherence 0",)),
        ("PA>=2,PA<3, own=0", ("plan-adherence 2", "own 0")),
        ("TC>2", ("tool-calling 3",)),
        ("", ()),
    ],
)
def test_scores_are_read(text: str, read: tuple[str, ...]) -> None:
    """A dimension stands for its judge; what is asked of one judge twice must hold of one score."""
    assert scores("score", text) == read


@pytest.mark.parametrize("text", ["plan-adherence", "PA<=4", "PA<=", "<=1", "PA==1", "PA<=1;x=2", "PA<0", "PA<1,PA>1"])
def test_what_is_no_score_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="score: "):
        scores("score", text)


def test_lists_by_score(store: SharedStore) -> None:
    """One run has all of the scores, and whatever else is asked of a run; errors and findings are of such a run."""
    low, split, fine, part = (
        Listed(number, session=f"s{number}", received=NOW - number * SECOND, start=NOW, marks=MARKS)
        for number in (1, 2, 3, 4)
    )
    store_all(store, [low, split, fine, Listed(5, received=NOW - SECOND, joined_to=part.trace_id, marks=MARKS), part])
    StoredJoins(store).keep({one: ["run"] for one in (part.trace_id, Listed(5).trace_id)}, NOW)
    graded(store, low, PA=1, TC=0)
    graded(store, split, PA=0, TC=3)
    graded(store, split, "h", PA=3, TC=0)
    graded(store, fine, PA=NONE_DUE, TC=3)
    graded(store, part, "h", GF=0)
    names = {one.trace_id: one.number for one in (low, split, fine, part, Listed(5))}
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW)
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:

        def listed(kind: str, **asked: str) -> list[Any]:
            answer = httpx.get(f"{url}/api/{kind}", params=asked, trust_env=False)
            assert answer.status_code == 200, answer.text
            return list(answer.json()["items"])

        for asked, numbers in {
            "plan-adherence<=1": {1, 2}, "PA<=1,TC<=1": {1}, "PA<=1,TC=3": {2}, "PA>=0": {1, 2}, "GF=0": {4},
            "nobody=0": set(),
        }.items():  # fmt: skip
            assert {names[one["trace_id"]] for one in listed("traces", score=asked)} == numbers, asked
            sessions = {one["session_id"] for one in listed("sessions", score=asked)}
            assert sessions == {f"s{number}" for number in numbers}, asked
        for asked, numbers in {"PA<=1": {1, 2}, "PA=3": set(), "TC=0": {1}}.items():
            found = listed("traces", score=asked, agent="planner")
            assert {names[one["trace_id"]] for one in found} == numbers, asked
        assert {names[one["trace_id"]] for one in listed("traces", score="TC=0", judge="loops")} == {1}
        for kind in ("errors", "findings"):
            found = listed(kind, score="TC=0")
            assert {(names[one["trace_id"]], one["judge"]) for one in found} == {(1, "loops"), (2, "schema")}, kind
        found = listed("findings", score="GF=0")
        assert {(names[one["trace_id"]], one["judge"]) for one in found} == {(4, "schema"), (5, "schema")}
        page = httpx.get(f"{url}/traces", params={"score": "PA<=1,TC<=1", "range": "7d"}, trust_env=False).text
        assert low.trace_id[:8] in page
        assert split.trace_id[:8] not in page
        for kind in ("/traces", "/errors"):
            assert httpx.get(f"{url}{kind}", params={"score": "x"}, trust_env=False).status_code == 422
        told = {
            command: CliRunner().invoke(root, [command, "--score", "PA<=1,TC<=1"], env={"TRACEJURY_URL": url}).output
            for command in ("traces", "sessions", "errors")
        }
    assert low.trace_id[:8] in told["traces"]
    assert "s1" in told["sessions"]
    assert "loops" in told["errors"]
