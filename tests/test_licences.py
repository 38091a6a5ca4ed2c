"""What runs is under permissive licences, and docs/licences.md says under which."""

from __future__ import annotations

from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from licences import licence, objection, page, table

if TYPE_CHECKING:
    from importlib.metadata import PackageMetadata

EXTRAS = ("embedded", "kafka", "llm", "mcp")
PAGE = Path(__file__).parents[1] / "docs" / "licences.md"


def test_no_package_that_runs_is_under_copyleft_or_an_unknown_licence() -> None:
    found = table(*EXTRAS)
    assert len(found) > 80
    assert [why for name, (stated, _) in found.items() if (why := objection(name, stated))] == []


def test_the_page_is_that_of_the_installed_packages() -> None:
    """After a change of dependencies: `make docs`."""
    assert page(*EXTRAS) == PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "stated", "why"),
    [
        ("a", "MIT AND (Apache-2.0 OR BSD-3-Clause)", ""),
        ("a", "MIT AND GPL-3.0-only", "a: GPL-3.0-only"),
        ("a", "GPL-2.0-only OR MIT", "a: GPL-2.0-only"),
        ("a", "unknown", "a: unknown"),
        ("a", "MPL-2.0", "a: MPL-2.0"),
        ("certifi", "MPL-2.0", ""),
        ("certifi", "LGPL-3.0-only", "certifi: LGPL-3.0-only"),
    ],
)
def test_an_objection_names_the_licence(name: str, stated: str, why: str) -> None:
    assert objection(name, stated) == why


@pytest.mark.parametrize(
    ("fields", "stated"),
    [
        ([("License-Expression", "MIT"), ("License", "GPL-3.0-only")], "MIT"),
        ([("License", "bsd-3-clause"), ("Classifier", "License :: OSI Approved :: BSD License")], "BSD-3-Clause"),
        ([("License", "MIT License\n\nCopyright (c) 2022"), ("Classifier", "Topic :: Text")], "MIT"),
        (
            [
                ("License", "Dual License"),
                ("Classifier", "License :: OSI Approved :: BSD License"),
                ("Classifier", "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"),
            ],
            "BSD AND GNU General Public License v3 (GPLv3)",
        ),
        ([("License", "proprietary, ask us")], "proprietary, ask us"),
        ([], "unknown"),
    ],
)
def test_a_licence_is_read_from_what_a_package_states(fields: list[tuple[str, str]], stated: str) -> None:
    data = Message()
    for key, value in fields:
        data[key] = value
    assert licence(cast("PackageMetadata", data)) == stated
