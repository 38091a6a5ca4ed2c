"""Runs that fail beside runs that pass: what is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DivergenceQuery:
    """Runs of [`since`, `until`) (unix nanos, of arrival): of one `task`, or those with a `pattern` and without it.

    `service`: "" of all; `profile`: as elsewhere.
    """

    since: int
    until: int
    task: str = ""
    pattern: str = ""
    service: str = ""
    profile: str = ""
