"""Cassettes: what is recorded is answered again, without anybody to ask."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest
from canned_client import CannedClient
from pictures import picture

from tracejury.collector.judging.model.cassette import About, Cassette, CassetteClient
from tracejury.judges.llm.client import Prompt, PromptMessage, Reply
from tracejury.judges.llm.picture import Picture
from tracejury.schemas.errors import ConfigError, LlmError


def prompt(text: str, **changes: object) -> Prompt:
    return Prompt((PromptMessage("system", "rules"), PromptMessage("user", text)), **changes)  # type: ignore[arg-type]


def echo(p: Prompt) -> str:
    return f"to {p.messages[-1].text}"


def record(path: Path, *texts: str) -> CannedClient:
    return asyncio.run(recorded(path, *texts))


def ask(client: CassetteClient, text: str, **changes: object) -> Reply:
    return asyncio.run(client.complete(prompt(text, **changes)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassette.jsonl"


async def recorded(path: Path, *texts: str) -> CannedClient:
    """Record the replies to these prompts; the client that was asked."""
    inner = CannedClient(echo)
    with Cassette(path, record=True) as cassette:
        client = CassetteClient(cassette, inner, inner.model)
        for text in texts:
            await client.complete(prompt(text))
    return inner


def test_what_was_recorded_is_replayed_offline(path: Path) -> None:
    """The whole reply comes back, tokens and cost included; nobody is asked."""
    record(path, "one", "two")
    with Cassette(path, record=False) as cassette:
        reply = ask(CassetteClient(cassette, None, "canned"), "two")
    assert reply == Reply("to two", "canned", input_tokens=8, output_tokens=6, cost=0.5)


def test_what_is_not_on_it_is_no_answer(path: Path) -> None:
    """Replaying without anybody to ask: one clear error, by which the judge stays unscored."""
    record(path, "one")
    with Cassette(path, record=False) as cassette:
        with pytest.raises(LlmError, match="not on the cassette"):
            ask(CassetteClient(cassette, None, "canned"), "two")
        with pytest.raises(LlmError):
            ask(CassetteClient(cassette, None, "canned"), "one", repeat=1)


def test_a_run_of_hours_goes_on_where_it_stopped(path: Path) -> None:
    """Only what is missing is asked."""
    record(path, "one", "two")
    inner = record(path, "one", "two", "three")
    assert [p.messages[-1].text for p in inner.asked] == ["three"]


def test_a_torn_last_line_is_taken_off(path: Path) -> None:
    """A killed process leaves half a line: it is asked again, and the file is whole afterwards."""
    record(path, "one", "two")
    whole = path.read_bytes()
    for cut in (1, 2, 60, len(whole.splitlines(keepends=True)[1]) - 1):
        path.write_bytes(whole[:-cut])
        inner = record(path, "one", "two")
        assert [p.messages[-1].text for p in inner.asked] == ["two"]
        assert [json.loads(line)["reply"]["text"] for line in path.read_bytes().splitlines()] == ["to one", "to two"]


def test_a_torn_first_line_leaves_an_empty_cassette(path: Path) -> None:
    """Also one longer than the blocks that the end is looked for in."""
    path.write_bytes(b'{"key": "' + b"x" * 200_000)
    inner = record(path, "one")
    assert len(inner.asked) == 1
    assert len(path.read_bytes().splitlines()) == 1


def test_an_answer_is_known_from_the_second_time_on(path: Path) -> None:
    """Each asking of it has an answer of its own; a command that resumes counts each call once again."""
    for _ in range(2):
        inner = CannedClient(echo)
        with Cassette(path, record=True) as cassette:
            client = CassetteClient(cassette, inner, inner.model)
            assert [ask(client, "one").known for _ in range(3)] == [False, True, True]
            assert ask(client, "one", repeat=1).known is False
    assert len(path.read_bytes().splitlines()) == 2


def test_without_a_file_answers_are_kept_in_memory() -> None:
    """A prompt is sent once, too."""
    inner = CannedClient(echo)
    with Cassette(None, record=True) as cassette:
        client = CassetteClient(cassette, inner, inner.model)
        assert [ask(client, "one").known for _ in range(2)] == [False, True]
    assert len(inner.asked) == 1


def test_it_says_whose_calls_are_on_it(path: Path) -> None:
    """Once a model: with another limit the prompts would be other ones."""
    for _ in range(2):
        with Cassette(path, record=True) as cassette:
            cassette.describe(About("m", 8000))
            cassette.describe(About("n", 9000))
    with Cassette(path, record=False) as cassette:
        assert cassette.about == [About("m", 8000), About("n", 9000)]
    assert len(path.read_bytes().splitlines()) == 2


def test_the_same_prompt_at_once_is_sent_once(path: Path) -> None:
    """Both get the one reply."""
    inner = CannedClient(echo)
    with Cassette(path, record=True) as cassette:
        client = CassetteClient(cassette, inner, inner.model)

        async def twice() -> tuple[Reply, Reply]:
            return await asyncio.gather(client.complete(prompt("one")), client.complete(prompt("one")))

        first, second = asyncio.run(twice())
    assert (first.text, first.known, second.text, second.known) == ("to one", False, "to one", True)
    assert (len(inner.asked), len(path.read_bytes().splitlines())) == (1, 1)


def test_failures_are_not_recorded(path: Path) -> None:
    """The next evaluation tries them again."""
    inner = CannedClient(lambda _: LlmError("stalled"))
    with Cassette(path, record=True) as cassette, pytest.raises(LlmError, match="stalled"):
        ask(CassetteClient(cassette, inner, inner.model), "one")
    assert path.read_bytes() == b""


def test_cassettes_of_earlier_versions_are_replayed(path: Path) -> None:
    """They have other keys; those held the number of the run, which is the prompt's `repeat`, and no temperature."""
    keys = {0: "69523aa801e27cbc05b0345c06f80ec1", 1: "eb9faaa42988eb10686068f958b6b30d"}
    lines = [
        json.dumps({"key": key, "run": run, "reply": {"text": f"run {run}", "model": "m"}}) for run, key in keys.items()
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    with Cassette(path, record=False) as cassette:
        client = CassetteClient(cassette, None, "canned")
        assert [ask(client, "one", repeat=run).text for run in (0, 1)] == ["run 0", "run 1"]
        for other in ({"repeat": 2}, {"temperature": 0.0}, {"top_p": 0.5}):
            with pytest.raises(LlmError):
                ask(client, "one", **other)


def test_packed_cassettes_are_replayed_and_not_recorded_on(path: Path) -> None:
    """.gz is for keeping."""
    record(path, "one")
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with Cassette(packed, record=False) as cassette:
        assert ask(CassetteClient(cassette, None, "canned"), "one").text == "to one"
    with pytest.raises(ConfigError, match="unpack"):
        Cassette(packed, record=True)
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(ConfigError, match="gzip"):
        Cassette(packed, record=False)


def test_two_processes_cannot_record_on_one(path: Path) -> None:
    """The second is refused; replaying is always possible."""
    with Cassette(path, record=True):
        with pytest.raises(ConfigError, match="another process"):
            Cassette(path, record=True)
        Cassette(path, record=False).close()
    Cassette(path, record=True).close()


@pytest.mark.parametrize("content", ["{}\n", "no json\n", '{"key": "k", "model": "m", "reply": {"odd": 1}}\n', "[1]\n"])
def test_other_files_are_refused(path: Path, content: str) -> None:
    """With the line at fault."""
    path.write_text(content)
    with pytest.raises(ConfigError, match="line 1: not a cassette's"):
        Cassette(path, record=False)


def test_a_cassette_to_replay_must_be_there(path: Path) -> None:
    """No empty file is made in its place."""
    with pytest.raises(ConfigError, match="no cassette"):
        Cassette(path, record=False)
    assert not path.exists()


def test_any_text_survives(path: Path) -> None:
    """Lone surrogates and line separators, too: a line stays a line."""
    text = "a\u2028b\ud800\n\x85\x00"
    record(path, text)
    with Cassette(path, record=False) as cassette:
        assert ask(CassetteClient(cassette, None, "canned"), text).text == f"to {text}"


def test_a_picture_is_part_of_what_is_asked_and_only_its_hash_is_recorded(path: Path) -> None:
    """Replayed for the same picture alone; a cassette holds no content but text."""
    seen, other = picture(), picture(9, 9)

    async def run(shown: Picture, *, replay: bool) -> Reply:
        asked = Prompt((PromptMessage("user", "record", pictures=(shown,)),))
        with Cassette(path, record=not replay, replay=replay) as cassette:
            inner = None if replay else CannedClient(echo)
            return await CassetteClient(cassette, inner, "m").complete(asked)

    recorded_reply = asyncio.run(run(seen, replay=False))
    assert asyncio.run(run(seen, replay=True)).text == recorded_reply.text
    with pytest.raises(LlmError, match="not on the cassette"):
        asyncio.run(run(other, replay=True))
    assert seen.digest in path.read_text()
    assert "base64" not in path.read_text()
