"""What redaction takes, and what it changes: `python tests/bench/redact.py [FOLDER ...]`.

First a text of 25 kB without a match: all patterns of the ready-made sets as one RE2 Set, and one by one. Then, for
folders of traces in any form that `tracejury replay` reads: milliseconds of one core a span for decoding and for
redaction with ten rules (the fastest of the passes), what was redacted, and how the detectors' findings differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tracejury.collector.judging.detect.direct import DecodedSpans
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import schema_of
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.collector.otlp.files import read
from tracejury.judges.registry import default_suite
from tracejury.processors.redact.patterns import compiled, own_pattern
from tracejury.processors.redact.ready import READY
from tracejury.processors.redact.rules import RedactionRule
from tracejury.processors.redact.spans import Redacted, Redactor
from tracejury.processors.redact.texts import TextRedactor
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span

T = TypeVar("T")
SENTENCE = "The quick brown fox jumps over 12 lazy dogs at https://example.org/a/b?c=1. "
PASSES = 50


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--passes", type=int, default=5)
    options = parser.parse_args()
    clean_text()
    for folder in options.folders:
        bodies = [s.request.SerializeToString() for s in read([folder]) if schema_of(s.request) is SPANS]
        costs(folder, bodies, options.passes)
        differences(bodies)


def clean_text() -> None:
    """A text without a match."""
    text = (SENTENCE * 400)[:25_000]
    ready = TextRedactor([RedactionRule(name, patterns=patterns) for name, patterns in READY.items()])
    singly = [compiled(pattern.text) for patterns in READY.values() for pattern in patterns]
    data = text.encode()
    as_set = fastest(lambda: ready.candidates([text]), PASSES)
    one_by_one = fastest(lambda: [pattern.search(data) for pattern in singly], PASSES)
    out(f"25 kB, {len(singly)} patterns: {1000 * as_set:.3f} ms as a Set, {1000 * one_by_one:.3f} ms one by one")


def ten_rules() -> Redactor:
    """The six sets, and four rules of one's own."""
    rules = [RedactionRule(name, patterns=patterns) for name, patterns in READY.items()]
    rules += [RedactionRule("ticket", patterns=(own_pattern(r"\bTICKET-\d{6}\b"),))]
    rules += [RedactionRule("password", patterns=(own_pattern(r"(?i)password\s*[:=]\s*(\S+)"),))]
    rules += [RedactionRule("headers", key="http.request.header.*"), RedactionRule("user", key="enduser.id")]
    return Redactor(TextRedactor(rules))


def costs(folder: Path, bodies: Sequence[bytes], passes: int) -> None:
    """Milliseconds a span."""
    redactor, batches = ten_rules(), decoded(bodies)
    spans, counts = sum(len(batch.spans) for batch in batches), Redacted()
    decoding = fastest(lambda: decoded(bodies), passes)
    redacting = fastest(lambda: [redactor.batch(batch, Redacted()) for batch in batches], passes)
    for batch in batches:
        one = Redacted()
        redactor.batch(batch, one)
        counts.counts += one.counts
    out(
        f"{folder.name}: {spans} spans, decode {1000 * decoding / spans:.3f} ms a span, "
        f"redact with ten rules {1000 * redacting / spans:.3f}; redacted {dict(counts.by_rule())}"
    )


def differences(bodies: Sequence[bytes]) -> None:
    """Findings of the detectors, and agent runs, without and with all sets."""
    batches, redactor = decoded(bodies), ten_rules()
    before = facts(span for batch in batches for span in batch.spans)
    after = facts(span for batch in batches for span in redactor.batch(batch, Redacted()).spans)
    out(f"  runs, turns and calls: {before[0]} without, {after[0]} with redaction")
    out(f"  findings: {before[1].total()} without, {after[1].total()} with redaction")
    for finding in sorted((before[1] - after[1]) + (after[1] - before[1])):
        out(f"  {'lost' if finding in before[1] else 'new'}: {finding}")


def facts(spans: Iterable[Span]) -> tuple[tuple[int, int, int], Counter[tuple[str, str, str, str]]]:
    """Numbers of runs, turns and calls; findings by trace, span, judge and category."""
    suite, found = default_suite(), Counter[tuple[str, str, str, str]]()
    runs = turns = calls = 0
    for trace in DecodedSpans(list(spans), [], 0).traces():
        runs += len(trace.runs)
        turns += sum(len(run.turns) for run in trace.runs)
        calls += sum(len(turn.tool_calls) for run in trace.runs for turn in run.turns)
        found.update((f.trace_id, f.span_id, f.judge, f.category) for f in suite.judge(trace).findings)
    return (runs, turns, calls), found


def decoded(bodies: Sequence[bytes]) -> list[Batch]:
    """The requests in stored form."""
    return [decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1).batch for body in bodies]


def fastest(work: Callable[[], T], passes: int) -> float:
    """Seconds of CPU time of the fastest pass: all that disturbs one makes it slower."""
    taken = []
    for _ in range(passes):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def out(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
