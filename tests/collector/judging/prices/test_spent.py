"""What a trace's agents spent: as stated, else by price, else unknown; every call once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trajectories import fixture_spans, normalise_all

from tracejury.collector.judging.model.price import Price
from tracejury.collector.judging.prices import SpentBy
from tracejury.collector.judging.prices.config import ModelPrice
from tracejury.collector.judging.prices.table import PriceTable, names, shipped_prices
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import TraceSpend

PRICES = PriceTable({"house/model-1": Price(0.5, 0.1, 2.0)})
SENT, WRITTEN, MODEL = "llm.token_count.prompt", "llm.token_count.completion", "llm.model_name"


def trace(*entries: tuple[str, str, str, dict[str, Any]]) -> Trace:
    """Of spans given as (id, parent, kind, attributes), each within the one before it."""
    spans = [
        {"id": i, "parent": parent, "start": at, "end": 99 - at}
        | {"attributes": {"openinference.span.kind": kind, **attributes}}
        for at, (i, parent, kind, attributes) in enumerate(entries)
    ]
    return rebuild(normalise_all(fixture_spans({"spans": spans})[0]))


def in_all(spending: Trace) -> TraceSpend:
    """What a trace spent in all; tests of operations have the parts."""
    return replace(SpentBy(PRICES)(spending), operations=())


def spent(**attributes: Any) -> TraceSpend:
    """Of one call with these attributes (`__` for a dot) beside 10 tokens sent and 2 written."""
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return SpentBy(PRICES)(trace(("l", "", "LLM", {SENT: 10, WRITTEN: 2, **named})))


@pytest.mark.parametrize(
    ("attributes", "usd"),
    [
        ({"gen_ai__usage__cost": 0.25}, 0.25),
        ({"llm__cost__total": "0.25"}, 0.25),
        ({"operation__cost": 0.25}, 0.25),
        ({"llm__usage__cost": 0.25}, 0.25),
        ({"gen_ai__cost__total_cost": 0.25}, 0.25),
        ({"llm__cost__prompt": 0.2, "llm__cost__completion": 0.05}, 0.25),
        ({"gen_ai__usage__input_cost": 0.2, "gen_ai__usage__output_cost": 0.05}, 0.25),
        ({"langfuse__observation__cost_details": json.dumps({"total": 0.25, "input": 0.2})}, 0.25),
        ({"langfuse__observation__cost_details": json.dumps({"input": 0.2, "output": 0.05})}, 0.25),
        ({"gen_ai__usage__cost": "nan"}, None),
        ({"gen_ai__usage__cost": "-1"}, None),
        ({"gen_ai__usage__cost": "inf"}, None),
        ({"gen_ai__usage__cost": "a lot"}, None),
        ({"gen_ai__usage__cost": 0}, None),
        ({"langfuse__observation__cost_details": "[1]"}, None),
    ],
)
def test_stated_amounts(attributes: dict[str, Any], usd: float | None) -> None:
    """Each convention's attribute is read; what is no amount, or a nothing that stands for unknown, is not one."""
    found = spent(**attributes)
    assert (found.input_tokens, found.output_tokens) == (10, 2)
    assert found.usd == (usd if usd is None else pytest.approx(usd))


@pytest.mark.parametrize(
    ("attributes", "usd"),
    [
        ({}, 9.0),
        ({"llm__token_count__prompt_details__cache_read": 5}, 7.0),
        ({"llm__token_count__prompt_details__cache_read": 500}, 59.0),  # more than was sent: beside it
        ({"llm__token_count__prompt_details__cache_read": -500}, 9.0),
        ({"gen_ai__usage__cost": 0}, 9.0),
        ({"gen_ai__usage__cost": 3}, 3.0),
    ],
)
def test_price_where_nothing_is_stated(attributes: dict[str, Any], usd: float) -> None:
    """Tokens times the configured price, cached ones at theirs."""
    assert spent(llm__model_name="house/model-1", **attributes).usd == pytest.approx(usd)


def test_unknown_is_none_and_makes_the_whole_unknown() -> None:
    """A call of unknown price is not free, and the rest does not pass for the whole."""
    known = ("a", "", "LLM", {SENT: 10, WRITTEN: 2, MODEL: "house/model-1"})
    unknown = ("b", "", "LLM", {SENT: 1, WRITTEN: 1, MODEL: "nobody-knows-it"})
    silent = ("c", "", "LLM", {MODEL: "nobody-knows-it"})
    assert in_all(trace(known, unknown)) == TraceSpend(11, 3, None)
    assert in_all(trace(known, silent)) == TraceSpend(10, 2, 9.0, calls_without_usage=1)
    assert in_all(trace(silent)) == TraceSpend(None, None, None, calls_without_usage=1)


@pytest.mark.parametrize("amount", ["gen_ai.usage.cost.amount", "gen_ai.usage.cost"])
@pytest.mark.parametrize(("currency", "usd"), [(None, 3.0), ("usd", 3.0), ("EUR", 9.0)])
def test_only_dollars_are_dollars(amount: str, currency: str | None, usd: float) -> None:
    """An amount in another currency says nothing here."""
    stated = {amount: 3} | ({"gen_ai.usage.cost.currency": currency} if currency else {})
    call = ("a", "", "LLM", {SENT: 10, WRITTEN: 2, MODEL: "house/model-1"} | stated)
    assert SpentBy(PRICES)(trace(call)).usd == usd


def test_sums_that_only_an_agent_states_are_priced_as_its_calls() -> None:
    """By the model of its calls, once."""
    found = in_all(
        trace(
            ("a", "", "AGENT", {SENT: 10, WRITTEN: 2}),
            ("l", "a", "LLM", {MODEL: "house/model-1"}),
            ("m", "a", "LLM", {MODEL: "house/model-1"}),
        )
    )
    assert found == TraceSpend(10, 2, 9.0)


def test_tokens_that_the_cache_keeps_have_their_price() -> None:
    """As litellm has it of a known model; a configuration's, which is that of others unless it states one."""
    price = PriceTable().price("claude-sonnet-4-5")
    assert price is not None
    assert price.of(130_213, 100, 128_955, 1_253) == pytest.approx(0.0449, abs=0.0001)
    stated = ModelPrice(input_usd_per_million=4, output_usd_per_million=8, cache_write_usd_per_million=5)
    assert stated.price().of(2_000_000, 0, kept=1_000_000) == pytest.approx(9)
    assert Price(1.0, 0.5, 2.0).of(10, 0, cached=8, kept=8) == pytest.approx(8 * 0.5 + 2)


def test_each_call_once() -> None:
    """Of nested records of one call the inner one counts, with what only the outer one states; agents do not count."""
    whole = in_all(
        trace(
            ("a", "", "AGENT", {"gen_ai.usage.cost": 99}),
            ("o", "a", "LLM", {SENT: 5, WRITTEN: 1, "gen_ai.usage.cost": 0.5}),
            ("i", "o", "LLM", {SENT: 6}),
        )
    )
    assert whole == TraceSpend(6, 1, 0.5)


@given(st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.floats()), max_size=4))
def test_hostile_numbers_fit_the_columns(calls: list[tuple[int, float]]) -> None:
    """Whatever spans state, counts fit 63 bits and dollars are finite and not negative."""
    found = in_all(
        trace(*((f"s{i}", "", "LLM", {SENT: n, "llm.cost.total": str(x)}) for i, (n, x) in enumerate(calls)))
    )
    assert found.input_tokens is None or 0 <= found.input_tokens < 2**63
    assert found.usd is None or 0 <= found.usd < float("inf")


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("GPT-4o-2024-08-06", "gpt-4o-2024-08-06"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("openrouter/anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("gpt-4o-mini-2031-01-01", "gpt-4o-mini"),
    ],
)
def test_names_of_models(given: str, same: str) -> None:
    """Providers before a name and versions behind it do not hide its price."""
    table = PriceTable()
    assert table.price(given) == table.price(same) is not None


@pytest.mark.parametrize("name", ["", "nobody-knows-it", "gpt-4o/..", "x" * 10_000, "sample_spec", "/", "-2024-01-01"])
def test_unknown_names(name: str) -> None:
    """What no list holds has no price."""
    assert PriceTable().price(name) is None


def test_the_configuration_wins() -> None:
    """A configured price goes before the shipped one, also for a dated name and whatever the case."""
    mine = Price(1.0, 1.0, 1.0)
    table = PriceTable({"GPT-4o": mine})
    assert table.price("openai/gpt-4o-2024-08-06") == mine
    assert PriceTable().price("gpt-4o") != mine


def test_the_provider_that_a_span_names_decides() -> None:
    """One name can cost differently elsewhere."""
    shipped = shipped_prices()
    assert "cerebras/llama-3.3-70b" in shipped
    assert PriceTable().price("llama-3.3-70b", "cerebras") is not None
    assert PriceTable().price("llama-3.3-70b") is None


@given(st.text(max_size=30).map(str.lower))
def test_names_start_with_the_name_and_end(model: str) -> None:
    """However odd a name is, looking for its shorter forms comes to an end, and the name itself is the first."""
    assert next(names(model)) == model
    assert len(list(names(model))) <= (model.count("/") + 1) * (len(model) + 2)
