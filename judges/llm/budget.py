"""Caps on what judging may cost: by hour and day of UTC, per service, per project and in all. Pure.

Amounts are US dollars and tokens.

A call is admitted with an estimate, which is held back until the call is settled: calls in flight together cannot pass
a cap that each alone would keep. A call counts in the hour in which it was admitted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.llm_rows import Spend

HOUR: Final = 3_600 * 1_000_000_000
DAY: Final = 24 * HOUR
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Caps:
    """None is no cap. `unpriced_tokens_per_day`: those of a model whose price is not known."""

    usd_per_hour: float | None = None
    usd_per_day: float | None = None
    tokens_per_hour: float | None = None
    tokens_per_day: float | None = None
    unpriced_tokens_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """US dollars; tokens read and written; those of them without a price."""

    usd: float = 0.0
    tokens: int = 0
    unpriced: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens, self.unpriced + other.unpriced)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens, self.unpriced - other.unpriced)


def amount(tokens: int, usd: float | None) -> Amount:
    """The cost of a call; `usd` None: no price is known."""
    return Amount(usd or 0.0, tokens, tokens if usd is None else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """An admitted call. `hour`: unix nanos at which the hour of its admission began; `payer`: project and service."""

    hour: int
    payer: tuple[str, str]
    held: Amount


@dataclass(slots=True)
class _Hour:
    spent: Amount = field(default_factory=Amount)
    held: Amount = field(default_factory=Amount)


@dataclass(frozen=True, slots=True)
class _Cap:
    """One cap: over `period` nanoseconds, of what `part` reads."""

    name: str
    period: int
    unit: str
    part: Callable[[Amount], float]
    limit: Callable[[Caps], float | None]


_CAPS: Final = (
    _Cap("usd_per_hour", HOUR, "USD", lambda a: a.usd, lambda c: c.usd_per_hour),
    _Cap("usd_per_day", DAY, "USD", lambda a: a.usd, lambda c: c.usd_per_day),
    _Cap("tokens_per_hour", HOUR, "tokens", lambda a: a.tokens, lambda c: c.tokens_per_hour),
    _Cap("tokens_per_day", DAY, "tokens", lambda a: a.tokens, lambda c: c.tokens_per_day),
    _Cap("unpriced_tokens_per_day", DAY, "tokens", lambda a: a.unpriced, lambda c: c.unpriced_tokens_per_day),
)


@dataclass(frozen=True, slots=True)
class _Of:
    """Whose spend: of all, of a project, or of one service of a project. `name` is for messages."""

    name: str = ""
    project: str | None = None
    service: str | None = None

    def counts(self, payer: tuple[str, str]) -> bool:
        """Whether what a project and service spend is part of it."""
        return self.project in (None, payer[0]) and self.service in (None, payer[1])


class Budget:
    """Spend against caps. `services`, `projects`: caps by name; "*" is each one that is not named.

    A service's caps hold within its project. One thread uses it; times are unix nanos and are passed in.
    """

    def __init__(
        self, overall: Caps, services: Mapping[str, Caps] | None = None, projects: Mapping[str, Caps] | None = None
    ) -> None:
        self._overall, self._services, self._projects = overall, dict(services or {}), dict(projects or {})
        self._hours: defaultdict[int, defaultdict[tuple[str, str], _Hour]] = defaultdict(lambda: defaultdict(_Hour))

    def load(self, spends: Iterable[Spend]) -> None:
        """Count what was spent before, as the store has it."""
        for spend in spends:
            hour = self._hours[_start(spend.hour, HOUR)][spend.tenant, spend.service]
            hour.spent += Amount(spend.usd, spend.tokens, spend.unpriced)

    def raise_to(self, spends: Iterable[Spend]) -> None:
        """Count what other processes have spent, too: the store has it of all, but for what is not stored yet."""
        stored: defaultdict[tuple[int, str, str], Amount] = defaultdict(Amount)
        for spend in spends:
            stored[_start(spend.hour, HOUR), spend.tenant, spend.service] += Amount(
                spend.usd, spend.tokens, spend.unpriced
            )
        for (start, *payer), amount in stored.items():
            hour = self._hours[start][payer[0], payer[1]]
            own = hour.spent
            hour.spent = Amount(
                max(own.usd, amount.usd), max(own.tokens, amount.tokens), max(own.unpriced, amount.unpriced)
            )

    def admit(self, service: str, tokens: int, usd: float | None, now: int, project: str = "") -> Reservation:
        """Hold back an estimate for a call; `settle` or `release` it.

        Raises:
            OverBudgetError: it does not fit under a cap; names the cap and when its period ends. `held`: it would
                fit if nothing were held back.
        """
        self._forget(now)
        wanted = amount(tokens, usd)
        for cap, limit, whose in self._limits(project, service):
            self._check(cap, limit, whose, wanted, now)
        reservation = Reservation(_start(now, HOUR), (project, service), wanted)
        self._hours[reservation.hour][reservation.payer].held += wanted
        return reservation

    def settle(self, reservation: Reservation, tokens: int, usd: float | None) -> None:
        """The call is over and cost this. Exactly once a reservation."""
        self._let_go(reservation, amount(tokens, usd))

    def release(self, reservation: Reservation) -> None:
        """The call came to nothing and costs nothing."""
        self._let_go(reservation, Amount())

    def spent(self, now: int, period: int = DAY, service: str | None = None, project: str | None = None) -> Amount:
        """The amount spent in the running hour or day, by one service or project, or (None) by all."""
        return self._sum(now, period, _Of(project=project, service=service))[0]

    def held(self, now: int, period: int = DAY) -> Amount:
        """The amount held back for calls in flight that were admitted in the running hour or day."""
        return self._sum(now, period, _Of())[1]

    def spare(self, service: str, now: int, project: str = "") -> bool:
        """Whether less is spent than falls to the time that has passed of each period: the rest is for what comes."""
        return all(
            cap.part(self._sum(now, cap.period, whose)[0]) < limit * (now - _start(now, cap.period)) / cap.period
            for cap, limit, whose in self._limits(project, service)
        )

    def _limits(self, project: str, service: str) -> Iterator[tuple[_Cap, float, _Of]]:
        """The caps on a call of a service, those of all first."""
        of_project = self._projects.get(project, self._projects.get(ANY, Caps()))
        of_service = self._services.get(service, self._services.get(ANY, Caps()))
        for caps, whose in (
            (self._overall, _Of()),
            (of_project, _Of(f"project {project[:100]!r}", project)),
            (of_service, _Of(f"service {service[:100]!r}", project, service)),
        ):
            for cap in _CAPS:
                if (limit := cap.limit(caps)) is not None:
                    yield cap, limit, whose

    def _check(self, cap: _Cap, limit: float, whose: _Of, wanted: Amount, now: int) -> None:
        more = cap.part(wanted)
        done, waiting = self._sum(now, cap.period, whose)
        spent = cap.part(done)
        taken = spent + cap.part(waiting)
        if not more or taken + more <= limit:
            return
        until = _start(now, cap.period) + cap.period
        of = f" of {whose.name}" if whose.name else ""
        end = f"{datetime.fromtimestamp(until // 10**9, UTC):%Y-%m-%d %H:%M} UTC"
        raise OverBudgetError(
            f"judges.budget {cap.name}{of} until {end}: {_shown(taken, cap)} of {_shown(limit, cap)} "
            f"spent or reserved, this call may take {_shown(more, cap)}",
            until=until,
            held=spent + more <= limit,
            project=whose.project,
        )

    def _sum(self, now: int, period: int, whose: _Of) -> tuple[Amount, Amount]:
        """What is spent and what is held back in the running hour or day."""
        first, spent, held = _start(now, period), Amount(), Amount()
        for start, payers in self._hours.items():
            if first <= start < first + period:
                for payer, hour in payers.items():
                    if whose.counts(payer):
                        spent, held = spent + hour.spent, held + hour.held
        return spent, held

    def _let_go(self, reservation: Reservation, cost: Amount) -> None:
        hour = self._hours[reservation.hour][reservation.payer]
        hour.held -= reservation.held
        hour.spent += cost

    def _forget(self, now: int) -> None:
        """Drop the hours that no running period reaches."""
        for start in [start for start in self._hours if start < _start(now, DAY) - HOUR]:
            del self._hours[start]


def used_of_caps(spends: Iterable[Spend], names: Collection[str], now: int) -> dict[str, float]:
    """Spend of all services that the caps of these names look at. `spends`: at least those of the running day."""
    budget = Budget(Caps())
    budget.load(spends)
    return {cap.name: cap.part(budget.spent(now, cap.period)) for cap in _CAPS if cap.name in names}


def _start(at: int, period: int) -> int:
    """When the hour or day began; unix time has whole days of UTC."""
    return at // period * period


def _shown(value: float, cap: _Cap) -> str:
    return f"{value:.2f} {cap.unit}" if cap.unit == "USD" else f"{value:,.0f} {cap.unit}"
