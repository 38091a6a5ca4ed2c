"""Human labels as models of the API."""

from __future__ import annotations

from tracejury.schemas.annotations import Annotation, HumanScore, Review
from tracejury.schemas.queries.labels import QueueItem
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.labels import AnnotationJson, HumanScoreJson, QueueItemJson, ReviewJson


def present_annotation(annotation: Annotation) -> AnnotationJson:
    """A person's opinion of a finding, or an error that no finding names."""
    return fill(AnnotationJson, annotation, kind="annotation")


def present_score(score: HumanScore) -> HumanScoreJson:
    """A person's score of a run."""
    return fill(HumanScoreJson, score, kind="score")


def present_review(review: Review) -> ReviewJson:
    """A person's review of a run."""
    return fill(ReviewJson, review, kind="review", probability=review.probability or None)


def present_label(label: Annotation | HumanScore | Review) -> AnnotationJson | HumanScoreJson | ReviewJson:
    """Any of them."""
    match label:
        case Annotation():
            return present_annotation(label)
        case HumanScore():
            return present_score(label)
        case Review():
            return present_review(label)


def present_item(item: QueueItem) -> QueueItemJson:
    """A run to look at."""
    return fill(QueueItemJson, item, probability=item.probability or None)
