"""From simulated sessions to a live judge: generated, replayed, labelled, learned from, accepted, judged over OTLP."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from collecting import ask, asking, configured, scripted, send, settled
from labelled_folders import learner, reasons
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from pack_bench import FairChecker, Fault

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.folder import load
from tracejury.collector.evaluation.labelled_sessions import labelled_sessions
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import read_rubric_set
from tracejury.schemas.transcript import Step


@dataclass(frozen=True)
class Known:
    """A curated session. `step`: the one that decides, as planted, or of a good one the last; each with a quote."""

    session: LabelledSession
    step: Step
    quote: str


def known(folder: Path) -> list[Known]:
    """All sessions of the folder."""
    lines = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    planted = {(line["trace_id"], line["span_id"]): line["evidence"] for line in lines if "span_id" in line}
    found = []
    for session in labelled_sessions(folder).sessions:
        steps = session.recorded.record.transcript.steps
        deciding = [step for step in steps if (step.trace_id, step.span_id) in planted]
        step = deciding[0] if deciding else steps[-1]
        line = max((line for line in step.text.split("\n") if line[:1] == " " and " = " not in line), key=len)
        found.append(Known(session, step, planted.get((step.trace_id, step.span_id), line.strip()[:200])))
    return found


class Knowing:
    """A model that knows each session by its record."""

    def __init__(self, folder: Path) -> None:
        self.sessions = known(folder)

    def __call__(self, call: Call) -> Play:
        """Reasons and rubrics to learn, then what is wrong at the step where it was planted."""
        if "answers" not in call.schema["properties"]:
            return Play(text=learner(call.schema, call.prompt))
        (one,) = [one for one in self.sessions if one.session.recorded.record.transcript.steps[0].text in call.prompt]
        label, quote = one.step.label, one.quote
        if "# session-reasons" in call.prompt:
            return Play(text=reasons(call.prompt, quote, label=label))
        faults = [Fault("scope-good", "", "", answer="7")]
        if not one.session.label.good:
            faults = [
                Fault("scope-bad", "", quote, "It went wrong.", label, "9"),
                Fault("scope-situation", "", quote, "As it shows.", label, one.session.label.situation),
            ]
        return Play(text=FairChecker(faults).reply(call.prompt.rpartition("user\n")[2]))


async def command(*args: str | Path) -> str:
    """What a command prints, run beside the collector."""
    result = await asyncio.to_thread(CliRunner().invoke, root, [*map(str, args)])
    assert result.exit_code == 0, result.output
    return result.output


async def found(collector: Collector) -> tuple[Any, Any]:
    """Where which judge of SCOPE finds what, and the measures of the sessions, by situation."""
    rows = (await ask(collector, "/api/findings", profile="0", limit="1000"))["items"]
    asked = {"pack": "scope", "by": "answer:scope-situation", "simulated": "true"}
    measures = (await ask(collector, "/api/measures", **asked))["items"][0]
    places = {(r["trace_id"], r["span_id"], r["judge"], r["category"]) for r in rows if r["taxonomy"] == "scope"}
    figures = {row["key"]: {one["letter"]: one["estimate"] for one in row["measures"]} for row in measures["items"]}
    return places, {key: (own["G"]["value"], own["C"]["value"]) for key, own in figures.items()}


async def learned(folder: Path, model: LlmServer, dsn: str) -> Path:
    """The accepted set, learned by labels that a collector was given."""
    out = folder / "set.yaml"
    async with Collector(configured(dsn)) as collector:
        url = f"http://127.0.0.1:{collector.api_port}"
        await command("replay", folder / "traces", "--endpoint", f"127.0.0.1:{collector.grpc_port}")
        await settled(collector)
        await command("labels", "import", folder / "labels.jsonl", "--url", url)
        by = ("--model", "openai/scripted", "--api-base", model.base, "--api-key-env", "SCRIPTED_KEY")
        await command("rubrics", "learn", folder, "--labels", url, "--out", out, *by)
    text = out.read_text()
    assert "accepted_by: ''" in text
    out.write_text(text.replace("accepted_by: ''", "accepted_by: ada"))
    return out


async def test_each_planted_error_stands_at_its_span_live_and_after_a_restart(
    served_dsn: str, second_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")
    folder = tmp_path / "sessions"
    await command("situations", "generate", "--examples", "--out", folder)
    script = Knowing(folder)
    with llm_server(script) as model:
        file = await learned(folder, model, served_dsn)
        rubrics = read_rubric_set(file)
        assert len(rubrics.learned_from) == 34
        judges = scripted(model, packs=["scope"], agent_runs=False, pack_settings={"scope": {"rubrics": str(file)}})
        async with Collector(configured(second_dsn, judges=judges)) as collector:
            await send(collector, *load(folder).requests)
            await settled(collector)
            async with asking(collector) as api:
                for one in script.sessions:
                    service, session = one.session.key
                    (await api.post("/api/judge", json={"session": session, "service": service})).raise_for_status()
            await settled(collector)
            before = await found(collector)
        calls = model.counts.calls
        async with Collector(configured(second_dsn, judges=judges)) as collector:
            await settled(collector)
            assert await found(collector) == before
        assert model.counts.calls == calls
    places, measures = before
    bad = [one for one in script.sessions if not one.session.label.good]
    assert places == {
        (one.step.trace_id, one.step.span_id, judge, category)
        for one in bad
        for judge, category in [
            ("scope-situation", one.session.label.situation),
            *(("scope-bad", rubric.name) for rubric in rubrics.of("bad")),
        ]
    }
    assert len(bad) == 25
    assert measures == {
        one.session.label.situation: (one.session.label.good, one.session.label.good) for one in script.sessions
    }
