"""A collector in a process of its own that has been sent traces over OTLP: ours, and real ones where they are there."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import httpx
import pytest
from browsing import Watched
from gallery import MINUTE, Shown, perform
from gallery_runs import ACTS
from house import TRACES, House, open_house

from tracejury.collector.otlp.client import replay_files

REAL = 6


def made_up() -> Sequence[Shown]:
    """Each act of the gallery once, over the last half an hour; those of the help desk are one session."""
    chance = random.Random(5)  # noqa: S311  a draw of examples, no secret
    acts = [(service, act) for service, acts in ACTS.items() for act in acts]
    start = time.time_ns() - len(acts) * 2 * MINUTE
    return [
        perform(act, service, start + n * 2 * MINUTE, chance, session="talk/1" if service == "help-desk" else "")
        for n, (service, act) in enumerate(acts)
    ]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With the gallery's traces, all judged."""
    with open_house(tmp_path_factory.mktemp("house")) as house:
        for one in made_up():
            house.send(one)
        house.wait_until_settled(len(house.shown))
        yield house


@pytest.fixture(scope="session")
def real_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With real traces, replayed."""
    if not TRACES.is_dir():
        pytest.skip("the shared TRAIL traces are not there")
    with open_house(tmp_path_factory.mktemp("real")) as house:
        files = sorted(TRACES.glob("*.json.gz"))[:REAL]
        replay_files(files, f"http://127.0.0.1:{house.serving.ports['grpc']}", "grpc")
        house.wait_until_settled(REAL)
        yield house


@pytest.fixture(params=["house", pytest.param("real_house", marks=pytest.mark.trail)])
def any_house(request: pytest.FixtureRequest) -> House:
    """One after the other."""
    house: House = request.getfixturevalue(request.param)
    return house


@pytest.fixture
def visitor(house: House, open_site: Callable[[str], Watched]) -> Watched:
    """A page of its own on the made-up house."""
    return open_site(house.url)


@pytest.fixture
def client(house: House) -> Iterator[httpx.Client]:
    """The API of the made-up house."""
    with httpx.Client(base_url=house.url, trust_env=False, timeout=30) as client:
        yield client
