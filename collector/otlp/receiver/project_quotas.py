"""Caps on the bytes that projects send, by hour and day of UTC."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import Annotated, Final

from pydantic import Field

from tracejury.schemas.config_base import Section
from tracejury.schemas.errors import OverloadedError

SECOND: Final = 1_000_000_000
ANY: Final = "*"

Bytes = Annotated[int, Field(ge=0)]


class ProjectQuota(Section):
    """Bytes of decompressed requests; null is no cap. Beyond it they are refused retryably until the period ends."""

    bytes_per_hour: Bytes | None = None
    """Bytes an hour."""
    bytes_per_day: Bytes | None = None
    """Bytes a day."""


class ProjectQuotas:
    """Counts what projects have sent in the running hour and day, from the start of the process on."""

    def __init__(self, quotas: Mapping[str, ProjectQuota]) -> None:
        self._quotas, self._lock = quotas, Lock()
        self._sent: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._began: dict[int, int] = {}

    def admit(self, project: str, size: int, now: int) -> None:
        """Count a request of so many bytes; `now` in unix nanos.

        Raises:
            OverloadedError: it does not fit under a cap; it is not counted.
        """
        quota = self._quotas.get(project) or self._quotas.get(ANY)
        if quota is not None:
            with self._lock:
                self._admit(quota, project, size, now)

    def _admit(self, quota: ProjectQuota, project: str, size: int, now: int) -> None:
        limits = ((3_600, "hour", quota.bytes_per_hour), (86_400, "day", quota.bytes_per_day))
        for period, name, limit in limits:
            self._forget(period, now)
            if limit is not None and self._sent[project, period] + size > limit:
                of = f"project {project}" if project else "the default project"
                ends = (period * SECOND - now % (period * SECOND)) / SECOND
                raise OverloadedError(
                    f"{of} has sent the {limit} bytes that it may send in one {name} (intake.per_project)",
                    retry_after=ends,
                )
        for period, _, _ in limits:
            self._sent[project, period] += size

    def _forget(self, period: int, now: int) -> None:
        """Begin again where an hour or day has ended."""
        began = now // (period * SECOND)
        if self._began.get(period) != began:
            self._began[period] = began
            for key in [key for key in self._sent if key[1] == period]:
                del self._sent[key]
