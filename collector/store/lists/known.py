"""Names in the stored data: whether a name that somebody filters by is one, and which others are spelt alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.verdicts import SubjectKind

from .names import is_whole
from .stated import values_at

_COMPARED: Final = 100
"""Characters of a name by which spellings are compared: the time grows with their square."""

_TEXT: Final = "{} = {{name:String}}"
_LIST: Final = "has({}, {{name:String}})"
_PLACES: Final = {
    "service": [("traces", "ServiceName", _TEXT)],
    "version": [("traces", "Version", _TEXT)],
    "session": [("traces", "SessionId", _TEXT)],
    "agent": [("traces", "Runs.Name", _LIST)],
    "model": [("traces", "Runs.Model", _LIST)],
    "tool": [("traces", "Calls.Tool", _LIST)],
    "prompt": [("traces", "arrayConcat(Prompts, arrayMap(p -> splitByChar('@', p)[1], Prompts))", _LIST)],
    # No index has it: all spans are read.
    "task": [("spans", f"arrayFlatten(arrayMap(k -> {values_at('k')}, {{task_keys:Array(String)}}))", _LIST)],
    "category": [("findings", "Category", _TEXT), ("findings", "concat(Taxonomy, '/', Category)", _TEXT)],
    "taxonomy": [("findings", "Taxonomy", _TEXT)],
    "score": [("verdicts", f"if(SubjectKind = '{SubjectKind.AGENT_RUN}', Judge, '')", _TEXT)],
    "judge": [("findings", "Judge", _TEXT), ("judgements", "Judge", _TEXT)],
}
"""Tables and columns of each kind of name."""
KINDS: Final = frozenset(_PLACES)


class StoredNames:
    """Names of one tenant, by `KINDS`. `task_keys`: attributes that name a task.

    Methods raise RetryableError, StoreError.
    """

    def __init__(self, scope: Scope, task_keys: Sequence[str]) -> None:
        self._scope, self._task_keys = scope, list(task_keys)

    def holds(self, kind: str, name: str) -> bool:
        """Whether something stored has that name."""
        return any(
            self._scope.select(
                f"SELECT 1 FROM {table} WHERE {TENANT} AND {condition.format(column)} LIMIT 1",
                name=name,
                task_keys=self._task_keys,
            )
            for table, column, condition in _PLACES[kind]
        )

    def near(self, kind: str, name: str, most: int) -> list[str]:
        """Up to `most` stored names, those that are spelt most alike first; none of those that lists cut."""
        table, column, condition = _PLACES[kind][0]
        each = f"arrayJoin({column})" if condition is _LIST else f"toString({column})"
        distance = f"editDistanceUTF8(lowerUTF8(substringUTF8(Name, 1, {_COMPARED})), lowerUTF8({{name:String}}))"
        rows = self._scope.select(
            f"SELECT Name FROM (SELECT DISTINCT {each} AS Name FROM {table} WHERE {TENANT}) "
            f"WHERE Name != '' AND {is_whole('Name')} ORDER BY {distance}, Name LIMIT {{most:UInt64}}",
            name=name[:_COMPARED],
            most=most,
            task_keys=self._task_keys,
        )
        return [row[0] for row in rows]
