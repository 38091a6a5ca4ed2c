"""The example that stops a runaway agent, with real processes: collector, receiver and agent."""

from __future__ import annotations

import base64
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from processes import PATIENCE, serving, until

pytest.importorskip("chdb", reason="the embedded engine is not installed")

EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "stop_agent"
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes....").decode()
STEPS = 200


@contextmanager
def receiver(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The example's receiver on a free port, and its address."""
    environment = {**os.environ, "HOOK_SECRET": SECRET, "STOP_FOLDER": str(folder / "stop")}
    with subprocess.Popen(  # noqa: S603  our own example
        [sys.executable, str(EXAMPLE / "receiver.py"), "0"], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            found = re.search(r"http\S+", until(process, re.compile(r"receiving at \S+\n")))
            assert found
            yield process, found[0]
        finally:
            process.kill()


def test_a_runaway_agent_is_stopped_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would loop 200 times; a provisional finding reaches the receiver, and the agent ends before."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with receiver(tmp_path) as (process, url):
        config = tmp_path / "tracejury.yaml"
        config.write_text((EXAMPLE / "tracejury.yaml").read_text().replace("http://127.0.0.1:9000/", url))
        with serving(tmp_path, "--config", str(config)) as collector:
            environment = {
                **os.environ,
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.ports['grpc']}",
                "STOP_FOLDER": str(tmp_path / "stop"),
                "STEPS": str(STEPS),
            }
            agent = subprocess.run(  # noqa: S603  our own example
                [sys.executable, str(EXAMPLE / "agent.py")], env=environment, capture_output=True, text=True,
                timeout=PATIENCE, check=False,
            )  # fmt: skip
            assert agent.returncode == 0, agent.stdout + agent.stderr
            stopped = re.fullmatch(r"stopped before step (\d+) of 200\n", agent.stdout)
            assert stopped
            assert int(stopped[1]) < STEPS
            assert "stopping ticket-4711: MEDIUM Resource Abuse" in until(process, re.compile(r"stopping .*\n"))


def test_the_receiver_remembers_a_bounded_number_of_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding that comes twice counts once; the ids that came longest ago are let go."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    module = runpy.run_path(str(EXAMPLE / "receiver.py"), run_name="receiver")
    first_time, seen, most = module["first_time"], module["seen"], module["REMEMBERED"]
    assert [first_time("msg_a"), first_time("msg_a")] == [True, False]
    assert all(first_time(f"msg_{number}") for number in range(most - 1))
    assert not first_time("msg_a"), "still among the last ones"
    assert all(first_time(f"msg_again_{number}") for number in range(most))
    assert len(seen) == most
    assert first_time("msg_a")


def test_the_receiver_takes_nothing_that_is_not_signed(tmp_path: Path) -> None:
    """Forged, unsigned, too old: refused, and nobody is stopped."""
    body = b'{"type":"finding.found","id":"m","data":{"trace":{"task_id":"t"},"finding":{}}}'
    with receiver(tmp_path) as (_, url):
        refused: tuple[dict[str, str], ...] = (
            {},
            {"webhook-id": "m", "webhook-timestamp": "9999999999", "webhook-signature": "v1,x"},
            {"webhook-id": "m", "webhook-timestamp": "soon", "webhook-signature": "v1,x v1, v2,y"},
        )
        for headers in refused:
            assert httpx.post(url, content=body, headers=headers).status_code == 401
    assert list((tmp_path / "stop").iterdir()) == []
