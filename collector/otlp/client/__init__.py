"""OTLP clients, and the replay of stored traces over them."""

from .batches import batches, shuffled
from .connect import PROTOCOLS, connect
from .export_request import encoded
from .fresh_ids import FreshIds
from .replay import ReplayResult, replay, replay_files, send_all

__all__ = [
    "PROTOCOLS",
    "FreshIds",
    "ReplayResult",
    "batches",
    "connect",
    "encoded",
    "replay",
    "replay_files",
    "send_all",
    "shuffled",
]
