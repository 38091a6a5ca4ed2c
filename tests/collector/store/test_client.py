"""Opening the store, and running statements on it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracejury.collector.store import folder_lock
from tracejury.collector.store.client import Store
from tracejury.schemas.errors import ConfigError, RetryableError, StoreError

HOLD = """
import sys
from tracejury.collector.store.client import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""

HOLD_AS_A_STRANGER = """
import sys, chdb
connection = chdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""

OPEN = """
import sys
from tracejury.schemas.errors import ConfigError
from tracejury.collector.store.client import Store
try:
    Store.open(sys.argv[1]).close()
except ConfigError as error:
    print(error)
else:
    print("opened")
"""


EXHAUST = """
import sys
from tracejury.schemas.errors import RetryableError
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
store = Store.open(sys.argv[1], StoreConfig(max_memory_bytes=512 * 2**20))
store.create_database()
try:
    store.rows("SELECT length(groupArray(toString(number))) FROM numbers(100000000)")
except RetryableError as error:
    print(error)
store.close()
"""


def holder(script: str, argument: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(  # noqa: S603  our own script
        [sys.executable, "-c", script, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def opened_elsewhere(dsn: str, folder: Path | None = None, script: str = OPEN) -> str:
    """What a process of its own says when it opens the store (this one's engine is on another folder)."""
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", script, dsn], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_folder_held_by_another_collector_names_its_pid(tmp_path: Path) -> None:
    """A second process is refused in one line with the pid of the first, and gets in once that one is dead."""
    dsn = f"chdb://{tmp_path}/db"
    with holder(HOLD, dsn) as first:
        said = opened_elsewhere(dsn)
        assert f"process {first.pid}" in said
        assert "\n" not in said
        first.send_signal(signal.SIGKILL)
    assert folder_lock.lock_file(f"{tmp_path}/db").read_text() == f"{first.pid}\n"
    assert opened_elsewhere(dsn) == "opened"


def test_folder_held_by_a_foreign_process_names_its_pid(tmp_path: Path) -> None:
    """Where some other program has the engine open on the folder, its pid is named as well."""
    with holder(HOLD_AS_A_STRANGER, f"{tmp_path}/db") as stranger:
        assert f"PID: {stranger.pid}" in opened_elsewhere(f"chdb://{tmp_path}/db")
        stranger.communicate("")


def test_stores_of_one_process_share_the_folder(store_folder: Path, new_dsn: str) -> None:
    """Two stores on one folder work side by side; the folder stays held until the last one is closed."""
    first, second = Store.open(new_dsn), Store.open(new_dsn)
    first.create_database()
    first.close()
    first.close()  # idempotent
    assert second.rows("SELECT 7") == [(7,)]
    assert str(os.getpid()) in opened_elsewhere(f"chdb://{store_folder}")
    second.close()


def test_second_folder_in_one_process_is_refused(store: Store, tmp_path: Path) -> None:
    """One process can hold one embedded store; another folder is a clear refusal, and is not left locked."""
    with pytest.raises(ConfigError, match="cannot be opened"):
        Store.open(f"chdb://{tmp_path}/other")
    assert opened_elsewhere(f"chdb://{tmp_path}/other") == "opened"
    assert store.rows("SELECT 1") == [(1,)]


def test_relative_folder_is_made(tmp_path: Path) -> None:
    """The default DSN's kind of folder is relative to where the command runs, and made with its parents."""
    assert opened_elsewhere("chdb:///./.tracejury/db", tmp_path) == "opened"
    assert (tmp_path / ".tracejury" / "db").is_dir()


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A path below a file is refused in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be used"):
        Store.open(f"chdb://{tmp_path}/file/db")


@pytest.mark.parametrize("names", [["thesis.tex"], ["a", "b", ".git"]])
def test_a_folder_full_of_other_files_is_refused(tmp_path: Path, names: list[str]) -> None:
    """And is left as it was: the engine would fill it."""
    for name in names:
        (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match="holds other files and no store"):
        Store.open(f"chdb://{tmp_path}")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(names)


def test_missing_engine_names_the_extra(tmp_path: Path) -> None:
    """Without chdb the one line says what to install."""
    said = opened_elsewhere(f"chdb://{tmp_path}/db", script="import sys; sys.modules['chdb'] = None\n" + OPEN)
    assert "pip install 'tracejury[embedded]'" in said
    assert "\n" not in said


def test_server_that_does_not_answer() -> None:
    """A server that nobody runs is a configuration error that shows the DSN without its password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        ConfigError, match=r"clickhouse://ann:\*\*\*@127.0.0.1:\d+/x does not answer: Connection refused$"
    ):
        Store.open(f"clickhouse://ann:secret@127.0.0.1:{port}/x")


def test_an_option_that_the_driver_does_not_know_is_a_clear_error() -> None:
    """It names the option, and not the password."""
    with pytest.raises(ConfigError, match=r"clickhouse://ann:\*\*\*@127.0.0.1:1/x.* unknown option: .*'colour'"):
        Store.open("clickhouse://ann:secret@127.0.0.1:1/x?colour=red")


def test_statements_never_run_in_another_database(new_dsn: str) -> None:
    """Before its database exists a store answers nothing, rather than whatever the default database holds."""
    store = Store.open(new_dsn)
    assert not store.database_exists()
    with pytest.raises(StoreError, match="tracejury migrate"):
        store.rows("SELECT 1")
    store.create_database()
    assert store.rows("SELECT currentDatabase()") == [(store.database,)]
    store.close()


def test_many_threads(store: Store) -> None:
    """More threads than clients run statements at a time; none sees another's rows or settings."""
    with ThreadPoolExecutor(24) as pool:
        rows = list(pool.map(lambda n: store.rows("SELECT {n:UInt64} + sleep(0.001)", {"n": n}), range(200)))
    assert rows == [[(n,)] for n in range(200)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NULL",
        "\\N",
        "a'b",
        'a"b',
        "a\\'b",
        "a\nb\tc\r",
        "\x00",
        "{x:String}",
        "%s %(x)s",
        "'; DROP TABLE spans --",
        "é😀",
    ],
)
def test_bound_values_come_back_as_they_are(store: Store, text: str) -> None:
    """Whatever a value says, it is only a value, alone and within a list."""
    assert store.rows("SELECT {x:String}, {y:Array(String)}", {"x": text, "y": [text, text]}) == [(text, [text, text])]


def test_value_with_a_lone_surrogate_finds_nothing(store: Store) -> None:
    """A text that no stored row can equal is no error."""
    assert store.rows("SELECT 1 FROM spans WHERE SpanId = {x:String}", {"x": "\ud800"}) == []


def test_errors_by_kind(store: Store) -> None:
    """What may pass is retryable, the rest is a store error; both are one line without the engine's version."""
    with pytest.raises(StoreError) as wrong:
        store.rows("SELECT no_such_column")
    assert "\n" not in str(wrong.value)
    assert "version" not in str(wrong.value)
    with pytest.raises(RetryableError):
        store.rows("SELECT sum(number) FROM numbers(10000000000) SETTINGS max_execution_time = 0.05")


def test_memory_is_bounded(store: Store, tmp_path: Path) -> None:
    """The embedded engine has a limit of its own, 4 GiB by default; what would exceed it is refused retryably."""
    sql = "SELECT toUInt64(value) FROM system.server_settings WHERE name = {name:String}"
    assert store.rows(sql, {"name": "max_server_memory_usage"}) == [(4 * 2**30,)]
    assert store.rows(sql, {"name": "mark_cache_size"}) == [(256 * 2**20,)]
    assert "memory limit exceeded" in opened_elsewhere(f"chdb://{tmp_path}/db", script=EXHAUST)


def test_close_waits_for_running_statements(store: Store) -> None:
    """A statement that is under way when the store closes ends normally; one that comes later is refused."""
    order: list[str] = []
    under_way, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with store._client() as client:
            under_way.set()
            assert go_on.wait(30)
            assert client.query("SELECT 1").result_rows == [(1,)]
            order.append("worked")

    def close() -> None:
        store.close()
        order.append("closed")

    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(work)
        assert under_way.wait(30)
        closing = pool.submit(close)
        while not store._closed:
            time.sleep(0)
        go_on.set()
        working.result()
        closing.result()
    assert order == ["worked", "closed"]
    with pytest.raises(RetryableError, match="closed"):
        store.rows("SELECT 1")


QUIET = """
import sys
from tracejury.collector.store.client import Store
store = Store.open(sys.argv[1])
store.create_database()
print(store.rows("SELECT value FROM system.server_settings WHERE name = 'memory_worker_period_ms'")[0][0])
print(sorted({"numpy", "pandas", "pyarrow"} & set(sys.modules)))
import pyarrow
store.close()
"""


def test_the_engine_is_told_to_rest_and_brings_no_packages_for_arrays(tmp_path: Path) -> None:
    """Else it looks at its memory twenty times a second; whoever wants pyarrow later can import it."""
    command = [sys.executable, "-c", QUIET, f"chdb://{tmp_path}/db"]
    assert subprocess.check_output(command, text=True).splitlines() == ["500", "[]"]  # noqa: S603  our own command
