-- What was passed on to which backend: one row a trace. Seen: JudgedAt of the latest judgement that this accounts for.
-- Outcome: sent, sampled-out (nothing was sent, by choice) or given-up (the backend was away for too long). Items: a hash
-- of the id of each span, finding and verdict that was sent, with one of what was sent of it, so that only what is new
-- or changed is sent later. At: unix nanos. ReceivedAt is the trace's, so that this expires with its spans.
CREATE TABLE IF NOT EXISTS exports
(
    tenant LowCardinality(String) DEFAULT '',
    Backend LowCardinality(String),
    TraceId String CODEC(ZSTD(1)),
    Seen UInt64 CODEC(ZSTD(1)),
    Outcome LowCardinality(String),
    Items Nested
    (
        Id UInt64,
        Digest UInt64
    ) CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(At)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, Backend, TraceId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
