"""`labels review --drawn`: which runs the calibration queue gave, whatever queue it was that was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from labels_world import StoredWorld
from naive_label_queue import QueuedRun
from served_api import KNOWN, NOW, SECOND, Api
from store_parts import a_span

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.drawn_run import drawn_run
from tracejury.schemas.annotations import Review
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.labels import Labelled

ANN = {"annotator": "ann"}


def served(api: Api, service: str = "rare", arrived: int = NOW - SECOND, others: int = 700) -> None:
    """Runs of many services, each the first of its stratum, and some of `service`, of which KNOWN's is a later one."""
    many = [QueuedRun(f"{n:032x}", "run", f"service-{n}") for n in range(700)]
    some = [QueuedRun(f"{n:032x}", "run", service, found=n % 2 == 0) for n in range(700, 730)]
    mine = QueuedRun(KNOWN, "run-1", service, found=True, arrived=arrived)
    StoredWorld(api.store).put([*many[:others], *some, mine])
    agent = {"openinference.span.kind": "AGENT"}
    api.put_spans(a_span(trace_id=KNOWN, span_id="run-1", service=service, attributes=agent))


@pytest.mark.parametrize("service", ["rare", "", "a/b & c", "x" * 2_000])
def test_a_run_of_a_services_own_queue(api: Api, service: str) -> None:
    """However far back it stands in the queue of all services."""
    with ApiClient(api.url) as client:
        named = bool(service) and len(service) < 1_000
        served(api, service, others=700 if named else 0)
        if named:
            assert KNOWN not in {i.trace_id for i in client.label_queue({**ANN, "limit": "500"})}
            narrow = client.label_queue({**ANN, "service": service, "limit": "500"})
        else:
            narrow = client.label_queue({**ANN, "limit": "500"})
        (item,) = [i for i in narrow if i.trace_id == KNOWN]
        drawn = drawn_run(client, KNOWN.upper(), "", ANN)
        assert (drawn.agent_run_id, drawn.stratum) == ("run-1", item.stratum)


def test_a_run_of_a_queue_of_some_time(api: Api) -> None:
    """Its times are named again: among all others the run stands elsewhere."""
    with ApiClient(api.url) as client:
        served(api, "service-1")
        times = {"since": "1h"}
        assert drawn_run(client, KNOWN, "run-1", ANN | times).probability == 1.0


def test_what_somebody_else_has_reviewed_meanwhile_was_drawn_all_the_same(api: Api) -> None:
    """Two people may look at one run at once; what oneself has reviewed as drawn is done."""
    with ApiClient(api.url) as client:
        served(api)
        review = Review(
            trace_id=KNOWN, agent_run_id="run-1", annotator="bob", stratum="found/-/rare", probability=0.5, changed_at=1
        )
        api.reader.labels.save(Labelled(reviews=[review]))
        assert drawn_run(client, KNOWN, "", ANN).agent_run_id == "run-1"
        api.reader.labels.save(Labelled(reviews=[replace(review, annotator="ann")]))
        with pytest.raises(ConfigError, match="no such run"):
            drawn_run(client, KNOWN, "", ANN)
        with pytest.raises(NotFoundError):
            drawn_run(client, "9" * 32, "", ANN)
