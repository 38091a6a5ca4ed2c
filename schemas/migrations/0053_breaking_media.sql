-- Base64 of pictures, sound and PDFs that spans and log records hold, once a trace (schemas/inline_media.py). Rows are
-- stored before those that refer to them, with the same arrival; of equal ones the latest stays, so nothing outlives what
-- it refers to. Granules are of a few rows, and small, because a page reads one file of one trace.
CREATE TABLE IF NOT EXISTS media
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    Hash String CODEC(ZSTD(1)),
    Data String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(ReceivedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, Hash)
SETTINGS index_granularity = 1024, index_granularity_bytes = 1048576, merge_with_ttl_timeout = 86400,
    materialize_ttl_recalculate_only = 1;

-- Hashes of what was taken out of a row. Rows that an earlier version wrote hold all that was sent. An earlier version would
-- read, judge and forward the references, so it refuses the store.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS Media Array(String) CODEC(ZSTD(1));
ALTER TABLE logs ADD COLUMN IF NOT EXISTS Media Array(String) CODEC(ZSTD(1));
