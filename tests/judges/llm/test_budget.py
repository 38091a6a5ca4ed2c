"""The budget: what does not fit is refused, what is in flight counts, and no order of things passes a cap."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.llm.budget import DAY, HOUR, Amount, Budget, Caps, Reservation
from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.llm_rows import Spend

NOON = 20_000 * DAY + 12 * HOUR


def until(budget: Budget, service: str, tokens: int, usd: float | None, now: int) -> int:
    """When the cap that refuses this call is over."""
    with pytest.raises(OverBudgetError) as caught:
        budget.admit(service, tokens, usd, now)
    return caught.value.until


@pytest.mark.parametrize(
    ("caps", "tokens", "usd", "end"),
    [
        (Caps(usd_per_hour=1.0), 10, 1.01, NOON + HOUR),
        (Caps(usd_per_day=1.0), 10, 1.01, NOON + 12 * HOUR),
        (Caps(tokens_per_hour=9), 10, None, NOON + HOUR),
        (Caps(tokens_per_day=9), 10, 0.0, NOON + 12 * HOUR),
        (Caps(unpriced_tokens_per_day=9), 10, None, NOON + 12 * HOUR),
    ],
)
def test_each_cap_refuses_until_its_period_ends(caps: Caps, tokens: int, usd: float | None, end: int) -> None:
    """Whether it stands for all services or for one."""
    assert until(Budget(caps), "shop", tokens, usd, NOON + 5) == end
    assert until(Budget(Caps(), {"shop": caps}), "shop", tokens, usd, NOON + 5) == end


def test_what_fits_exactly_is_admitted() -> None:
    """A cap is the most that may be spent."""
    budget = Budget(Caps(usd_per_day=1.0, tokens_per_hour=10))
    budget.settle(budget.admit("shop", 10, 1.0, NOON), 10, 1.0)
    assert budget.spent(NOON) == Amount(1.0, 10)


def test_a_cap_of_nothing_admits_what_costs_nothing() -> None:
    """A model of one's own may be free."""
    Budget(Caps(usd_per_day=0.0)).admit("shop", 1000, 0.0, NOON)
    assert until(Budget(Caps(usd_per_day=0.0)), "shop", 1, 0.001, NOON)


def test_a_priced_model_is_not_bound_by_the_cap_of_unpriced_ones() -> None:
    """That cap stands in for dollars."""
    Budget(Caps(unpriced_tokens_per_day=9)).admit("shop", 10, 0.1, NOON)


def test_calls_in_flight_count_with_their_estimate() -> None:
    """So that many at once cannot pass a cap; what they leave is free again when they are settled."""
    budget = Budget(Caps(usd_per_hour=1.0))
    first = budget.admit("shop", 10, 0.6, NOON)
    assert until(budget, "shop", 10, 0.6, NOON)
    budget.settle(first, 5, 0.1)
    second = budget.admit("shop", 10, 0.6, NOON)
    budget.release(second)
    assert budget.spent(NOON).usd == pytest.approx(0.1)
    assert budget.held(NOON).usd == pytest.approx(0.0)


def test_a_service_has_its_own_caps_or_those_of_any_other() -> None:
    """`*` is each service that is not named, and each has as much."""
    budget = Budget(Caps(), {"shop": Caps(tokens_per_day=100), "*": Caps(tokens_per_day=10)})
    budget.admit("shop", 100, None, NOON)
    budget.admit("bank", 10, None, NOON)
    budget.admit("post", 10, None, NOON)
    assert until(budget, "shop", 1, None, NOON)
    assert until(budget, "bank", 1, None, NOON)


def test_the_next_hour_and_day_are_free_again() -> None:
    """Periods are those of UTC; a call counts in the one in which it was admitted, whenever it ends."""
    budget = Budget(Caps(tokens_per_hour=10, tokens_per_day=15))
    late = budget.admit("shop", 10, None, NOON)
    budget.settle(budget.admit("shop", 5, None, NOON + HOUR), 5, None)
    budget.settle(late, 10, None)
    assert until(budget, "shop", 1, None, NOON + HOUR) == NOON + 12 * HOUR
    budget.admit("shop", 10, None, NOON + 12 * HOUR)


def test_what_was_spent_before_counts() -> None:
    """After a restart the store tells it, by hour and service."""
    budget = Budget(Caps(usd_per_day=1.0), {"shop": Caps(tokens_per_hour=100)})
    budget.load([Spend(NOON - 3 * HOUR, "bank", 0.5, 70), Spend(NOON, "shop", 0.4, 95, unpriced=20)])
    assert budget.spent(NOON + 1) == Amount(0.9, 165, 20)
    assert budget.spent(NOON + 1, HOUR, "shop") == Amount(0.4, 95, 20)
    assert until(budget, "shop", 6, 0.0, NOON) == NOON + HOUR
    assert until(budget, "bank", 6, 0.2, NOON) == NOON + 12 * HOUR


def test_the_error_names_the_cap_and_the_service_harmlessly() -> None:
    """A service's name comes from spans."""
    budget = Budget(Caps(), {"*": Caps(usd_per_hour=1.0)})
    with pytest.raises(OverBudgetError) as caught:
        budget.admit("evil\x1b[2J\u202e", 10, 2.0, NOON)
    said = str(caught.value)
    assert "usd_per_hour" in said
    assert "13:00 UTC" in said
    assert said.isprintable()


def test_old_hours_are_forgotten() -> None:
    """Memory does not grow with the days."""
    budget = Budget(Caps(tokens_per_day=10))
    for day in range(400):
        budget.settle(budget.admit("shop", 10, None, NOON + day * DAY), 10, None)
    assert len(budget._hours) < 50


Step = tuple[int, str, int, float | None, float]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 3 * HOUR),  # how much later
        st.sampled_from(["shop", "bank"]),
        st.integers(0, 100),
        st.one_of(st.none(), st.floats(0, 1)),
        st.floats(0, 1.5),  # the cost as a share of the estimate
    ),
    max_size=60,
)


@given(steps=STEPS, order=st.randoms(use_true_random=False))
def test_no_order_of_calls_passes_a_cap_by_more_than_the_estimates_err(steps: list[Step], order: Random) -> None:
    """Admitted and settled in any order, over any hours, for any service."""
    caps, own = Caps(usd_per_hour=1.0, usd_per_day=2.0, tokens_per_hour=150), Caps(tokens_per_day=200)
    budget, now = Budget(caps, {"*": own}), NOON
    open_calls: list[tuple[Reservation, int, float | None]] = []
    error_usd = error_tokens = 0.0
    for later, service, tokens, usd, share in steps:
        now += later
        try:
            reservation = budget.admit(service, tokens, usd, now)
        except OverBudgetError:
            continue
        cost = None if usd is None else usd * share
        used = round(tokens * share)
        error_usd += max((cost or 0.0) - (usd or 0.0), 0.0)
        error_tokens += max(used - tokens, 0)
        open_calls.append((reservation, used, cost))
        order.shuffle(open_calls)
        if len(open_calls) > 4:
            budget.settle(*open_calls.pop())
        spent = budget.spent(now, HOUR)
        assert spent.usd <= 1.0 + error_usd + 1e-9
        assert spent.tokens <= 150 + error_tokens
        assert budget.spent(now).usd <= 2.0 + error_usd + 1e-9
        assert budget.spent(now, DAY, service).tokens <= 200 + error_tokens
    for call in open_calls:
        budget.settle(*call)
    assert budget.held(now).usd == pytest.approx(0.0, abs=1e-9)
    assert budget.held(now).tokens == 0
    assert budget.spent(now).usd <= 2.0 + error_usd + 1e-9


def test_spare_is_what_falls_to_the_time_that_has_passed() -> None:
    """Half a day's cap at noon; of every cap that holds for the service."""
    budget = Budget(Caps(usd_per_day=1.0), {"shop": Caps(tokens_per_hour=100)})
    budget.load([Spend(NOON, "shop", 0.4, 60)])
    assert budget.spare("farm", NOON + 1)
    assert not budget.spare("shop", NOON + HOUR // 2)
    assert budget.spare("shop", NOON + HOUR * 3 // 4)
    assert not budget.spare("farm", NOON - 6 * HOUR)
    assert Budget(Caps()).spare("farm", NOON)


def test_caps_by_project() -> None:
    """Each project has its own, and the caps of a service hold within its project; the message names whose it is."""
    caps = {"acme": Caps(tokens_per_day=100), "*": Caps(tokens_per_day=10)}
    budget = Budget(Caps(tokens_per_day=200), {"shop": Caps(tokens_per_day=50)}, caps)
    budget.settle(budget.admit("shop", 50, None, NOON, "acme"), 50, None)
    budget.admit("bank", 50, None, NOON, "acme")
    budget.admit("shop", 10, None, NOON, "globex")
    for project, service, named in (
        ("acme", "post", "project 'acme'"), ("globex", "shop", "project 'globex'"), ("acme", "shop", "project 'acme'"),
    ):  # fmt: skip
        with pytest.raises(OverBudgetError, match=named):
            budget.admit(service, 1, None, NOON, project)
    assert (budget.spent(NOON, project="acme").tokens, budget.spent(NOON, project="globex").tokens) == (50, 0)
    assert not budget.spare("shop", NOON + 1, "acme")
    assert budget.spare("shop", NOON + 1, "globex")
    loaded = Budget(Caps(), {}, caps)
    loaded.load([Spend(NOON, "shop", 0.0, 10, tenant="globex")])
    loaded.admit("shop", 100, None, NOON, "acme")
    with pytest.raises(OverBudgetError):
        loaded.admit("shop", 1, None, NOON, "globex")
