"""Finished spans of every tracer provider of the process, for as long as somebody listens."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

Listener = Callable[[ReadableSpan], None]

_listeners: Final[list[Listener]] = []
_tapped: Final[weakref.WeakSet[TracerProvider]] = weakref.WeakSet()


class _Tap(SpanProcessor):
    """Stays with its provider, which can't give a processor back, and is silent while nobody listens."""

    def on_end(self, span: ReadableSpan) -> None:
        for listener in tuple(_listeners):
            listener(span)


@contextmanager
def listening(listener: Listener, provider: TracerProvider | None = None) -> Iterator[None]:
    """Give `listener` each span that ends: of `provider`, of the global one, and of all that are made meanwhile.

    Where no global provider was set one is, so that instrumentations find it.
    """
    for known in (provider, _global_provider()):
        if known is not None:
            _tap(known)
    _listeners.append(listener)
    try:
        with _new_providers_tapped():
            yield
    finally:
        _listeners.remove(listener)


def _global_provider() -> TracerProvider | None:
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
    found = trace.get_tracer_provider()
    return found if isinstance(found, TracerProvider) else None


def _tap(provider: TracerProvider) -> None:
    if provider not in _tapped:
        _tapped.add(provider)
        provider.add_span_processor(_Tap())


@contextmanager
def _new_providers_tapped() -> Iterator[None]:
    """A program under test may make a provider of its own, and hand it to nobody but its tracers."""
    make = TracerProvider.__init__

    @functools.wraps(make)
    def made(self: TracerProvider, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        _tap(self)

    TracerProvider.__init__ = made  # type: ignore[method-assign]
    try:
        yield
    finally:
        TracerProvider.__init__ = make  # type: ignore[method-assign]
