"""docs/quickstart: the program of each page, run as it stands there, gives a whole trace of a real collector.

Pages whose packages `make frameworks` installs run by default. `make quickstarts` runs all: it installs the packages of
the others, which are large (CrewAI takes a gigabyte) or hold OpenTelemetry at other versions, into environments of
their own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

import pytest
from model_apis import ANSWER, QUERY, scripted_model
from processes import Serving, serving, tracejury

from tracejury.collector.api.client import ApiClient
from tracejury.processors.log_spans import EVENTS
from tracejury.schemas.wire.traces import TraceJson

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = ROOT / "docs" / "quickstart"
FRAMEWORKS: Final = Path(os.environ.get("TRACEJURY_FRAMEWORKS") or ROOT / ".venv-frameworks")
LOCKED: Final = frozenset(
    re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / "requirements/frameworks.txt").read_text(), re.MULTILINE)
)
INSTALLS: Final = os.environ.get("TRACEJURY_QUICKSTARTS", "")
"""Where environments of their own are made ("": nowhere)."""
EXPORTER: Final = "opentelemetry-exporter-otlp-proto-http"
QUESTION: Final = "How long is the Alder Bridge?"
MOST_LINES: Final = 80
WAIT: Final = 60.0
NODE: Final = {"js": "node", "ts": "tsx"}
"""Languages whose packages npm installs, with what runs a program of them."""


@dataclass(frozen=True, slots=True)
class Page:
    """A quick start: its shell commands, its program and the versions that it names."""

    name: str
    text: str

    @property
    def program(self) -> tuple[str, str]:
        """Language and code."""
        ((language, code),) = re.findall(r"^```(python|js|ts)\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)
        return language, code

    @property
    def shell(self) -> str:
        """The commands before it, each on one line."""
        (commands,) = re.findall(r"^```sh\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)
        return str(commands).replace("\\\n", "")

    @property
    def exports(self) -> dict[str, str]:
        """The variables that they set."""
        lines = (line.partition("#")[0] for line in self.shell.splitlines() if line.startswith("export "))
        return dict(pair.split("=", 1) for line in lines for pair in line.split()[1:])

    @property
    def pins(self) -> list[str]:
        """The versions that the last line names, as pip or npm take them."""
        listed = re.search(r"^Tested with (.*)\.$", " ".join(self.text.split("\n")[-3:]).strip(), re.DOTALL)
        assert listed is not None, f"{self.name} names no versions"
        sign = "==" if self.program[0] == "python" else "@"
        return [one.replace(" ", sign) for one in listed[1].split(", ")]


PROGRAMS_OF_OTHERS: Final = frozenset({"claude-code"})
"""Pages on programs that need settings only: nothing in them can be run here."""
ALL: Final = {
    path.stem: Page(path.stem, path.read_text("utf-8"))
    for path in PAGES.glob("[a-z]*.md")
    if path.stem not in PROGRAMS_OF_OTHERS
}


def command(page: Page, folder: Path) -> list[str]:
    """The page's program, written to a file of `folder`, in an environment that has its packages.

    Skips where there is none.
    """
    language, code = page.program
    if language in NODE:
        base, runner = _node_modules(page), NODE[language]
        program = base / f"page.m{language}"
        program.write_text(code)
        return [shutil.which(runner) or str(base / "node_modules" / ".bin" / runner), str(program)]
    (folder / "page.py").write_text(code)
    if LOCKED.issuperset(page.pins):
        if not FRAMEWORKS.exists():
            pytest.skip(f"no environment with agent frameworks at {FRAMEWORKS}: make frameworks")
        return [str(FRAMEWORKS / "bin" / "python"), str(folder / "page.py")]
    return [str(_environment(page) / "bin" / "python"), str(folder / "page.py")]


def _environment(page: Page) -> Path:
    """A virtual environment with the page's versions."""
    base = _own_folder(page)
    if not base.exists():
        subprocess.run([sys.executable, "-m", "venv", base], check=True)  # noqa: S603  ours
        pip: list[str | Path] = [base / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        _install([*pip, EXPORTER, *page.pins], base)
    return base


def _node_modules(page: Page) -> Path:
    """A folder with the page's versions in its `node_modules`."""
    base = _own_folder(page)
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    if not base.exists():
        base.mkdir(parents=True)
        (base / "package.json").write_text("{}")
        _install(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *page.pins], base)
    return base


def _own_folder(page: Page) -> Path:
    """Where its versions are installed: another folder for other versions."""
    if not INSTALLS:
        pytest.skip("installed and run by: make quickstarts")
    return Path(INSTALLS) / f"{page.name}-{crc32(' '.join(page.pins).encode()):08x}"


def _install(arguments: Sequence[str | Path], base: Path) -> None:
    """Install, or leave nothing behind."""
    try:
        subprocess.run(arguments, cwd=base, check=True, capture_output=True, text=True)  # noqa: S603  ours
    except BaseException:
        shutil.rmtree(base)
        raise


@dataclass(frozen=True, slots=True)
class Ready:
    """A collector that asks for keys, and the environment of the programs."""

    serving: Serving
    read_key: str
    environment: Mapping[str, str]


@contextmanager
def collector(folder: Path) -> Iterator[Ready]:
    """It settles traces soon; programs have a key that may only send, as docs/quickstart/README.md sets it."""
    made = [
        tracejury("keys", "create", "--name", scope, "--scope", scope, "--file", "keys.json", folder=folder).stdout
        for scope in ("ingest", "read")
    ]
    ingest, read = (text.split()[-1] for text in made)
    (folder / "c.yaml").write_text("keys: {file: keys.json}\njudging: {quiet_seconds: 0.3, rootless_seconds: 3.0}\n")
    with scripted_model() as model, serving(folder, "--config", "c.yaml") as ready:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "OPENAI_BASE_URL": f"{model}/v1",
            "ANTHROPIC_BASE_URL": model,
            "GOOGLE_GEMINI_BASE_URL": model,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{ready.ports['http']}",
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{ingest}",
        }
        yield Ready(ready, read, environment)


@pytest.mark.timeout(1800 if INSTALLS else 300)
def test_each_page_gives_a_whole_trace(
    tmp_path: Path, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One collector for all of them; two programs at a time, since most of their time is imports."""
    with collector(tmp_path) as ready, ThreadPoolExecutor(2) as pool:
        monkeypatch.setenv("TRACEJURY_KEY", ready.read_key)
        running = {}
        for page in ALL.values():
            with subtests.test(page=page.name):
                folder = tmp_path / page.name
                folder.mkdir()
                running[page.name] = pool.submit(run, page, command(page, folder), ready)
        for name, done in running.items():
            with subtests.test(page=name):
                done.result()
                check(ALL[name], ready)


def run(page: Page, program: Sequence[str], ready: Ready) -> None:
    """The program to its end, with the page's own variables; what it prints ends with the answer."""
    keys = {name: "none" for name in page.exports if name.endswith("_API_KEY")}
    env = page.exports | dict(ready.environment) | keys | {"OTEL_SERVICE_NAME": page.name}
    done = subprocess.run(program, env=env, capture_output=True, text=True, timeout=240, check=False)  # noqa: S603  ours
    assert done.returncode == 0, done.stderr[-3000:]
    assert ANSWER in done.stdout


def check(page: Page, ready: Ready) -> None:
    """Agent, LLM calls, tool call, content, tokens and session are there, and the gaps that the page names."""
    with ApiClient(ready.serving.url) as client:
        trace = settled(client, page.name)
        (run,) = trace.agent_runs
        assert (run.name, run.role, run.status) == ("almanac", "manager", "ok")
        assert QUESTION in run.goal
        assert run.answer == ANSWER
        assert trace.session_id == "conversation-7"
        assert trace.tokens.llm_calls == 2
        assert trace.tokens.input == 40
        searches = [call for turn in run.turns for call in turn.tool_calls if call.name == "search"]
        assert [(call.arguments, ANSWER in str(call.result)) for call in searches] == [({"query": QUERY}, True)]
        assert [finding.id for finding in trace.findings] == []
        (diagnosis,) = client.doctor(service=page.name)
        gaps = {gap.kind for gap in diagnosis.gaps}
    named = set(re.findall(r"\(`([a-z-]+)`\)", page.text))
    assert gaps == named
    assert ("finds nothing missing" in " ".join(page.text.split())) == (not gaps)


def settled(client: ApiClient, service: str) -> TraceJson:
    """The service's one trace with agents, once it is settled."""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        rows = [row for row in client.traces({}, 100)[0] if row.service == service and row.agents]
        if rows and rows[0].state == "settled":
            (row,) = rows
            return client.trace(row.trace_id)
        time.sleep(0.25)
    raise AssertionError(f"no settled trace of {service}")


@pytest.mark.parametrize("page", ALL.values(), ids=ALL)
def test_a_page_is_short_and_sets_what_it_needs(page: Page) -> None:
    lines = page.text.splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > 120] == []
    assert page.exports["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4318"
    assert "[all frameworks](README.md)" in page.text
    for pin in page.pins:
        name = re.split(r"==|@(?=\d)", pin)[0]
        assert name in page.shell, pin


@pytest.mark.parametrize("name", sorted(PROGRAMS_OF_OTHERS))
def test_a_page_without_a_program_sets_what_it_needs(name: str) -> None:
    page = Page(name, (PAGES / f"{name}.md").read_text("utf-8"))
    lines = page.text.splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > 120] == []
    assert page.exports["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4318"
    assert page.exports["CLAUDE_CODE_ENABLE_TELEMETRY"] == "1"
    assert "[all frameworks](README.md)" in page.text
    events = {event.partition(".")[2] for event in EVENTS if event.startswith("claude_code.")}
    assert [event for event in events if f"`{event}`" not in page.text] == []


def test_the_first_page_lists_all() -> None:
    listed = re.findall(r"\]\(([a-z-]+)\.md\)", (PAGES / "README.md").read_text("utf-8"))
    assert sorted(set(listed)) == sorted([*ALL, *PROGRAMS_OF_OTHERS])
