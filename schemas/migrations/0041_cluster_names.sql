-- The type of errors to which an error was said to belong, by its name. Kept until the trace is deleted; the latest name
-- counts. NamedAt: unix nanos.
CREATE TABLE IF NOT EXISTS cluster_names
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    ErrorId String CODEC(ZSTD(1)),
    Name String CODEC(ZSTD(1)),
    NamedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(NamedAt)
ORDER BY (tenant, TraceId, ErrorId)
SETTINGS index_granularity = 1024;
