"""The Helm chart: what it renders is valid, complete and confined, and values that cannot work are refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import helm_chart
import jsonschema_rs
import pytest
import yaml
from deploy_tools import LAYOUT, SCHEMAS, program
from helm_chart import CASES, CHART, KAFKA, KEPT, RENDERED, SERVER

from tracejury.collector.cli.commands.serve import serve_command
from tracejury.collector.config import load_config

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NEEDS_HELM = pytest.mark.skipif(program("helm") is None, reason="Helm is not installed (make deploy-check)")
NEEDS_KUBECONFORM = pytest.mark.skipif(
    program("kubeconform") is None or not SCHEMAS.exists(), reason="needs kubeconform and schemas (make deploy-check)"
)
UID = 10001
Object = dict[str, Any]


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    """The objects of these kinds."""
    return [one for one in objects if one["kind"] in kinds]


def kept(case: str) -> str:
    """The rendering in the repository."""
    return (RENDERED / f"{case}.yaml").read_text("utf-8")


@pytest.fixture(scope="module", params=CASES)
def rendered(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The case and what is rendered of it: by Helm, else as it stands in the repository."""
    case = str(request.param)
    if program("helm") is not None:
        done = helm_chart.render(CASES[case])
        assert done.returncode == 0, done.stderr
        return case, done.stdout
    if case not in KEPT:
        pytest.skip("Helm is not installed, and the repository holds no rendering of it")
    return case, kept(case)


def test_the_kept_renderings_are_of_this_chart() -> None:
    for case in KEPT:
        told = kept(case).splitlines()[1]
        assert helm_chart.digest() in told, "the chart changed: make deploy-check"


@NEEDS_HELM
def test_the_kept_renderings_are_what_helm_makes() -> None:
    for case in KEPT:
        assert kept(case) == helm_chart.kept_text(case, helm_chart.render(CASES[case]).stdout)


@NEEDS_HELM
def test_helm_finds_nothing_to_complain_about() -> None:
    for values in CASES.values():
        done = helm_chart.helm("lint", "--strict", str(CHART), values=values)
        assert done.returncode == 0, done.stdout


@NEEDS_KUBECONFORM
def test_every_object_fits_the_schemas(rendered: tuple[str, str]) -> None:
    assert conform(rendered[1]) == (0, "")
    assert conform((DEPLOY / "kubernetes.yaml").read_text("utf-8")) == (0, "")
    misspelt = rendered[1].replace("readOnlyRootFilesystem", "readOnlyRootFileSystem")
    assert conform(misspelt)[0] == 1


def conform(manifests: str) -> tuple[int, str]:
    """The exit code and complaints of kubeconform; fields that a schema does not name are refused."""
    path = program("kubeconform")
    assert path is not None
    command = [path, "-strict", "-schema-location", f"{SCHEMAS}/{LAYOUT}", "-"]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False)  # noqa: S603
    return done.returncode, done.stdout + done.stderr


def test_values_fit_their_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    jsonschema_rs.validate(schema, values)
    assert set(values) == set(schema["properties"]) - {"global"}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"all": {"replicas": 2}}, "one process owns an embedded store"),
        ({"mode": "roles"}, "store.existingSecret"),
        ({"mode": "worker"}, "mode"),
        ({"receive": {"replicas": 0}}, "replicas"),
        ({"recieve": {}}, "recieve"),
        ({"image": {"tag": "latest"}}, "tag"),
        ({"keys": {"existingSecret": ""}}, "existingSecret"),
        ({"config": {"store": {"dsn": "clickhouse://user:password@host"}}}, "dsn"),
        ({"config": {"insecure": True}}, "insecure"),
        ({"config": {"kafka": {"brokers": []}}}, "brokers"),
        ({"mode": "roles", **SERVER, "ingress": {"enabled": True}}, "ingress.host"),
    ],
)
@NEEDS_HELM
def test_values_that_cannot_work_are_refused(values: Object, told: str) -> None:
    done = helm_chart.render(values)
    assert done.returncode != 0
    assert told in done.stderr


def test_pods_are_confined_and_probed(rendered: tuple[str, str]) -> None:
    for workload in of_kind(helm_chart.objects(rendered[1]), "Deployment", "Job"):
        pod = workload["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"] == {
            "runAsNonRoot": True, "runAsUser": UID, "runAsGroup": UID, "fsGroup": UID,
            "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"},
        }  # fmt: skip
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["resources"]["limits"].keys() == {"memory"}
        values = [variable for variable in container["env"] if "value" in variable]
        assert values == [], "secrets come from secrets"
        if workload["kind"] == "Deployment":
            probes = {name: one["httpGet"] for name, one in container.items() if name.endswith("Probe")}
            alive, ready = ({"path": path, "port": "api"} for path in ("/healthz", "/readyz"))
            assert probes == {"startupProbe": alive, "livenessProbe": alive, "readinessProbe": ready}


def test_what_selects_pods_finds_some(rendered: tuple[str, str]) -> None:
    objects = helm_chart.objects(rendered[1])
    deployments = of_kind(objects, "Deployment")
    pods = [one["spec"]["template"] for one in deployments]
    names = {one["metadata"]["name"] for one in deployments}
    for one in deployments:
        assert one["spec"]["selector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
        others = [
            pod for pod in pods if one["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        ]
        assert len(others) == 1
    for one in of_kind(objects, "Service", "PodDisruptionBudget", "NetworkPolicy"):
        spec = one["spec"]
        wanted = spec.get("podSelector") or spec["selector"]
        selected = [
            pod for pod in pods if wanted.get("matchLabels", wanted).items() <= pod["metadata"]["labels"].items()
        ]
        assert selected, one["metadata"]["name"]
        ports = {port["name"] for pod in selected for port in pod["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in spec.get("ports", ())} <= ports
        allowed = {port["port"] for rule in spec.get("ingress", ()) for port in rule["ports"]}
        assert allowed in (set(), ports)
    for one in of_kind(objects, "HorizontalPodAutoscaler", "ScaledObject"):
        assert one["spec"]["scaleTargetRef"]["name"] in names
        scaled = [two for two in deployments if two["metadata"]["name"] == one["spec"]["scaleTargetRef"]["name"]]
        assert "replicas" not in scaled[0]["spec"], "an upgrade would set what the autoscaler decides"


def test_every_process_has_its_role_and_a_configuration_that_holds(rendered: tuple[str, str], tmp_path: Path) -> None:
    case, text = rendered
    objects = helm_chart.objects(text)
    (config_map,) = of_kind(objects, "ConfigMap")
    roles = []
    for one in of_kind(objects, "Deployment"):
        pod = one["spec"]["template"]["spec"]
        serve, *options = pod["containers"][0]["args"]
        name = Path(options[0].partition("=")[2]).name
        (tmp_path / name).write_text(config_map["data"][name])
        found = load_config(tmp_path / name)
        assert pod["terminationGracePeriodSeconds"] > found.shutdown_seconds
        assert found.api.endpoint == "0.0.0.0:8321"
        options[0] = f"--config={tmp_path / name}"
        roles.append(serve_command.make_context(serve, options).params["role"])
    assert len(roles) == len(config_map["data"])
    assert sorted(roles, key=str) == {
        "embedded": [None], "balanced": ["all"], "roles": ["receive", "web", "work", "work", "work"],
    }.get(case, ["receive", "web", "work"])  # fmt: skip


def test_a_job_migrates_the_server_or_the_cluster(rendered: tuple[str, str]) -> None:
    case, text = rendered
    pods = [one["spec"]["template"]["spec"] for one in of_kind(helm_chart.objects(text), "Job")]
    expected = ["migrate", "--store=$(TRACEJURY_STORE)"]
    if case == "kafka-without-keda":
        expected.append("--cluster=jury")
    assert [pod["containers"][0]["args"] for pod in pods] == ([] if case == "embedded" else [expected])


def test_workers_follow_the_lag_of_all_topics() -> None:
    (scaled,) = of_kind(helm_chart.objects(kept("kafka")), "ScaledObject")
    asked = [trigger["metadata"] for trigger in scaled["spec"]["triggers"]]
    assert {one["topic"] for one in asked} == {"otlp_spans", "otlp_logs"}
    assert {one["bootstrapServers"] for one in asked} == set(KAFKA["config"]["kafka"]["brokers"])
    assert {one["consumerGroup"] for one in asked} == {"tracejury"}
