"""Requests of the API client, and errors by what the user should do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import ValidationError

from tracejury.schemas.errors import PermanentError, RetryableError
from tracejury.schemas.wire.base import Model

from .client_connection import UnreachableError, content_of, no_api, opened, tls_problem
from .client_requests import Parameters, of_page, refuse_unknown, sayable

_NO_HTTP = "illegal"  # what h11 says of a first line that is none of HTTP/1's, such as gRPC's frames
_NO_ANSWER = "without sending a response"  # httpcore's, of a connection that was closed at once


class ApiConnection:
    """Asks the API at `url`; a context manager. `timeout` in seconds, for each read; `http`: asked as it is."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self._http = http or opened(url, timeout, transport)
        self.url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.close()

    def stream(
        self, path: str, params: Mapping[str, str], begun: Callable[[Mapping[str, str]], None] | None = None
    ) -> Iterator[bytes]:
        """A long answer in pieces, its headers given to `begun` first. Raises RetryableError where it breaks off."""
        given = {key: value for key, value in params.items() if value}
        with self._failing(), self._http.stream("GET", path, params=given) as answer:
            if not answer.is_success:
                answer.read()
                content_of(answer, self.url)
            if begun is not None:
                begun(answer.headers)
            yield from answer.iter_bytes()

    def _get(self, model: type[Model], path: str, params: Parameters | None = None) -> Model:
        found = self._parsed(model, self._ask("GET", path, params))
        refuse_unknown(params or {}, getattr(found, "unknown", {}))
        return found

    def _send(
        self, model: type[Model], method: str, path: str, body: object, params: Parameters | None = None
    ) -> Model:
        return self._parsed(model, self._ask(method, path, params, body))

    def _list(self, model: type[Model], path: str, filters: Parameters, limit: int) -> tuple[list[Model], bool]:
        """The items of a paged list, and whether there are more than `limit`."""
        items, cursor = self._page(model, path, filters, limit, "")
        while cursor and len(items) < limit:
            more, cursor = self._page(model, path, filters, limit - len(items), cursor)
            items += more
        return items[:limit], bool(cursor)

    def _page(
        self, model: type[Model], path: str, filters: Parameters, limit: int, cursor: str
    ) -> tuple[list[Model], str]:
        page = self._ask("GET", path, of_page(filters, limit, cursor))
        refuse_unknown(filters, page.get("unknown", {}))
        return [self._parsed(model, item) for item in page["items"]], page["next"] or ""

    def _parsed(self, model: type[Model], answer: object) -> Model:
        try:
            return model.model_validate(answer)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise PermanentError(
                f"the collector at {self.url} is of another version: {place or 'its answer'}: {first['msg']}"
            ) from None

    def _ask(self, method: str, path: str, params: Parameters | None = None, json: object = None) -> Any:
        """The JSON of one answer; parameters that are empty are left out."""
        given = {key: value for key, value in (params or {}).items() if value}
        with self._failing():
            return content_of(self._http.request(method, path, params=given, json=json), self.url)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            with sayable():
                yield
        except httpx.ConnectError as error:
            if problem := tls_problem(error, self.url):
                raise PermanentError(problem) from error
            raise UnreachableError(
                f"no collector answers at {self.url}: start one with `tracejury serve`, or name another with --url"
            ) from error
        except httpx.TimeoutException as error:
            raise RetryableError(f"the collector at {self.url} did not answer in time") from error
        except httpx.HTTPError as error:
            if isinstance(error, httpx.RemoteProtocolError) and _NO_HTTP in str(error):
                raise PermanentError(no_api(self.url, "", "gRPC")) from error
            if problem := tls_problem(error, self.url):
                raise PermanentError(problem) from error
            is_closed = self.url.startswith("http:") and _NO_ANSWER in str(error)
            hint = " Perhaps it takes https:// only." if is_closed else ""
            raise RetryableError(f"the collector at {self.url} broke off: {error}{hint}") from error
