-- Which process stored a row, and when by the server's clock: by this a process learns what others have stored
-- (collector/store/changes.py). An embedded store has one process, which names no one; its rows, and those of an earlier
-- version, say when they arrived. No default may look at the clock alone: rows without the column are given it at each
-- reading, and would ever be new.
--
-- An insert has one time, so whole parts are left out by the index.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS StoredBy LowCardinality(String),
    ADD COLUMN IF NOT EXISTS StoredAt DateTime64(9, 'UTC') DEFAULT if(StoredBy = '', ReceivedAt, now64(9)) CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at StoredAt TYPE minmax GRANULARITY 16;
ALTER TABLE logs
    ADD COLUMN IF NOT EXISTS StoredBy LowCardinality(String),
    ADD COLUMN IF NOT EXISTS StoredAt DateTime64(9, 'UTC') DEFAULT if(StoredBy = '', ReceivedAt, now64(9)) CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at StoredAt TYPE minmax GRANULARITY 16;
ALTER TABLE judgements
    ADD COLUMN IF NOT EXISTS StoredBy LowCardinality(String),
    ADD COLUMN IF NOT EXISTS StoredAt DateTime64(9, 'UTC') DEFAULT if(StoredBy = '', ReceivedAt, now64(9)) CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at StoredAt TYPE minmax GRANULARITY 16;
