-- Large traces in outline: what their pages show before a turn is opened, so that nothing has to be rebuilt for it. One
-- that lacks rows which have arrived since is not used. ReceivedAt: of the newest row that it knows.
CREATE TABLE IF NOT EXISTS outlines
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    Outline String CODEC(ZSTD(3)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId)
SETTINGS index_granularity = 64, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
