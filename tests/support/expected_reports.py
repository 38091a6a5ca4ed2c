"""What any sender expects of the reported shapes (shapes/reports/*/README.md), and why some do not come out yet."""

from __future__ import annotations

from dataclasses import replace

from shapes import ExpectedCall, ExpectedRun, ExpectedShape, report_files, variants

# Encodings --------------------------------------------------------------------------------------------------------

_IDS = "ids-base64-json"
_COURIER = ExpectedRun(("courier",), (1,), answer="=Fine.")
_IDS_SHAPES = (
    *variants(
        ExpectedShape("ids", (), refused=2),
        _IDS,
        (("base64", 1), ("base64 of hex", 2), ("dashes", 3), ("0x", 4)),
    ),
    *variants(ExpectedShape("ids", (), (_COURIER,), ((11, 0),)), _IDS, (("upper case", 5), ("names of enums", 9))),
)

_LINKS = "link-ids-as-byte-arrays"
_MAPPER = ExpectedShape("links", (), (ExpectedRun(("mapper",), (1,)),))
_LINKS_SHAPES = (
    *variants(_MAPPER, _LINKS, (("byte arrays", 1), ("base64", 7), ("null links", 2), ("null events", 3))),
    *variants(_MAPPER, _LINKS, (("null parent", 4), ("null status", 5), ("null value", 6))),
)

_MESSAGES = "message-attribute-shapes"
_LENGTH = ExpectedCall("length", ({"river": "Aare", "unit": "km"},), "288", turn=0, has_span=True, requested=True)
_RIVER = ExpectedShape(
    "messages",
    (),
    (ExpectedRun(("river",), (2,), (_LENGTH,), "=How long is the Aare?", "=It is 288 km long."),),
)
_MESSAGES_SHAPES = (
    *variants(
        _RIVER,
        _MESSAGES,
        (
            ("JSON text", 1),
            ("structured", 2),
            ("one object", 6),
            ("JSON lines", 8),
            ("indented", 9),
            ("arguments as text", 11),
        ),
    ),
    *variants(
        replace(_RIVER),
        _MESSAGES,
        (
            ("list of JSON texts", 3),
            ("bytes", 4),
            ("JSON of JSON", 5),
            ("wrapped", 7),
            ("Python's notation", 10),
        ),
    ),
)

# Shapes of runs ---------------------------------------------------------------------------------------------------

_PROMPTS = "one-trace-for-all-prompts"


def _prompts(first: int, last: int) -> ExpectedShape:
    many = last - first + 1
    grep = [ExpectedCall("grep", ({"for": f"word{n}"},), f"line {n}", turn=0, has_span=True) for n in range(many)]
    return ExpectedShape(
        f"{many} prompts in one trace",
        report_files(_PROMPTS, *range(first, last + 1)),
        tuple(
            ExpectedRun(("build",), (2,), (call,), f"=Find word{n}", f"=It is in line {n}.")
            for n, call in enumerate(grep)
        ),
        ((20 * many, 4 * many),),
    )


_PROMPTS_SHAPES = (_prompts(1, 5), _prompts(6, 305))

_NO_IDS = "results-without-call-ids"
_DISTANCE = ExpectedCall("distance", ({"to": "Riga"},), "80 km", turn=0, has_span=False, requested=True)
_RAIN = ExpectedCall("weather", ({"city": "Riga"},), "rain", turn=0, has_span=False, requested=True)


def _scout(name: str, at: int, *, spans: bool = False, failed: bool = False) -> ExpectedShape:
    distance = replace(_DISTANCE, result="", error="not found: Riga") if failed else _DISTANCE
    calls = tuple(replace(call, has_span=spans) for call in (distance, _RAIN))
    run = ExpectedRun(("scout",), (2,), calls, "=How far is Riga, and is it dry?", "=80 km, and it rains.")
    return ExpectedShape(
        f"results without ids, {name}",
        report_files(_NO_IDS, at),
        (run,),
        errors=(("f40d", "10d3"),) if failed else (),
    )


_NO_IDS_SHAPES = (
    _scout("Gemini's parts", 1),
    _scout("Gemini's parts and spans", 2, spans=True),
    _scout("a failed one", 3, failed=True),
    _scout("OTel's parts", 4),
    _scout("OTel's parts and spans", 5, spans=True),
)

_BOOK = ExpectedCall("book", ({"n": 2},), "booked", has_span=True)
_BOOKED = ExpectedRun(("host",), (), (_BOOK,), "=Book a table for two.", "=Your table is booked.")


def _host(name: str, at: int, run: ExpectedRun, tokens: tuple[int, int] = (20, 4)) -> ExpectedShape:
    return ExpectedShape(name, report_files("retries-and-cancelled", at), (run,), (tokens,), allowed=("run-cancelled",))


_FAILED_ATTEMPT = replace(_BOOK, result="", error="429 Too Many Requests")
_RETRIES_SHAPES = (
    _host("a model's call retried", 1, _BOOKED),
    _host("a model's call retried twice", 2, _BOOKED),
    _host("a hedged call", 3, _BOOKED),
    _host(
        "a tool retried",
        4,
        replace(_BOOKED, calls=(_FAILED_ATTEMPT, _BOOK)),
    ),
    _host(
        "a tool stopped by the user",
        5,
        replace(_BOOKED, calls=(replace(_BOOK, result="", error="cancelled"),), answer=""),
        (10, 2),
    ),
    _host("an answer stopped", 6, replace(_BOOKED, answer="=Your table is")),
    _host("a tool that never ended", 7, replace(_BOOKED, calls=(replace(_BOOK, result=""),), answer=""), (10, 2)),
)

_TWICE = "spans-exported-twice"
_WEIGH = ExpectedCall("weigh", ({"item": "crate"},), "12 kg", turn=0, has_span=True, requested=True)
_SCALE = ExpectedRun(("scale",), (2,), (_WEIGH,), "=How heavy is the crate?", "=It weighs 12 kg.")
_TWICE_SHAPES = tuple(
    ExpectedShape(f"exported twice, {name}", report_files(_TWICE, *files), (_SCALE,), ((200, 20),))
    for name, files in (
        ("five times", (1, 2, 3, 4, 5)),
        ("in one request", (6,)),
        ("new ids", (7,)),
        ("new ids of the leaves", (8,)),
        ("first in part", (9, 10)),
        ("first in part, again", (11, 12)),
        ("first whole", (13, 14)),
        ("two services", (15, 16)),
    )
)

_BROKE = "stream-broke-root-never-sent"
_TRAIN = ExpectedCall("find_train", ({"to": "Bern"},), "08:02", turn=0, has_span=True, requested=True)
_STEP = ExpectedRun((), (1,), (_TRAIN,), "=Find a train to Bern.", "", status=("unfinished",))
_PLANNER = ExpectedRun(("planner",), (2,), (_TRAIN,), "=Find a train to Bern.", "=Take the 08:02.")
_BROKE_SHAPES = (
    *variants(ExpectedShape("no root", (), (_STEP,), ((30, 7),)), _BROKE, (("agent steps", 1), ("flat", 4))),
    *variants(
        ExpectedShape("no root", (), (_STEP,), ((30, 7),)),
        _BROKE,
        (("plain steps", 2),),
    ),
    *variants(
        ExpectedShape("below infrastructure", (), (_PLANNER,), ((60, 14),)),
        _BROKE,
        (("first", 3), ("second", 5), ("third", 6)),
    ),
)

_ROOTS = "tools-without-parent"
_CODE_AGENT = ExpectedRun(
    ("CodeAgent",),
    (2,),
    (
        ExpectedCall("depth", ({"harbour": "Kiel"},), "14 m", turn=0, has_span=True),
        ExpectedCall("final_answer", ({"answer": "14 m"},), turn=1),
    ),
    "find the harbour depth",
    "=14 m",
)
_DIVER = ExpectedRun(
    ("diver",),
    (2,),
    (ExpectedCall("depth", ({"harbour": "Kiel"},), "14 m", turn=0, has_span=True, requested=True),),
    "=Find the harbour depth",
    "=14 m",
)
_ROOTS_SHAPES = tuple(
    replace(shape, tokens=((90, 10),))
    for shape in (
        ExpectedShape(
            "tools as roots, OpenInference",
            report_files(_ROOTS, 1),
            (_CODE_AGENT,),
        ),
        ExpectedShape(  # nothing but the service ties them: an agent of its own is as right as staying apart
            "tools in traces of their own, OpenInference",
            report_files(_ROOTS, 2),
            (replace(_CODE_AGENT, calls=(), closing=("depth", "final_answer")),),
            outside=True,
        ),
        ExpectedShape(
            "tools as roots, GenAI",
            report_files(_ROOTS, 3),
            (_DIVER,),
        ),
        ExpectedShape(
            "tools in traces of their own, GenAI",
            report_files(_ROOTS, 4),
            (replace(_DIVER, calls=(replace(_DIVER.calls[0], has_span=None),)),),
            outside=True,
        ),
    )
)

_USAGE = "usage-on-containers"


def _teller(
    name: str,
    at: int,
    tokens: tuple[tuple[int, int], ...],
    turns: int = 1,
    *,
    usd: float | None = None,
    calls: tuple[ExpectedCall, ...] = (),
) -> ExpectedShape:
    run = ExpectedRun(("teller",), (turns,), calls, "Question")
    return ExpectedShape(name, report_files(_USAGE, at), (run,), tokens, usd)


_LOOK = ExpectedCall("look", ({},), "seen", has_span=True)
_USAGE_SHAPES = (
    _teller("usage, the agent repeats the sum", 1, ((300, 30),), 2),
    _teller("usage, on the agent alone", 2, ((300, 30),), 0, calls=(_LOOK,)),
    _teller("usage, calls without", 3, ((300, 30),), 2),
    _teller("usage, a call in a call", 4, ((9, 12),)),
    _teller("usage, generation, step, inference", 5, ((40, 8),), calls=(_LOOK,)),
    _teller("usage, odd types of numbers", 6, ((220, 35),), 2),
    _teller("usage, cache inside", 7, ((130213, 100),), usd=0.0449),
    _teller("usage, cache outside", 8, ((5, 100), (130213, 100)), usd=0.0449),
)

_HISTORY = "whole-history-in-output"
_LOOKUP = ExpectedCall("lookup", ({"id": 5},), "Linz", turn=0, has_span=True, requested=True)
_PARCELS = ExpectedRun(
    ("parcels",),
    (2,),
    (_LOOKUP,),
    "=Where is parcel 5?",
    "=Parcel 5 is in Linz.",
    texts=("", "Parcel 5 is in Linz."),
)
_HISTORY_SHAPES = tuple(
    ExpectedShape(f"whole history, {name}", report_files(_HISTORY, at), (_PARCELS,), ((20, 4),))
    for name, at in (
        ("agent only", 1),
        ("ends with a human", 2),
        ("chats too", 3),
        ("chats too, OTel's roles", 4),
    )
)

REPORTS_EXPECTED: tuple[ExpectedShape, ...] = (
    *_IDS_SHAPES,
    *_LINKS_SHAPES,
    *_MESSAGES_SHAPES,
    *_PROMPTS_SHAPES,
    *_NO_IDS_SHAPES,
    *_RETRIES_SHAPES,
    *_TWICE_SHAPES,
    *_BROKE_SHAPES,
    *_ROOTS_SHAPES,
    *_USAGE_SHAPES,
    *_HISTORY_SHAPES,
)
