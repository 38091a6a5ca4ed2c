"""Every command in a block of these pages runs as it stands, but for what the reader is to put in its place."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from exporter_tables import Version, span_row
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from naming_models import named_by
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_parts import json_body
from pack_bench import exchange
from pack_service import CONVERSATION, ORDERS, otlp
from processes import PATIENCE, Serving, serving, tracejury
from shop_clerk import CASE
from trail_folder import error, write

from tracejury.collector.cli.root import root
from tracejury.collector.otlp.codec.groups import rows

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    "llm-judges", "pipa", "rut", "ted", "scope", "simulated-users", "clusters", "evaluate", "judge-agreement",
    "measures", "backfill", "patterns", "charts", "scores",
)  # fmt: skip
TRACE, OTHER = "d" * 32, "e" * 32
TABLE = "clickhouse://reader:secret@clickhouse:8123/otel.otel_traces"
PUT = {
    TABLE: "spans.jsonl",  # the same rows without a server
    "insert|notes|checklist": "checklist",
    "DIR": "traced", "NAME": "tool-calling", "ID": TRACE, "FILE": "said.jsonl", "A": "production", "B": "paper",
    "data/steps/agentrx-tau": "traced", "CASSETTE": "production.jsonl", "my-criteria": "paper", "…": "openai/gpt-4o",
    "version=2.0": "version=2.1",
}  # fmt: skip
"""What stands for a word that the page leaves to the reader."""
NAMED = named_by(lambda _tool, _text: "no answer", lambda _tool, _label: "No answer")
CLERK = "tracejury.collector.cli.demo.clerk:answer"
"""The agent that users talk to."""
WAITS = {"--prompts"}
"""Options of commands that end with work for the reader."""
STARTING = {"serve", "demo"}
"""Commands that start a collector: the one is started before the others, the other has tests of its own."""
OTHERS = (
    "evaluate notes", "evaluate rubrics", "rubrics learn", "situations generate --out", "situations filter",
    "replay written", "labels import written", "pattern ", "labels pattern", "compare ", "regressions add",
)  # fmt: skip
"""Beginnings of commands that need what people or a model wrote: tests of their own have it."""
LATER = "labels import sessions"
"""Beginning of commands that need traces to be judged that another one of the page has sent."""
ENDLESS = {"--follow"}
"""Options of commands that go on until they are stopped."""


def commands(page: str) -> list[list[str]]:
    """The words of each command of a page, options in brackets left out."""
    text = (DOCS / f"{page}.md").read_text().replace("\\\n", " ")
    lines = re.findall(r"^    tracejury (.*?)(?:\s+#.*)?(?: &)?$", text, re.MULTILINE)
    return [re.sub(r"\s\[[^\]]*\]", "", line).split() for line in lines]


@dataclass(frozen=True)
class Reader:
    """Somebody who follows a page in a folder, with a model at hand."""

    folder: Path
    model: LlmServer

    def words(self, said: list[str]) -> list[str]:
        """A command as it is typed."""
        known = [word for word in said if word not in ENDLESS]
        words = [self.model.base if word.startswith("http://") else PUT.get(word, word) for word in known]
        if "--agent" in words:
            words[words.index("--agent") + 1] = CLERK
        asks = words[:2] != ["evaluate", "models"] and not {"--api-base", *WAITS} & {*words}
        return [*words, "--api-base", self.model.base] if "--model" in words and asks else words

    def run(self, words: list[str], env: Mapping[str, str]) -> tuple[int, str]:
        """Exit code and stderr; stdout goes where `>` says. What opens a store or runs an agent has its own process."""
        if words[0] in {"talk", "backfill"} or (
            words[0] == "evaluate" and not {"--judges", "--tokens", "models", "steps"} & {*words}
        ):
            process = tracejury(*words, folder=self.folder, env=env)
            return process.returncode, process.stderr
        at = words.index(">") if ">" in words else len(words)
        done = CliRunner(env=env).invoke(root, words[:at] + words[at + 2 :])
        for file in words[at + 1 : at + 2]:
            (self.folder / file).write_text(done.stdout)
        return done.exit_code, done.stderr


def answered(call: Call) -> Play:
    """Names of clusters by a script, all else by what fits the schema."""
    names = {"labels", "types"} & {*call.schema.get("properties", {})}
    return Play(text=NAMED(call.prompt) if names else None)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """In the folder of the example of talks, with traces, annotations, cards, configurations and a cassette."""
    folder = tmp_path_factory.mktemp("reader") / "here"
    shutil.copytree(DOCS / "examples" / "talk", folder)
    shutil.copytree(DOCS / "examples" / "talk", folder / "cards")
    (folder / "cards" / "tracejury.yaml").unlink()
    write(folder / "traced", [TRACE, OTHER], {TRACE: [error(3)], OTHER: []})
    began = time.time() - 3600
    stored = ExportTraceServiceRequest.FromString(otlp(CONVERSATION[0], version="2.1"))
    lines = [span_row(item, of.resource, by.scope, Version.MAPS) for of, by, item in rows(stored)]
    lines = [{**line, "ServiceName": "my-agent", "Timestamp": f"{began:.9f}"} for line in lines]
    (folder / "spans.jsonl").write_text("\n".join(map(json.dumps, lines)))
    failing = exchange("c", "Where is it?", [replace(ORDERS, failed="no route to host")] * 6, "I cannot say.", at=60)
    for number, spans in enumerate((*CONVERSATION, failing)):
        body = json_body(ExportTraceServiceRequest.FromString(otlp(spans, version="2.1")))
        (folder / "traced" / "traces" / f"chat-{number}.json").write_bytes(body)
    (folder / "cards" / "tours.yaml").write_text((folder / "tours.yaml").read_text() + "max_turns: 2\n")
    wants = {"content": "You want a tour.", "terminating_condition": "It is booked."}
    (folder / "cases").mkdir()
    (folder / "cases" / "order.json").write_text(json.dumps(CASE))
    task = {"id": "1", "input": [wants], "metadata": {"subgoals": [{"details": "The agent calls book_tour."}]}}
    (folder / "tau2bench_dataset.json").write_text(json.dumps([task]))
    said = [{"role": "user", "content": "A tour."}, {"role": "assistant", "content": "It is booked."}]
    (folder / "chats.jsonl").write_text(json.dumps({"task": "tour", "messages": said}))
    with llm_server(answered) as model:
        for name, packs in {"pipa": ["pipa"], "rut": ["rut"], "talk": []}.items():
            asked = {"model": "openai/gpt-4o", "api_base": model.base, "packs": packs, "agent_runs": False}
            (folder / f"{name}.yaml").write_text(yaml.safe_dump({"judges": asked}))
        reader = Reader(folder, model)
        recorded = reader.words(["evaluate", "trail", str(folder / "traced"), "--judges", "production", "--model", "…"])
        recorded += ["--cassette", str(folder / "production.jsonl")]
        assert CliRunner(env={"OPENAI_API_KEY": "x"}).invoke(root, recorded).exit_code == 0
        yield reader


@pytest.fixture(scope="module")
def collector(reader: Reader) -> Iterator[Serving]:
    """For pages that start none."""
    with serving(reader.folder) as started:
        yield started


def eventually(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(
    page: str, reader: Reader, collector: Serving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In their order, beside the collector that the page starts, if any, which has two traces."""
    monkeypatch.chdir(reader.folder)
    said = [reader.words(words) for words in commands(page)]
    with ExitStack() as stack:
        for words in said:
            if words[0] == "serve":
                dsn = f"chdb:///{tmp_path}/db"
                collector = stack.enter_context(serving(reader.folder, *words[1:], "--store", dsn, new_store=True))
        endpoint = f"127.0.0.1:{collector.ports['grpc']}"
        env = {
            "OPENAI_API_KEY": "x", "TRACEJURY_URL": collector.url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{endpoint}",
        }  # fmt: skip
        sent = tracejury("replay", "traced/traces", "--endpoint", endpoint, folder=reader.folder)
        assert sent.returncode == 0, sent.stderr
        review = ["labels", "review", TRACE, "--as", "ann", "--url", collector.url]
        eventually(lambda: CliRunner().invoke(root, review).exit_code == 0)  # the trace is judged then
        failed = []
        for words in said:
            if words[0] in STARTING or " ".join(words).startswith(OTHERS):
                continue
            if " ".join(words).startswith(LATER):
                eventually(lambda words=words: reader.run(words, env)[0] == 0)  # type: ignore[misc]
            code, told = reader.run(words, env)
            if code != ("--prompts" in words):
                failed.append(f"{' '.join(words)}: {code} {told}")
        assert not failed, "\n".join(failed)
