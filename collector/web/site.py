"""Dependencies and decorators of pages.

A page is a module of this folder: pure functions that make its view model (frozen dataclasses) from what the reader
answers, and `add_<page>(app, site)`, which `build.py` lists. Its endpoints are plain functions that return
`site.render(request, "<page>.html", view=…)`; as readers block, `page` runs them on the framework's thread pool,
`rebuilding` on a few threads of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.datastructures import Headers

from tracejury.collector.api.access import KEY
from tracejury.collector.api.security import COOKIE, cookie_of, is_https, parse_form
from tracejury.collector.api.services import Services
from tracejury.collector.auth.key import AccessKey
from tracejury.collector.auth.sign_in import COOKIE as SESSION
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import STATED

from .change_feed import ChangeFeed
from .links import own_path
from .window import KEPT, Window, read_window

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Site:
    """Dependencies of every page."""

    services: Services
    templates: Environment
    change_feed: ChangeFeed

    @property
    def reader(self) -> StoredReader:
        """Answers queries from the store."""
        return self.services.reader

    @property
    def clock(self) -> Callable[[], int]:
        """Gives unix nanos."""
        return self.services.clock

    def window(self, request: Request) -> Window:
        """The time range and service of the URL.

        Raises:
            ConfigError: the range, a time or the service is invalid.
        """
        return read_window(request.query_params, self.clock())

    def _projects(self, request: Request) -> Sequence[AccessKey]:
        """The keys that the browser is signed in with and can change between."""
        ids = self.services.sign_ins.key_ids(request.cookies.get(SESSION, ""))
        return [key for key in map(self.services.keyring.holds, ids) if key is not None]

    def render(self, request: Request, template: str, *, status: int = 200, **view: Any) -> HTMLResponse:
        """A rendered page or fragment. Templates see `view`, `window`, `now` (unix nanos), `path`, `csrf` and `key`."""
        cookie = cookie_of(request.headers) or self.services.tokens.new_cookie()
        text = self.templates.get_template(template).render(
            {
                "window": self.window(request),
                "now": self.clock(),
                "path": own_path(request.scope),
                "params": list(request.query_params.multi_items()),
                "csrf": self.services.tokens.of(cookie),
                "key": request.scope.get(KEY) if self.services.keyring.asks else None,
                "projects": self._projects(request),
                **view,
            }
        )
        response = HTMLResponse(text, status_code=status, headers={"Cache-Control": "private, no-cache"})
        if cookie != cookie_of(request.headers):
            is_secure = is_https(request.scope)
            response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/", secure=is_secure)
        return response


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def page(app: FastAPI, path: str, *names: str) -> Decorator:
    """Decorate the handler of GET requests for a page; it refuses parameters but those of windows and these `names`."""
    known = app.state.pages[path] = list(dict.fromkeys([*KEPT, *names]))

    async def only_known(request: Request) -> None:
        unknown = next((name for name in request.query_params if name not in known), None)
        if unknown is not None:
            raise ConfigError(f"no parameter {unknown[:40]!r}: this page has {', '.join(known)}")

    return app.get(path, include_in_schema=False, response_class=HTMLResponse, dependencies=[Depends(only_known)])


def rebuilding(app: FastAPI, path: str, few: CapacityLimiter, *names: str) -> Decorator:
    """Decorate the handler of a page that may rebuild a large trace, as `page`; it runs on `few` threads."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @page(app, path, *names)
        @wraps(function)
        async def run(*args: Any, **given: Any) -> Any:
            return await to_thread.run_sync(partial(function, *args, **given), limiter=few)

        return run

    return decorate


def action(app: FastAPI, path: str) -> Decorator:
    """Decorate the handler of forms posted to `path`; the guard has checked origin and token."""
    return app.post(path, include_in_schema=False, response_class=HTMLResponse)


def simulated(request: Request) -> bool:
    """Whether a page is asked for simulated sessions instead of real ones."""
    return request.query_params.get("simulated", "") not in ("", "0", "false")


def stated(request: Request) -> dict[str, Any]:
    """What a page is asked for of what spans state: attributes, tag and user, by parameter."""
    given = request.query_params
    found = {one.name: [text for text in given.getlist(one.name) if text] for one in STATED}
    return {one.name: found[one.name] if one.repeated else "".join(found[one.name][-1:]) for one in STATED}


def choice(kind: type[Choice], name: str, text: str) -> Choice:
    """A member of an enumeration by the value in a URL.

    Raises:
        ConfigError: the enumeration has no such value.
    """
    if text not in set(kind):
        raise ConfigError(f"no {name} {text[:40]!r}: use one of {', '.join(kind)}")
    return kind(text)


async def _form(request: Request) -> Mapping[str, str]:
    return parse_form(await request.body())


Form = Annotated[Mapping[str, str], Depends(_form)]
"""Handler parameter: the fields of the posted form."""


def is_fragment(headers: Headers) -> bool:
    """Whether htmx asks for a fragment of the page."""
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"
