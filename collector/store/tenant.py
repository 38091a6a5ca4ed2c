"""The condition by which every query is restricted to one tenant."""

from __future__ import annotations

from typing import Final

TENANT: Final = "tenant = {tenant:String}"
"""The condition that a query must have once for each table it reads."""
