"""HTTP errors in the output of calls whose status says that all went well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts, failed_calls
from tracejury.judges.failure_text import FailureKind as F
from tracejury.judges.rule import Hit, rule

_CLASSES: Final = (
    ("auth", (F.AUTH,), "Authentication Errors", "access to the page was refused", "Page that refused access"),
    ("not-found", (F.NOT_FOUND,), "Resource Not Found", "there is no such page", "Page that does not exist"),
    ("rate", (F.RATE,), "Rate Limiting", "the rate of requests was limited", "Page that limited the rate"),
    ("timeout", (F.TIMEOUT,), "Timeout Issues", "the page timed out", "Page that timed out"),
    ("service", (F.SERVICE,), "Service Errors", "the page's server failed", "Page whose server failed"),
)


def _error_pages(facts: RunFacts, _: Context, *, kinds: tuple[F, ...], what: str) -> Iterator[Hit]:
    for _turn, call in facts.once(failed_calls):
        found, span = call.failure, call.call.span
        if found is not None and found.page and found.kind in kinds and span is not None and not span.is_error:
            text = f"{call.call.name} reports success, but its output says that {what}."
            yield Hit(span.span_id, found.text, text, tool_span_id=span.span_id)


RULES: Final = tuple(
    # A page that is not there is found out by looking.
    rule(
        f"{name}-error-page",
        category,
        "TC EE",
        "LOW",
        find,
        confidence=0.2 if name == "not-found" else 0.5,
        of_failure=True,
        title=title,
        scope="run",
    )
    for name, kinds, category, what, title in _CLASSES
    for find in (partial(_error_pages, kinds=kinds, what=what),)
)
