-- ErrorId: of the error that the finding leads, or would lead; so every id under which an error was ever shown resolves.
ALTER TABLE findings
    ADD COLUMN IF NOT EXISTS ErrorId String CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS error_id ErrorId TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE errors ADD INDEX IF NOT EXISTS id Id TYPE bloom_filter(0.001) GRANULARITY 1;
