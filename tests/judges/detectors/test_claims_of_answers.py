"""Claims of answers against what was called and returned, on generated runs with an honest twin each."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace

SUITE = suite_of(())
RULES = {"claimed-action", "unsupported-detail", "result-contradicted"}
THING = st.sampled_from(["order", "booking", "invoice", "ticket"])
VERB = st.sampled_from([("refund", "refunded"), ("cancel", "cancelled"), ("send", "sent"), ("apply", "applied")])
FIGURE = st.integers(10_000, 90_000)


def claims(whole: Trace) -> list[Finding]:
    """Findings of the rules on claims."""
    result = SUITE.judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    return [f for f in result.findings if f.judge in RULES]


@given(thing=THING, verb=VERB)
def test_an_action_is_claimed_only_if_a_call_made_it(thing: str, verb: tuple[str, str]) -> None:
    """Stated as done: never called, or only in vain. Offered, denied, asked or done: no claim without a call."""
    stem, past = verb
    name = f"{stem}_{thing}"
    given_tools = [tool(name, ("id",), id="string")]
    done = f"Your {thing} was {past} just now."

    def fires(answer: str, *did: Did) -> bool:
        acts = [Said("a1", "", did)] if did else []
        return bool(claims(trace(run("r1", *acts, Said("z1", answer), tools=given_tools))))

    assert fires(done)
    assert fires(done, Did(name, {"id": "7"}, "Error: the service is down", None, "t1"))
    assert not fires(done, Did(name, {"id": "7"}, "ok", None, "t1"))
    assert not fires(f"Your {thing} could not be {past}.")
    assert not fires(f"Shall your {thing} be {past}?")
    assert not fires(f"Once your {thing} is {past}, you get a mail.")


@given(thing=THING, known=FIGURE, unit=st.sampled_from(["km", "EUR", "pieces"]), data=st.data())
def test_a_figure_needs_a_result_or_an_input(thing: str, known: int, unit: str, data: st.DataObject) -> None:
    """In any notation, rounded, in another unit or computed from two figures it is supported."""
    other = data.draw(FIGURE.filter(lambda n: abs(n - known) > 5))
    result = json.dumps({thing: known, "fee": 125})
    looks = Said("a1", "", [Did("get_figures", {"of": thing}, result, None, "t1")])

    def fires(figure: str) -> bool:
        return bool(claims(trace(run("r1", looks, Said("z1", f"It comes to {figure} {unit} this year.")))))

    supported = (f"{known}", f"{known:,}", f"{known}.00", f"{known / 1000}", f"{known + 125}", f"{known - 125}")
    assert not any(fires(figure) for figure in supported)
    makes = {known * s for s in (1, 100, 1000)} | {
        known + 125,
        known - 125,
        known * 125,
        2 * known,
        12500,
        125_000,
        250,
    }
    assert fires(f"{other}") is (other not in makes)


@given(key=st.sampled_from(["length_km", "total_price", "open_tickets"]), value=FIGURE, other=FIGURE)
def test_a_number_beside_the_name_of_another_is_a_contradiction(key: str, value: int, other: int) -> None:
    """The result's own value beside its name is none."""
    looks = Said("a1", "", [Did("get_figures", {"of": "it"}, json.dumps({key: value}), None, "t1")])
    for told in (value, other):
        answer = f"The {key.replace('_', ' ')} is {told}."
        found = {f.judge for f in claims(trace(run("r1", looks, Said("z1", answer))))}
        assert ("result-contradicted" in found) is (told != value and told != 2 * value and 2 * told != value)


@given(
    link=st.sampled_from(["https://a.example/x_(y)", "https://b.example/2019/05"]),
    code=st.sampled_from(["AB-1234", "W6750959"]),
)
def test_links_and_identifiers_need_a_source(link: str, code: str) -> None:
    looks = Said("a1", "", [Did("get_page", {"q": "x"}, f"See {link} for {code}.", None, "t1")])
    assert not claims(trace(run("r1", looks, Said("z1", f"It is {code}, see {link}."))))
    assert claims(trace(run("r1", looks, Said("z1", f"It is {code}, see {link}/more."))))
    assert claims(trace(run("r1", looks, Said("z1", f"It is {code}7."))))


@given(thing=THING, verb=VERB, figure=FIGURE)
def test_candidates_stay_below_balanced(thing: str, verb: tuple[str, str], figure: int) -> None:
    """They are for judges and for who reads everything."""
    looks = Said("a1", "", [Did("get_figures", {"of": thing}, "1, 2, 3", None, "t1")])
    last = Said("z1", f"Your {thing} was {verb[1]}: {figure} EUR.")
    found = claims(trace(run("r1", looks, last, tools=[tool(f"{verb[0]}_{thing}", ("id",), id="string")])))
    assert {f.judge for f in found} >= {"claimed-action"}
    assert all(threshold("recall") <= f.confidence < threshold("balanced") for f in found)
