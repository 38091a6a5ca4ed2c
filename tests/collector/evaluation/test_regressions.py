"""Cases made of stored errors, and run against a scripted model that is wrong with known probability."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import comb
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from llm_scripts import Call, Play, always
from llm_server import LlmServer, llm_server
from served_api import DAY, NOW, Api
from shop_clerk import CASE, ORDER, SENT, SYSTEM, TOOLS, calls, clerk, said, wrong_with

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.regressions.result import CaseResult, RegressionResults, Tally, difference
from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.store.judging import StoredJudging
from tracejury.judges.registry import default_suite
from tracejury.schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind

HOSTILE = "\x1b]0;t\x07<b>{x!r}</b>\u202e'; DROP TABLE spans; --"


def run(*words_: str | Path, url: str = "") -> Result:
    env = {"OPENAI_API_KEY": "x", "COLUMNS": "300"} | ({"TRACEJURY_URL": url} if url else {})
    return CliRunner().invoke(root, ["regressions", *map(str, words_)], env=env)


def put(api: Api, **changes: str) -> str:
    """Store the clerk's trace, judged; the id of its error."""
    (trace,) = stored([clerk(**changes)]).traces()
    api.put_spans(*(span.raw for span in trace.spans.values()), received=NOW - DAY)
    found = tuple(replace(f, first_seen=NOW) for f in default_suite().judge(trace).findings)
    subject = Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id)
    judgement = Judgement(subject, "detectors", "v1", "h", NOW, NOW - DAY, Outcome.DONE, found)
    arrived = replace(trace, received_through=NOW - DAY)
    StoredJudging(api.store).save([JudgedTrace(arrived, judgement, found)])
    errors = api.client.get("/api/errors", params={"profile": "0"}).json()["items"]
    return str(next(e["id"] for e in errors if e["cause"] == "failed-call" and e["judge"] != "ungrounded-turn"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the clerk's case."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "case.json").write_text(json.dumps(CASE))
    return tmp_path / "cases"


def edited(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The folder, its case changed."""
    (file,) = folder.glob("*.json")
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    return folder


def test_a_case_holds_what_the_step_was_sent(api: Api, tmp_path: Path) -> None:
    """By the id of the error, or of its pattern: then of each of its examples."""
    error = api.client.get(f"/api/errors/{put(api)}").json()
    for found, folder in ((error["id"], tmp_path / "a"), (error["pattern"], tmp_path / "b")):
        added = run("add", found, "--to", folder, url=api.url)
        assert added.exit_code == 0, added.output
    (file,), (same,) = ((tmp_path / name).glob("*.json") for name in "ab")
    assert file.read_bytes() == same.read_bytes()
    written = json.loads(file.read_text())
    assert {name: written[name] for name in SAME} == {name: json.loads(json.dumps(CASE))[name] for name in SAME}
    assert file.stem == written["id"] == error["id"]
    # Once more it is the same; what somebody edited stays.
    assert run("add", error["id"], "--to", tmp_path / "a", url=api.url).exit_code == 0
    file.write_text("edited")
    again = run("add", error["id"], "--to", tmp_path / "a", url=api.url)
    assert (again.exit_code, again.stderr.count("\n"), file.read_text()) == (1, 1, "edited")
    assert "is kept as it was edited" in again.stderr


SAME = ("must_not_appear", "model", "parameters", "messages", "tools", "answer", "results")
CUT = json.dumps([*SENT, said("tool", {"type": "tool_call_response", "id": "c0", "response": "x"})])
BARE = json.dumps([{key: value for key, value in TOOLS[0].items() if key != "parameters"}])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"input.messages": ""}, "the messages of the LLM call were not recorded"),
        ({"input.messages": CUT}, "only what was new since the call before was recorded"),
        ({"tool.definitions": BARE}, "the schema of the tool 'get_order' was not recorded"),
        ({"tool.definitions": ""}, "tools are missing: without their schemas"),
    ],
)
def test_no_case_where_content_is_gone(api: Api, tmp_path: Path, changes: Mapping[str, str], why: str) -> None:
    """One line with the reason, and nothing is written."""
    added = run("add", put(api, **changes), "--to", tmp_path / "cases", url=api.url)
    assert (added.exit_code, added.stderr.count("\n")) == (1, 1)
    assert why in added.stderr
    assert not (tmp_path / "cases").exists()


def test_an_id_of_nothing(api: Api, tmp_path: Path) -> None:
    added = run("add", "beef" * 8, "--to", tmp_path, url=api.url)
    assert (added.exit_code, added.stderr.count("\n")) == (4, 1)
    assert "no error" in added.stderr


def test_a_model_that_is_wrong_with_known_probability(folder: Path, tmp_path: Path) -> None:
    """Over HTTP: what is sent, what is counted, how it is compared; a cassette asks nothing twice."""

    def share(body: Mapping[str, Any]) -> float:
        return 0.1 if "order_id, always" in body["messages"][0]["content"] else 0.7

    cassette = tmp_path / "calls.jsonl"
    with llm_server(wrong_with(share), keep=True) as model:
        asking: list[str | Path] = [folder, "--api-base", model.base, "--model", "openai/clerk", "--times", "60"]
        asking += ["--concurrency", "1", "--cassette", cassette, "--append", "Give order_id, always."]
        done = run("run", *asking, "--format", "json")
        assert done.exit_code == 0, done.output
        sent = model.counts.calls
        told = run("run", *asking, "--fail-over", "0")
        assert (sent, model.counts.calls) == (120, 120)
        assert told.exit_code == 1
        body = model.bodies[-1]
    (case,) = json.loads(done.stdout)["cases"]
    before, now, found = case["before"], case["now"], case["difference"]
    assert (before["of"], now["of"], now["unjudged"], now["failed"]) == (60, 60, 0, 0)
    for counted, share_of in ((before, 0.7), (now, 0.1)):
        interval = Tally(**counted).share
        assert interval is not None
        assert interval.low < share_of < interval.high
    assert found["low"] < 0.6 < found["high"]
    assert f"wrong in {before['wrong']} of 60 before, {now['wrong']} of 60 now, difference ." in told.stdout
    assert body["messages"][0]["content"] == f"{SYSTEM}\n\nGive order_id, always."
    assert body["tools"][0]["function"] == {"name": "get_order", "description": "An order.", "parameters": ORDER}
    assert (body["temperature"], body["model"]) == (0.7, "clerk")

    earlier = tmp_path / "earlier.json"
    earlier.write_text(done.stdout)
    with llm_server(always(text="Please tell me the number.")) as model:
        asking[2:5:2] = [model.base, "openai/other"]
        (case,) = json.loads(run("run", *asking[:7], "--before", earlier, "--format", "json").stdout)["cases"]
    assert (case["before"]["wrong"], case["now"]["wrong"]) == (now["wrong"], 0)


def test_the_remedy_is_tried(folder: Path) -> None:
    """`--instead` appends what the error says, and is refused where it says nothing; `--system` replaces the prompt."""
    edited(folder, lambda data: data["error"].pop("instead"))
    with llm_server(wrong_with(lambda body: 0.0 if "Ask first." in str(body["messages"]) else 1.0), keep=True) as model:
        asking = ["--api-base", model.base, "--model", "openai/clerk", "--times", "3"]
        refused = run("run", folder, *asking, "--instead")
        assert (refused.exit_code, model.counts.calls, refused.stderr.count("\n")) == (2, 0, 1)
        assert "does not say what the agent should have done" in refused.stderr
        edited(folder, lambda data: data["error"].update(instead="Ask first."))
        assert "wrong in 3 of 3 before, 0 of 3 now, difference 1.00" in run("run", folder, *asking, "--instead").stdout
        prompt = folder / "prompt.txt"
        prompt.write_text("Be brief.")
        run("run", folder, *asking, "--system", prompt)
        assert {body["messages"][0]["content"] for body in model.bodies[-6:]} == {SYSTEM, "Be brief."}


def test_calls_that_were_not_recorded(folder: Path) -> None:
    """Where only a tool's result shows the error: the recorded call has its result, of another one nobody knows."""

    def by_result(data: dict[str, Any]) -> None:
        data["must_not_appear"] |= {"judge": "raised-error", "cause": "failed-call", "needs_results": True}
        data["results"][0]["content"] = "ValueError: the index is broken"
        data["answer"]["tool_calls"][0]["function"]["arguments"] = '{"order_id": "A-1007"}'

    edited(folder, by_result)
    plays = (calls(order_id="A-1007"), calls(order_id="B-1"), Play(text="I cannot see it."))
    with llm_server(lambda call: plays[call.number % 3]) as model:
        asking = ["--api-base", model.base, "--model", "openai/clerk", "--times", "3", "--concurrency", "1"]
        (case,) = json.loads(run("run", folder, *asking, "--format", "json").stdout)["cases"]
    now = case["now"]
    assert (now["wrong"], now["of"], now["unjudged"]) == (1, 2, 1), now
    assert now["problems"] == ["what get_order returns to such a call was not recorded"]


def test_an_llm_judge_judges_the_step_alone(folder: Path, tmp_path: Path) -> None:
    """Its own errors are judged by it, with the model that is named for it; without one it is said."""
    edited(folder, lambda data: data["must_not_appear"].update(judge="tool-calling", by="llm"))

    def script(call: Call) -> Play:
        if call.body["model"] == "clerk":
            return calls()
        return Play(findings=1 if "get_order" in call.prompt else 0)

    with llm_server(script) as model:
        asking = ["--api-base", model.base, "--model", "openai/clerk", "--times", "2"]
        refused = run("run", folder, *asking)
        assert (refused.exit_code, refused.stderr.count("\n"), model.counts.calls) == (2, 1, 0)
        assert "--judge-model" in refused.stderr
        config = tmp_path / "judges.yaml"
        config.write_text(json.dumps({"judges": {"model": "openai/judge", "api_base": model.base}}))
        done = run("run", folder, *asking, "--config", config, "--format", "json")
        assert done.exit_code == 0, done.output
        assert model.counts.calls == 3  # two answers that are one, and the judge about it
    assert json.loads(done.stdout)["cases"][0]["now"]["of"] == 2


BAD: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    (
        "schema",
        lambda d: d["tools"][0].pop("parameters"),
        "parameters: this key is missing",
    ),
    ("tools", lambda d: d.pop("tools"), "tools are missing"),
    ("server", lambda d: d.update(parameters={"api_base": "http://evil.example"}), "parameters.api_base"),
    ("address", lambda d: d.update(model="huggingface/http://evil.example"), "model: "),
    ("parameter", lambda d: d.update(parameters={"max_tokens": "x"}), "max_tokens must be a whole number"),
    ("path", lambda d: d.update(id="../../x"), "id: "),
    ("text", lambda d: d.update(service=HOSTILE, messages=HOSTILE), "messages: must be a list"),
    ("judge", lambda d: d["must_not_appear"].update(judge="no-such-rule"), "which there is not"),
    ("hostile key", lambda d: d.update({HOSTILE: 1}), "there is no such key here"),
]


@pytest.mark.parametrize(("change", "why"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_case_is_one_line(folder: Path, change: Callable[[dict[str, Any]], object], why: str) -> None:
    """With the file and the key, before anybody is asked."""
    done = run("run", edited(folder, change), "--model", "openai/clerk")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output
    assert why in done.stderr
    assert "\x1b" not in done.stderr


def test_hostile_words_are_only_words(folder: Path) -> None:
    """They reach the model as they are, and the terminal without what it would obey."""

    def hostile(data: dict[str, Any]) -> None:
        data["messages"][1]["content"] = data["error"]["title"] = HOSTILE
        del data["parameters"]

    with llm_server(always(text=HOSTILE), keep=True) as model:
        done = run("run", edited(folder, hostile), "--api-base", model.base, "--model", "openai/x", "--times", "1")
        assert model.bodies[0]["messages"][1]["content"] == HOSTILE
        assert "temperature" not in model.bodies[0]
    assert done.exit_code == 0, done.output
    assert not {"\x1b", "\u202e"} & {*done.output}


def test_what_is_no_file_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    refused = run("run", folder, "--model", "openai/x")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "pipe.json is no file" in refused.stderr
    (folder / "pipe.json").unlink()
    endless = run("run", folder, "--model", "openai/x", "--system", "/dev/zero")
    assert (endless.exit_code, endless.stderr.count("\n")) == (2, 1)
    assert "is larger than" in endless.stderr
    earlier = tmp_path / "earlier.json"
    earlier.write_text('{"cases": []}')
    other = run("run", folder, "--model", "openai/x", "--before", earlier)
    assert (other.exit_code, other.stderr.count("\n")) == (2, 1)
    assert "--before has none of the cases" in other.stderr


def test_a_case_that_nothing_can_break_says_so(folder: Path) -> None:
    """Edited so that its own answer is right; and a limit that is no number lets nothing pass."""
    edited(folder, lambda data: data["tools"][0]["parameters"].pop("required"))
    edited(folder, lambda data: data.update(results=[]))
    with llm_server(always(text="Which one?")) as model:
        asking = ["--api-base", model.base, "--model", "openai/x", "--times", "1"]
        done = run("run", folder, *asking)
        assert "schema-violation does not find the error in the recorded answer either" in done.stdout
        assert run("run", folder, *asking, "--fail-over", "nan").exit_code == 1


def test_a_model_that_fails(folder: Path) -> None:
    """It is said once, how often and why; nothing is called right that nobody judged."""
    with llm_server(always(status=500, message="out of order")) as model:
        done = run("run", folder, "--api-base", model.base, "--model", "openai/x", "--times", "4", "--retries", "0")
    assert done.exit_code == 1
    assert "no answer was judged" in done.stdout
    assert "4 calls brought no answer" in done.stdout
    assert done.stdout.count("500") == 1, done.stdout
    unknown = run("run", folder)
    assert (unknown.exit_code, unknown.stderr.count("\n")) == (2, 1)
    assert "--model names the model" in unknown.stderr


def test_in_a_test(folder: Path, regressions: Callable[..., RegressionResults], llm: LlmServer) -> None:
    """The fixture demands that a step holds."""
    asked: dict[str, Any] = {"model": "openai/clerk", "api_base": llm.base, "api_key_env": "CLERK_KEY", "times": 4}
    llm.script = wrong_with(lambda _body: 0.0)
    regressions(folder, **asked).assert_wrong_at_most()
    llm.script = wrong_with(lambda _body: 1.0)
    with pytest.raises(AssertionError, match=r"Argument missing: wrong in 4 of 4 now"):
        regressions(folder, **asked).assert_wrong_at_most(0.5)


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model's server."""
    monkeypatch.setenv("CLERK_KEY", "x")
    with llm_server() as server:
        yield server


def test_intervals_cover() -> None:
    """Of 1,000 steps with any probabilities before and now, at each number of answers."""
    chance = Random(43)  # noqa: S311  a simulation

    def counted(share: float, times: int) -> Tally:
        return Tally(wrong=sum(chance.random() < share for _ in range(times)), of=times)

    for times in (5, 10, 20, 50):
        covered = 0
        for _ in range(1000):
            before, now = chance.random(), chance.random()
            found = difference(counted(before, times), counted(now, times))
            assert found is not None
            covered += found.low <= before - now <= found.high
        assert covered >= 940, (times, covered)
    # Several cases together, which differ in their shares.
    covered = 0
    for _ in range(1000):
        shares = [(chance.random(), chance.random()) for _ in range(5)]
        cases = [
            CaseResult(id=str(n), now=counted(now, 10), before=counted(was, 10)) for n, (was, now) in enumerate(shares)
        ]
        together = RegressionResults(cases=tuple(cases)).all
        found = difference(together.before or Tally(), together.now)
        assert found is not None
        covered += found.low <= sum(was - now for was, now in shares) / 5 <= found.high
    assert covered >= 940, covered


@pytest.mark.parametrize(("times", "worst"), [(10, 0.905), (20, 0.92)])
def test_intervals_at_worst(times: int, worst: float) -> None:
    """Exactly, for each pair of probabilities in steps of .05."""
    counts, shares = range(times + 1), [n / 20 for n in range(21)]
    weights = {p: [comb(times, k) * p**k * (1 - p) ** (times - k) for k in counts] for p in shares}
    found = {(a, b): difference(Tally(wrong=a, of=times), Tally(wrong=b, of=times)) for a in counts for b in counts}
    for was in shares:
        for now in shares:
            covered = sum(
                weights[was][a] * weights[now][b]
                for (a, b), one in found.items()
                if one is not None and one.low - 1e-9 <= was - now <= one.high + 1e-9
            )
            assert covered >= worst, (was, now)
