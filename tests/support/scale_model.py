"""A model of partitions, workers and their lag, and the arithmetic of how many of each a rate needs. Pure.

Time goes by in steps. Spans are a fluid: a trace is a number of spans that come evenly over its duration, all in the
partition of its id. A worker has one core; it takes from its partitions in turn, of each the oldest spans first. What
is judged again while a trace grows is part of the CPU time of a span.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

DAY: Final = 86_400.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is simulated. Times in seconds, CPU times in milliseconds."""

    spans_per_second: float = 2_000.0
    partitions: int = 24
    workers: int = 4
    seconds: float = 120.0
    step: float = 0.1
    cpu_of_span: float = 0.6
    """Decoding, redacting, writing a block, and all judgings of the trace, for each span."""
    cpu_of_group: float = 5.0
    """Of each insert (`group_spans` at most), and its offsets."""
    group_spans: int = 8_192
    spans_per_trace: float = 29.0
    skew: float = 1.0
    """Standard deviation of the logarithm of a trace's spans; 0: all are alike."""
    trace_seconds: float = 20.0
    huge: float = 0.0
    """Spans a second of one trace that goes on for ever, beyond the others."""
    lost_at: float | None = None
    """When a worker dies."""
    added_at: float | None = None
    """When one joins."""
    detection: float = 45.0
    """Until the group notices a death: Kafka's `session.timeout.ms`."""
    pause: float = 1.0
    """For which partitions that move are read by nobody."""
    cpu_of_reload: float = 0.25
    """Of a span of an open trace that a new owner reads and judges again."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. `lag` is how long a span waits until it is stored and judged, in seconds."""

    arrived: float
    done: float
    waiting: float
    lag_p50: float
    lag_p99: float
    most_waiting: float
    caught_up: float | None
    """Seconds after the last change of the group until nothing older than a second waited; None: not in the time."""
    utilisation: float
    busiest: float
    """Of the busiest worker."""


def arrivals(cluster: Cluster) -> Floats:
    """Spans by step and partition."""
    draw = np.random.default_rng(cluster.seed)
    steps, over = _steps(cluster), max(1, round(cluster.trace_seconds / cluster.step))
    # Traces also begin before the first step, so that the rate is even from the start.
    change = np.zeros((steps + 2 * over + 1, cluster.partitions))
    started = draw.poisson(cluster.spans_per_second / cluster.spans_per_trace * cluster.step, steps + over)
    begin = np.repeat(np.arange(steps + over), started)
    spans = draw.lognormal(-(cluster.skew**2) / 2, cluster.skew, begin.size) * cluster.spans_per_trace / over
    partition = draw.integers(cluster.partitions, size=begin.size)
    np.add.at(change, (begin, partition), spans)
    np.add.at(change, (begin + over, partition), -spans)
    found = np.maximum(np.cumsum(change, axis=0)[over : over + steps], 0.0)
    found[:, 0] += cluster.huge * cluster.step
    return found


def simulate(cluster: Cluster) -> Outcome:
    """Run it."""
    came = arrivals(cluster)
    steps, partitions = came.shape
    workers = cluster.workers + (cluster.added_at is not None)
    dead, lost = _at(cluster, cluster.lost_at, 0.0), _at(cluster, cluster.lost_at, cluster.detection)
    added = _at(cluster, cluster.added_at, 0.0)
    alive = set(range(cluster.workers))
    owner = np.arange(partitions) % cluster.workers
    ready = np.zeros(partitions, dtype=np.int64)
    waiting, reload = np.zeros(partitions), np.zeros(partitions)
    open_spans = cluster.trace_seconds / 2 * came.mean(axis=0) / cluster.step
    budget = cluster.step * 1e3
    served, spent, most = np.zeros_like(came), np.zeros(workers), 0.0
    for step in range(steps):
        if step in (lost, added):
            alive = alive - ({0} if step == lost else set()) | ({workers - 1} if step == added else set())
            moved = assign(owner, sorted(alive))
            ready[moved] = step + round(cluster.pause / cluster.step)
            reload[moved] += open_spans[moved] * cluster.cpu_of_reload
        waiting += came[step]
        for worker in alive:
            if worker == 0 and dead is not None and step >= dead:
                continue
            own = np.flatnonzero((owner == worker) & (ready <= step))
            cost = min(budget, float(reload[own].sum()))
            reload[own] *= 1 - cost / max(float(reload[own].sum()), 1e-9)
            taken = _share(waiting[own], _affordable(cluster, budget - cost, float(waiting[own].sum())))
            served[step, own] = taken
            waiting[own] -= taken
            groups = math.ceil(float(taken.sum()) / cluster.group_spans)
            spent[worker] += cost + float(taken.sum()) * cluster.cpu_of_span + groups * cluster.cpu_of_group
        most = max(most, float(waiting.sum()))
    lags, weights = _lags(came, served, cluster.step)
    last = max((at for at in (lost, added) if at is not None), default=None)
    busy = spent / (steps * budget)
    return Outcome(
        arrived=float(came.sum()), done=float(served.sum()), waiting=float(waiting.sum()),
        lag_p50=_quantile(lags, weights, 0.5), lag_p99=_quantile(lags, weights, 0.99), most_waiting=most,
        caught_up=None if last is None else _caught_up(came, served, cluster.step, last),
        utilisation=float(busy.sum()) / cluster.workers, busiest=float(busy.max()),
    )  # fmt: skip


def _steps(cluster: Cluster) -> int:
    return max(1, round(cluster.seconds / cluster.step))


def _at(cluster: Cluster, when: float | None, later: float) -> int | None:
    return None if when is None else round((when + later) / cluster.step)


def assign(owner: NDArray[np.int64], alive: list[int]) -> NDArray[np.int64]:
    """Move as few partitions as even shares allow; returns those that moved."""
    held = {worker: list(np.flatnonzero(owner == worker)) for worker in alive}
    least, more = divmod(owner.size, len(alive))
    by_size = sorted(alive, key=lambda worker: -len(held[worker]))
    room = {worker: least + (place < more) for place, worker in enumerate(by_size)}
    moved = [partition for worker in alive for partition in held[worker][room[worker] :]]
    moved += list(np.flatnonzero(~np.isin(owner, alive)))
    takers = [worker for worker in alive for _ in range(room[worker] - len(held[worker]))]
    owner[moved] = takers
    return np.array(moved, dtype=np.int64)


def _affordable(cluster: Cluster, milliseconds: float, waiting: float) -> float:
    """Spans of those that wait for which the CPU time is enough, with the groups that they make."""
    whole = cluster.cpu_of_group + cluster.group_spans * cluster.cpu_of_span
    groups = milliseconds // whole
    rest = max(0.0, milliseconds - groups * whole - cluster.cpu_of_group) / cluster.cpu_of_span
    return min(waiting, groups * cluster.group_spans + min(rest, cluster.group_spans))


def _share(waiting: Floats, spans: float) -> Floats:
    """The same number of each partition, as far as it has so many."""
    taken, left = np.zeros_like(waiting), spans
    for place, index in enumerate(np.argsort(waiting)):
        taken[index] = min(float(waiting[index]), left / (waiting.size - place))
        left -= taken[index]
    return taken


def _lags(came: Floats, served: Floats, step: float) -> tuple[Floats, Floats]:
    """How long the spans of each step and partition waited, and how many they are; what still waits: until the end."""
    lags = np.empty_like(came)
    for partition in range(came.shape[1]):
        done, asked = np.cumsum(served[:, partition]), np.cumsum(came[:, partition])
        lags[:, partition] = np.searchsorted(done, asked - 1e-6 * (1 + asked)) - np.arange(came.shape[0])
    return lags.ravel() * step, came.ravel()


def _quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(sums, share * sums[-1]), values.size - 1)]) if sums[-1] else 0.0


def _caught_up(came: Floats, served: Floats, step: float, since: int) -> float | None:
    """Seconds from the step `since` until nothing that came more than a second before waits in any partition."""
    old = max(1, round(1 / step))
    came_by, done_by = np.cumsum(came, axis=0), np.cumsum(served, axis=0)
    behind: NDArray[np.bool_] = np.any(came_by[:-old] > done_by[old:] + 1e-6 * (1 + came_by[:-old]), axis=1)
    late = np.flatnonzero(behind[max(0, since - old) :])
    if not late.size:
        return 0.0
    last = max(0, since - old) + int(late[-1])
    return None if last == behind.size - 1 else (last + old + 1 - since) * step


def sampling_rate(runs_per_day: float, failing: float, usd_of_run: float, usd_per_day: float) -> tuple[float, float]:
    """The rate of a policy that keeps a cap, and the share of all runs that is then judged by an LLM.

    Runs with an error (`failing`, a share) are judged at any rate but 0; where they alone exceed the cap, the rate is 0
    and the cap is what ends it.
    """
    whole = runs_per_day * usd_of_run
    if whole <= usd_per_day:
        return 1.0, 1.0
    affordable = usd_per_day / whole
    if affordable <= failing:
        return 0.0, affordable
    return (affordable - failing) / (1 - failing), affordable


def with_enough_workers(cluster: Cluster, utilisation: float = 0.7) -> Cluster:
    """The same with workers for the rate, and partitions: six each, so that those of a lost one spread evenly.

    Each is busy for that share of its core, and without one of them the others are for at most nine tenths of theirs.
    """
    cores = cluster.spans_per_second * cluster.cpu_of_span / 1e3
    workers = max(math.ceil(cores / utilisation), 1 + math.ceil(cores / 0.9))
    return replace(cluster, workers=workers, partitions=max(12, 6 * workers))
