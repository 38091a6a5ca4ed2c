"""Names in the stored data: whether a name that somebody filters by is one, and which others are spelt alike."""

from __future__ import annotations

from typing import Final

from tracejury.collector.store.scope import TENANT, TenantRows
from tracejury.schemas.verdicts import SubjectKind

from .names import is_whole

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
    "category": [("findings", "Category", _TEXT), ("findings", "concat(Taxonomy, '/', Category)", _TEXT)],
    "taxonomy": [("findings", "Taxonomy", _TEXT)],
    "score": [("verdicts", f"if(SubjectKind = '{SubjectKind.AGENT_RUN}', Judge, '')", _TEXT)],
    "judge": [("findings", "Judge", _TEXT), ("judgements", "Judge", _TEXT)],
}
"""Tables and columns of each kind of name."""
KINDS: Final = frozenset(_PLACES)


class StoredNames(TenantRows):
    """Names of one tenant, by `KINDS`. Methods raise RetryableError, StoreError."""

    def holds(self, kind: str, name: str) -> bool:
        """Whether something stored has that name."""
        return any(
            self._scope.select(
                f"SELECT 1 FROM {table} WHERE {TENANT} AND {condition.format(column)} LIMIT 1", name=name
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
        )
        return [row[0] for row in rows]
