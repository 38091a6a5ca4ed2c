"""Two processes ask LLM judges about one run at the same moment, and get different answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from hens import outcomes
from llm_bench import PATIENCE, LlmBench, agent, until
from several import processes

from tracejury.collector.judging.model.cache import CachedClient
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.schemas.findings import LIVE
from tracejury.schemas.verdicts import Outcome


def kept_last(store: SharedStore) -> tuple[str, str]:
    """The key and tenant of the only question."""
    ((key,),) = store.rows("SELECT DISTINCT Key FROM answers")
    return key, ""


def test_one_answer_stands(store_folder: Path) -> None:
    """Both are paid for; the findings of the one that was kept last hold, and no other's. Nothing is asked again."""
    with processes(store_folder, 2) as stores, ExitStack() as running:
        asked = threading.Barrier(2)

        def saying(turn: int) -> Callable[[Prompt], str]:
            def script(prompt: Prompt) -> str:
                asked.wait(PATIENCE)
                return answer(prompt, [finding(f"S{turn + 1}", f"I count {turn + 1} hens in yard {turn}.")])

            return script

        clients = [ScriptedClient(saying(turn)) for turn in range(2)]
        benches = [
            LlmBench(store, client=CachedClient(client, StoredLlmJudging(store), {}))
            for store, client in zip(stores, clients, strict=True)
        ]
        first, second = benches
        first.detecting.commit(*agent(turns=range(2)))
        first.detecting.wait(6)
        second.queue.add(*first.queue.values())
        for bench in benches:
            running.enter_context(bench.running())

        def at_rest() -> bool:
            for bench in benches:
                bench.later(5)
            return all(bench.at_rest() for bench in benches)

        until(lambda: len(first.findings()) == 2)
        until(at_rest)
        (stands,) = [one.evidence for one in first.findings() if one.state in LIVE]
        kept = first.stored.answer(*kept_last(stores[0]))
        assert kept is not None
        assert stands in kept.text
        assert {len(client.prompts) for client in clients} == {1}
        assert Outcome.PENDING not in outcomes(first).values()
