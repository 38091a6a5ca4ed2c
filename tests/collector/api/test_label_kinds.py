"""A kind of label is one class: the shared parts serve one that only this test declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI
from served_api import KNOWN, NOW, PLAIN, Api, now, served

from tracejury.collector.api.answers import on_error
from tracejury.collector.api.labels import add_kind
from tracejury.collector.api.params_labels import item_model
from tracejury.collector.cli.render.labels import LABEL_COLUMNS
from tracejury.schemas.annotations import LABELS, Label, RunLabel, TraceLabel
from tracejury.schemas.columns import columns_of
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.queries.labels import Labelled, LabelQuery
from tracejury.schemas.wire.base import Time, WireModel
from tracejury.schemas.wire.labels import LABEL_MODELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty(RunLabel):
    """How hard the task of an agent run was."""

    kind = "difficulty"
    plural = "difficulties"
    table = "difficulties"
    verb = "rate"
    listing = "How hard tasks were."
    taking = "Say how hard tasks were."

    level: Annotated[int, "1 to 9"]
    note: str = ""

    @property
    def problem(self) -> str:
        """A level out of range."""
        return "" if 1 <= self.level <= 9 else f"level {self.level} is not one of 1 to 9"


class DifficultyJson(WireModel):
    """Of a `Difficulty`."""

    kind: str
    annotator: str
    trace_id: str
    agent_run_id: str
    level: int
    note: str
    changed_at: Time


HARD = {"annotator": "ann", "trace_id": KNOWN, "level": 7}


@pytest.fixture
def client(labelled: Api) -> Iterator[httpx.Client]:
    """An API of that kind alone. Its table stays: a store whose files vanish while it is open takes no more inserts."""
    columns = "tenant String, TraceId String, AgentRunId String, Annotator String, Level Int32, Note String"
    engine = "ReplacingMergeTree(ChangedAt) ORDER BY (tenant, TraceId, AgentRunId, Annotator)"
    columns += ", Withdrawn Bool, ChangedAt UInt64"
    labelled.store.command(f"CREATE TABLE IF NOT EXISTS difficulties ({columns}) ENGINE = {engine}")
    app = FastAPI()
    app.add_exception_handler(TracejuryError, on_error)
    add_kind(app, labelled.reader, now, Difficulty, item_model(Difficulty), DifficultyJson)
    with served(app) as url, httpx.Client(base_url=f"{url}/api", trust_env=False) as client:
        yield client
    labelled.store.command("TRUNCATE TABLE difficulties")


def test_a_kind_is_taken_listed_and_replaced(labelled: Api, client: httpx.Client) -> None:
    """Completed, stored and shown as the class says; another one of the same key replaces it."""
    taken = client.post("/difficulties", json={"items": [HARD, HARD | {"annotator": "bob", "note": "so long"}]}).json()
    assert taken["changed"] == 2
    assert taken["items"][0] == {
        "kind": "difficulty", "annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-1", "level": 7, "note": "",
        "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    client.post("/difficulties", json={"items": [HARD | {"level": 2}]})
    page = client.get("/difficulties", params={"limit": "1"}).json()
    assert [one["level"] for one in page["items"]] == [2]
    rest = client.get("/difficulties", params={"cursor": page["next"], "run": "run-1"}).json()
    assert ([one["note"] for one in rest["items"]], rest["next"]) == (["so long"], None)
    client.post("/difficulties", json={"items": [HARD | {"withdrawn": True}]})
    (left,) = labelled.reader.labels.find(Difficulty, LabelQuery(9, trace_id=KNOWN))
    assert left == Difficulty(
        trace_id=KNOWN, agent_run_id="run-1", annotator="bob", level=7, note="so long", changed_at=NOW
    )
    labelled.reader.labels.save([replace(left, tenant="x", level=1)])
    assert labelled.reader.labels.find(Difficulty, LabelQuery(9)) == [left]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"level": 10}, "level 10 is not one of 1 to 9"),
        ({"annotator": " "}, "annotator is missing"),
        ({"note": "x" * 101}, "note has 101 characters; at most 100 are taken"),
        ({"trace_id": PLAIN}, f"trace {PLAIN} has 0 managers: name the agent run"),
        ({"changed_at": "2100-01-01"}, "changed_at lies in the future"),
    ],
)
def test_a_kind_is_checked(client: httpx.Client, changes: dict[str, object], detail: str) -> None:
    """By its own rule, and as all labels are; nothing of the request is kept."""
    answer = client.post("/difficulties", json={"items": [HARD, HARD | changes]})
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert client.get("/difficulties").json()["items"] == []


def test_the_endpoints_of_a_kind_are_documented(client: httpx.Client) -> None:
    """Under names that follow from it, with which fields must be given."""
    document = client.get("/../openapi.json").json()
    shapes, path = document["components"]["schemas"], document["paths"]["/api/difficulties"]
    assert {"DifficultyItem", "DifficultiesBody", "DifficultyPage", "TakenDifficulties"} <= shapes.keys()
    assert shapes["DifficultyItem"]["required"] == ["annotator", "trace_id", "level"]
    assert shapes["DifficultyItem"]["properties"]["level"]["description"] == "1 to 9"
    assert [path[method]["description"] for method in ("get", "post")] == [Difficulty.listing, Difficulty.taking]


@pytest.mark.parametrize("kind", LABELS)
def test_a_kind_is_stored_and_shown_by_the_names_of_its_fields(labelled: Api, kind: type[Label]) -> None:
    """Its table has a column for each, its JSON a key for each but the tenant; tables and `Labelled` know it."""
    columns = columns_of(kind).names
    described = labelled.store.rows(f"SELECT name FROM system.columns WHERE table = '{kind.table}'")
    assert {name for (name,) in described} == set(columns)
    shown = {name.title().replace("_", "") for name in LABEL_MODELS[kind.plural].model_fields}
    assert shown == {"Kind", *columns} - {"tenant"}
    assert kind.plural in LABEL_COLUMNS
    assert hasattr(Labelled(), kind.table) == issubclass(kind, TraceLabel)
