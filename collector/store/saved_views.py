"""Saved views of a project. All of it blocks."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.saved_views import MOST_VIEWS, PAGES, SavedView

from .inserting import store_rows
from .scope import TENANT, TenantRows

_COLUMNS: Final = ("tenant", "Name", "Page", "Names", "Values", "SavedAt")
_VIEWS: Final = f"SELECT Name, Page, Names, Values, SavedAt FROM saved_views FINAL WHERE {TENANT}"
_ONE: Final = "Name = {name:String}"


class SavedViews(TenantRows):
    """Those of one tenant. Methods raise RetryableError, StoreError."""

    def all(self) -> list[SavedView]:
        """By name."""
        return self._found(f"{_VIEWS} ORDER BY Name LIMIT {2 * MOST_VIEWS}")

    def get(self, name: str) -> SavedView | None:
        """The view of a name, None where there is none."""
        return next(iter(self._found(f"{_VIEWS} AND {_ONE}", name=name)), None)

    def save(self, view: SavedView) -> None:
        """Save a view, in place of one of its name.

        Raises:
            ConfigError: there are as many as a project may have. Processes that save at once may go a few beyond.
        """
        if self.get(view.name) is None:
            count = self._scope.select(f"SELECT count() FROM saved_views FINAL WHERE {TENANT}")[0][0]
            if count >= MOST_VIEWS:
                raise ConfigError(f"this project has {count:,} saved views, as many as it may: delete one first")
        names, values = ([pair[at] for pair in view.parameters] for at in (0, 1))
        row = (self._scope.tenant, view.name, view.page, names, values, view.saved_at)
        store_rows(self._store, "saved views", "saved_views", _COLUMNS, [row])

    def delete(self, name: str) -> None:
        """Delete the view of a name, if there is one."""
        values = {"tenant": self._scope.tenant, "name": name}
        self._store.command(f"DELETE FROM saved_views WHERE {TENANT} AND {_ONE}", values, mutated="saved_views")

    def _found(self, sql: str, **values: str) -> list[SavedView]:
        # A page that this version does not have is left out: a link to it would lead nowhere, or elsewhere.
        return [
            SavedView(name, page, list(zip(names, values_, strict=True)), saved_at)
            for name, page, names, values_, saved_at in self._scope.select(sql, **values)
            if page in PAGES
        ]
