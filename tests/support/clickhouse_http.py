"""ClickHouse's HTTP interface over the embedded engine: what a server's DSN is tested against.

The engine that answers is the real one; only the transport is ours, and only as much of it as clickhouse-connect
uses: statements, bound parameters, settings and the database as URL parameters, inserts in Native format, errors with
their code.
"""

from __future__ import annotations

import re
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.frame  # type: ignore[import-untyped]

# Parameters of the transport itself; every other one is a setting of the engine.
TRANSPORT = {"database", "session_id", "client_protocol_version", "wait_end_of_query", "query_id", "user", "password",
             "send_progress_in_http_headers", "http_headers_progress_interval_ms", "enable_http_compression",
             "compress", "cancel_http_readonly_queries_on_client_close"}  # fmt: skip


class ClickHouseServer(ThreadingHTTPServer):
    """Serves the engine in `folder`; `requests` holds the URL parameters and headers of each request.

    While `away` it hangs up on everyone; while it `is_read_only` it takes no rows, as replicas that lost their Keeper;
    while `open` is not set it is slow: every answer waits for it.
    """

    away = False
    is_read_only = False
    without: Sequence[str] = ()
    """Settings that it does not pass on to the engine."""

    def plain(self, sql: bytes) -> bytes:
        """The statement as the engine gets it."""
        return sql

    def __init__(self, folder: Path, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.folder = folder
        self.open = threading.Event()
        self.open.set()
        self.requests: list[tuple[dict[str, str], dict[str, str]]] = []

    @property
    def dsn(self) -> str:
        """Without database or user."""
        return f"clickhouse://127.0.0.1:{self.server_port}"


@contextmanager
def clickhouse_server(
    folder: Path, tls: ssl.SSLContext | None = None, of: type[ClickHouseServer] = ClickHouseServer
) -> Iterator[ClickHouseServer]:
    """A server on a free port, closed at the end; with `tls` it is https."""
    with of(folder, tls) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its headers
    server: ClickHouseServer

    def do_POST(self) -> None:
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        self.server.requests.append((parameters, dict(self.headers)))
        if self.server.away:
            self.close_connection = True
            return None
        raw = self._raw_body()  # read it all, also where it cannot be used: the connection is kept
        self.server.open.wait()
        if self.server.is_read_only and parameters.get("query", "").startswith("INSERT"):
            said = b"Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)"
            return self._answer(500, said, {"X-ClickHouse-Exception-Code": "242"})
        try:
            fields = _fields(self.headers.get("Content-Type", ""), raw)
            answer, form = _run(self.server, parameters | fields, b"" if fields else self._plain(raw))
        except RuntimeError as error:
            code = re.search(r"Code: (\d+)", str(error))
            self._answer(500, str(error).encode(), {"X-ClickHouse-Exception-Code": code.group(1) if code else "1002"})
        else:
            self._answer(200, answer, {"X-ClickHouse-Format": form} if form else {})

    do_GET = do_POST  # noqa: N815  the base class asks for this name

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _plain(self, body: bytes) -> bytes:
        return bytes(lz4.frame.decompress(body)) if self.headers.get("Content-Encoding") == "lz4" else body

    def _raw_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _fields(kind: str, body: bytes) -> dict[str, str]:
    """The fields of a form, as long parameters come; empty for a body of another kind."""
    if not kind.startswith("multipart/form-data"):
        return {}
    found = {}
    for part in body.split(b"--" + kind.partition("boundary=")[2].encode())[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="(\w+)"', head)
        assert name is not None
        found[name[1].decode()] = value.removesuffix(b"\r\n").decode()
    return found


def _run(server: ClickHouseServer, parameters: dict[str, str], body: bytes) -> tuple[bytes, str]:
    """The answer to one statement and its format ("" for a statement without a result)."""
    connection = chdb.connect(str(server.folder))  # type: ignore[no-untyped-call]  # chdb has no annotations there
    try:
        if database := parameters.get("database"):
            connection.query(f"USE `{database}`")
        no_settings = {*TRANSPORT, *server.without}
        settings = [
            f"{name} = '{value}'"
            for name, value in parameters.items()
            if name not in no_settings and not name.startswith(("param_", "query"))
        ]
        if settings:
            connection.query(f"SET {', '.join(settings)}")
        bound = {name[6:]: value for name, value in parameters.items() if name.startswith("param_")}
        sql = parameters["query"].encode() + b"\n" + body if "query" in parameters else body
        sql = server.plain(sql)
        insert = re.match(rb"(INSERT INTO .*? FORMAT Native)\n", sql, re.DOTALL)
        if insert:
            with tempfile.NamedTemporaryFile(suffix=".native") as data:
                data.write(sql[insert.end() :])
                data.flush()
                into = insert.group(1).decode().removesuffix(" FORMAT Native")
                connection.query(f"{into} FROM INFILE '{data.name}' FORMAT Native")
            return b"", ""
        form = re.search(rb"FORMAT (\w+)\s*$", sql)
        name = form.group(1).decode() if form else "TabSeparated"
        answer = connection.query(sql.decode(), name, params=bound).bytes() or b""
        return answer, name if answer else ""
    finally:
        connection.close()
