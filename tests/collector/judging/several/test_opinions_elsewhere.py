"""An LLM judge in another process gives an opinion on a finding while its detectors are writing it anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from several import before_statement, empty, processes
from sizes import sized
from store_parts import TRACE_ID, a_finding, a_judged_trace

from tracejury.collector.store.detector_opinions import write_opinions
from tracejury.collector.store.given_opinions import GivenOpinions
from tracejury.collector.store.judging import StoredJudging
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Verification


def test_an_opinion_stays_whenever_it_is_given(store_folder: Path) -> None:
    """With clocks five minutes apart, and the finding as it was held in memory without it."""
    found = a_finding()
    opinion = DetectorOpinion.on(found, Verification.REFUTED, "m", "S1 is right.")
    with processes(store_folder, 2) as (ours, other):
        number, statements = 0, 1
        while number < statements:
            ours.opinions = GivenOpinions(ours.deletions)  # as of a new process
            judging = StoredJudging(ours)
            judging.save([a_judged_trace(found, judged_at=1_000)])
            again = a_judged_trace(replace(found, explanation="told anew"), judged_at=2_000)
            with before_statement(ours, number, lambda: write_opinions(other, [opinion], 10)) as counted:
                judging.save([again])
            statements = counted[0]
            if number >= statements:  # the statements are fewer where nothing comes between them
                break
            (now,) = judging.load_findings([TRACE_ID])[TRACE_ID]
            assert (now.explanation, now.verification) == ("told anew", Verification.REFUTED), number
            empty(ours)
            number += sized(3, 1)
