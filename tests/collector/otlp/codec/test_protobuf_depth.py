"""How deep values may be nested over protobuf: the parser's own limit, which the documentation names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from otlp_parts import nest_arrays, nest_kvlists, span, traces

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import PermanentError


@pytest.mark.parametrize(("nest", "most"), [(nest_arrays, 48), (nest_kvlists, 32)])
def test_the_deepest_value_that_protobuf_carries(nest: Callable[[AnyValue, int], None], most: int) -> None:
    """At the limit it is kept whole, above it the request cannot be parsed."""
    for depth in (most, most + 1):
        request = traces(span(attributes=[KeyValue(key="deep")]))
        nest(request.resource_spans[0].scope_spans[0].spans[0].attributes[0].value, depth)
        body = request.SerializeToString()
        if depth == most:
            (kept,) = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1).batch.spans
            text = kept.attributes["deep"]
            assert text.count("[") + text.count("{") == depth
            assert kept.cut == 0
        else:
            with pytest.raises(PermanentError, match="nested too deep"):
                decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1)
