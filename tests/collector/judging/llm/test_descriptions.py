"""Descriptions of services for judges: what the operator wrote may instruct them, what telemetry says is data."""

from __future__ import annotations

from functools import partial

from small_traces import Said, run, trace

from tracejury.collector.judging.llm.descriptions import Descriptions
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.client import Store
from tracejury.judges.llm.case import ServiceDescription
from tracejury.schemas.llm_rows import Source


def test_only_what_a_person_wrote_is_the_operators(store: Store) -> None:
    """What the collector derived is not, before it is stored and afterwards."""
    one = run("r", Said("l1", "Hm."))
    whole = trace(one)
    stored, described = StoredArchitectures(store), partial(Descriptions(partial(StoredArchitectures, store)).of, whole)
    derived = described(one)
    assert derived.text
    assert not derived.by_operator
    stored.keep(whole.service, "Refunds need a ticket.", Source.EDITED)
    fresh = Descriptions(partial(StoredArchitectures, store))
    assert fresh.of(whole, one) == ServiceDescription("Refunds need a ticket.", by_operator=True)
    stored.clear_edit(whole.service)
    assert not Descriptions(partial(StoredArchitectures, store)).of(whole, one).by_operator
