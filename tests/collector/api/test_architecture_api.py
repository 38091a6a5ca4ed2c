"""`/api/architectures` and `tracejury architecture`: read, write and take back what judges are told of a service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from served_api import Api

from tracejury.collector.api.params import MAX_ARCHITECTURE
from tracejury.collector.cli.root import root
from tracejury.schemas.llm_rows import Source, text_version

PATH = "/api/architectures"
SLASHED = "team/shop v2?"


def run(api: Api, *args: str, stdin: str = "") -> Result:
    environment = {"TRACEJURY_URL": api.url, "COLUMNS": "200"}
    return CliRunner().invoke(root, ["architecture", *args], env=environment, input=stdin)


def derived(api: Api, service: str = "shop", text: str = "a manager") -> None:
    api.reader.architectures.keep(service, text, Source.DERIVED)


def test_the_one_that_holds(api: Api) -> None:
    """Text, version and source; none is 404; the list has the one of each service."""
    status, detail = api.get(f"{PATH}/shop")
    assert (status, "no architecture of service 'shop'" in detail) == (404, True)
    assert api.get(PATH) == {"items": [], "next": None}
    derived(api)
    shown = api.get(f"{PATH}/shop")
    assert shown == {
        "service": "shop", "version": text_version("a manager"), "source": "derived", "text": "a manager",
        "at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    assert api.get(PATH) == {"items": [shown], "next": None}


def test_edited_and_taken_back(api: Api) -> None:
    """What was written holds until it is deleted; history has every step."""
    derived(api)
    edited = api.client.put(f"{PATH}/shop", json={"text": "mine"}).json()
    assert (edited["source"], edited["text"]) == ("edited", "mine")
    assert api.get(f"{PATH}/shop") == edited
    taken = api.client.request("DELETE", f"{PATH}/shop", json={}).json()
    assert (taken["cleared"], taken["current"]["text"]) == (True, "a manager")
    history = api.get(f"{PATH}/shop", history="true")
    assert [v["source"] for v in history["items"]] == ["cleared", "edited", "derived"]
    nothing = api.client.request("DELETE", f"{PATH}/desk", json={}).json()
    assert nothing == {"cleared": False, "current": None}


@pytest.mark.parametrize("name", ["team%2Fshop%20v2%3F", "team/shop v2%3F"])
def test_a_service_may_be_called_anything(api: Api, name: str) -> None:
    """Slashes, spaces and question marks; also nothing at all."""
    api.client.put(f"{PATH}/{name}", json={"text": "mine"})
    assert api.get(f"{PATH}/{name}")["service"] == SLASHED
    derived(api, "")
    assert api.get(f"{PATH}/")["service"] == ""


LONGEST = "ä" * (MAX_ARCHITECTURE // 2)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x"}, 200),
        ({"text": LONGEST}, 200),
        ({"text": LONGEST + "x"}, 422),
        ({"text": "x" * (MAX_ARCHITECTURE + 1)}, 422),
        ({"text": ""}, 422),
        ({"text": " \n"}, 422),
        ({"text": 5}, 422),
        ({}, 422),
        ({"text": "x", "source": "derived"}, 422),
        ([], 422),
    ],
)
def test_what_a_description_may_be(api: Api, body: object, status: int) -> None:
    """Some text of at most 20,000 bytes in UTF-8, and nothing beside it."""
    answer = api.client.put(f"{PATH}/shop", json=body)
    assert answer.status_code == status
    assert len(api.reader.architectures.all_current()) == (status == 200)


def test_text_that_is_no_unicode_is_refused(api: Api) -> None:
    """A lone surrogate, which JSON can spell, could not be stored."""
    answer = api.client.put(
        f"{PATH}/shop", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_what_a_web_page_can_send_without_asking_is_refused(api: Api, method: str) -> None:
    """The guard of all that changes something: JSON, and a name of this machine."""
    plain = {"content-type": "text/plain"}
    assert api.client.request(method, f"{PATH}/shop", content=b'{"text": "x"}', headers=plain).status_code == 415
    elsewhere = {"host": "evil.example"}
    assert api.client.request(method, f"{PATH}/shop", json={"text": "x"}, headers=elsewhere).status_code == 421
    assert api.reader.architectures.all_current() == []


def test_the_command_shows_lists_and_edits(api: Api, tmp_path: Path) -> None:
    """The text as it stands; a list without texts; what was set is said."""
    derived(api, text="a manager\n  and a searcher")
    assert "shop  derived" in run(api, "shop").stdout
    assert "a manager\n  and a searcher\n" in run(api, "shop").stdout
    listed = run(api).stdout
    assert "derived" in listed
    assert "searcher" not in listed
    file = tmp_path / "mine.txt"
    file.write_text("mine: ä", "utf-8")
    assert "edited" in run(api, "shop", "--set", str(file)).stdout
    assert json.loads(run(api, "shop", "--format", "json").stdout)["text"] == "mine: ä"
    assert run(api, SLASHED, "--set", "-", stdin="from stdin").exit_code == 0
    assert json.loads(run(api, SLASHED, "--format", "json").stdout)["text"] == "from stdin"
    history = json.loads(run(api, "shop", "--history", "--format", "json").stdout)
    assert [v["source"] for v in history] == ["edited", "derived"]
    assert "derived" in run(api, "shop", "--clear").stdout
    again = run(api, "shop", "--clear")
    assert (again.exit_code, again.stderr) == (0, "there was no edited one\n")
    assert json.loads(run(api, "shop", "--clear", "--format", "json").stdout)["cleared"] is False


@pytest.mark.parametrize(
    ("args", "code", "part"),
    [
        (("desk",), 4, "no architecture of service 'desk'"),
        (("--clear",), 2, "name the SERVICE"),
        (("--history",), 2, "name the SERVICE"),
        (("shop", "--clear", "--history"), 2, "use one of"),
        (("shop", "--set", "no/such/file"), 2, "no/such/file"),
        (("shop", "--set", "/dev/null"), 2, "the text is empty"),
    ],
)
def test_misuse_of_the_command(api: Api, args: tuple[str, ...], code: int, part: str) -> None:
    """One line that says what is wrong."""
    result = run(api, *args)
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1)
    assert part in result.stderr


def test_a_file_that_is_no_text_is_refused(api: Api, tmp_path: Path) -> None:
    """Before anything is sent."""
    file = tmp_path / "picture"
    file.write_bytes(b"\xff\xd8\xff")
    result = run(api, "shop", "--set", str(file))
    assert (result.exit_code, "is not text in UTF-8" in result.stderr) == (2, True)
    assert api.reader.architectures.all_current() == []


def test_what_a_trace_told_is_no_terminal_code(api: Api) -> None:
    """Descriptions are derived from what spans say."""
    derived(api, "evil\x1b[2J", "tool \x1b[31mred\x07\nnext")
    for shown in (run(api).stdout, run(api, "evil\x1b[2J").stdout):
        assert "\x1b" not in shown
        assert "\x07" not in shown
