"""The store with what the threads of one process tell each other about its traces.

What is here is lost with the process: all that matters after it stands in tables. With an embedded store one process
alone commits, judges and deletes. With a server others do so too, and each service below says what it does about them.
For what only reads, `Store` is enough.
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

    Each service has an owner in this process, which alone writes to it:

    `deletions`: traces that this process deletes, and what it is writing. Owner: `Deletion`, and for the latter whoever
    is within `writing`. Read by whatever stores or shows something of a trace, and by backups. Of no table. On a
    server, whoever has written of a trace then looks for its deletion in `deletions`: see `deleted_elsewhere`.

    `derivation`: the lock of deriving, and what was derived last. Owner: `derive`; `Deletion` forgets. Held by
    `StoredJudging`, `StoredLlmJudging` and `rederive`. A cache of `errors` and `run_facts`. On a server nothing is
    cached, and traces are derived until a reading finds nothing to change: see `derive_until_stable`.

    `judged_elsewhere`: the detectors' judgements that this process has read or stored. Owner: `StoredJudging`. A cache
    of `judgements`; on a server alone, where it tells which traces another process has judged meanwhile.

    `opinions`: what LLM judges have said of detectors' findings. Owner: `write_opinions`. Read by `StoredJudging`. A
    cache of `findings`. On a server `StoredJudging` reads them from there around each writing of findings.

    `pending`: traces that lists may lack. `Committer` adds and `StoredJudging` removes them. Read by `list_pending`. A
    cache of the traces in `spans` that have no judged row in `traces`. On a server each lists those that it has
    committed, or takes up from one that judges nothing (`StoreFollower`), and asks in the same statement who was
    judged; a judged row replaces any other.

    `tombstones`: traces that stay deleted. `Deletion` adds and `RetentionSweep` removes them. Read by `Committer`. A
    cache of `deletions`. On a server `Committer` asks that table about each group once it is stored, and deletes from
    it what another process has deleted.

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
