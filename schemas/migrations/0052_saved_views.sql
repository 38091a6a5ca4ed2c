-- Pages with their filters under names, by path and parameters. SavedAt: unix nanos; the latest of a name holds.
CREATE TABLE IF NOT EXISTS saved_views
(
    tenant LowCardinality(String) DEFAULT '',
    Name String CODEC(ZSTD(1)),
    Page LowCardinality(String),
    Names Array(String) CODEC(ZSTD(1)),
    Values Array(String) CODEC(ZSTD(1)),
    SavedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(SavedAt)
ORDER BY (tenant, Name)
SETTINGS index_granularity = 1024;
