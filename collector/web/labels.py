"""The labels page: the queue, the sample's progress, and the quality of judges against labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request, Response

from tracejury.collector.rates.calibration import ENOUGH
from tracejury.schemas.queries.labels import JudgeQuality, Purpose, QueueItem, QueueQuery, Stratum

from .site import Site, choice, page, simulated
from .trace.pages import annotator

LINES: Final = 25
"""Queue items on the page."""


@dataclass(frozen=True, slots=True)
class SampleProgress:
    """Progress of the calibration sample, in runs. `missing`: strata without a review, largest first."""

    runs: int
    reviewed: int
    waiting: int
    missing: Sequence[Stratum]


def add_labels_page(app: FastAPI, site: Site) -> None:
    """`/labels`."""

    @page(app, "/labels", "purpose", "simulated")
    def labels(request: Request) -> Response:
        window, kept = site.window(request), site.reader.labels
        purpose = choice(Purpose, "purpose", request.query_params.get("purpose") or Purpose.CALIBRATION)
        who = annotator(request)
        of_simulated = simulated(request)
        query = QueueQuery(purpose, window.since, window.until, LINES, window.service, who, simulated=of_simulated)
        strata = kept.strata(window.since, window.until, window.service)
        return site.render(
            request,
            "labels.html",
            purpose=purpose,
            simulated=of_simulated,
            who=who,
            rows=kept.queue(query),
            queue_link=queue_link,
            progress=progress(strata),
            enough=ENOUGH,
            spoken=spoken,
            agreement=site.reader.preferences(window.since, window.until + 1, window.service),
            quality=by_labels(kept.quality(window.since, window.until, window.service, strata=strata)),
        )


def spoken(stratum: str) -> str:
    """The name of a stratum (`found/2/shop`: what was found, the lowest score, the service) in words."""
    found, _, rest = stratum.partition("/")
    lowest, _, service = rest.partition("/")
    words = {"found": "with errors", "clean": "without errors"}.get(found, found)
    scored = f", lowest score {lowest}" if lowest not in ("", "-") else ""
    return f"{words}{scored} of {service or 'no service'}"


def queue_link(item: QueueItem) -> str:
    """The URL of a queued run; its parameters tell the review form how the run was drawn."""
    given = {
        "at": f"run:{item.agent_run_id}",
        "stratum": item.stratum,
        "probability": f"{item.probability:.6g}" if item.probability else "",
        "drawn": item.agent_run_id if item.stratum else "",
    }
    query = urlencode({name: value for name, value in given.items() if value})
    return f"/traces/{quote(item.trace_id, safe='')}?{query}"


def progress(strata: Sequence[Stratum]) -> SampleProgress:
    """The progress of the calibration sample."""
    missing = sorted((one for one in strata if one.size and not one.reviewed), key=lambda one: -one.size)
    return SampleProgress(
        sum(one.size for one in strata),
        sum(one.reviewed for one in strata),
        sum(one.waiting for one in strata),
        missing,
    )


def by_labels(quality: Sequence[JudgeQuality]) -> Sequence[JudgeQuality]:
    """Judges and detectors with labels, those with most labels first."""
    told = [one for one in quality if one.findings or one.errors]
    return sorted(told, key=lambda one: (-one.findings, -one.errors, one.judge))
