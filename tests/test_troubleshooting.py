"""docs/troubleshooting.md quotes what tracejury says, and the pages that newcomers read lead to pages that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = (DOCS / "troubleshooting.md").read_text("utf-8")
QUOTES = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)
GAPS = yaml.safe_load((ROOT / "processors/doctor/gaps.yaml").read_text("utf-8"))
CUT = "…"


@cache
def said() -> tuple[str, ...]:
    """The texts of the collector's source, with `…` for what is filled in."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "collector").rglob("*.py"))
    return tuple(text for tree in trees for node in ast.walk(tree) if (text := text_of(node)))


def text_of(node: ast.AST) -> str:
    """A literal's text ("" of other nodes): parts of f-strings and of %-formats that are filled in are cut."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) or CUT for value in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[\d.]*[sdrf]", CUT, node.value)
    return ""


def stands(quote: str) -> bool:
    """Whether the parts of the quote stand in the source, in order; texts that follow each other may be apart there."""
    parts = [part.strip() for part in quote.split(CUT) if part.strip(" .:")]
    whole = re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)
    return any(whole.search(text) for text in said()) or all(any(part in text for text in said()) for part in parts)


@pytest.mark.parametrize("quote", QUOTES)
def test_each_quoted_line_is_said(quote: str) -> None:
    assert stands(quote)


def test_a_line_that_is_not_said_is_noticed() -> None:
    assert not stands("the store's disk is nearly empty: … MiB are free")


def test_there_are_quotes() -> None:
    assert len(QUOTES) > 12


def test_each_gap_that_it_names_is_a_title_of_the_doctor() -> None:
    titles = {gap["title"] for gap in GAPS.values()}
    tables = re.findall(r"^\| the doctor says \|.*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    named = [title for table in tables for title in re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)]
    assert len(named) > 8
    assert [title for title in named if title not in titles] == []


def links(path: Path) -> list[tuple[str, str]]:
    """Page and heading of each relative link outside code."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text)


@pytest.mark.parametrize(
    "path", [DOCS / "troubleshooting.md", *(DOCS / "quickstart").glob("*.md")], ids=lambda p: p.stem
)
def test_links_lead_to_headings_that_exist(path: Path) -> None:
    for page, heading in links(path):
        target = (path.parent / page).resolve() if page else path
        assert target.exists(), page
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in anchors, f"{page}#{heading}"
