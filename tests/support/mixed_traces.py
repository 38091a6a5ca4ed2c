"""Endless traffic of small agents for tests with several processes: whole runs, runs over two traces, and sessions.

Half of the runs have an error. Ids are fresh, and follow from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from otlp_parts import text
from weather_agent import agent

from tracejury.collector.otlp.client import FreshIds
from tracejury.collector.otlp.codec.groups import Request, group, rows
from tracejury.collector.otlp.codec.signals import SPANS


def mixed(chance: random.Random, corpus: Sequence[Request]) -> Iterator[list[Request]]:
    """Requests of one to three spans, in the order in which their senders have them, by what belongs together."""
    while True:
        kind = chance.random()
        if kind < 0.1 and corpus:
            made = [_fresh(chance.choice(corpus), chance)]
        elif kind < 0.3:
            made = _over_two(chance)
        elif kind < 0.5:
            made = _session(chance)
        else:
            made = [_run(chance)]
        yield [part for one in made for part in _cut(one, chance)]


def _run(chance: random.Random) -> Request:
    return _fresh(agent(1, fault=chance.random() < 0.5), chance)


def _fresh(request: Request, chance: random.Random) -> Request:
    return FreshIds(chance.randbytes(16)).rewrite(request)


def _over_two(chance: random.Random) -> list[Request]:
    """A run whose root stands below a span of another trace, and names it by a link in half of the cases."""
    above, below = _run(chance), _run(chance)
    outer, inner = _spans(above)[0], next(span for span in _spans(below) if not span.parent_span_id)
    inner.parent_span_id = outer.span_id
    if chance.random() < 0.5:
        inner.links.add(trace_id=outer.trace_id, span_id=outer.span_id)
    return chance.sample([above, below], 2)


def _session(chance: random.Random) -> list[Request]:
    """Traces of one session."""
    made = [_run(chance) for _ in range(chance.randint(2, 3))]
    name = chance.randbytes(6).hex()
    for one in made:
        for span in _spans(one):
            span.attributes.append(text("session.id", name))
    return made


def _spans(request: Request) -> list[Any]:
    return [span for _, _, span in rows(request)]


def _cut(request: Request, chance: random.Random) -> Iterator[Request]:
    """By when spans ended, as senders do; now and then the root comes first, and small traces whole."""
    found = sorted(rows(request), key=lambda row: row[2].end_time_unix_nano, reverse=chance.random() < 0.2)
    size = chance.choice([1, 3]) if len(found) <= 3 else 32
    for at in range(0, len(found), size):
        yield group(SPANS, found[at : at + size])
