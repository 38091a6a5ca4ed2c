"""What people say of an error is the same wherever the error is shown."""

from __future__ import annotations

from listed_traces import Listed, Mark, store_all
from store_parts import a_span
from stored_readers import stored_reader

from tracejury.collector.labels.labelling import Labelling
from tracejury.collector.queries.trace.parts import part_of, present_part
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.annotations import AnnotationDraft, ErrorLabel, Opinion
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

ALL = Confidence(0.0, 0.0)


def test_lists_traces_parts_and_sessions_agree(store: SharedStore) -> None:
    """One of two traces of a session is labelled, by people who contradict each other."""
    first, second = (Listed(n, session="talk", received=n, marks=(Mark(judge="mine", category="Own"),)) for n in (1, 2))
    store_all(store, [first, second])
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(trace_id=first.trace_id)], 1))
    reader = stored_reader(store, AssemblerConfig())
    (error,) = reader.errors(ErrorQuery(ALL, 9, trace_id=first.trace_id))
    assert error.label is None
    labelling = Labelling(reader, 10**9)
    for who, opinion in (("ann", Opinion.AGREE), ("bob", Opinion.DISAGREE)):
        labelling.take_opinion(AnnotationDraft(annotator=who, opinion=opinion, finding_id=error.error.id))
    labelling.save()
    of_trace = {e.error.trace_id: e.label for e in reader.errors(ErrorQuery(ALL, 9))}
    assert of_trace == {first.trace_id: ErrorLabel.CONTESTED, second.trace_id: None}
    session, trace = reader.session("talk", ALL), reader.trace(first.trace_id, ALL)
    assert session is not None
    assert {e.error.trace_id: e.label for x in session.exchanges for e in x.errors} == of_trace
    assert trace is not None
    assert [e.label for e in trace.errors] == [ErrorLabel.CONTESTED]
    trace_index = reader.trace_queries.trace_index(first.trace_id)
    assert trace_index is not None
    found = reader.trace_queries.assessment(trace_index.outline, ALL)
    said = reader.labels.annotations_of([first.trace_id])
    part = present_part(part_of(trace_index.outline, "", None), (), found, 1, reader.calibrations, said)
    assert [e.human_label for e in part.errors] == ["contested"]
