"""What senders of the shapes expect (shapes/README.md), and why some do not come out yet."""

from __future__ import annotations

from shapes import ExpectedCall, ExpectedRun, ExpectedShape

_QUESTION = "What is the freight price of parcel 77 to Oslo?"
_PARCEL = ({"parcel": "77", "city": "Oslo"},)
_SEARCH = ExpectedCall("search", ("freight parcel 77 Oslo", {"query": "freight parcel 77 Oslo"}), error="timed out")

_CODING = ExpectedRun(
    turns=(2,),
    goal="=run the tests and fix the failing one",
    calls=(
        ExpectedCall(
            "Bash", ({"command": "pytest -q"}, {"full_command": "pytest -q"}), "1 failed", "xit code 1", has_span=True
        ),
    ),
)
_CODING_TOKENS = ((1100, 70), (7700, 70))  # without and with what the cache held

SHAPES_EXPECTED: tuple[ExpectedShape, ...] = (
    ExpectedShape(
        "tools as roots",
        ("01-tools-as-roots.traces.json",),
        runs=(
            ExpectedRun(
                names=("CodeAgent",),
                turns=(2,),
                goal=f"={_QUESTION}",
                answer="=12 EUR",
                calls=(
                    ExpectedCall("freight_price", _PARCEL, error="price list unavailable", turn=0, has_span=True),
                    ExpectedCall("final_answer", ({"answer": "12 EUR"},), turn=1),
                ),
            ),
        ),
        errors=(("166b9a", "0b134f"), ("78cfd6",)),
    ),
    ExpectedShape(
        "second call below the first",
        ("02-second-call-below-the-first.traces.json",),
        runs=(
            ExpectedRun(
                names=("clerk",),
                turns=(2,),
                goal=f"={_QUESTION}",
                answer="=It is 12 EUR.",
                calls=(ExpectedCall("freight_price", _PARCEL, "12", turn=0, has_span=True, requested=True),),
            ),
        ),
        tokens=((130, 16),),
        session="conv-2",
    ),
    ExpectedShape(
        "every span in its own trace",
        ("03-every-span-its-own-trace.traces.json",),
        runs=(
            ExpectedRun(
                turns=(2,),
                goal=f"={_QUESTION}",
                answer="=It is 12 EUR.",
                calls=(
                    ExpectedCall(
                        "freight_price", _PARCEL, "price list unavailable", "price list unavailable", 0, has_span=True
                    ),
                ),
            ),
        ),
        tokens=((20, 10),),
        session="sess-3",
        errors=(("a2bf9b", "9db2d5"), ("ab61c7",)),
    ),
    ExpectedShape(
        "coding agent, spans",
        ("04-coding-agent.traces.json",),
        runs=(_CODING,),
        tokens=_CODING_TOKENS,
        session="sess-4",
        allowed=None,
    ),
    ExpectedShape(
        "coding agent, spans and logs",
        ("04-coding-agent.traces.json", "04-coding-agent.logs.json"),
        runs=(_CODING,),
        tokens=_CODING_TOKENS,
        session="sess-4",
        allowed=None,
    ),
    ExpectedShape(
        "coding agent, logs",
        ("04-coding-agent.logs.json",),
        runs=(
            ExpectedRun(
                goal="=run the tests and fix the failing one",
                calls=(ExpectedCall("Bash", error="xit code 1"),),
            ),
        ),
        tokens=((500, 40),),
        session="sess-4",
        allowed=None,
    ),
    ExpectedShape(
        "tokens told twice",
        ("06-tokens-told-twice.traces.json",),
        runs=(
            ExpectedRun(
                names=("pricer",),
                turns=(2,),
                goal=f"={_QUESTION}",
                answer="=12 EUR",
                calls=(ExpectedCall("freight_price", _PARCEL, "12", turn=0, has_span=True, requested=True),),
            ),
        ),
        tokens=((113, 11),),
        llm_calls=2,
    ),
    ExpectedShape(
        "parent in another trace",
        ("08-parent-in-another-trace.traces.json",),
        runs=(
            ExpectedRun(names=("pricer",), turns=(1,), goal=f"={_QUESTION}", answer="=12 EUR"),
            ExpectedRun(
                names=("pricer",),
                turns=(2,),
                goal="=And to Bergen?",
                answer="=15 EUR",
                calls=(ExpectedCall("price_flow", ({"city": "Bergen"},), "15", turn=0, has_span=True, requested=True),),
            ),
        ),
        tokens=((30, 15),),
        session="conv-8",
        errors=(("c5e0da", "31bd82", "286a60", "2a2f38"),),
        at_home=("workflow run: 'price'", "workflow step: 'sql'"),
    ),
    ExpectedShape(
        "calls as text",
        ("11-calls-as-text.traces.json",),
        runs=(
            ExpectedRun(
                turns=(5,),
                goal="freight price of parcel 77 to Oslo",
                answer="12 EUR",
                calls=(_SEARCH,) * 4,
                closing=("finish",),
            ),
        ),
        tokens=((50, 25),),
        errors=(("52a2f7", "68199b", "f3c8b8"), ("8cc677",)),
    ),
    ExpectedShape(
        "one call a trace",
        ("12-one-call-a-trace.traces.json",),
        runs=(
            ExpectedRun(
                names=("POST /ask",),
                turns=(1,),
                goal="price of a 7 kg parcel?",
                answer="=A 7 kg parcel to Oslo costs 14 EUR.",
                calls=(
                    ExpectedCall("vector search", ({"query": "freight Oslo"}, "freight Oslo"), "Parcels to Oslo cost"),
                ),
            ),
        ),
        tokens=((10, 5),),
    ),
)
