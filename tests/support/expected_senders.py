"""What the senders that the reported shapes name expect (shapes/reports/*/README.md); why some do not come out yet."""

from __future__ import annotations

from dataclasses import replace

from shapes import AnyOf, ExpectedCall, ExpectedRun, ExpectedShape, report_files, variants

# AI SDK 7 ---------------------------------------------------------------------------------------------------------

_AI7 = "ai-sdk-seven-tree"
_ASK_TIDES = ExpectedCall(
    "ask_tides", ({"task": "When is high tide in Brest?"},), "High tide is at five.", turn=0, has_span=True
)
_TIDE_AT = ExpectedCall("tide_at", ({"port": "Brest"},), "05:00", turn=0, has_span=True)


def _planner(names: AnyOf) -> ExpectedRun:
    return ExpectedRun(names, (2,), (_ASK_TIDES,), "=When can I leave Brest?", "=Leave at five.")


def _tides(names: AnyOf, parent: str) -> ExpectedRun:
    return ExpectedRun(
        names, (2,), (_TIDE_AT,), "=When is high tide in Brest?", "=High tide is at five.", parent=parent
    )


_AI7_SHAPES = (
    ExpectedShape(
        "AI SDK 7, no function id",
        report_files(_AI7, 1),
        (_planner(("",)), _tides(("", "ask_tides"), "?")),
        ((80, 12),),
    ),
    ExpectedShape(
        "AI SDK 7, function ids",
        report_files(_AI7, 2),
        (_planner(("planner",)), _tides(("tides",), "planner")),
        ((80, 12),),
    ),
    ExpectedShape("AI SDK 7, alone", report_files(_AI7, 3), (_planner(("",)),), ((40, 6),)),
)

# Claude Code ------------------------------------------------------------------------------------------------------

_CLAUDE = "claude-code-spans"
_BASH = ExpectedCall("Bash", ({"command": "pytest -q"},), "2 failed", "xit code 2", has_span=True)
_EXPLORE = {"description": "look", "prompt": "Find why test_b fails", "subagent_type": "Explore"}
_AGENT = ExpectedCall("Agent", (_EXPLORE,), "it divides by zero", has_span=True)
_READ = ExpectedCall("Read", ({"file_path": "/w/test_b.py"},), "def test_b", has_span=True)
_SESSION = ExpectedRun(turns=(3,), calls=(_BASH, _AGENT), goal="=List the failing tests")
_SUB_AGENT = ExpectedRun(turns=(2,), calls=(_READ,), parent="?")
_CLAUDE_TOKENS = ((30, 175), (27430, 175))  # without and with what was read from the cache


def _bare(call: ExpectedCall) -> ExpectedCall:
    """The call where contents are not recorded: name and outcome."""
    return replace(call, arguments=(), result="")


_CLAUDE_SHAPES = tuple(
    replace(shape, tokens=tokens, session="sess-05", allowed=None)
    for shape, tokens in (
        (ExpectedShape("Claude Code, whole", report_files(_CLAUDE, 1), (_SESSION, _SUB_AGENT)), _CLAUDE_TOKENS),
        (
            ExpectedShape("Claude Code, no root", report_files(_CLAUDE, 2), (replace(_SESSION, goal=None), _SUB_AGENT)),
            _CLAUDE_TOKENS,
        ),
        (
            ExpectedShape("Claude Code, only calls", report_files(_CLAUDE, 3), (replace(_SESSION, calls=()),)),
            ((14, 120), (27314, 120)),
        ),
        (
            ExpectedShape(
                "Claude Code, no contents",
                report_files(_CLAUDE, 4),
                (
                    replace(_SESSION, calls=(_bare(_BASH), _bare(_AGENT))),
                    replace(_SUB_AGENT, calls=(_bare(_READ),)),
                ),
            ),
            _CLAUDE_TOKENS,
        ),
    )
)

_EDIT = ExpectedCall("Edit", ({"file_path": "util.py"},), error="String not found")
_LOGS_ALONE = ExpectedShape(
    "log events alone",
    (),
    (ExpectedRun(turns=(2, 3), calls=(_EDIT,), goal="=Rename the function in util.py"),),
    ((85, 100), (985, 100)),
    session="sess-25",
    allowed=None,
)
_LOGS_SHAPES = (
    replace(
        _LOGS_ALONE,
        name="log events without ids",
        files=report_files("only-log-events", 1, signal="logs"),
    ),
    replace(
        _LOGS_ALONE,
        name="log events of spans that never come",
        files=report_files("only-log-events", 3, signal="logs"),
    ),
)

# Gemini CLI -------------------------------------------------------------------------------------------------------

_GEMINI = "gemini-cli-spans"
_LS = ExpectedCall("run_shell_command", ({"command": "ls"},), "a.txt", turn=0, has_span=True, requested=True)
_GEMINI_RUN = ExpectedRun(("gemini-cli",), (2,), (_LS,), "=List the files", "=There is a.txt.")
_GEMINI_SHAPES = tuple(
    replace(shape, session="ses-36")
    for shape in (
        ExpectedShape("Gemini CLI, plain", report_files(_GEMINI, 1), (_GEMINI_RUN,), ((24, 6),)),
        ExpectedShape(
            "Gemini CLI, sub-agent",
            report_files(_GEMINI, 2),
            (
                _GEMINI_RUN,
                ExpectedRun(("codebase_investigator",), (1,), (), "Look at a.txt", "It is empty", "gemini-cli"),
            ),
            ((36, 9),),
        ),
    )
)

# Other senders ----------------------------------------------------------------------------------------------------

_RATE = ExpectedCall("rate", ({"pair": "USDEUR"},), "0.9", turn=0, has_span=True, requested=True)
_LANGSMITH_SHAPES = variants(
    ExpectedShape(
        "LangSmith",
        (),
        (ExpectedRun(("LangGraph",), (2,), (_RATE,), "=How many EUR are 30 USD?", "=30 USD are 27 EUR."),),
        ((83, 17),),
        session="thread-06",
    ),
    "langsmith-otel-langchain-io",
    (("nested", 1), ("flat", 2)),
)

_BUY = ExpectedCall("buy", ({"to": "Ulm", "n": 1},), "ok", turn=0, has_span=True, requested=True)
_MLFLOW_SHAPES = variants(
    ExpectedShape(
        "MLflow",
        (),
        (
            ExpectedRun(
                ("TicketAgent",), (2,), (_BUY,), "One ticket to Ulm.", "=Your ticket is booked.", tools=("buy",)
            ),
        ),
        ((61, 11),),
        session="sess-14",
    ),
    "mlflow-spans",
    (("plain", 1), ("JSON texts", 2)),
)

_WEATHER = ExpectedCall("weather", ({"city": "Graz"},), "sunny", turn=0, has_span=True)
_SPRING = ExpectedRun(
    ("spring_ai chat_client", "chat_client"),
    (2,),
    (_WEATHER,),
    "=What is the weather in Graz?",
    "=It is sunny in Graz.",
    tools=("weather",),
)
_SPRING_SHAPES = tuple(
    replace(shape, tokens=((66, 8),), session="conv-19")
    for shape in (
        ExpectedShape("Spring AI, framework", report_files("spring-ai-spans", 1), (_SPRING,)),
        ExpectedShape("Spring AI, execute_tool", report_files("spring-ai-spans", 2), (_SPRING,)),
        ExpectedShape(
            "Spring AI, empty arguments",
            report_files("spring-ai-spans", 3),
            (replace(_SPRING, calls=(replace(_WEATHER, arguments=({}, None, "")),)),),
        ),
        ExpectedShape(
            "Spring AI, no prompts", report_files("spring-ai-spans", 4), (replace(_SPRING, goal="", answer=""),)
        ),
    )
)

_GATEWAY = "model-name-on-other-spans"
_CLERK = ExpectedRun(("clerk",), (1,), (), "=Say hi", "=Hi.")
_GATEWAY_SHAPES = tuple(
    replace(shape, tokens=((20, 4),), llm_calls=1)
    for shape in (
        ExpectedShape("gateway, alone", report_files(_GATEWAY, 1), (replace(_CLERK, names=()),)),
        ExpectedShape("gateway, below an agent", report_files(_GATEWAY, 2), (_CLERK,)),
        ExpectedShape("gateway, all promoted", report_files(_GATEWAY, 3), (_CLERK,), session="c-07"),
        ExpectedShape("gateway, with a system", report_files(_GATEWAY, 4), (replace(_CLERK, names=()),)),
    )
)

SENDERS_EXPECTED: tuple[ExpectedShape, ...] = (
    *_AI7_SHAPES,
    *_CLAUDE_SHAPES,
    *_LOGS_SHAPES,
    *_GEMINI_SHAPES,
    *_LANGSMITH_SHAPES,
    *_MLFLOW_SHAPES,
    *_SPRING_SHAPES,
    *_GATEWAY_SHAPES,
)
