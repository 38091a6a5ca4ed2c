"""Image, compose file, Kubernetes manifest and systemd unit keep the promises of docs/deploy.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
import yaml
from deploy_tools import SCHEMAS
from processes import COMMAND, PATIENCE, tracejury, until

from tracejury.collector.config import load_config

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UID = 10001
EXPOSURE = 2.0  # systemd's scale from 0 (safe) to 10
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
FINAL_STAGE = DOCKERFILE.rpartition("FROM ")[2]


def manifest(kind: str) -> dict[str, Any]:
    """The one object of this kind."""
    (found,) = [one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()) if one["kind"] == kind]
    return dict(found)


def test_the_image_runs_as_a_fixed_user_without_secrets() -> None:
    assert re.search(r"^ARG BASE=python:\d+\.\d+\.\d+-slim-\w+$", DOCKERFILE, re.MULTILINE)
    assert f"\nUSER {UID}:{UID}\n" in FINAL_STAGE
    assert "\nSTOPSIGNAL SIGTERM\n" in FINAL_STAGE
    assert "HEALTHCHECK" in FINAL_STAGE
    installs = re.findall(r"pip install (.*)", DOCKERFILE)
    assert installs == ["--no-deps --require-hashes -r requirements/runtime.txt", "--no-deps --no-build-isolation ."]
    assert "pip install" not in FINAL_STAGE
    assert not re.search(r"TRACEJURY_KEYS|_API_KEY|curl|ADD |sudo|:latest", DOCKERFILE)


def test_the_build_context_is_a_list_of_what_is_needed() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    for line in lines:
        if line.startswith("!"):
            assert (ROOT / line[1:]).exists(), line


def test_docker_accepts_the_dockerfile() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("no docker daemon runs here")
    subprocess.run([docker, "build", "-q", "-f", "deploy/Dockerfile", "."], cwd=ROOT, check=True)  # noqa: S603


def test_configurations_of_containers_are_one_and_valid(tmp_path: Path) -> None:
    mapped = tmp_path / "tracejury.yaml"
    mapped.write_text(manifest("ConfigMap")["data"]["tracejury.yaml"])
    assert load_config(mapped) == load_config(DEPLOY / "container.yaml")


@pytest.mark.parametrize("name", ["compose", "kafka"])
def test_compose_publishes_on_loopback_and_mounts_files_that_exist(name: str) -> None:
    folder = DEPLOY / "compose"
    services = yaml.safe_load((folder / f"{name}.yaml").read_text())["services"]
    for one, service in services.items():
        assert service["cap_drop"] == ["ALL"], one
        assert "no-new-privileges:true" in service["security_opt"], one
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), one
        for source in [volume.split(":")[0] for volume in service.get("volumes", [])]:
            assert not source.startswith(".") or (folder / source).is_file(), source
        if service["image"] == "tracejury":
            assert service["read_only"] is True
            assert "environment" not in service, "keys come from a file that is not in the repository"


@pytest.mark.parametrize("name", ["compose", "kafka"])
def test_compose_files_fit_the_specification(name: str) -> None:
    schema = SCHEMAS / "compose-spec.json"
    if not schema.exists():
        pytest.skip("the schema of compose files is not here (make deploy-check)")
    jsonschema_rs.validate(
        json.loads(schema.read_text()), yaml.safe_load((DEPLOY / f"compose/{name}.yaml").read_text())
    )


def test_processes_of_the_compose_file_with_kafka_have_their_roles() -> None:
    services = yaml.safe_load((DEPLOY / "compose" / "kafka.yaml").read_text())["services"]
    roles = {name: one["command"] for name, one in services.items() if one["image"] == "tracejury"}
    assert roles.pop("migrate")[0] == "migrate"
    assert {name: command[2] for name, command in roles.items()} == {
        name: f"--role={name}" for name in ("receive", "work", "web")
    }
    waited = [service["depends_on"] for name, service in services.items() if name in roles]
    assert all(one["migrate"]["condition"] == "service_completed_successfully" for one in waited)
    (scraped,) = yaml.safe_load((DEPLOY / "compose/kafka/prometheus.yaml").read_text())["scrape_configs"]
    assert scraped["dns_sd_configs"][0]["names"] == list(roles)
    config = DEPLOY / "compose/kafka/tracejury.yaml"
    given = yaml.safe_load(config.read_text())
    assert given["kafka"]["brokers"] == ["kafka:9092"]
    assert given["kafka"]["max_message_bytes"] == int(
        re.findall(r"max\.message\.bytes=(\d+)", str(services["topics"]))[0]
    )
    assert load_config(config).shutdown_seconds < 45


def test_the_pod_is_confined_and_probed() -> None:
    spec = manifest("Deployment")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == UID
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    paths = {
        probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {port["targetPort"]: port["port"] for port in manifest("Service")["spec"]["ports"]} == ports
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    seconds = load_config(DEPLOY / "container.yaml").shutdown_seconds
    assert pod["terminationGracePeriodSeconds"] > seconds


def test_the_unit_is_confined() -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    done = subprocess.run(  # noqa: S603
        [analyze, "security", "--offline=yes", str(DEPLOY / "tracejury.service")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout
    assert float(found[1]) <= EXPOSURE


@pytest.fixture
def volume() -> Iterator[Path]:
    """A folder that only the image's user may write; not below pytest's, which only its owner may enter."""
    with tempfile.TemporaryDirectory() as made:
        outer = Path(made)
        outer.chmod(0o755)
        inner = outer / "volume"
        inner.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(inner, UID, UID)
        (outer / "readonly").mkdir(mode=0o555)
        yield inner


def as_image_user() -> list[str]:
    """Another user, who may read what root installed (an interpreter below /root) but write nothing of it."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv (util-linux) is not installed")
    reads = "-all,+dac_read_search"
    ids = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs"]
    return [setpriv, *ids, f"--inh-caps={reads}", f"--ambient-caps={reads}", f"--bounding-set={reads}"]


def test_it_serves_and_stops_with_nothing_but_its_volume(volume: Path, tmp_path: Path) -> None:
    made = tracejury(
        "keys", "create", "--name", "ann", "--scope", "read", "--file", str(tmp_path / "k.json"), folder=tmp_path
    )
    key = made.stdout.split()[-1]
    environment = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH")}
    environment |= {"TRACEJURY_KEYS": json.dumps(json.loads((tmp_path / "k.json").read_text()))}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    config = volume.parent / "readonly" / "tracejury.yaml"
    text = (DEPLOY / "container.yaml").read_text().replace("/var/lib/tracejury", str(volume))
    config.write_text(re.sub(r"0\.0\.0\.0:\d+", "0.0.0.0:0", text))
    config.chmod(0o444)
    with subprocess.Popen(  # noqa: S603
        [*as_image_user(), *COMMAND, "serve", "--config", str(config)],
        cwd=config.parent,
        env=environment,
        umask=0o077,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            port = re.findall(r"API .*:(\d+)", until(process, re.compile(r"^  judges .*\n", re.MULTILINE)))[0]
            url = f"http://127.0.0.1:{port}"
            assert httpx.get(f"{url}/healthz").status_code == 200
            assert httpx.get(f"{url}/readyz").status_code == 200
            assert httpx.get(f"{url}/metrics").status_code == 401
            assert httpx.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"}).status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert [path.name for path in config.parent.iterdir()] == [config.name]
    assert (volume / "db").is_dir()
    readable = [path for path in volume.rglob("*") if path.stat().st_mode & 0o077]
    assert readable == []
