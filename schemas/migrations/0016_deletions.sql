-- Traces that were deleted, written before any of their rows go: whoever dies before error rates were made without them
-- finds them here. At: unix nanos.
CREATE TABLE IF NOT EXISTS deletions
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(At)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
