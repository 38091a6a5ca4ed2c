"""Parts of an agent's process: an exporter that keeps, a provider with the processor, an empty context."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kept_spans import KeptSpans
from opentelemetry import context
from opentelemetry.sdk.trace import TracerProvider

from tracejury.sdk import LiveProcessor


@pytest.fixture(autouse=True)
def empty_context() -> Iterator[None]:
    """What one test left in the context is not the next one's."""
    token = context.attach(context.Context())
    yield
    context.detach(token)


@pytest.fixture
def kept() -> KeptSpans:
    """What was exported."""
    return KeptSpans()


@pytest.fixture
def started(kept: KeptSpans) -> Iterator[Callable[..., tuple[TracerProvider, LiveProcessor]]]:
    """Starts a provider with a processor that exports to `kept`; both are shut down at the end."""
    made: list[TracerProvider] = []

    def start(**options: float) -> tuple[TracerProvider, LiveProcessor]:
        provider = TracerProvider(shutdown_on_exit=False)
        processor = LiveProcessor(kept, **{"interval": 0.01, "pace": 0.0} | options)  # type: ignore[arg-type]
        provider.add_span_processor(processor)
        made.append(provider)
        return provider, processor

    yield start
    kept.gate.set()
    for provider in made:
        provider.shutdown()
