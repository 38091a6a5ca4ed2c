"""The endpoints of clusters of errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.clusters import ErrorCluster
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.clusters.clustering import MOST_NAMED
from tracejury.schemas.queries.reader import ErrorQuery
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.clusters import (
    ClusterErrorJson,
    ClusterJson,
    ClustersJson,
    NamedErrorsJson,
    UnnamedGroupJson,
    UnnamedGroupPage,
)

from .answers import documented, json_answer
from .params import asked_names
from .params_clusters import CLUSTER_FILTERS, ClusterParams, NameBody, UnitParams


def add_clusters(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/clusters`, and what `tracejury clusters` needs to have a model name them."""
    # One at a time: comparing thousands of texts takes a core for seconds.
    one = CapacityLimiter(1)

    def asked(params: UnitParams) -> tuple[ErrorQuery, int]:
        measures = reader.measures
        return params.query(clock(), {pack.name for pack in measures.packs}, measures.task_keys)

    def shown(params: ClusterParams) -> Response:
        answer = reader.clusters.ask(*asked(params))
        kept = replace(answer, clusters=answer.clusters[: params.limit])
        tools = reader.clusters.parameters(kept.clusters) if params.tools else {}
        items = [_cluster(found) for found in kept.clusters]
        left = len(answer.clusters) - len(items)
        unknown = {} if answer.errors else reader.unknown_names(asked_names(CLUSTER_FILTERS, params))
        return json_answer(fill(ClustersJson, kept, items=items, left=left, tools=tools, unknown=unknown))

    def to_name(params: UnitParams) -> Response:
        items = [
            UnnamedGroupJson(
                text=group.example.text,
                tool=group.tool,
                name=group.name if group.named else "",
                error_ids=[error.id for error in group.errors[:MOST_NAMED]],
            )
            for group in reader.clusters.units(*asked(params))
        ]
        return json_answer(UnnamedGroupPage(items=items))

    @app.get("/api/clusters", responses=documented(ClustersJson))
    async def clusters(params: Annotated[ClusterParams, Query()]) -> Response:
        """Alike errors together: how many, beside the time of the same length before; no model is asked."""
        return await to_thread.run_sync(shown, params, limiter=one)

    @app.get("/api/clusters/units", responses=documented(UnnamedGroupPage))
    async def units(params: Annotated[UnitParams, Query()]) -> Response:
        """What a model is to name: each of up to 200 texts, of more the 200 largest small groups; and known types."""
        return await to_thread.run_sync(to_name, params, limiter=one)

    @app.post("/api/clusters/names", responses=documented(NamedErrorsJson))
    def name(body: NameBody) -> Response:
        """Give errors the name of their type, in place of any that they have; unknown errors are left out."""
        return json_answer(NamedErrorsJson(named=reader.clusters.name(body.name, body.error_ids)))


def _cluster(found: ErrorCluster) -> ClusterJson:
    spans = [fill(ClusterErrorJson, error, error_id=error.id) for error in found.spans]
    group = found.group
    return fill(
        ClusterJson, found, name=group.name, named=group.named, tool=group.tool, example=group.example.text, spans=spans
    )
