"""Caps on what projects send."""

from __future__ import annotations

import pytest
from otlp_parts import span, traces

from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.receiver.intake import Intake, IntakeConfig
from tracejury.collector.otlp.receiver.project_quotas import ProjectQuota, ProjectQuotas
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import OverloadedError

SECOND = 1_000_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
NOON = 20_000 * DAY + 12 * HOUR


def admitted(quotas: ProjectQuotas, project: str, size: int, now: int) -> bool:
    try:
        quotas.admit(project, size, now)
    except OverloadedError:
        return False
    return True


def test_a_cap_ends_with_its_period_and_is_of_one_project() -> None:
    """What is refused counts not; a project that is not named has the caps of "*", each its own."""
    own = ProjectQuota(bytes_per_hour=10, bytes_per_day=15)
    quotas = ProjectQuotas({"acme": own, "*": ProjectQuota(bytes_per_day=3)})
    assert admitted(quotas, "acme", 10, NOON)
    assert not admitted(quotas, "acme", 1, NOON + HOUR - 1)
    assert not admitted(quotas, "acme", 6, NOON + HOUR)
    assert admitted(quotas, "acme", 5, NOON + HOUR)
    assert not admitted(quotas, "acme", 1, NOON + 2 * HOUR)
    assert admitted(quotas, "acme", 10, NOON + DAY)
    for project in ("", "globex"):
        assert admitted(quotas, project, 3, NOON + DAY)
        assert not admitted(quotas, project, 1, NOON + DAY)


def test_without_caps_nothing_is_counted() -> None:
    quotas = ProjectQuotas({})
    assert all(admitted(quotas, "acme", 2**40, NOON) for _ in range(3))


def test_the_client_is_told_when_the_period_ends() -> None:
    quotas = ProjectQuotas({"*": ProjectQuota(bytes_per_hour=0)})
    with pytest.raises(
        OverloadedError, match="project acme has sent the 0 bytes that it may send in one hour"
    ) as refused:
        quotas.admit("acme", 1, NOON + 600 * SECOND)
    assert refused.value.retry_after == 3_000


async def test_a_request_beyond_the_cap_is_not_stored() -> None:
    """Those of other projects are."""
    body = traces(span(), service="shop").SerializeToString()
    stored: list[Batch] = []

    class Sink:
        async def submit(self, batch: Batch) -> int:
            stored.append(batch)
            return 0

    config = IntakeConfig(per_project={"acme": ProjectQuota(bytes_per_day=len(body))})
    intake = Intake(Sink(), config, clock=lambda: NOON)
    for project in ("acme", "globex"):
        await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, body, tenant=project)
    with pytest.raises(OverloadedError):
        await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, body, tenant="acme")
    assert [one.spans[0].tenant for one in stored] == ["acme", "globex"]
