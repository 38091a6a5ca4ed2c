"""API and pages as one application."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fastapi import FastAPI

from ...schemas.queries.ledger import JudgesStatus
from ..api.app import JudgeAgain, create_app
from ..api.deletion import Delete
from ..api.security import Tokens
from ..otlp.receiver.ports import Endpoint
from ..queries.reader import Reader
from ..web.build import add_pages
from ..worker.listeners import Listeners


def create_web_app(
    reader: Reader,
    judge: JudgeAgain,
    *,
    problems: Callable[[], Sequence[str]],
    metrics: Callable[[], bytes],
    judges: Callable[[], JudgesStatus] = JudgesStatus,
    any_host: bool = False,
    clock: Callable[[], int] = time.time_ns,
    listeners: Listeners | None = None,
    endpoints: Callable[[], Sequence[Endpoint]] = tuple,
    delete: Delete | None = None,
) -> FastAPI:
    """`create_app`, with the pages.

    `listeners`: who hears of what was judged, for live pages; `endpoints`: those of the receivers.
    """
    tokens = Tokens()
    app = create_app(
        reader,
        judge,
        problems=problems,
        metrics=metrics,
        judges=judges,
        any_host=any_host,
        clock=clock,
        delete=delete,
        tokens=tokens,
    )
    add_pages(app, reader, judge, judges, clock, tokens, listeners or Listeners(), endpoints)
    return app
