"""The store with what the threads of one process tell each other about its traces.

One process alone commits, judges and deletes; others only read, for which `Store` is enough. What is here is lost with
the process: all that matters after it stands in tables. Each field says who owns it (writes to it), who reads it, what
it is a cache of, and what it becomes where several processes commit, judge or delete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .client import Store
from .config import StoreConfig
from .deletions import Deletions
from .derivation_lock import DerivationLock
from .dsn import Target
from .given_opinions import GivenOpinions
from .pending_traces import PendingTraces
from .tombstones import Tombstones

if TYPE_CHECKING:
    from filelock import FileLock


class SharedStore(Store):
    """What `open_store` gives to a collector, and what each class that stores or deletes something of a trace takes."""

    def __init__(self, target: Target, config: StoreConfig, lock: FileLock | None = None) -> None:
        """Use `SharedStore.open`."""
        super().__init__(target, config, lock)
        self.deletions = Deletions()
        """Owner: `Deletion`. Readers: whatever stores or shows something of a trace, and backups.

        Cache of nothing: what is being deleted and written at this moment. With several processes: a row a held trace,
        written before its deletion, and one process that writes and deletes all of one trace; others ask it to delete.
        """
        self.derivation = DerivationLock()
        """Owner: `derived.deriving`. Readers: the stores of detectors and of LLM judges, and `derived.rederiving`.

        A lock, and a cache of `errors` and `run_facts`. With several processes: as it is, in the process that judges a
        trace, if detectors and LLM judges of one trace are one process; else versions of rows need a common clock.
        """
        self.opinions = GivenOpinions(self.deletions)
        """Owner: `detector_opinions`. Reader: `StoredJudging`.

        A cache of the verifications in `findings`. With several processes: as `derivation`; else the judging thread
        reads them before each judging.
        """
        self.pending = PendingTraces()
        """Owner: `Committer` adds, `StoredJudging` removes. Reader: `lists.pending`.

        A cache of the traces in `spans` without a judged row in `traces`. With several processes: each lists what it
        has committed; what another judges meanwhile keeps its row, since that of a judging replaces any other.
        """
        self.tombstones = Tombstones()
        """Owner: `Deletion` adds, the retention sweep removes. Reader: `Committer`.

        A cache of the table `deletions`. With several processes: read again by each that commits, every few seconds;
        what came between is deleted again.
        """
