"""Columns of lists: chosen by a form, in the link, in saved views and on the command line, by one declaration."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from listed_traces import Listed, store_all
from served_api import Api, finding, row
from trace_pages import SECOND, START, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.list_columns import (
    COLUMNS_OF_ERRORS,
    COLUMNS_OF_SESSIONS,
    COLUMNS_OF_TRACES,
    ListColumn,
    chosen_columns,
)

LISTS = {"/traces": COLUMNS_OF_TRACES, "/sessions": COLUMNS_OF_SESSIONS, "/errors": COLUMNS_OF_ERRORS}
HEAD = re.compile(r'<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+?)\s*<')


@pytest.fixture
def filled(api: Api) -> Api:
    api.put_rows(replace(row(0), session_id="chat"))
    api.put(finding(1, evidence="QUOTED", explanation="REASONED"))
    return api


@pytest.mark.parametrize("path", ["/traces", "/sessions"])
def test_a_list_shows_the_columns_that_its_link_names(filled: Api, path: str) -> None:
    """Heads and cells, as many of each; the first one always; with commas or as a form sends them."""
    titled = [one for one in LISTS[path] if one.title]
    usual = [one.title for one in titled if one.on_page]
    assert HEAD.findall(filled.client.get(path).text) == usual
    for chosen in ("status", "cost,status", ",".join(one.name for one in titled)):
        names = [one.title for one in titled[1:] if one.name in chosen.split(",")]
        for given_ in ([chosen], chosen.split(",")):
            page = filled.client.get(path, params={"columns": given_}).text
            assert HEAD.findall(page) == [titled[0].title, *names]
            (cells,) = re.findall(r"<tbody>\s*<tr>(.*?)</tr>", page, re.DOTALL)
            assert cells.count("<td") == len(names) + 1
            checked = re.findall(r'name="columns" value="([a-z-]+)" checked', page)
            assert checked == [one.name for one in titled[1:] if one.title in names]


def test_more_columns_than_the_usual_ones_hold_what_they_name(store: SharedStore) -> None:
    """Session, version and models; a usual list has the models nowhere."""
    store_all(store, [Listed(1, session="chat", version="v7", model="m-1", start=START, received=START + SECOND)])
    with trace_pages(store) as pages:
        page = pages.get("/traces", **{"from": "2023-01-01", "columns": "models,version,session,spans"}).text
        for text in ('<td class="name">m-1', '<td class="name">v7</td>', '<a href="/sessions/chat'):
            assert text in page
        assert "m-1" not in pages.get("/traces", **{"from": "2023-01-01"}).text


def test_blocks_of_errors_have_the_parts_that_are_chosen(filled: Api) -> None:
    """On the page and in the lines that come later, by the same template."""
    usual = filled.client.get("/errors?profile=0").text
    assert "QUOTED" in usual
    assert "REASONED" in usual
    page = filled.client.get("/errors?profile=0&columns=reason").text
    assert "QUOTED" not in page
    assert "REASONED" in page


@pytest.mark.parametrize("path", LISTS)
def test_links_of_the_page_keep_the_columns(filled: Api, path: str) -> None:
    """Also the filters' form."""
    name = next(one.name for one in LISTS[path][1:] if one.title)
    page = filled.client.get(path, params={"columns": name, "severity": "LOW"}).text
    assert f'<input type="hidden" form="filters" name="columns" value="{name}">' in page or (
        f'<input type="hidden" name="columns" value="{name}">' in page
    )
    for link in re.findall(r'<th[^>]*><a href="([^"]+)"', page):
        assert f"columns={name}" in link


@pytest.mark.parametrize("path", LISTS)
def test_an_unknown_column_is_refused_with_the_known_ones(filled: Api, path: str) -> None:
    answer = filled.client.get(path, params={"columns": "colour"})
    assert answer.status_code == 422
    assert "no column 'colour': this list has " in answer.json()["detail"]
    assert all(one.name in answer.json()["detail"] for one in LISTS[path] if one.title)


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, [*args, "--url", api.url], env={"COLUMNS": "300"})


@pytest.mark.parametrize(
    ("command", "columns", "head"),
    [
        ("traces", "cost,models,tokens", ["trace", "models", "tokens", "cost"]),
        ("sessions", "worst-error,tokens", ["session", "tokens", "worst error"]),
        ("errors", "quote,seen", ["error", "quote", "seen"]),
    ],
)
def test_the_command_line_has_the_same_columns(filled: Api, command: str, columns: str, head: list[str]) -> None:
    """In one option or several; an unknown one is refused."""
    for given_ in (["--columns", columns], [part for name in columns.split(",") for part in ("--columns", name)]):
        lines = run(filled, command, "--profile", "0", *given_).stdout.splitlines()
        assert re.split(r"\s{2,}", lines[0].strip()) == head
    refused = run(filled, command, "--columns", "colour")
    assert refused.exit_code != 0
    assert "no column 'colour'" in refused.output


def test_a_saved_view_has_its_columns(filled: Api) -> None:
    """Those of an option beside it replace them."""
    filled.client.put("/api/views/few", json={"link": "/traces?columns=models&columns=cost"})
    head = run(filled, "traces", "--view", "few").stdout.splitlines()[0]
    assert head.split() == ["trace", "models", "cost"]
    head = run(filled, "traces", "--view", "few", "--columns", "spans").stdout.splitlines()[0]
    assert head.split() == ["trace", "spans"]


@given(st.sampled_from(list(LISTS.values())), st.lists(st.text(max_size=12)))
def test_columns_stand_in_their_own_order_and_the_first_is_always_there(
    columns: tuple[ListColumn, ...], texts: list[str]
) -> None:
    """Whatever is asked for: an answer, or one printable line."""
    names = [one.name for one in columns]
    for given_, on_page in product((texts, [*names[::2], "", " , "]), (True, False)):
        try:
            found = chosen_columns(columns, given_, on_page=on_page)
        except ConfigError:
            assert {name.strip() for text in given_ for name in text.split(",")} - {"", *names}
            continue
        assert found[0] is columns[0]
        assert found == [one for one in columns if one in found]
