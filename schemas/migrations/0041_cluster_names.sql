-- The type of errors to which an error was said to belong, by its name; the latest counts. ReceivedAt: when it was named.
CREATE TABLE IF NOT EXISTS cluster_names
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    ErrorId String CODEC(ZSTD(1)),
    Name String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, ErrorId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
