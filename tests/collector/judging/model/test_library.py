"""litellm is imported late and quietly: nothing that starts fast waits for it, nothing calls home."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tracejury.collector.judging.model.library import LIBRARY, Library


def python(code: str, folder: Path) -> str:
    """What a fresh interpreter prints; fails where it fails."""
    done = subprocess.run(  # noqa: S603  our own code
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", ["app.service", "cli", "judging.llm.build", "judging.model.litellm_client"])
def test_nothing_imports_it_at_start(module: str, tmp_path: Path) -> None:
    """Neither it nor the clients that it brings."""
    code = f"import sys, tracejury.collector.{module}; print(sorted({{'litellm', 'openai'}} & set(sys.modules)))"
    assert python(code, tmp_path) == "[]\n"


OFFLINE = """
import os, socket, sys
def refuse(*args):
    raise AssertionError(f"a connection to {args[1:]}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from tracejury.collector.judging.model.library import Library
library = Library()
module = library.module
for model in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "openai/meta-llama/Llama-3-8B", "cohere/command-r"):
    assert 3 <= module.token_counter(model=model, text="The quick brown fox") <= 9, model
assert library.facts("openai/gpt-4o")[0] is not None
print(os.environ.get("TRACEJURY_TEST_LEAK"), module.callbacks, module.success_callback)
"""


def test_it_calls_nobody_and_reads_no_file_of_the_user(tmp_path: Path) -> None:
    """Prices, limits and tokenizers are those that it ships; a `.env` beside is none of its business."""
    (tmp_path / ".env").write_text("TRACEJURY_TEST_LEAK=1\n")
    assert python(OFFLINE, tmp_path) == "None [] []\n"


ABSENT = """
import asyncio, sys
sys.modules["litellm"] = None
from tracejury.collector.judging.model.library import Library
from tracejury.schemas.errors import ConfigError
for _ in range(2):
    try:
        asyncio.run(Library().ready())
    except ConfigError as error:
        print(error)
"""


def test_where_it_is_not_installed_one_line_says_so(tmp_path: Path) -> None:
    """And how to mend it."""
    assert python(ABSENT, tmp_path).splitlines() == ["LLM judges need litellm: pip install 'tracejury[llm]'"] * 2


async def test_it_is_imported_once() -> None:
    """Whoever waits for it, from whatever thread; who stops waiting does not stop the others."""
    library = Library()
    impatient = asyncio.create_task(library.ready())
    waiting = [asyncio.create_task(library.ready()) for _ in range(3)]
    await asyncio.sleep(0)
    impatient.cancel()
    modules = await asyncio.gather(*waiting, asyncio.to_thread(lambda: library.module))
    assert len(set(map(id, modules))) == 1
    assert modules[0] is await LIBRARY.ready()
