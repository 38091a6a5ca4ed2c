"""Replay: stored traces sent over OTLP, honouring what the protocol asks of a client."""

from .batches import batches, shuffled
from .fresh_ids import FreshIds
from .run import PROTOCOLS, connect, replay, replay_files
from .sending import Replayed, Reply, Sender, send_all

__all__ = [
    "PROTOCOLS",
    "FreshIds",
    "Replayed",
    "Reply",
    "Sender",
    "batches",
    "connect",
    "replay",
    "replay_files",
    "send_all",
    "shuffled",
]
