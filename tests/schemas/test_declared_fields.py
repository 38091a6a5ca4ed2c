"""A field of a finding or an error is declared four times: as a dataclass, a wire model, a column, and in a table."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import tracejury
from tracejury.collector.store.client import Store
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import ERROR_COLUMNS, FINDING_COLUMNS
from tracejury.schemas.wire.errors import ErrorJson, FindingJson

ROOT = Path(tracejury.__file__).parents[1]
SOURCES = [
    path for folder in ("collector", "judges", "processors", "schemas") for path in (ROOT / folder).rglob("*.py")
]
TOLD_OTHERWISE = {
    "state", "findings", "tenant",
    "medium", "high",  # the `severity` for the profile asked for
    "decided",  # `decided_why` and `instead`
    "template",  # by the `pattern` of its error
}  # fmt: skip
COLUMNS = {"medium": "mediumconfidence", "high": "highconfidence", "findings": "findingids"}
"""Of fields whose columns have other names."""


@pytest.mark.parametrize(
    ("kind", "model", "columns", "table"),
    [(Finding, FindingJson, FINDING_COLUMNS, "findings"), (ErrorSummary, ErrorJson, ERROR_COLUMNS, "errors")],
)
def test_the_declarations_agree(
    store: Store,
    kind: type[Finding | ErrorSummary],
    model: type[FindingJson | ErrorJson],
    columns: tuple[str, ...],
    table: str,
) -> None:
    """No field is forgotten in one of them."""
    names = {field.name for field in fields(kind)}
    assert names - TOLD_OTHERWISE <= set(model.model_fields)
    stored = store.rows(
        "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {of:String}", {"of": table}
    )
    assert {name for (name,) in stored} == set(columns)
    assert {COLUMNS.get(name, name.replace("_", "")) for name in names} <= {name.lower() for name in columns}


NAMES = ("shown_at", "read_at", "repeated_at", "tool_span_id", "seen_by_span_id", "also_at")


def declared(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Names of fields: of classes, of columns, and those that an attribute of the same name is copied to."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=None | ast.Constant() | ast.Tuple()):
                yield name, node
            case ast.Call(func=ast.Name(id=made), args=[_, ast.Constant(value=str(name)), *_]) if made.endswith(
                "olumn"
            ):
                yield name, node
            case ast.Call(func=ast.Name(id="plain_columns"), args=columns):
                yield from ((str(column.value), column) for column in columns if isinstance(column, ast.Constant))
            case ast.keyword(arg=str(name), value=value) if _is_copied(value, name):
                yield name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and _is_copied(value, key.value):
                        yield str(key.value), key


def _is_copied(value: ast.AST, name: object) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(value))


def test_a_field_is_declared_four_times() -> None:
    """Three times in these files, and in a migration; judges that make claims of their own make findings of them."""
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    for path in SOURCES:
        own = path.relative_to(ROOT)
        text = path.read_text()
        if own.parts[:2] in {("judges", "llm"), ("judges", "detectors")} or not any(name in text for name in NAMES):
            continue
        for name, node in declared(ast.parse(text)):
            if name in found:
                found[name].append(f"{own}:{getattr(node, 'lineno', 0)}")
    assert {name: len(places) for name, places in found.items()} == dict.fromkeys(NAMES, 3), found
