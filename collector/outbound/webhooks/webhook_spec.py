"""The settings of one webhook."""

from __future__ import annotations

from dataclasses import dataclass, field

from .rules import WebhookRules


@dataclass(frozen=True, slots=True)
class WebhookSpec:
    """`keys` sign, the newest first; `base`: the address of pages and API; `max_age` in nanos."""

    name: str
    rules: WebhookRules
    keys: tuple[bytes, ...] = field(repr=False)
    base: str
    max_age: int
    concurrency: int
