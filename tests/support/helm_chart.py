"""The Helm chart and what is rendered of it: `python helm_chart.py` renews deploy/helm/rendered/."""

from __future__ import annotations

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import yaml
from deploy_tools import KUBERNETES, program

HELM: Final = Path(__file__).resolve().parents[2] / "deploy" / "helm"
CHART: Final = HELM / "tracejury"
RENDERED: Final = HELM / "rendered"
SERVER: Final[dict[str, Any]] = {"store": {"existingSecret": "tracejury-store"}}
KAFKA: Final[dict[str, Any]] = {"config": {"kafka": {"brokers": ["kafka-bootstrap.kafka.svc:9092"]}}}
CASES: Final[dict[str, dict[str, Any]]] = {
    "embedded": {},
    "balanced": {"mode": "all", "all": {"replicas": 3}, **SERVER},
    "roles": {"mode": "roles", "work": {"replicas": 3}, "ingress": {"enabled": True, "host": "jury.example"}, **SERVER},
    "kafka": {"mode": "roles", **SERVER, **KAFKA},
    "kafka-without-keda": {
        "mode": "roles", "keda": {"enabled": False}, "serviceAccount": {"create": False},
        "envFrom": ["model-keys"], "image": {"pullSecrets": ["registry"]}, "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"disk": "fast"}, "ingress": {"enabled": True, "host": "a.example", "tlsSecret": "tls"},
        **SERVER, "config": KAFKA["config"] | {"store": {"cluster": "jury"}},
    },
}  # fmt: skip
"""Values by name of the case."""
KEPT: Final = ("embedded", "kafka")
"""Cases whose rendering stands in the repository, for those without Helm."""


def helm(*arguments: str, values: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Helm. JSON is YAML, too: the values go in on stdin. Raises FileNotFoundError without Helm."""
    path = program("helm")
    if path is None:
        raise FileNotFoundError("helm")
    given = [] if values is None else ["--values", "-"]
    return subprocess.run(  # noqa: S603  Helm, on our chart
        [path, *arguments, *given], input=json.dumps(values or {}), capture_output=True, text=True, check=False
    )


def render(values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """`helm template` of the chart."""
    return helm("template", "tracejury", str(CHART), "--kube-version", KUBERNETES, values=values)


def objects(text: str) -> list[dict[str, Any]]:
    """The objects of a rendering."""
    return [one for one in yaml.safe_load_all(text) if one]


def kept_text(case: str, rendered: str) -> str:
    """A file of `RENDERED`; its first lines say what it was made of."""
    command = f"helm template tracejury deploy/helm/tracejury --values - <<< '{json.dumps(CASES[case])}'"
    return f"# {command}\n# Chart {digest()}. Renew it by `make deploy-check`.\n{rendered}"


def digest() -> str:
    """Of all files of the chart."""
    files = sorted(path for path in CHART.rglob("*") if path.is_file())
    return sha256(
        b"".join(path.relative_to(CHART).as_posix().encode() + path.read_bytes() for path in files)
    ).hexdigest()[:16]


def main() -> None:
    """Renew the renderings."""
    for case in KEPT:
        done = render(CASES[case])
        if done.returncode:
            raise SystemExit(f"{case}: {done.stderr}")
        (RENDERED / f"{case}.yaml").write_text(kept_text(case, done.stdout), "utf-8")


if __name__ == "__main__":
    main()
