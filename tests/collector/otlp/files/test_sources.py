"""Stored traces: every form is found by its content, broken files are named, and nothing grows without bound."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.groups import Request, count
from tracejury.collector.otlp.files import BrokenFileError, find, read
from tracejury.collector.otlp.files.files import _requests

TRACE, SPAN, PARENT = bytes(range(1, 17)), bytes(range(1, 9)), bytes(range(2, 10))


def spans(n: int = 1) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add(schema_url="https://example.org/resource")
    group.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value="app")))
    scope = group.scope_spans.add(schema_url="https://example.org/scope")
    scope.scope.name = "scope"
    for i in range(n):
        span = scope.spans.add(
            trace_id=TRACE, span_id=(i + 1).to_bytes(8, "big"), parent_span_id=PARENT, name="n", kind=3
        )
        span.start_time_unix_nano = 2**63 + i
        span.links.add(trace_id=TRACE, span_id=SPAN)
        span.attributes.append(KeyValue(key="traceId", value=AnyValue(string_value="not an id")))
        span.attributes.append(KeyValue(key="raw", value=AnyValue(bytes_value=b"\x00\xff")))
        span.attributes.append(KeyValue(key="big", value=AnyValue(int_value=2**62)))
    return request


def logs() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(trace_id=TRACE, span_id=SPAN)
    record.time_unix_nano = 5
    record.body.string_value = "said"
    return request


TRAIL = {
    "trace_id": TRACE.hex(),
    "spans": [
        {
            "timestamp": "2025-03-19T16:48:09Z",
            "duration": "PT1S",
            "trace_id": TRACE.hex(),
            "span_id": SPAN.hex(),
            "span_name": "main",
        }
    ],
}


def lines(*requests: Request) -> bytes:
    return b"\n".join(otlp_json.render(r) for r in requests) + b"\n"


FORMS: dict[str, tuple[bytes, list[Request]]] = {
    "spans.pb": (spans(2).SerializeToString(), [spans(2)]),
    "001.logs.pb": (logs().SerializeToString(), [logs()]),
    "logs_by_content.pb": (logs().SerializeToString(), [logs()]),
    "spans.json": (otlp_json.render(spans()), [spans()]),
    "logs.json": (otlp_json.render(logs()), [logs()]),
    "indented.json": (json.dumps(json.loads(otlp_json.render(spans())), indent=1).encode(), [spans()]),
    "bom.json": (b"\xef\xbb\xbf" + otlp_json.render(spans()), [spans()]),
    "list.json": (b"[" + otlp_json.render(spans()) + b"," + otlp_json.render(logs()) + b"]", [spans(), logs()]),
    "lines.jsonl": (lines(spans(), logs(), spans(3)), [spans(), logs(), spans(3)]),
    "misnamed.pb": (otlp_json.render(spans()), [spans()]),
    "empty.pb": (b"", []),
}


@pytest.mark.parametrize("first", [ord("{"), ord("[")])
def test_protobuf_whose_length_looks_like_json_is_protobuf(tmp_path: Path, first: int) -> None:
    """After its line feed such a message begins with a bracket: as the whole length, or behind bytes of a mark."""
    seen = 0
    for size in (*range(11_300, 11_800), *range(15_400, 15_900)):
        request = spans()
        request.resource_spans[0].scope_spans[0].spans[0].name = "n" * size
        data = request.SerializeToString()
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[0] != first:
            continue
        seen += 1
        (tmp_path / "one.pb").write_bytes(data)
        assert [s.request for s in read([tmp_path / "one.pb"])] == [request]
    assert seen > 0


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_told_by_its_content(tmp_path: Path, name: str, suffix: str) -> None:
    """Protobuf and JSON of both signals, lists, lines, under right and wrong names, also gzipped."""
    data, expected = FORMS[name]
    path = tmp_path / (name + suffix)
    path.write_bytes(gzip.compress(data) if suffix else data)
    assert [s.request for s in read([path])] == expected


def test_trail_json_is_told_by_its_content(tmp_path: Path) -> None:
    """A trace with nested spans, and no empty request for its missing logs."""
    path = tmp_path / "anything"
    path.write_text(json.dumps(TRAIL))
    (source,) = read([path])
    assert count(source.request) == 1
    assert source.name == str(path)


def test_folders_are_read_recursively_in_order(tmp_path: Path) -> None:
    """Sorted by path; other suffixes and JSON that is no trace data are passed over."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.pb").write_bytes(spans(2).SerializeToString())
    (tmp_path / "b" / "1.json").write_bytes(otlp_json.render(spans(1)))
    (tmp_path / "a.jsonl").write_bytes(lines(spans(3)))
    (tmp_path / "index.json").write_text('{"captures": []}')
    (tmp_path / "notes.txt").write_text("{")
    assert [count(s.request) for s in read([tmp_path])] == [3, 1, 2]
    assert len(find([tmp_path])) == 4


def test_archives_hold_files_in_order(tmp_path: Path) -> None:
    """A capture: requests by number, other members passed over, the member named in the source."""
    path = tmp_path / "S1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run.json", '{"program": "x"}')
        archive.writestr("002.logs.pb", logs().SerializeToString())
        archive.writestr("001.pb", spans(2).SerializeToString())
        archive.writestr("readme.txt", "x")
    found = list(read([path]))
    assert [s.request for s in found] == [spans(2), logs()]
    assert found[0].name.endswith("S1.zip:001.pb")


def _zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b"[" + b" " * 60_000 + b"]")
        archive.writestr("b.json", b"[" + b" " * 60_000 + b"]")
    return buffer.getvalue()


BROKEN: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "garbage": ("x.pb", lambda: b"\x99\x12garbage\xff", "neither an OTLP export request nor JSON"),
    "truncated protobuf": ("x.pb", lambda: spans(3).SerializeToString()[:-5], "neither an OTLP"),
    "truncated gzip": ("x.pb.gz", lambda: gzip.compress(spans(9).SerializeToString())[:-9], "broken gzip"),
    "gzip garbage": ("x.gz", lambda: b"\x1f\x8b\x08garbage", "broken gzip"),
    "gzip bomb": ("x.gz", lambda: gzip.compress(b" " * 200_000), "larger than 100000 bytes"),
    "too large": ("x.json", lambda: b" " * 100_001, "larger than 100000 bytes"),
    "zip bomb": ("x.zip", _zip_bomb, "larger than 100000 bytes"),
    "truncated zip": ("x.zip", lambda: _zip_bomb()[:60], "broken zip"),
    "truncated JSON": ("x.json", lambda: otlp_json.render(spans())[:-3], "broken JSON"),
    "broken line": ("x.jsonl", lambda: lines(spans()) + b'{"resourceSpans": [', "broken JSON"),
    "no UTF-8": ("x.json", lambda: b'{"resourceSpans": "\xff"}', "broken JSON"),
    "deep JSON": ("x.json", lambda: b"[" * 50_000, "broken JSON"),
    "other JSON": ("x.json", lambda: b'{"spans": 3}', "neither OTLP nor TRAIL"),
    "wrong type": ("x.json", lambda: b'{"resourceSpans": [{"scopeSpans": 3}]}', "is broken"),
    "id that is no hex": (
        "x.json",
        lambda: b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz"}]}]}]}',
        "is broken: non-hexadecimal",
    ),
    "lone surrogate": (
        "x.json",
        lambda: b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "\\ud800"}]}]}]}',
        "is broken",
    ),
    "TRAIL without a time": ("x.json", lambda: b'{"trace_id": "", "spans": [{}]}', "missing 'timestamp'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_line_that_names_it(tmp_path: Path, case: str) -> None:
    """Whatever is wrong, and whatever was decompressed: BrokenFileError, the path, the reason, no line feed."""
    name, data, reason = BROKEN[case]
    path = tmp_path / name
    path.write_bytes(data())
    with pytest.raises(BrokenFileError) as caught:
        list(read([path], limit=100_000))
    text = str(caught.value)
    assert str(path) in text
    assert reason in text
    assert "\n" not in text


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    """Before anything is read."""
    with pytest.raises(BrokenFileError, match="no such file or folder"):
        list(read([tmp_path / "nowhere"]))


def test_exactly_the_limit_is_read(tmp_path: Path) -> None:
    """The limit is the largest size that is taken, plain and gzipped; one byte more is not."""
    data = spans(3).SerializeToString()
    (tmp_path / "x.pb").write_bytes(data)
    (tmp_path / "x.pb.gz").write_bytes(gzip.compress(data))
    assert len(list(read([tmp_path], limit=len(data)))) == 2
    for name in ("x.pb", "x.pb.gz"):
        with pytest.raises(BrokenFileError, match="larger"):
            list(read([tmp_path / name], limit=len(data) - 1))


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_a_clear_error(data: bytes) -> None:
    """Any content either gives requests or BrokenFileError."""
    try:
        found = list(_requests("x", data, 10_000, strict=True))
    except BrokenFileError:
        return
    assert all(count(s.request) for s in found)


@given(st.binary(max_size=200))
def test_gzipped_bytes_are_like_plain_ones(data: bytes) -> None:
    """Compression changes nothing but the size."""

    def outcome(content: bytes) -> object:
        try:
            return [s.request for s in _requests("x", content, 10_000, strict=True)]
        except BrokenFileError as error:
            return str(error)

    if not data.startswith(b"\x1f\x8b"):
        assert outcome(gzip.compress(data)) == outcome(data)


def test_otlp_json_is_as_the_protocol_writes_it() -> None:
    """Hex ids, integer enums, 64-bit integers as text; attributes that are called like ids are content."""
    document = json.loads(otlp_json.render(spans()))
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert span["traceId"] == TRACE.hex()
    assert span["parentSpanId"] == PARENT.hex()
    assert span["links"][0]["spanId"] == SPAN.hex()
    assert span["kind"] == 3
    assert span["startTimeUnixNano"] == str(2**63)
    assert span["attributes"][0] == {"key": "traceId", "value": {"stringValue": "not an id"}}
    assert span["attributes"][2]["value"] == {"intValue": str(2**62)}
    assert otlp_json.parse(document) == spans()
    assert otlp_json.parse(json.loads(otlp_json.render(logs()))) == logs()


def test_otlp_json_takes_ids_in_any_case_and_ignores_unknown_fields() -> None:
    """What the protocol asks of a reader."""
    document = json.loads(otlp_json.render(spans()))
    document["unknown"] = {"x": 1}
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["traceId"] = span["traceId"].upper()
    span["unknown"] = []
    assert otlp_json.parse(document) == spans()


FRAMEWORKS = Path(__file__).parents[5] / "shared" / "data" / "frameworks"
GAIA = Path(__file__).parents[5] / "shared" / "data" / "trail" / "gaia-dev" / "traces"


@pytest.mark.trail
@pytest.mark.skipif(not GAIA.exists(), reason="needs the shared TRAIL traces")
def test_the_development_traces_are_read_whole() -> None:
    """1,609 spans in 56 traces, and the 224 log records nested in them."""
    found = [s.request for s in read([GAIA])]
    spans_of = [r for r in found if isinstance(r, ExportTraceServiceRequest)]
    assert len(spans_of) == 56
    assert sum(map(count, spans_of)) == 1609
    assert sum(map(count, found)) == 1609 + 224


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="needs the shared captures of frameworks")
def test_captures_of_frameworks_are_read_whole() -> None:
    """As many spans and log records as their index says; a body that came as JSON stands there in both forms."""
    for row in json.loads((FRAMEWORKS / "index.json").read_text()):
        found = list(read([FRAMEWORKS / f"{row['capture']}.zip"]))
        as_protobuf = [s for s in found if s.name.endswith(".pb")]
        by_name = {s.name.removesuffix(".pb"): s.request for s in as_protobuf}
        assert all(by_name[s.name.removesuffix(".json")] == s.request for s in found if s not in as_protobuf)
        spans_of = sum(count(s.request) for s in as_protobuf if isinstance(s.request, ExportTraceServiceRequest))
        assert spans_of == row["spans"]
        assert sum(count(s.request) for s in as_protobuf) == row["spans"] + row["logs"]
