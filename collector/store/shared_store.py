"""The store with what the threads of one process tell each other about its traces.

One process alone commits, judges and deletes; for what only reads, `Store` is enough. What is here is lost with the
process: all that matters after it stands in tables.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from .client import Store
from .config import StoreConfig
from .deletions import Deletions
from .derivation_lock import DerivationLock
from .dsn import Target
from .given_opinions import GivenOpinions
from .judged_elsewhere import JudgedElsewhere
from .pending_traces import PendingTraces
from .tombstones import Tombstones

if TYPE_CHECKING:
    from filelock import FileLock


STAMPED: Final = frozenset({"spans", "logs", "judgements"})
"""Tables whose rows say on a server which process stored them: see `changes.py`."""


class SharedStore(Store):
    """What `open_store` gives to a collector, and what each class that stores or deletes something of a trace takes.

    Each service has an owner, which alone writes to it:

    `deletions`: traces that are being deleted, and what is being written. Owner: `Deletion`, and for the latter whoever
    is within `writing`. Read by whatever stores or shows something of a trace, and by backups. Of no table. With
    several processes: a row a trace before its deletion begins, and one process that writes all of one trace and
    deletes it when others ask.

    `derivation`: the lock of deriving, and what was derived last. Owner: `derive`; `Deletion` forgets. Held by
    `StoredJudging`, `StoredLlmJudging` and `rederive`. A cache of `errors` and `run_facts`. With several processes: as
    it is where one process derives all of one trace; else a lock in the store, and no cache.

    `opinions`: what LLM judges have said of detectors' findings. Owner: `write_opinions`. Read by `StoredJudging`. A
    cache of `findings`. With several processes: as it is where detectors and LLM judges of one trace share one; else
    read from `findings` before each judging.

    `pending`: traces that lists may lack. `Committer` adds and `StoredJudging` removes them. Read by `list_pending`. A
    cache of the traces in `spans` that have no judged row in `traces`. With several processes: each lists those that it
    has committed, or takes up from one that judges nothing (`StoreFollower`), and asks in the same statement who was
    judged; a judged row replaces any other.

    `tombstones`: traces that stay deleted. `Deletion` adds and `RetentionSweep` removes them. Read by `Committer`. A
    cache of `deletions`. With several processes: each that commits reads that table again every few seconds, and what
    was committed meanwhile is deleted by who deleted the trace.

    On a server what others store is read from it (`changes.py`); `role` is that of this process there.
    """

    def __init__(self, target: Target, config: StoreConfig, lock: FileLock | None = None) -> None:
        """Use `SharedStore.open`."""
        super().__init__(target, config, lock)
        self.deletions = Deletions()
        self.derivation = DerivationLock()
        self.judged_elsewhere = JudgedElsewhere(self)
        self.opinions = GivenOpinions(self.deletions)
        self.pending = PendingTraces()
        self.tombstones = Tombstones()
        self.role, self._number = "all", secrets.token_hex(8)

    @property
    def stored_by(self) -> str:
        """This process among those on a server; begins with its role."""
        return f"{self.role}-{self._number}"

    def insert(
        self,
        table: str,
        names: Sequence[str],
        columns: Sequence[Sequence[Any]],
        *,
        merged: bool = True,
        copy: Callable[[bytes], None] | None = None,
    ) -> None:
        """See `Store`."""
        if table in STAMPED and not self.embedded:
            names, columns = (*names, "StoredBy"), (*columns, [self.stored_by] * len(columns[0]))
        super().insert(table, names, columns, merged=merged, copy=copy)
