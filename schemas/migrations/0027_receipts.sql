-- Until: unix nanos before which spans of a deleted trace are left out when they are sent again; 0: they are stored.
ALTER TABLE deletions ADD COLUMN IF NOT EXISTS Until UInt64 CODEC(ZSTD(1)) AFTER At;

-- What each deletion that somebody asked for has removed. Never expires, and names nobody.
CREATE TABLE IF NOT EXISTS receipts
(
    tenant LowCardinality(String) DEFAULT '',
    Id String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    Kind LowCardinality(String),
    Traces UInt64 CODEC(ZSTD(1)),
    Rows Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    RowsLeft UInt64 CODEC(ZSTD(1)),
    DeadLetters UInt64 CODEC(ZSTD(1)),
    RefusedUntil UInt64 CODEC(ZSTD(1)),
    SentTo Array(String) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(At)
ORDER BY (tenant, Id);
