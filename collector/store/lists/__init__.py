"""Lists of traces and sessions: filters that compose, full-text search, orders with stable cursors."""

from .sessions import SessionLists
from .traces import TraceLists

__all__ = ["SessionLists", "TraceLists"]
