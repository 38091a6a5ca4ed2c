"""Tools that check deploy/, made by Go from its module proxy into a cache: `python deploy_tools.py [NAME …]`.

Names are `helm` (Helm, kubeconform and the schemas of Kubernetes, KEDA and compose files) and `collector` (the
OpenTelemetry Collector of tests/bench/gocollector); without names both. Tests are skipped where a tool is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracejury-tests" / "deploy"
PROGRAMS: Final = ("helm.sh/helm/v3/cmd/helm@v3.19.0", "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0")
KUBERNETES: Final = "1.34.0"
KEDA: Final = "github.com/kedacore/keda/v2@v2.21.0"
COMPOSE: Final = "github.com/compose-spec/compose-go/v2@v2.16.2"
GROUPS: Final = ("api__v1", "apps__v1", "autoscaling__v2", "batch__v1", "networking.k8s.io__v1", "policy__v1")
SCHEMAS: Final = CACHE / f"schemas-{KUBERNETES}"
LAYOUT: Final = "{{.ResourceKind}}{{.KindSuffix}}.json"
"""Names of schemas, as kubeconform takes them: `deployment-apps-v1.json`."""


def program(name: str) -> str | None:
    """The path of a program: the cache's, else that of the system."""
    return shutil.which(name, path=str(CACHE / "bin")) or shutil.which(name)


def make_programs_and_schemas() -> None:
    """Build what is missing. Raises FileNotFoundError without Go, CalledProcessError where something is not served."""
    environment = os.environ | {"GOBIN": str(CACHE / "bin")}
    for module in PROGRAMS:
        if program(module.rpartition("/")[2].partition("@")[0]) is None:
            subprocess.run(["go", "install", module], env=environment, check=True)  # noqa: S603, S607  pinned above
    if not SCHEMAS.exists():
        made = SCHEMAS.with_suffix(f".{os.getpid()}")
        made.mkdir(parents=True)
        for name, schema in _schemas():
            (made / name).write_text(json.dumps(schema), "utf-8")
        made.rename(SCHEMAS)


def _module(name: str) -> Path:
    """The folder of a Go module."""
    command = ["go", "mod", "download", "-json", name]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)  # noqa: S603  pinned above
    return Path(json.loads(done.stdout)["Dir"])


def _schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """File names and schemas: each kind of the groups above, KEDA's ScaledObject, compose files."""
    folder = _module(f"k8s.io/kubernetes@v{KUBERNETES}") / "api/openapi-spec/v3"
    for group in GROUPS:
        components = json.loads(
            (folder / f"apis__{group}_openapi.json".replace("apis__api__", "api__")).read_text("utf-8")
        )["components"]
        parts = strict(components)
        for name, schema in components["schemas"].items():
            for kind in schema.get("x-kubernetes-group-version-kind", ())[:1]:
                where = "-".join(filter(None, (kind["group"].partition(".")[0], kind["version"])))
                yield (
                    f"{kind['kind'].lower()}-{where}.json",
                    {"$ref": f"#/components/schemas/{name}", "components": parts},
                )
    resource = yaml.safe_load((_module(KEDA) / "config/crd/bases/keda.sh_scaledobjects.yaml").read_text("utf-8"))
    (version,) = resource["spec"]["versions"]
    yield f"scaledobject-keda-{version['name']}.json", strict(version["schema"]["openAPIV3Schema"])
    yield "compose-spec.json", json.loads((_module(COMPOSE) / "schema/compose-spec.json").read_text("utf-8"))


def strict(schema: Any) -> Any:
    """The schema, refusing fields that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def main() -> None:
    """Build what the arguments name."""
    wanted = sys.argv[1:] or ["helm", "collector"]
    if "helm" in wanted:
        make_programs_and_schemas()
    if "collector" in wanted:
        from peer_collectors import build

        build()


if __name__ == "__main__":
    main()
