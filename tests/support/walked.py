"""Every route of API and pages, with the ids of a project in place of its parameters."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from served_api import RECEIPT
from starlette.routing import Route
from two_projects import AGENT, TOOL, Tenant

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app


def routes() -> list[tuple[str, str]]:
    """Method and path of every endpoint."""
    parts = ("trace_queries", "architectures", "labels", "alerts")
    none = dict.fromkeys(("receipts", "judged_by_others"))
    reader: Any = SimpleNamespace(tenant="", **none, **dict.fromkeys(parts, SimpleNamespace(cache_judged=None)))
    app = create_web_app(Services(reader, lambda _ids, _hand: (), tuple, bytes, delete=lambda _query: RECEIPT))
    found = set()
    for route in app.routes:
        assert isinstance(route, Route), f"{route} is of a kind that the tests do not walk"
        found |= {(method, route.path) for method in route.methods or () if method != "HEAD"}
    return sorted(found)


def filled(path: str, tenant: Tenant, error_id: str = "0" * 32) -> str:
    """A path with the ids of a tenant. A parameter that has no value here raises KeyError: give it one."""
    values = {
        "trace_id": tenant.trace_id, "span_id": TOOL, "session_id": tenant.session, "service": tenant.service,
        "error_id": error_id, "some_id": error_id, "annotation_id": "x", "key": tenant.trace_id, "node": AGENT,
        "run_id": AGENT, "term": "TC", "task": "refund-7", "name": "GF", "by": "service", "digest": "x", "path": "x",
        "pattern_id": "x", "view": "x",
    }  # fmt: skip
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: values[found[1]], path)
