-- Spans in their stored form, one row a (tenant, trace, span) once merged; read with FINAL.
--
-- Of two rows with one key a finished span beats a pending one, then the later end, then the later arrival:
-- Version is those three, most significant first (1 + 64 + 63 bits).
--
-- Times are raw unix nanoseconds as sent (any 64 bits: years beyond 2262 do not fit DateTime64). ReceivedAt is our
-- own clock and carries retention, "since" and partitions: clients' dates are theirs to choose, and an insert that
-- touches more than 100 partitions fails. A look-up visits every partition, so they are weeks; rows that expire
-- before their week does are dropped by a merge a day.
--
-- Attribute values are text as the OpenTelemetry Collector's ClickHouse exporter writes them; the *Types maps name
-- the type of each value that was not a string.
--
-- Ids are random, so the sort order alone leaves one granule a part to read: the bloom filters leave the one that
-- holds the id. Both are part of the key, which is what makes them right together with FINAL. Granules are small,
-- because rows with prompts are large.
CREATE TABLE IF NOT EXISTS spans
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    Flags UInt32 CODEC(ZSTD(1)),
    SpanName String CODEC(ZSTD(1)),
    Kind Int32 CODEC(ZSTD(1)),
    StartNanos UInt64 CODEC(ZSTD(1)),
    EndNanos UInt64 CODEC(ZSTD(1)),
    Status Int32 CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ResourceAttributeTypes Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
    ScopeName LowCardinality(String) CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    SpanAttributeTypes Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
    Events Nested
    (
        Nanos UInt64,
        Name String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested
    (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    DroppedAttributes UInt32 CODEC(ZSTD(1)),
    DroppedEvents UInt32 CODEC(ZSTD(1)),
    DroppedLinks UInt32 CODEC(ZSTD(1)),
    Cut UInt32 CODEC(ZSTD(1)),
    Pending Bool CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    Version UInt128 MATERIALIZED bitShiftLeft(toUInt128(NOT Pending), 127)
        + bitShiftLeft(toUInt128(EndNanos), 63)
        + toUInt128(toUnixTimestamp64Nano(ReceivedAt)) CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX span_id SpanId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SpanId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
