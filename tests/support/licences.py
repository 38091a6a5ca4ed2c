"""Licences of what images and `make setup` install to run: `python tests/support/licences.py > docs/licences.md`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageMetadata, metadata, requires
from pathlib import Path
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PERMISSIVE: Final = frozenset(
    (
        "0BSD",
        "Apache-2.0",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Zlib",
    )
)
ACCEPTED: Final = frozenset((name, "MPL-2.0") for name in ("certifi", "orjson", "pathspec", "tqdm"))
"""Weak copyleft, by decision: the MPL asks for changes of a package's own files, and we use them unchanged."""

_TERMS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_PROJECT: Final = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

HEAD: Final = """# Licences

What runs in an installation of `requirements/runtime.txt` (the image's), by the metadata of each package: its SPDX
expression, else its classifiers, which then all apply. *BSD*: the metadata does not state the number of clauses. *For*
names what needs it: tracejury, an extra, or its build. A test refuses copyleft and unknown licences
(`tests/test_licences.py`); packages under the MPL, which covers changes of their own files alone, are accepted by name.
This page is generated (`make docs`).

Three extras are in no image. What `[presidio]` and `[clusters]` add is under permissive licences. `[consistency]` adds
PyTorch, which on Linux brings NVIDIA's CUDA libraries under a proprietary licence, unless PyTorch is installed from its
index for CPUs. For an environment that has them:
`python tests/support/licences.py embedded kafka llm mcp presidio clusters consistency`.

| package | licence | for |
|---|---|---|
"""


def licence(data: PackageMetadata) -> str:
    """As an SPDX expression, or "unknown"."""
    expression, text = ((data.get_all(field) or [""])[0] for field in ("License-Expression", "License"))
    first_line = text.partition("\n")[0]
    for stated in (expression, first_line):
        try:
            return canonicalize_license_expression(stated)
        except InvalidLicenseExpression:
            continue
    marked = [c.rpartition(" :: ")[2] for c in data.get_all("Classifier") or () if c.startswith("License :: ")]
    terms = sorted({_TERMS.get(term, term) for term in marked or [first_line]})
    return " AND ".join(terms) or "unknown"


def objection(name: str, stated: str) -> str:
    """Why a package may not be a dependency ("" where it may): each licence that its expression names counts."""
    named = {part.strip() for part in re.split(r"[()]|\b(?:AND|OR)\b", stated)} - {""}
    wrong = sorted(one for one in named if one not in PERMISSIVE and (name, one) not in ACCEPTED)
    return f"{name}: {', '.join(wrong)}" if wrong else ""


def needed(roots: Iterable[str]) -> Iterator[str]:
    """The names of distributions that these requirements need on this platform, themselves included."""
    waiting, seen = [Requirement(root) for root in roots], set()
    while waiting:
        requirement = waiting.pop()
        for extra in requirement.extras | {""}:
            key = (canonicalize_name(requirement.name), extra)
            if key in seen or not (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                continue
            seen.add(key)
            yield key[0]
            for text in requires(requirement.name) or ():
                child = Requirement(text)
                if child.marker is None or child.marker.evaluate({"extra": extra}):
                    child.marker = None
                    waiting.append(child)


def table(*extras: str) -> dict[str, tuple[str, list[str]]]:
    """Distribution: its licence and what needs it."""
    roots = {"tracejury": _PROJECT["project"]["dependencies"]}
    roots |= {f"[{extra}]": _PROJECT["project"]["optional-dependencies"][extra] for extra in extras}
    found: dict[str, list[str]] = {}
    for reason, declared in (roots | {"build": _PROJECT["build-system"]["requires"]}).items():
        for name in sorted(set(needed(declared))):
            if "tracejury" not in found.setdefault(name, []):
                found[name].append(reason)
    return {name: (licence(metadata(name)), found[name]) for name in sorted(found)}


def page(*extras: str) -> str:
    """The generated page; `extras` must be installed."""
    rows = (f"| {name} | {stated} | {', '.join(reasons)} |\n" for name, (stated, reasons) in table(*extras).items())
    return HEAD + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(page(*(sys.argv[1:] or ("embedded", "kafka", "llm", "mcp"))))
