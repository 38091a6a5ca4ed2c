-- Log records that belong to a span or a trace (GenAI content may arrive as such). A record has no id: one that is
-- sent again is the same in every field that its sender set, which is what Digest sums up.
CREATE TABLE IF NOT EXISTS logs
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Nanos UInt64 CODEC(ZSTD(1)),
    ObservedNanos UInt64 CODEC(ZSTD(1)),
    EventName String CODEC(ZSTD(1)),
    Body String CODEC(ZSTD(1)),
    BodyType LowCardinality(String) CODEC(ZSTD(1)),
    LogAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    LogAttributeTypes Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
    SeverityNumber Int32 CODEC(ZSTD(1)),
    SeverityText String CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName LowCardinality(String) CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    Flags UInt32 CODEC(ZSTD(1)),
    Cut UInt32 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    Digest FixedString(16) MATERIALIZED sipHash128(
        ObservedNanos, EventName, Body, BodyType, LogAttributes, LogAttributeTypes, SeverityNumber, SeverityText,
        ServiceName, ResourceAttributes, ScopeName, ScopeVersion, Flags) CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(ReceivedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SpanId, Nanos, Digest)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
