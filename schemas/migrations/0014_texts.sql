-- What is said in a trace, to be searched: each message once, without case, white space folded, a line each (see
-- processors/searchable.py). Written when a trace settles. The index holds its words: what stands between characters
-- that are neither letters nor digits. It needs ClickHouse 26.2 or later.
CREATE TABLE IF NOT EXISTS texts
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    Text String CODEC(ZSTD(1)),
    JudgedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX words Text TYPE text(tokenizer = 'splitByNonAlpha')
)
ENGINE = ReplacingMergeTree(JudgedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId)
SETTINGS index_granularity = 128, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- Words of findings. Those stored before are looked through without it until they are merged.
ALTER TABLE findings ADD INDEX IF NOT EXISTS words lowerUTF8(concat(Evidence, '\n', Explanation))
    TYPE text(tokenizer = 'splitByNonAlpha');
