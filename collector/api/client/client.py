"""The command line's client of a running collector: one method a question, errors by what the user should do."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from ....schemas.errors import ConfigError, NotFoundError, PermanentError, RetryableError
from ....schemas.wire.doctor import DiagnosisJson
from ....schemas.wire.lists import SessionJson, SessionRowJson
from ....schemas.wire.traces import (
    ArchitectureJson,
    ClearedJson,
    ErrorJson,
    JudgedJson,
    LedgerPage,
    TraceJson,
    TraceRowJson,
)

DEFAULT_URL = "http://127.0.0.1:8321"
PAGE = 500
MAX_PORT = 65_535
JUDGE_PAGE = 20  # small, so that the progress moves and no request runs into the time-out
_NO_HTTP = "illegal"  # what h11 says of a first line that is none of HTTP/1's, such as gRPC's frames
_NOT_FOUND, _BUSY, _BAD = 404, frozenset({429, 503}), frozenset({400, 422})


class UnreachableError(RetryableError):
    """No collector answers at the address."""


class Client:
    """Asks the API at `url`; a context manager. `timeout` in seconds, for each read."""

    def __init__(self, url: str, *, timeout: float = 60.0, transport: httpx.BaseTransport | None = None) -> None:
        try:
            base = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ConfigError(f"{url!r} is no address: {error}") from error
        if base.scheme not in {"http", "https"} or not base.host or (base.port or 0) > MAX_PORT:
            raise ConfigError(f"{url!r} is no address of a collector: write it as {DEFAULT_URL}")
        # A proxy that the environment names is for the outside world, not for a collector on this machine.
        self._http = httpx.Client(
            base_url=base, timeout=timeout, transport=transport, trust_env=not _is_loopback(base.host)
        )
        self.url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.close()

    def trace(self, trace_id: str, *, profile: str = "") -> TraceJson:
        """One trace, rebuilt. Raises NotFoundError for an unknown id."""
        return cast("TraceJson", self.ask("GET", f"/api/traces/{in_path(trace_id)}", {"profile": profile}))

    def traces(self, filters: Mapping[str, str], limit: int) -> tuple[list[TraceRowJson], bool]:
        """Traces, in the asked order, and whether there are more than `limit`."""
        return cast("tuple[list[TraceRowJson], bool]", self.listed("/api/traces", filters, limit))

    def sessions(self, filters: Mapping[str, str], limit: int) -> tuple[list[SessionRowJson], bool]:
        """Sessions, in the asked order, and whether there are more than `limit`."""
        return cast("tuple[list[SessionRowJson], bool]", self.listed("/api/sessions", filters, limit))

    def session(self, session_id: str, *, service: str = "", profile: str = "") -> SessionJson:
        """One session as a conversation. Raises NotFoundError for an unknown id."""
        path = f"/api/sessions/{in_path(session_id)}"
        return cast("SessionJson", self.ask("GET", path, {"service": service, "profile": profile}))

    def errors(self, filters: Mapping[str, str], limit: int) -> tuple[list[ErrorJson], bool]:
        """Findings, latest first, and whether there are more than `limit`. `filters` are those of /api/errors."""
        return cast("tuple[list[ErrorJson], bool]", self.listed("/api/errors", filters, limit))

    def errors_after(self, filters: Mapping[str, str], after: str) -> tuple[list[ErrorJson], str]:
        """A page of findings first seen after `after` (ISO 8601, "now" or a cursor), earliest first, and its cursor."""
        page = self.ask("GET", "/api/errors", {**filters, "after": after, "limit": str(PAGE)})
        return page["items"], page["next"]

    def ledger(self, filters: Mapping[str, str], limit: int) -> LedgerPage:
        """Up to `limit` last words of judges, latest first, with what comes beside them; `next` is null at the end.

        Raises NotFoundError for an unknown trace.
        """
        page = self._page("/api/ledger", filters, limit)
        while page["next"] and len(page["items"]) < limit:
            more = self._page("/api/ledger", filters, limit - len(page["items"]), page["next"])
            page = {**page, "items": page["items"] + more["items"], "next": more["next"]}
        return cast("LedgerPage", page)

    def doctor(self, *, trace: str = "", service: str = "") -> list[DiagnosisJson]:
        """The diagnosis of a trace or a service, or one a service of the last day.

        Raises NotFoundError for an unknown trace or service.
        """
        page = self.ask("GET", "/api/doctor", {"trace": trace, "service": service})
        return cast("list[DiagnosisJson]", page["items"])

    def architectures(self) -> list[ArchitectureJson]:
        """The description that holds of each service."""
        return cast("list[ArchitectureJson]", self.ask("GET", "/api/architectures")["items"])

    def architecture(self, service: str) -> ArchitectureJson:
        """The description that holds of a service. Raises NotFoundError where there is none."""
        return cast("ArchitectureJson", self.ask("GET", _architecture(service)))

    def architecture_versions(self, service: str) -> list[ArchitectureJson]:
        """What was derived, edited and cleared, latest first."""
        page = self.ask("GET", _architecture(service), {"history": "true"})
        return cast("list[ArchitectureJson]", page["items"])

    def edit_architecture(self, service: str, text: str) -> ArchitectureJson:
        """Put a description in the place of the derived one. Raises ConfigError for one that is empty or too long."""
        return cast("ArchitectureJson", self.ask("PUT", _architecture(service), json={"text": text}))

    def clear_architecture(self, service: str) -> ClearedJson:
        """Let the derived description hold again."""
        return cast("ClearedJson", self.ask("DELETE", _architecture(service), json={}))

    def judge(self, *, trace_id: str = "", since: str = "") -> Iterator[JudgedJson]:
        """Judge one stored trace, or all that arrived since a point in time (ISO 8601), again; what was judged."""
        cursor = ""
        while True:
            body = {"trace_id": trace_id, "since": since, "cursor": cursor, "limit": JUDGE_PAGE}
            page = self.ask("POST", "/api/judge", json=body)
            yield from page["items"]
            cursor = page["next"] or ""
            if not cursor:
                return

    def listed(self, path: str, filters: Mapping[str, str], limit: int) -> tuple[list[Any], bool]:
        """The items of a paged list, and whether there are more than `limit`."""
        items: list[Any] = []
        cursor = ""
        while True:
            page = self._page(path, filters, limit - len(items), cursor)
            items += page["items"]
            cursor = page["next"] or ""
            if not cursor or len(items) >= limit:
                return items[:limit], bool(cursor)

    def _page(self, path: str, filters: Mapping[str, str], limit: int, cursor: str = "") -> Any:
        return self.ask("GET", path, {**filters, "limit": str(min(PAGE, limit)), "cursor": cursor})

    def stream(self, path: str, params: Mapping[str, str]) -> Iterator[bytes]:
        """A long answer in pieces; errors as of other questions, and RetryableError where it breaks off."""
        given = {key: value for key, value in params.items() if value}
        with self._failing(), self._http.stream("GET", path, params=given) as answer:
            if not answer.is_success:
                answer.read()
                self._read(answer)
            yield from answer.iter_bytes()

    def ask(self, method: str, path: str, params: Mapping[str, str] | None = None, json: object = None) -> Any:
        """One question in the API's own words; parameters that are empty are left out."""
        given = {key: value for key, value in (params or {}).items() if value}
        with self._failing():
            return self._read(self._http.request(method, path, params=given, json=json))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            with _sayable():
                yield
        except httpx.ConnectError as error:
            raise UnreachableError(
                f"no collector answers at {self.url}: start one with `tracejury serve`, or name another with --url"
            ) from error
        except httpx.TimeoutException as error:
            raise RetryableError(f"the collector at {self.url} did not answer in time") from error
        except httpx.HTTPError as error:
            if isinstance(error, httpx.RemoteProtocolError) and _NO_HTTP in str(error):
                raise PermanentError(
                    f"what answers at {self.url} is not tracejury's API: it may be the port of OTLP/gRPC "
                    f"(by default the API is at {DEFAULT_URL})"
                ) from error
            raise RetryableError(f"the collector at {self.url} broke off: {error}") from error

    def _read(self, answer: httpx.Response) -> Any:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if answer.is_success and isinstance(body, dict):
            return body
        detail = body.get("detail") if isinstance(body, dict) else None
        if not isinstance(detail, str):
            raise PermanentError(f"what answers at {self.url} is not tracejury's API (HTTP {answer.status_code})")
        if answer.status_code == _NOT_FOUND:
            raise NotFoundError(detail)
        if answer.status_code in _BAD:
            raise ConfigError(detail)
        if answer.status_code in _BUSY:
            raise RetryableError(detail)
        raise PermanentError(detail)


def in_path(text: str) -> str:
    """A text as one part of a path. Raises ConfigError where it is none in UTF-8."""
    with _sayable():
        # Dots are quoted, too: "." and ".." would be steps in the path.
        return quote(text, safe="").replace(".", "%2E")


@contextmanager
def _sayable() -> Iterator[None]:
    # Bytes of a command line that are no UTF-8 come as halves of surrogate pairs.
    try:
        yield
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 20) : error.start].rpartition('"')[2]
        after = error.object[error.start : error.end + 20].partition('"')[0]
        raise ConfigError(f"{before + after!a} is not text in UTF-8") from error


def _architecture(service: str) -> str:
    return f"/api/architectures/{in_path(service)}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
