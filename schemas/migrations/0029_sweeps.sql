-- How far sweeps for unfinished work have come: what arrived before Through (unix nanos) was finished when the sweep looked.
-- Without a row a sweep reads everything, which is right, too. NotedAt (unix nanos) is the version.
CREATE TABLE IF NOT EXISTS sweeps
(
    tenant LowCardinality(String) DEFAULT '',
    Name LowCardinality(String),
    Through UInt64 CODEC(ZSTD(1)),
    NotedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(NotedAt)
ORDER BY (tenant, Name);
