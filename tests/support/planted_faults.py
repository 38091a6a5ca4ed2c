"""Forty faults of three services in generated runs: one fault, many wordings, as the libraries that raise it have them.

What varies is drawn without any regard to how templates are made: names of several scripts, ids of several forms, paths,
addresses of objects, dates, texts cut off, tracebacks, and the order of arguments.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tracejury.schemas.spans import STATUS_ERROR, STATUS_OK, Span

VERSIONS: Final = ("1.0.0", "1.1.0", "1.2.0-rc1", "1.2.0", "2.0.0", "2.1.0")
NAMES: Final = (
    "Ann Lee", "Zoë Müller", "李雷", "Ольга Иванова", "Seán O'Brien", "محمد علي", "Anna-Lena Groß", "Bo", "X Æ A-12",
    "María José Carreño Quiñones", "佐藤 花子", "ann", "Dr. J. van der Berg", "Jean-Luc d'Arc", "Nguyễn Văn An",
)  # fmt: skip
PLACES: Final = (
    "Zürich", "北京", "São Paulo", "Köln", "Новосибирск", "St. John's", "القاهرة", "Aix-en-Provence", "Lyon", "Ōsaka",
    "Las Vegas, NV", "'s-Hertogenbosch", "York", "Bad Homburg v. d. Höhe",
)  # fmt: skip
WORDS: Final = (
    "red shoes", "lampe de bureau", "Fahrradschlauch 28 Zoll", "usb-c cable (2 m)", "寿司", "größe: XL", 'a "real" bargain',
    "gift for mum & dad", "C++ primer", "50 % off",
)  # fmt: skip
SQL: Final = (
    "SELECT name FROM sales WHERE year = 2024", "select sum(revenue) from orders group by month",
    "WITH t AS (SELECT * FROM visits) SELECT count(*) FROM t", "SELECT a.id, b.total FROM a JOIN b ON a.id = b.a_id",
)  # fmt: skip
CODE: Final = (
    "print(total / count)",
    "rows = load()\nprint(rows[7])",
    "import pandas as pd\ndf = pd.read_csv('x.csv')",
)
FAULTY: Final = 0.3
"""The share of runs with a fault."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one tool of one service; `call`: the arguments and the message of one time."""

    service: str
    tool: str
    call: Callable[[Draw], tuple[dict[str, Any], str]]


class Draw:
    """Values of all kinds."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def one(self, values: tuple[str, ...]) -> str:
        return self.random.choice(values)

    @property
    def name(self) -> str:
        return self.one(NAMES)

    @property
    def place(self) -> str:
        return self.one(PLACES)

    @property
    def number(self) -> int:
        return self.random.choice((self.random.randrange(1, 10), self.random.randrange(10, 100_000)))

    @property
    def id(self) -> str:
        r = self.random
        letters = "".join(r.choices(string.ascii_uppercase, k=3))
        return r.choice((
            f"A-{r.randrange(10**6)}", f"{r.getrandbits(128):032x}", str(r.randrange(10**9)), f"{letters}-{r.randrange(99)}",
            f"{r.getrandbits(32):08x}-{r.getrandbits(16):04x}-4{r.getrandbits(12):03x}-a{r.getrandbits(12):03x}-1f",
        ))  # fmt: skip

    @property
    def host(self) -> str:
        return (
            f"{self.one(('db', 'es', 'api', 'cache'))}-{self.random.randrange(40)}.{self.one(('internal', 'eu.corp'))}"
        )

    @property
    def mail(self) -> str:
        return f"{self.one(('ann', 'bo.li', 'x+y', 'kontakt'))}{self.random.randrange(99)}@{self.one(('example.com', 'a.co.uk'))}"

    @property
    def path(self) -> str:
        folders = self.random.sample(("srv", "data", "Reports 2024", "home/ann", "übung", "tmp"), k=3)
        return (
            "/"
            + "/".join(folders)
            + f"/{self.one(('q1', 'summary', 'noten', '売上'))}{self.one(('.csv', '.pdf', '.tar.gz', ''))}"
        )

    @property
    def date(self) -> str:
        day, month, year = (self.random.randrange(a, b) for a, b in ((1, 29), (1, 13), (2019, 2030)))
        return self.random.choice((f"{year}-{month:02}-{day:02}", f"{day}.{month}.{year}", f"{day} March {year}"))

    @property
    def url(self) -> str:
        return f"https://{self.host}/{self.one(('v1', 'v2/items', 'wiki'))}/{self.id}?q={self.random.randrange(99)}"

    @property
    def address(self) -> str:
        return f"0x7f{self.random.getrandbits(40):010x}"


def _traceback(d: Draw, error: str) -> str:
    lines = "".join(
        f'  File "{d.one(("/app/tools.py", "<string>", "/srv/run.py"))}", line {d.number}, in {d.one(("main", "<module>"))}\n'
        f"    {d.one(('return f(x)', 'run()', 'value = parse(text)'))}\n"
        for _ in range(d.random.randrange(1, 4))
    )
    return f"Traceback (most recent call last):\n{lines}{error}"


def _order(d: Draw) -> dict[str, Any]:
    return {"order_id": d.id, "customer": d.name}


def _fixed(message: Callable[[Draw], str], arguments: Callable[[Draw], dict[str, Any]]) -> Callable[[Draw], Any]:
    return lambda d: (arguments(d), message(d))


def _about(names: Mapping[str, str], message: str) -> Callable[[Draw], Any]:
    """Arguments by name of what is drawn for them, of which the message repeats some."""

    def call(d: Draw) -> tuple[dict[str, Any], str]:
        own = {name: getattr(d, kind) for name, kind in names.items()}
        rest = {kind: getattr(d, kind) for kind in ("id", "number", "host", "date", "name", "url", "address", "path")}
        return own, message.format(**{**rest, **own})

    return call


def _sql(message: str) -> Callable[[Draw], Any]:
    def call(d: Draw) -> tuple[dict[str, Any], str]:
        query = d.one(SQL)
        return {"query": query}, message.format(
            query=query, word=d.one(tuple(query.replace("(", " ").split())), column=d.number, number=d.number
        )

    return call


def _code(message: str) -> Callable[[Draw], Any]:
    return lambda d: ({"code": d.one(CODE), "timeout": d.number}, _traceback(d, message.format(number=d.number)))


def _search(message: str) -> Callable[[Draw], Any]:
    def call(d: Draw) -> tuple[dict[str, Any], str]:
        query = d.one(WORDS)
        return {"query": query, "limit": d.number}, message.format(query=query, host=d.host, id=d.id, number=d.number)

    return call


MAIL: Final = _about(
    {"to": "mail", "subject": "name"},
    "smtplib.SMTPRecipientsRefused: {{'{to}': (550, b'5.1.1 <{to}>: Recipient address rejected: User unknown')}}",
)
FLIGHT: Final = {"origin": "place", "destination": "place", "day": "date"}
ROOM: Final = {"hotel": "name", "arrival": "date"}
AMOUNT: Final = {"charge": "id", "amount": "number"}
FAULTS: Final = (
    Fault("shop", "get_order", _about({"order_id": "id", "customer": "name"}, "OrderNotFound: no order {order_id} of customer '{customer}'")),
    Fault("shop", "get_order", _fixed(lambda _: "TypeError: get_order() missing 1 required positional argument: 'order_id'", lambda d: {"customer": d.name})),
    Fault("shop", "get_order", _fixed(lambda _: "TypeError: get_order() got an unexpected keyword argument 'verbose'", lambda d: _order(d) | {"verbose": True})),
    Fault("shop", "get_order", _fixed(lambda _: "TypeError: get_order() got an unexpected keyword argument 'email'", lambda d: _order(d) | {"email": d.mail})),
    Fault("shop", "refund", _about(AMOUNT, "stripe.error.InvalidRequestError: Request req_{id}: Charge {charge} has already been refunded.")),
    Fault("shop", "refund", _about(AMOUNT, "stripe.error.CardError: Your card has insufficient funds. (request {id})")),
    Fault("shop", "refund", _about({"charge": "id", "amount": "date"}, "1 validation error for RefundRequest\namount\n  Input should be a valid number, unable to parse string as a number [type=float_parsing, input_value='{amount}', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.7/v/float_parsing")),
    Fault("shop", "refund", _about(AMOUNT, "1 validation error for RefundRequest\namount\n  Input should be less than or equal to 500 [type=less_than_equal, input_value={amount}, input_type=int]\n    For further information visit https://errors.pydantic.dev/2.7/v/less_than_equal")),
    Fault("shop", "search_products", _search("elastic_transport.ConnectionTimeout: Connection timeout caused by: ReadTimeoutError(HTTPSConnectionPool(host='{host}', port=9200): Read timed out. (read timeout={number}))")),
    Fault("shop", "search_products", _search("BadRequestError(400, 'search_phase_execution_exception', 'Failed to parse query [{query}]')")),
    Fault("shop", "send_mail", MAIL),
    Fault("shop", "send_mail", _about({"to": "mail"}, "socket.gaierror: [Errno -2] Name or service not known: {host}")),
    Fault("shop", "update_address", _about({"id": "id", "email": "mail"}, 'psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "customers_email_key"\nDETAIL:  Key (email)=({email}) already exists.')),
    Fault("shop", "update_address", _about({"id": "id", "customer": "name"}, 'psycopg.errors.NotNullViolation: null value in column "zip" of relation "customers" violates not-null constraint\nDETAIL:  Failing row contains ({id}, {customer}, null, {date}).')),
    Fault("travel", "search_flights", _about(FLIGHT, "HTTP 503 Service Unavailable: upstream {host} took {number} ms")),
    Fault("travel", "search_flights", _about(FLIGHT, "HTTP 429 Too Many Requests: retry after {number} seconds (request {id})")),
    Fault("travel", "search_flights", _about(FLIGHT, "ValueError: time data '{day}' does not match format '%Y-%m-%d'")),
    Fault("travel", "search_flights", _about(FLIGHT, "NoSuchRoute: there is no route from {origin} to {destination} on {day}")),
    Fault("travel", "book_hotel", _about(ROOM, "RoomUnavailable: {hotel} has no room from {arrival} on ({number} on the waiting list)")),
    Fault("travel", "book_hotel", _about(ROOM, "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='{host}', port=443): Max retries exceeded with url: /v1/rooms?hotel={id} (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at {address}>: Failed to establish a new connection: [Errno 111] Connection refused'))")),
    Fault("travel", "book_hotel", _about(ROOM, "json.decoder.JSONDecodeError: Expecting ',' delimiter: line {number} column 7 (char {number})")),
    Fault("travel", "get_weather", _about({"place": "place"}, "httpx.ReadTimeout: timed out after {number} s: {url}")),
    Fault("travel", "get_weather", _about({"place": "place"}, "LookupError: unknown place: {place}")),
    Fault("travel", "convert", _about({"amount": "name", "to": "place"}, "decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]")),
    Fault("travel", "convert", _about({"amount": "number", "to": "place"}, "UnknownCurrency: '{to}' is not a code of ISO 4217")),
    Fault("travel", "convert", _about({"amount": "number", "to": "place"}, "HTTP 401 Unauthorized: key {id} expired on {date}")),
    Fault("travel", "send_mail", MAIL),
    Fault("research", "read_file", _about({"path": "path"}, "FileNotFoundError: [Errno 2] No such file or directory: '{path}'")),
    Fault("research", "read_file", _about({"path": "path"}, "PermissionError: [Errno 13] Permission denied: '{path}'")),
    Fault("research", "read_file", _about({"path": "path"}, "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position {number}: invalid continuation byte")),
    Fault("research", "run_sql", _sql("sqlite3.OperationalError: no such column: revenue")),
    Fault("research", "run_sql", _sql('psycopg.errors.SyntaxError: syntax error at or near "{word}"\nLINE 1: {query}\n        ^')),
    Fault("research", "run_sql", _sql("psycopg.errors.QueryCanceled: canceling statement due to statement timeout after {number} ms")),
    Fault("research", "run_python", _code("ZeroDivisionError: division by zero")),
    Fault("research", "run_python", _code("ModuleNotFoundError: No module named 'pandas'")),
    Fault("research", "run_python", _code("IndexError: list index out of range")),
    Fault("research", "fetch", _about({"url": "url"}, "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: {url}")),
    Fault("research", "fetch", _about({"url": "url"}, "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: {url}")),
    Fault("research", "fetch", _about({"url": "url"}, "requests.exceptions.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:{number})")),
    Fault("research", "translate", _about({"text": "name", "to": "place"}, "UnsupportedLanguage: cannot translate into {to}, only into 34 languages")),
)  # fmt: skip


@dataclass(frozen=True)
class PlantedRun:
    """The spans of one trace; `fault`: the index of what goes wrong in it, None for nothing."""

    trace_id: str
    spans: tuple[Span, ...]
    fault: int | None


def planted_runs(count: int, seed: int = 0) -> Iterator[PlantedRun]:
    """Runs of all versions in order."""
    random = Random(seed)  # noqa: S311
    for number in range(count):
        version = VERSIONS[number * len(VERSIONS) // count]
        fault = random.randrange(len(FAULTS)) if random.random() < FAULTY else None
        yield _run(number, version, fault, Draw(random))


def _run(number: int, version: str, fault: int | None, draw: Draw) -> PlantedRun:
    one = FAULTS[draw.random.randrange(len(FAULTS)) if fault is None else fault]
    arguments, message = one.call(draw)
    keys = draw.random.sample(list(arguments), k=len(arguments))
    arguments = {key: arguments[key] for key in keys}
    if draw.random.random() < 0.05:
        message = message[: draw.random.randrange(60, 240)]
    result = message if fault is not None else f"ok: {draw.number} of {draw.name}"
    trace_id, ids = f"{number + 1:032x}", [f"{number + 1:012x}{step:04x}" for step in range(4)]
    call = {"type": "tool_call", "id": "c1", "name": one.tool, "arguments": arguments}
    asked = [_said("user", {"type": "text", "content": f"Please see to it for {draw.name}."})]
    back = _said("tool", {"type": "tool_call_response", "id": "c1", "response": result})
    answer = "I am sorry, that failed." if fault is not None else f"Done: {result}"
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("", "invoke_agent clerk", {"operation.name": "invoke_agent", "agent.name": "clerk"}),
        (ids[0], "chat m", _chat(asked, _said("assistant", call))),
        (ids[0], f"execute_tool {one.tool}", {
            "operation.name": "execute_tool", "tool.name": one.tool, "tool.call.id": "c1",
            "tool.call.arguments": json.dumps(arguments, ensure_ascii=draw.random.random() < 0.5),
        } | ({} if fault is not None else {"tool.call.result": result})),
        (ids[0], "chat m", _chat([*asked, _said("assistant", call), back], _said("assistant", {"type": "text", "content": answer}))),
    ]  # fmt: skip
    spans = []
    for index, (parent, name, attributes) in enumerate(steps):
        failed = index == 2 and fault is not None
        spans.append(
            Span(
                trace_id, ids[index], parent, name, 10 * index + 1, 100 if not index else 10 * index + 9,
                {f"gen_ai.{key}": value for key, value in attributes.items()},
                service=one.service, resource_attributes={"service.name": one.service, "service.version": version},
                status_code=STATUS_ERROR if failed else STATUS_OK, status_message=message if failed else "",
            )
        )  # fmt: skip
    return PlantedRun(trace_id, tuple(spans), fault)


def _said(role: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _chat(sent: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, Any]:
    return {
        "operation.name": "chat", "request.model": "m", "input.messages": json.dumps(sent),
        "output.messages": json.dumps([reply]),
    }  # fmt: skip
