"""The mark by which an installation knows what comes back to it, and undoes the weight that it gave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.outbound.otlp.marks import FORWARDED_BY, as_it_came, bears, installation_id, marked
from tracejury.collector.outbound.otlp.returned_spans import ReturnedSpans
from tracejury.collector.outbound.otlp.tail_sampler import SamplingDecision
from tracejury.schemas.batch import Batch
from tracejury.schemas.sampling import ot_value, upstream_probability
from tracejury.schemas.spans import Span

US, THEM = installation_id(b"us"), installation_id(b"them")
STATES = st.sampled_from(
    [
        "",
        "ot=th:8",
        "ot=rv:6e6d1a75832a2f",
        "vendor=1,ot=th:c;rv:6e6d1a75832a2f;x:y",
        "ot=",
        "vendor=1",
        "ot=th:zz,ot=th:8",
    ]
)


@given(STATES, st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.text("ab;:@=", max_size=6))
def test_what_comes_back_weighs_as_it_did(state: str, first: float, second: float, other: str) -> None:
    """However often it was thinned on the way, by us and by others; other members of the tracestate stay."""
    ours, theirs = SamplingDecision(goes=True, rate=first), SamplingDecision(goes=True, rate=second)
    mark = marked(other, US, state)
    away = ours.written(state)
    mark, away = marked(mark, THEM, away), theirs.written(away)
    assert bears(mark, US)
    assert bears(mark, THEM)
    again = as_it_came(away, mark, US)
    assert ot_value(again) == ot_value(state)
    assert upstream_probability(again) == upstream_probability(state)
    assert upstream_probability(as_it_came(away, mark, THEM)) == pytest.approx(upstream_probability(state) * first)
    assert ("vendor=1" in again) == ("vendor=1" in state)
    assert as_it_came(away, mark, "nobody") == away
    assert marked(mark, US, again).count(US) == 1


def test_a_value_that_is_longer_than_allowed_is_not_carried() -> None:
    """It is not restored then, nor is a part of it; one of the longest that W3C allows is."""
    longest = "th:8;x:".ljust(256, "y")
    assert as_it_came("ot=th:c", marked("", US, f"ot={longest}"), US) == f"ot={longest}"
    mark = marked("", US, f"ot={longest}y")
    assert mark == US
    assert bears(mark, US)
    assert as_it_came("ot=th:c", mark, US) == "ot=th:c"


def test_a_mark_of_an_older_version_tells_nothing_of_weights() -> None:
    """It is known, and the tracestate stays."""
    assert bears(f"{THEM},{US}", US)
    assert as_it_came("ot=th:8", f"{THEM},{US}", US) == "ot=th:8"


async def test_spans_are_stored_as_they_first_came() -> None:
    """Those that bear our mark; nobody else's is touched, and nothing else of them."""
    kept: list[Batch] = []

    class Kept:
        async def submit(self, batch: Batch) -> int:
            kept.append(batch)
            return 0

    def span(name: str, mark: str) -> Span:
        return Span(
            "0" * 32, "1" * 16, "", name, 1, 2, attributes={FORWARDED_BY: mark, "a": "b"}, trace_state="ot=th:c"
        )

    plain = Span("0" * 32, "1" * 16, "", "plain", 1, 2, trace_state="ot=th:c")
    spans = [span("ours", marked("", US, "ot=th:8")), span("theirs", marked("", THEM, "ot=th:8")), plain]
    await ReturnedSpans(Kept(), US).submit(Batch(spans, size=7))
    (batch,) = kept
    assert [s.trace_state for s in batch.spans] == ["ot=th:8", "ot=th:c", "ot=th:c"]
    assert batch.spans[0].attributes == spans[0].attributes
    assert batch.size == 7
